import AgentRuntime
import AgentTrace

/// Why a run made again differs, and the smallest input that explains it.
///
/// Everything before the difference is the same: the recorded answers, and with them the state. So an
/// event differs only by what of the agent it is made from, which its type tells.
struct Explanation {
  private(set) var cause: Divergence.Cause = .code
  private(set) var input: Divergence.Input?

  private let recorded: Event?
  private let now: Event?
  private let step: RecordedStep?
  private let errorsInARow: Int
  private let started: RunStarted
  private let agent: AgentDefinition
  private let files: RecordedFiles

  init(
    difference: ComparingSink.Difference, started: RunStarted, part: RecordedParts.Part,
    agent: AgentDefinition
  ) {
    recorded = difference.recorded
    now = difference.now
    step = difference.step
    errorsInARow = difference.errorsInARow
    self.started = started
    self.agent = agent
    files = RecordedFiles(part, agent)
    if let asked = difference.asked, asked.kind == .tool {
      explain(
        .tool, .tool, asked.tool ?? "",
        "The log holds no result of call \(asked.callId ?? "").")
    } else if files.isAgentSame, files.isPolicySame {
      if Self.nameOtherFiles(recorded, now) { explainPacket() } else { cause = .code }
    } else if holds(.runStarted), !files.isAgentSame {
      explainStart()
    } else if files.isAgentSame {
      explainByPolicyAlone()
    } else {
      explain()
    }
  }

  private mutating func explain(
    _ cause: Divergence.Cause, _ kind: Divergence.Input.Kind, _ name: String, _ message: String
  ) {
    self.cause = cause
    input = Divergence.Input(kind: kind, name: name, message: message)
  }

  private var both: [Event] { [recorded, now].compactMap { $0 } }

  private func holds(_ type: EventType) -> Bool { both.contains { $0.type == type } }

  private func holdsStop(_ reason: StopReason) -> Bool {
    both.contains { $0.type == .stop && $0.data["reason"]?.stringValue == reason.rawValue }
  }

  /// Whether a call is refused because the run stops: by a denial, or by a guard.
  private var holdsEndingRefusal: Bool {
    both.contains { event in
      event.type == .toolResult && event.data["status"] == "refused"
        && event.data["reason"]?.stringValue?.utf8.starts(with: "the run stops: ".utf8) == true
    }
  }

  // MARK: By what of the agent an event is made from

  private mutating func explain() {
    if holds(.toolsListed) || holdsStop(.toolFailure) && holdsSource {
      explainList()
    } else if holds(.policyDecision) {
      explainVerdict()
    } else if holdsStop(.policyDenied) || holdsEndingRefusal {
      explainDenial()
    } else if holdsStop(.toolFailure) {
      explainToolFailure()
    } else if holds(.toolStarted) || holds(.toolResult) {
      let tool = both.lazy.compactMap { $0.data["tool"]?.stringValue }.first ?? ""
      explain(
        .tool, .tool, tool,
        "What happens when a call of \(tool) fails (onError, maxAttempts) is not as it was.")
    } else if holds(.modelResult) || holdsStop(.modelFailure) {
      explainModelResult()
    } else if holds(.memoryRead) {
      explainMemory()
    } else if holds(.contextBuilt), recorded?.type == now?.type {
      explainPacket()
    } else if holdsStop(.invalidDecision) {
      explain(
        .context, .setting, "failures.invalidDecisionRetries",
        "How often the model is asked again after an invalid decision is not as it was.")
    } else if holds(.contextBuilt) || holds(.stop) {
      cause = .context
    }
    // A decision is read from a recorded reply and tools that are the same.
  }

  /// The agent file is the recorded one, and the policy another.
  private mutating func explainByPolicyAlone() {
    if holds(.policyDecision) {
      explainVerdict()
    } else if holdsStop(.policyDenied) || holdsEndingRefusal {
      explainDenial()
    }
  }

  // MARK: Lists

  private var holdsSource: Bool {
    both.contains {
      $0.type == .stop
        && $0.data["detail"]?.stringValue?.hasPrefix(StopDetail.source("")) == true
    }
  }

  /// The recorded list is the same: what the agent file takes of it, or whether it asks, is not.
  private mutating func explainList() {
    cause = .tool
    let lists = [recorded, now].map { event in
      event.flatMap { $0.type == .toolsListed ? try? ToolsListed(decoding: $0.data) : nil }
    }
    guard let name = lists.lazy.compactMap({ $0?.source }).first else { return }
    guard let before = lists[0], let after = lists[1] else {
      return explain(
        .tool, .tool, name, "Whether the tools of \(name) are asked for is not as it was.")
    }
    explainTools(from: before.tools, to: after.tools)
    guard input == nil else { return }
    explain(.tool, .tool, name, "What the agent takes of the tools of \(name) is not as it was.")
  }

