import AgentTrace
import Testing

@testable import TraceJudging

@Suite("What is worse, beside what has only changed")
struct WorseTests {
  private static func call(
    _ tool: String, _ id: Int = 1, _ gateAnswers: [AcceptedCall.GateAnswer] = [.verdict("allow")],
    status: String? = "ok", mayWrite: Bool = false
  ) -> AcceptedCall {
    var call = AcceptedCall(tool: tool)
    call.arguments = [.init(pointer: "/id", value: "\(id)")]
    call.gateAnswers = gateAnswers
    call.status = status
    call.mayWrite = mayWrite
    return call
  }

  private static func run(_ calls: [AcceptedCall]) -> AcceptedRun {
    var run = AcceptedRun(outcome: .pass)
    run.decisions = calls.map { [$0] }
    return run
  }

  private static func comparison(
    _ accepted: AcceptedRun, _ actual: AcceptedRun, format: Int = 2
  ) -> CaseComparison {
    var before = AcceptedCase(caseId: "a", runs: [accepted])
    before.format = format
    return CaseComparison(
      of: AcceptedCase(caseId: "a", runs: [actual]), with: before, tolerance: Tolerance())
  }

  private static func approval(
    _ granted: Bool = true, by: String = "ana", calls: Int? = 1
  ) -> AcceptedCall.GateAnswer {
    .approval(.init(isGranted: granted, by: by, calls: calls))
  }

  @Test("what is worse is never among the differences that are not told")
  func untold() {
    let denied = AcceptedCall.GateAnswer.verdict("deny")
    let calls = (0..<150).map { Self.call("look", $0) }
    let others = (0..<150).map { Self.call("look", $0 + 1_000) }
    let found = Self.comparison(
      Self.run(calls + [Self.call("look", 7, [denied], status: "refused")]),
      Self.run(others + [Self.call("look", 7)]))
    #expect(found.untold > 0 && found.kind == .regressed)
  }

  @Test("an approval that is gone, covers more or was a no is worse; another person is not")
  func approvals() {
    let asked = AcceptedCall.GateAnswer.verdict("approval_required")
    let allow = AcceptedCall.GateAnswer.verdict("allow")
    func pay(_ approvals: AcceptedCall.GateAnswer..., status: String = "ok") -> AcceptedRun {
      Self.run([Self.call("pay", 1, [asked] + approvals + [allow], status: status, mayWrite: true)])
    }
    let once = pay(Self.approval())
    for (now, kind) in [
      (once, .same), (pay(Self.approval(by: "bo")), .changed), (pay(), .regressed),
      (pay(Self.approval(calls: 2)), .regressed), (pay(Self.approval(calls: nil)), .regressed),
      (pay(Self.approval(false)), .regressed),
    ] as [(AcceptedRun, CaseComparison.Kind)] {
      #expect(Self.comparison(once, now).kind == kind, "\(now)")
    }
    #expect(Self.comparison(pay(Self.approval(calls: 3)), once).kind == .changed)
    let refused = Self.run([
      Self.call("pay", 1, [asked, Self.approval(false)], status: "refused", mayWrite: true)
    ])
    #expect(Self.comparison(refused, once).kind == .regressed)
    #expect(Self.comparison(once, refused).kind == .changed)
    // The first version of the format knows of no approvals.
    #expect(Self.comparison(once.asInFirstFormat, pay(), format: 1).kind == .same)
  }

