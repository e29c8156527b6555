public import AgentTrace

/// The first difference between a recorded run and the same run made again.
public struct Divergence: Sendable, Hashable {
  /// What is to be looked at: what of the run is no longer as it was.
  public enum Cause: String, Sendable, Hashable, CaseIterable {
    /// The agent is another, or what its model is given: prompt, limits, notes, settings.
    case context
    /// The same call gets another verdict.
    case policy
    /// A tool is defined otherwise, or the log holds no result of a call.
    case tool
    /// Another model is asked.
    case model
    /// Agent file, policy, tools and answers are the same, and yet something else happens.
    case code
  }

  /// One event of the two runs, as little as is needed to name it.
  public struct Happening: Sendable, Hashable {
    /// Its type; of a request that was never answered, `model_result` or `tool_result`.
    public var type: EventType
    /// The call it belongs to; `nil` where it belongs to none.
    public var callId: String?
    /// The tool of that call.
    public var tool: String?
    /// What became of it, where its type has a word for that: a status, a kind, a reason.
    public var word: String?
  }

  /// A value that differs.
  public struct Field: Sendable, Hashable {
    /// Where it stands in the event's data (RFC 6901); of what is no data, `/type` or `/step`.
    public var pointer: JSONPointer
    /// As it was; `nil` where there was none. Large values are cut around the first difference.
    public var recorded: JSONValue?
    /// As it is now; `nil` where there is none.
    public var now: JSONValue?
  }

  /// The smallest thing that was put in which explains the difference.
  public struct Input: Sendable, Hashable {
    /// What sort of thing.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      case rule
      case schema
      case tool
      case prompt
      case limit
      case model
      case setting
      case memory
    }

    /// What sort of thing.
    public var kind: Kind
    /// Its name: of a rule its id, of a schema its tool, of a setting its path in the agent file.
    public var name: String
    /// What is to be said of it, in one sentence.
    public var message: String
  }

  /// The step it happened in.
  public var step: Int
  /// The number of the recorded event; where the recording has no more, the next number.
  public var seq: Int
  /// What is to be looked at.
  public var cause: Cause
  /// What was recorded there; `nil` where the recording holds nothing more.
  public var recorded: Happening?
  /// What happens now; `nil` where nothing more does.
  public var now: Happening?
  /// The values that differ, in the order of the event's keys; at most ``fieldLimit``.
  public var fields: [Field]
  /// How many values differ in all.
  public var fieldCount: Int
  /// What explains it; `nil` where nothing that was put in does.
  public var input: Input?
  /// Everything that the run was made under and that is otherwise now, as far as its log tells.
  public var changes: [ChangedInput] = []

  /// The most fields that are kept.
  public static let fieldLimit = 100
  /// The most bytes of a value that are kept of each side.
  public static let valueLimitBytes = 16 * 1024
}

extension Divergence.Happening {
  init(_ event: Event) {
    type = event.type
    callId = event.data["callId"]?.stringValue
    tool = event.data["tool"]?.stringValue
    word = ["status", "kind", "reason"].lazy.compactMap { event.data[$0]?.stringValue }.first
      .map { $0.prefix(utf8Bytes: 200) }
  }

  init(_ request: ReplayingBoundary.Unanswered) {
    type = request.kind == .model ? .modelResult : .toolResult
    callId = request.callId
    tool = request.tool
    word = nil
  }
}

extension Divergence {
  /// The divergence as one JSON object: what a program may read.
  public var json: JSONValue {
    var object: JSONObject = [
      "step": JSONValue(step), "seq": JSONValue(seq), "cause": .string(cause.rawValue),
      "recorded": recorded?.json ?? .null, "now": now?.json ?? .null,
      "fields": .array(fields.map(\.json)), "fieldCount": JSONValue(fieldCount),
    ]
    object["input"] = input.map {
      [
        "kind": .string($0.kind.rawValue), "name": .string($0.name),
        "message": .string($0.message),
      ]
    }
    if !changes.isEmpty {
      object["changes"] = .array(
        changes.map { change in
          var told: JSONObject = ["key": .string(change.key)]
          told["recorded"] = change.recorded?.cut(toBytes: Self.valueLimitBytes)
          told["now"] = change.now?.cut(toBytes: Self.valueLimitBytes)
          return .object(told)
        })
    }
    return .object(object)
  }
}

extension Divergence.Happening {
  fileprivate var json: JSONValue {
    var object: JSONObject = ["type": .string(type.rawValue)]
    object["callId"] = callId.map(JSONValue.string)
    object["tool"] = tool.map(JSONValue.string)
    object["word"] = word.map(JSONValue.string)
    return .object(object)
  }
}

extension Divergence.Field {
  /// A side that holds nothing lacks its key.
  fileprivate var json: JSONValue {
    var object: JSONObject = ["pointer": .string(pointer.description)]
    object["recorded"] = recorded
    object["now"] = now
    return .object(object)
  }
}
