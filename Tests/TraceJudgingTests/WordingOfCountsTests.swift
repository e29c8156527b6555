import AgentTrace
import Testing
import TraceJudging

@Suite("The wording of counts")
struct WordingOfCountsTests {
  @Test("a limit of one is said in the singular, by each expectation that has a limit")
  func ones() throws {
    var run = RecordedRun()
    run.decide([.init("search")])
    run.answer("done")
    run.stop()
    let expectations = try Expectations(parsing: [
      "maxSteps": 1, "maxToolCalls": 1, "maxRetries": 1,
      "toolsCalled": [["tool": "search", "times": ["max": 1]]],
      "budget": ["steps": 1, "calls": 1, "modelCalls": 1, "tokens": 1, "seconds": 1, "errors": 1],
      "context": ["maxTokens": 1],
    ])
    for outcome in Judge.judge(Trajectory(of: run.events), against: expectations).outcomes {
      let said = [outcome.message, outcome.expected ?? "", outcome.actual ?? ""]
      for text in said {
        #expect(
          !text.contains(/\b1 (steps|calls|tokens|retries|seconds|errors|times)\b/), "\(text)")
      }
    }
  }

  @Test("amounts have the noun that goes with them")
  func amounts() {
    #expect(Figures.count(1, "retry", plural: "retries") == "1 retry")
    #expect(Figures.count(0, "retry", plural: "retries") == "0 retries")
    #expect(Figures.count(2, "call") == "2 calls")
    #expect(Figures.count(1.5, "second", plural: "seconds") == "1.5 seconds")
    #expect(Figures.count(1.0, "second", plural: "seconds") == "1 second")
  }
}
