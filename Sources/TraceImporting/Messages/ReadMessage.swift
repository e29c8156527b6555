import AgentTrace

/// One message of any interface or framework, read: its texts, calls and results, and where in it something
/// stands that nobody read.
struct ReadMessage {
  enum Role: Hashable {
    case system
    case user
    case assistant
    case tool
    /// A role without a meaning here; the message is part of what the model saw.
    case other
  }

  var role: ReadMessage.Role
  /// The role as the source calls it.
  var roleName: String
  var pointer: JSONPointer
  /// The message as it stood.
  var raw: JSONValue
  /// Its texts, each as it stood.
  var texts: [JSONValue] = []
  /// Its parts that are no calls and no results, as a context packet holds them.
  var parts: [JSONValue] = []
  var calls: [GraphCall] = []
  var results: [GraphResult] = []
  /// What became of its calls by their ids, where it says so beside them.
  var outcomes: [String: GraphResult.Status] = [:]
  /// Whether the model declined, in a field or part that is there for it.
  var isRefusal = false
  /// Whether it is a piece of a reply whose other pieces stand beside it.
  var isPiece = false
  /// Whether a model gave it, where it is an assistant's; some frameworks write replies of their own.
  var isModelCall = true
  var finish: String?
  /// Whether its source says that it had not ended, or was broken off.
  var isUnfinished = false
  /// Whether its source says that it was said on the way, beside what the model goes on to do, and is no answer.
  var isCommentary = false
  var model: String?
  var responseId: String?
  /// The id of the response that it goes on from, whose provider keeps what was said before.
  var goesOnFrom: String?
  /// Whether it stands for what was said before it.
  var sumsUp = false
  /// Whether it says in a text what calls before it gave back.
  var sumsUpCalls = false
  var usage = ReadUsage()
  var time: Timestamp?
  /// Who speaks, where the source names the agent.
  var author: String?
  /// The simulated user who makes the calls, or made the one that is answered; `nil` means the agent.
  var caller: String?
  /// Whether the agent's model was shown it.
  var isShown = true
  /// Whether a framework keeps it, whose agents may be tools with messages of their own elsewhere.
  var isFromFramework = false
  var extra: JSONObject = [:]
  var unread: [JSONPointer] = []

  /// All its text, joined by line feeds; `nil` where there is none, or it is empty.
  var text: JSONValue? {
    let kept = texts.filter { $0 != "" }
    if kept.count <= 1 { return kept.first }
    return .string(kept.map { $0.stringValue ?? $0.description }.joined(separator: "\n"))
  }

  /// Adds a text; what stands in a text's place and is none may be anything.
  mutating func add(text: JSONValue) {
    guard text.isText else {
      parts.append(text)
      if !text.saysNothing { unread.append(pointer) }
      return
    }
    texts.append(text)
    parts.append(["type": "text", "text": text])
  }

  /// Whether this is an assistant's text without calls.
  var isAssistantText: Bool { role == .assistant && calls.isEmpty && text != nil }

  /// Whether nothing at all was found in it.
  var isEmpty: Bool {
    text == nil && calls.isEmpty && results.isEmpty
      && parts.allSatisfy { $0["text"].map(\.saysNothing) ?? false }
  }
}

/// What a reply took.
struct ReadUsage: Hashable {
  var inputTokens: Int?
  var outputTokens: Int?
  var cachedTokens: Int?
  var reasoningTokens: Int?
  var cost: Double?
  /// How many calls of tools that the provider's servers run the reply made.
  var serverCalls: Int?

  /// Nothing is known.
  init() {}

  /// Reads an object of usage in any of the spellings that interfaces have for it.
  init(_ value: JSONValue?) {
    guard let value, value.objectValue != nil else { return }
    inputTokens = Self.number(
      value,
      [
        "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "input",
        "prompt_token_count", "inputTokenCount", "RequestTokens",
      ])
    outputTokens = Self.number(
      value,
      [
        "output_tokens", "completion_tokens", "outputTokens", "completionTokens",
        "candidatesTokenCount", "output", "candidates_token_count", "outputTokenCount",
      ])
    cachedTokens =
      Self.number(
        value,
        [
          "cache_read_input_tokens", "cached_tokens", "cacheRead", "cached", "cache_read_tokens",
          "cachedContentTokenCount", "cacheReadInputTokens", "cached_content_token_count",
          "cached_input_tokens", "cachedInputTokens", "input_cache_read",
        ])
      ?? Self.number(value["prompt_tokens_details"], ["cached_tokens"])
      ?? Self.number(value["input_tokens_details"], ["cached_tokens"])
      ?? Self.number(value["input_token_details"], ["cache_read"])
    reasoningTokens =
      Self.number(
        value,
        [
          "reasoning_tokens", "thoughtsTokenCount", "thoughts", "thoughts_token_count",
          "reasoning_output_tokens", "reasoningTokens", "output_reasoning",
        ])
      ?? Self.number(value["completion_tokens_details"], ["reasoning_tokens"])
      ?? Self.number(value["output_tokens_details"], ["reasoning_tokens"])
      ?? Self.number(value["output_token_details"], ["reasoning"])
    serverCalls = Self.serverCalls(value)
  }

  /// The sum of Anthropic's counts, `{"web_search_requests": 2, …}`.
  private static func serverCalls(_ value: JSONValue) -> Int? {
    let counts = (value["server_tool_use"]?.objectValue ?? [:]).compactMap(\.value.intValue)
    let made = counts.filter { $0 > 0 }.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    return made > 0 ? made : nil
  }

  private static func number(_ value: JSONValue?, _ keys: [String]) -> Int? {
    for key in keys {
      guard let member = value?[key] else { continue }
      if let number = member.intValue ?? member.stringValue.flatMap({ Int($0) }) {
        return max(0, number)
      }
    }
    return nil
  }

  /// Whether anything is known.
  var isEmpty: Bool { self == ReadUsage() }
}
