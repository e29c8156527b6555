import AgentTrace
import TraceMatching

/// What an expectation stands among, before or after a change: what it means may hang on that.
struct AskedContext {
  /// `any`, `in_order` or `exact`.
  var order = "any"
  /// Whether no call may be executed but those of `toolsCalled`.
  var forbidsOthers = false
  /// The entries of each list.
  var lists: [String: [JSONValue]] = [:]

  init() {}

  init(_ asked: [AskedExpectation]) {
    for one in asked {
      switch one.list {
      case "order": order = one.value?.stringValue ?? "?"
      case "extra": forbidsOthers = one.value != "allow"
      default: lists[one.list, default: []].append(one.value ?? .null)
      }
    }
  }

  /// Whether calls that must be made stand in the same lists, orders and limits.
  func asksSameCalls(as other: AskedContext) -> Bool {
    order == other.order && forbidsOthers == other.forbidsOthers
      && ["toolsCalled", "toolsProposed"].allSatisfy { lists[$0] == other.lists[$0] }
  }

  /// Whether an entry of a list says how often at most.
  static func isBounded(_ entry: JSONValue) -> Bool {
    guard let times = CallAsk(entry)?.times else { return entry.isNull }
    return times.most != nil
  }

  /// Whether no other entry of a list may speak of a call that this one speaks of.
  func isAlone(_ entry: JSONValue, in list: String) -> Bool {
    let entries = lists[list] ?? []
    guard let tool = CallAsk(entry)?.tool else { return false }
    var isSeen = false
    return entries.allSatisfy { other in
      if !isSeen, other == entry {
        isSeen = true
        return true
      }
      return CallAsk(other)?.tool.map { !GlobProof.mayShare($0, tool) } ?? false
    }
  }
}

/// One entry of a list of calls, verdicts, approvals or notes, as it was written.
struct CallAsk {
  /// How often; `nil` for `most` without a maximum.
  struct Times {
    var least: Int
    var most: Int?
  }

  private(set) var conditions: JSONObject
  /// `nil` where the entry says nothing of it.
  private(set) var times: Times?

  /// The name or glob of its tool.
  var tool: String? { conditions["tool"]?.stringValue }

  /// - Parameter name: what a text alone names.
  init?(_ entry: JSONValue, name: String = "tool") {
    if let text = entry.stringValue {
      conditions = [name: .string(text)]
      return
    }
    guard var object = entry.objectValue else { return nil }
    if let value = object["times"] {
      if let count = value.intValue {
        times = Times(least: count, most: count)
      } else if let range = value.objectValue {
        times = Times(least: range["min"]?.intValue ?? 0, most: range["max"]?.intValue)
      } else {
        return nil
      }
    }
    object["times"] = nil
    conditions = object
  }

  /// Whether every call, verdict, approval or note that this one speaks of is one that the other
  /// speaks of.
  func isWithin(_ other: CallAsk) -> Bool {
    let keys = Set((conditions.keys + other.conditions.keys).map(ByteText.init))
    return keys.allSatisfy { isWithin(other, at: $0.text) }
  }

  private func isWithin(_ other: CallAsk, at key: String) -> Bool {
    let (own, its) = (conditions[key], other.conditions[key])
    if own?.byValue == its?.byValue { return true }
    switch key {
    case "caller":
      guard let its else {
        // Without a caller it speaks of all but the simulated user.
        return own?.stringValue.flatMap { try? Glob($0) }?.matches(SimulatedUser.name)
          == false
      }
      return GlobProof.shows(own ?? "*", within: its) && (own != nil || its == "*")
    case "tool", "rule", "by", "key":
      guard let its else { return true }
      return own.map { GlobProof.shows($0, within: its) } ?? false
    case "scope", "verdict", "status", "approval":
      guard let its, its != "any" else { return true }
      guard let own, own != "any" else { return false }
      let known = Set(its.arrayValue ?? [its])
      return (own.arrayValue ?? [own]).allSatisfy(known.contains)
    case "input":
      guard let its else { return true }
      guard let own, conditions["defaults"]?.byValue == other.conditions["defaults"]?.byValue
      else { return false }
      return conditions["ignore"] == other.conditions["ignore"]
        && MatcherProof.shows(own, within: its)
    case "result", "reason", "value":
      guard let its else { return true }
      return own.map { MatcherProof.shows($0, within: its) } ?? false
    case "ignore": return other.conditions["input"] == nil || ignoresLess(than: other)
    case "defaults": return other.conditions["input"] == nil
    default: return false
    }
  }

  /// Whether it looks at more arguments, and asks the same of the others, of which nothing else is said.
  private func ignoresLess(than other: CallAsk) -> Bool {
    guard let input = conditions["input"], input.byValue == other.conditions["input"]?.byValue,
      conditions["defaults"]?.byValue == other.conditions["defaults"]?.byValue
    else { return false }
    func globs(_ ask: CallAsk) -> Set<JSONValue> {
      ask.conditions["ignore"].map { Set($0.arrayValue ?? [$0]) } ?? []
    }
    guard globs(self).isSubset(of: globs(other)) else { return false }
    let seen = (input["$exact"] ?? input).objectValue
    guard let seen, !seen.contains(where: { $0.key.hasPrefix("$") }) else { return false }
    let dropped = globs(other).subtracting(globs(self)).compactMap(\.stringValue)
    return seen.allSatisfy { member in
      !dropped.contains { (try? Glob($0))?.matches(member.key) ?? true }
    }
  }
}

