import AgentTrace

/// The run stops, or pauses, for one of these reasons.
struct StopReasonExpectation: EndExpectation {
  var reasons: [StopReason]

  static let key = "stopReason"
  static let summary = ExpectationSummary(
    takes: "one reason or a list",
    holds: "the run stopped, or paused, for one of them: "
      + StopReason.names.map { "`\($0)`" }.joined(separator: " "))

  static var schema: JSONValue {
    [
      "description": "Why the run stops or pauses: one reason, or a list of them.",
      "anyOf": [
        ExpectationSchema.word(StopReason.names), ExpectationSchema.words(StopReason.names),
      ],
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    run.stop.map { [[key: .string($0.reason.rawValue)]] } ?? []
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.words(value, at: pointer, StopReason.self, "a stop reason").map(Self.init(reasons:))
  }

  var needs: TrajectoryNeeds { [] }
  var facts: Facts { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isChoiceNarrowed }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run.view)] }

  private func outcome(_ view: CallView) -> ExpectationOutcome {
    var expected = ""
    for reason in reasons { expected += (expected.isEmpty ? "" : " or ") + reason.rawValue }
    func outcome(
      _ outcome: Outcome, _ events: [Int], _ message: String, _ actual: String?
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "stopReason", outcome: outcome, events: events, message: message,
        expected: expected, actual: actual)
    }
    let trajectory = view.trajectory
    guard let stop = trajectory.stop else {
      if trajectory.recorded["stop"] != nil {
        return outcome(.unverifiable, [], "Why the run ended was not recorded.", nil)
      }
      return outcome(
        .unverifiable, [],
        view.gaps.isEmpty
          ? "The log has no stop: the run was never closed."
          : "Why the run ended cannot be seen: \(view.whyHidden).", nil)
    }
    if trajectory.goesOnBehindEnd {
      return outcome(
        .unverifiable, [stop.seq],
        "The log says that the run had ended before, and goes on all the same.", nil)
    }
    let actual = stop.reason.rawValue + (stop.detail.map { " (\(CallWording.short($0)))" } ?? "")
    if !stop.isFinal, view.hidesBehind(stop.seq) {
      return outcome(
        .unverifiable, [stop.seq], "The run may have gone on: \(view.whyHidden).", actual)
    }
    return reasons.contains(stop.reason)
      ? outcome(.pass, [stop.seq], "The run stopped as \(actual).", actual)
      : outcome(.fail, [stop.seq], "The run stopped as \(actual), not as \(expected).", actual)
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("the reason it stopped for", "success", on: .init("a"), is: .pass)
    book.check("another reason", "blocked", on: .init("a"), is: .fail)
    book.check(
      "one of several", ["blocked", "approval_required"],
      on: .init { $0.stop(.approvalRequired) }, is: .pass)
    book.check(
      "a torn log has no stop", "success",
      on: .init { run in
        run.decide(.init("a"))
        run.tear()
      }, is: .unverifiable)
    book.add("a slip in a reason", mistaken: ["stopReason": "sucess"])
  }
}
