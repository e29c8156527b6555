import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching
import TraceStorage

@testable import TraceJudging

/// A run in which everything happens that a change can be made to.
enum RichRun {
  static let events: [Event] = {
    var run = Builder()
    run.start()
    run.turn(1)
    run.decide(
      1,
      .invalid(reason: "no", calls: [ProposedCall(callId: "1.1.0", name: "look", input: ["id": 0])])
    )
    run.turn(1)
    run.call(1, "1.2.0", "look", ["id": 1, "deep": ["tags": ["x", true, nil]]])
    run.turn(2)
    run.call(2, "2.1.0", "pay", ["id": 1, "amount": 5], asks: true)
    run.turn(3)
    run.call(3, "3.1.0", "look", ["id": 2], result: ["status": "error", "reason": "no"])
    run.turn(4)
    run.refuse(4, "4.1.0", "wipe", ["id": 1])
    run.turn(5)
    run.call(5, "5.1.0", "note", ["key": "mood"], caller: "helper", writes: true)
    run.turn(6)
    let answer = #"{"paid":5}"#
    run.decide(6, .answer(text: answer, evidenceRefs: ["1.2.0"]))
    run.add(
      .stop, 6,
      [
        "reason": "success", "detail": "final_answer", "answer": .string(answer),
        "evidenceRefs": ["1.2.0"], "final": true,
      ])
    return run.events
  }()

  private struct Builder {
    var events: [Event] = []
    private var shown: [JSONValue] = []
    private static let beginning: [JSONValue] = [
      ["role": "system", "content": [["type": "text", "text": "Pay what is due."]]],
      ["role": "user", "content": [["type": "text", "text": "go"]]],
    ]

    mutating func add(_ type: EventType, _ step: Int, _ data: JSONObject) {
      events.append(
        Event(
          seq: events.count, step: step, type: type, runId: "r", t: events.count * 1_000, data: data
        ))
    }

    mutating func start() {
      func tool(_ name: String, _ effect: String) -> JSONValue {
        ["name": .string(name), "sideEffect": .string(effect), "inputSchema": ["type": "object"]]
      }
      add(
        .runStarted, 0,
        [
          "formatVersion": 2, "agent": ["name": "a"], "goal": "go",
          "limits": ["maxSteps": 20, "maxToolCalls": 30, "timeoutSeconds": 60],
          "tools": [
            tool("look", "read"), tool("pay", "write"), tool("wipe", "write"),
            tool("note", "draft"),
            tool("shred", "write"), tool("print", "draft"),
          ],
        ])
      add(.memoryRead, 0, ["scope": "actor", "key": "language", "value": "English"])
    }

    /// What the model is shown, and that it replies.
    mutating func turn(_ step: Int) {
      add(
        .contextBuilt, step,
        [
          "runId": "r", "goal": "go", "evidenceRefs": .array(shown),
          "included": .array(shown.map { ["ref": $0, "reason": "the latest turn"] }),
          "memoryRefs": [], "observations": [],
          "omittedRefs": [["ref": "old", "reason": "no room"]],
          "toolsDisclosed": ["look", "pay", "wipe", "note", "print"],
          "tokens": ["budget": 32_000, "estimate": JSONValue(200 + step)],
          "prompt": [
            "messages": .array(
              Self.beginning + shown.map(Self.message))
          ],
        ])
      add(
        .modelResult, step,
        [
          "purpose": "decide", "attempt": 1, "reply": [:], "cost": 0.01, "elapsedMicroseconds": 200,
          "usage": ["inputTokens": 100, "outputTokens": 10],
        ])
    }

    private static func message(of callId: JSONValue) -> JSONValue {
      let part: JSONValue = ["type": "tool_result", "callId": callId, "data": ["found": 1]]
      return ["role": "tool", "content": [part]]
    }

    mutating func decide(_ step: Int, _ decision: Decision, caller: String? = nil) {
      var data = DecisionPayload(decision).encoded
      data["caller"] = caller.map(JSONValue.string)
      add(.decision, step, data)
    }

    private mutating func verdict(_ step: Int, _ callId: String, _ tool: String, _ status: String) {
      add(
        .policyDecision, step,
        [
          "callId": .string(callId), "tool": .string(tool), "status": .string(status),
          "reason": .string("rule \(status)"), "ruleId": .string(status),
        ])
    }