  @Test(
    "a case that makes fewer trials, lets more of them fail or is no safety case any more is worse")
  func trials() {
    func accepted(_ plan: TrialPlan?) -> AcceptedCase {
      var accepted = AcceptedCase(caseId: "a", runs: [Self.run([])])
      if let plan { accepted.setting.say(.trials, plan.json) }
      return accepted
    }
    let three = TrialPlan(trials: 3, isSafety: true)
    for (before, now, isWorse) in [
      (three, three, false), (three, TrialPlan(trials: 3), true), (three, nil, true),
      (three, TrialPlan(trials: 2, isSafety: true), true),
      (three, TrialPlan(trials: 5, isSafety: true), false),
      (TrialPlan(trials: 3), TrialPlan(trials: 3, passThreshold: 1), true),
      (TrialPlan(trials: 3, passThreshold: 2), TrialPlan(trials: 6, passThreshold: 3), true),
      (TrialPlan(trials: 3, passThreshold: 2), TrialPlan(trials: 6, passThreshold: 4), false),
      (nil, TrialPlan(trials: 3), false), (nil, TrialPlan(trials: 3, passThreshold: 1), true),
      (TrialPlan(trials: 3, passThreshold: 1), TrialPlan(trials: 3), false),
    ] as [(TrialPlan?, TrialPlan?, Bool)] {
      let kind = CaseComparison(
        of: accepted(now), with: accepted(before), tolerance: Tolerance()
      ).kind
      #expect((kind == .regressed) == isWorse, "\(String(describing: (before, now))): \(kind)")
    }
  }

  @Test("a write that is new is worse where nothing expects it; what only reads is not")
  func writes() throws {
    let expected = try Expectations(parsing: ["toolsCalled": [["tool": "pay", "times": 2]]])
    func pays(_ count: Int, reads: Int = 0) -> AcceptedRun {
      var run = Self.run(
        (0..<count).map { _ in
          var call = Self.call("pay", mayWrite: true)
          call.namedBy = [0]
          return call
        } + (0..<reads).map { Self.call("look", $0) })
      run.namings = Namings(of: expected)
      return run
    }
    for (accepted, now, kind) in [
      (pays(1), pays(2), .changed), (pays(2), pays(2), .same), (pays(2), pays(3), .regressed),
      (pays(0), pays(3), .regressed), (pays(3), pays(3), .same),
      (pays(1), pays(1, reads: 3), .changed),
    ] as [(AcceptedRun, AcceptedRun, CaseComparison.Kind)] {
      #expect(Self.comparison(accepted, now).kind == kind, "\(now.decisions.count)")
    }
    // Nobody knows what a call did that began and has no end.
    let doubtful = Self.run([Self.call("look", status: "unknown")])
    #expect(Self.comparison(Self.run([]), doubtful).kind == .regressed)
    #expect(Self.comparison(Self.run([Self.call("look")]), doubtful).kind == .regressed)
  }

  @Test(
    "a limit that is higher or gone is worse, one that is lower is not, and one unknown is neither")
  func limits() {
    func run(_ limits: JSONObject?) -> AcceptedRun {
      var run = Self.run([])
      run.setting = RunSetting(
        started: JSONObject(limits.map { [("limits", .object($0))] } ?? []))
      return run
    }
    let accepted = run(["maxSteps": 8, "maxCost": 0.5])
    for (limits, kind) in [
      (["maxSteps": 8, "maxCost": 0.5], .same), (["maxSteps": 8.0, "maxCost": 5e-1], .same),
      (["maxSteps": 7, "maxCost": 0.5, "maxTokens": 9], .changed),
      (["maxSteps": 9, "maxCost": 0.1], .regressed), (["maxSteps": 8], .regressed),
      ([:], .regressed), (nil, .notCompared),
    ] as [(JSONObject?, CaseComparison.Kind)] {
      #expect(Self.comparison(accepted, run(limits)).kind == kind, "\(String(describing: limits))")
    }
    #expect(Self.comparison(run(nil), accepted).kind == .same)
    #expect(Self.comparison(run([:]), accepted).kind == .changed)
  }

