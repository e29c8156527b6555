public import AgentTrace
public import TraceMatching

/// A kind of thing that happens in a run, at one place in its log.
public enum Moment: Sendable, Hashable {
  /// A call begins to run.
  case called(CallEntry)
  /// A decision proposes a call.
  case proposed(CallEntry)
  /// A call's result comes in.
  case returned(CallEntry)
  /// Policy gives its word on a call.
  case verdict(VerdictMoment)
  /// A person answers a request for approval.
  case approval(ApprovalMoment)
  /// A person says something.
  case reply(text: Matcher, by: Glob?)
  /// The agent gives an answer.
  case answer(Matcher)
  /// The run ends or pauses.
  case stop([StopReason])
  /// A decision could not be used.
  case invalidDecision

  /// The sorts of moments that are told apart.
  enum Sort: Hashable {
    case called, proposed, returned, verdict, approval, reply, answer, stop, invalidDecision
  }

  var sort: Sort {
    switch self {
    case .called: .called
    case .proposed: .proposed
    case .returned: .returned
    case .verdict: .verdict
    case .approval: .approval
    case .reply: .reply
    case .answer: .answer
    case .stop: .stop
    case .invalidDecision: .invalidDecision
    }
  }

  /// Whether each moment of its sort is such a one, whatever happens.
  var isAny: Bool {
    switch self {
    case .called(let entry), .proposed(let entry), .returned(let entry):
      entry.tool.text == "*" && entry.input == nil && entry.statuses == nil && entry.result == nil
        && entry.caller == nil
    case .stop(let reasons): StopReason.allCases.allSatisfy(reasons.contains)
    case .invalidDecision: true
    case .verdict, .approval, .reply, .answer: false
    }
  }

  /// The keys of which one says what a moment is; a mapping without any is a call.
  static let keyNames = [
    "called", "proposed", "returned", "verdict", "approval", "reply", "answer", "stop",
    "invalidDecision",
  ]
}

/// A word of policy on a call.
public struct VerdictMoment: Sendable, Hashable {
  /// The word is one of these.
  public var statuses: [VerdictStatus]
  /// The tool and the input of the call; `nil` for any.
  public var call: CallEntry?
  /// The rule that gave it; `nil` for any, or none.
  public var rule: Glob?
  /// Why, in words; `nil` for anything.
  public var reason: Matcher?

  static let keyNames = ["verdict", "tool", "input", "caller", "rule", "reason"]
}

/// A person's answer to a request for approval.
public struct ApprovalMoment: Sendable, Hashable {
  /// Whether it was granted; `nil` for either.
  public var isGranted: Bool?
  /// The tool and the input of the call; `nil` for any.
  public var call: CallEntry?
  /// Who answered; `nil` for anybody.
  public var by: Glob?

  static let keyNames = ["approval", "tool", "input", "caller", "by"]
}

extension Moment: CustomStringConvertible {
  /// In words, a few hundred bytes at most.
  public var description: String {
    switch self {
    case .called(let entry): "\(entry) is called"
    case .proposed(let entry): "\(entry) is proposed"
    case .returned(let entry): "\(entry) returns"
    case .verdict(let verdict): verdict.description
    case .approval(let approval): approval.description
    case .reply(let text, let by):
      "\(by.map(\.text) ?? "a person") replies \(CallWording.short(text.description))"
    case .answer(let matcher): "the answer is \(CallWording.short(matcher.description))"
    case .stop(let reasons):
      "the run stops as \(reasons.map(\.rawValue).joined(separator: " or "))"
    case .invalidDecision: "a decision is invalid"
    }
  }
}

extension VerdictMoment: CustomStringConvertible {
  public var description: String {
    var text = "policy says \(statuses.map(\.rawValue).joined(separator: " or "))"
    if let call { text += " to \(call)" }
    if let rule { text += " by rule \(rule.text)" }
    if let reason { text += " because \(CallWording.short(reason.description))" }
    return text
  }
}

