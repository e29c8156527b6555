import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceJudging

@Suite("What is said of each expectation")
struct ExpectationTableTests {
  @Test("the table of case files says of each what its own file says, in the order of outcomes")
  func table() throws {
    var lines = Expectations.kinds.map { kind in
      "| `\(kind.key)` | \(kind.summary.takes) | \(kind.summary.holds) |"
    }
    lines.append(
      "| `severity` | `error` (without it), `warning` | whether the case fails where one of these is not met |"
    )
    try Project.checkTable(
      lines, below: "| key | takes | holds when |\n|---|---|---|\n", in: "Docs/eval-case-format.md")
  }

  @Test("each has a key of its own, and edge cases of which one passes and one does not")
  func edges() {
    #expect(Set(Expectations.keyNames).count == Expectations.keyNames.count)
    for kind in Expectations.kinds {
      var book = ConformanceBook()
      book.rule = kind.key
      kind.addConformance(to: &book)
      // What programs say is known to whoever starts them alone.
      guard kind.key != ProgramExpectation.key else { continue }
      let outcomes = Set(book.checks.map(\.wanted))
      #expect(outcomes.contains("pass") && outcomes.count > 1, "\(kind.key): \(outcomes)")
      let wrong = book.checks.filter { !$0.isRight }.map(\.title)
      #expect(wrong == [], "\(kind.key)")
    }
  }

  @Test("what a kind suggests of a run can be read")
  func suggestions() throws {
    let run = ConformanceRun(tools: ["a", "b"]) { run in
      run.decide(.init("a", ["x": 1]))
      run.end("{}")
    }
    let trajectory = Trajectory(of: run.events)
    for kind in Expectations.kinds {
      for value in kind.suggestions(for: trajectory) {
        let expected = try Expectations(parsing: value)
        #expect(expected.all.contains { $0.key == kind.key }, "\(kind.key): \(value)")
      }
    }
  }
}
