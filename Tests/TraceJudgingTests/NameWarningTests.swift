import AgentTrace
import Testing

@testable import TraceJudging

@Suite("Names that are nearly those of a run")
struct NameWarningTests {
  @Test(
    "a name with a comma in it is told with the names that it was probably meant for",
    arguments: [("look,pay", true), ("loo*, pay", true), ("{look,pay}", false), ("pay", false)])
  func commas(name: String, isTold: Bool) throws {
    let run = Trajectory(
      of: ConformanceRun { run in
        run.decide(.init("look"))
        run.end()
      }.events)
    let expectations = try Expectations(parsing: ["toolsNotProposed": [.string(name)]])
    let warnings = Judge.judge(run, against: expectations).warnings
    #expect(warnings.contains { $0.contains("is one name, with a comma") } == isTold, "\(warnings)")
  }

  @Test(
    "a caller that is nearly one of the run is a warning with the nearest",
    arguments: [
      ("billling", "billing"), ("agnet", "agent"), ("billing", nil), ("shipping", nil),
      ("bill*", nil), ("billing2", nil),
    ] as [(String, String?)])
  func callers(name: String, nearest: String?) throws {
    let run = Trajectory(
      of: ConformanceRun { run in
        run.decide(.init("look"), by: "billing")
        run.end()
      }.events)
    let expected = #"{"toolsNotCalled":[{"tool":"pay","caller":"\#(name)"}]}"#
    let expectations = try Expectations(parsing: JSONValue(parsing: expected))
    #expect(
      Judge.judge(run, against: expectations).warnings
        == (nearest.map {
          ["toolsNotCalled[0]: no caller of this run is named “\(name)”; did you mean “\($0)”?"]
        } ?? []))
  }

  @Test(
    "a key of a result that is nearly one of those that there are is a warning with the nearest",
    arguments: [
      (["deletd": "m2"], "deleted"), (["deleted": "m2"], nil), (["reason": "m2"], nil),
      (["deletd": ["$absent": true]], nil), (["$exact": ["deletd": "m2"]], "deleted"),
    ] as [(JSONValue, String?)])
  func resultKeys(result: JSONValue, nearest: String?) throws {
    let run = Trajectory(
      of: ConformanceRun { run in
        run.decide(.init("delete", [:], .ok(["deleted": "m1"])))
        run.end()
      }.events)
    let expectations = try Expectations(
      parsing: ["toolsNotCalled": [["tool": "delete", "result": result]]])
    #expect(
      Judge.judge(run, against: expectations).warnings
        == (nearest.map {
          ["toolsNotCalled[0]: no result of “delete” has “deletd”; did you mean “\($0)”?"]
        } ?? []))
  }

  @Test(
    "a rule, a person or a note that is nearly one of the run is a warning with the nearest",
    arguments: [
      (["policy": ["notGiven": [["verdict": "deny", "rule": "no-refund"]]]], "no-refunds"),
      (["policy": ["notGiven": [["verdict": "deny", "rule": "never-deleet"]]]], "never-delete"),
      (["policy": ["notGiven": [["verdict": "deny", "rule": "no-refunds"]]]], nil),
      (["policy": ["notGiven": [["verdict": "deny", "rule": "night-shift"]]]], nil),
      (["time": [["never": ["verdict": "deny", "rule": "no_refund"]]]], "no-refunds"),
      (["policy": ["noApprovals": [["by": "annna"]]]], "anna"),
      (["memory": ["notRead": ["alergies"]]], "allergies"),
      (["memory": ["notRead": ["city"]]], nil),
    ] as [(JSONValue, String?)])
  func otherNames(expected: JSONValue, nearest: String?) throws {
    let run = ConformanceRun { run in
      run.remember("allergies", ["nuts"])
      run.decide(
        .init("refund", [:], .refused).ruled(.deny, by: "no-refunds"))
      run.end()
    }
    var events = run.events
    events[0].data["inputs"] = ["policy": ["rules": [["id": "never-delete"]]]]
    events.append(
      Event(
        seq: events.count, step: 1, type: .humanReplied, runId: events[0].runId, t: 0,
        data: ["text": "yes", "by": "anna"]))
    let expectations = try Expectations(parsing: expected)
    var gathered = GatheredFacts(for: expectations)
    for event in events { gathered.apply(event) }
    let warnings = Judge.judge(Trajectory(of: events), gathered, against: expectations).warnings
    #expect(warnings.count == (nearest == nil ? 0 : 1), "\(warnings)")
    #expect(warnings.allSatisfy { $0.hasSuffix("did you mean “\(nearest ?? "")”?") })
  }
}
