import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceMatching

@testable import EvalLoading

@Suite("JSON Schemas of files")
struct FileSchemaTests {
  @Test("The files under Schemas are these schemas, byte for byte", arguments: FileSchema.allCases)
  func checkedIn(schema: FileSchema) throws {
    let path = "\(Project.root)/Schemas/\(schema.fileName)"
    if ProcessInfo.processInfo.environment["UPDATE_SCHEMAS"] != nil {
      try schema.text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == schema.text)
  }

  @Test("No part of the schema of cases has the name of another")
  func partNames() {
    let ofRuns = Set(CaseConditionsFile.definitions.keys)
    let ofExpectations = Set(ExpectationsSchema.definitions.keys)
    #expect(!ofRuns.isEmpty && ofRuns.isDisjoint(with: ofExpectations))
  }

  @Test("A schema is valid JSON that can be compiled", arguments: FileSchema.allCases)
  func compiles(schema: FileSchema) throws {
    let json = try JSONValue(parsing: schema.text)
    #expect(json == schema.json)
    _ = try JSONSchema(compiling: json)
  }

  @Test("Every property of every schema is described", arguments: FileSchema.allCases)
  func described(schema: FileSchema) {
    var pending: [(String, JSONValue)] = [("", schema.json)]
    while let (path, value) = pending.popLast() {
      // A condition repeats properties only to look at them.
      for member in value.objectValue ?? [:] where !["if", "then", "not"].contains(member.key) {
        if member.key == "properties", path != "/properties" {
          for property in member.value.objectValue ?? [:]
          where !path.hasSuffix("/allOf") || property.value["description"] != nil {
            let text = property.value["description"]?.stringValue ?? ""
            #expect(!text.isEmpty, "\(path)/\(property.key)")
          }
        }
        pending.append(("\(path)/\(member.key)", member.value))
      }
      for element in value.arrayValue ?? [] { pending.append((path, element)) }
    }
  }

  @Test("The schema of expectations names every expectation and every key of a call")
  func expectationKeys() {
    let properties = ExpectationSchema.expected["properties"]?.objectValue ?? [:]
    #expect(Set(properties.keys) == Set(Expectations.keyNames))
    let entry = ExpectationSchema.definitions["executed"]?["items"]?["anyOf"]?[1]?["properties"]
    #expect(Set(entry?.objectValue?.keys ?? []) == Set(CallEntry.keyNames))
  }

  @Test("The schema of matchers names every operator of this version")
  func operators() {
    let known = MatcherSchema.definitions["operators"]?["properties"]?.objectValue?.keys ?? []
    #expect(Set(known) == Set(Matcher.operatorNames))
  }

  // MARK: The loader and the schema agree

  /// What the loader says of a text, and what the schema says.
  private func verdicts(
    _ text: String, as kind: FileSchema
  ) throws -> (loader: [String], schema: [String]) {
    let bytes = Array(text.utf8)
    let document = SourceDocument(bytes, path: "f.yaml")
    #expect(document.diagnostics.isEmpty, "\(text)")
    let value = try #require(document.roots.first?.value)
    let violations = try JSONSchema(compiling: kind.json).validate(value).map(\.description)
    let diagnostics: [Diagnostic]
    switch kind {
    case .case:
      let folder = try TemporaryFolder()
      let path = try folder.write("f.yaml", text)
      diagnostics = withExtendedLifetime(folder) {
        CaseLoader.load([path], areRunsElsewhere: true).diagnostics
      }
    case .agent: diagnostics = AgentLoader.load(bytes, path: "f.yaml").diagnostics
    default: diagnostics = PolicyLoader.read(document).diagnostics
    }
    return (
      diagnostics.filter { $0.severity == .error }.map(\.description), violations
    )
  }

  @Test("Valid cases are valid to both", arguments: validCases)
  func validCase(text: String) throws {
    let verdicts = try verdicts(text, as: .case)
    #expect(verdicts.loader == [])
    #expect(verdicts.schema == [])
  }

  @Test("Invalid cases are invalid to both", arguments: invalidCases)
  func invalidCase(text: String) throws {
    let verdicts = try verdicts(text, as: .case)
    #expect(verdicts.loader != [])
    #expect(verdicts.schema != [])
  }

  @Test("Valid agents are valid to both", arguments: validAgents)
  func validAgent(text: String) throws {
    let verdicts = try verdicts(text, as: .agent)
    #expect(verdicts.loader == [])
    #expect(verdicts.schema == [])
  }

  @Test("Invalid agents are invalid to both", arguments: invalidAgents)
  func invalidAgent(text: String) throws {
    let verdicts = try verdicts(text, as: .agent)
    #expect(verdicts.loader != [])
    #expect(verdicts.schema != [])
  }

