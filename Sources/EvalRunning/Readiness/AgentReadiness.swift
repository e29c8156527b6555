public import AgentRuntime
import AgentTrace
public import EvalLoading
import FilePaths
import Glibc
public import TraceJudging
import TraceMatching

/// Looks over an agent and the cases that speak of it: which primitives of a runtime are in place, and what is missing.
///
/// By files alone: nothing is run, no model is asked. Recorded runs of its cases are changed in memory, to see what the
/// cases would notice.
public struct AgentReadiness {
  let agent: AgentDefinition
  private let path: String
  /// The cases that run this agent.
  private let cases: [EvalCase]

  /// - Parameters:
  ///   - path: the agent's file.
  ///   - cases: cases of any agent; those that name this file count.
  public init(_ agent: AgentDefinition, path: String, cases: [EvalCase]) {
    self.agent = agent
    self.path = path
    self.cases = cases.filter { evalCase in
      evalCase.agent.map { $0.hasSameUTF8(as: path) || isSameFile($0, path) } ?? false
    }
  }

  typealias Entry = ReadinessRecord.Entry
  private typealias Finding = ReadinessRecord.Finding

  /// The record.
  public var record: ReadinessRecord {
    ReadinessRecord(
      agent: agent.name, path: path,
      entries: [state, tools, policy, context, memory, trace, evals, people])
  }

  private var hasServedModel: Bool {
    if case .provider = agent.model.implementation { true } else { false }
  }

  /// Tools that do something, decisions aside.
  var ownTools: [ToolRegistration] { agent.tools.filter { $0.definition.decides == nil } }
  var writers: [ToolRegistration] { ownTools.filter { $0.definition.sideEffect == .write } }

  // MARK: State

  private var state: Entry {
    if let command = agent.command { return state(of: command) }
    var entry = Entry(.state, owner: "agent-eval: one reducer, the same live and in replay")
    let limits = agent.limits
    entry.inPlace = limitsInPlace
    if limits.timeoutSeconds == nil {
      entry.missing.add(
        .gap, "a run has no limit on its time", advice: "limits: {timeoutSeconds: …}")
    }
    if hasServedModel { addCostLimit(to: &entry) }
    if limits.maxToolCalls == nil, !writers.isEmpty {
      entry.missing.add(
        .note, "a run has no limit on its calls besides its steps",
        advice: "limits: {maxToolCalls: …}")
    }
    return entry
  }

  var limitsInPlace: [String] {
    agent.limits.encoded.map {
      "limit \($0.key): \(CanonicalJSON.string($0.value, form: .plain))"
    }
  }

  func addCostLimit(to entry: inout Entry) {
    guard agent.limits.maxTokens == nil, agent.limits.maxCost == nil else { return }
    entry.missing.add(
      .gap, "a run has no limit on what its model costs",
      advice: "limits: {maxTokens: …} or, with prices, maxCost")
  }

  // MARK: Tools

  private var tools: Entry {
    if let command = agent.command { return tools(of: command) }
    var entry = Entry(
      .tools, owner: "\(agent.name): what they do; agent-eval: schemas, limits, retries")
    entry.inPlace.append(
      "\(Figures.count(ownTools.count, "tool")), \(writers.count) of which write")
    for tool in ownTools { entry.missing += findings(of: tool) }
    for source in agent.sources {
      entry.missing.add(
        .note, "the tools of the server “\(source.name)” are not known before a run",
        advice: "name the tools that it may offer, and rules for them")
    }
    return entry
  }

