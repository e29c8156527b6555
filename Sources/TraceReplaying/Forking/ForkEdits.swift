import AgentRuntime
public import AgentTrace

/// What a fork is made to have otherwise than its parent.
public struct ForkEdits: Sendable {
  /// Replaces the decision of the step: what the model is taken to have replied.
  public var reply: JSONValue?
  /// Replaces the result of the call at the event.
  public var result: ToolResult?
  /// What is left out of every packet from there on, by its ref; see `ContextItem.ref`.
  public var droppedRefs: [String]

  /// Without arguments, nothing is changed.
  public init(
    reply: JSONValue? = nil, result: ToolResult? = nil, droppedRefs: [String] = []
  ) {
    self.reply = reply
    self.result = result
    self.droppedRefs = droppedRefs
  }

  /// Reads a decision to be put in place of another: a reply as a model would send it (`ModelReply`),
  /// or a decision as it stands in a log.
  ///
  /// - Throws: ``ForkEditError`` where it is neither. What its calls are worth only the agent's tools
  ///   can say.
  public static func reply(from value: JSONValue) throws(ForkEditError) -> JSONValue {
    guard let object = value.objectValue else {
      throw ForkEditError("a decision is an object, and here is \(value.typeName)")
    }
    guard object["kind"] != nil else { return value }
    let decision: Decision
    do { decision = try DecisionPayload(decoding: numbered(object)).decision } catch {
      throw ForkEditError("this is no decision: \(error)")
    }
    switch decision {
    case .answer(let text, let refs): return ["text": .string(text), "evidence": JSONValue(refs)]
    case .askHuman(let question): return ["question": .string(question)]
    case .stop(let reason, _): return ["stop": .string(reason.rawValue)]
    case .tool(let calls):
      return [
        "calls": .array(
          calls.map { call in
            var object: JSONObject = ["name": .string(call.name), "input": call.input]
            object["id"] = call.providerCallId.map(JSONValue.string)
            return .object(object)
          })
      ]
    case .invalid: throw ForkEditError("an invalid decision cannot be put in place of another")
    }
  }

  /// Calls without ids get some: theirs are made anew where the decision is read.
  private static func numbered(_ object: JSONObject) -> JSONObject {
    guard let calls = object["calls"]?.arrayValue else { return object }
    var object = object
    object["calls"] = .array(
      calls.enumerated().map { index, call in
        guard var call = call.objectValue else { return call }
        call["callId"] = call["callId"] ?? .string("\(index)")
        return .object(call)
      })
    return object
  }

  /// Reads a result to be put in place of another: `{"status":"ok","data":…}` or
  /// `{"status":"error","reason":…}`, with `"effect":"unknown"` where nobody knows what it did.
  ///
  /// - Throws: ``ForkEditError`` where it is neither.
  public static func result(from value: JSONValue) throws(ForkEditError) -> ToolResult {
    guard var object = value.objectValue else {
      throw ForkEditError("a result is an object with a status, and here is \(value.typeName)")
    }
    object["callId"] = ""
    object["tool"] = ""
    let result: ToolResult
    do { result = try ToolResultPayload(decoding: object).result } catch {
      throw ForkEditError("this is no result: \(error)")
    }
    switch result {
    case .ok:
      guard object["data"] != nil else {
        throw ForkEditError("this is no result: “data” is missing")
      }
    case .error:
      guard object["reason"] != nil else {
        throw ForkEditError("this is no result: “reason” is missing")
      }
    case .refused, .returned:
      throw ForkEditError(
        "a result is ok or error: a call is refused by policy, a person or a limit, before it begins"
      )
    }
    guard value.depth <= 64, CanonicalJSON.encode(value).count <= 1 << 20 else {
      throw ForkEditError(
        "a result of more than 1 MiB or 64 levels of nesting does not enter a run")
    }
    return result
  }
}

/// Why an edit is none.
public struct ForkEditError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with it, in words.
  public var description: String

  /// What is wrong, in words for a person.
  public init(_ description: String) { self.description = description }
}
