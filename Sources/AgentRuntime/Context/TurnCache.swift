import AgentTrace

/// The turns that the last context showed, with what they cost, so that the next one need not make them
/// again: a context mostly goes on from the one before.
///
/// Of no account for what a context holds. Bounded by the turns that the state retains.
struct TurnCache: Sendable {
  /// A turn as the model is shown it, and its estimated tokens.
  struct Shown: Sendable {
    var turn: Turn
    var tokens: Int
    /// Without what its tools returned; `nil` where that was not asked for.
    var shortTokens: Int?
  }

  private struct Entry {
    var count: Int
    var shown: Shown
  }

  /// By the event of the first observation.
  private var entries: [Int: Entry] = [:]

  /// The turn of some observations.
  ///
  /// - Complexity: O(1) for a turn that the last context had too, else linear in what it shows.
  mutating func shown(
    _ observations: [Observation], leavingOut settings: ContextSettings, _ estimate: TokenEstimate,
    lookup: EventLookup
  ) -> Shown {
    let first = settings.leftOut.isEmpty ? observations.first?.seq : nil
    // Observations are only ever added, so that as many from the same one on are the same.
    if let first, let entry = entries[first], entry.count == observations.count {
      return entry.shown
    }
    let turn = Turn(observations, leavingOut: settings, lookup: lookup)
    let shown = Shown(turn: turn, tokens: estimate.tokens(in: turn.messages))
    if let first { entries[first] = Entry(count: observations.count, shown: shown) }
    return shown
  }

  /// The same without what its tools returned.
  mutating func short(
    _ observations: [Observation], leavingOut settings: ContextSettings, _ estimate: TokenEstimate,
    lookup: EventLookup
  ) -> Shown {
    var shown = shown(observations, leavingOut: settings, estimate, lookup: lookup)
    shown.turn.dropOutput()
    guard shown.turn.lacksOutput else { return shown }
    shown.shortTokens = shown.shortTokens ?? estimate.tokens(in: shown.turn.shownMessages)
    if settings.leftOut.isEmpty, let first = observations.first?.seq {
      entries[first]?.shown.shortTokens = shown.shortTokens
    }
    return shown
  }

  /// Forgets turns that the state no longer holds, where there are many.
  mutating func forget(before seq: Int) {
    guard entries.count > 2 * RecentObservations.limit else { return }
    entries = entries.filter { $0.key >= seq }
  }
}

extension TokenEstimate {
  /// The estimate for some messages together.
  func tokens(in messages: [JSONValue]) -> Int {
    messages.reduce(0) { $0 + tokens(in: $1) }
  }
}
