import AgentTrace

/// The turns that the last context showed, with what they cost, so that the next one need not make them
/// again: a context mostly goes on from the one before.
///
/// Of no account for what a context holds. Bounded by the turns that the state retains.
struct TurnCache: Sendable {
  /// A turn as the model is shown it, with what that costs. One object, so that who looks through hundreds
  /// of turns copies none.
  final class Shown: Sendable {
    let turn: Turn
    /// Estimated tokens.
    let tokens: Int
    /// Its observations, where there is room for it.
    let included: [ContextItem]

    init(_ turn: Turn, tokens: Int, included: [ContextItem]) {
      self.turn = turn
      self.tokens = tokens
      self.included = included
    }
  }

  private struct Entry {
    var count: Int
    var shown: Shown
    /// Without what its tools returned; `nil` where that was not asked for.
    var short: Shown?
  }

  /// By the event of the first observation.
  private var entries: [Int: Entry] = [:]
  /// By the event of the observation.
  private var words: [Int: ToldObservation] = [:]

  /// What a packet says of an observation.
  mutating func words(for observation: Observation) -> ToldObservation {
    if let known = words[observation.seq], known.isOf(observation) { return known }
    let made = ToldObservation(observation)
    words[observation.seq] = made
    return made
  }

  /// The turn of some observations.
  ///
  /// - Complexity: O(1) for a turn that the last context had too, else linear in what it shows.
  mutating func shown(
    _ observations: ArraySlice<Observation>, leavingOut settings: ContextSettings,
    _ estimate: TokenEstimate,
    lookup: EventLookup
  ) -> Shown {
    let first = settings.leftOut.isEmpty ? observations.first?.seq : nil
    // Observations are only ever added, so that as many from the same one on are the same.
    if let first, let entry = entries[first], entry.count == observations.count {
      return entry.shown
    }
    let turn = Turn(observations, leavingOut: settings, lookup: lookup)
    let shown = Shown(
      turn, tokens: estimate.tokens(in: turn.messages),
      included: observations.map { words(for: $0).included })
    if let first { entries[first] = Entry(count: observations.count, shown: shown) }
    return shown
  }

  /// The same turn without what its tools returned; `nil` where they returned nothing.
  mutating func short(
    _ shown: Shown, of observations: ArraySlice<Observation>, leavingOut settings: ContextSettings,
    _ estimate: TokenEstimate
  ) -> Shown? {
    let first = settings.leftOut.isEmpty ? observations.first?.seq : nil
    if let first, let short = entries[first]?.short { return short }
    var turn = shown.turn
    turn.dropOutput()
    guard turn.lacksOutput else { return nil }
    let short = Shown(turn, tokens: estimate.tokens(in: turn.shownMessages), included: [])
    if let first { entries[first]?.short = short }
    return short
  }

  /// Turns that stand whole in a context one after the other, put together.
  struct Series: Sendable {
    /// Of each turn the event of its first observation, and how much of it stands in the lists.
    fileprivate var pieces: [Piece] = []
    private(set) var messages: [JSONValue] = []
    private(set) var included: [ContextItem] = []
    private(set) var evidenceRefs: [String] = []
    private(set) var memoryRefs: [String] = []
    /// Estimated tokens.
    private(set) var tokens = 0

    /// No turns.
    fileprivate static let none = Series()

    fileprivate struct Piece: Sendable {
      var seq: Int
      var messages: Int
      var included: Int
      var evidenceRefs: Int
      var memoryRefs: Int
      var tokens: Int
    }

    /// Takes the turns out that stand before one; whether that one is there, or nothing is.
    fileprivate mutating func slide(to seq: Int) -> Bool {
      guard let place = pieces.firstIndex(where: { $0.seq == seq }) else { return pieces.isEmpty }
      guard place > 0 else { return true }
      let gone = pieces[..<place]
      func count(_ part: (Piece) -> Int) -> Int { gone.reduce(0) { $0 + part($1) } }
      messages.removeFirst(count(\.messages))
      included.removeFirst(count(\.included))
      evidenceRefs.removeFirst(count(\.evidenceRefs))
      memoryRefs.removeFirst(count(\.memoryRefs))
      tokens -= count(\.tokens)
      pieces.removeFirst(place)
      return true
    }

    fileprivate mutating func append(_ shown: Shown, from seq: Int) {
      pieces.append(
        Piece(
          seq: seq, messages: shown.turn.messages.count, included: shown.included.count,
          evidenceRefs: shown.turn.evidenceRefs.count, memoryRefs: shown.turn.memoryRefs.count,
          tokens: shown.tokens))
      messages += shown.turn.messages
      included += shown.included
      evidenceRefs += shown.turn.evidenceRefs
      memoryRefs += shown.turn.memoryRefs
      tokens += shown.tokens
    }
  }

  /// The older turns of the last context, where all of them stood in it whole.
  private var series: Series?

  /// Notes whether all turns of a context stand in it whole: mostly the next one goes on from there.
  mutating func note(allWhole: Bool) {
    if !allWhole { series = nil } else if series == nil { series = Series.none }
  }

  /// Some turns, none of which is the latest or may have lost its beginning, put together; `nil` where the last
  /// context had not all of them whole, so that it is not worth while.
  ///
  /// - Complexity: linear in the turns that came or went since the last time, moving those between them aside.
  mutating func together(
    _ turns: ArraySlice<ArraySlice<Observation>>, leavingOut settings: ContextSettings,
    _ estimate: TokenEstimate, lookup: EventLookup
  ) -> Series? {
    guard var known = series, settings.leftOut.isEmpty else { return nil }
    // What is extended is held nowhere else, or each time all of it would be copied.
    series = nil
    // Observations are only ever added, and never to a turn that another one follows; the oldest go.
    let goesOn = turns.first?.first.map { known.slide(to: $0.seq) } ?? false
    let count = known.pieces.count
    if !goesOn || count > turns.count
      || count > 0
        && turns[turns.startIndex + count - 1].first?.seq != known.pieces.last?.seq
    {
      known = .none
    }
    for turn in turns.dropFirst(known.pieces.count) {
      guard let seq = turn.first?.seq else { continue }
      known.append(shown(turn, leavingOut: settings, estimate, lookup: lookup), from: seq)
    }
    series = known
    return known
  }

  /// Forgets turns that the state no longer holds, where there are many.
  mutating func forget(before seq: Int) {
    if entries.count > 2 * RecentObservations.limit {
      entries = entries.filter { $0.key >= seq }
    }
    if words.count > 2 * RecentObservations.limit { words = words.filter { $0.key >= seq } }
  }
}

/// What packets say of an observation, as values that are the same in each of them, so that they need not be
/// made and compared anew.
final class ToldObservation: Sendable {
  private let id: String
  private let summary: String
  /// As it is listed.
  let listed: JSONValue
  /// Where there was room for it, and where there was none.
  let included: ContextItem
  let omitted: ContextItem

  fileprivate init(_ observation: Observation) {
    id = observation.id
    summary = observation.summary
    listed = ["id": .string(id), "summary": .string(summary)]
    included = ContextItem(ref: id, reason: "fits the token budget")
    omitted = ContextItem(ref: id, reason: "older than what fits the token budget")
  }

  fileprivate func isOf(_ observation: Observation) -> Bool {
    id.hasSameUTF8(as: observation.id) && summary.hasSameUTF8(as: observation.summary)
  }
}

extension TokenEstimate {
  /// The estimate for some messages together.
  func tokens(in messages: [JSONValue]) -> Int {
    messages.reduce(0) { $0 + tokens(in: $1) }
  }
}