  private func findings(of tool: ToolRegistration) -> [Finding] {
    let definition = tool.definition
    let name = "“\(definition.name)”"
    let writes = definition.sideEffect == .write
    var findings: [Finding] = []
    if !Self.saysInput(definition.inputSchema) {
      findings.add(
        writes ? .risk : .gap, "\(name) takes any input",
        advice: "an inputSchema with its properties and additionalProperties: false")
    }
    if definition.description.isEmpty {
      findings.add(.note, "\(name) has no description", advice: "tell the model what it is for")
    }
    if let why = Self.breadth(of: tool) {
      findings.add(
        definition.sideEffect == .read ? .gap : .risk, "\(name) is broad: \(why)",
        advice: "a tool for each thing that is wanted, with an enum or a pattern for its input")
    }
    if writes, !definition.idempotent {
      findings.add(
        .gap, "\(name) writes, and a call of it may not be made again",
        advice: "idempotent: true, with a tool that heeds its idempotency key")
    }
    if definition.timeoutSeconds == nil, Self.takesTime(tool) {
      findings.add(.note, "\(name) has no time limit of its own", advice: "timeoutSeconds")
    }
    return findings
  }

  /// Whether a schema says which properties there are.
  private static func saysInput(_ schema: JSONValue) -> Bool {
    ["properties", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"]
      .contains { schema[$0] != nil } || schema["additionalProperties"] == false
  }

  private static func takesTime(_ tool: ToolRegistration) -> Bool {
    switch tool.implementation {
    case .command, .http, .code: true
    case .scripted, .memory, .listed, .tool, .decision, .agent: false
    }
  }

  /// Why a tool can do nearly anything; `nil` where nothing speaks for that.
  private static func breadth(of tool: ToolRegistration) -> String? {
    if case .code = tool.implementation { return "it runs programs that the model writes" }
    let open: [(keys: [String], what: String)] = [
      (["command", "cmd", "shell", "script", "bash", "code"], "a program or a command line"),
      (["sql", "query", "statement"], "a statement of a database"),
      (["url", "uri", "endpoint", "href"], "any address"),
    ]
    let properties = tool.definition.inputSchema["properties"]?.objectValue ?? [:]
    for member in properties where isOpenText(member.value) {
      let key = member.key.lowercased()
      for kind in open where kind.keys.contains(key) {
        // A search takes a query as well.
        if key == "query", !tool.definition.name.lowercased().contains("sql") { continue }
        return "“\(member.key)” is \(kind.what), and any text will do"
      }
    }
    return nil
  }

  private static func isOpenText(_ schema: JSONValue) -> Bool {
    (schema["type"] == nil || schema["type"] == "string")
      && ["enum", "const", "pattern", "$ref"].allSatisfy { schema[$0] == nil }
  }

  // MARK: Policy

  private var policy: Entry { agent.command.map(policy(of:)) ?? ruledPolicy }

  /// What the rules say, or where there are none what holds without one.
  var ruledPolicy: Entry {
    var entry = Entry(.policy, owner: "\(agent.name): rules; agent-eval: the gate before each call")
    let rules = agent.policy.rules
    entry.inPlace.append(
      rules.isEmpty
        ? "the default: what writes needs approval"
        : Figures.count(rules.count, "rule"))
    if agent.runGuard != nil { entry.inPlace.append("a guard over the course of each run") }
    for tool in writers {
      let name = tool.definition.name
      let own = rules.first { $0.speaks(of: tool.definition) }
      switch own {
      case nil:
        entry.missing.add(
          .gap, "no rule speaks of “\(name)”, which writes: each call waits for a person",
          advice: "a rule that says who may call it, and with what")
      case let rule? where rule.verdict == .allow && rule.isUnconditional:
        entry.missing.add(
          .risk, "the rule “\(rule.id)” lets anybody call “\(name)” with anything",
          advice: "conditions on actor, tenant or input, or approval_required")
      default: break
      }
    }
    return entry
  }

  // MARK: Context, memory

  private var context: Entry {
    if agent.command != nil { return ownBusiness(.context, "what it shows its models") }
    var entry = Entry(.context, owner: "agent-eval: assembled by rules, each item with its reason")
    entry.inPlace.append(
      "a budget of \(Figures.count(agent.context.tokenBudget, "token")), \(agent.context.strategy.rawValue)"
    )
    if agent.answers.needsEvidence { entry.inPlace.append("answers cite what was shown") }
    if agent.answers.schema != nil { entry.inPlace.append("answers are values of a schema") }
    if agent.systemPrompt == nil, agent.instructions.isEmpty {
      entry.missing.add(.note, "the model has no instructions", advice: "system: …")
    }
    let shown = ownTools.count { $0.routes == nil && $0.disclose == nil }
    if shown > 20 {
      entry.missing.add(
        .gap, "the model is always told of \(shown) tools",
        advice: "routes or disclose: show tools where they are needed")
    }
    return entry
  }

  private var memory: Entry {
    if agent.command != nil { return ownBusiness(.memory, "what it keeps") }
    var entry = Entry(.memory, owner: "agent-eval: the store; \(agent.name): what is kept")
    entry.inPlace.append(
      agent.readsMemory || agent.writesMemory
        ? "notes outlive a run" : "nothing outlives a run")
    let usesActor = agent.memory.contains { $0.scope == "actor" } || agent.writesMemory
    if usesActor, agent.policyContext.actorId == nil {
      entry.missing.add(
        .note, "notes of an actor are kept, and the file names none",
        advice: "say for whom a run is: policyContext of the case, or record --actor")
    }
    return entry
  }

  // MARK: Trace

  private var trace: Entry {
    var entry = Entry(.trace, owner: "agent-eval: sealed logs, replay, verification")
    if agent.redaction.findsCredentials {
      entry.inPlace.append("credentials are withheld from logs")
    } else {
      entry.missing.add(
        .risk, "credentials that a run meets stand in its log",
        advice: "leave redaction: {credentials: …} out")
    }
    let source = JSONValue.object(agent.source)
    if let place = Self.firstDifference(source, Redactor(RedactionSettings()).redacted(source)) {
      entry.missing.add(
        .risk, "what looks like a credential stands in the file, at \(place)",
        advice:
          "keep it in a variable of the environment: keyFrom, ${NAME}, environment: {pass: …}")
    }
    return entry
  }

  /// Where two values of the same form differ first; `nil` where they do not.
  private static func firstDifference(
    _ left: JSONValue, _ right: JSONValue, at pointer: JSONPointer = JSONPointer()
  ) -> JSONPointer? {
    guard left != right else { return nil }
    func deeper(_ token: String, _ left: JSONValue, _ right: JSONValue?) -> JSONPointer? {
      let pointer = JSONPointer(tokens: pointer.tokens + [token])
      return right.map { firstDifference(left, $0, at: pointer) } ?? pointer
    }
    switch left {
    case .object(let object):
      for member in object {
        if let found = deeper(member.key, member.value, right[member.key]) { return found }
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        if let found = deeper("\(index)", element, right[index]) { return found }
      }
    default: break
    }
    return pointer
  }

  // MARK: Evals

  private var evals: Entry {
    var entry = Entry(.evals, owner: "\(agent.name): cases; agent-eval: judging")
    guard !cases.isEmpty else {
      entry.missing.add(
        .risk, "no case runs this agent", advice: "agent-eval init, or promote a recorded run")
      return entry
    }
    entry.inPlace.append("\(Figures.count(cases.count, "case")) run it")
    let forbidding = cases.count { $0.expected.forbids }
    if forbidding == 0 {
      entry.missing.add(
        .gap, "no case forbids anything",
        advice: "toolsNotCalled, noApprovalBypass, policy: {notGiven: …}")
    } else {
      entry.inPlace.append("\(forbidding) of them forbid something")
    }
    let untested = ownTools.map(\.definition.name).filter { name in
      !cases.contains { $0.expected.mentions(tool: name) }
    }
    if !untested.isEmpty {
      let told = untested.prefix(8).map { "“\($0)”" }.joined(separator: ", ")
      let more = untested.count > 8 ? " and \(untested.count - 8) more" : ""
      entry.missing.add(.gap, "no case speaks of \(told)\(more)", advice: "a case for each tool")
    }
    measure(&entry)
    return entry
  }

  /// How many runs, and changes to each, are tried at most; and how many events are judged with all of these, so that a
  /// check stays one: seconds, also where runs are long.
  private static let (runLimit, changeLimit, eventLimit) = (50, 200, 100_000)
  /// The share of changes that has to be noticed, or let pass for a reason.
  private static let neededShare = 0.9

  /// Says how much the cases would notice of changes to the runs that they were recorded with.
  private func measure(_ entry: inout Entry) {
    let recorded = cases.filter { $0.recording != nil && $0.fault == nil }
    guard !recorded.isEmpty else { return }
    var events = 0
    let passing = recorded.prefix(Self.runLimit).compactMap { evalCase -> (EvalCase, String)? in
      guard let log = evalCase.recording,
        let run = try? RecordedRun(path: log, for: evalCase.expected),
        run.judgement(evalCase.expected).outcome == .pass
      else { return nil }
      events += run.trajectory.lastSeq + 1
      return (evalCase, log)
    }
    if passing.count < min(recorded.count, Self.runLimit) {
      entry.missing.add(
        .gap,
        "\(min(recorded.count, Self.runLimit) - passing.count) of its recordings do not pass",
        advice: "agent-eval run on the folder of the cases says why")
    }
    let limit = min(Self.changeLimit, max(1, Self.eventLimit / max(1, events)))
    let counts = MutationSuite.score(passing, limit: limit, jobs: 1).counts
    guard counts.changes > 0 else { return }
    let told = counts.noticed + counts.tolerated
    entry.inPlace.append(
      "of \(Figures.count(counts.changes, "change")) to \(Figures.count(passing.count, "recorded run")) "
        + "the cases notice \(counts.noticed)"
        + (counts.tolerated > 0 ? " and let \(counts.tolerated) pass for a reason" : ""))
    guard counts.survivors > 0 else { return }
    let isFew = Double(told) >= Self.neededShare * Double(counts.changes)
    entry.missing.add(
      isFew ? .note : .gap,
      "\(counts.survivors) of \(counts.changes) changes to recorded runs would pass unseen",
      advice: "agent-eval mutate names each, with an expectation that would notice it")
  }

  // MARK: People

  private var people: Entry {
    var entry = Entry(.people, owner: "you: who approves and answers")
    let waits =
      writers.contains { tool in
        agent.policy.rules.first { $0.speaks(of: tool.definition) }
          .map { $0.verdict == .approvalRequired } ?? true
      }
    if waits, agent.command?.isGuarded != false {
      entry.inPlace.append("calls wait for a person: approve, deny")
    }
    let asks = agent.tools.contains { $0.definition.decides == "ask_human" }
    if asks { entry.inPlace.append("the model may ask a person") }
    if hasServedModel, !asks {
      entry.missing.add(
        .note, "the model has no way to ask a person", advice: "decisions: {askHuman: true}")
    }
    if agent.human != nil {
      entry.missing.add(
        .note, "a person is written down: they answer in production as well",
        advice: "put human into the cases")
    }
    return entry
  }
}

extension Policy.Rule {
  /// Whether the rule can fit a call of a tool.
  fileprivate func speaks(of tool: ToolDefinition) -> Bool {
    (tools?.contains { $0.matches(tool.name) } ?? true)
      && (sideEffects?.contains(tool.sideEffect) ?? true)
      && (sensitivities?.contains { glob in tool.sensitivity.map { glob.matches($0) } ?? false }
        ?? true)
  }

  /// Whether it asks nothing but which tool it is.
  fileprivate var isUnconditional: Bool {
    actors == nil && tenants == nil && routes == nil && attributes == nil && input == nil
      && approved == nil && remaining.isEmpty && calls.isEmpty && proposals.isEmpty
      && after.isEmpty && notAfter.isEmpty
  }
}

extension [ReadinessRecord.Finding] {
  mutating func add(
    _ weight: ReadinessRecord.Weight, _ message: String, advice: String
  ) {
    append(ReadinessRecord.Finding(weight, message, advice: advice))
  }
}
