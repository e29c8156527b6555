import Glibc

/// Both ends of a closed log, for readers that need no more of it: one look at the file for both.
public struct LogEnds: Sendable, Hashable {
  /// What its first event says.
  public var head: LogHead
  /// What its closing block says.
  public var tail: LogTail

  /// Reads both ends.
  ///
  /// - Parameters:
  ///   - path: a closed log.
  ///   - keys: the data of the first event that are wanted; the others may be missing.
  /// - Throws: what ``LogHead/init(path:withOnly:)`` and ``LogTail/init(path:)`` throw.
  public init(path: String, withOnly keys: [StaticString]) throws(LogError) {
    let file = try LogFile.openForReading(path)
    tail = try LogTail(of: file)
    head = try LogHead(of: file, withOnly: keys)
  }
}
