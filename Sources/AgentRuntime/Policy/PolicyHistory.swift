public import AgentTrace
import TraceMatching

/// What a policy knows of the calls that came before: a bounded fold over a run's events.
///
/// A run that is lived, resumed, forked, made again or only looked at folds the same events into the
/// same thing, so the same rule counts the same calls everywhere. A policy that never looks back keeps
/// nothing.
///
/// At least the last ``callLimit`` / 2 calls are kept one by one, with the inputs and results that rules
/// may look at while those are no more than about ``byteLimit`` / 2 bytes. Of older calls only the
/// numbers are known, by tool and status: a condition that would have to see them cannot be known.
public struct PolicyHistory: Sendable {
  /// How many calls are kept one by one at most.
  public static let callLimit = 10_000
  /// About how many bytes of inputs and results are kept at most.
  public static let byteLimit = 16 << 20
  /// About how many values that earlier results held are compared at most.
  static let valueLimit = 100_000
  /// How many tools are told apart at most.
  public static let toolLimit = 1_000

  /// One call and what has become of it so far.
  struct Call: Sendable {
    var callId: String
    var tool: String
    /// `nil` where no rule looks at inputs.
    var input: JSONValue?
    /// When it was proposed; once it may run, when that was said. Microseconds of active run time.
    var t: Int
    var proposedAt: Int
    var verdict: VerdictStatus?
    var isStarted = false
    var status: CallStatus?
    /// Data or reason; `nil` where there is none, or no rule looks at results.
    var result: JSONValue?
    /// Which call of the run it was.
    var number: Int

    /// Whether it was executed, as far as anyone can tell once the next decision is made.
    var isExecuted: Bool {
      isStarted || [.ok, .error, .unknown, .returned].contains(status)
    }
    /// Whether it may run and has yet to begin.
    var isAhead: Bool { verdict == .allow && !isExecuted && status != .refused }

    fileprivate var bytes: Int { (input?.roughBytes ?? 0) + (result?.roughBytes ?? 0) }
  }

  /// The earlier calls of one tool.
  struct Past: Sendable {
    var name: String
    /// Those that are kept one by one, oldest first.
    var calls: [Call] = []
    /// All, those included that are not kept.
    var proposed = 0
    /// All that were executed, by what became of them; one that was never told about has none.
    var executed: [CallStatus: Int] = [:]
    var refused = 0
    /// How many are not kept.
    var forgotten = 0
    /// When the newest of those was allowed or proposed, whichever is later.
    var forgottenAt = 0

    var allExecuted: Int { executed.values.reduce(0, +) }
  }

  /// The calls of decisions before the current one, by tool, in the order of the first calls.
  private(set) var past: [Past] = []
  /// The calls of the current decision, in call order.
  private(set) var current: [Call] = []
  /// Calls of more tools than are told apart.
  private(set) var elsewhere = 0
  /// Whether the log says that it lacks what became of calls.
  private(set) var hidesResults = false

  private var simulatedUser = SimulatedUser()
  private let isNeeded: Bool
  /// Whether rules look at how many calls are left.
  private let countsAhead: Bool
  private let keepsInputs: Bool
  private let keepsResults: Bool
  private var places: [[UInt8]: Int] = [:]
  private var kept = 0
  private var bytes = 0
  private var nextNumber = 0

  /// Nothing has happened yet.
  ///
  /// - Parameter policy: what is kept is what its rules may look at.
  public init(for policy: Policy = Policy()) {
    isNeeded = policy.looksBack
    countsAhead = policy.rules.contains(where: \.countsRemainingCalls)
    let usesOrigins = policy.rules.contains { $0.input?.usesOrigins == true }
    let conditions = policy.rules.flatMap(\.pastCalls)
    keepsInputs = usesOrigins || conditions.contains { $0.input != nil }
    keepsResults = usesOrigins || conditions.contains { $0.result != nil }
  }

  /// The events that it looks at.
  public static let types: Set<EventType> = [
    .runStarted, .decision, .policyDecision, .toolStarted, .toolResult,
  ]

