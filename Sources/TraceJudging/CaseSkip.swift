/// Why and until when a case is left out.
public struct CaseSkip: Hashable, Sendable {
  /// Why, in the author's words.
  public var reason: String
  /// The last day on which it is left out, as `2026-12-31`; `nil` for every day.
  public var until: String?

  /// The day is compared as text: one that does not exist will do.
  public init(reason: String, until: String? = nil) {
    self.reason = reason
    self.until = until
  }
}
