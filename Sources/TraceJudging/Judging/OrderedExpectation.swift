package import AgentTrace
import TraceMatching

/// Something expected whose outcome hangs on the order in which things happened.
package struct OrderedExpectation: Sendable {
  /// What makes an order matter.
  fileprivate enum Cause {
    /// Where these moments stand among each other.
    case moments([Moment])
    /// What stood before a call of these tools: results of those.
    case origins(of: Glob, from: [Glob])
    /// Whether anything new stood between so many calls.
    case loops(Int)
    /// Whether one write had failed before another of its tool began.
    case repeats
  }

  /// What its outcomes are named, or begin with.
  private let name: String
  private let isPrefix: Bool
  /// Whether it is said of runs by themselves.
  package private(set) var isOfCaller = false
  private let causes: [Cause]

  fileprivate init(_ name: String, _ causes: [Cause], isPrefix: Bool = false) {
    (self.name, self.causes, self.isPrefix) = (name, causes, isPrefix)
  }

  /// The same below a name.
  fileprivate func named(_ prefix: String, isOfCaller: Bool = false) -> OrderedExpectation {
    guard !prefix.isEmpty else { return self }
    var named = OrderedExpectation("\(prefix).\(name)", causes, isPrefix: isPrefix)
    named.isOfCaller = isOfCaller || self.isOfCaller
    return named
  }

  /// Whether an outcome is its own.
  package func says(_ outcome: ExpectationOutcome) -> Bool {
    isPrefix ? outcome.expectation.hasPrefix(name) : outcome.expectation.hasSameUTF8(as: name)
  }

  /// Whether an event may be one of those whose order it speaks of: where all others stand is all one to it.
  ///
  /// - Parameter row: the calls of the whole row.
  package func isPlaced(_ event: Event, in row: RowCalls) -> Bool {
    causes.contains { cause in
      switch cause {
      case .moments(let moments): Self.isPlaced(event, among: moments, row)
      case .origins(let tool, let sources):
        switch event.type {
        case .decision: Self.calls(of: event).contains { tool.matches($0.name) }
        case .toolResult:
          event.data["status"] == "ok" && sources.contains { Self.names($0, event) }
        default: false
        }
      case .loops(let limit): row.mayLoop(event, limit)
      case .repeats: row.mayRepeat(event)
      }
    }
  }

  private static func isPlaced(
    _ event: Event, among moments: [Moment], _ row: RowCalls
  ) -> Bool {
    switch event.type {
    case .decision: isPlaced(decision: event, among: moments, row)
    case .toolStarted:
      moments.contains {
        if case .called(let entry) = $0 { names(entry.tool, event) } else { false }
      }
    case .toolResult:
      moments.contains {
        if case .returned(let entry) = $0 { names(entry.tool, event) } else { false }
      }
    case .policyDecision: moments.contains { $0.sort == .verdict }
    case .approval: moments.contains { $0.sort == .approval }
    case .humanReplied: moments.contains { $0.sort == .reply }
    case .taskAnswered, TreeEvents.ownType:
      event.wordOnTask != nil && moments.contains { $0.sort == .approval || $0.sort == .reply }
    case .stop: moments.contains { $0.sort == .stop }
    default: false
    }
  }

  private static func isPlaced(
    decision event: Event, among moments: [Moment], _ row: RowCalls
  ) -> Bool {
    guard let payload = try? DecisionPayload(decoding: event.data) else { return true }
    return moments.contains { moment in
      switch moment {
      case .proposed(let entry):
        payload.decision.calls.contains { entry.tool.matches($0.name) }
      // It stands where its decision does, where no start is told.
      case .called(let entry):
        payload.decision.calls.contains {
          entry.tool.matches($0.name) && !row.started.contains($0.callId)
        }
      case .answer: event.data["kind"] == "answer"
      case .invalidDecision: event.data["kind"] == "invalid"
      default: false
      }
    }
  }

  private static func calls(of event: Event) -> [ProposedCall] {
    (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
  }

  private static func names(_ tool: Glob, _ event: Event) -> Bool {
    guard let name = event.data["tool"]?.stringValue, !name.isEmpty else { return true }
    return tool.matches(name)
  }
}

/// What has to be known of all calls of a row before it can be said which of them have an order that matters.
package struct RowCalls: Sendable {
  /// The calls whose start is told.
  package private(set) var started: Set<String> = []
  /// The calls that have no result.
  private var open: Set<String> = []
  private var hasReplies = false
  /// How many calls each tool has, and of each caller.
  private var calls: [String: Int] = [:]
  private var callsOfCallers: [String: [String: Int]] = [:]
  /// The tools of which some call failed, or came to something that is not known.
  private var failed: Set<String> = []
  /// By each caller, a run that it is, and whether it is several.
  private var runs: [String: (runId: String, isSeveral: Bool)] = [:]

  /// No row.
  package init() {}

  /// Takes in the next event of the row.
  package mutating func apply(_ event: Event) {
    switch event.type {
    case .decision:
      let caller = Self.caller(of: event)
      for call in (try? DecisionPayload(decoding: event.data))?.decision.calls ?? [] {
        calls[call.name, default: 0] += 1
        callsOfCallers[caller, default: [:]][call.name, default: 0] += 1
        open.insert(call.callId)
      }
      let isOther = runs[caller].map { !$0.runId.hasSameUTF8(as: event.runId) } ?? false
      runs[caller] = (event.runId, isOther || runs[caller]?.isSeveral ?? false)
    case .toolStarted: if let callId = event.data["callId"]?.stringValue { started.insert(callId) }
    case .toolResult:
      if let callId = event.data["callId"]?.stringValue { open.remove(callId) }
      if Self.hasFailed(event), let tool = event.data["tool"]?.stringValue { failed.insert(tool) }
    case .humanReplied: hasReplies = true
    default: break
    }
  }

  private static func caller(of event: Event) -> String {
    event.data["caller"]?.stringValue ?? "agent"
  }

  private static func hasFailed(_ result: Event) -> Bool {
    switch result.data["status"] {
    case "error": result.data["effect"] != "unknown"
    case "returned": true
    default: false
    }
  }

  /// Whether it hangs on where an event stands whether a caller makes a call so often with nothing new in between: what
  /// one run alone does has its order.
  fileprivate func mayLoop(_ event: Event, _ limit: Int) -> Bool {
    switch event.type {
    case .humanReplied: return callsOfCallers.keys.contains { isBusy($0, limit) }
    case .decision:
      if !open.isEmpty { return callsOfCallers.keys.contains { isBusy($0, limit) } }
      let caller = Self.caller(of: event)
      return event.data["calls"] != nil && isBusy(caller, limit)
        && (hasReplies || runs[caller]?.isSeveral ?? false)
    default: return false
    }
  }

  private func isBusy(_ caller: String, _ limit: Int) -> Bool {
    callsOfCallers[caller]?.values.contains { $0 >= limit } ?? false
  }

  /// Whether it hangs on where an event stands whether a write was done twice: one that had failed before did nothing.
  fileprivate func mayRepeat(_ event: Event) -> Bool {
    func mayRepeat(_ tool: String) -> Bool { failed.contains(tool) && calls[tool] ?? 0 > 1 }
    switch event.type {
    case .decision:
      let calls = (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
      return calls.contains { !started.contains($0.callId) && mayRepeat($0.name) }
    case .toolStarted: return event.data["tool"]?.stringValue.map(mayRepeat) ?? !failed.isEmpty
    case .toolResult:
      return Self.hasFailed(event) && event.data["tool"]?.stringValue.map(mayRepeat) ?? true
    default: return false
    }
  }
}

extension Expectations {
  /// What of them hangs on an order: calls that are to stand in one, what comes before, after and until, values that
  /// have to have been given, and what must not be done again.
  package var ordered: [OrderedExpectation] {
    var found = ownOrdered
    for part in parts {
      found += part.expectations.ownOrdered.map { $0.named(part.name) }
    }
    return found
  }

  private var ownOrdered: [OrderedExpectation] {
    var found: [OrderedExpectation] = []
    for expectation in all.map(\.base) where !(expectation is CallersExpectation) {
      let key = type(of: expectation).key
      let origins = expectation.namedTools.compactMap(\.call).flatMap(Self.origins)
      switch expectation {
      case let time as TimeExpectation:
        for (index, rule) in time.rules.enumerated() where rule.relation != nil || !origins.isEmpty
        {
          found.append(
            OrderedExpectation("\(key)[\(index)]", [.moments(rule.ordered)] + origins))
        }
      case let called as ToolsCalled where order != .any:
        found.append(OrderedExpectation(key, Self.inOrder(called.entries) + origins))
      case let proposed as ToolsProposed where order != .any:
        found.append(OrderedExpectation(key, Self.inOrder(proposed.entries) + origins))
      case let loops as NoLoops:
        found.append(OrderedExpectation(key, [.loops(loops.limit)]))
      case is NoRepeatedSideEffect: found.append(OrderedExpectation(key, [.repeats]))
      default:
        if !origins.isEmpty { found.append(OrderedExpectation(key, origins, isPrefix: true)) }
      }
    }
    for rule in self[CallersExpectation.self]?.rules ?? [] {
      found += rule.expectations.ordered.map { $0.named(rule.name, isOfCaller: true) }
    }
    return found
  }

  private static func inOrder(_ entries: [CallEntry]) -> [OrderedExpectation.Cause] {
    [.moments(entries.map(Moment.proposed))]
  }

  /// What hangs on the results that stood before a call.
  private static func origins(_ entry: CallEntry) -> [OrderedExpectation.Cause] {
    guard let input = entry.input, input.usesOrigins else { return [] }
    return [.origins(of: entry.tool, from: tools(namedByOriginsIn: input.source))]
  }

  /// Perhaps more: what only looks like `$from` counts as well.
  private static func tools(namedByOriginsIn matcher: JSONValue) -> [Glob] {
    if let list = matcher.arrayValue { return list.flatMap(tools(namedByOriginsIn:)) }
    return (matcher.objectValue ?? [:]).flatMap { member -> [Glob] in
      let below = tools(namedByOriginsIn: member.value)
      guard member.key == "$from", let name = member.value["tool"]?.stringValue,
        let tool = try? Glob(name)
      else { return below }
      return below + [tool]
    }
  }
}

extension TimeRule {
  /// The moments whose order it speaks of: where none but some may happen, all others of their sort, too.
  fileprivate var ordered: [Moment] {
    guard claim == .only, let any = try? Glob("*") else { return moments + others }
    let entry = CallEntry(tool: any)
    return moments + others
      + moments.compactMap { moment in
        switch moment {
        case .called: .called(entry)
        case .proposed: .proposed(entry)
        case .returned: .returned(entry)
        default: nil
        }
      }
  }
}