    mutating func call(
      _ step: Int, _ callId: String, _ tool: String, _ input: JSONValue, asks: Bool = false,
      caller: String? = nil, writes: Bool = false,
      result: JSONObject = ["status": "ok", "data": ["found": 1]]
    ) {
      let call = ProposedCall(callId: callId, name: tool, input: input)
      decide(step, .tool([call]), caller: caller)
      let id = JSONValue.string(callId)
      if asks {
        verdict(step, callId, tool, "approval_required")
        add(
          .approval, step,
          [
            "callId": id, "actionId": .string(call.actionId), "granted": true, "by": "ana",
            "scope": ["calls": 1],
          ])
      }
      verdict(step, callId, tool, "allow")
      add(
        .toolStarted, step,
        [
          "callId": id, "tool": .string(tool), "attempt": 1,
          "idempotencyKey": .string("r/\(callId)"),
        ])
      if writes {
        add(
          .memoryWritten, step,
          ["callId": id, "scope": "actor", "key": "mood", "value": "hungry"])
      }
      var data = result
      data["callId"] = id
      data["tool"] = .string(tool)
      data["attempts"] = 1
      data["elapsedMicroseconds"] = 500
      add(.toolResult, step, data)
      if result["status"] == "ok" { shown.append(id) }
    }

    mutating func refuse(_ step: Int, _ callId: String, _ tool: String, _ input: JSONValue) {
      decide(step, .tool([ProposedCall(callId: callId, name: tool, input: input)]))
      verdict(step, callId, tool, "deny")
      add(
        .toolResult, step,
        [
          "callId": .string(callId), "tool": .string(tool), "status": "refused", "reason": "no",
        ])
    }
  }
}

@Suite("What each expectation notices")
struct MutantTableTests {
  private struct Run {
    var name: String
    var events: [Event]
  }

  /// Of those that were recorded, the ones that the table is made from.
  private static let few = [
    "breaker-opens", "conversation", "hidden-deletion", "invalid-decision-repaired", "notes-kept",
    "parallel-search", "refund-approved", "refund-needs-approval", "refund-refused-by-person",
    "retry-helps",
  ]

  private static func runs(_ names: [String]? = nil) throws -> [Run] {
    let files =
      names?.map { "Fixtures/runs/\($0).jsonl.gz" }
      ?? Project.files(below: "Fixtures/runs", ending: ".jsonl.gz").filter {
        TestRun.isLong || !$0.contains("hundred-steps")
      }
    return try [Run(name: "rich", events: RichRun.events)] + pipelines()
      + files.map { Run(name: $0, events: try Fixture.events(Project.path($0))) }
  }

  /// Pipelines with the runs of their tasks.
  private static func pipelines() throws -> [Run] {
    try ["letter", "review"].map { name in
      var reader = try RunTreeReader(path: Project.path("Fixtures/pipeline-runs/\(name).jsonl.gz"))
      var events: [Event] = []
      while let event = try reader.next()?.event { events.append(event) }
      return Run(name: name, events: events)
    }
  }

  /// Expectations on the tasks of a pipeline; none of another run.
  private static func tasks(_ run: Run) -> [JSONValue] {
    var gathered = TaskFacts(keepsOutputs: true)
    for event in run.events { gathered.apply(event) }
    return gathered.nodes.sorted { $0.key < $1.key }.flatMap { node, fact -> [JSONValue] in
      let name = node.description
      var all: [JSONObject] = [
        ["status": [name: .string(fact.status.rawValue)]],
        ["attempts": [name: JSONValue(fact.attempts)]],
        ["by": [name: .string(fact.by ?? node.task)]],
        ["undone": [name: JSONValue(fact.compensations)]],
        [fact.ran ? "ran" : "notRan": [.string(name)]],
      ]
      if let elements = fact.elements { all.append(["elements": [name: JSONValue(elements)]]) }
      if let output = fact.output { all.append(["output": [name: ["$exact": output]]]) }
      return all.map { ["tasks": .object($0)] }
    }
  }

