public import AgentTrace
public import TraceMatching

/// What an answer rests on.
public struct EvidenceRule: Sendable, Hashable {
  /// Whether each observation that the answer cites was really made before it.
  public var mustBeObserved: Bool
  /// At least so many are cited; `nil` for any number.
  public var minimum: Int?
  /// For each, the result of such a call is cited.
  public var cites: [CallEntry]
}

/// What stands at a place of the final state.
public struct StateRule: Sendable, Hashable {
  /// From the state to the value.
  public var pointer: JSONPointer
  /// What the value is.
  public var matcher: Matcher
}

/// What the model is shown, in each context or in some.
public struct ContextRule: Sendable, Hashable {
  /// Which steps it speaks of; `nil` for all.
  public var steps: ClosedRange<Int>?
  /// For each, some context offers a tool that it matches.
  public var offers: [Glob]
  /// No context offers a tool that one of these matches.
  public var neverOffers: [Glob]
  /// For each, some prompt holds a text that it matches.
  public var contains: [Matcher]
  /// No prompt holds a text that one of these matches.
  public var neverContains: [Matcher]
  /// For each, some context holds the result of such a call as evidence.
  public var evidence: [CallEntry]
  /// Every context is estimated at no more tokens.
  public var maximumTokens: Int?
  /// For each, some context leaves such a thing out.
  public var omits: [OmittedItem]
  /// No context leaves such a thing out.
  public var neverOmits: [OmittedItem]

  static let keyNames = [
    "steps", "offers", "neverOffers", "contains", "neverContains", "evidence", "maxTokens",
    "omits", "neverOmits",
  ]
}

/// Something that a context leaves out.
public struct OmittedItem: Sendable, Hashable {
  /// What: its reference, or a glob.
  public var ref: Glob
  /// Why; `nil` for any reason.
  public var reason: Matcher?
}

/// A note that is read or written, or is not.
public struct MemoryRule: Sendable, Hashable {
  /// The list it stands in, with its place: `memory.read[0]`.
  public var name: String
  /// Whether it speaks of notes that are written.
  public var isWritten: Bool
  /// Whether there must be none.
  public var isForbidden: Bool
  /// Whose note; `nil` for anybody's.
  public var scope: Glob?
  /// Its key; `nil` for any.
  public var key: Glob?
  /// What it says; `nil` for anything.
  public var value: Matcher?
  /// How often.
  public var times: CallEntry.Times
}

/// A program that judges a run.
public struct ProgramCheck: Sendable, Hashable {
  /// The program and its arguments; paths start from the case file's folder.
  public var command: [String]
  /// After so many seconds it is stopped.
  public var timeoutSeconds: Double
  /// More than so many bytes of output are refused.
  public var outputLimitBytes: Int
  /// The folder it is started in; `nil` where the file that names it is not known.
  public var folder: String?

  /// Nothing is checked.
  public init(
    command: [String], timeoutSeconds: Double = 10, outputLimitBytes: Int = 1 << 20,
    folder: String? = nil
  ) {
    self.command = command
    self.timeoutSeconds = timeoutSeconds
    self.outputLimitBytes = outputLimitBytes
    self.folder = folder
  }
}

extension ExpectationReader {
  mutating func evidence(_ value: JSONValue, at pointer: JSONPointer) -> EvidenceRule? {
    let keys = ["observed", "min", "cites"]
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping") else { return nil }
    var rule = EvidenceRule(mustBeObserved: false, cites: [])
    if let value = object["observed"] {
      if value.boolValue != true { report(pointer.appending("observed"), "takes true") }
      rule.mustBeObserved = true
    }
    rule.minimum = object["min"].flatMap { count($0, at: pointer.appending("min")) }
    if let value = object["cites"] {
      rule.cites =
        list(value, at: pointer.appending("cites")) {
          $0.callEntry($1, at: $2, isExecuted: false)
        } ?? []
    }
    if object.isEmpty { report(pointer, "nothing is expected of the evidence") }
    return rule
  }

  mutating func stateRules(_ value: JSONValue, at pointer: JSONPointer) -> [StateRule]? {
    guard let object = value.objectValue, !object.isEmpty else {
      report(
        pointer, "must be a mapping from places in the final state to what stands there",
        hint: "write /totals/steps: {$lte: 4}")
      return nil
    }
    var rules: [StateRule] = []
    for member in object {
      let place = pointer.appending(member.key)
      guard let path = JSONPointer(member.key) else {
        report(place, isKey: true, "a place begins with a slash: /totals/steps")
        continue
      }
      if let matcher = matcher(member.value, at: place) {
        rules.append(StateRule(pointer: path, matcher: matcher))
      }
    }
    return rules
  }

  mutating func context(_ value: JSONValue, at pointer: JSONPointer) -> [ContextRule]? {
    oneOrMore(value, at: pointer) { $0.contextRule($1, at: $2) }
  }