  @Test("Whatever one value of an agent is changed to, both say the same of it")
  func changedAgents() throws {
    let disagreements = try disagreements(on: wholeAgent, as: .agent) { bytes in
      AgentLoader.load(bytes, path: "f.json").diagnostics
    }
    // What only the loader knows: which schemas compile, which files are there.
    #expect(
      disagreements.filter { !$0.contains("Schema/") && $0 != "/policy = \"x\": loader refuses" }
        == [])
  }

  @Test("Whatever one value of a case is changed to, both say the same of it")
  func changedCases() throws {
    let folder = try TemporaryFolder()
    let disagreements = try disagreements(on: wholeCase, as: .case) { bytes in
      CaseLoader.load([try folder.write("f.json", bytes)], areRunsElsewhere: true).diagnostics
    }
    // A schema cannot compare two numbers with each other.
    #expect(
      disagreements == ["/expected/toolsNotCalled/0/times/min = 5: loader refuses"])
  }

  /// Changes each value of a file in turn, and names the changes of which loader and schema differ.
  private func disagreements(
    on text: String, as kind: FileSchema, _ load: ([UInt8]) throws -> [Diagnostic]
  ) throws -> [String] {
    let schema = try JSONSchema(compiling: kind.json)
    let whole = try #require(SourceDocument(Array(text.utf8), path: "f.yaml").roots.first?.value)
    #expect(try !load(CanonicalJSON.encode(whole, form: .plain)).hasErrors)
    var paths: [JSONPointer] = []
    collect(whole, at: JSONPointer(), into: &paths)
    #expect(paths.count > 40)
    var found: [String] = []
    for path in paths {
      for value in [nil, true, 5, "", "x", [], [:]] as [JSONValue] {
        let changed = replacing(path.tokens[...], in: whole, by: value)
        let hasErrors = try load(CanonicalJSON.encode(changed, form: .plain)).hasErrors
        if hasErrors == schema.validate(changed).isEmpty {
          found.append("\(path) = \(value): \(hasErrors ? "loader" : "schema") refuses")
        }
      }
    }
    return found
  }

  /// The way to each value within a value, but for what matchers and free values hold.
  private func collect(_ value: JSONValue, at path: JSONPointer, into paths: inout [JSONPointer]) {
    if !path.tokens.isEmpty { paths.append(path) }
    for member in value.objectValue ?? [:]
    where !["ok", "attributes"].contains(path.tokens.last) {
      collect(member.value, at: path.appending(member.key), into: &paths)
    }
    for (index, element) in (value.arrayValue ?? []).enumerated() {
      collect(element, at: path.appending(String(index)), into: &paths)
    }
  }

  private func replacing(
    _ path: ArraySlice<String>, in value: JSONValue, by new: JSONValue
  ) -> JSONValue {
    guard let token = path.first else { return new }
    switch value {
    case .object(var object):
      object[token] = object[token].map { replacing(path.dropFirst(), in: $0, by: new) }
      return .object(object)
    case .array(var elements):
      guard let index = Int(token) else { return value }
      elements[index] = replacing(path.dropFirst(), in: elements[index], by: new)
      return .array(elements)
    default: return value
    }
  }

  @Test("Policies are valid or invalid to both", arguments: policies)
  func policy(text: String, isValid: Bool) throws {
    let verdicts = try verdicts(text, as: .policy)
    #expect(verdicts.loader.isEmpty == isValid)
    #expect(verdicts.schema.isEmpty == isValid)
  }

  @Test("Every line of a recorded run fits the schema of events")
  func events() throws {
    let schema = try JSONSchema(compiling: FileSchema.event.json)
    let sink = InMemoryEventSink()
    for (index, payload) in samplePayloads.enumerated() {
      sink.append(
        Event(
          seq: index, step: 0, type: payload.type, runId: "r", t: 0, data: payload.encoded),
        isEffectAhead: false)
    }
    for event in sink.events {
      let line = try JSONValue(parsing: event.encodedLine())
      #expect(schema.validate(line).map(\.description) == [], "\(event.type)")
    }
    let mark = try JSONValue(parsing: Mark(name: "seal", data: [:]).encodedLine())
    #expect(schema.validate(mark).isEmpty)
    #expect(!schema.validate(["seq": 0]).isEmpty)
    #expect(
      !schema.validate([
        "seq": 0, "step": 0, "type": "tool_result", "runId": "r", "t": 0,
        "data": ["callId": "1", "tool": "a", "status": "fine"],
      ]).isEmpty)
  }

  @Test("what only pipelines have is read as it was written, and fits the schema key by key")
  func pipelineEvents() throws {
    #expect(Set(pipelinePayloads.map(\.type)) == Set(EventType.ofPipelines))
    let definitions = FileSchema.event.json["$defs"]
    for payload in pipelinePayloads {
      #expect(
        try PipelineEvent(type: payload.type, data: payload.encoded) == payload, "\(payload.type)")
      let known = definitions?[payload.type.rawValue]?["properties"]?.objectValue?.keys ?? []
      #expect(Set(payload.encoded.keys) == Set(known), "\(payload.type)")
    }
  }

  @Test("Results as the vocabulary writes them fit their schema")
  func results() throws {
    let schema = try JSONSchema(compiling: FileSchema.results.json)
    let results: JSONValue = [
      "schema": "agent-eval/results/1",
      "cases": [
        [
          "caseId": "a", "outcome": "fail",
          "trials": [
            [
              "runId": "r", "log": "x.jsonl.gz", "judgedFrom": "body", "outcome": "fail",
              "expectations": [
                [
                  "expectation": "stopReason", "outcome": "not_exercised", "events": [3],
                  "message": "m",
                ]
              ],
            ]
          ],
        ]
      ], "summary": ["pass": 0, "fail": 1, "inconclusive": 0, "error": 0],
    ]
    #expect(schema.validate(results).isEmpty)
    #expect(!schema.validate(["schema": "agent-eval/results/2"]).isEmpty)
  }
}

