public import AgentTrace

/// A request that somebody else sends to a model, as a proxy reads it: in no dialect.
///
/// What identifies it is what the model is asked, and nothing that differs from one try to the next: ids of
/// calls count by the order in which they are met, and keys that only name a user or a cache count not at
/// all.
public struct ObservedRequest: Sendable, Hashable {
  /// The raw value of its ``Dialect``.
  public var dialect: String
  /// The model that is asked; `nil` where the request names none.
  public var model: String?
  /// Whether the reply is to be streamed.
  public var streams: Bool
  /// What the model is given, as context packets hold it: `{"role","content":[…]}`, calls and results by
  /// the ids that the provider gave them, and what is no text, call or result as it stood.
  public var messages: [JSONValue]
  /// The tools that it is told of: `{"name","description","inputSchema"}`, and `extra` for what else stands
  /// there. A tool of the provider's own has its type for a name.
  public var tools: [JSONValue]
  /// What else is asked for, by the keys of the dialect.
  public var parameters: JSONObject
  /// The reply that this goes on from where the provider keeps conversations; else `nil`.
  public var previousID: String?

  /// Messages, tools and parameters as a codec laid them out; without an id it goes on from no earlier reply.
  public init(
    dialect: String, model: String?, streams: Bool, messages: [JSONValue], tools: [JSONValue],
    parameters: JSONObject, previousID: String? = nil
  ) {
    self.dialect = dialect
    self.model = model
    self.streams = streams
    self.messages = messages
    self.tools = tools
    self.parameters = parameters
    self.previousID = previousID
  }

  /// Keys of requests that say nothing of what is asked.
  public static let ignoredKeys = [
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "user",
  ]

  /// The whole request as one value that is the same whenever the same is asked.
  public var comparable: JSONValue {
    var ids = OrdinalIDs()
    var object: JSONObject = [
      "dialect": .string(dialect), "stream": .bool(streams),
      "messages": .array(messages.map { ids.replaced(in: $0) }), "tools": .array(tools),
      "parameters": .object(parameters),
    ]
    object["model"] = model.map(JSONValue.string)
    return Self.withoutTokenDigits(.object(object))
  }

  /// SHA-256 of ``comparable`` without whether the reply is to be streamed: that is no part of what is
  /// asked.
  public var digest: String {
    var asked = comparable.objectValue ?? [:]
    asked["stream"] = nil
    return Digest(of: .object(asked)).hex
  }

  /// What ``digest`` was in logs of before it left that out.
  public var olderDigest: String { Digest(of: comparable).hex }

  /// How the model is asked, as `run_started` holds it (``ModelDefinition/settings``): what every dialect
  /// has by its key in an agent file, all else under `options`, as it stood.
  public var settings: JSONObject {
    var settings: JSONObject = ["provider": .string(dialect)]
    settings["name"] = model.map(JSONValue.string)
    var options = JSONObject()
    for member in parameters {
      if let key = Self.settingKeys[member.key] {
        settings[key] = member.value
      } else {
        options[member.key] = member.value
      }
    }
    if !options.isEmpty { settings["options"] = .object(options) }
    return settings
  }

  /// Keys of agent files, by those of the dialects.
  private static let settingKeys = [
    "max_completion_tokens": "maxOutputTokens", "max_output_tokens": "maxOutputTokens",
    "max_tokens": "maxOutputTokens", "parallel_tool_calls": "parallelToolCalls",
    "reasoning": "reasoning", "seed": "seed", "stop": "stop", "stop_sequences": "stop",
    "temperature": "temperature", "tool_choice": "toolChoice", "top_p": "topP",
  ]

  /// Tokens of withheld values without their digits, which another key makes otherwise.
  private static func withoutTokenDigits(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text):
      let bytes = Array(text.utf8)
      guard bytes.contains(0xc2) else { return value }
      let ranges = RedactionToken.ranges(in: bytes)
      guard !ranges.isEmpty else { return value }
      var (rest, start): ([UInt8], Int) = ([], 0)
      for range in ranges {
        rest += bytes[start..<range.lowerBound]
        let token = bytes[range]
        rest += token[..<(token.lastIndex(of: UInt8(ascii: ":")) ?? token.endIndex)]
        start = range.upperBound
      }
      return .string(String(decoding: rest + bytes[start...], as: UTF8.self))
    case .array(let elements): return .array(elements.map(withoutTokenDigits))
    case .object(let object): return .object(object.mapValues(withoutTokenDigits))
    default: return value
    }
  }
}

/// Calls numbered in the order in which a request speaks of them.
private struct OrdinalIDs {
  private var numbers: [String: Int] = [:]

  mutating func replaced(in message: JSONValue) -> JSONValue {
    guard var object = message.objectValue, let parts = object["content"]?.arrayValue else {
      return message
    }
    object["content"] = .array(
      parts.map { part in
        guard var fields = part.objectValue, let id = fields["callId"]?.stringValue else {
          return part
        }
        let number = numbers[id] ?? numbers.count + 1
        numbers[id] = number
        fields["callId"] = .string("call \(number)")
        return .object(fields)
      })
    return .object(object)
  }
}
