import AgentTrace

/// A reference of `$same`, taken apart: `12/calls/0/input`.
struct SameTarget {
  var seq: Int
  var pointer: JSONPointer

  init?(_ reference: String) {
    guard let slash = reference.utf8.firstIndex(of: UInt8(ascii: "/")),
      let seq = Int(reference[..<slash]), seq >= 0, String(seq) == reference[..<slash],
      let pointer = JSONPointer(String(reference[slash...]))
    else { return nil }
    self.seq = seq
    self.pointer = pointer
  }

  /// The long string that stands literally in a raw event where the pointer leads; positions in a
  /// list are those of the resolved array.
  func literal(in raw: Event) -> String? {
    var value = JSONValue.object(raw.data)
    var isPacketList = raw.type == .contextBuilt
    for (index, token) in pointer.tokens.enumerated() {
      isPacketList =
        raw.type == .contextBuilt
        && ContextPacket.listPointers.contains { $0.tokens.elementsEqual(pointer.tokens[..<index]) }
      guard let next = Self.step(into: value, token, isPacketList: isPacketList) else { return nil }
      value = next
    }
    guard case .string(let text) = value, text.utf8.count >= LogFormat.sameMinimumBytes else {
      return nil
    }
    return text
  }

  private static func step(
    into value: JSONValue, _ token: String, isPacketList: Bool
  ) -> JSONValue? {
    switch value {
    case .object(let object):
      guard let form = try? SpecialForm(object) else {
        guard (try? SpecialForm(object)) != nil || !object.contains(where: { isForm($0.key) })
        else { return nil }
        return object[token.escapingReservedKey]
      }
      guard isPacketList, case .list(let entries) = form, let index = position(token) else {
        return nil
      }
      return literal(at: index, of: entries)
    case .array(let elements):
      guard let index = position(token), elements.indices.contains(index) else { return nil }
      return elements[index]
    default: return nil
    }
  }

  private static func isForm(_ key: String) -> Bool {
    CanonicalJSON.isReserved(key) && !key.hasPrefix("$$")
  }

  /// The index that a token of a pointer is; `nil` for any other.
  static func position(_ token: String) -> Int? {
    guard let index = Int(token), index >= 0, String(index) == token else { return nil }
    return index
  }

  /// The entry that stands at a position of the resolved array, if it stands there literally.
  private static func literal(at index: Int, of entries: [JSONValue]) -> JSONValue? {
    var position = 0
    for entry in entries where position <= index {
      guard case .array(let pair) = entry else {
        if position == index { return entry }
        position += 1
        continue
      }
      guard pair.count == 2, let count = pair[1].intValue,
        (1...LogFormat.listItemLimit).contains(count)
      else { return nil }
      position += count
    }
    return nil
  }
}
