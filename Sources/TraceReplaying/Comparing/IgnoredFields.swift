import AgentTrace

/// Fields that do not count when two runs are compared.
///
/// What is compared of an act is a value with a place: `/input/orderId`, `/verdict/ruleId`,
/// `/result/data/at`, `/answer`; see ``ComparedRun/Act/parts``. A name takes out each field on whose way
/// it stands, at any depth; a pointer the field that it leads to, with all below it, where `*` fits any
/// one key or index.
public struct IgnoredFields: Sendable, Hashable {
  private var names: Set<[UInt8]> = []
  private var pointers: [[String]] = []

  /// Nothing is ignored.
  public init() {}

  /// Reads what a person wrote: text with a `/` in front is a pointer (RFC 6901), any other a name.
  /// `nil` where it is empty or a pointer that cannot be read.
  public mutating func insert(_ text: String) -> Bool {
    guard let first = text.utf8.first else { return false }
    guard first == UInt8(ascii: "/") else {
      names.insert(Array(text.utf8))
      return true
    }
    guard let pointer = JSONPointer(text) else { return false }
    pointers.append(pointer.tokens)
    return true
  }

  /// Whether nothing is ignored.
  public var isEmpty: Bool { names.isEmpty && pointers.isEmpty }

  /// What is left of a part of an act; `nil` where it is ignored whole.
  func masked(_ value: JSONValue, part: String) -> JSONValue? {
    guard !isEmpty else { return value }
    let pending = advanced(pointers.map { $0[...] }, by: part)
    guard !isIgnored(part, pending) else { return nil }
    return masked(value, pending)
  }

  /// Nests as deep as a value does, which a log bounds.
  private func masked(_ value: JSONValue, _ pointers: [ArraySlice<String>]) -> JSONValue {
    guard !(names.isEmpty && pointers.isEmpty) else { return value }
    switch value {
    case .object(let object):
      var kept: [(String, JSONValue)] = []
      for member in object {
        let below = advanced(pointers, by: member.key)
        if !isIgnored(member.key, below) { kept.append((member.key, masked(member.value, below))) }
      }
      return .object(JSONObject(kept))
    case .array(let elements):
      return .array(
        elements.enumerated().compactMap { index, element in
          let below = advanced(pointers, by: String(index))
          return below.contains(where: \.isEmpty) ? nil : masked(element, below)
        })
    default: return value
    }
  }

  private func isIgnored(_ key: String, _ pointers: [ArraySlice<String>]) -> Bool {
    pointers.contains(where: \.isEmpty) || names.contains(Array(key.utf8))
  }

  /// The rest of the pointers that go through a key.
  private func advanced(_ pointers: [ArraySlice<String>], by key: String) -> [ArraySlice<String>] {
    pointers.compactMap { pointer in
      guard let token = pointer.first, token == "*" || token.hasSameUTF8(as: key) else {
        return nil
      }
      return pointer.dropFirst()
    }
  }
}
