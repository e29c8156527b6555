extension EventType {
  /// A person granted or denied a call.
  public static let approval = EventType(rawValue: "approval")
}

/// What a person's yes covers.
public enum ApprovalScope: Sendable, Hashable {
  /// The call that it was given to, and the next calls of equal tool and input: so many in all, at least 1.
  case calls(Int)
  /// Each call of that tool with that input, for the rest of the run.
  case input

  /// The call that it was given to, and no other.
  public static let once = ApprovalScope.calls(1)
}

extension ApprovalScope {
  /// The wire form: `{"calls": n}`, or `"input"`.
  public var encoded: JSONValue {
    switch self {
    case .calls(let count): ["calls": JSONValue(count)]
    case .input: "input"
    }
  }

  /// Reads the wire form; `nil` for what is none.
  public init?(_ value: JSONValue) {
    if value == "input" {
      self = .input
    } else if let count = value["calls"]?.intValue, count > 0 {
      self = .calls(count)
    } else {
      return nil
    }
  }
}

/// The data of an `approval` event: a person granted or denied one action.
public struct Approval: Sendable, Hashable {
  /// The call that waited; see ``ProposedCall/callId``.
  public var callId: String
  /// What was shown to the person, as a digest; see ``ProposedCall/actionId``.
  public var actionId: String
  /// Whether the call may run.
  public var granted: Bool
  /// Who said it.
  public var by: String
  /// Why, in the person's words; `nil` where none were given.
  public var reason: String?
  /// What it covers; `nil` in logs of before there was such a word: that tool and input, for the run.
  public var scope: ApprovalScope?
  /// When it runs out, in UTC as the events have their times; `nil` for never.
  public var until: String?
  /// The number of the `model_result` that it was read from, where a model played the person.
  public var modelResult: Int?

  /// Without more, it covers this one call and does not run out.
  public init(
    callId: String, actionId: String, granted: Bool, by: String, reason: String? = nil,
    scope: ApprovalScope? = .once, until: String? = nil, modelResult: Int? = nil
  ) {
    self.callId = callId
    self.actionId = actionId
    self.granted = granted
    self.by = by
    self.reason = reason
    self.scope = scope
    self.until = until
    self.modelResult = modelResult
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    callId = try reader.string("callId")
    actionId = try reader.string("actionId")
    granted = try reader.required("granted", "true or false", \.boolValue)
    by = try reader.text("by")
    reason = try reader.optionalString("reason")
    if object["scope"] != nil {
      scope = try reader.required(
        "scope", "“input”, or {\"calls\": n}", ApprovalScope.init)
    }
    until = try reader.optionalString("until")
    modelResult = try reader.optionalInt("modelResult")
  }

  /// The approval as it is recorded today: an older program named the action otherwise where its input holds a
  /// number that has several forms.
  ///
  /// - Parameter call: the one that it was given to.
  public func recomputed(for call: ProposedCall) -> Approval {
    guard let older = call.olderActionId, older.hasSameUTF8(as: actionId) else { return self }
    var approval = self
    approval.actionId = call.actionId
    return approval
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("callId", .string(callId)), ("actionId", .string(actionId)), ("granted", .bool(granted)),
      ("by", .string(by)), ("reason", reason.map(JSONValue.string)),
      ("scope", scope?.encoded), ("until", until.map(JSONValue.string)),
      ("modelResult", modelResult.map { JSONValue($0) }),
    ])
  }
}

extension Approval: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("callId!", .string, "The call."),
      DataKey("actionId!", .string, "Its tool and input."),
      DataKey("granted!", .boolean, "Whether it may run."),
      DataKey("by!", .text, "Who answered."), DataKey("reason", .string, "Why."),
      DataKey(
        "scope",
        [
          "oneOf": [
            ["const": "input"],
            [
              "type": "object", "required": ["calls"],
              "properties": [
                "calls": [
                  "type": "integer", "minimum": 1, "description": "How many calls, this one first.",
                ]
              ],
            ],
          ]
        ],
        "What a yes covers: this call and the next calls of equal tool and input, so many in all, or each "
          + "of them for the run; that too where it is missing."),
      DataKey("until", .string, "When a yes runs out, in UTC."),
      DataKey("modelResult", .count, "The reply it was read from, where a model played them."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let why = reason.map { ": \($0)" } ?? ""
    let extent = extent.map { " \($0)" } ?? ""
    return [
      EventLine(
        granted ? "approved" : "denied", granted ? .good : .bad, "by \(by)\(extent)\(why)")
    ]
  }
}

extension Approval {
  /// What a yes covers beyond the one call, in words; `nil` where that is all, or it does not say.
  public var extent: String? {
    guard granted else { return nil }
    let what: String? =
      switch scope {
      case .calls(1)?, nil: nil
      case .calls(let count)?: "for \(Figures.count(count, "call")) with this input"
      case .input?: "for this input in this run"
      }
    let words = [what, until.map { "until \($0)" }].compactMap { $0 }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }
}
