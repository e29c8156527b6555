import AgentTrace
import TraceMatching

extension JudgedRun {
  /// Holds the tasks of a pipeline against one rule.
  func tasks(_ rule: TaskRule) -> ExpectationOutcome {
    TaskJudge(run: self, rule: rule).outcome()
  }
}

/// Judges one rule on tasks. The pipeline's own log tells all that it asks.
private struct TaskJudge {
  let run: JudgedRun
  let rule: TaskRule

  private var tasks: TaskFacts { run.gathered.tasks }
  private var isTorn: Bool { !run.view.gaps.isEmpty }
  private var end: [Int] { run.view.trajectory.stop.map { [$0.seq] } ?? [] }

  func outcome() -> ExpectationOutcome {
    if let unknown { return outcome(.unverifiable, [], unknown) }
    if let fault = tasks.fault { return outcome(.unverifiable, [fault.seq], fault.why) }
    switch rule.claim {
    case .ran(let address, let times): return ran(address, times, isForbidden: false)
    case .notRan(let address):
      return ran(address, .init(minimum: 1, maximum: nil), isForbidden: true)
    case .order(let steps): return order(steps)
    case .status(let address, let statuses):
      let expected = statuses.map(\.rawValue).joined(separator: " or ")
      return each(address, expected) { _, fact in
        (Trilean(statuses.contains(fact.status)), fact.status.rawValue)
      }
    case .attempts(let address, let times):
      return number(address, times, "attempt") { $0.attempts }
    case .elements(let address, let times):
      return number(address, times, "element") { $0.elements }
    case .undone(let address, let times):
      return number(address, times, "effect undone", plural: "effects undone") {
        $0.compensations
      }
    case .output(let address, let matcher): return output(address, matcher)
    case .by(let address, let name):
      return each(address, "by \(name.text)") { node, fact in
        let by = fact.by ?? node.task
        return (Trilean(name.matches(by)), "by \(by)")
      }
    }
  }

  /// Why nothing can be said at all; `nil` where something can.
  private var unknown: String? {
    guard let definition = tasks.definition else {
      return run.view.gaps.isEmpty
        ? "The run is no pipeline’s." : "Whether the run is a pipeline’s cannot be seen."
    }
    for address in rule.addresses {
      let named = definition.filter { address.task.matches($0.id) }
      if named.isEmpty {
        let nearest = Spelling.nearest(to: address.task.text, among: definition.map(\.id))
        return "The pipeline has no task “\(CallWording.short(address.task.text))”"
          + (nearest.map { "; did you mean “\($0)”?" } ?? ".")
      }
      if address.isOfElements || isOfElements, !named.contains(where: \.isFanOut) {
        return "“\(CallWording.short(address.task.text))” is no fan-out: it has no elements."
      }
      if !address.isOfElements, named.contains(where: \.isFanOut), isOfEachNode {
        return
          "“\(CallWording.short(address.text))” is a fan-out; say “\(CallWording.short(address.text))[*]” for its elements."
      }
    }
    return nil
  }

  /// Whether the rule asks for something that a fan-out as a whole does not have.
  private var isOfEachNode: Bool {
    switch rule.claim {
    case .attempts, .output, .undone, .by: true
    case .ran, .notRan, .order, .status, .elements: false
    }
  }

  /// Whether the rule asks how many elements there are, which fan-outs alone have.
  private var isOfElements: Bool { if case .elements = rule.claim { true } else { false } }

  /// Whether a node is of a task that runs once for each of many.
  private func isFanOut(_ node: TaskNode) -> Bool {
    tasks.definition?.contains { $0.isFanOut && $0.id.hasSameUTF8(as: node.task) } ?? false
  }

  private func outcome(
    _ outcome: Outcome, _ events: [Int], _ message: String, _ expected: String? = nil,
    _ actual: String? = nil
  ) -> ExpectationOutcome {
    ExpectationOutcome(
      expectation: rule.name, outcome: outcome, events: events, message: message,
      expected: expected.map(CallWording.short), actual: actual.map(CallWording.short))
  }

  // MARK: Ran

  private func ran(
    _ address: TaskAddress, _ times: CallEntry.Times, isForbidden: Bool
  ) -> ExpectationOutcome {
    let found = tasks.nodes(at: address).filter(\.fact.ran).map {
      (answer: Trilean.yes, events: [$0.fact.start ?? $0.fact.end].compactMap { $0 })
    }
    // As a stand-in it runs as well, each time that an attempt of it begins in the place of another task.
    let inPlace = tasks.standIns(at: address).flatMap(\.attempts).map {
      (answer: Trilean.yes, events: [$0])
    }
    return run.count(
      rule.name, times, isForbidden, found + inPlace, mayBeMore: isTorn, "\(address.text) runs",
      whyMore: run.view.whyHidden)
  }

