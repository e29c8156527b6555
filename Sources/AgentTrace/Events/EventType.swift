/// What kind of fact an event states. Raw values are the wire format: add one, never rename one.
public struct EventType: RawRepresentable, Hashable, Sendable {
  /// The name in a log; one that this version does not know is kept as it is.
  public let rawValue: String

  /// Any name is allowed; see ``known`` for those of this version.
  public init(rawValue: String) { self.rawValue = rawValue }
}

extension EventType: CustomStringConvertible {
  public var description: String { rawValue }
}
