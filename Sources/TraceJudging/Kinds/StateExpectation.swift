public import AgentTrace
public import TraceMatching

/// What the final state holds.
struct StateExpectation: EndExpectation {
  var rules: [StateRule]

  static let key = "state"
  static let summary = ExpectationSummary(
    takes: "places and matchers", holds: "the final state holds this")

  static var schema: JSONValue {
    [
      "description": "Places of the final state, as JSON Pointers, and what stands there.",
      "type": "object", "minProperties": 1,
      "propertyNames": ["pattern": "^(/([^~]|~[01])*)?$"],
      "additionalProperties": ["$ref": "#/$defs/matcher"],
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [[key: ["/totals/steps": JSONValue(run.steps)]]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.stateRules(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var facts: Facts { .state }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    guard let object = value.objectValue else { return AskedPart.whole(key, value) }
    return object.map { AskedPart(name: "\(key) \($0.key)", value: $0.value) }
  }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    MatcherProof.shows(change.now, within: change.was)
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { rules.map(run.state) }

  static func addConformance(to book: inout ConformanceBook) {
    book.check(
      "a place of the final state", ["/totals/steps": 2, "/stop/reason": "success"], on: Run("a"),
      is: .pass)
    book.check("another value there", ["/totals/steps": ["$gt": 2]], on: Run("a"), is: .fail)
    book.check("nothing there", ["/question": ["$absent": true]], on: Run("a"), is: .pass)
    let cents = Run { run in
      for cost in [0.1, 0.2, 0.3] { run.think(tokens: 1, cost: cost) }
      run.end()
    }
    book.check("prices add up as decimals do", ["/totals/cost": 0.6], on: cents, is: .pass)
    book.check("and are no less", ["/totals/cost": ["$lt": 0.6]], on: cents, is: .fail)
    book.check(
      "a torn log has no final state", ["/totals/steps": 1], on: Run(torn: "a"), is: .unverifiable)
  }
}

/// What stands at a place of the final state.
public struct StateRule: Sendable, Hashable {
  /// From the state to the value.
  public var pointer: JSONPointer
  /// What the value is.
  public var matcher: Matcher
}

extension ExpectationReader {
  mutating func stateRules(_ value: JSONValue, at pointer: JSONPointer) -> [StateRule]? {
    guard let object = value.objectValue, !object.isEmpty else {
      return refuse(
        pointer, "must be a mapping from places in the final state to what stands there",
        hint: "write /totals/steps: {$lte: 4}")
    }
    var rules: [StateRule] = []
    for member in object {
      let place = pointer.appending(member.key)
      guard let path = JSONPointer(member.key) else {
        report(place, isKey: true, "a place begins with a slash: /totals/steps")
        continue
      }
      if let matcher = matcher(member.value, at: place) {
        rules.append(StateRule(pointer: path, matcher: matcher))
      }
    }
    return rules
  }
}

extension JudgedRun {
  /// What must have been recorded whole for a place of the state to be known.
  private func channels(of place: [String]) -> [String] {
    switch place.first {
    case "runId", "goal", "policyContext", "maxSteps": []
    case "elapsedMicroseconds": ["time"]
    case "stop": ["stop"]
    case "question": view.trajectory.recorded["model"] == "none" ? ["model"] : []
    case "approvals", "approvedActionIds": ["policy"]
    case "breakers": ["tools"]
    case "totals" where place.count > 1 && place[1] != "steps" && place[1] != "toolCalls": ["model"]
    case "steps", "totals": ["model", "tools"]
    case "counters": ["model", "policy", "tools"]
    // All that happened stands in them.
    default: ["model", "policy", "stop", "time", "tools"]
    }
  }

  /// Whether a place of the state would be another where a call went unread. What a pipeline's tasks came to is not.
  private func restsOnCalls(_ place: [String]) -> Bool {
    switch place.first {
    case "runId", "goal", "policyContext", "maxSteps", "elapsedMicroseconds", "stop", "question",
      "approvals", "approvedActionIds":
      false
    default: gathered.pipeline == nil
    }
  }

  fileprivate func state(_ rule: StateRule) -> ExpectationOutcome {
    let name = "state \(rule.pointer)"
    let end = view.trajectory.stop?.seq ?? view.trajectory.lastSeq
    let asked = CallWording.short(rule.matcher.description)
    func outcome(
      _ outcome: Outcome, _ message: String, _ expected: String? = nil, _ actual: String? = nil
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: outcome == .unverifiable ? [] : [end],
        message: message, expected: expected ?? asked, actual: actual)
    }
    if !view.gaps.isEmpty {
      return outcome(.unverifiable, "The final state cannot be seen: \(view.whyHidden).")
    }
    let channels = self.channels(of: rule.pointer.tokens)
    if let channel = channels.first(where: { view.trajectory.recorded[$0] != nil }) {
      return outcome(
        .unverifiable,
        "What this rests on was not recorded: \(channel)"
          + (view.trajectory.unseenRun == nil ? "." : "; \(view.whyHidden)."))
    }
    // The state is the run's own: what is missing of another run of its tree is not.
    let lacksCalls = gathered.isOfTree ? gathered.lacksOwnCalls : view.lacksCalls
    if lacksCalls, restsOnCalls(rule.pointer.tokens) {
      return outcome(
        .unverifiable, "What this rests on cannot be seen: calls may have gone unread.")
    }
    let recorded = gathered.pipeline?.encoded ?? gathered.state.encoded
    var value = recorded.withMoneyAsDecimals[rule.pointer]
    // Who took the number out of the log itself is right as well.
    if let sum = recorded[rule.pointer], rule.matcher.description == sum.description { value = sum }
    switch rule.matcher.match(value) {
    case .match: return outcome(.pass, "The final state matches.", nil, value?.excerpt ?? "nothing")
    case .mismatch(let mismatch):
      return outcome(
        .fail, "The final state does not match.", mismatch.expected, mismatch.actual)
    case .unverifiable(let why):
      return outcome(.unverifiable, "The final state cannot be verified: \(why).")
    }
  }
}

extension JSONValue {
  /// A state whose sum of money is what decimals add up to, as budgets count it: the log adds doubles, which leave dust.
  fileprivate var withMoneyAsDecimals: JSONValue {
    guard var state = objectValue, var totals = state["totals"]?.objectValue,
      let cost = totals["cost"]?.doubleValue
    else { return self }
    totals["cost"] = JSONValue(Figures.money(cost))
    state["totals"] = .object(totals)
    return .object(state)
  }
}