  /// Expectations on each run below the root.
  private static func callers(_ run: Run) -> [JSONValue] {
    run.events.compactMap { RunBelow(beginningWith: $0) }.flatMap { begun -> [JSONValue] in
      var below = begun
      var own = Trajectory()
      for event in run.events {
        guard let told = below.event(event) else { continue }
        own.skip(to: event.seq - 1)
        own.apply(told)
      }
      var all: [JSONValue] = [
        ["maxSteps": JSONValue(own.steps)], ["maxToolCalls": JSONValue(own.calls.count)],
      ]
      if let stop = own.stop { all.append(["stopReason": .string(stop.reason.rawValue)]) }
      if case .string(let text)? = own.answer?.value {
        all.append(["answer": ["$literal": .string(text)]])
      }
      for call in own.calls where call.isExecuted {
        all.append(["toolsCalled": [.string(call.tool)]])
      }
      return all.map { ["callers": .object([begun.caller: $0])] }
    }
  }

  // MARK: Expectations of a run

  /// What a row is named by: the word, and its part where it has parts.
  private static func name(of expected: JSONValue) -> String? {
    guard let object = expected.objectValue else { return nil }
    if let order = object["order"]?.stringValue { return "order: \(order)" }
    guard let key = object.keys.first(where: { $0 != "order" }), let value = object[key] else {
      return nil
    }
    if object["extra"] != nil { return "extra" }
    switch key {
    case "toolsCalled":
      let parts = (value[0]?.objectValue?.keys ?? []).filter { $0 != "tool" }
      return parts.isEmpty ? key : "\(key) with \(parts.sorted().last ?? "")"
    case "time":
      guard let rule = value[0]?.objectValue else { return key }
      let claim = TimeRule.Claim.allCases.first { rule[$0.rawValue] != nil }?.rawValue ?? ""
      return "time.\(claim)"
    case "budget":
      guard let part = value.objectValue?.keys.first else { return key }
      guard part == "tools" else { return "budget.\(part)" }
      let limits = value["tools"]?.objectValue?.first?.value.objectValue
      return "budget.tools.\(limits?.keys.first ?? "")"
    case "policy", "context", "memory", "evidence", "tasks":
      return value.objectValue?.keys.first.map { "\(key).\($0)" }
    default: return key
    }
  }

