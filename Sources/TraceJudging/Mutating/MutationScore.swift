public import AgentTrace
import TraceMatching

/// How many changed runs a suite of cases tells from the recorded ones. No model is asked and no tool is
/// started.
public struct MutationScore: Sendable {
  /// A changed run that still passes.
  public struct Survivor: Sendable, Hashable {
    /// What was changed.
    public var mutation: RunMutation
    /// What would have told it from the run, as a case file writes it below `expected`; `nil` where no
    /// expectation that was tried does.
    public var remedy: JSONValue?
  }

  /// What became of one run of one case.
  public struct CaseScore: Sendable {
    /// The case's name.
    public var caseId: String
    /// The run that was changed.
    public var log: String
    /// How many changed runs were judged.
    public var mutants = 0
    /// How many of them do not pass.
    public var killed = 0
    /// How many there are and were killed, of each kind.
    public var kinds: [RunMutation.Kind: (mutants: Int, killed: Int)] = [:]
    /// Those that pass, in the order of the run.
    public var survivors: [Survivor] = []
    /// Why the run was left out; `nil` where it was not.
    public var leftOut: String?
  }

  /// One for each run, in the order of the cases.
  public var cases: [CaseScore]

  /// How many changed runs were judged.
  public var mutants: Int { cases.reduce(0) { $0 + $1.mutants } }
  /// How many of them do not pass.
  public var killed: Int { cases.reduce(0) { $0 + $1.killed } }
  /// The share that does not pass; `nil` where none was judged.
  public var score: Double? { mutants == 0 ? nil : Double(killed) / Double(mutants) }

  /// The most events of a run that is changed.
  public static let eventLimit = 100_000

  /// Nothing is checked.
  public init(cases: [CaseScore]) { self.cases = cases }
}

extension MutationScore.CaseScore {
  /// A run that was not changed, and why.
  public init(caseId: String, log: String, leftOut reason: String) {
    self.init(caseId: caseId, log: log)
    leftOut = reason
  }

  /// Changes a run in every way there is, and judges each changed run.
  ///
  /// What programs and models judge is left out: they are not started for mutants.
  ///
  /// - Parameters:
  ///   - events: the run, as it was recorded.
  ///   - limit: changed runs at most; spread evenly over all of them where there are more.
  /// - Complexity: changed runs × events.
  public init(
    caseId: String, log: String, of events: [Event], against expectations: Expectations, limit: Int
  ) {
    self.init(caseId: caseId, log: log)
    let expected = expectations.withoutOutsiders
    guard !expected.isEmpty else {
      leftOut = "programs or models judge all of it"
      return
    }
    let original = Self.outcome(of: Mutant.none, events, expected)
    guard original == .pass else {
      leftOut = "the run as it was recorded is “\(original.rawValue)”"
      return
    }
    let all = MutantMaker(events, forbidden: expected.forbiddenTools).mutants()
    // Every n-th, so that a long run's end is looked at as well as its beginning.
    let chosen =
      all.count <= limit ? all : (0..<max(0, limit)).map { all[$0 * all.count / limit] }
    for mutant in chosen {
      let isKilled = Self.outcome(of: mutant, events, expected) != .pass
      mutants += 1
      killed += isKilled ? 1 : 0
      var kind = kinds[mutant.mutation.kind] ?? (0, 0)
      kind.mutants += 1
      kind.killed += isKilled ? 1 : 0
      kinds[mutant.mutation.kind] = kind
      guard !isKilled else { continue }
      survivors.append(
        MutationScore.Survivor(mutation: mutant.mutation, remedy: Self.remedy(for: mutant, events)))
    }
  }
  /// The first expectation that the run meets and the mutant does not.
  private static func remedy(for mutant: Mutant, _ events: [Event]) -> JSONValue? {
    mutant.remedies.first { remedy in
      guard let expected = try? Expectations(parsing: remedy) else { return false }
      return outcome(of: Mutant.none, events, expected) == .pass
        && outcome(of: mutant, events, expected) == .fail
    }
  }

  private static func outcome(
    of mutant: Mutant, _ events: [Event], _ expected: Expectations
  ) -> CaseOutcome {
    var trajectory = Trajectory()
    var chronicle = Chronicle(for: expected)
    let facts = chronicle.facts
    let types = facts.isEmpty ? Trajectory.types : facts.eventTypes
    mutant.forEach(of: events) { event in
      guard types?.contains(event.type) ?? true else { return trajectory.passOver(event.seq) }
      trajectory.apply(event)
      if !facts.isEmpty { chronicle.apply(event) }
    }
    return Judge.judge(trajectory, facts.isEmpty ? nil : chronicle, against: expected).outcome
  }
}

extension Mutant {
  /// The run as it was recorded.
  static let none = Mutant(
    mutation: RunMutation(kind: .answer, seq: 0, words: ""), remedies: [])
}

extension MutationScore {
  /// The wire form, `agent-eval/mutations/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": "agent-eval/mutations/1", "cases": .array(cases.map(\.json)),
      "summary": ["mutants": JSONValue(mutants), "killed": JSONValue(killed)],
    ]
    object["score"] = score.map { JSONValue($0) }
    return .object(object)
  }
}

extension MutationScore.CaseScore {
  /// Kinds in their fixed order.
  public var sortedKinds: [(kind: RunMutation.Kind, mutants: Int, killed: Int)] {
    RunMutation.Kind.allCases.compactMap { kind in
      kinds[kind].map { (kind, $0.mutants, $0.killed) }
    }
  }

  fileprivate var json: JSONValue {
    var object: JSONObject = [
      "caseId": .string(caseId), "log": .string(log), "mutants": JSONValue(mutants),
      "killed": JSONValue(killed),
    ]
    object["kinds"] = .object(
      JSONObject(
        sortedKinds.map {
          (
            $0.kind.rawValue,
            ["mutants": JSONValue($0.mutants), "killed": JSONValue($0.killed)] as JSONValue
          )
        }))
    object["survivors"] = .array(survivors.map(\.json))
    object["leftOut"] = leftOut.map(JSONValue.string)
    return .object(object)
  }
}

extension MutationScore.Survivor {
  fileprivate var json: JSONValue {
    var object: JSONObject = [
      "kind": .string(mutation.kind.rawValue), "seq": JSONValue(mutation.seq),
      "change": .string(mutation.words),
    ]
    object["expectation"] = remedy
    return .object(object)
  }
}

extension Expectations {
  /// Without what programs and models judge.
  fileprivate var withoutOutsiders: Expectations {
    var expectations = self
    expectations.words.removeAll { word in
      switch word {
      case .exec, .judge: true
      default: false
      }
    }
    for index in expectations.parts.indices {
      expectations.parts[index].expectations =
        expectations.parts[index].expectations.withoutOutsiders
    }
    expectations.parts.removeAll(where: \.expectations.isEmpty)
    return expectations
  }

  /// The tools that are not to be called, where they are named whole.
  fileprivate var forbiddenTools: [String] {
    (toolsNotCalled ?? []).filter { $0.input == nil && $0.times == nil }.compactMap(\.tool.literal)
      + parts.flatMap(\.expectations.forbiddenTools)
  }
}
