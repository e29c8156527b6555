#if Live
  import Synchronization

  /// Connections that may be used again.
  extension HTTPConnector {
    /// Longer than a connection is kept that nobody uses.
    private static let longestKeptSeconds = 90.0
    private static let placeLimit = 1_024

    /// Takes in that a reply came by a connection that may be kept.
    func note(aReplyTo call: HTTPCall) {
      guard let place = Self.place(call) else { return }
      replied.withLock { replied in
        if replied.count >= Self.placeLimit { replied = [:] }
        replied[place] = .now
      }
    }

    /// Whether a request may go by a connection that was there before. Where not, it is a new one.
    func mayHaveKept(aConnectionFor call: HTTPCall) -> Bool {
      guard let place = Self.place(call), let last = replied.withLock({ $0[place] }) else {
        return false
      }
      return .now - last < .seconds(Self.longestKeptSeconds)
    }

    private static func place(_ call: HTTPCall) -> String? {
      HTTPAddress(call.url).map { "\($0.scheme)://\($0.host):\($0.port)" }
    }
  }
#endif
