import AgentTrace

/// What is known of calls of which the OpenAI Agents SDK tells that they were given something and gave back nothing.
///
/// So it tells of a tool that gave back `None`, of a call that waits for a person, and of one that a person would not have:
/// the last two did not run. Which it was, the lists that models were asked with later may tell; those of the Responses
/// interface hold nothing. (openai/openai-agents-python, src/agents/run_internal/, 0.24.)
struct OpenAIAgentsCalls {
  /// What one of them came to.
  enum Ending {
    /// It is told by another span as well, of the time when it ran.
    case toldElsewhere
    /// A model was shown what came of it.
    case answered(id: String, JSONValue)
    /// A person would not have it, and a model was told so.
    case refused(id: String, JSONValue)
    /// Nobody knows whether it ran.
    case unknown
  }

  private struct Key: Hashable {
    var name: String
    var input: JSONValue
  }

  /// What the SDK gives back for a call that was not approved, where nobody gave it another text.
  private static let refusal = "Tool execution was not approved."

  /// What a model is shown of a tool that gave back nothing.
  private static let nothing = "None"

  private var endings: [Key: [Ending]] = [:]

  /// - Parameter items: the spans of one conversation.
  init(_ items: [JSONValue]) {
    guard items.contains(where: Self.isWithoutOutput) else { return }
    var asked: [Key: [String]] = [:]
    var known: Set<String> = []
    var shown: [String: JSONValue] = [:]
    var ran: [Key: Int] = [:]
    for item in items {
      let data = item["span_data"] ?? .null
      if data["type"] == "function", !Self.isWithoutOutput(item), let key = Self.key(of: data) {
        ran[key, default: 0] += 1
      }
      guard data["type"] == "generation" else { continue }
      for message in ["input", "output"].flatMap({ data[$0]?.arrayValue ?? [] }) {
        for call in message["tool_calls"]?.arrayValue ?? [] {
          guard let id = call["id"]?.stringValue, known.insert(id).inserted,
            let key = Self.key(
              name: call["function"]?["name"], input: call["function"]?["arguments"])
          else { continue }
          asked[key, default: []].append(id)
        }
        if let id = message["tool_call_id"]?.stringValue { shown[id] = message["content"] }
      }
    }
    for (key, ids) in asked {
      let left = max(0, ids.count - ran[key, default: 0])
      let refused = ids.filter { shown[$0]?.stringValue == Self.refusal }
      let open = ids.filter { shown[$0] == nil }
      let nothing = ids.filter { shown[$0]?.stringValue == Self.nothing }
      // Those that ran and are told so are among the others before any.
      let chosen = Set((refused + open + nothing + ids.filter { shown[$0] != nil }).distinct(left))
      endings[key] = ids.filter(chosen.contains).map { id in
        guard let content = shown[id] else { return .unknown }
        return content.stringValue == Self.refusal
          ? .refused(id: id, content) : .answered(id: id, content)
      }
    }
  }

  /// Whether a span is of a call that was given something and of which nothing came back, no error either.
  static func isWithoutOutput(_ item: JSONValue) -> Bool {
    guard let data = item["span_data"], data["type"] == "function" else { return false }
    return (data["output"] ?? .null).isNull && !(data["input"] ?? .null).isNull
      && (item["error"] ?? .null).saysNothing
  }

  /// What the next span of this call is about.
  mutating func next(for item: JSONValue) -> Ending {
    guard let data = item["span_data"], let key = Self.key(of: data), var left = endings[key] else {
      return .unknown
    }
    guard !left.isEmpty else { return .toldElsewhere }
    let ending = left.removeFirst()
    endings[key] = left
    return ending
  }

  private static func key(of data: JSONValue) -> Key? {
    key(name: data["name"], input: data["input"])
  }

  private static func key(name: JSONValue?, input: JSONValue?) -> Key? {
    guard let name = name?.stringValue else { return nil }
    let input = input ?? .null
    return Key(name: name, input: (input.stringValue.flatMap(JSONText.any) ?? input).byValue)
  }
}

extension [String] {
  /// The first so many that differ.
  fileprivate func distinct(_ count: Int) -> [String] {
    var seen: Set<String> = []
    return Array(filter { seen.insert($0).inserted }.prefix(count))
  }
}
