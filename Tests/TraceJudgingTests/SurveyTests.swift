import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("Many runs at a glance")
struct SurveyTests {
  private static func run(_ name: String, _ tools: [String], agent: String = "a") -> RunProfile {
    var run = RunProfile(name: name)
    run.agent = agent
    run.calls = tools.map { RunProfile.Call(tool: $0, status: .ok, isExecuted: true) }
    return run
  }

  @Test("no runs are told as none, and a call of which nobody says what became of it is no success")
  func nothing() {
    var survey = Survey()
    #expect(survey.stepRange == nil && survey.unusualPaths().isEmpty)
    var run = RunProfile(name: "x")
    run.calls = [RunProfile.Call(tool: "t", status: .returned, isExecuted: true)]
    survey.add(run)
    #expect(survey.tools["t"]?.errorRate == nil)
    #expect(survey.tools["t"]?.returned == 1 && survey.stops[""] == 1)
    survey.add(unreadable: "y", "broken")
    #expect(survey.runs == 1 && survey.unreadable.count == 1)
  }

  @Test(
    "where all go one way nothing is unusual; the one that does not is told first, with its bits")
  func unusual() {
    var survey = Survey()
    for number in 0..<7 { survey.add(Self.run("usual \(number)", ["a", "b", "b"])) }
    #expect(survey.unusualPaths().isEmpty)
    survey.add(Self.run("odd", ["a", "c"]))
    // begin→a always; a→c in 1 of 8; c→end always: 3 bits on 3 steps.
    let paths = survey.unusualPaths()
    #expect(paths.first?.example == "odd" && paths.first?.tools == ["a", "c"])
    #expect(paths.first.map { abs($0.bits - 1) < 1e-9 } == true)
    #expect(paths.count == 2 && paths.last?.runs == 7)
    // Another agent's only way is none that surprises.
    survey.add(Self.run("other", ["z", "y"], agent: "b"))
    #expect(!survey.unusualPaths().contains { $0.example == "other" })
  }

  @Test("what is told does not depend on the order of runs but by their names")
  func order() {
    var generator = SeededGenerator(seed: 5)
    let runs = (0..<60).map { number in
      Self.run(
        "r\(number)",
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in
          ["a", "b", "c"].randomElement(using: &generator) ?? "a"
        })
    }
    func bits(_ runs: [RunProfile]) -> [[String]] {
      var survey = Survey()
      for run in runs { survey.add(run) }
      return survey.unusualPaths(limit: 5).map {
        $0.tools + ["\($0.runs)", "\(Int($0.bits * 1e6))"]
      }
      .sorted { $0.joined() < $1.joined() }
    }
    let first = bits(runs)
    #expect(!first.isEmpty)
    // Ties are broken by names, so that only paths of one surprise may change places.
    #expect(
      Set(bits(runs.shuffled(using: &generator)).map { $0.last ?? "" })
        == Set(first.map { $0.last ?? "" }))
  }

  @Test("a rule that some run breaks or leaves open is never told as one that holds")
  func mined() {
    func trajectory(_ tools: [String], _ stop: StopReason) -> Trajectory {
      var events: [Event] = [
        Event(
          seq: 0, step: 0, type: .runStarted, runId: "r",
          data: RunStarted(agentName: "a", goal: "").encoded)
      ]
      for (index, tool) in tools.enumerated() {
        let id = "\(index + 1).1.0"
        events.append(
          Event(
            seq: events.count, step: index + 1, type: .decision, runId: "r",
            data: DecisionPayload(.tool([ProposedCall(callId: id, name: tool, input: [:])])).encoded
          ))
        events.append(
          Event(
            seq: events.count, step: index + 1, type: .toolResult, runId: "r",
            data: ToolResultPayload(callId: id, tool: tool, result: .ok(data: 1)).encoded))
      }
      events.append(
        Event(
          seq: events.count, step: tools.count, type: .stop, runId: "r",
          data: Stop(reason: stop, isFinal: true).encoded))
      return Trajectory(of: events)
    }
    let runs = [trajectory(["a", "b"], .success), trajectory(["a"], .blocked)]
    var mined = MinedRules()
    for run in runs {
      var profile = RunProfile(name: "x")
      profile.apply(run, nil)
      mined.gather(profile)
    }
    mined.prepare()
    for run in runs { mined.judge(run, GatheredFacts(for: mined.asked)) }
    let holding = mined.holding
    #expect(holding.contains { $0.key == "toolsCalled" && $0.value == "a" && $0.shown == 2 })
    #expect(!holding.contains { $0.key == "toolsCalled" && $0.value == "b" })
    #expect(holding.contains { $0.key == "maxToolCalls" && $0.value == 2 })
    // A third that breaks what held.
    mined.judge(trajectory(["c", "c", "c", "c"], .success), GatheredFacts(for: mined.asked))
    #expect(!mined.holding.contains { $0.key == "toolsCalled" || $0.key == "maxToolCalls" })
    #expect(mined.failing.contains { $0.key == "maxToolCalls" && $0.broken == 1 })
  }
}
