import AgentTrace
import TraceMatching

/// Looks for calls that show how two rules overlap, by asking the gate's own conditions about made-up
/// ones.
///
/// What it finds is true, because it was asked; what it does not find may be there all the same.
struct PolicyWitness {
  /// How many calls are tried for one pair of rules.
  static let tryLimit = 3_000

  private let first: Policy.Rule
  private let second: Policy.Rule
  private let tools: [ToolDefinition]?
  private var both: JSONObject?
  private var isFirstAlone = false
  private var isSecondAlone = false
  /// How many calls were tried.
  private(set) var tries = 0

  init(_ first: Policy.Rule, _ second: Policy.Rule, tools: [ToolDefinition]?) {
    self.first = first
    self.second = second
    self.tools = tools
  }

  /// A call that both rules fit, if each was also found to fit one that the other does not.
  mutating func example() -> JSONObject? {
    let tools = toolCandidates()
    guard tools.contains(where: { RuleReach(first).mayFit($0) && RuleReach(second).mayFit($0) })
    else { return nil }
    let moments = momentCandidates()
    let inputs = inputCandidates()
    for input in inputs {
      for known in moments {
        for tool in tools {
          ask(tool, input, known)
          if let both, isFirstAlone, isSecondAlone { return both }
          if tries >= Self.tryLimit { return nil }
        }
      }
    }
    return nil
  }

  private mutating func ask(_ tool: ToolDefinition, _ input: JSONValue, _ candidate: Candidate) {
    tries += 1
    let call = ProposedCall(callId: "2.1.0", name: tool.name, input: input)
    let past = candidate.past.flatMap { pair in
      (0..<pair.count).map { _ in pair.call.sample(ownInput: input) }
    }
    let known = candidate.known(for: call, past: past, under: [first, second])
    let question = PolicyQuestion(call: call, tool: tool, known: known)
    var unknown: [PolicyQuestion.Condition] = []
    switch (question.fits(first, &unknown), question.fits(second, &unknown)) {
    case (.yes, .yes):
      both = both ?? candidate.described(tool, input, past)
    case (.yes, .no): isFirstAlone = true
    case (.no, .yes): isSecondAlone = true
    default: break
    }
  }

  // MARK: Candidates

  private func toolCandidates() -> [ToolDefinition] {
    if let tools {
      let fitting = tools.filter { RuleReach(first).mayFit($0) || RuleReach(second).mayFit($0) }
      return fitting.count <= 40 ? fitting : Array(fitting.prefix(40))
    }
    let names = Self.texts(first.tools, second.tools, else: "tool").compactMap { $0 }
    let sensitivities = Self.texts(first.sensitivities, second.sensitivities, else: nil)
    let effects =
      first.sideEffects == nil && second.sideEffects == nil ? [.write] : SideEffect.allCases
    return names.flatMap { name in
      sensitivities.flatMap { sensitivity in
        effects.map { effect in
          var tool = ToolDefinition(name: name, sideEffect: effect)
          tool.sensitivity = sensitivity
          return tool
        }
      }
    }
  }

  /// What is tried in place of values that globs look at: one for each glob, and one for none.
  private static func texts(_ left: [Glob]?, _ right: [Glob]?, else other: String?) -> [String?] {
    guard left != nil || right != nil else { return [other] }
    let samples = ((left ?? []) + (right ?? [])).prefix(6).map { Optional($0.sample) }
    return samples + [other ?? "other"] + (other == nil ? [nil] : [])
  }

  private func inputCandidates() -> [JSONValue] {
    let paths = (first.pastCalls + second.pastCalls).flatMap {
      ($0.input?.ownInputPaths ?? []) + ($0.result?.ownInputPaths ?? [])
    }
    let sampled = Self.samples(first.input, second.input) ?? [[:]]
    return sampled.map { input in
      paths.reduce(input) { $1.isEmpty ? $0 : $0.setting("x", at: $1[...]) }
    }
  }

  /// Values that two matchers may or may not match; `nil` where there are no matchers.
  private static func samples(_ left: Matcher?, _ right: Matcher?) -> [JSONValue]? {
    guard left != nil || right != nil else { return nil }
    var values: [JSONValue] = []
    for shift in [0, -1, 1] {
      let pair = [left, right].map { $0.flatMap { Sampler(shift: shift).sample($0.source) } }
      if let left = pair[0], let right = pair[1] {
        values += [left.merged(with: right), right.merged(with: left)]
      }
      values += pair.compactMap { $0 }
    }
    values.append([:])
    var distinct: [JSONValue] = []
    for value in values where !distinct.contains(value) { distinct.append(value) }
    return distinct
  }

  /// Everything but the tool and the input.
  private struct Candidate {
    var run = PolicyContext()
    var isApproved = false
    var left: [Policy.Resource: Double] = [:]
    var past: [(call: Policy.PastCalls, count: Int)] = []