  /// Takes in the next event of the run, in log order. One whose data are not what its type promises
  /// says nothing.
  public mutating func take(_ event: Event) {
    guard isNeeded else { return }
    switch event.type {
    case .runStarted:
      hidesResults = event.data["recorded"]?["tools"] != nil
      simulatedUser.take(runStarted: event.data)
    case .decision:
      settle()
      guard let payload = try? DecisionPayload(decoding: event.data), !simulatedUser.made(event),
        case .tool(let calls) = payload.decision
      else { return }
      for call in calls { propose(call, at: Self.clamped(event.t)) }
    case .policyDecision, .toolStarted, .toolResult:
      guard let callId = event.data["callId"]?.stringValue else { return }
      if let index = current.firstIndex(where: { $0.callId.hasSameUTF8(as: callId) }) {
        update(&current[index], event)
      } else if hidesResults {
        updatePast(callId, event)
      }
    default: break
    }
  }

  /// Takes a call of the current decision as allowed that nobody ruled on: for asking what a policy
  /// says of calls that were made without one.
  public mutating func assume(_ status: VerdictStatus, of callId: String) {
    guard let index = current.firstIndex(where: { $0.callId.hasSameUTF8(as: callId) }) else {
      return
    }
    current[index].verdict = status
  }

  /// How many calls of the current decision were allowed and have yet to begin; 0 where no rule looks at how many
  /// are left.
  var ahead: Int { countsAhead ? current.count(where: \.isAhead) : 0 }

  private mutating func propose(_ call: ProposedCall, at t: Int) {
    current.append(
      Call(
        callId: call.callId, tool: call.name, input: keepsInputs ? call.input : nil, t: t,
        proposedAt: t, number: nextNumber))
    nextNumber += 1
  }

  private func update(_ call: inout Call, _ event: Event) {
    switch event.type {
    case .policyDecision:
      call.verdict = event.data["status"]?.stringValue.flatMap(VerdictStatus.init)
      if call.verdict == .allow { call.t = max(call.proposedAt, Self.clamped(event.t)) }
    case .toolStarted: call.isStarted = true
    default:
      guard let result = try? ToolResultPayload(decoding: event.data).result else { return }
      let value: JSONValue
      switch result {
      case .ok(let data): (call.status, value) = (.ok, data)
      case .returned(let data): (call.status, value) = (.returned, data)
      case .refused(let reason): (call.status, value) = (.refused, .string(reason))
      case .error(let reason, let isUnknown):
        (call.status, value) = (isUnknown ? .unknown : .error, reason)
      }
      if keepsResults { call.result = value }
    }
  }

  /// Takes in what is told of a call of an earlier decision: of conversations that are only looked at others may have
  /// decided meanwhile.
  ///
  /// - Complexity: linear in the calls that are kept one by one.
  private mutating func updatePast(_ callId: String, _ event: Event) {
    for place in past.indices {
      guard
        let index = past[place].calls.lastIndex(where: { $0.callId.hasSameUTF8(as: callId) })
      else { continue }
      var call = past[place].calls[index]
      bytes -= call.bytes
      update(&call, event)
      endWait(of: &call)
      bytes += call.bytes
      past[place].calls[index] = call
      return forgetOldest()
    }
  }

  /// What has not begun when the next decision is made never will; where the log would not show it, nobody knows.
  private func endWait(of call: inout Call) {
    if !call.isExecuted, !(hidesResults && call.verdict == .deny) { call.verdict = nil }
  }

  private static func clamped(_ t: Int) -> Int { min(max(0, t), 1 << 60) }

  // MARK: Bounds

  /// The current decision is over: its calls are among the earlier ones.
  private mutating func settle() {
    for var call in current {
      if call.status == nil, call.isStarted { call.status = .unknown }
      endWait(of: &call)
      guard let place = place(of: call.tool) else {
        elsewhere += 1
        continue
      }
      past[place].proposed += 1
      if call.isExecuted { past[place].executed[call.status ?? .unknown, default: 0] += 1 }
      if call.status == .refused { past[place].refused += 1 }
      kept += 1
      bytes += call.bytes
      past[place].calls.append(call)
    }
    current = []
    forgetOldest()
  }

  private mutating func place(of tool: String) -> Int? {
    let key = Array(tool.utf8)
    if let place = places[key] { return place }
    guard past.count < Self.toolLimit else { return nil }
    places[key] = past.count
    past.append(Past(name: tool))
    return past.count - 1
  }