  private mutating func contextRule(
    _ value: JSONValue, at pointer: JSONPointer
  ) -> ContextRule? {
    guard
      let object = mapping(value, at: pointer, keys: ContextRule.keyNames, "a mapping")
    else { return nil }
    if !object.keys.contains(where: { $0 != "steps" }) {
      report(pointer, "nothing is expected of the context")
    }
    func part(_ key: String) -> (JSONValue, JSONPointer)? {
      object[key].map { ($0, pointer.appending(key)) }
    }
    var rule = ContextRule(
      steps: nil, offers: [], neverOffers: [], contains: [], neverContains: [], evidence: [],
      omits: [], neverOmits: [])
    if let (steps, place) = part("steps"), let times = times(steps, at: place) {
      rule.steps = times.minimum...(times.maximum ?? .max)
    }
    if let (list, place) = part("offers") { rule.offers = globs(list, at: place) ?? [] }
    if let (list, place) = part("neverOffers") { rule.neverOffers = globs(list, at: place) ?? [] }
    if let (list, place) = part("contains") { rule.contains = texts(list, at: place) }
    if let (list, place) = part("neverContains") { rule.neverContains = texts(list, at: place) }
    if let (list, place) = part("evidence") {
      rule.evidence =
        self.list(list, at: place) { $0.callEntry($1, at: $2, isExecuted: false) } ?? []
    }
    if let (tokens, place) = part("maxTokens") { rule.maximumTokens = count(tokens, at: place) }
    if let (list, place) = part("omits") { rule.omits = omitted(list, at: place) }
    if let (list, place) = part("neverOmits") { rule.neverOmits = omitted(list, at: place) }
    return rule
  }

  /// Texts that a prompt holds: a plain text is a part of one.
  private mutating func texts(_ value: JSONValue, at pointer: JSONPointer) -> [Matcher] {
    oneOrMore(value, at: pointer) { reader, value, place in
      reader.matcher(value.stringValue == nil ? value : ["$contains": value], at: place)
    } ?? []
  }

  private mutating func omitted(_ value: JSONValue, at pointer: JSONPointer) -> [OmittedItem] {
    oneOrMore(value, at: pointer) { reader, value, place in
      if let text = value.stringValue {
        return reader.glob(text, at: place).map { OmittedItem(ref: $0, reason: nil) }
      }
      let keys = ["ref", "reason"]
      guard let object = reader.mapping(value, at: place, keys: keys, "a reference or a mapping")
      else { return nil }
      if object.isEmpty { reader.report(place, "says nothing") }
      let reason = object["reason"].flatMap {
        reader.matcher($0, at: place.appending("reason"))
      }
      return reader.name(object["ref"] ?? "*", at: place.appending("ref")).map {
        OmittedItem(ref: $0, reason: reason)
      }
    } ?? []
  }

  mutating func memory(_ value: JSONValue, at pointer: JSONPointer) -> [MemoryRule]? {
    let keys = ["read", "notRead", "written", "notWritten"]
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping of lists") else {
      return nil
    }
    var rules: [MemoryRule] = []
    for key in keys {
      guard let value = object[key] else { continue }
      let notes = list(value, at: pointer.appending(key)) { $0.note($1, at: $2) } ?? []
      for (index, var rule) in notes.enumerated() {
        rule.name = "memory.\(key)[\(index)]"
        rule.isWritten = key == "written" || key == "notWritten"
        rule.isForbidden = key == "notRead" || key == "notWritten"
        rules.append(rule)
      }
    }
    if object.isEmpty { report(pointer, "nothing is expected of memory") }
    return rules.isEmpty ? nil : rules
  }

  private mutating func note(_ value: JSONValue, at pointer: JSONPointer) -> MemoryRule? {
    var rule = MemoryRule(
      name: "", isWritten: false, isForbidden: false,
      times: .init(minimum: 1, maximum: nil))
    if let text = value.stringValue {
      guard let key = glob(text, at: pointer) else { return nil }
      rule.key = key
      return rule
    }
    let keys = ["scope", "key", "value", "times"]
    guard let object = mapping(value, at: pointer, keys: keys, "a key of a note or a mapping")
    else { return nil }
    if object.isEmpty { report(pointer, "says nothing") }
    rule.scope = object["scope"].flatMap { name($0, at: pointer.appending("scope")) }
    rule.key = object["key"].flatMap { name($0, at: pointer.appending("key")) }
    rule.value = object["value"].flatMap { matcher($0, at: pointer.appending("value")) }
    if let times = object["times"].flatMap({ self.times($0, at: pointer.appending("times")) }) {
      rule.times = times
    }
    return rule
  }

  mutating func program(_ value: JSONValue, at pointer: JSONPointer) -> ProgramCheck? {
    let keys = ["command", "timeoutSeconds", "maxOutputBytes"]
    guard
      let object = mapping(value, at: pointer, keys: keys, "a mapping with a command")
    else { return nil }
    guard let command = object["command"]?.arrayValue,
      !command.isEmpty, command.allSatisfy({ $0.stringValue?.utf8.contains(0) == false }),
      command[0].stringValue != ""
    else {
      report(pointer, "needs `command`: a list of texts, the program first")
      return nil
    }
    var program = ProgramCheck(command: command.compactMap(\.stringValue))
    if let value = object["timeoutSeconds"] {
      if let seconds = value.doubleValue, seconds > 0, seconds <= 3600 {
        program.timeoutSeconds = seconds
      } else {
        report(
          pointer.appending("timeoutSeconds"), "must be a number of seconds, at most 3600")
      }
    }
    if let value = object["maxOutputBytes"] {
      if let bytes = value.intValue, (1...(16 << 20)).contains(bytes) {
        program.outputLimitBytes = bytes
      } else {
        report(pointer.appending("maxOutputBytes"), "must be a whole number from 1 to 16777216")
      }
    }
    return program
  }
}
