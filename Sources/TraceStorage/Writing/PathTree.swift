/// Pointers to the places where long strings stand, each part of them kept once: a key of megabytes
/// with thousands of strings below it costs its own bytes and no more.
///
/// A class, so that a walk over an event can name its places before anyone knows whether the event
/// will be written; a name that nobody uses does no harm.
final class PathTree {
  /// A pointer, by its last part.
  typealias Node = UInt32
  static let root: Node = 0

  private let keys: TextKeyMaker
  private var nodes = KeyTable<Node>(filler: 0)
  private var parents: [Node] = [0]
  /// The escaped parts, one behind the other; a node's own ends where the next one's begins.
  private var parts: [UInt8] = []
  private var starts: [Int] = [0]

  init(keys: TextKeyMaker) { self.keys = keys }

  /// The pointer that has one part more, given escaped; `nil` where there are too many.
  func node(_ part: [UInt8], below parent: Node) -> Node? {
    let key = part.withUnsafeBytes { keys.key(of: $0, after: UInt64(parent)) }
    if let node = nodes[key] { return node }
    guard let node = Node(exactly: parents.count) else { return nil }
    nodes.insert(node, for: key)
    parents.append(parent)
    starts.append(parts.count)
    parts.append(contentsOf: part)
    return node
  }

  /// Appends a pointer as RFC 6901 §3 writes it.
  func append(_ node: Node, to bytes: inout [UInt8]) {
    var ancestors: [Node] = []
    var node = node
    while node != Self.root {
      ancestors.append(node)
      node = parents[Int(node)]
    }
    for node in ancestors.reversed() {
      bytes.append(UInt8(ascii: "/"))
      bytes.append(contentsOf: parts[range(of: node)])
    }
  }

  /// How many bytes that would append.
  func length(of node: Node) -> Int {
    var (length, node) = (0, node)
    while node != Self.root {
      length += 1 + range(of: node).count
      node = parents[Int(node)]
    }
    return length
  }

  private func range(of node: Node) -> Range<Int> {
    let next = Int(node) + 1
    return starts[Int(node)]..<(next < starts.count ? starts[next] : parts.count)
  }
}