  /// Once there is too much, the older half goes, so that this is seldom done.
  private mutating func forgetOldest() {
    guard kept > Self.callLimit || bytes > Self.byteLimit else { return }
    let newestFirst = past.flatMap { $0.calls.map { ($0.number, $0.bytes) } }.sorted { $0.0 > $1.0 }
    var (count, size, first) = (0, 0, nextNumber)
    for (number, bytes) in newestFirst {
      guard count < Self.callLimit / 2, size + bytes <= Self.byteLimit / 2 else { break }
      (count, size, first) = (count + 1, size + bytes, number)
    }
    for index in past.indices {
      let gone = past[index].calls.prefix { $0.number < first }
      guard !gone.isEmpty else { continue }
      past[index].forgotten += gone.count
      past[index].forgottenAt = gone.reduce(past[index].forgottenAt) { max($0, $1.t) }
      past[index].calls.removeFirst(gone.count)
    }
    (kept, bytes) = (count, size)
  }
}

// MARK: - Questions

extension PolicyHistory {
  /// In which sense a condition speaks of earlier calls.
  enum Scope: Sendable {
    /// Executed, those of the same decision included that may run and have yet to begin.
    case executed
    /// Proposed; of the same decision those that stand before.
    case proposed
    /// Begun: calls of the same decision that have yet to begin are neither before nor behind.
    case begun
  }

  /// Whether as many calls fit as the condition asks for.
  ///
  /// - Parameters:
  ///   - call: the call that is asked about.
  ///   - t: microseconds of active run time.
  func holds(
    _ condition: Policy.PastCalls, _ scope: Scope, for call: ProposedCall, at t: Int
  ) -> Trilean {
    let times = scope == .begun ? 1...Int.max : condition.times
    var tally = Tally(times: times)
    count(condition, scope, for: call, at: t, into: &tally)
    return tally.answer
  }

  /// How many calls fit, and of how many that cannot be known.
  private struct Tally {
    let times: ClosedRange<Int>
    var yes = 0
    var unknown = 0

    mutating func add(_ answer: Trilean, _ count: Int = 1) {
      switch answer {
      case .yes: yes += count
      case .unknown: unknown += count
      case .no: break
      }
    }

    /// Whether no further call can change the answer.
    var isSettled: Bool {
      yes > times.upperBound || (times.upperBound == .max && yes >= times.lowerBound)
    }

    var answer: Trilean {
      let most = yes + unknown
      if yes > times.upperBound || most < times.lowerBound { return .no }
      return yes >= times.lowerBound && most <= times.upperBound ? .yes : .unknown
    }
  }

  private func count(
    _ condition: Policy.PastCalls, _ scope: Scope, for call: ProposedCall, at t: Int,
    into tally: inout Tally
  ) {
    let origins: Origins = { $0.values(in: call.input) }
    let since = condition.withinSeconds.map {
      Self.clamped(t) - Int(min(max(0, $0), 1e9) * 1_000_000)
    }
    let isFirst = current.firstIndex { $0.callId.hasSameUTF8(as: call.callId) }
    for (index, other) in current.enumerated() where index != isFirst {
      guard condition.tool.matches(other.tool) else { continue }
      let isBefore = isFirst.map { index < $0 } ?? true
      tally.add(fits(other, condition, scope, isBefore: isBefore, since: since, origins))
      if tally.isSettled { return }
    }
    for tool in past where condition.tool.matches(tool.name) {
      count(tool, condition, scope, for: call, since: since, origins, into: &tally)
      if tally.isSettled { return }
    }
    tally.add(.unknown, elsewhere)
  }

  private func count(
    _ tool: Past, _ condition: Policy.PastCalls, _ scope: Scope, for call: ProposedCall,
    since: Int?, _ origins: @escaping Origins, into tally: inout Tally
  ) {
    if condition.input == nil, condition.result == nil, since == nil, !hidesResults {
      return count(tool, condition.statuses, scope, into: &tally)
    }
    // One that waited for a person while others decided is not before itself.
    for other in tool.calls.reversed() where !other.callId.hasSameUTF8(as: call.callId) {
      tally.add(fits(other, condition, scope, isBefore: true, since: since, origins))
      if tally.isSettled { return }
    }
    if tool.forgotten > 0, since.map({ tool.forgottenAt >= $0 }) ?? true {
      tally.add(.unknown, tool.forgotten)
    }
  }

