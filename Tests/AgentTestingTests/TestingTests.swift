import AgentRuntime
import AgentTesting
import AgentTrace
import Testing

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