/// One payload of each type of event.
private let samplePayloads: [EventPayload] =
  [
    .runStarted(RunStarted(agentName: "a", goal: "g", tools: [ToolDefinition(name: "t")])),
    .toolsListed(ToolsListed(source: "s", tools: [ToolDefinition(name: "t")])),
    .toolsListed(
      ToolsListed(
        source: "s",
        offered: [
          OfferedTool(
            name: "t", title: "T", description: "d", outputSchema: ["type": "object"],
            annotations: ["readOnlyHint": true])
        ], tools: [ToolDefinition(name: "s.t")],
        withheld: [WithheldTool(name: "u", reason: "it is no longer offered")],
        server: ["name": "x", "protocol": "2026-07-28"], error: "no")),
    .contextBuilt(
      ContextPacket(
        runId: "r", goal: "g", stateSummary: [:], observations: [["id": "1", "summary": "s"]],
        toolsDisclosed: ["t"], evidenceRefs: [], memoryRefs: [],
        included: [], omittedRefs: [], messages: [["role": "user", "content": []]],
        tokenEstimate: 5, tokenBudget: 10)),
    .modelResult(ModelResult(reply: ["text": "x"], inputTokens: 1, cost: 0.5)),
    .decision(
      DecisionPayload(
        .tool([ProposedCall(callId: "1.1.0", name: "t", input: [:])]), modelResult: 3)),
    .decision(DecisionPayload(.answer(text: "x", evidenceRefs: []))),
    .decision(DecisionPayload(.invalid(reason: "no", calls: []))),
    .policyDecision(Verdict(callId: "1.1.0", tool: "t", status: .approvalRequired, reason: "r")),
    .toolStarted(
      ToolStartedPayload(callId: "1.1.0", tool: "t", attempt: 1, idempotencyKey: "r/1.1.0")),
    .toolStarted(secondStart),
    .toolResult(ToolResultPayload(callId: "1.1.0", tool: "t", result: .ok(data: nil))),
    .toolResult(
      ToolResultPayload(callId: "1.1.0", tool: "t", result: .error("x", isEffectUnknown: true))),
    .toolResult(cutOffResult),
    .approval(Approval(callId: "1.1.0", actionId: "x", granted: true, by: "ann")),
    .approval(
      Approval(
        callId: "1.1.0", actionId: "x", granted: true, by: "ann", scope: .input,
        until: "2026-12-24T18:00:00Z")),
    .approval(Approval(callId: "1.1.0", actionId: "x", granted: true, by: "ann", scope: nil)),
    .humanReplied(HumanReplied(text: "x", by: "ann", replyTo: 3, modelResult: 2)),
    .memoryRead(MemoryNote(scope: "run", key: "k", value: nil)),
    .memoryWritten(MemoryNote(scope: "run", key: "k", value: [1])),
    .breakerChanged(BreakerChanged(tool: "t", state: .halfOpen, failures: 2)),
    .replyChanged(ReplyChanged(modelResult: 3, removed: ["1.1.0"], wire: [:])),
    .decision(
      DecisionPayload(
        .tool([ProposedCall(callId: "1.1.p0", name: "t", input: [:], executedBy: "provider")]))),
    .requestForwarded(RequestForwarded(method: "GET", path: "/x", bodyDigest: "d", status: 200)),
    .unseen(Unseen(.reply, ["calls": "partial"], reason: "no", caller: "a", modelResult: 3)),
    .runResumed(RunResumed(why: "approval")),
    .stop(Stop(reason: .success, detail: "final_answer", answer: "x", totals: Totals())),
  ] + pipelinePayloads.map { .pipeline($0) }

private let secondStart: ToolStartedPayload = {
  var start = ToolStartedPayload(callId: "1.1.0", tool: "t", attempt: 2, idempotencyKey: "r/1.1.0")
  start.isEarlierEffectUnknown = true
  return start
}()

private let cutOffResult: ToolResultPayload = {
  var result = ToolResultPayload(callId: "1.1.0", tool: "t", result: .error("x"))
  result.signal = "SIGTERM"
  return result
}()

/// One of each event that only pipelines have, with every key.
private let pipelinePayloads: [PipelineEvent] = {
  let node = TaskNode("a", element: 3)
  var run = TaskRun(runId: "c", log: "c.jsonl.gz")
  run.stopReason = "success"
  run.sealDigest = "d"
  run.totals = Totals().encoded
  var started = TaskStarted(
    node: node, attempt: 2, acting: "s", kind: "agent", input: ["x": 1], sideEffect: "write")
  started.arguments = ["do", "it"]
  started.origins = ["b": 4]
  started.isIdempotent = true
  started.idempotencyKey = "k"
  started.compensate = ["undo"]
  started.run = run
  var recovery = TaskRecovery(.retry, rule: 1)
  recovery.waitMicroseconds = 5
  recovery.task = "s"
  recovery.value = [1]
  recovery.tellsFeedback = true
  recovery.isByTask = true
  var failed = TaskFailed(
    node: node, attempt: 1, error: TaskError(.timeout, "late"), recovery: recovery)
  failed.isEffectUnknown = true
  failed.elapsedMicroseconds = 7
  failed.run = run
  var finished = TaskFinished(node: node, attempt: 0, output: [1], via: "person")
  finished.elements = 2
  finished.parts = 1
  finished.isCheckpoint = true
  finished.elapsedMicroseconds = 7
  finished.run = run
  var asked = TaskAsked(node: node, why: .run, question: "well?", show: [1])
  asked.attempt = 2
  var ranges = IndexRanges()
  ranges.insert(0)
  return [
    .started(started), .output(TaskOutput(node: node, attempt: 1, part: 0, value: 1)),
    .failed(failed), .finished(finished), .skipped(TaskSkipped(node: node, reason: "no")),
    .expanded(TaskExpanded(task: "a", elements: 4)),
    .asked(asked), .resumed(TaskResumed(node: node, attempt: 2, runId: "r")),
    .answered(TaskAnswered(node: node, word: .happened, data: [1], by: "ann", reason: "r")),
    .pauseRequested(PauseRequested(by: "SIGINT")),
    .rollbackStarted(
      RollbackStarted(
        checkpoint: "a", toSeq: 3, by: "ann", reason: "r", compensations: 1, left: [node],
        leftCount: 2)),
    .compensationStarted(
      CompensationStarted(node: node, of: 5, attempt: 1, idempotencyKey: "k", command: ["undo"])),
    .compensationFinished(
      CompensationFinished(node: node, of: 5, attempt: 1, error: "no", by: "ann")),
    .rolledBack(
      RolledBack(
        checkpoint: "a", toSeq: 3,
        tasks: [
          RolledBack.Kept(
            task: "a", elements: 4, finished: ranges, skipped: ranges, failed: ranges)
        ], compensated: 1, left: 1)),
  ]
}()

