/// What is known of secrets before a run begins.
public struct RunSecrets: Sendable, Hashable {
  /// What tokens are made with; `nil` for a random key of the run's own. With the same key a value has
  /// the same token in every run.
  public var key: [UInt8]?
  /// Values that are withheld wherever they are said.
  public var known: [Redactor.Secret]

  /// Without arguments nothing is known, and the run makes a random key.
  public init(key: [UInt8]? = nil, known: [Redactor.Secret] = []) {
    self.key = key
    self.known = known
  }

  /// Both together; the key of the other counts where it has one.
  public func adding(_ other: RunSecrets) -> RunSecrets {
    RunSecrets(key: other.key ?? key, known: known + other.known)
  }
}