extension ApprovalMoment: CustomStringConvertible {
  public var description: String {
    let verb = isGranted.map { $0 ? "is approved" : "is not approved" } ?? "is answered"
    return "\(call.map(\.description) ?? "a call") \(verb)" + (by.map { " by \($0.text)" } ?? "")
  }
}

extension ExpectationReader {
  /// A moment: a tool's name or glob, a call, or a mapping that says which sort it is of.
  mutating func moment(_ value: JSONValue, at pointer: JSONPointer) -> Moment? {
    guard let object = value.objectValue else {
      return callEntry(value, at: pointer, isExecuted: true).map(Moment.called)
    }
    let keys = Moment.keyNames.filter { object[$0] != nil }
    guard let key = keys.first, let operand = object[key] else {
      return checkedCall(object, at: pointer)
    }
    return moment(key, operand, object, at: pointer)
  }

  /// A call, or what is probably a slip in the word for another moment.
  private mutating func checkedCall(_ object: JSONObject, at pointer: JSONPointer) -> Moment? {
    if object["tool"] == nil, let odd = object.keys.first {
      let nearest = Spelling.nearest(to: odd, among: Moment.keyNames + CallEntry.keyNames)
      return refuse(
        pointer, "says neither a call nor another moment",
        hint: nearest.map { "did you mean “\($0)”?" }
          ?? "write a tool's name, a call, or one of \(Moment.keyNames.joined(separator: ", "))")
    }
    return callEntry(.object(object), at: pointer, isExecuted: true).map(Moment.called)
  }

  private mutating func moment(
    _ key: String, _ operand: JSONValue, _ object: JSONObject, at pointer: JSONPointer
  ) -> Moment? {
    let place = pointer.appending(key)
    switch key {
    case "called", "proposed", "returned":
      checkKeys(of: object, at: pointer, among: [key])
      guard let entry = callEntry(operand, at: place, isExecuted: key == "called") else {
        return nil
      }
      return key == "called"
        ? .called(entry)
        : key == "proposed"
          ? .proposed(entry)
          : .returned(entry)
    case "verdict": return verdict(object, at: pointer, isCounted: false).map(Moment.verdict)
    case "approval": return approval(object, at: pointer, isCounted: false).map(Moment.approval)
    case "reply":
      checkKeys(of: object, at: pointer, among: ["reply", "by"])
      let by = object["by"].flatMap { name($0, at: pointer.appending("by")) }
      return textMatcher(operand, at: place).map { .reply(text: $0, by: by) }
    case "answer":
      checkKeys(of: object, at: pointer, among: [key])
      return textMatcher(operand, at: place).map(Moment.answer)
    case "stop":
      checkKeys(of: object, at: pointer, among: [key])
      if operand.boolValue == true { return .stop(StopReason.allCases) }
      return words(operand, at: place, StopReason.self, "a stop reason").map(Moment.stop)
    default:
      checkKeys(of: object, at: pointer, among: [key])
      guard operand.boolValue == true else { return refuse(place, "takes true") }
      return .invalidDecision
    }
  }

  /// A name or a glob.
  mutating func name(_ value: JSONValue, at pointer: JSONPointer) -> Glob? {
    guard let text = value.stringValue else {
      return refuse(pointer, "must be a name or a glob, not \(value.typeName)")
    }
    return glob(text, at: pointer)
  }

  /// A verdict: its word, the call, the rule.
  mutating func verdict(
    _ object: JSONObject, at pointer: JSONPointer, isCounted: Bool
  ) -> VerdictMoment? {
    checkKeys(
      of: object, at: pointer, among: VerdictMoment.keyNames + (isCounted ? ["times"] : []))
    let statuses = object["verdict"].map {
      words($0, at: pointer.appending("verdict"), VerdictStatus.self, "a verdict")
    }
    let call = callPart(object, at: pointer)
    let rule = object["rule"].flatMap { name($0, at: pointer.appending("rule")) }
    let reason = object["reason"].flatMap { textMatcher($0, at: pointer.appending("reason")) }
    if case .some(nil) = statuses { return nil }
    return VerdictMoment(
      statuses: (statuses ?? nil) ?? VerdictStatus.allCases, call: call, rule: rule, reason: reason)
  }