/// An agent that uses every key.
private let wholeAgent = """
  $schema: s
  name: a
  version: "1"
  system: s
  goal: g
  model:
    provider: scripted
    name: m
    script:
      - {call: {tool: t, input: {x: 1}, id: i}, say: s, usage: {inputTokens: 1, outputTokens: 2, cost: 3}}
      - {calls: [{tool: t}], when: {step: 1}, repeat: 2}
      - {unreachable: gone}
      - choose: [{when: {last: {data: {$regex: x}}}, ask: q}, {answer: x, evidence: [y]}]
      - {stop: blocked}
      - {reply: {text: x}}
  tools:
    - name: t
      description: d
      sideEffect: read
      sensitivity: s
      inputSchema: {type: object}
      outputSchema: {type: object}
      timeoutSeconds: 5
      idempotent: true
      onError: retry
      maxAttempts: 2
      routes: [r]
      scripted: [{when: {attempt: 1}, ok: {a: 1}, delaySeconds: 1, raise: SIGINT}, {error: e}]
    - {name: u, sideEffect: write, command: {arguments: [p, q], outputLimitBytes: 9}}
    - {name: v, sideEffect: draft, command: [p, q]}
    - {name: w, sideEffect: write, http: {method: PUT, url: "https://h/{a}", query: [b], body: json, headers: {A: b}, allowedAddresses: ["10.0.0.0/8"], responseLimitBytes: 9}}
  mcpServers:
    f:
      command: p
      args: [q]
      env: {A: b}
      limits: {openFiles: 9}
      tools: [a, {name: b, as: c, description: d, sideEffect: read, sensitivity: s, idempotent: true, timeoutSeconds: 5, onError: stop}]
      prefix: f_
      annotations: ignore
      onChange: accept
      digest: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      startTimeoutSeconds: 5
      timeoutSeconds: 6
      idleSeconds: 7
    g: {url: "https://h/mcp", headers: {A: b}}
  policy:
    rules:
      - {id: r, tool: [t, u], sideEffect: [read], actor: a, route: [r], verdict: deny, onDeny: stop, reason: x}
  policyContext: {actorId: a, tenantId: t, route: r, attributes: {x: 1}}
  limits: {maxSteps: 1, maxToolCalls: 2, maxTokens: 3, maxCost: 4, timeoutSeconds: 5}
  context: {tokenBudget: 1, observationLimit: 2}
  failures: {invalidDecisionRetries: 1, modelRetries: 1, maxDenials: 1, maxToolErrors: 1}
  parallelCalls: 2
  memory: [{scope: run, key: k, value: v}]
  human:
    approvals: [{tool: t, input: {x: 1}, granted: true, by: b, reason: r}]
    answers: [{question: {$contains: x}, text: t, by: b}]
  """

/// A case that uses every key.
private let wholeCase = """
  $schema: s
  caseId: a
  input: i
  agent: f
  human: {approvals: [{granted: true}], answers: [{text: t}]}
  tags: [t]
  skip: {reason: r, until: 2026-12-31}
  expected:
    stopReason: [success]
    toolsCalled:
      - a
      - {tool: b, input: {x: {$gt: 1, $type: [number]}}, status: ok, times: 2, caller: c}
    toolsNotCalled: [{tool: c, status: [ok, error], times: {min: 1, max: 2}}]
    toolsProposed: [{tool: d, result: {$anyOf: [{$length: 2}, {$approx: {value: 1, tolerance: 2}}]}}]
    toolsNotProposed: [{tool: e, status: refused, input: {$subsetOf: {a: {$glob: g}, b: 2}}}]
    order: exact
    maxSteps: 3
    maxToolCalls: 4
    answer: {$not: {$contains: b}, $ignoreCase: x}
    extra: forbid
    eachCall: [{tool: a, input: {b: {$from: {tool: c, path: /d, input: {e: 1}}}}, defaults: {k: 1}, ignore: [f]}]
    time:
      - {eventually: a, within: 3}
      - {never: [{called: b}, {proposed: {tool: c}}], after: {returned: {tool: d, status: error}}, within: 2}
      - {expect: {approval: granted, tool: t, input: {a: 1}, caller: c, by: ana}, before: {tool: e}}
      - {only: {verdict: [allow, deny], rule: r, reason: {$contains: x}}, until: {stop: success}}
      - {never: {reply: y, by: ana}, before: [{answer: z}, {invalidDecision: true}, {stop: true}]}
    budget: {steps: 1, tokens: 2, cost: 0.5, seconds: 3, tools: {"s*": {calls: 1, seconds: 2}}, subRuns: true}
    noRepeatedSideEffect: [pay]
    noLoops: 3
    maxInvalidDecisions: 0
    maxRetries: 1
    answerJson: {a: 1}
    evidence: {observed: true, min: 1, cites: [a, {tool: b}]}
    state: {/totals/steps: 3}
    policy:
      given: [{verdict: deny, tool: a, rule: r, times: 1}]
      notGiven: [{reason: {$regex: x}}]
      approvals: [{approval: any, by: b, times: {min: 1}}]
      noApprovals: [{approval: denied}]
    noApprovalBypass: true
    context:
      - {steps: {min: 1}, offers: a, neverOffers: [b], contains: c, neverContains: [d, {$regex: e}]}
      - {evidence: [a], maxTokens: 5, omits: [{ref: r, reason: s}], neverOmits: x}
    memory: {read: [k, {scope: s, key: k, value: 1, times: 2}], notRead: [a], written: [b], notWritten: [c]}
    exec: [{command: [p, q], timeoutSeconds: 5, maxOutputBytes: 9}]
    severity: warning
  """

