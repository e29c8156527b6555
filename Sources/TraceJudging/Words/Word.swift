public import AgentTrace
public import TraceMatching

/// What judging looks at beyond calls, stop and answer. A reader passes over what is not needed.
public struct Facts: OptionSet, Sendable, Hashable {
  /// One bit for each.
  public let rawValue: Int

  /// Nothing is checked.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Verdicts, approvals, replies, decisions, and the steps and times they stand at.
  public static let timeline = Facts(rawValue: 1)
  /// Tokens and cost of model calls.
  public static let usage = Facts(rawValue: 2)
  /// What went into each model call.
  public static let contexts = Facts(rawValue: 4)
  /// Notes that were read and written.
  public static let memory = Facts(rawValue: 8)
  /// The state of the run, folded from every event.
  public static let state = Facts(rawValue: 16)

  /// The types of events that must be read whole; `nil` for all of them, and empty where what a
  /// trajectory needs is enough.
  public var eventTypes: Set<EventType>? {
    if contains(.state) { return nil }
    if isEmpty { return [] }
    var types = Trajectory.types.union([.approval, .humanReplied])
    if contains(.usage) { types.insert(.modelResult) }
    if contains(.contexts) { types.insert(.contextBuilt) }
    if contains(.memory) { types.formUnion([.memoryRead, .memoryWritten]) }
    return types
  }
}

/// One word of the language beyond the four lists of calls, the stop and the answer.
public enum Word: Sendable, Hashable {
  /// No call is executed but those of `toolsCalled`.
  case noExtraCalls
  /// Each executed call of the tool is like this.
  case eachCall([CallEntry])
  /// What comes before, after, until, within.
  case time([TimeRule])
  /// At most so much of everything.
  case budget(Budget)
  /// No write is done twice; without globs, by the tools that are declared to write.
  case noRepeatedSideEffect([Glob])
  /// No call is made so often without anything new having been learned.
  case noLoops(Int)
  /// At most so many decisions are invalid.
  case maxInvalidDecisions(Int)
  /// At most so many attempts at calls beyond their first.
  case maxRetries(Int)
  /// The answer is JSON, and this is what it says.
  case answerJSON(Matcher)
  /// What the answer rests on.
  case evidence(EvidenceRule)
  /// What the final state holds.
  case state([StateRule])
  /// Which verdicts and approvals there were.
  case policy([CountedMoments])
  /// No call runs that needed an approval and had none.
  case noApprovalBypass
  /// What the model was shown.
  case context([ContextRule])
  /// Which notes were read and written.
  case memory([MemoryRule])
  /// What programs say of the run.
  case exec([ProgramCheck])
  /// What models say of the run.
  case judge([JudgeRule])

  /// What judging it looks at.
  var facts: Facts {
    switch self {
    case .noExtraCalls: []
    case .eachCall(let entries):
      entries.contains { $0.result != nil || $0.input?.usesOrigins == true } ? .timeline : []
    case .time, .noRepeatedSideEffect, .noLoops, .maxInvalidDecisions, .maxRetries, .answerJSON,
      .policy, .noApprovalBypass:
      .timeline
    case .exec, .judge: .timeline
    case .budget: [.timeline, .usage]
    case .evidence(let rule): rule.mustBeObserved ? .state : .timeline
    case .state: .state
    case .context: [.timeline, .contexts]
    case .memory: [.timeline, .memory]
    }
  }
}

extension ExpectationReader {
  /// Reads a word by its key.
  mutating func word(_ name: String, _ value: JSONValue, at pointer: JSONPointer) -> Word? {
    switch name {
    case "extra":
      let word = word(value, at: pointer, ExtraCalls.self, "allow or forbid")
      return word == .forbid ? .noExtraCalls : nil
    case "eachCall":
      guard let entries = list(value, at: pointer, { $0.eachCall($1, at: $2) }) else { return nil }
      return .eachCall(entries)
    case "time": return list(value, at: pointer, { $0.timeRule($1, at: $2) }).map(Word.time)
    case "budget": return budget(value, at: pointer).map(Word.budget)
    case "noRepeatedSideEffect":
      if value.boolValue == true { return .noRepeatedSideEffect([]) }
      if value.boolValue == false || value.objectValue != nil {
        report(pointer, "takes true, or the names of the tools that it speaks of")
        return nil
      }
      return globs(value, at: pointer).map(Word.noRepeatedSideEffect)
    case "noLoops":
      if value.boolValue == true { return .noLoops(3) }
      guard let count = value.intValue, (2...Expectations.timesLimit).contains(count) else {
        report(pointer, "takes true (3 times), or a whole number from 2")
        return nil
      }
      return .noLoops(count)
    case "maxInvalidDecisions": return count(value, at: pointer).map(Word.maxInvalidDecisions)
    case "maxRetries": return count(value, at: pointer).map(Word.maxRetries)
    case "answerJson":
      return matcher(value, at: pointer, allowsOrigins: true).map(Word.answerJSON)
    case "evidence": return evidence(value, at: pointer).map(Word.evidence)
    case "state": return stateRules(value, at: pointer).map(Word.state)
    case "policy": return policy(value, at: pointer).map(Word.policy)
    case "noApprovalBypass":
      guard value.boolValue == true else {
        report(pointer, "takes true")
        return nil
      }
      return .noApprovalBypass
    case "context": return context(value, at: pointer).map(Word.context)
    case "memory": return memory(value, at: pointer).map(Word.memory)
    case "judge": return judgeRules(value, at: pointer).map(Word.judge)
    default: return list(value, at: pointer, { $0.program($1, at: $2) }).map(Word.exec)
    }
  }

