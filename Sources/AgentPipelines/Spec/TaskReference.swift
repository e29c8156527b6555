import AgentTrace

/// What `${…}` names in a pipeline: a value that a task is given.
public struct TaskReference: Sendable, Hashable {
  /// Where the value stands.
  public enum Root: Sendable, Hashable {
    /// What the pipeline was given.
    case input
    /// The element of a fan-out that runs.
    case item
    /// The number of that element, from 0.
    case index
    /// What the task itself returned; only where its effect is undone.
    case output
    /// What another task returned.
    case task(String)
  }

  /// A step into a value.
  public enum Segment: Sendable, Hashable {
    /// The member of an object, or the element of a list where it is a number.
    case key(String)
    /// Each element of a list, or of a fan-out.
    case each
  }

  /// Where the value stands.
  public var root: Root
  /// The way to it from there.
  public var path: [Segment]
  /// As it is written between the braces.
  public var text: String

  /// The words that are no ids of tasks.
  public static let reserved = ["input", "item", "index", "output"]

  /// Reads what stands between `${` and `}`; `nil` where that is no reference.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { String(decoding: Array($0), as: UTF8.self) }
    guard let first = parts.first, Self.isID(first), parts.count <= 64 else { return nil }
    switch first {
    case "input": root = .input
    case "item": root = .item
    case "index": root = .index
    case "output": root = .output
    default: root = .task(first)
    }
    path = []
    for part in parts.dropFirst() {
      guard !part.isEmpty else { return nil }
      path.append(part == "*" ? .each : .key(part))
    }
    self.text = text
  }

  /// Whether a text may be the id of a task: letters, digits, `-` and `_`, at most 100 of them.
  public static func isID(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
  }

  /// The task that it names; `nil` where it names none.
  public var task: String? { if case .task(let id) = root { id } else { nil } }

  /// Follows the path into a value.
  ///
  /// - Throws: ``TaskError`` where there is nothing.
  func follow(_ value: JSONValue) throws(TaskError) -> JSONValue {
    try Self.follow(path[...], in: value, text)
  }

  private static func follow(
    _ path: ArraySlice<Segment>, in value: JSONValue, _ text: String
  ) throws(TaskError) -> JSONValue {
    guard let first = path.first else { return value }
    switch first {
    case .key(let key):
      if let inner = value.objectValue?[key] {
        return try follow(path.dropFirst(), in: inner, text)
      }
      if let index = Int(key), let inner = value[index] {
        return try follow(path.dropFirst(), in: inner, text)
      }
      throw TaskError(.input, "${\(text)}: there is no “\(key)” in \(value.typeName)")
    case .each:
      guard let elements = value.arrayValue else {
        throw TaskError(.input, "${\(text)}: * needs a list, and this is \(value.typeName)")
      }
      var found: [JSONValue] = []
      for element in elements {
        // An element of a fan-out that is absent stays so, in its place.
        found.append(element.isNull ? .null : try follow(path.dropFirst(), in: element, text))
      }
      return .array(found)
    }
  }
}
