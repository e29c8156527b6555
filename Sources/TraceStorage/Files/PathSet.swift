/// Paths, each once, told apart by their bytes.
///
/// Swift takes texts for equal that Unicode does, whatever their bytes are; two files of one folder may have such names,
/// and a set of texts would pass one of them over.
public struct PathSet: Sendable, Hashable {
  private var keys: Set<[UInt8]> = []

  /// No path.
  public init() {}

  /// How many there are.
  public var count: Int { keys.count }

  /// Takes in a path; whether it was not there before.
  @discardableResult public mutating func insert(_ path: String) -> Bool {
    keys.insert(Array(path.utf8)).inserted
  }

  /// Whether a path is there.
  public func contains(_ path: String) -> Bool { keys.contains(Array(path.utf8)) }
}

extension PathSet: ExpressibleByArrayLiteral {
  /// Of some paths.
  public init(arrayLiteral paths: String...) { self.init(paths) }

  /// Of some paths.
  public init(_ paths: some Sequence<String>) { for path in paths { insert(path) } }
}
