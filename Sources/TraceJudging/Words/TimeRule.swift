import AgentTrace

/// What must, or must not, happen before, after or until something else.
public struct TimeRule: Sendable, Hashable {
  /// What is said of the moments.
  public enum Claim: String, Sendable, Hashable, CaseIterable {
    /// One of them happens, at some time.
    case eventually
    /// None of them happens.
    case never
    /// Of their sort, none but them happens.
    case only
    /// Where the other happens, one of them does too.
    case expect
  }

  /// How the moments stand to the others.
  public enum Relation: String, Sendable, Hashable, CaseIterable {
    case before, after, until
  }

  /// What is said.
  public var claim: Claim
  /// Of what: any of these.
  public var moments: [Moment]
  /// How they stand to ``others``; `nil` for the whole run.
  public var relation: Relation?
  /// To what: any of these. Empty exactly where there is no relation.
  public var others: [Moment]
  /// In at most so many steps.
  public var within: Int?

  /// Nothing is checked; see Docs/expectations.md for the forms that mean something.
  public init(
    _ claim: Claim, _ moments: [Moment], _ relation: Relation? = nil, _ others: [Moment] = [],
    within: Int? = nil
  ) {
    self.claim = claim
    self.moments = moments
    self.relation = relation
    self.others = others
    self.within = within
  }

  static let keyNames =
    Claim.allCases.map(\.rawValue) + Relation.allCases.map(\.rawValue) + ["within"]
}

extension TimeRule: CustomStringConvertible {
  /// The rule in words.
  public var description: String {
    func list(_ moments: [Moment]) -> String {
      moments.map(\.description).joined(separator: " or ")
    }
    var text =
      switch claim {
      case .eventually: "at some time \(list(moments))"
      case .never: "never \(list(moments))"
      case .only: "only \(list(moments))"
      case .expect: "\(list(moments))"
      }
    if let relation { text += " \(relation.rawValue) \(list(others))" }
    if let within { text += " within \(within) step\(within == 1 ? "" : "s")" }
    return text
  }
}

extension ExpectationReader {
  /// One rule about time.
  mutating func timeRule(_ value: JSONValue, at pointer: JSONPointer) -> TimeRule? {
    let what = "a mapping with one of eventually, never, only, expect"
    guard let object = mapping(value, at: pointer, keys: TimeRule.keyNames, what) else {
      return nil
    }
    let claims = TimeRule.Claim.allCases.filter { object[$0.rawValue] != nil }
    guard let claim = claims.first, claims.count == 1, let operand = object[claim.rawValue] else {
      report(pointer, claims.isEmpty ? "must be \(what)" : "says two things at once")
      return nil
    }
    let relations = TimeRule.Relation.allCases.filter { object[$0.rawValue] != nil }
    guard relations.count <= 1 else {
      report(pointer, "takes one of before, after, until")
      return nil
    }
    let moments = oneOrMore(operand, at: pointer.appending(claim.rawValue)) {
      $0.moment($1, at: $2)
    }
    var others: [Moment]? = []
    if let relation = relations.first, let value = object[relation.rawValue] {
      others = oneOrMore(value, at: pointer.appending(relation.rawValue)) { $0.moment($1, at: $2) }
    }
    let within = object["within"].flatMap { count($0, at: pointer.appending("within")) }
    guard let moments, let others else { return nil }
    let rule = TimeRule(claim, moments, relations.first, others, within: within)
    if let fault = rule.fault {
      report(pointer, fault)
      return nil
    }
    return rule
  }
}

extension TimeRule {
  /// Why the rule says nothing; `nil` where it does.
  fileprivate var fault: String? {
    switch (claim, relation) {
    case (.eventually, .some): "“eventually” stands alone or with “within”; see “expect”"
    case (.expect, nil): "“expect” needs “before” or “after”; see “eventually”"
    case (.expect, .until): "“until” goes with “never” or “only”"
    case (.never, nil) where within != nil, (.only, nil) where within != nil:
      "“within” needs “after” here"
    case (.never, .before), (.never, .until), (.only, .before), (.only, .until):
      within != nil ? "“within” goes with “after”, “expect” and “eventually”" : nil
    default: nil
    }
  }
}
