public import AgentTrace

/// How many changed runs a suite of cases tells from the recorded ones. No model is asked and no tool is
/// started.
///
/// A change counts once, however many cases judge the run that it was made to, and is noticed if any of
/// them no longer passes. What is changed depends on the run alone: an expectation that is taken away
/// takes no change with it, so that a suite never scores higher for saying less.
public struct MutationScore: Sendable {
  /// Changed runs, and what became of them.
  public struct Counts: Sendable, Hashable {
    /// How many were judged.
    public var changes = 0
    /// Those that a case notices.
    public var noticed = 0
    /// Those that no case notices and that one lets pass on purpose.
    public var tolerated = 0
    /// Those that no case notices, and of which none says why.
    public var survivors: Int { changes - noticed - tolerated }

    /// None.
    public init() {}

    static func += (left: inout Counts, right: Counts) {
      left.changes += right.changes
      left.noticed += right.noticed
      left.tolerated += right.tolerated
    }
  }

  /// A changed run that passes every case.
  public struct Survivor: Sendable, Hashable {
    /// What was changed.
    public var mutation: RunMutation
    /// What would have told it from the run, as a case file writes it below `expected`; `nil` where no
    /// expectation that was tried does.
    public var remedy: JSONValue?
  }

  /// A changed run that passes every case, as one of them says it may.
  public struct Tolerated: Sendable, Hashable {
    /// What was changed.
    public var mutation: RunMutation
    /// The first case that says so.
    public var caseId: String
    /// Its reason.
    public var why: String
  }

  /// What one case sees of the changes to a run.
  public struct CaseShare: Sendable {
    /// The case's name.
    public var caseId: String
    /// How many of the run's changes it notices by itself, of each kind.
    public var noticed: [RunMutation.Kind: Int] = [:]
    /// The reasons that it gives under `tolerates`, and whether a change passes that one speaks of.
    public var reasons: [(why: String, isNeeded: Bool)] = []
  }

  /// What became of the changes to one run.
  public struct RunScore: Sendable {
    /// The run's log, by the path of the first case that judges it.
    public var log: String
    /// The cases that pass on the run as it was recorded, in their order.
    public var cases: [CaseShare] = []
    /// The changes of each kind.
    public var kinds: [RunMutation.Kind: Counts] = [:]
    /// Changes that no case notices, in the order in which they are made.
    public var survivors: [Survivor] = []
    /// Changes that are let pass on purpose, in the same order.
    public var tolerated: [Tolerated] = []

    /// All kinds together.
    public var counts: Counts { kinds.values.reduce(into: Counts()) { $0 += $1 } }
  }

  /// A case that did not take part on a run, and why.
  public struct LeftOut: Sendable, Hashable {
    /// The case's name.
    public var caseId: String
    /// The run's log.
    public var log: String
    /// Why, in words.
    public var why: String

    /// A case, the run that it did not take part on, and why.
    public init(caseId: String, log: String, why: String) {
      self.caseId = caseId
      self.log = log
      self.why = why
    }
  }

  /// One for each recorded run, in the order of the cases.
  public var runs: [RunScore]
  /// In the order of the cases.
  public var leftOut: [LeftOut]

  /// Nothing is judged: the runs are scored already.
  public init(runs: [RunScore], leftOut: [LeftOut] = []) {
    self.runs = runs
    self.leftOut = leftOut
  }

  /// All runs together.
  public var counts: Counts { runs.reduce(into: Counts()) { $0 += $1.counts } }
  /// The share of all changed runs that is noticed; `nil` where none was judged. What is tolerated counts
  /// as not noticed, so that no reason raises it.
  public var score: Double? {
    let counts = counts
    return counts.changes == 0 ? nil : Double(counts.noticed) / Double(counts.changes)
  }
  /// Reasons under `tolerates` that no case needs on any run: the changes they speak of are all noticed, or
  /// none is made.
  public var idleReasons: [String] {
    let reasons = runs.flatMap { $0.cases.flatMap(\.reasons) }
    var idle: [String] = []
    for reason in reasons
    where
      !(reasons.contains { $0.isNeeded && $0.why.hasSameUTF8(as: reason.why) }
      || idle.contains { $0.hasSameUTF8(as: reason.why) })
    {
      idle.append(reason.why)
    }
    return idle
  }
  /// Each kind of which there are changes, in the fixed order.
  public var kinds: [(kind: RunMutation.Kind, counts: Counts)] {
    RunMutation.Kind.allCases.compactMap { kind in
      let all = runs.reduce(into: Counts()) { $0 += $1.kinds[kind] ?? Counts() }
      return all.changes > 0 ? (kind, all) : nil
    }
  }
}

extension MutationScore {
  /// The wire form, `agent-eval/mutations/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": "agent-eval/mutations/1", "runs": .array(runs.map(\.json)),
      "leftOut": .array(
        leftOut.map {
          ["caseId": .string($0.caseId), "log": .string($0.log), "why": .string($0.why)]
        }),
      "idleReasons": JSONValue(idleReasons), "summary": .object(counts.json),
    ]
    object["score"] = score.map { JSONValue($0) }
    return .object(object)
  }
}

extension MutationScore.Counts {
  fileprivate var json: JSONObject {
    [
      "changes": JSONValue(changes), "noticed": JSONValue(noticed),
      "tolerated": JSONValue(tolerated), "survivors": JSONValue(survivors),
    ]
  }
}

extension MutationScore.RunScore {
  fileprivate var json: JSONValue {
    var object = counts.json
    object["log"] = .string(log)
    object["kinds"] = .object(
      JSONObject(
        RunMutation.Kind.allCases.compactMap { kind in
          kinds[kind].map { (kind.rawValue, .object($0.json)) }
        }))
    object["cases"] = .array(cases.map(\.json))
    object["survivingChanges"] = .array(
      survivors.map { survivor in
        var change = survivor.mutation.json
        change["expectation"] = survivor.remedy
        return .object(change)
      })
    object["toleratedChanges"] = .array(
      tolerated.map { one in
        var change = one.mutation.json
        change["caseId"] = .string(one.caseId)
        change["why"] = .string(one.why)
        return .object(change)
      })
    return .object(object)
  }
}

extension MutationScore.CaseShare {
  fileprivate var json: JSONValue {
    [
      "caseId": .string(caseId), "noticed": JSONValue(noticed.values.reduce(0, +)),
      "kinds": .object(
        JSONObject(
          RunMutation.Kind.allCases.compactMap { kind in
            noticed[kind].map { (kind.rawValue, JSONValue($0)) }
          })),
    ]
  }
}

extension RunMutation {
  fileprivate var json: JSONObject {
    [
      "kind": .string(kind.rawValue), "seq": JSONValue(seq), "change": .string(words),
      "tools": JSONValue(tools),
    ]
  }
}
