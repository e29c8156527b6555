import AgentTrace

/// Shows of two rules on time that one holds only where the other does.
enum TimeProof {
  private static let claims = ["eventually", "never", "only", "expect"]
  private static let relations = ["before", "after", "until"]

  static func shows(_ new: JSONValue, atLeast old: JSONValue) -> Bool {
    if new.byValue == old.byValue { return true }
    guard let now = new.objectValue, let was = old.objectValue,
      let claim = claims.first(where: { now[$0] != nil && was[$0] != nil }),
      let moments = now[claim], let oldMoments = was[claim]
    else { return false }
    let relation = relations.first { now[$0] != nil }
    guard relation == relations.first(where: { was[$0] != nil }) else { return false }
    let (others, oldOthers) = (relation.flatMap { now[$0] }, relation.flatMap { was[$0] })
    func narrower(_ a: JSONValue?, _ b: JSONValue?) -> Bool {
      guard let a, let b else { return a == nil && b == nil }
      return areWithin(a, b)
    }
    func isSooner(ifSmaller: Bool) -> Bool {
      switch (now["within"]?.intValue, was["within"]?.intValue) {
      case (nil, nil): true
      case (_?, nil): ifSmaller
      case (nil, _?): !ifSmaller
      case (let a?, let b?): ifSmaller ? a <= b : a >= b
      }
    }
    switch claim {
    case "eventually": return narrower(moments, oldMoments) && isSooner(ifSmaller: true)
    case "expect":
      // One of fewer moments, for each of more others.
      return narrower(moments, oldMoments) && narrower(oldOthers, others)
        && isSooner(ifSmaller: true)
    case "never", "only":
      let covers =
        claim == "never"
        ? narrower(oldMoments, moments)
        : narrower(moments, oldMoments) && sorts(moments) == sorts(oldMoments)
      let isWider =
        relation == "after" ? narrower(oldOthers, others) : narrower(others, oldOthers)
      return covers && isWider && isSooner(ifSmaller: false)
    default: return false
    }
  }

  /// Whether each moment that is one of `a` is one of `b`.
  private static func areWithin(_ a: JSONValue, _ b: JSONValue) -> Bool {
    let wide = b.arrayValue ?? [b]
    return (a.arrayValue ?? [a]).allSatisfy { one in wide.contains { isWithin(one, $0) } }
  }

  private static func isWithin(_ a: JSONValue, _ b: JSONValue) -> Bool {
    if a.byValue == b.byValue { return true }
    let sort = self.sort(of: a)
    guard sort == self.sort(of: b) else { return false }
    switch sort {
    case "called", "proposed", "returned":
      guard let own = CallAsk(call(of: a, sort)), let its = CallAsk(call(of: b, sort)) else {
        return false
      }
      return own.isWithin(its)
    case "verdict", "approval":
      guard let own = CallAsk(a), let its = CallAsk(b) else { return false }
      return own.isWithin(its)
    case "answer":
      return MatcherProof.shows(a["answer"] ?? .null, within: b["answer"] ?? .null)
    case "reply":
      guard MatcherProof.shows(a["reply"] ?? .null, within: b["reply"] ?? .null) else {
        return false
      }
      guard let by = b["by"] else { return true }
      return a["by"].map { GlobProof.shows($0, within: by) } ?? false
    case "stop":
      guard let its = b["stop"], its != true else { return true }
      guard let own = a["stop"], own != true else { return false }
      let known = Set(its.arrayValue ?? [its])
      return (own.arrayValue ?? [own]).allSatisfy(known.contains)
    default: return false
    }
  }

  private static func sort(of moment: JSONValue) -> String {
    let keys = [
      "called", "proposed", "returned", "verdict", "approval", "reply", "answer", "stop",
      "invalidDecision",
    ]
    guard let object = moment.objectValue else { return "called" }
    return keys.first { object[$0] != nil } ?? "called"
  }

  private static func sorts(_ moments: JSONValue) -> Set<String> {
    Set((moments.arrayValue ?? [moments]).map(sort))
  }

  /// The call that a moment speaks of; the call itself may stand for the moment.
  private static func call(of moment: JSONValue, _ sort: String) -> JSONValue {
    moment.objectValue?[sort] ?? moment
  }
}