  // MARK: Start

  private mutating func explainStart() {
    guard let recorded, let now, let today = try? RunStarted(decoding: now.data) else { return }
    func differs(_ key: String) -> Bool { recorded.data[key] != now.data[key] }
    if differs("tools") {
      explainTools(from: started.tools, to: today.tools)
    } else if differs("models"), let found = modelDifference(today) {
      explain(found.cause, found.kind, found.name, found.message)
    } else if differs("model") {
      let isNamedSame = started.modelName == today.modelName
      let names = [started, today].map {
        (isNamedSame ? $0.modelProvider : $0.modelName) ?? "none"
      }
      let what = isNamedSame ? "provider of the model" : "model"
      explain(
        .model, .model, names[1], "The \(what) was \(names[0]) and is \(names[1]).")
    } else if differs("limits") {
      let name = Self.firstDifference(recorded.data["limits"], now.data["limits"])
      explain(.context, .limit, name, "The limit \(name) is not as it was.")
    } else if differs("policyContext") {
      let name = Self.firstDifference(recorded.data["policyContext"], now.data["policyContext"])
      explain(
        .context, .setting, "policyContext.\(name)", "The run acts for another \(name) now.")
    } else {
      cause = .context
    }
  }

  /// The first setting of a model that differs, by its path in the agent file.
  private func modelDifference(
    _ today: RunStarted
  ) -> (cause: Divergence.Cause, kind: Divergence.Input.Kind, name: String, message: String)? {
    guard !started.models.isEmpty else { return nil }
    for purpose in ModelPurpose.allCases.map(\.rawValue) {
      let (before, after) = (started.models[purpose], today.models[purpose])
      guard before != after else { continue }
      let isPerson = purpose == ModelPurpose.human.rawValue
      let path = isPerson ? "human.model" : "model"
      guard let before = before?.objectValue, let after = after?.objectValue else {
        if purpose == ModelPurpose.plan.rawValue || purpose == ModelPurpose.reflect.rawValue {
          return (
            .context, .setting, purpose, "Whether a model is asked to \(purpose) is not as it was."
          )
        }
        if purpose == ModelPurpose.summarize.rawValue {
          return (
            .context, .setting, "context.strategy",
            "Whether older turns are summed up (context.strategy) is not as it was."
          )
        }
        return (
          .model, .model, path, "Whether a model is asked to \(purpose) is not as it was."
        )
      }
      for key in isPerson ? ["system", "by"] : [] where before[key] != after[key] {
        return (
          .context, .prompt, "human.\(key)",
          "Whom the model in a person's place plays (human.\(key)) is not as it was."
        )
      }
      if before["name"] != after["name"] {
        let names = [before["name"], after["name"]].map { $0?.stringValue ?? "no model" }
        return (
          .model, .model, names[1],
          "The model was \(names[0]) and is \(names[1]) (\(path).name)."
        )
      }
      let key = Self.firstDifference(.object(before), .object(after))
      return (
        .model, .setting, "\(path).\(key)",
        "The setting \(path).\(key) of the model is not as it was."
      )
    }
    return nil
  }

  /// The first key whose values differ.
  private static func firstDifference(_ left: JSONValue?, _ right: JSONValue?) -> String {
    let keys = (left?.objectValue ?? [:]).keys + (right?.objectValue ?? [:]).keys
    return keys.sorted { $0.precedesByUTF8($1) }.first { left?[$0] != right?[$0] } ?? ""
  }

  private mutating func explainTools(from before: [ToolDefinition], to today: [ToolDefinition]) {
    for tool in before {
      guard let other = today.first(where: { $0.name.hasSameUTF8(as: tool.name) }) else {
        return explain(.tool, .tool, tool.name, "The tool \(tool.name) is gone.")
      }
      let (old, new) = (tool.encoded, other.encoded)
      let changed = (old.keys + new.keys).filter { old[$0] != new[$0] }
      guard let key = changed.first else { continue }
      let isSchema = ["inputSchema", "outputSchema"].contains(key)
      return explain(
        .tool, isSchema ? .schema : .tool, tool.name,
        "The \(key) of the tool \(tool.name) is not as it was.")
    }
    for tool in today where !before.contains(where: { $0.name.hasSameUTF8(as: tool.name) }) {
      return explain(.tool, .tool, tool.name, "The tool \(tool.name) is new.")
    }
    cause = .tool  // Only their order differs, or how they are written.
  }

