import AgentTrace

/// Reads the parts of a message's content, in the shapes of every interface that is known: their keys and types
/// tell them apart, whoever wrote them.
enum PartReader {
  /// Keys of a part whose values are data and no calls, beside any word.
  private static let quiet: Set<String> = [
    "annotations", "cache_control", "citations", "logprobs", "metadata", "providerMetadata",
    "providerOptions", "provider_details", "callProviderMetadata", "caller", "timestamp", "source",
    "inline_data", "inlineData", "file_data", "fileData", "image_url", "file", "input_audio",
    "thoughtSignature", "thought_signature", "signature", "video_metadata", "videoMetadata",
    "retry", "provider_data", "text_elements", "resultDisplay", "dynamic_ref", "approval",
    "additional_properties", "items",
  ]

  /// Types of parts that are neither text nor calls.
  private static let silent: Set<String> = [
    "audio", "document", "file", "image", "image_url", "input_audio", "input_file", "input_image",
    "video", "video_url", "blob", "uri", "media", "step-start", "step-finish", "step-end", "data",
    "source-url", "source-document", "source", "reasoning", "thinking", "redacted_thinking",
    "summary_text", "reasoning_text", "redacted-reasoning", "container_upload", "fallback",
    "compaction", "cachePoint", "guardContent", "reasoningContent", "localImage", "skill",
    "inline_data", "file_data", "image-url", "document-url", "binary", "encrypted_content",
    "text_reasoning",
  ]

  /// The word by which a part says what it is; Semantic Kernel has one of its own for it.
  static func type(of part: JSONValue) -> String? {
    (part["type"] ?? part["part_kind"] ?? part["content_type"])?.stringValue
  }

  /// Takes one part into a message.
  static func take(_ part: JSONValue, at pointer: JSONPointer, into message: inout ReadMessage) {
    switch part {
    case .string, .bytes, .cut: message.add(text: part)
    case .object(let object): take(object, part, at: pointer, into: &message)
    case _ where part.saysNothing: break
    default:
      message.parts.append(part)
      message.unread.append(pointer)
    }
  }

  /// Takes the parts of a list into a message.
  static func take(
    _ parts: [JSONValue], below pointer: JSONPointer, into message: inout ReadMessage
  ) {
    for (place, part) in parts.placed(at: pointer) { take(part, at: place, into: &message) }
  }

  private static func take(
    _ object: JSONObject, _ part: JSONValue, at pointer: JSONPointer,
    into message: inout ReadMessage
  ) {
    if let call = object["tool_call"], object["message_content"] != nil {
      return take(["tool_call": call], at: pointer, into: &message)
    }
    if let inner = object["message_content"], inner.objectValue != nil {
      return take(inner, at: pointer.appending("message_content"), into: &message)
    }
    let type = Self.type(of: part)
    if let type, takeTyped(type, object, part, at: pointer, into: &message) { return }
    if takeKeyed(object, part, at: pointer, into: &message) { return }
    // What was said before it stands for, the model no longer sees, and the list need not hold.
    if type == "compaction" { message.sumsUp = true }
    message.parts.append(part)
    let isSilent =
      type.map {
        // Microsoft.Extensions.AI names what it has no word for by its own types.
        silent.contains($0) || $0.hasPrefix("data-") || $0.hasSuffix(".TextReasoningContent")
      } ?? false
    if !(isSilent && !part.mayHoldCall), !part.saysNothing { message.unread.append(pointer) }
  }

  // MARK: By type