  /// Expectations of every sort, of which a run may meet some.
  private static func candidates(_ run: Run) throws -> [JSONValue] {
    let trajectory = Trajectory(of: run.events)
    let calls = trajectory.calls.filter { $0.isExecuted }
    func distinct(_ names: [String]) -> [String] {
      var seen: Set<String> = []
      return names.filter { seen.insert($0).inserted }
    }
    let executed = distinct(calls.map(\.tool))
    let proposed = distinct(trajectory.calls.map(\.tool))
    let tools = distinct(trajectory.toolNames ?? [])
    func glob(_ name: String) -> JSONValue { .string(Glob.escaping(name)) }
    func entry(_ call: Trajectory.Call, _ more: JSONObject = [:]) -> JSONValue {
      var entry: JSONObject = ["tool": glob(call.tool)]
      for member in more { entry[member.key] = member.value }
      return .object(entry)
    }
    var all =
      MutantMaker(run.events).mutants().flatMap { $0.remedies() } + tasks(run) + callers(run)
    if let stop = trajectory.stop { all.append(["stopReason": .string(stop.reason.rawValue)]) }
    for name in executed {
      let count = calls.count { $0.tool == name }
      all.append(["toolsCalled": [glob(name)]])
      all.append(["toolsCalled": [["tool": glob(name), "times": JSONValue(count)]]])
      all.append(["eachCall": [["tool": glob(name), "status": "ok"]]])
      all.append(["time": [["eventually": glob(name)]]])
      all.append(["noRepeatedSideEffect": [glob(name)]])
      all.append(["evidence": ["cites": [glob(name)]]])
      for limit in 0...4 {
        for part in ["calls", "errors", "retries"] {
          all.append(
            ["budget": ["tools": .object([name: .object([part: JSONValue(limit)])])]])
        }
      }
    }
    for call in calls.prefix(12) {
      if let input = call.input {
        all.append(["toolsCalled": [entry(call, ["input": ["$exact": input]])]])
        all.append(["eachCall": [entry(call, ["input": ["$exact": input]])]])
      }
      all.append(["toolsCalled": [entry(call, ["caller": .string(call.caller)])]])
      if case .ok(let data)? = call.result {
        all.append(["toolsCalled": [entry(call, ["status": "ok"])]])
        all.append(["toolsCalled": [entry(call, ["result": ["$exact": data]])]])
      }
    }
    for name in proposed {
      all.append(["toolsProposed": [glob(name)]])
      for verdict in ["allow", "deny", "approval_required"] {
        let moment: JSONValue = ["verdict": .string(verdict), "tool": glob(name)]
        all += [["policy": ["given": [moment]]], ["policy": ["notGiven": [moment]]]]
      }
    }
    for name in tools where !executed.contains(name) {
      all += [["toolsNotCalled": [glob(name)]], ["time": [["never": glob(name)]]]]
      if !proposed.contains(name) { all.append(["toolsNotProposed": [glob(name)]]) }
    }
    for (first, second) in zip(calls, calls.dropFirst()) where first.tool != second.tool {
      all.append(["time": [["expect": glob(first.tool), "before": glob(second.tool)]]])
      all.append(["time": [["never": glob(second.tool), "before": glob(first.tool)]]])
    }
    if !executed.isEmpty {
      all.append(["time": [["only": .array(executed.map(glob))]]])
      let list = JSONValue.array(calls.map { entry($0) })
      all += [
        ["order": "in_order", "toolsCalled": list], ["order": "exact", "toolsCalled": list],
        [
          "extra": "forbid",
          "toolsCalled": .array(
            executed.map { name in
              ["tool": glob(name), "times": JSONValue(calls.count { $0.tool == name })]
            }),
        ],
      ]
    }
    all += [
      ["maxSteps": JSONValue(trajectory.steps)], ["maxToolCalls": JSONValue(calls.count)],
      ["noRepeatedSideEffect": true], ["noApprovalBypass": true], ["evidence": ["observed": true]],
      ["policy": ["noApprovals": [["by": "somebody-else"]]]],
      ["time": [["never": ["invalidDecision": true]]]],
    ]
    for count in 0...4 {
      all += [
        ["maxInvalidDecisions": JSONValue(count)], ["maxRetries": JSONValue(count)],
        ["evidence": ["min": JSONValue(count)]],
      ]
      if count > 1 { all.append(["noLoops": JSONValue(count)]) }
    }
    if let answer = trajectory.answer {
      all.append(["answer": ["$literal": .string(answer.text)]])
      if let json = try? JSONValue(parsing: answer.text) {
        all.append(["answerJson": ["$exact": json]])
      }
    }
    var state = AgentState()
    for event in run.events { state.apply(event) }
    if let totals = state.encoded["totals"] {
      all.append(["state": ["/totals": ["$exact": totals]]])
    }
    // What a word suggests that nothing above speaks of.
    let spokenOf = Set(all.flatMap { $0.objectValue?.keys ?? [] })
    for kind in Expectations.kinds where !spokenOf.contains(kind.key) {
      all += kind.suggestions(for: trajectory)
    }
    let budget = try Expectations(parsing: ["budget": ["calls": 1]])
    var gathered = GatheredFacts(for: budget)
    for event in run.events { gathered.apply(event) }
    for (measure, amount) in RunTotals(of: trajectory, gathered).amounts {
      let most =
        [.cost, .seconds].contains(measure) ? JSONValue(amount * 1.01) : JSONValue(Int(amount))
      all.append(["budget": .object([measure.rawValue: most])])
    }
    return all
  }

  // MARK: The table

  /// Which kinds of change each sort of expectation notices, over all runs.
  private static func noticed() throws -> [String: Set<RunMutation.Kind>] {
    var table: [String: Set<RunMutation.Kind>] = [:]
    for run in try runs(few) {
      var seen: Set<JSONValue> = []
      let cases = try candidates(run).compactMap { expected -> RunMutants.JudgingCase? in
        guard seen.insert(expected).inserted, let name = name(of: expected) else { return nil }
        // Some do not stand in a case.
        guard let read = try? Expectations(parsing: expected) else { return nil }
        return RunMutants.JudgingCase(caseId: name, expected: read)
      }
      let score = RunMutants(log: run.name, of: run.events, judgedBy: cases, limit: 400).score
      for one in score.cases {
        table[one.caseId, default: []].formUnion(one.noticed.filter { $0.value > 0 }.keys)
      }
    }
    return table
  }

