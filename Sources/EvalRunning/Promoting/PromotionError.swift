/// Why nothing was promoted.
public struct PromotionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The log or file that it is about.
  public var path: String
  /// What is wrong, and what to do.
  public var message: String

  public var description: String { "\(path): \(message)" }

  init(_ path: String, _ message: String) {
    self.path = path
    self.message = message
  }
}