  private static func takeTyped(
    _ type: String, _ object: JSONObject, _ part: JSONValue, at pointer: JSONPointer,
    into message: inout ReadMessage
  ) -> Bool {
    switch type {
    case "text", "input_text", "output_text", "user-prompt", "system-prompt", "instructions":
      return takeText(object, at: pointer, into: &message)
    case "speech", "retry-feedback": PydanticParts.take(type, object, at: pointer, into: &message)
    case "refusal":
      guard let text = object["refusal"] ?? object["text"] else { return false }
      message.add(text: text)
      message.isRefusal = true
    case "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call",
      "tool-call",
      "toolCall", "builtin-tool-call", "function_call", "functionCall", "function", "tool-input":
      guard object["message_content"] == nil else { return false }
      let inner = object["tool_call"] ?? object["function_call"] ?? object["functionCall"]
      return takeCall(inner?.objectValue ?? object, around: object, at: pointer, into: &message)
    case "tool_call_response", "server_tool_call_response", "tool-result", "tool-return",
      "builtin-tool-return", "tool-error", "function_response", "functionResponse",
      "function_result", "tool_response", "toolResult":
      return takeResult(object, at: pointer, into: &message)
    case "retry-prompt":
      guard object["tool_name"]?.stringValue != nil else {
        return takeText(object, at: pointer, into: &message)
      }
      return takeResult(object, isError: true, at: pointer, into: &message)
    case "toolRequest":
      note(object, but: ["type", "id", "toolCall"], at: pointer, into: &message)
      return GooseParts.takeCall(object, at: pointer, into: &message)
    case "toolResponse":
      note(object, but: ["type", "id", "toolResult"], at: pointer, into: &message)
      return GooseParts.takeResult(object, at: pointer, into: &message)
    // The call stands in a request of its own.
    case "toolConfirmationRequest": message.parts.append(part)
    case "tool_result" where object["run"]?.objectValue != nil:
      note(object, but: ["type", "toolUseID", "tool_use_id", "run"], at: pointer, into: &message)
      return AmpParts.takeResult(object, at: pointer, into: &message)
    case "dynamic-tool":
      return takeToolPart(
        object["toolName"]?.stringValue ?? "", object, at: pointer, into: &message)
    default:
      if type.hasPrefix("tool-"), object["state"]?.stringValue != nil {
        return takeToolPart(String(type.dropFirst(5)), object, at: pointer, into: &message)
      }
      // Anthropic's `…_tool_result`, of tools that its servers run.
      guard type.hasSuffix("tool_result") else { return false }
      return takeResult(object, at: pointer, into: &message)
    }
    return true
  }

  private static func takeText(
    _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    switch object["text"] ?? object["content"] {
    case .some(let text) where text.isText: message.add(text: text)
    case .array(let elements)?:
      take(elements, below: pointer.appending("content"), into: &message)
    case .object(let inner)? where inner["value"]?.stringValue != nil:
      message.add(text: inner["value"] ?? "")
    case nil, .null?: break
    default: return false
    }
    // A text of the AI SDK whose end never came.
    if object["state"] == "streaming" { message.isUnfinished = true }
    note(object, but: ["text", "content", "type", "part_kind"], at: pointer, into: &message)
    return true
  }

  /// A part of the AI SDK's messages that holds a call and what became of it.
  private static func takeToolPart(
    _ name: String, _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    let state = object["state"]?.stringValue ?? ""
    let id = object["toolCallId"]?.stringValue
    let input = object["input"] ?? object["args"] ?? object["rawInput"]
    message.calls.append(
      GraphCall(name: name, input: input.map(Told.there) ?? .absent, id: id))
    var result = GraphResult(
      id: id, tool: name, data: .absent, status: .ok, pointer: pointer)
    switch state {
    case "output-available", "result":
      result.data = (object["output"] ?? object["result"]).map(Told.there) ?? .absent
    case "output-error":
      result.status = .error
      result.data = object["errorText"].map(Told.there) ?? .absent
    case "output-denied":
      result.status = .refused
      result.data = object["errorText"].map(Told.there) ?? .there("denied")
    default: return true
    }
    message.results.append(result)
    return true
  }

  // MARK: By key

  /// How code that Google's servers ran ended, by Gemini's word for it.
  private static func status(ofCode result: JSONValue) -> GraphResult.Status {
    switch result["outcome"]?.stringValue {
    case "OUTCOME_OK": .ok
    case "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED": .error
    default: .returned
    }
  }

  private static func takeKeyed(
    _ object: JSONObject, _ part: JSONValue, at pointer: JSONPointer,
    into message: inout ReadMessage
  ) -> Bool {
    for key in ["functionCall", "function_call", "toolUse", "tool_call", "toolCall"] {
      guard let call = object[key]?.objectValue else { continue }
      note(object, but: [key], at: pointer, into: &message)
      if key == "toolUse" { message.isFromFramework = true }
      return takeCall(call, around: call, at: pointer.appending(key), into: &message)
    }
    for key in ["functionResponse", "function_response", "toolResult", "tool_result"] {
      guard let result = object[key]?.objectValue else { continue }
      note(object, but: [key], at: pointer, into: &message)
      return takeResult(result, at: pointer.appending(key), into: &message)
    }
    // Haystack's: what it answers stands in it once more.
    if var result = object["tool_call_result"]?.objectValue, let origin = result["origin"] {
      result["origin"] = nil
      (result["id"], result["tool_name"]) = (origin["id"], origin["tool_name"])
      note(object, but: ["tool_call_result"], at: pointer, into: &message)
      return takeResult(
        result, at: pointer.appending("tool_call_result"), into: &message)
    }
    for key in ["executableCode", "executable_code"] {
      guard let code = object[key] else { continue }
      message.calls.append(GraphCall(name: "code_execution", input: .there(code)))
      return true
    }
    for key in ["codeExecutionResult", "code_execution_result"] {
      guard let result = object[key] else { continue }
      message.results.append(
        GraphResult(
          tool: "code_execution", data: .there(result), status: status(ofCode: result),
          pointer: pointer))
      return true
    }
    let keys = Set(object.filter { !$0.value.saysNothing }.map(\.key))
    if let text = object["text"], text.isText {
      if object["thought"]?.boolValue == true {
        message.parts.append(part)
      } else {
        message.add(text: text)
      }
      note(object, but: ["text", "thought"], at: pointer, into: &message)
      return true
    }
    let media: Set<String> = [
      "inlineData", "inline_data", "fileData", "file_data", "image", "document", "video", "audio",
      "cachePoint", "reasoningContent", "guardContent", "thoughtSignature", "thought_signature",
      "videoMetadata", "citationsContent", "image_url",
    ]
    guard object["type"] == nil, !keys.isEmpty, keys.isSubset(of: media), !part.mayHoldCall else {
      return false
    }
    message.parts.append(part)
    return true
  }

