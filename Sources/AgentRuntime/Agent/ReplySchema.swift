public import AgentTrace

extension GenerationSettings {
  /// Asks for replies that are JSON of a schema, in the words of a dialect. Options that say a form already are left as
  /// they are.
  ///
  /// Sources, by dialect: `response_format` of Chat Completions, `text.format` of Responses, `output_config.format` of
  /// Messages, `generationConfig.responseJsonSchema` of generateContent, `format` of Ollama's chat,
  /// `outputConfig.textFormat` of Converse.
  ///
  /// - Parameters:
  ///   - schema: the JSON Schema that replies are to follow.
  ///   - name: what the schema is called where a dialect wants a name.
  ///   - dialect: how the request is written; decides under which key the schema stands.
  public mutating func ask(for schema: JSONValue, named name: String, in dialect: Dialect) {
    let named: JSONObject = ["name": .string(name), "schema": schema]
    let key: String
    let value: JSONValue
    switch dialect {
    case .openai:
      var form = named
      form["strict"] = .bool(schema.isStrictSchema)
      (key, value) = (
        "response_format", ["type": "json_schema", "json_schema": .object(form)]
      )
    case .openaiResponses:
      var form = named
      form["type"] = "json_schema"
      form["strict"] = .bool(schema.isStrictSchema)
      (key, value) = ("text", ["format": .object(form)])
    case .anthropic:
      key = "output_config"
      var config: JSONObject = ["format": ["type": "json_schema", "schema": schema]]
      config["effort"] = reasoning?.effort.map(JSONValue.string)
      value = .object(config)
    case .gemini:
      key = "generationConfig"
      value = ["responseMimeType": "application/json", "responseJsonSchema": schema]
    case .ollama: (key, value) = ("format", schema)
    case .bedrock:
      key = "outputConfig"
      let form: JSONValue = [
        "name": .string(name), "schema": .string(CanonicalJSON.string(schema, form: .plain)),
      ]
      var config: JSONObject = [
        "textFormat": ["type": "json_schema", "structure": ["jsonSchema": form]]
      ]
      config["effort"] = reasoning?.effort.map(JSONValue.string)
      value = .object(config)
    }
    if options[key] == nil { options[key] = value }
  }
}

extension JSONValue {
  /// Whether each object that a schema describes has no other keys than those that it names, and needs all of them:
  /// what OpenAI asks of a schema that it holds replies to strictly.
  fileprivate var isStrictSchema: Bool {
    switch self {
    case .array(let elements): return elements.allSatisfy(\.isStrictSchema)
    case .object(let schema):
      if schema["type"] == "object" || schema["properties"] != nil {
        let required = Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
        guard schema["additionalProperties"] == false,
          let properties = schema["properties"]?.objectValue,
          properties.keys.allSatisfy(required.contains)
        else { return false }
        guard properties.allSatisfy({ $0.value.isStrictSchema }) else { return false }
      }
      return schema.allSatisfy { $0.key == "properties" || $0.value.isStrictSchema }
    default: return true
    }
  }
}