  // MARK: Policy

  private mutating func explainVerdict() {
    cause = .policy
    let (before, after) = (Self.rule(of: recorded), Self.rule(of: now))
    let tool = both.lazy.compactMap { $0.data["tool"]?.stringValue }.first ?? "a tool"
    if let name = after ?? before {
      explain(
        .policy, .rule, name,
        "\(tool): \(Self.said(recorded)) then, \(Self.said(now)) now.")
    }
  }

  private static func rule(of event: Event?) -> String? {
    guard let event, event.type == .policyDecision else { return nil }
    return event.data["ruleId"]?.stringValue
  }

  private static func said(_ event: Event?) -> String {
    guard let event, event.type == .policyDecision else { return "no verdict" }
    let status = event.data["status"]?.stringValue ?? "?"
    return status + (rule(of: event).map { " by rule \($0)" } ?? " by no rule")
  }

  /// A run that ended by a denial, and does not now, or the other way round: by a rule that stops it,
  /// by a guard, or by the number of denials.
  private mutating func explainDenial() {
    let recordedStop = step?.events.last { $0.type == .stop }
    let details = [recordedStop, now].compactMap { $0 }
      .filter { $0.data["reason"]?.stringValue == StopReason.policyDenied.rawValue }
      .compactMap { $0.data["detail"]?.stringValue }
    let prefix = StopDetail.rule("")
    if let rule = details.lazy.filter({ $0.hasPrefix(prefix) }).first {
      let name = String(rule.dropFirst(prefix.count))
      return explain(
        .policy, .rule, name, "Whether rule \(name) ends the run is not as it was.")
    }
    if details.contains(where: { $0.hasSameUTF8(as: StopDetail.maxDenials) }) {
      return explainMaxDenials()
    }
    // What is refused now tells no rule: those of today's policy that stop a run do.
    let denied = deniedNow
    if let rule = agent.policy.rules.first(where: { rule in
      rule.onDeny == .stop && denied.contains { $0.hasSameUTF8(as: rule.id) }
    }) {
      return explain(
        .policy, .rule, rule.id, "Rule \(rule.id) ends the run now where it denies a call.")
    }
    if both.contains(where: { $0.data["reason"] == "the run stops: a guard does not let it go on" })
    {
      return explain(.policy, .rule, "guard", "The guard of the agent is not as it was.")
    }
    explainMaxDenials()
  }

  private mutating func explainMaxDenials() {
    guard !files.isAgentSame else { return }
    explain(
      .context, .setting, "failures.maxDenials",
      "How many denied calls end a run is not as it was: \(agent.failures.maxDenials) now.")
  }

  /// The rules that denied a call of this step, by their ids.
  private var deniedNow: [String] {
    (step?.events ?? []).filter { $0.type == .policyDecision && $0.data["status"] == "deny" }
      .compactMap { $0.data["ruleId"]?.stringValue }
  }

  // MARK: Failures

  private mutating func explainToolFailure() {
    let prefix = StopDetail.tool("")
    let detail = both.lazy.compactMap { $0.data["detail"]?.stringValue }
      .first { $0.hasPrefix(prefix) }
    let name = detail.map { String($0.dropFirst(prefix.count)) } ?? ""
    let stopsNow = agent.tools.contains {
      $0.definition.name.hasSameUTF8(as: name) && $0.onError == .stop
    }
    // No run is meant to end at the first error, whatever the tool: so that tool said it.
    let stoppedThen = recorded?.type == .stop && errorsInARow <= 1
    if stopsNow || stoppedThen {
      explain(
        .tool, .tool, name, "Whether a failure of \(name) ends the run (onError) is not as it was.")
    } else {
      explain(
        .context, .setting, "failures.maxToolErrors",
        "How many errors in a row end a run is not as it was: \(agent.failures.maxToolErrors) now."
      )
    }
  }