  // MARK: Calls and results

  private static let nameKeys = ["name", "tool_name", "toolName", "function_name"]
  private static let inputKeys = ["input", "arguments", "args", "parameters"]
  private static let idKeys = [
    "id", "call_id", "tool_call_id", "toolUseId", "toolCallId", "tool_use_id", "callId",
  ]

  private static func first(_ keys: [String], in object: JSONObject) -> JSONValue? {
    for key in keys {
      if let value = object[key], !value.isNull { return value }
    }
    return nil
  }

  /// The name of a tool; of Semantic Kernel's two halves, where no whole one stands beside them, both.
  private static func name(in object: JSONObject) -> String? {
    if object["name"] ?? .null == .null, let function = object["function_name"]?.stringValue,
      let plugin = object["plugin_name"]?.stringValue, !plugin.isEmpty
    {
      return "\(plugin)-\(function)"
    }
    return first(nameKeys, in: object)?.stringValue
  }

  private static func takeCall(
    _ call: JSONObject, around: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    let inner = call["function"]?.objectValue ?? call["server_tool_call"]?.objectValue ?? call
    let id =
      (first(["tool_call_id", "toolCallId", "toolUseId", "call_id"], in: call)
      ?? first(idKeys, in: call) ?? first(idKeys, in: around))?.stringValue
    let name = name(in: inner) ?? name(in: call)
    let input = first(inputKeys, in: inner) ?? (call["server_tool_call"])
    // Of two members that may be what goes in, one is something else, and nobody knows which.
    let inputs = Set(inputKeys.compactMap { inner[$0] }.filter { !$0.isNull }.map(\.byValue))
    if inputs.count > 1 { message.unread.append(pointer) }
    var read = CallReader.call(name: name, input: input, id: id)
    if let inner = CallReader.ofServer(read.name, read.input.value) {
      (read.name, read.input) = (inner.name, .there(inner.input))
    }
    message.add(read, at: pointer)
    let known =
      nameKeys + inputKeys + idKeys + ["type", "function", "server_tool_call", "part_kind"]
    note(call, but: known, at: pointer, into: &message)
    return true
  }

  private static func takeResult(
    _ object: JSONObject, isError: Bool? = nil, at pointer: JSONPointer,
    into message: inout ReadMessage
  ) -> Bool {
    let contentKeys = [
      "content", "response", "result", "output", "server_tool_call_response", "errorText", "error",
    ]
    let id = first(
      ["tool_use_id", "toolUseId", "toolCallId", "tool_call_id", "call_id", "id"], in: object)
    var name = name(in: object)
    // That of a server, and of no tool; see ``CallReader/ofServer(_:_:)``.
    if let word = name, id != nil, CallReader.isServer(word) { name = nil }
    // Blocks of this interface name no tool: without an id, what stands there may be the id.
    if id == nil, name != nil, object["type"] == "tool_result" {
      name = nil
      message.unread.append(pointer)
    }
    var data = first(contentKeys, in: object)
    // The AI SDK's `{"type":"json","value":…}`, and what it has where somebody would not have it run; in that, and in the
    // content of other interfaces, the like is a tool's own.
    var status = ResultReader.status(of: object, data: data)
    if object["type"] == "tool-result", object["output"]?["type"] == "execution-denied" {
      status = .refused
      data = object["output"]?["reason"] ?? "denied"
    } else if let wrapped = data, let type = wrapped["type"]?.stringValue,
      let value = wrapped["value"],
      ["json", "text", "content", "error-text", "error-json"].contains(type)
    {
      data = value
      if type.hasPrefix("error") { status = .error }
    }
    if isError == true { status = .error }
    var result = GraphResult(
      id: id?.stringValue, tool: name, data: data.map { Told(text: $0) } ?? .absent, status: status,
      pointer: pointer)
    if data == nil, object["content"] != nil || object["output"] != nil {
      result.data = .there(.null)
    }
    message.results.append(result)
    note(
      object,
      but: contentKeys + nameKeys + idKeys + [
        "type", "part_kind", "is_error", "isError", "status", "outcome", "input", "args",
      ], at: pointer, into: &message)
    return true
  }