/// Shows that an entry of a list asks for at least what another one asked for.
struct EntryProof {
  let list: String
  let before: AskedContext
  let after: AskedContext

  /// Lists in which an entry may not hold.
  private static let negative: Set = [
    "toolsNotCalled", "toolsNotProposed", "policy.notGiven", "policy.noApprovals", "memory.notRead",
    "memory.notWritten",
  ]

  /// Whether every run in which `new` holds is one in which `old` held.
  func shows(_ new: JSONValue, atLeast old: JSONValue) -> Bool {
    // What that means for all entries together is told of the order, and of what is forbidden.
    if new.byValue == old.byValue { return true }
    let name = list.hasPrefix("memory.") ? "key" : "tool"
    guard let now = CallAsk(new, name: name), let was = CallAsk(old, name: name) else {
      return false
    }
    if Self.negative.contains(list) { return allowsLess(now, was) }
    guard list == "toolsCalled" || list == "toolsProposed" else {
      return counts(now, was, now.times ?? .init(least: 1), was.times ?? .init(least: 1))
    }
    guard before.order == after.order, before.forbidsOthers == after.forbidsOthers else {
      return false
    }
    let isAlone = before.isAlone(old, in: list) && after.isAlone(new, in: list)
    // Whose calls are looked at at all hangs on the callers that are named.
    let hasSameCaller = now.conditions["caller"] == was.conditions["caller"]
    let watchesAll = before.order == "exact" || before.forbidsOthers
    if watchesAll, list == "toolsCalled" || before.order == "exact", !hasSameCaller { return false }
    if before.forbidsOthers, list == "toolsCalled" {
      // Each call has a place: one that has it now had it before.
      guard now.isWithin(was) else { return false }
      guard
        (now.times ?? .init(least: 1, most: 1)).isWithin(
          most: was.times ?? .init(least: 1, most: 1))
      else { return false }
    }
    switch before.order {
    case "exact" where list == "toolsCalled":
      let one = CallAsk.Times(least: 1, most: 1)
      return now.isWithin(was) && (now.times ?? one).isWithin(was.times ?? one)
    case "any":
      return isAtLeastUnordered(now, was, isAlone: isAlone)
    case "in_order", "exact":
      return isAtLeastOrdered(now, was, isAlone: isAlone)
    default: return false
    }
  }

  /// Without an order: one without `times` has a call of its own, one with `times` counts all.
  private func isAtLeastUnordered(_ now: CallAsk, _ was: CallAsk, isAlone: Bool) -> Bool {
    guard let times = was.times else {
      guard now.isWithin(was) else { return false }
      return now.times.map { $0.least >= 1 && isAlone } ?? true
    }
    // A call of its own is one of those that are counted.
    return counts(now, was, now.times ?? .init(least: 1), times)
  }

  /// In an order: each call goes to one entry, and none like a bounded one is left over.
  private func isAtLeastOrdered(_ now: CallAsk, _ was: CallAsk, isAlone: Bool) -> Bool {
    let one = CallAsk.Times(least: 1, most: 1)
    if let times = was.times, times.most != nil {
      guard let own = now.times, now.isWithin(was), was.isWithin(now) else { return false }
      return own.isWithin(times)
    }
    guard now.isWithin(was) else { return false }
    let own = now.times ?? one
    guard own.least >= was.times?.least ?? 1 else { return false }
    // What it took beyond one call may now be left over, and be like a bounded entry.
    let others = (before.lists[list] ?? []).contains(where: AskedContext.isBounded)
    return was.times != nil || own.most == 1 || isAlone || !others
  }

  /// Of entries that count all that they speak of.
  private func counts(
    _ now: CallAsk, _ was: CallAsk, _ own: CallAsk.Times, _ its: CallAsk.Times
  ) -> Bool {
    let hasEnough = its.least == 0 || (own.least >= its.least && now.isWithin(was))
    guard hasEnough else { return false }
    guard let most = its.most else { return true }
    return own.most.map { $0 <= most } ?? false && was.isWithin(now)
  }

  /// Of entries that may not hold: wherever the old one held the new one holds too.
  private func allowsLess(_ now: CallAsk, _ was: CallAsk) -> Bool {
    let any = CallAsk.Times(least: 1)
    return counts(was, now, was.times ?? any, now.times ?? any)
  }
}

extension CallAsk.Times {
  init(least: Int) { self.init(least: least, most: nil) }

  /// Whether each number that it allows the other allows.
  func isWithin(_ other: CallAsk.Times) -> Bool { least >= other.least && isWithin(most: other) }

  /// Whether it allows no more than the other.
  func isWithin(most other: CallAsk.Times) -> Bool {
    guard let limit = other.most else { return true }
    return most.map { $0 <= limit } ?? false
  }
}