    func known(
      for call: ProposedCall, past: [ProposedCall], under rules: [Policy.Rule]
    ) -> PolicyGate.KnownState {
      var known = PolicyGate.KnownState(
        run: run, approvals: Approvals(ofActions: isApproved ? [call.actionId] : []), t: 1_000_000,
        history: history(of: past, before: call, under: rules))
      known.remainingSteps = left[.steps].flatMap(Int.init(exactly:))
      known.remainingToolCalls = left[.calls].flatMap(Int.init(exactly:))
      known.remainingTokens = left[.tokens].flatMap(Int.init(exactly:))
      known.remainingCost = left[.cost].map { .left($0) }
      known.remainingSeconds = left[.seconds]
      return known
    }

    private func history(
      of past: [ProposedCall], before call: ProposedCall, under rules: [Policy.Rule]
    ) -> PolicyHistory {
      var history = PolicyHistory(for: Policy(rules: rules))
      var seq = 0
      func take(_ payload: EventPayload) {
        history.take(
          Event(
            seq: seq, step: 1, type: payload.type, runId: "", t: 1_000_000, data: payload.encoded))
        seq += 1
      }
      for call in past {
        take(.decision(DecisionPayload(.tool([call]))))
        take(
          .toolStarted(
            ToolStartedPayload(
              callId: call.callId, tool: call.name, attempt: 1, idempotencyKey: "")))
        take(
          .toolResult(
            ToolResultPayload(callId: call.callId, tool: call.name, result: .ok(data: [:]))))
      }
      take(.decision(DecisionPayload(.tool([call]))))
      return history
    }

    func described(
      _ tool: ToolDefinition, _ input: JSONValue, _ past: [ProposedCall]
    ) -> JSONObject {
      var object: JSONObject = ["tool": .string(tool.name), "input": input]
      let context = run.encoded
      if !context.isEmpty { object["policyContext"] = .object(context) }
      if isApproved { object["approved"] = true }
      if !left.isEmpty {
        object["remaining"] = .object(
          JSONObject(
            Policy.Resource.allCases.compactMap { resource in
              left[resource].map { (resource.rawValue, JSONValue($0)) }
            }))
      }
      if !past.isEmpty {
        object["earlierCalls"] = .array(
          past.prefix(20).map { ["tool": .string($0.name), "input": $0.input, "status": "ok"] })
      }
      if let sensitivity = tool.sensitivity { object["sensitivity"] = .string(sensitivity) }
      object["sideEffect"] = .string(tool.sideEffect.rawValue)
      return object
    }
  }

  private func momentCandidates() -> [Candidate] {
    var candidates = [Candidate()]
    func vary<Value>(_ values: [Value], _ set: (inout Candidate, Value) -> Void) {
      guard candidates.count * values.count <= Self.tryLimit else { return }
      candidates = candidates.flatMap { candidate in
        values.map {
          var candidate = candidate
          set(&candidate, $0)
          return candidate
        }
      }
    }
    vary(Self.texts(first.actors, second.actors, else: nil)) { $0.run.actorId = $1 }
    vary(Self.texts(first.tenants, second.tenants, else: nil)) { $0.run.tenantId = $1 }
    vary(Self.texts(first.routes, second.routes, else: nil)) { $0.run.route = $1 }
    if let attributes = Self.samples(first.attributes, second.attributes) {
      vary(attributes.compactMap(\.objectValue)) { $0.run.attributes = $1 }
    }
    if first.approved != nil || second.approved != nil {
      vary([false, true]) { $0.isApproved = $1 }
    }
    for resource in Policy.Resource.allCases {
      let conditions = (first.remaining + second.remaining).filter { $0.resource == resource }
      guard !conditions.isEmpty else { continue }
      let numbers: [Double?] = conditions.flatMap { condition in
        [0, -1, 1].map { Sampler(shift: $0).sample(condition.amount.source)?.doubleValue }
      }
      vary(numbers.filter { $0.map { $0 >= 0 } ?? true } + [nil]) { $0.left[resource] = $1 }
    }
    func needed(_ rule: Policy.Rule) -> [(call: Policy.PastCalls, count: Int)] {
      (rule.calls + rule.proposals).map { ($0, min($0.times.lowerBound, 100)) }
        + rule.after.map { ($0, 1) }
    }
    let (left, right) = (needed(first), needed(second))
    let avoided = (first.notAfter + second.notAfter).map { (call: $0, count: 1) }
    if !left.isEmpty || !right.isEmpty || !avoided.isEmpty {
      vary([left + right, left, right, [], avoided, left + avoided, right + avoided]) {
        $0.past = $1
      }
    }
    return candidates
  }
}

// MARK: - Values that may match

/// Makes up values that a matcher may match. Whether they do is for the matcher to say.
private struct Sampler {
  /// Added to numbers, to get beside a bound.
  var shift = 0
  /// The input of the call that a rule is asked about, for `$from`.
  var ownInput: JSONValue?