  /// By the numbers alone, which are known of all calls.
  private func count(
    _ tool: Past, _ statuses: [CallStatus]?, _ scope: Scope, into tally: inout Tally
  ) {
    guard let statuses else {
      return tally.add(.yes, scope == .proposed ? tool.proposed : tool.allExecuted)
    }
    for status in CallStatus.allCases {
      let number =
        status == .refused ? (scope == .proposed ? tool.refused : 0) : tool.executed[status] ?? 0
      tally.add(Self.fits(status, statuses), number)
    }
  }

  /// Whether a call is one that the condition counts.
  private func fits(
    _ call: Call, _ condition: Policy.PastCalls, _ scope: Scope, isBefore: Bool, since: Int?,
    _ origins: @escaping Origins
  ) -> Trilean {
    var answer = Trilean.yes
    switch scope {
    case .proposed: if !isBefore { return .no }
    case .executed:
      if !call.isExecuted, !call.isAhead { answer = hasHiddenEnd(call) ? .unknown : .no }
    case .begun:
      if !call.isExecuted { answer = call.isAhead || hasHiddenEnd(call) ? .unknown : .no }
    }
    if answer == .no { return .no }
    if let since, (scope == .proposed ? call.proposedAt : call.t) < since { return .no }
    if let statuses = condition.statuses {
      answer = .both(answer, status(of: call, isOneOf: statuses))
    }
    if let input = condition.input {
      answer = .both(answer, Trilean(input.matches(call.input, from: origins)))
    }
    if let result = condition.result {
      answer = .both(answer, self.result(of: call, result, origins))
    }
    return answer
  }

  /// Whether the log would not show it if the call ran.
  private func hasHiddenEnd(_ call: Call) -> Bool {
    hidesResults && call.status == nil && ![.deny, .approvalRequired].contains(call.verdict)
  }

  private func status(of call: Call, isOneOf statuses: [CallStatus]) -> Trilean {
    guard let status = call.status ?? (call.verdict == .deny ? .refused : nil) else {
      return isOpen(call) ? .unknown : .no
    }
    return Self.fits(status, statuses)
  }

  /// Whether a status is one of some: nobody knows what became of a call of unknown effect, nor whether one
  /// succeeded that merely returned.
  private static func fits(_ status: CallStatus, _ statuses: [CallStatus]) -> Trilean {
    if statuses.contains(status) { return .yes }
    switch status {
    case .unknown: return .unknown
    case .returned: return statuses.contains(.ok) || statuses.contains(.error) ? .unknown : .no
    default: return .no
    }
  }

  private func result(of call: Call, _ matcher: Matcher, _ origins: @escaping Origins)
    -> Trilean
  {
    guard let value = call.result, call.status != .unknown else {
      return isOpen(call) ? .unknown : Trilean(matcher.matches(nil, from: origins))
    }
    return Trilean(matcher.matches(value, from: origins))
  }

  /// Whether nobody knows yet, or ever, how a call ends: it is under way, or may run, or may be allowed
  /// to.
  private func isOpen(_ call: Call) -> Bool {
    call.status == .unknown || hasHiddenEnd(call)
      || (call.status == nil
        && (call.isStarted || call.isAhead || call.verdict == .approvalRequired))
  }

  /// The values of an origin in the results that stood before the current decision.
  func values(of origin: Origin) -> OriginValues {
    var found = OriginValues(known: [], mayBeMore: elsewhere > 0 || hidesResults)
    for tool in past where origin.tool?.matches(tool.name) == true {
      if tool.forgotten > 0 { found.mayBeMore = true }
      for call in tool.calls where call.status == .ok {
        switch Trilean(origin.input.map { $0.matches(call.input) } ?? true) {
        case .no: continue
        case .unknown: found.mayBeMore = true
        case .yes:
          let values = origin.values(in: call.result ?? .null)
          found.known += values.known
          if values.mayBeMore { found.mayBeMore = true }
          guard found.known.count <= Self.valueLimit else {
            found.mayBeMore = true
            return found
          }
        }
      }
    }
    return found
  }
}
