import AgentTrace
import Testing

@testable import TraceJudging

@Suite("A person who was asked, in a baseline")
struct AskedCallTests {
  private static func run(_ words: VerdictStatus...) -> AcceptedRun {
    var trajectory = Trajectory()
    var seq = 0
    func add(_ payload: EventPayload) {
      trajectory.apply(
        Event(seq: seq, step: 1, type: payload.type, runId: "r", t: 0, data: payload.encoded))
      seq += 1
    }
    add(.decision(DecisionPayload(.tool([ProposedCall(callId: "1", name: "pay", input: [:])]))))
    for word in words {
      add(.policyDecision(Verdict(callId: "1", tool: "pay", status: word, reason: "")))
    }
    var run = AcceptedRun(outcome: .pass)
    run.decisions = [trajectory.calls.map { AcceptedCall(of: $0) }]
    return run
  }

  @Test("each asking is shown, behind which the call was let through or refused after all")
  func shown() {
    for (words, isAsked) in [
      ([.allow], false), ([.approvalRequired], false), ([.approvalRequired, .allow], true),
      ([.approvalRequired, .deny], true), ([.deny], false), ([], false),
    ] as [([VerdictStatus], Bool)] {
      let run =
        switch words.count {
        case 0: Self.run()
        case 1: Self.run(words[0])
        default: Self.run(words[0], words[1])
        }
      #expect(run.decisions[0][0].wasAsked == isAsked, "\(words)")
      #expect(AcceptedText.lines(of: run, 1).contains("    asked") == isAsked, "\(words)")
      let told = AcceptedText.lines(of: run).filter { $0.hasPrefix("    verdict ") }
      #expect(told == words.map { "    verdict \($0.rawValue)" })
    }
  }

  @Test("where nobody is asked any more, something stands less in the way of the call")
  func compared() {
    let (asked, free) = (Self.run(.approvalRequired, .allow), Self.run(.allow))
    let loosened = PathComparison(asked, free, isBetter: false).differences
    #expect(loosened.map(\.kind) == [.verdict] && loosened.map(\.effect) == [.regression])
    #expect(loosened.first?.accepted == "allow, once a person was asked")
    let tightened = PathComparison(free, asked, isBetter: false).differences
    #expect(tightened.map(\.kind) == [.verdict] && tightened.map(\.effect) == [.neutral])
    #expect(PathComparison(asked, asked, isBetter: false).differences.isEmpty)
    let waiting = Self.run(.approvalRequired)
    #expect(
      PathComparison(waiting, asked, isBetter: false).differences.map(\.effect) == [.neutral])
  }
}