  func sample(_ source: JSONValue) -> JSONValue? {
    switch source {
    case .array(let elements): return .array(elements.map { sample($0) ?? .null })
    case .object(let object):
      if let first = object.first, first.key.utf8.first == UInt8(ascii: "$") {
        return sample(operators: object)
      }
      return .object(
        JSONObject(object.compactMap { member in sample(member.value).map { (member.key, $0) } }))
    case .number: return shifted(source)
    default: return source
    }
  }

  private func sample(operators object: JSONObject) -> JSONValue? {
    object.map { sample($0.key, $0.value) }.reduce(nil) { left, right in
      guard let left else { return right }
      return right.map { left.merged(with: $0) } ?? left
    }
  }

  private func sample(_ name: String, _ operand: JSONValue) -> JSONValue? {
    switch name {
    case "$absent": operand == true ? nil : "x"
    case "$not": "other"
    case "$oneOf", "$anyOf": operand.arrayValue?.first.flatMap(sample)
    case "$allOf":
      (operand.arrayValue ?? []).compactMap(sample).reduce(nil) { $0?.merged(with: $1) ?? $1 }
    case "$regex", "$ignoreCase": operand
    case "$glob": operand.stringValue.flatMap { try? Glob($0) }.map { .string($0.sample) }
    case "$gt": operand.doubleValue.map { JSONValue($0 + 1 + Double(shift)) }
    case "$lt": operand.doubleValue.map { JSONValue($0 - 1 + Double(shift)) }
    case "$gte", "$lte", "$approx": shifted(operand["value"] ?? operand)
    case "$contains": operand.stringValue != nil ? operand : sample(operand).map { [$0] }
    case "$length":
      (sample(operand)?.intValue).map {
        .string(String(repeating: "x", count: min(max(0, $0), 100)))
      }
    case "$type": Self.values[operand.stringValue ?? operand.arrayValue?.first?.stringValue ?? ""]
    case "$exact", "$literal", "$subsetOf": operand
    case "$from":
      operand["path"]?.stringValue.flatMap(JSONPointer.init).flatMap { ownInput?[$0] } ?? "x"
    default: [:]
    }
  }

  private func shifted(_ value: JSONValue) -> JSONValue {
    guard shift != 0, let number = value.doubleValue else { return value }
    return JSONValue(number + Double(shift))
  }

  private static let values: [String: JSONValue] = [
    "null": .null, "boolean": true, "integer": 1, "number": 1.5, "string": "x", "array": [],
    "object": [:],
  ]
}

extension Policy.PastCalls {
  /// A call that the condition may count.
  fileprivate func sample(ownInput: JSONValue) -> ProposedCall {
    let sampled = input.flatMap { Sampler(ownInput: ownInput).sample($0.source) }
    return ProposedCall(callId: "1.1.0", name: tool.sample, input: sampled ?? [:])
  }
}

extension Glob {
  /// A text that the glob fits, for most globs.
  fileprivate var sample: String {
    if let literal { return literal }
    var sample = ""
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "*": continue
      case "?": sample += "x"
      case "\\": if let next = rest.popFirst() { sample.unicodeScalars.append(next) }
      case "[", "{":
        // The first of a class, the first alternative.
        let isClass = scalar == "["
        let end = rest.firstIndex(of: isClass ? "]" : "}") ?? rest.endIndex
        let inner = rest[..<end]
        let stop = isClass ? inner.indices.dropFirst().first : inner.firstIndex(of: ",")
        sample.unicodeScalars.append(contentsOf: inner[..<(stop ?? inner.endIndex)])
        rest = end < rest.endIndex ? rest[rest.index(after: end)...] : rest[end...]
      default: sample.unicodeScalars.append(scalar)
      }
    }
    return sample.isEmpty ? "x" : sample
  }
}

extension Matcher {
  /// The paths into the input of the call that is asked about.
  fileprivate var ownInputPaths: [[String]] { Self.paths(in: source) }

  private static func paths(in value: JSONValue) -> [[String]] {
    switch value {
    case .array(let elements): elements.flatMap(paths)
    case .object(let object):
      object.flatMap { member -> [[String]] in
        if member.key.hasSameUTF8(as: "$from"), let path = member.value["path"]?.stringValue {
          return [JSONPointer(path)?.tokens ?? []]
        }
        return paths(in: member.value)
      }
    default: []
    }
  }
}

extension JSONValue {
  /// The value with those of another one put over it, key by key.
  fileprivate func merged(with other: JSONValue) -> JSONValue {
    guard case .object(var object) = self, case .object(let others) = other else { return other }
    for member in others {
      object[member.key] = object[member.key].map { $0.merged(with: member.value) } ?? member.value
    }
    return .object(object)
  }

  /// The value with something at a place where nothing stands; what stands there stays.
  fileprivate func setting(_ value: JSONValue, at path: ArraySlice<String>) -> JSONValue {
    guard let key = path.first else { return self }
    guard case .object(var object) = self else { return self }
    if path.count == 1 {
      object[key] = object[key] ?? value
    } else {
      let inner: JSONValue = object[key] ?? [:]
      object[key] = inner.setting(value, at: path.dropFirst())
    }
    return .object(object)
  }
}
