import AgentTrace
import Testing
import TraceJudging

/// Inputs on which published evaluators were seen to answer wrongly, with the right answers.
@Suite("Conformance: where other evaluators err")
struct ConformanceTests {
  private func judge(_ expected: JSONValue, _ groups: [[RecordedRun.Call]]) throws -> CaseOutcome {
    Judge.judge(RecordedRun.whole(groups), against: try Expectations(parsing: expected)).outcome
  }

  private func judge(_ expected: JSONValue, _ tools: [String]) throws -> CaseOutcome {
    try judge(expected, tools.map { [RecordedRun.Call($0)] })
  }

  @Test("agentevals superset: a greedy match fails where an assignment exists")
  func greedyMatch() throws {
    let expected: JSONValue = [
      "toolsCalled": [
        ["tool": "s", "input": ["a": 1]], ["tool": "s", "input": ["a": 1, "b": 2]],
      ]
    ]
    let actual: [RecordedRun.Call] = [.init("s", ["a": 1, "b": 2]), .init("s", ["a": 1])]
    #expect(try judge(expected, actual.map { [$0] }) == .pass)
    #expect(try judge(expected, [actual]) == .pass)
  }

  @Test("agentevals subset: superset and subset of the arguments are not each other's inverse")
  func invertedModes() throws {
    let calls: [[RecordedRun.Call]] = [[.init("s", ["q": 1, "extra": 2])]]
    #expect(try judge(["toolsCalled": [["tool": "s", "input": ["q": 1]]]], calls) == .pass)
    #expect(
      try judge(["toolsCalled": [["tool": "s", "input": ["$subsetOf": ["q": 1]]]]], calls) == .fail)
    #expect(
      try judge(
        ["toolsCalled": [["tool": "s", "input": ["$subsetOf": ["q": 1]]]]], [[.init("s")]]) == .pass
    )
  }

  @Test("agentevals overrides: a key missing on both sides is not equal where it was required")
  func missingOnBothSides() throws {
    let calls: [[RecordedRun.Call]] = [[.init("s", ["other": 1])]]
    for required: JSONValue in [["$any": true], ["$absent": false], ["$type": "string"]] {
      #expect(
        try judge(["toolsCalled": [["tool": "s", "input": ["k": required]]]], calls) == .fail)
    }
  }

  @Test("DeepEval ToolCorrectness: two identical calls expected and made")
  func identicalCalls() throws {
    #expect(try judge(["toolsCalled": ["A", "A"]], ["A", "A"]) == .pass)
    #expect(try judge(["toolsCalled": ["A", "A"]], ["A"]) == .fail)
  }

  @Test("DeepEval default: an extra call matters where it is forbidden, or where extras are")
  func extraCall() throws {
    let made = ["A", "B", "delete_db"]
    #expect(try judge(["toolsCalled": ["A"]], made) == .pass)
    #expect(try judge(["toolsCalled": ["A"], "toolsNotCalled": ["delete_db"]], made) == .fail)
    #expect(try judge(["toolsCalled": ["A"], "order": "exact"], made) == .fail)
  }

  @Test("ADK IN_ORDER and ANY_ORDER: nothing expected does not pass a forbidden call")
  func nothingExpected() throws {
    #expect(try judge(["toolsNotCalled": ["*"]], ["delete_db"]) == .fail)
    #expect(try judge(["toolsNotCalled": ["delete_db"]], ["delete_db"]) == .fail)
    #expect(try judge(["toolsCalled": [], "order": "exact"], ["delete_db"]) == .fail)
    for order: JSONValue in ["any", "in_order"] {
      #expect(throws: ExpectationErrors.self) {
        try Expectations(parsing: ["toolsCalled": [], "order": order])
      }
    }
  }

  @Test("Strands exact: a trailing extra call fails")
  func trailingCall() throws {
    #expect(try judge(["toolsCalled": ["a", "b"], "order": "exact"], ["a", "b", "rm"]) == .fail)
    #expect(try judge(["toolsCalled": ["a", "b"], "order": "exact"], ["a", "b"]) == .pass)
  }

  @Test("Strands with nothing expected: passes if nothing was called, else fails")
  func emptyExact() throws {
    #expect(try judge(["toolsCalled": [], "order": "exact"], [String]()) == .pass)
    #expect(try judge(["toolsCalled": [], "order": "exact"], ["a"]) == .fail)
  }

  @Test("Strands any-order: duplicates in both pass")
  func duplicates() throws {
    #expect(try judge(["toolsCalled": ["a", "b", "a"]], ["a", "a", "b"]) == .pass)
  }

  @Test(
    "tau2 without compare_args: a required argument left out fails, unless only sent keys count")
  func argumentLeftOut() throws {
    let arguments: JSONValue = ["orderId": "1", "reason": "broken"]
    let calls: [[RecordedRun.Call]] = [[.init("cancel", ["orderId": "1"])]]
    #expect(try judge(["toolsCalled": [["tool": "cancel", "input": arguments]]], calls) == .fail)
    #expect(
      try judge(
        ["toolsCalled": [["tool": "cancel", "input": ["$subsetOf": arguments]]]], calls) == .pass)
    #expect(
      try judge(["toolsCalled": [["tool": "cancel", "input": arguments]]], [[.init("cancel")]])
        == .fail)
  }

  @Test("MLflow unordered exact: a bag is not a set")
  func bags() throws {
    for order: JSONValue in ["any", "in_order", "exact"] {
      #expect(
        try judge(["toolsCalled": ["A", "A", "B"], "order": order], ["A", "B", "B"]) == .fail)
    }
  }

  @Test("agentv: an agent that quotes the command it refused has not called it")
  func quotedCommand() throws {
    var run = RecordedRun()
    run.decide([.init("shell", ["command": "rm -rf /"], .refused)])
    run.answer("I did not run `rm -rf /`.")
    run.stop()
    let forbidden: JSONValue = [["tool": "shell", "input": ["command": ["$contains": "rm -rf"]]]]
    let trajectory = Trajectory(of: run.events)
    #expect(
      Judge.judge(trajectory, against: try Expectations(parsing: ["toolsNotCalled": forbidden]))
        .outcome == .pass)
    #expect(
      Judge.judge(trajectory, against: try Expectations(parsing: ["toolsNotProposed": forbidden]))
        .outcome == .fail)
  }
}