  @Test("where nothing may change, a change fails, also behind something that is better")
  func strict() {
    let (one, two) = (Self.run([Self.call("look", 1)]), Self.run([Self.call("look", 2)]))
    var found = Self.comparison(one, two)
    #expect(!found.isRed && found.kind == .changed)
    found.beStrict()
    #expect(found.isRed && found.json["strict"] == true)
    var same = Self.comparison(one, one)
    same.beStrict()
    #expect(!same.isRed)
    var failing = one
    failing.outcome = .fail
    failing.checks = [.init(name: "stopReason", outcome: .fail)]
    var passing = two
    passing.checks = [.init(name: "stopReason", outcome: .pass)]
    var fixed = Self.comparison(failing, passing)
    #expect(fixed.kind == .fixed)
    fixed.beStrict()
    #expect(fixed.kind == .changed && fixed.isRed)
  }

  @Test("the answer of a run that was made live is neither held nor compared")
  func live() {
    let trajectory = RecordedRun.whole([[.init("look", ["id": 1])]], answer: "one")
    let other = RecordedRun.whole([[.init("look", ["id": 1])]], answer: "two")
    func run(_ trajectory: Trajectory, isLive: Bool) -> AcceptedRun {
      AcceptedRun(of: trajectory, RunNotes(), Judgement(outcomes: []), isLive: isLive)
    }
    let accepted = run(trajectory, isLive: false)
    #expect(accepted.answer == .given("\"one\""))
    #expect(Self.comparison(accepted, run(other, isLive: false)).kind == .changed)
    #expect(Self.comparison(accepted, run(other, isLive: true)).kind == .same)
    #expect(!AcceptedText.lines(of: run(other, isLive: true)).contains { $0.contains("two") })
  }

  @Test("another goal is worse, also where the case's input alone says which was accepted")
  func goal() {
    func run(_ goal: String?) -> AcceptedRun {
      var run = Self.run([])
      run.goal = goal.map { "\"\($0)\"" }
      return run
    }
    #expect(Self.comparison(run("a"), run("a")).kind == .same)
    let found = Self.comparison(run("a"), run("b"))
    #expect(found.kind == .regressed && found.differences.map(\.place) == [Difference.goalPlace])
    // What nobody knows of one of them is not compared.
    #expect(Self.comparison(run(nil), run("b")).kind == .same)
    #expect(Self.comparison(run("a"), run(nil)).kind == .same)
    #expect(Self.comparison(run("a"), run("b"), format: 1).kind == .same)
    var before = AcceptedCase(caseId: "a", runs: [run("a")])
    before.setting.say(.input, "a")
    #expect(before.sorted.runs[0].goal == nil)
    for (goal, kind) in [
      ("a", .same), ("b", .regressed), ("«redacted:token»", .same),
    ] as [(String, CaseComparison.Kind)] {
      var now = before
      now.runs = [run(goal)]
      let found = CaseComparison(of: now, with: before.sorted, tolerance: Tolerance())
      #expect(found.kind == kind, "\(goal)")
    }
  }

  @Test("what a case gives a pipeline is compared as JSON, however it is spaced")
  func inputOfPipeline() {
    var accepted = AcceptedCase(caseId: "a", runs: [Self.run([])])
    accepted.setting.say(.input, .string(#"{"repo": "wc"}"#))
    for (given, kind) in [
      (#"{"repo":"wc"}"#, .same), (#"{"repo":"other"}"#, .regressed),
    ] as [(String, CaseComparison.Kind)] {
      var now = accepted
      now.runs[0].goal = AcceptedText.value(.string(given))
      let found = CaseComparison(of: now, with: accepted.sorted, tolerance: Tolerance())
      #expect(found.kind == kind, "\(given)")
    }
  }

  @Test("results of earlier versions say of a case that it took another path")
  func earlierWord() throws {
    var results = EvalResults(cases: [], skipped: [])
    var result = CaseResult(caseId: "a", position: "a:1")
    result.comparison = CaseComparison(kind: .changed)
    results.cases = [result]
    let text = CanonicalJSON.string(results.json, form: .plain)
    let older = text.replacing("\"changed\"", with: "\"other_path\"")
    #expect(older != text)
    let read = try EvalResults(decoding: try JSONValue(parsing: older))
    #expect(read.cases.first?.comparison?.kind == .changed)
  }
}
