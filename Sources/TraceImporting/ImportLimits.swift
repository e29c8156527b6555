/// How much of a source a log takes.
enum ImportLimits {
  /// The most messages a list may have: every context repeats those before it.
  static let messageLimit = 25_000
  /// The most bytes of a text, an input or a result. A line of a log holds 8 MiB.
  static let valueLimitBytes = 1 << 20
  /// How many of the places are named that may hold calls.
  static let unreadLimit = 20
  /// The most bytes of a reply as it stood.
  static let replyLimitBytes = 4 << 20
  /// The most bytes that all contexts of a run may hold together.
  static let contextLimitBytes = 16 << 30
}
