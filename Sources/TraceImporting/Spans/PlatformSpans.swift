import AgentTrace

/// What platforms that trace agents sort their spans as, whatever word each has for it. Raw values are OpenInference's.
enum PlatformKind: String {
  case model = "LLM"
  case tool = "TOOL"
  case agent = "AGENT"
  case step = "CHAIN"
  /// Retrieval, embeddings, guardrails, scores.
  case other = "EVALUATOR"
}

extension TraceSpan {
  /// Takes in what a platform says of a span in members of its own, under the names that readers of spans know.
  mutating func take(_ kind: PlatformKind, input: JSONValue?, output: JSONValue?) {
    attributes["openinference.span.kind"] = .string(kind.rawValue)
    attributes["input.value"] = kind == .tool ? input.map(Self.onlyArgument) : input
    attributes["output.value"] = kind == .model ? output.map(Self.reply) : output
  }

  /// What a function of one object was given, where it is told as the list of its arguments.
  private static func onlyArgument(_ value: JSONValue) -> JSONValue {
    guard let list = value.arrayValue, list.count == 1, list[0].objectValue != nil else {
      return value
    }
    return list[0]
  }

  /// A model's reply as its interface gave it, where a platform keeps a part of that: the choices alone, content without
  /// its role, or a text in an object around it.
  private static func reply(_ value: JSONValue) -> JSONValue {
    if let choices = value.arrayValue, let first = choices.first, first["message"] != nil,
      first["role"] == nil
    {
      return ["choices": value]
    }
    guard var object = value.objectValue, object["role"] == nil, object["type"] == nil else {
      return value
    }
    if object.count == 1, let text = object["output"], text.stringValue != nil { return text }
    guard let content = object["content"], content.stringValue != nil || content.arrayValue != nil
    else { return value }
    object["role"] = "assistant"
    return .object(object)
  }
}

extension [TraceSpan] {
  /// These, with the steps that ran a tool as executions of it: those that are called as a tool which a model of their
  /// trace had asked for before they began. Platforms leave it to programs to say what a step is, and few say it.
  ///
  /// - Complexity: reads what each model answered.
  var takingAskedStepsAsTools: [TraceSpan] {
    var asked: [String: [String: UInt64]] = [:]
    for span in self where span.kind == .model {
      for call in (SpanContent(of: span, records: []).outputs ?? []).flatMap(\.calls) {
        let word = ToolWord.plain(call.name)
        let first = Swift.min(asked[span.trace]?[word] ?? .max, span.start)
        asked[span.trace, default: [:]][word] = first
      }
    }
    return map { span in
      guard span.kind == .step, let names = asked[span.trace] else { return span }
      // A method stands behind its class.
      let words = [span.name, span.name.split(separator: ".").last.map(String.init) ?? ""]
      guard
        let name = words.first(where: { word in
          names[ToolWord.plain(word)].map { $0 <= span.start } ?? false
        })
      else { return span }
      var tool = span
      tool.attributes["tool.name"] = .string(name)
      tool.take(.tool, input: span["input.value"], output: span.attributes["output.value"])
      return tool
    }
  }
}

extension SpanSet {
  /// Takes in the spans of a platform.
  ///
  /// - Throws: ``ImportError`` where there are more than are read together.
  mutating func add(_ spans: [TraceSpan]) throws(ImportError) {
    for span in spans { try add(span) }
  }
}