// MARK: - Tables

private let validCases = [
  "{caseId: a, expected: {noRepeatedSideEffect: [yes]}}",
  "{caseId: a, expected: {noRepeatedSideEffect: yes_man}}",
  "{caseId: a, input: x, limits: {maxSteps: 3, maxToolCalls: 4, maxTokens: 5, maxCost: 0.1, timeoutSeconds: 6}, expected: {maxSteps: 1}}",
  "{caseId: a, expected: {budget: {calls: 4, inputTokens: 5}}}",
  "{caseId: a, input: x, agent: {command: [a, '${input}'], cwd: b}, expected: {maxSteps: 1}}",
  "{defaults: {agent: {command: [a]}, input: i}, cases: [{caseId: a, expected: {maxSteps: 1}}]}",
  "{sets: {c: {maxSteps: 1}}, cases: [{caseId: a, include: [c, {set: c, severity: warning}]}]}",
  "{caseId: 'a-${n}', table: [{n: 1}], expected: {maxSteps: '${n}'}}",
  "{sets: {a: {maxSteps: 1}}, defaults: {tags: [x], input: i}, cases: [{caseId: a, include: a}]}",
  "{caseId: a, expected: [{maxSteps: 1}, {severity: warning, maxToolCalls: 2}]}",
  "{caseId: a, expected: {time: [{never: a, after: b, within: 0}, {only: [a, b]}]}}",
  "{caseId: a, expected: {time: [{expect: {stop: [success]}, after: {returned: a}}]}}",
  "{caseId: a, expected: {budget: {tools: {a: {calls: 0}}}, noRepeatedSideEffect: true}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, input: {}, defaults: {b: null}}], extra: allow}}",
  "{caseId: a, expected: {policy: {given: [{}]}, state: {'': {$any: true}}, memory: {read: [x]}}}",
  "{caseId: a, expected: {stopReason: success}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: {min: 0}}], extra: forbid}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: {min: 0}}], order: exact}}",
  "{$schema: x, caseId: a, input: x, agent: a.yaml, expected: {stopReason: [success, blocked]}}",
  "{caseId: a, recording: r, agent: a.yaml, expected: {toolsCalled: [a, 'b_*', {tool: c}]}}",
  "[{caseId: a, expected: {maxSteps: 3}}, {caseId: b, expected: {maxToolCalls: 0}}]",
  "cases: [{caseId: a, expected: {answer: {$regex: x}}}]",
  "{caseId: a, expected: {toolsCalled: [], order: exact}}",
  "{caseId: a, expected: {toolsProposed: [a], order: in_order}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, input: {x: {$gt: 1}}, times: 2, caller: user}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, status: [ok, refused], times: {min: 1}}]}}",
  "{caseId: a, expected: {toolsNotProposed: [{tool: a, status: refused, result: {$any: true}}]}}",
  "{caseId: a, tags: [x, y], skip: later, expected: {answer: yes}}",
  "{caseId: a, skip: {reason: later, until: 2026-12-31}, expected: {answer: {$not: x, $type: string}}}",
  "{caseId: a, human: {approvals: [{granted: true}], answers: [{text: x}]}, expected: {answer: y}}",
  "{caseId: a, expected: {answer: {$allOf: [{$contains: x}, {$length: {$lte: 3}}]}}}",
  "{caseId: a, expected: {answerJson: {x: {$subsetOf: {a: 1, b: {$gt: 2}}}, y: {$literal: {$x: 1}}}}}",
  "{caseId: a, expected: {answerJson: {$approx: {value: 1, tolerance: 0.1}}}}",
]

