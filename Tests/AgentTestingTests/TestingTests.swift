import AgentRuntime
import AgentTesting
import AgentTrace
import Testing
import TraceJudging

@Suite("Testing agents in memory")
struct TestingTests {
  private static func agent(_ tool: ToolRegistration, _ script: ModelScript) -> AgentDefinition {
    AgentDefinition(
      name: "tested", model: ModelDefinition(name: "m", implementation: .scripted(script)),
      tools: [tool])
  }

  @Test("an agent of closures runs, and what it did can be asked")
  func run() async throws {
    let add = ToolRegistration(
      definition: ToolDefinition(name: "add", sideEffect: .read),
      implementation: .tool(
        ClosureTool { request in
          let sum = (request.input["a"]?.intValue ?? 0) + (request.input["b"]?.intValue ?? 0)
          return JSONValue(sum)
        }))
    let script = ModelScript(
      replies: ["calls": [["name": "add", "input": ["a": 2, "b": 3]]]],
      ["text": "it is ${last.data}"])
    let run = try await TestedRun(of: Self.agent(add, script))
    #expect(run.stopReason == .success)
    #expect(run.inputs(of: "add") == [["a": 2, "b": 3]])
    #expect(run.events.last?.data["answer"] == "it is 5")
    #expect(run.events.first?.data["model"]?["provider"] == "own")
    #expect(run.inputs(of: "other").isEmpty)
  }

  @Test("time stands still until it is moved on, and limits see only what was moved")
  func clock() async throws {
    let slow = ToolRegistration(
      definition: ToolDefinition(name: "wait", sideEffect: .read, timeoutSeconds: 60),
      implementation: .scripted(
        ScriptedTool(rules: [.init(outcome: .ok("late"), delaySeconds: 30)])))
    let script = ModelScript(
      replies: ["calls": [["name": "wait", "input": [:]]]], ["text": "done"])
    let clock = ManualClock()
    var agent = Self.agent(slow, script)
    agent.limits.timeoutSeconds = 45
    let tested = agent
    async let running = TestedRun(of: tested, clock: clock)
    while clock.waitingCount == 0 { await Task.yield() }
    clock.advance(byMicroseconds: 29_000_000)
    #expect(clock.waitingCount == 1)
    clock.advance(byMicroseconds: 1_000_000)
    let run = try await running
    #expect(run.stopReason == .success)
    #expect(run.state.elapsedMicroseconds == 30_000_000)
    #expect(run.events.map(\.t) == run.events.map(\.t).sorted())
  }

  @Test("the agents that it calls run as well, and are judged with it")
  func children() async throws {
    let pay = ToolRegistration(
      definition: ToolDefinition(name: "pay", sideEffect: .write),
      implementation: .tool(ClosureTool { _ in ["paid": true] }))
    let allow = Policy(rules: [.init(id: "all", verdict: .allow)])
    var clerk = Self.agent(
      pay, ModelScript(replies: ["calls": [["name": "pay", "input": [:]]]], ["text": "paid"]))
    clerk.policy = allow
    let ask = SubAgent(clerk).registration(name: "ask_clerk", description: "Pays.")
    let run = try await TestedRun(
      of: Self.agent(
        ask,
        ModelScript(
          replies: ["calls": [["name": "ask_clerk", "input": ["task": "pay"]]]],
          ["text": "${last.data}"])),
      prepare: { $0.tags = ["nightly"] })
    #expect(run.stopReason == .success && run.events.last?.data["answer"] == "paid")
    #expect(run.children.map(\.tool) == ["ask_clerk"])
    #expect(run.events.first?.data["tags"] == ["nightly"])
    let start = run.children[0].events[0].data
    #expect(start["goal"] == "pay" && start["parent"]?["runId"] == .string(run.state.runId))
    let expected = try Expectations(
      parsing: ["toolsNotCalled": [["tool": "pay", "caller": "agent"]], "toolsCalled": ["pay"]])
    #expect(Judge.judge(run.tree, against: expected).outcome == .pass)
    let forbidden = try Expectations(parsing: ["toolsNotCalled": ["pay"]])
    #expect(Judge.judge(run.tree, against: forbidden).outcome == .fail)
  }

  @Test(
    "an agent gets what the calls beside it leave of its parent's calls, wherever it stands",
    arguments: [0, 2, 4], [1, 4])
  func siblings(place: Int, parallel: Int) async throws {
    let look = ToolRegistration(
      definition: ToolDefinition(name: "look", sideEffect: .read),
      implementation: .tool(ClosureTool { $0.input }))
    func looks(_ count: Int) -> [JSONValue] {
      (0..<count).map { ["name": "look", "input": ["n": JSONValue($0)]] }
    }
    let kid = Self.agent(
      look, ModelScript(replies: ["calls": .array(looks(6))], ["text": "done"]))
    var calls = looks(4)
    calls.insert(["name": "kid", "input": ["task": "look"]], at: place)
    for limit in 1...9 {
      var parent = Self.agent(
        look, ModelScript(replies: ["calls": .array(calls)], ["text": "done"]))
      parent.tools.append(SubAgent(kid).registration(name: "kid", description: "Looks."))
      parent.limits.maxToolCalls = limit
      parent.parallelCalls = parallel
      let run = try await TestedRun(of: parent)
      #expect(run.state.totals.toolCalls <= limit, "\(limit)")
      let given = run.children.map { $0.events[0].data["limits"]?["maxToolCalls"]?.intValue }
      #expect(given.allSatisfy { $0 == max(0, limit - 5) }, "\(limit): \(given)")
    }
  }

  @Test("whoever is cancelled waits no longer")
  func cancelled() async {
    let clock = ManualClock()
    let task = Task { await clock.wait(microseconds: 1_000_000) }
    while clock.waitingCount == 0 { await Task.yield() }
    task.cancel()
    await task.value
    #expect(clock.waitingCount == 0)
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      await clock.wait(microseconds: 5)
    }
    late.cancel()
    await late.value
    #expect(clock.waitingCount == 0)
  }
}
