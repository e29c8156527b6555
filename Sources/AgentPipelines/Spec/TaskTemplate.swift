import AgentRuntime
public import AgentTrace

/// A value with `${…}` in its texts, which stand for what a task is given when it starts.
///
/// A text that is one reference and nothing else is the value that it names; among other words a reference
/// is a text. What is absent is left out of the object that it stands in, null in a list, and
/// nothing among words.
public struct TaskTemplate: Sendable, Hashable {
  /// As it is written.
  public let source: JSONValue
  /// What it names, in order, each once.
  public let references: [TaskReference]

  /// What a reference leads to.
  enum Found {
    /// Something.
    case value(JSONValue)
    /// Nothing, because its task was skipped.
    case absent
  }

  /// Reads a value. What looks like no reference stands for itself; `$${` is a plain `${`.
  public init(_ source: JSONValue) {
    self.source = source
    var references: [TaskReference] = []
    Self.collect(source, into: &references)
    self.references = references
  }

  private static func text(_ text: String) -> PlaceholderText {
    PlaceholderText(text, isName: { TaskReference(String(decoding: $0, as: UTF8.self)) != nil })
  }

  private static func collect(_ value: JSONValue, into references: inout [TaskReference]) {
    switch value {
    case .string(let string):
      for name in text(string).names {
        if let reference = TaskReference(name), !references.contains(reference) {
          references.append(reference)
        }
      }
    case .array(let elements): for element in elements { collect(element, into: &references) }
    case .object(let object): for member in object { collect(member.value, into: &references) }
    default: break
    }
  }

  /// The value with what its references stand for; `nil` where it is absent as a whole.
  ///
  /// - Parameter isTemplate: whether what comes of it is filled once more: then its texts stay as they are written, and
  ///   what is put in has to say of itself that it names nothing.
  /// - Throws: ``TaskError`` where a reference leads nowhere.
  func filled(
    isTemplate: Bool = false, _ find: (TaskReference) throws(TaskError) -> Found
  ) throws(TaskError) -> JSONValue? {
    try Self.filled(source, isTemplate, find)
  }

  private static func filled(
    _ value: JSONValue, _ isTemplate: Bool,
    _ find: (TaskReference) throws(TaskError) -> Found
  ) throws(TaskError) -> JSONValue? {
    switch value {
    case .string(let string): return try filled(string, isTemplate, find)
    case .array(let elements):
      var filled: [JSONValue] = []
      for element in elements {
        // Left out, it would move those behind it.
        filled.append(try Self.filled(element, isTemplate, find) ?? .null)
      }
      return .array(filled)
    case .object(let object):
      var members: [(String, JSONValue)] = []
      for member in object {
        if let inner = try Self.filled(member.value, isTemplate, find) {
          members.append((member.key, inner))
        }
      }
      return .object(JSONObject(members))
    default: return value
    }
  }

  private static func filled(
    _ string: String, _ isTemplate: Bool,
    _ find: (TaskReference) throws(TaskError) -> Found
  ) throws(TaskError) -> JSONValue? {
    guard string.utf8.contains(UInt8(ascii: "$")) else { return .string(string) }
    let pieces = text(string).pieces
    if pieces.count == 1, case .name(let name) = pieces[0], let reference = TaskReference(name) {
      switch try find(reference) {
      case .value(let value): return try reference.follow(value)
      case .absent: return nil
      }
    }
    var filled = ""
    for piece in pieces {
      switch piece {
      case .text(let text): filled += isTemplate ? PlaceholderText.escaped(text) : text
      case .name(let name):
        guard let reference = TaskReference(name) else { continue }
        if case .value(let value) = try find(reference) {
          let value = try reference.follow(value)
          filled += value.stringValue ?? CanonicalJSON.string(value, form: .plain)
        }
      }
    }
    return .string(filled)
  }
}
