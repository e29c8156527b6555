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
    let path = Project.path("Docs/eval-case-format.md")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let head = "| key | takes | holds when |\n|---|---|---|\n"
    let start = try #require(text.range(of: head)).upperBound
    let end = try #require(text.range(of: "\n\n", range: start..<text.endIndex)).lowerBound
    let table = lines.joined(separator: "\n")
    if ProcessInfo.processInfo.environment["UPDATE_TABLES"] != nil {
      try text.replacingCharacters(in: start..<end, with: table).write(
        toFile: path, atomically: true, encoding: .utf8)
    } else {
      #expect(text[start..<end] == table)
    }
  }

  @Test("each has a key of its own, and edge cases of which one passes and one does not")
  func edges() {
    #expect(Set(Expectations.keyNames).count == Expectations.keyNames.count)
    for kind in Expectations.kinds {
      var book = ConformanceBook()
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
