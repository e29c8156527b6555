import AgentTrace

/// A place in a text file.
public struct TextPosition: Hashable, Sendable {
  /// From 1.
  public var line: Int
  /// From 1, in Unicode scalars.
  public var column: Int

  /// Both count from 1.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// Where the parts of one value stand in their file.
///
/// Values that an alias repeats share the places of what it names.
struct PositionTree: Sendable {
  /// A member of an object.
  struct Member: Sendable {
    var name: String
    /// Where its key stands.
    var key: TextPosition
    var value: PositionTree
  }

  /// Where the value begins.
  var start: TextPosition
  /// The members of an object, in the order of the file.
  var members: [Member] = []
  /// The elements of an array.
  var elements: [PositionTree] = []
}

/// One step of a way into a value.
enum PathStep: Hashable, Sendable {
  case key(String)
  case index(Int)
}

/// What of a member is at fault.
enum PathEnd: Hashable, Sendable {
  case key
  case value
}

extension PositionTree {
  /// Where a way leads: the key or the value of its last step, or the deepest place on the way.
  func position(of path: [PathStep], end: PathEnd) -> TextPosition {
    var tree = self
    for (depth, step) in path.enumerated() {
      switch step {
      case .key(let name):
        guard let member = tree.members.first(where: { $0.name.hasSameUTF8(as: name) }) else {
          return tree.start
        }
        if end == .key, depth == path.count - 1 { return member.key }
        tree = member.value
      case .index(let index):
        guard tree.elements.indices.contains(index) else { return tree.start }
        tree = tree.elements[index]
      }
    }
    return tree.start
  }
}

extension [PathStep] {
  /// As people write it: `expected.toolsCalled[0].input`.
  var dotted: String {
    var text = ""
    for step in self {
      switch step {
      case .key(let name):
        if !text.isEmpty { text += "." }
        text += name.utf8.count > 80 ? name.prefix(utf8Bytes: 77) + "…" : name
      case .index(let index): text += "[\(index)]"
      }
    }
    return text
  }

  /// The steps that a pointer takes in a value; a token is an index where it meets an array.
  init(_ pointer: JSONPointer, in value: JSONValue) {
    self = []
    var value: JSONValue? = value
    for token in pointer.tokens {
      if case .array? = value, let index = Int(token) {
        append(.index(index))
        value = value?[index]
      } else {
        append(.key(token))
        value = value?[token]
      }
    }
  }
}