  /// Notes the members of a part that nobody knows and that may hold a call.
  private static func note(
    _ object: JSONObject, but known: [String], at pointer: JSONPointer,
    into message: inout ReadMessage
  ) {
    message.unread += UnknownMember.places(
      in: object, besides: known, quiet: quiet, at: pointer)
  }
}

extension JSONValue {
  /// Whether it is text, or what is left of one.
  var isText: Bool {
    switch self {
    case .string, .bytes, .cut: true
    default: false
    }
  }
}

/// What a member without a meaning here may be.
enum UnknownMember {
  /// A word cannot be a call, nor can data that is known to be data and in which nothing has the form of one.
  static func isHarmless(_ key: String, _ value: JSONValue, quiet: Set<String>) -> Bool {
    if value.saysNothing { return true }
    switch value {
    case .string, .number, .bool: return !JSONValue.object([key: [value]]).mayHoldCall
    case .array, .object: return quiet.contains(key) && !value.mayHoldCall
    default: return false
    }
  }

  /// Where members of an object stand that are not known and may be calls.
  static func places(
    in object: JSONObject, besides known: some Collection<String>, quiet: Set<String>,
    at pointer: JSONPointer
  ) -> [JSONPointer] {
    object.compactMap { member in
      known.contains(member.key) || isHarmless(member.key, member.value, quiet: quiet)
        ? nil : pointer.appending(member.key)
    }
  }
}

/// Reads how a result says that it is an error.
enum ResultReader {
  static func status(of object: JSONObject, data: JSONValue?) -> GraphResult.Status {
    // The last is Agno's.
    for key in ["is_error", "isError", "error", "tool_call_error"] {
      if let value = object[key], case .bool(let isError) = value { return isError ? .error : .ok }
    }
    if let error = object["error"], !error.saysNothing { return .error }
    for key in ["errorText", "exception"] where object[key]?.stringValue?.isEmpty == false {
      return .error
    }
    switch (object["status"] ?? object["outcome"])?.stringValue {
    case "error", "failed", "retried", "failure": return .error
    case "success", "ok", "completed": return .ok
    case "denied", "rejected": return .refused
    default: break
    }
    // Gemini's responses name what went wrong.
    if object["response"] != nil, let error = data?["error"], !error.saysNothing { return .error }
    return .returned
  }
}

/// Reads a call's parts as they stood.
enum CallReader {
  /// Whether a name is that of a server of tools in pydantic-ai's built-in calls.
  static func isServer(_ name: String) -> Bool { name.hasPrefix("mcp_server") }

  /// The tool of a server that a call of the server calls, and what it is given, as pydantic-ai tells it: `mcp_server:NAME`
  /// with `{"action":"call_tool","tool_name","tool_args"}`. `nil` for any other call.
  static func ofServer(_ name: String, _ input: JSONValue?) -> (name: String, input: JSONValue)? {
    guard isServer(name), input?["action"] == "call_tool",
      let tool = input?["tool_name"]?.stringValue, !tool.isEmpty
    else { return nil }
    return (tool, input?["tool_args"] ?? [:])
  }

  /// A call from its parts.
  ///
  /// - Parameter isText: whether arguments that are text are just that.
  static func call(
    name: String?, input: JSONValue?, id: String?, isText: Bool = false
  ) -> GraphCall {
    let name = name ?? ""
    var call = GraphCall(name: name, input: input.map { Told(text: $0) } ?? .absent, id: id)
    if name.isEmpty { call.problem = "a call without a name" }
    if !isText { call.readArguments() }
    return call
  }
}

extension GraphCall {
  /// Reads arguments that are text as JSON, as chat interfaces send them; what cannot be read stays as it
  /// stood, with the problem named.
  mutating func readArguments() {
    switch input.value {
    case .string(let text):
      do throws(JSONError) {
        input = .there(try JSONValue(parsing: text, options: SourceDocument.options))
      } catch {
        problem = problem ?? "arguments of \(name) that are not JSON: \(error)"
      }
    case .bytes: problem = problem ?? "arguments of \(name) that are not JSON"
    default: break
    }
  }
}

extension ReadMessage {
  /// Adds a call; one without a name is named as something that may be another.
  mutating func add(_ call: GraphCall, at pointer: JSONPointer) {
    calls.append(call)
    if call.name.isEmpty { unread.append(pointer) }
  }
}