  /// The rows that there have to be: a word that is added needs one.
  private static var rows: [String] {
    let withParts = [
      "toolsCalled", "order", "time", "budget", "evidence", "policy", "context", "memory",
      "tasks",
    ]
    let outside = ["exec", "judge", "severity"]
    func parts(_ word: String) -> [String] {
      switch word {
      case "toolsCalled":
        ["toolsCalled"]
          + ["input", "status", "result", "times", "caller"].map { "toolsCalled with \($0)" }
      case "order": ["order: in_order", "order: exact"]
      case "time": TimeRule.Claim.allCases.map { "time.\($0.rawValue)" }
      case "budget":
        Budget.runMeasures.map { "budget.\($0.rawValue)" }
          + Budget.toolMeasures.map { "budget.tools.\($0.rawValue)" }
      case "evidence": ["observed", "min", "cites"].map { "evidence.\($0)" }
      case "policy": ["given", "notGiven", "approvals", "noApprovals"].map { "policy.\($0)" }
      case "context": ContextRule.keyNames.filter { $0 != "steps" }.map { "context.\($0)" }
      // That a task did not run no change undoes: none makes one run.
      case "tasks": TaskRule.keys.filter { $0 != "notRan" }.map { "tasks.\($0)" }
      default: ["read", "notRead", "written", "notWritten"].map { "memory.\($0)" }
      }
    }
    return Expectations.keyNames.filter { !outside.contains($0) }.flatMap {
      withParts.contains($0) ? parts($0) : [$0]
    }
  }

  @Test("every sort of expectation notices a kind of change, and the document says which")
  func table() async throws {
    let noticed = try await apart { try Self.noticed() }
    let lines = Self.rows.map { row in
      let kinds = RunMutation.Kind.allCases.filter { noticed[row]?.contains($0) == true }
      #expect(!kinds.isEmpty, "\(row) notices nothing")
      return "| `\(row)` | \(kinds.map { "`\($0.rawValue)`" }.joined(separator: " ")) |"
    }
    let unused = RunMutation.Kind.allCases.filter { kind in
      !noticed.values.contains { $0.contains(kind) }
    }
    #expect(unused == [])
    try Project.checkTable(
      lines, below: "| expectation | notices |\n|---|---|\n", in: "Docs/mutation.md")
  }

  /// The kinds that only a pipeline can be changed in.
  private static let ofPipelines: [RunMutation.Kind] = [
    .skippedTask, .edge, .taskOutput, .missingCompensation,
  ]

  @Test(
    "of a pipeline tasks are skipped, edges cut, outputs changed and effects left, and each has a remedy"
  )
  func pipelineChanges() throws {
    for run in try Self.pipelines() {
      let weak = RunMutants(
        log: "l", of: run.events,
        judgedBy: [
          RunMutants.JudgingCase(
            caseId: "c", expected: try Expectations(parsing: ["toolsNotCalled": ["nothing"]]))
        ], limit: 1_000
      ).score
      for kind in Self.ofPipelines where kind != .missingCompensation || run.name == "letter" {
        #expect((weak.kinds[kind]?.changes ?? 0) > 0, "\(run.name): \(kind)")
      }
      let survivors = weak.survivors.filter { Self.ofPipelines.contains($0.mutation.kind) }
      for survivor in survivors {
        // What was undone has no output that a task could be asked for; its call has.
        let isUndone = run.name == "letter" && survivor.mutation.kind == .taskOutput
        #expect(survivor.remedy != nil || isUndone, "\(run.name): \(survivor.mutation.words)")
      }
    }
  }

  // MARK: Possible runs

  /// The kinds of which each changed run is one that could have been recorded; the others are made by
  /// breaking a rule.
  private static let lawful: [RunMutation.Kind] = [
    .refusedRuns, .proposedRuns, .retry, .loop, .caller, .invalidDecision, .evidence, .approver,
    .context, .memory, .slow,
  ]