private let invalidCases = [
  "{caseId: a, expected: {noRepeatedSideEffect: yes}}",
  "{caseId: a, expected: {noRepeatedSideEffect: 'Off'}}",
  "{caseId: a, expected: {answer: {$not: {contains: x}}}}",
  "{caseId: a, expected: {answer: {$anyOf: [x, 5]}}}",
  "{caseId: a, expected: {answer: {$allOf: [{$contains: x}, {$gt: 3}]}}}",
  "{caseId: a, expected: {answer: {$type: [number, object]}}}",
  "{caseId: a, expected: {context: {neverContains: {regex: x}}}}",
  "{caseId: a, expected: {context: {neverContains: ''}}}",
  "{caseId: a, expected: {time: [{never: {answer: {contains: x}}}]}}",
  "{caseId: a, expected: {policy: {notGiven: [{reason: {contains: x}}]}}}",
  "{caseId: a, expected: {toolsNotCalled: [{tool: t, input: }]}}",
  "{caseId: a, expected: {evidence: {min: 0}}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: {min: 0}}]}}",
  "{caseId: a, expected: {toolsNotCalled: [{tool: a, times: {min: 0}}]}}",
  "{caseId: a, expected: {policy: {given: [{times: {min: 0}}]}}}",
  "{caseId: a, expected: {tasks: {undone: {a: {min: 0}}}}}",
  "{caseId: a, skip: no, expected: {maxSteps: 1}}",
  "{caseId: a, input: x, limits: {calls: 4}, expected: {maxSteps: 1}}",
  "{caseId: a, input: x, agent: {command: []}, expected: {maxSteps: 1}}",
  "{caseId: a, input: x, agent: {cwd: b}, expected: {maxSteps: 1}}",
  "{caseId: a, input: x, agent: {command: [a], answer: b}, expected: {maxSteps: 1}}",
  "{caseId: a, agent: {command: [a]}, expected: {maxSteps: 1}}",
  "{caseId: a, table: [{input: 1}], expected: {maxSteps: 1}}",
  "{caseId: a, include: []}", "{caseId: a, include: [5], expected: {maxSteps: 1}}",
  "{caseId: a, include: [{severity: warning}], expected: {maxSteps: 1}}",
  "{caseId: a, table: [], expected: {maxSteps: 1}}",
  "{caseId: a, table: [{}], expected: {maxSteps: 1}}",
  "{sets: {a: {}}, cases: [{caseId: a, expected: {maxSteps: 1}}]}",
  "{sets: {}, cases: [{caseId: a, expected: {maxSteps: 1}}]}",
  "{defaults: {expected: {}}, cases: [{caseId: a, expected: {maxSteps: 1}}]}",
  "{caseId: a, expected: {extra: forbid}}", "{caseId: a, expected: {extra: forbid, maxSteps: 1}}",
  "{caseId: a, expected: {severity: warning}}", "{caseId: a, expected: []}",
  "{caseId: a, expected: [{severity: fatal, maxSteps: 1}]}",
  "{caseId: a, expected: [{maxSteps: 1}, {}]}", "{caseId: a, expected: {time: []}}",
  "{caseId: a, expected: {time: [{eventually: a, after: b}]}}",
  "{caseId: a, expected: {time: [{expect: a}]}}", "{caseId: a, expected: {time: [{before: a}]}}",
  "{caseId: a, expected: {time: [{never: a, until: b, within: 1}]}}",
  "{caseId: a, expected: {time: [{never: a, only: b}]}}",
  "{caseId: a, expected: {time: [{never: a, before: b, after: c}]}}",
  "{caseId: a, expected: {time: [{never: {called: a, stop: true}}]}}",
  "{caseId: a, expected: {time: [{never: {tool: a, times: 2}}]}}",
  "{caseId: a, expected: {time: [{never: {verdict: denied}}]}}",
  "{caseId: a, expected: {budget: {subRuns: true}}}", "{caseId: a, expected: {budget: {step: 1}}}",
  "{caseId: a, expected: {eachCall: [a]}}", "{caseId: a, expected: {eachCall: [{tool: a}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, ignore: [b]}]}}",
  "{caseId: a, expected: {noLoops: 1}}", "{caseId: a, expected: {state: {steps: 1}}}",
  "{caseId: a, expected: {policy: {}}}", "{caseId: a, expected: {context: {steps: 1}}}",
  "{caseId: a, expected: {exec: [{command: []}]}}",
  "{caseId: a, expected: {answer: {$from: {tool: a}}}}",
  "{caseId: a, expected: {answer: {$from: {tool: a, path: b}}}}",
  "{caseId: a}", "{caseId: a, expected: {}}", "{expected: {maxSteps: 1}}",
  "{caseId: '', expected: {maxSteps: 1}}", "{caseId: 1, expected: {maxSteps: 1}}",
  "{caseId: \"a\\tb\", expected: {maxSteps: 1}}", "{caseId: a, expected: [maxSteps]}",
  "{caseId: a, expectd: {maxSteps: 1}, expected: {maxSteps: 1}}",
  "{caseId: a, agent: x, expected: {maxSteps: 1}}",
  "{caseId: a, agent: x, input: '', expected: {maxSteps: 1}}",
  "{caseId: a, recording: '', expected: {maxSteps: 1}}",
  "{caseId: a, recording: [x], expected: {maxSteps: 1}}",
  "{caseId: a, input: 5, expected: {maxSteps: 1}}",
  "{caseId: a, input: , expected: {maxSteps: 1}}",
  "{caseId: a, tags: x, expected: {maxSteps: 1}}",
  "{caseId: a, tags: [1], expected: {maxSteps: 1}}",
  "{caseId: a, skip: true, expected: {maxSteps: 1}}",
  "{caseId: a, skip: {until: 2026-12-31}, expected: {maxSteps: 1}}",
  "{caseId: a, skip: {reason: x, until: tomorrow}, expected: {maxSteps: 1}}",
  "{caseId: a, skip: {reason: x, until: 2026-13-01}, expected: {maxSteps: 1}}",
  "{caseId: a, human: {approvals: [{}]}, expected: {maxSteps: 1}}",
  "{caseId: a, human: {answers: [{by: x}]}, expected: {maxSteps: 1}}",
  "{caseId: a, expected: {maxSteps: -1}}", "{caseId: a, expected: {maxSteps: 1.5}}",
  "{caseId: a, expected: {maxsteps: 1}}", "{caseId: a, expected: {stopReason: done}}",
  "{caseId: a, expected: {stopReason: []}}", "{caseId: a, expected: {toolsCalled: []}}",
  "{caseId: a, expected: {toolsCalled: [], order: in_order}}",
  "{caseId: a, expected: {toolsNotCalled: []}}", "{caseId: a, expected: {toolsCalled: a}}",
  "{caseId: a, expected: {toolsCalled: [{input: {}}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, time: 1}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: -1}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: {}}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, times: {min: 1, most: 2}}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, status: refused}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, status: [refused]}]}}",
  "{caseId: a, expected: {toolsCalled: [{tool: a, status: fine}]}}",
  "{caseId: a, expected: {toolsCalled: [1]}}", "{caseId: a, expected: {order: exact}}",
  "{caseId: a, expected: {order: any}}", "{caseId: a, expected: {order: [any], maxSteps: 1}}",
  "{caseId: a, expected: {answer: {$regexp: x}}}", "{caseId: a, expected: {answer: {$gt: x}}}",
  "{caseId: a, expected: {answer: {$any: false}}}", "{caseId: a, expected: {answer: {$oneOf: []}}}",
  "{caseId: a, expected: {answer: {$regex: x, y: 1}}}",
  "{caseId: a, expected: {answer: {$type: text}}}", "{caseId: a, expected: {answer: {$from: 1}}}",
  "{caseId: a, expected: {answer: {$length: -1}}}",
  "{caseId: a, expected: {answer: {$length: {a: 1}}}}",
  "{caseId: a, expected: {answer: {x: [{$not: {$absnt: true}}]}}}",
  "{caseId: a, expected: {answer: {$approx: {value: 1}}}}",
  "{caseId: a, expected: {answer: {$subsetOf: {a: {$what: 1}}}}}",
  "cases: []", "cases: 1", "{cases: [{caseId: a, expected: {maxSteps: 1}}], more: 1}",
  "[{caseId: a, expected: {maxSteps: 1}}, {caseId: b}]",
  "[{caseId: a, expected: {maxSteps: 1}}, 5]",
  "[{$schema: x, caseId: a, expected: {maxSteps: 1}}]",
]