  private mutating func explainModelResult() {
    let purposes = both.filter { $0.type == .modelResult }.map { $0.data["purpose"] }
    for purpose in [ModelPurpose.plan, .reflect].map(\.rawValue)
    where purposes.contains(.string(purpose)) && (purposes.count < 2 || purposes[0] != purposes[1])
    {
      return explain(
        .context, .setting, purpose, "Whether a model is asked to \(purpose) here is not as it was."
      )
    }
    if purposes.contains("summarize"), purposes.count < 2 || purposes[0] != purposes[1] {
      return explain(
        .context, .setting, "context.strategy",
        "Whether a summary is due here (context.strategy, tokenBudget) is not as it was.")
    }
    if let recorded, let now, recorded.type == now.type {
      guard recorded.data["model"] != now.data["model"] else {
        if ComparedData.areSame(recorded, now) { explainQuestion(purposes.last ?? nil) }
        return
      }
      let name = now.data["model"]?.stringValue ?? ""
      return explain(.model, .model, name, "Another model is asked: \(name).")
    }
    explain(
      .context, .setting, "failures.modelRetries",
      "How often a model that is out of reach is asked again is not as it was.")
  }

  /// The same was replied to another question.
  private mutating func explainQuestion(_ purpose: JSONValue?) {
    switch purpose?.stringValue.flatMap(ModelPurpose.init) {
    case .human?:
      explain(
        .context, .prompt, "human",
        "What the model in a person's place is asked is not as it was.")
    case .summarize?:
      explain(
        .context, .prompt, "context.strategy", "What is to be summed up is not as it was.")
    case .plan?:
      explain(.context, .prompt, "plan", "What the model is asked to plan on is not as it was.")
    case .reflect?:
      explain(
        .context, .prompt, "reflect", "What the model is asked to look back at is not as it was.")
    case .decide?, .judge?, nil:
      explain(.context, .prompt, "tools", "What the model is told of its tools is not as it was.")
    }
  }

  // MARK: Context

  private mutating func explainMemory() {
    let note = both.first { $0.type == .memoryRead }
    let name =
      "\(note?.data["scope"]?.stringValue ?? "")/\(note?.data["key"]?.stringValue ?? "")"
    explain(.context, .memory, name, "The note \(name) is not as it was.")
  }

  /// Whether two packets are made of files of prompts with other bytes: those have digests of their own.
  private static func nameOtherFiles(_ recorded: Event?, _ now: Event?) -> Bool {
    guard let recorded, let now, recorded.type == .contextBuilt, now.type == .contextBuilt else {
      return false
    }
    let digests = [recorded, now].map { event in
      (event.data["included"]?.arrayValue ?? []).flatMap {
        PromptPart.digests(in: $0["reason"]?.stringValue ?? "")
      }
    }
    return digests[0] != digests[1]
  }

  private mutating func explainPacket() {
    cause = .context
    guard let before = recorded?.data, let after = now?.data else { return }
    func differs(_ keys: String...) -> Bool {
      let pointer = JSONPointer(tokens: keys)
      return JSONValue.object(before)[pointer] != JSONValue.object(after)[pointer]
    }
    if differs("tokens", "budget") {
      explain(
        .context, .setting, "context.tokenBudget", "The budget of the prompt is not as it was.")
    } else if let tool = Self.firstOnlyInOne(before["toolsDisclosed"], after["toolsDisclosed"]) {
      explain(
        .context, .tool, tool, "Whether the model is told of the tool \(tool) is not as it was.")
    } else if let message = Self.firstDifferingMessage(before, after) {
      let place =
        message.role.hasSameUTF8(as: "system") && message.index == 0
        ? "the agent's instructions" : "message \(message.index), of role \(message.role)"
      explain(
        .context, .prompt, message.index == 0 ? message.role : "messages/\(message.index)",
        "The prompt first differs in \(place).")
    } else if differs("observations") {
      explain(
        .context, .setting, "context.observationLimit",
        "How many observations a packet lists is not as it was.")
    } else if differs("tokens", "estimate") {
      explain(
        .context, .setting, "context.tokenEstimate", "How tokens are counted is not as it was.")
    }
  }

  private static func firstOnlyInOne(_ left: JSONValue?, _ right: JSONValue?) -> String? {
    let (left, right) = (left?.arrayValue ?? [], right?.arrayValue ?? [])
    return (left.first { !right.contains($0) } ?? right.first { !left.contains($0) })?.stringValue
  }

  private static func firstDifferingMessage(
    _ before: JSONObject, _ after: JSONObject
  ) -> (index: Int, role: String)? {
    let left = before["prompt"]?["messages"]?.arrayValue ?? []
    let right = after["prompt"]?["messages"]?.arrayValue ?? []
    for index in 0..<max(left.count, right.count) {
      let messages = [left, right].map { $0.indices.contains(index) ? Optional($0[index]) : .none }
      if messages[0] != messages[1] {
        return (index, (messages[1] ?? messages[0])?["role"]?.stringValue ?? "")
      }
    }
    return nil
  }
}