  /// What is wrong with a run as a record of something that happened.
  private static func faults(_ events: [Event]) -> Set<String> {
    var faults: Set<String> = []
    var proposed: Set<String> = []
    var verdicts: [String: String] = [:]
    var asked: Set<String> = []
    var granted: Set<String> = []
    var attempts: [String: Int] = [:]
    var ended: Set<String> = []
    var (step, t) = (0, 0)
    var isOver = false
    for event in events {
      if isOver { faults.insert("something happens behind the end") }
      if event.t < t { faults.insert("time goes back") }
      if event.step < step || event.step > step + 1 { faults.insert("steps leap") }
      (step, t) = (event.step, max(t, event.t))
      let callId = event.data["callId"]?.stringValue ?? ""
      switch event.type {
      case .decision:
        let decision = (try? DecisionPayload(decoding: event.data))?.decision
        for call in decision?.calls ?? [] where !proposed.insert(call.callId).inserted {
          faults.insert("a call is proposed twice")
        }
      case .policyDecision:
        verdicts[callId] = event.data["status"]?.stringValue
        if verdicts[callId] == "approval_required" { asked.insert(callId) }
        if !proposed.contains(callId) { faults.insert("a verdict on nothing") }
      case .approval: if event.data["granted"] == true { granted.insert(callId) }
      case .toolStarted:
        if !proposed.contains(callId) { faults.insert("a call begins that nobody proposed") }
        if let verdict = verdicts[callId], verdict != "allow" {
          faults.insert("a call begins that was not allowed")
        }
        if asked.contains(callId), !granted.contains(callId) {
          faults.insert("a call begins that was not approved")
        }
        if ended.contains(callId) { faults.insert("a call begins that was over") }
        attempts[callId, default: 0] += 1
        if event.data["attempt"]?.intValue != attempts[callId] {
          faults.insert("attempts are not counted")
        }
      case .toolResult:
        let isRefused = event.data["status"] == "refused"
        if !proposed.contains(callId) { faults.insert("a result of nothing") }
        if !ended.insert(callId).inserted { faults.insert("two results of a call") }
        if !isRefused, attempts[callId] == nil { faults.insert("a result without a beginning") }
        if let told = event.data["attempts"]?.intValue, told != attempts[callId] ?? told {
          faults.insert("a result counts other attempts")
        }
      case .stop:
        isOver = event.data["final"]?.boolValue ?? true
        if event.data["reason"] == "approval_required",
          !asked.contains(where: { !granted.contains($0) && !ended.contains($0) })
        {
          faults.insert("a run waits for nobody")
        }
      default: break
      }
      if (try? EventPayload(of: event)) == nil {
        faults.insert("\(event.type.rawValue) cannot be read")
      }
    }
    return faults
  }

  @Test("what a change makes of a run is a run that could have been recorded")
  func possible() throws {
    var changed = 0
    for run in try Self.runs() {
      let known = Self.faults(run.events)
      for mutant in MutantMaker(run.events).mutants()
      where Self.lawful.contains(mutant.mutation.kind) {
        changed += 1
        let new = Self.faults(mutant.events(of: run.events)).subtracting(known)
        #expect(new.isEmpty, "\(run.name): \(mutant.mutation.words): \(new.sorted())")
      }
    }
    #expect(changed > 300)
  }

  @Test(
    "everything that can be changed of a run is, each change has a remedy, and all of them notice it"
  )
  func rich() throws {
    func score(_ expected: [JSONValue]) throws -> MutationScore.RunScore {
      RunMutants(
        log: "l", of: RichRun.events,
        judgedBy: [
          RunMutants.JudgingCase(caseId: "c", expected: try Expectations(parsing: .array(expected)))
        ], limit: 1_000
      ).score
    }
    let weak = try score([["stopReason": "success"]])
    let missing = RunMutation.Kind.allCases.filter { weak.kinds[$0] == nil }
    #expect(missing == Self.ofPipelines)
    for survivor in weak.survivors { #expect(survivor.remedy != nil, "\(survivor.mutation)") }
    var remedies: [JSONValue] = []
    for remedy in weak.survivors.compactMap(\.remedy) where !remedies.contains(remedy) {
      remedies.append(remedy)
    }
    let strict = try score([["stopReason": "success"]] + remedies)
    #expect(strict.counts.changes == weak.counts.changes)
    #expect(strict.survivors.map(\.mutation.words) == [])
  }
}
