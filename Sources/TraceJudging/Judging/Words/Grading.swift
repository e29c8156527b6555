import AgentTrace

extension WordJudge {
  /// What a model says of each statement of a rubric.
  func judged(_ rule: JudgeRule) -> [ExpectationOutcome] {
    func outcomes(
      _ outcome: Outcome, _ message: String, _ events: [Int] = []
    ) -> [ExpectationOutcome] {
      rule.statements.map {
        ExpectationOutcome(
          expectation: "judge.\($0.name)", outcome: outcome, events: events, message: message,
          expected: CallWording.short($0.text))
      }
    }
    switch rule.subject(in: view.trajectory, chronicle) {
    case .settled(let outcome, let events, let message): return outcomes(outcome, message, events)
    case .question(let question):
      switch aids.judged[rule] {
      case nil:
        return outcomes(.unverifiable, "Judgements of models are looked at only by `run`.")
      case .missing(let why)?: return outcomes(.unverifiable, why)
      case .votes(let votes)?:
        return rule.statements.indices.map { Self.count(votes, $0, rule, question) }
      }
    }
  }

  /// The outcome of one statement by the votes on it. One that the open votes could still carry is
  /// unverifiable.
  private static func count(
    _ votes: [JudgeVote], _ index: Int, _ rule: JudgeRule, _ question: JudgeQuestion
  ) -> ExpectationOutcome {
    let grades = votes.compactMap { vote in
      vote.reply.grades.indices.contains(index) ? vote.reply.grades[index] : nil
    }
    func count(_ outcome: Outcome) -> Int { grades.count { $0.outcome == outcome } }
    let (passes, open) = (count(.pass), count(.unverifiable))
    let needed = rule.votesNeeded
    let outcome: Outcome =
      passes >= needed ? .pass : passes + open < needed ? .fail : .unverifiable
    let reason = (grades.first { $0.outcome == outcome } ?? grades.first)?.reason ?? ""
    let statement = rule.statements[index]
    var told = CallWording.short(reason)
    var actual = outcome.rawValue
    if votes.count > 1 {
      actual = "\(passes) of \(votes.count) votes pass"
      if open > 0 { actual += ", \(open) unverifiable" }
      told = "\(actual), \(needed) needed. \(told)"
    }
    var result = ExpectationOutcome(
      expectation: "judge.\(statement.name)", outcome: outcome, events: question.events,
      message: told, expected: CallWording.short(statement.text), actual: actual)
    result.judgements = votes.map(\.source)
    return result
  }
}
