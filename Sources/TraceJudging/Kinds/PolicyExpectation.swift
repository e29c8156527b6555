import AgentTrace

/// Which verdicts and approvals there were.
struct PolicyExpectation: Expectation {
  var lists: [CountedMoments]

  static let key = "policy"
  static let summary = ExpectationSummary(
    takes: "a mapping of lists", holds: "verdicts and approvals were given, or were not")

  static var schema: JSONValue {
    func list(_ text: String, _ properties: [(String, JSONValue)]) -> JSONValue {
      ExpectationSchema.list(
        text, .object(ExpectationSchema.record(properties + [ExpectationSchema.times])))
    }
    let verdict = ExpectationSchema.verdictProperties
    let approval = ExpectationSchema.approvalProperties
    return ExpectationSchema.mapping(
      "What policy and people say of the calls.",
      [
        ("given", list("Verdicts that are given.", verdict)),
        ("notGiven", list("Verdicts that are not given.", verdict)),
        ("approvals", list("Answers of people that there are.", approval)),
        ("noApprovals", list("Answers of people that there are not.", approval)),
      ])
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [[key: ["notGiven": [["verdict": "deny"]]]]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.policy(value, at: pointer).map(Self.init(lists:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { .timeline }
  var undecided: [UndecidedPart] {
    lists.compactMap {
      UndecidedPart.counted($0.name, under: Self.key, $0.times, isForbidden: $0.isForbidden)
    }
  }
  var namedTools: [NamedTool] {
    lists.compactMap { counted in
      counted.moment.call.map { NamedTool(list: counted.name, tool: $0.tool, call: $0) }
    }
  }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.members(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isEntryNarrowed }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { lists.map(run.counted) }

  static func addConformance(to book: inout ConformanceBook) {
    let denied = Run(Call("rm", ["path": "/"], .refused).ruled(.deny, by: "no-rm"))
    book.check(
      "a verdict by its rule",
      ["given": [["verdict": "deny", "tool": "rm", "rule": "no-rm", "times": 1]]], on: denied,
      is: .pass)
    book.check(
      "a verdict on another input", ["given": [["verdict": "deny", "input": ["path": "/tmp"]]]],
      on: denied, is: .fail)
    book.check(
      "a verdict that must not be", ["notGiven": [["verdict": "deny"]]], on: denied, is: .fail)
    let approved = Run(Call("pay", ["amount": 5]).ruled(.approvalRequired, granted: true))
    book.check(
      "asked, and approved by somebody",
      [
        "given": [["verdict": "approval_required"]],
        "approvals": [["approval": "granted", "tool": "pay", "by": "ana"]],
      ], on: approved, is: .pass)
    book.check("approved by somebody else", ["approvals": [["by": "bo"]]], on: approved, is: .fail)
  }
}

/// How often something happens.
public struct CountedMoments: Sendable, Hashable {
  /// The name of the list it stands in, with its place: `given[0]`.
  public var name: String
  /// What happens.
  public var moment: Moment
  /// How often; for something that must not happen, what would be wrong.
  public var times: CallEntry.Times
  /// Whether it must not happen.
  public var isForbidden: Bool
}

extension ExpectationReader {
  /// Lists of verdicts and approvals that there were, or were not.
  mutating func policy(_ value: JSONValue, at pointer: JSONPointer) -> [CountedMoments]? {
    let keys = ["given", "notGiven", "approvals", "noApprovals"]
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping of lists") else {
      return nil
    }
    var found: [CountedMoments] = []
    for key in keys {
      guard let value = object[key] else { continue }
      let isVerdict = key == "given" || key == "notGiven"
      let isForbidden = key == "notGiven" || key == "noApprovals"
      let place = pointer.appending(key)
      let list =
        list(value, at: place) { reader, value, pointer -> (Moment, CallEntry.Times)? in
          reader.counted(value, at: pointer, isVerdict: isVerdict)
        } ?? []
      for (index, (moment, times)) in list.enumerated() {
        found.append(
          CountedMoments(
            name: "policy.\(key)[\(index)]", moment: moment, times: times, isForbidden: isForbidden)
        )
      }
    }
    if object.isEmpty { report(pointer, "nothing is expected of policy") }
    return found.isEmpty ? nil : found
  }

  private mutating func counted(
    _ value: JSONValue, at pointer: JSONPointer, isVerdict: Bool
  ) -> (Moment, CallEntry.Times)? {
    guard let object = value.objectValue else {
      return refuse(pointer, "must be a mapping, not \(value.typeName)")
    }
    let times = object["times"].flatMap { self.times($0, at: pointer.appending("times")) }
    let moment =
      isVerdict
      ? verdict(object, at: pointer, isCounted: true).map(Moment.verdict)
      : approval(object, at: pointer, isCounted: true).map(Moment.approval)
    return moment.map { ($0, times ?? .init(minimum: 1, maximum: nil)) }
  }
}

extension JudgedRun {
  /// How often a verdict or an approval was given.
  fileprivate func counted(_ rule: CountedMoments) -> ExpectationOutcome {
    let found = occurrences(of: [rule.moment], unknownCounts: true)
    return count(
      rule.name, rule.times, rule.isForbidden, found.map { ($0.answer, $0.events) },
      mayBeMore: !hidden([rule.moment]).isEmpty, rule.moment.description,
      whyMore: view.gaps.isEmpty && !view.lacksCalls ? "policy was not recorded" : view.whyHidden)
  }
}