  /// A person's answer: granted or denied, the call, by whom.
  mutating func approval(
    _ object: JSONObject, at pointer: JSONPointer, isCounted: Bool
  ) -> ApprovalMoment? {
    checkKeys(
      of: object, at: pointer, among: ApprovalMoment.keyNames + (isCounted ? ["times"] : []))
    var approval = ApprovalMoment(call: callPart(object, at: pointer))
    approval.by = object["by"].flatMap { name($0, at: pointer.appending("by")) }
    if let value = object["approval"] {
      let place = pointer.appending("approval")
      guard let word = word(value, at: place, ApprovalWord.self, "granted, denied or any")
      else { return nil }
      approval.isGranted = word == .any ? nil : word == .granted
    }
    return approval
  }

  /// `tool`, `input` and `caller` of a mapping that speaks of a call; `nil` where none is there.
  private mutating func callPart(_ object: JSONObject, at pointer: JSONPointer) -> CallEntry? {
    let keys = ["tool", "input", "caller"]
    let part = JSONObject(keys.compactMap { key in object[key].map { (key, $0) } })
    guard !part.isEmpty else { return nil }
    var call = part
    if call["tool"] == nil { call["tool"] = "*" }
    return entry(call, at: pointer, isExecuted: false)
  }
}

private enum ApprovalWord: String, CaseIterable {
  case granted, denied, any
}

extension Moment {
  /// The call that it speaks of.
  var call: CallEntry? {
    switch self {
    case .called(let call), .proposed(let call), .returned(let call): call
    case .verdict(let verdict): verdict.call
    case .approval(let approval): approval.call
    case .reply, .answer, .stop, .invalidDecision: nil
    }
  }

  /// Whether something may be such a moment now and none later.
  var hasPassingStatus: Bool {
    switch self {
    case .called(let entry), .returned(let entry): entry.hasPassingStatus
    // What becomes of a proposal is known only later.
    case .proposed(let entry): entry.statuses != nil || entry.result != nil
    default: false
    }
  }
}

extension ExpectationSchema {
  /// What the schemas say of a moment: a name, a glob, a call, or a mapping that says which sort it is of.
  static var moment: JSONObject {
    func branch(_ key: String, _ schema: JSONObject, _ otherwise: JSONValue) -> JSONValue {
      [
        "if": ["type": "object", "required": [.string(key)]], "then": .object(schema),
        "else": otherwise,
      ]
    }
    let stop = StopReason.names
    var schema: JSONValue = ["anyOf": [glob, ref("executedMoment")]]
    schema = branch(
      "invalidDecision",
      record([
        (
          "invalidDecision",
          ["description": "A decision that could not be used.", "const": true]
        )
      ]), schema)
    schema = branch(
      "stop",
      record([
        (
          "stop",
          [
            "description": "The end or a pause, for one of these reasons; true is any.",
            "anyOf": [
              ["const": true], ["type": "string", "enum": JSONValue(stop)],
              [
                "type": "array", "minItems": 1,
                "items": ["type": "string", "enum": JSONValue(stop)],
              ],
            ],
          ]
        )
      ]), schema)
    schema = branch(
      "answer", record([("answer", described("What the answer is.", "textMatcher"))]), schema)
    schema = branch(
      "reply",
      record([
        ("reply", described("What a person says.", "textMatcher")),
        ("by", name("Who says it, or a glob.")),
      ]), schema)
    schema = branch("approval", record(approvalProperties), schema)
    schema = branch("verdict", record(verdictProperties), schema)
    for (key, text) in [
      ("returned", "A call whose result comes in."), ("proposed", "A call that is proposed."),
    ] {
      schema = branch(key, record([(key, call(text, isExecuted: false))]), schema)
    }
    schema = branch(
      "called", record([("called", call("A call that begins to run.", isExecuted: true))]), schema)
    return schema.objectValue ?? [:]
  }
}