/// An agent with more keys than it needs.
private func agent(_ keys: String) -> String {
  "{name: a, model: {script: [{answer: x}]}, \(keys)}"
}

/// An agent with turns.
private func script(_ turns: String) -> String { "{name: a, model: {script: [\(turns)]}}" }

/// An agent with a tool that has more keys than it needs.
private func tool(_ keys: String) -> String {
  agent("tools: [{name: t, sideEffect: read, \(keys)}]")
}

private let validAgents = [
  "{command: [python, agent.py, '${input}']}",
  "{name: a, version: '1', command: [a], cwd: b, environment: {pass: [K], set: {M: '${trial}'}}, goal: g}",
  "{command: [a], upstream: {x: 'http://localhost:1/v1'}, timeoutSeconds: 1, answer: stdout, redaction: {credentials: false}}",
  agent("mcpServers: {}"), agent("mcpServers: {files: {command: python3, args: [-m, server]}}"),
  agent("mcpServers: {files: {command: [python3, s.py], env: {A: '${B}'}, onChange: stop}}"),
  agent("mcpServers: {f-1_X: {url: 'https://example.com/mcp', headers: {A-B: 'Bearer ${T}'}}}"),
  agent("mcpServers: {f: {command: x, prefix: '', annotations: ignore, idleSeconds: 1.5}}"),
  agent("mcpServers: {f: {command: x, tools: [a, 'b*', {name: c, as: d.e, sideEffect: read}]}}"),
  agent("mcpServers: {f: {command: x, tools: [{name: 'c*', retry: {}, routes: [r]}]}}"),
  tool("http: {url: 'https://example.com/a/{id}?q={q}'}"),
  tool("http: {method: POST, url: 'http://h:8080', query: [a], body: form, headers: {X: y}}"),
  tool(
    "http: {url: 'https://h/', query: {a: b}, allowedHosts: [h, i], allowedAddresses: ['10.0.0.0/8', '::1']}"
  ),
  agent(""), agent("version: '1', system: s, goal: g"),
  "{$schema: x, name: a, model: {provider: scripted, name: m, script: [{stop: done}]}}",
  script("{call: {tool: t}}, {calls: [{tool: t, id: x}], say: hi}, {ask: q}"),
  script("{answer: x, evidence: [a], usage: {inputTokens: 1, outputTokens: 2, cost: 0.5}}"),
  script("{reply: 5}, {reply: null}, {unreachable: true, repeat: 3}, {unreachable: gone}"),
  script("{when: {step: 1}, answer: x}"),
  script("{choose: [{when: {last: {status: error}}, call: {tool: t, input: 5}}, {answer: x}]}"),
  tool("scripted: [{ok: null}]"), tool("scripted: [{error: x, delaySeconds: 0.5, raise: SIGINT}]"),
  tool("command: [./x, -y]"), tool("command: {arguments: [x], outputLimitBytes: 5}"),
  tool("scripted: [{when: {attempt: 1}, ok: {}}], onError: stop, maxAttempts: 10, routes: [r]"),
  tool("scripted: [{ok: 1}], inputSchema: true, outputSchema: {}, timeoutSeconds: 5"),
  agent("policy: {rules: []}"),
  agent("limits: {maxSteps: 0, maxCost: 1.5}, context: {tokenBudget: 5}, parallelCalls: 64"),
  agent("failures: {maxDenials: 1, modelRetries: 0}, policyContext: {attributes: {a: 1}}"),
  agent("memory: [{scope: run, key: k, value: null}]"),
  agent("human: {approvals: [{tool: [a, 'b*'], input: {x: 1}, granted: false}]}"),
  agent("human: {turns: [{say: x}, {approve: true, by: b, reason: c}, {say: ''}]}"),
  agent("human: {turns: [{approve: true, calls: 3}, {approve: true, sameInput: true}]}"),
  agent("human: {approvals: [{granted: true, calls: 1}, {granted: true, sameInput: false}]}"),
  agent("human: {by: a, system: b, model: {name: c, script: [{answer: d}, {stop: success}]}}"),
]