  /// A list that is not empty, each element read by itself.
  mutating func list<T>(
    _ value: JSONValue, at pointer: JSONPointer,
    _ read: (inout ExpectationReader, JSONValue, JSONPointer) -> T?
  ) -> [T]? {
    guard let elements = value.arrayValue else {
      report(pointer, "must be a list, not \(value.typeName)")
      return nil
    }
    guard !elements.isEmpty else {
      report(pointer, "an empty list expects nothing")
      return nil
    }
    guard elements.count <= Expectations.entryLimit else {
      report(pointer, "more than \(Expectations.entryLimit) entries")
      return nil
    }
    var found: [T] = []
    for (index, element) in elements.enumerated() {
      if let part = read(&self, element, pointer.appending(String(index))) { found.append(part) }
    }
    return found
  }

  /// One thing, or a list of them that is not empty.
  mutating func oneOrMore<T>(
    _ value: JSONValue, at pointer: JSONPointer,
    _ read: (inout ExpectationReader, JSONValue, JSONPointer) -> T?
  ) -> [T]? {
    if value.arrayValue != nil { return list(value, at: pointer, read) }
    return read(&self, value, pointer).map { [$0] }
  }

  /// A mapping whose keys are among some names.
  mutating func mapping(
    _ value: JSONValue, at pointer: JSONPointer, keys: [String], _ what: String
  ) -> JSONObject? {
    guard let object = value.objectValue else {
      report(pointer, "must be \(what), not \(value.typeName)")
      return nil
    }
    checkKeys(of: object, at: pointer, among: keys)
    return object
  }

  /// A call that each executed call of its tool must be like.
  fileprivate mutating func eachCall(_ value: JSONValue, at pointer: JSONPointer) -> CallEntry? {
    guard let object = value.objectValue else {
      report(pointer, "must be a call with a tool and what each call of it is like")
      return nil
    }
    guard let entry = entry(object, at: pointer, isExecuted: true) else { return nil }
    if entry.times != nil {
      report(pointer.appending("times"), "each call is spoken of, however many there are")
    }
    if entry.input == nil, entry.result == nil, entry.statuses == nil {
      report(
        pointer, "says nothing of the calls of this tool", hint: "add `input`, `status` or `result`"
      )
    }
    return entry
  }

  /// A call entry, a name or a glob.
  mutating func callEntry(
    _ value: JSONValue, at pointer: JSONPointer, isExecuted: Bool
  ) -> CallEntry? {
    switch value {
    case .string(let text): return glob(text, at: pointer).map { CallEntry(tool: $0) }
    case .object(let object):
      let entry = entry(object, at: pointer, isExecuted: isExecuted)
      guard entry?.times == nil else {
        report(pointer.appending("times"), "this speaks of one call")
        return nil
      }
      return entry
    default:
      report(pointer, "must be a tool's name, a glob or a call, not \(value.typeName)")
      return nil
    }
  }

  /// One word of an enumeration.
  mutating func word<T: RawRepresentable & CaseIterable>(
    _ value: JSONValue, at pointer: JSONPointer, _ type: T.Type, _ what: String
  ) -> T? where T.RawValue == String {
    if value.arrayValue != nil {
      report(pointer, "takes one word, not a list")
      return nil
    }
    return words(value, at: pointer, type, what)?.first
  }
}

/// Whether calls beyond the expected ones matter.
private enum ExtraCalls: String, CaseIterable {
  case allow, forbid
}
