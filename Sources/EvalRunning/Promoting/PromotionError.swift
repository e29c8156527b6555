/// Why nothing was promoted.
public struct PromotionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The log or file that it is about.
  public var path: String
  /// What is wrong, and what to do.
  public var message: String

  public var description: String { "\(path): \(message)" }

  init(_ path: String, _ message: String) {
    self.path = path
    // What reads logs names the file itself, and it is named once.
    let named = "\(path): ".utf8
    self.message =
      message.utf8.starts(with: named)
      ? String(decoding: message.utf8.dropFirst(named.count), as: UTF8.self) : message
  }
}