  // MARK: Each node

  /// All nodes that an address names, and one at least, have to be as asked.
  private func each(
    _ address: TaskAddress, _ expected: String,
    _ ask: (TaskNode, TaskFacts.Node) -> (answer: Trilean, actual: String)
  ) -> ExpectationOutcome {
    // Of tasks that a glob names, those that are no fan-outs have no elements to count.
    let nodes = tasks.nodes(at: address).filter { !isOfElements || isFanOut($0.node) }
    var unknown: (node: TaskNode, actual: String)?
    for (node, fact) in nodes {
      let (answer, actual) = ask(node, fact)
      // What is to come may change it.
      if answer == .no, !isTorn {
        return outcome(
          .fail, [fact.end ?? fact.start].compactMap { $0 } + end, "\(node) is otherwise.",
          "\(address.text): \(expected)", "\(node): \(actual)")
      }
      if answer != .yes { unknown = unknown ?? (node, actual) }
    }
    if isTorn {
      return outcome(
        .unverifiable, [], "What became of it cannot be seen: \(run.view.whyHidden).",
        "\(address.text): \(expected)")
    }
    if let unknown {
      return outcome(
        .unverifiable, [], "\(unknown.node) cannot be verified: \(unknown.actual).",
        "\(address.text): \(expected)")
    }
    guard let first = nodes.first else {
      if let standIn = tasks.standIns(at: address).first {
        return outcome(
          .unverifiable, [standIn.attempts.first].compactMap { $0 },
          "\(address.text) ran in the place of \(standIn.place) alone: what became of it is told of that task.",
          "\(address.text): \(expected)", "stood in for \(standIn.place)")
      }
      return outcome(
        .fail, end, "It never began.", "\(address.text): \(expected)", "never began")
    }
    return outcome(
      .pass, [first.fact.end ?? first.fact.start].compactMap { $0 },
      nodes.count == 1 ? "\(first.node) is so." : "All \(nodes.count) are so.",
      "\(address.text): \(expected)", ask(first.node, first.fact).actual)
  }

  private func number(
    _ address: TaskAddress, _ times: CallEntry.Times, _ what: String, plural: String? = nil,
    _ count: (TaskFacts.Node) -> Int?
  ) -> ExpectationOutcome {
    func say(_ count: Int) -> String { Figures.count(count, what, plural: plural) }
    let expected =
      times.minimum == times.maximum ? say(times.minimum) : "\(plural ?? what + "s") \(times)"
    return each(address, expected) { _, fact in
      guard let count = count(fact) else { return (.no, "no number of \(plural ?? what + "s")") }
      return (Trilean(times.contains(count)), say(count))
    }
  }

  private func output(_ address: TaskAddress, _ matcher: Matcher) -> ExpectationOutcome {
    each(address, matcher.description) { _, fact in
      guard fact.status == .finished else {
        return (Trilean(matcher.matches(nil)), "no output, \(fact.status.rawValue)")
      }
      switch matcher.match(fact.output) {
      case .match: return (.yes, fact.output?.excerpt ?? "nothing")
      case .mismatch(let mismatch): return (.no, mismatch.actual)
      case .unverifiable(let why): return (.unknown, "\(why)")
      }
    }
  }

  // MARK: Order

  private func order(_ steps: [[TaskAddress]]) -> ExpectationOutcome {
    let expected = steps.map { $0.map(\.text).joined(separator: " and ") }
      .joined(separator: ", then ")
    var before: [(node: TaskNode, fact: TaskFacts.Node)] = []
    var events: [Int] = []
    for step in steps {
      var here: [(node: TaskNode, fact: TaskFacts.Node)] = []
      for address in step {
        let inPlace = tasks.standIns(at: address).map { (node: $0.node, fact: $0.fact) }
        let nodes = (tasks.nodes(at: address) + inPlace).filter { !$0.fact.rounds.isEmpty }
        guard !nodes.isEmpty else {
          return outcome(
            isTorn ? .unverifiable : .fail, end, "\(address.text) never began.", expected)
        }
        here += nodes
      }
      for left in before {
        for right in here {
          guard let start = right.fact.rounds.first(where: { !left.fact.hadEnded(at: $0.start) })
          else { continue }
          return outcome(
            .fail, [start.start] + (left.fact.end.map { [$0] } ?? []),
            "\(right.node) began before \(left.node) had ended.", expected)
        }
      }
      events += here.first?.fact.start.map { [$0] } ?? []
      before = here
    }
    if isTorn {
      return outcome(.unverifiable, [], "It cannot be seen: \(run.view.whyHidden).", expected)
    }
    return outcome(.pass, events, "They came in this order.", expected)
  }
}
