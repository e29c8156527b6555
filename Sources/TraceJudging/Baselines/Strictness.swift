import AgentTrace
import TraceMatching

/// How what is asked now relates to what was asked when a case was accepted.
///
/// Only what can be shown is said: of an expectation that is called stricter, every run that meets it met the
/// one before.
enum Strictness {
  /// Everything meets the one that meets the other.
  case same
  /// Everything that met what was asked then meets what is asked now, and perhaps more does.
  case looser
  /// The other way round.
  case stricter
  /// Neither could be shown.
  case unknown

  /// What holds for the opposite statement.
  var reversed: Strictness {
    switch self {
    case .looser: .stricter
    case .stricter: .looser
    default: self
    }
  }

  /// By whether each was shown to ask for at least what the other asks for.
  init(isAtLeast: Bool, isAtMost: Bool) {
    switch (isAtLeast, isAtMost) {
    case (true, true): self = .same
    case (true, false): self = .stricter
    case (false, true): self = .looser
    case (false, false): self = .unknown
    }
  }

  /// Of two matchers.
  static func matcher(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    Strictness(
      isAtLeast: MatcherProof.shows(new, within: old),
      isAtMost: MatcherProof.shows(old, within: new))
  }

  /// Of two expectations under one key, standing among others.
  init(
    of old: AskedExpectation, to new: AskedExpectation, before: AskedContext = AskedContext(),
    after: AskedContext = AskedContext()
  ) {
    self.init(
      isAtLeast: Self.shows(new, atLeast: old, before, after),
      isAtMost: Self.shows(old, atLeast: new, after, before))
  }

  /// Whether every run that meets `new` met `old`.
  private static func shows(
    _ new: AskedExpectation, atLeast old: AskedExpectation, _ before: AskedContext,
    _ after: AskedContext
  ) -> Bool {
    guard old.severity == new.severity || new.severity == .error else { return false }
    guard let was = old.value, let now = new.value else {
      return old.list.hasSameUTF8(as: new.list) && old.text.hasSameUTF8(as: new.text)
    }
    switch old.list {
    case "toolsCalled", "toolsProposed", "toolsNotCalled", "toolsNotProposed", "policy.given",
      "policy.approvals", "policy.notGiven", "policy.noApprovals", "memory.read", "memory.written",
      "memory.notRead", "memory.notWritten":
      return EntryProof(list: old.list, before: before, after: after).shows(now, atLeast: was)
    case "order": return isOrder(now, atLeast: was, before, after)
    default: return was.byValue == now.byValue || isValue(now, atLeast: was, old.list, old.key)
    }
  }

  private static func isValue(
    _ now: JSONValue, atLeast was: JSONValue, _ list: String, _ key: String
  ) -> Bool {
    switch list {
    case "stopReason": return isChoice(now, among: was)
    case "extra": return now == "forbid"
    case "answer": return MatcherProof.shows(now, within: was, isText: true)
    case "answerJson": return MatcherProof.shows(now, within: was)
    case "eachCall": return isEachCall(now, atLeast: was)
    case "time": return TimeProof.shows(now, atLeast: was)
    case "context": return isContext(now, atLeast: was)
    case "evidence.min": return isNumber(was, atMost: now)
    case "evidence.cites":
      guard let own = CallAsk(now), let its = CallAsk(was) else { return false }
      return own.isWithin(its)
    default: break
    }
    switch key {
    case "state": return MatcherProof.shows(now, within: was)
    case "maxSteps", "maxToolCalls", "maxInvalidDecisions", "maxRetries", "noLoops":
      return isNumber(now, atMost: was)
    case "budget":
      return now.boolValue.map { $0 || was.boolValue == false } ?? isNumber(now, atMost: was)
    case "noRepeatedSideEffect":
      guard let tools = now.arrayValue, let before = was.arrayValue else { return was == false }
      return before.allSatisfy { tool in tools.contains { GlobProof.shows(tool, within: $0) } }
    case "noApprovalBypass", "evidence": return now == true || was == false
    default: return false
    }
  }

  private static func isNumber(_ value: JSONValue, atMost limit: JSONValue) -> Bool {
    (try? Matcher(compiling: ["$lte": limit]))?.matches(value) == true
  }

  /// Of a choice of words, one or a list.
  private static func isChoice(_ now: JSONValue, among was: JSONValue) -> Bool {
    let known = Set(was.arrayValue ?? [was])
    return (now.arrayValue ?? [now]).allSatisfy(known.contains)
  }

  private static func isOrder(
    _ now: JSONValue, atLeast was: JSONValue, _ before: AskedContext, _ after: AskedContext
  ) -> Bool {
    if now == was { return true }
    switch (now.stringValue, was.stringValue) {
    case ("exact"?, "in_order"?): return true
    case ("exact"?, "any"?), ("in_order"?, "any"?):
      // Without an order each entry counts all that it speaks of; in one, another entry may take them.
      return ["toolsCalled", "toolsProposed"].allSatisfy { list in
        (before.lists[list] ?? []).allSatisfy {
          !AskedContext.isBounded($0) || before.isAlone($0, in: list)
        }
      }
    default: return false
    }
  }

  /// Of what each call of a tool must be: more calls spoken of, and less that they may be.
  private static func isEachCall(_ now: JSONValue, atLeast was: JSONValue) -> Bool {
    guard var own = now.objectValue, var its = was.objectValue, let tool = own["tool"],
      let oldTool = its["tool"], GlobProof.shows(oldTool, within: tool),
      own["caller"] == its["caller"]
    else { return false }
    (own["tool"], its["tool"]) = ("*", "*")
    guard let now = CallAsk(.object(own)), let was = CallAsk(.object(its)) else { return false }
    return now.isWithin(was)
  }

  /// Of what goes into contexts: the same steps, the same words and perhaps more.
  private static func isContext(_ now: JSONValue, atLeast was: JSONValue) -> Bool {
    guard let own = now.objectValue, let its = was.objectValue,
      own["steps"]?.byValue == its["steps"]?.byValue
    else { return false }
    return its.allSatisfy { member in
      guard let value = own[member.key] else { return false }
      if member.key == "maxTokens" { return isNumber(value, atMost: member.value) }
      let known = Set((value.arrayValue ?? [value]).map(\.byValue))
      return (member.value.arrayValue ?? [member.value]).allSatisfy { known.contains($0.byValue) }
    }
  }
}

/// A text whose bytes count, not its look.
struct ByteText: Hashable, Sendable {
  var text: String

  init(_ text: String) { self.text = text }

  static func == (left: ByteText, right: ByteText) -> Bool { left.text.hasSameUTF8(as: right.text) }
  func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