private let invalidAgents = [
  "{command: []}", "{command: a}", "{command: [a], tool: b}", "{command: [a], timeoutSeconds: 0}",
  "{command: [a], model: {script: [{answer: x}]}}", "{command: [a], upstream: {x: y}}",
  agent("mcpServers: []"), agent("mcpServers: {f: {}}"), agent("mcpServers: {f: 5}"),
  agent("mcpServers: {'a b': {command: x}}"), agent("mcpServers: {f: {command: ''}}"),
  agent("mcpServers: {f: {command: []}}"), agent("mcpServers: {f: {command: x, url: 'http://h'}}"),
  agent("mcpServers: {f: {url: 'ftp://h'}}"), agent("mcpServers: {f: {url: x}}"),
  agent("mcpServers: {f: {command: x, headers: {}}}"),
  agent("mcpServers: {f: {url: 'http://h', args: []}}"),
  agent("mcpServers: {f: {url: 'http://h', env: {}}}"),
  agent("mcpServers: {f: {command: x, env: {'a-b': c}}}"),
  agent("mcpServers: {f: {command: x, env: {A: 5}}}"),
  agent("mcpServers: {f: {url: 'http://h', headers: {'a b': c}}}"),
  agent("mcpServers: {f: {command: x, digest: abc}}"),
  agent("mcpServers: {f: {command: x, onChange: ask}}"),
  agent("mcpServers: {f: {command: x, tools: []}}"),
  agent("mcpServers: {f: {command: x, tools: [{as: y}]}}"),
  agent("mcpServers: {f: {command: x, tools: [{name: y, as: 'z z'}]}}"),
  tool("http: {}"), tool("http: {url: x}"), tool("http: {url: 'https://{host}/x'}"),
  tool("http: {url: 'https://h', method: get}"), tool("http: {url: 'https://h', query: []}"),
  tool("http: {url: 'https://h', headers: {'': x}}"),
  tool("http: {url: 'https://h', headers: {A: \"\\r\\n\"}}"),
  tool("http: {url: 'https://h', allowedAddresses: [local]}"),
  tool("http: {url: 'https://h'}, command: [x]"),
  "{model: {script: [{answer: x}]}}", "{name: a}", "{name: a, model: {}}", "5", "[]",
  "{name: a, model: {script: []}}", "{name: a, model: {script: {answer: x}}}",
  "{name: a, model: {provider: openai, script: [{answer: x}]}}", agent("version: 1"),
  agent("sytem: x"), agent("tools: {}"), agent("parallelCalls: 0"), agent("parallelCalls: 65"),
  agent("limits: {maxSteps: -1}"), agent("limits: {maxStep: 1}"), agent("limits: {maxCost: -1}"),
  agent("limits: {timeoutSeconds: 1e300}"), agent("failures: {maxDenials: 0}"),
  agent("context: {tokenBudget: x}"), agent("policyContext: {attributes: []}"),
  agent("memory: [{scope: all, key: k, value: 1}]"), agent("memory: [{scope: run, key: k}]"),
  agent("policy: 5"), agent("policy: {}"), agent("policy: ''"), agent("human: []"),
  agent("human: {turns: [{}]}"), agent("human: {turns: [{say: x, approve: true}]}"),
  agent("human: {turns: [{say: x, reason: y}]}"), agent("human: {turns: [{by: x}]}"),
  agent("human: {system: x}"), agent("human: {by: x}"), agent("human: {model: {script: []}}"),
  agent("human: {approvals: [{tool: [], granted: true}]}"),
  agent("human: {approvals: [{granted: true, calls: 0}]}"),
  agent("human: {approvals: [{granted: false, calls: 1}]}"),
  agent("human: {approvals: [{granted: false, sameInput: true}]}"),
  agent("human: {approvals: [{granted: true, calls: 2, sameInput: true}]}"),
  agent("human: {turns: [{approve: false, calls: 2}]}"),
  agent("human: {turns: [{say: x, sameInput: true}]}"),
  agent("human: {turns: [{approve: true, calls: 2, sameInput: false}]}"),
  script("{}"), script("5"), script("{answer: x, ask: y}"), script("{call: {tool: t}, calls: []}"),
  script("{calls: []}"), script("{call: t}"), script("{call: {input: {}}}"), script("{say: x}"),
  script("{answer: x, say: y}"), script("{ask: x, evidence: [a]}"),
  script("{answer: x, repeat: 0}"),
  script("{answer: 5}"), script("{unreachable: false}"), script("{unreachable: ''}"),
  script("{choose: []}"), script("{choose: [{answer: x}], answer: y}"),
  script("{choose: [{answer: x}], when: {step: 1}}"), script("{choose: [{answer: x, repeat: 2}]}"),
  script("{choose: [{choose: [{answer: x}]}]}"), script("{answer: x, usage: {tokens: 1}}"),
  script("{answer: x, when: {$regexp: y}}"),
  agent("tools: [{name: t, scripted: [{ok: 1}]}]"),
  agent("tools: [{sideEffect: read, command: [x]}]"),
  tool("command: []"), tool("command: x"), tool("description: x"),
  tool("command: [x], scripted: [{ok: 1}]"), tool("scripted: []"), tool("scripted: [{}]"),
  tool("scripted: [{ok: 1, error: x}]"), tool("scripted: [{ok: 1, raise: SIGKILL}]"),
  tool("scripted: [{ok: 1, delaySeconds: -1}]"), tool("command: [x], maxAttempts: 11"),
  tool("command: [x], onError: again"), tool("command: [x], idempotent: yes"),
  tool("command: [x], routes: []"), tool("command: [x], inputSchema: 5"),
  tool("command: {outputLimitBytes: 5}"), tool("command: {arguments: [x], outputLimitBytes: 0}"),
  tool("command: [\"a\\0b\"]"),
]

private let policies: [(String, Bool)] = [
  ("{rules: []}", true), ("{$schema: x, rules: [{id: a, verdict: allow}]}", true),
  (
    "{rules: [{id: a, tool: x, sideEffect: [read, write], actor: '*', route: [r], verdict: deny}]}",
    true
  ),
  ("{rules: [{id: a, verdict: deny, onDeny: stop, reason: no}]}", true),
  ("{}", false), ("{rules: {}}", false), ("{rules: [{id: a}]}", false),
  ("{rules: [{verdict: deny}]}", false), ("{rules: [{id: a, verdict: denied}]}", false),
  ("{rules: [{id: a, verdict: deny, tool: []}]}", false),
  ("{rules: [{id: a, verdict: deny, tools: x}]}", false),
  ("{rules: [{id: a, verdict: deny, onDeny: end}]}", false), ("{rules: [], more: 1}", false),
  ("[]", false),
]
