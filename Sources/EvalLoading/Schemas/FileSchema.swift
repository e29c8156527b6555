import AgentTrace

/// The JSON Schemas (Draft 2020-12) of the files that people and programs read and write.
///
/// Those of case, agent and policy files are made from the tables that the loaders read by, so that
/// an editor and the loader agree. The same bytes stand under `Schemas/`.
public enum FileSchema: String, Sendable, Hashable, CaseIterable {
  case `case`
  case agent
  case policy
  case event
  case results
}

extension FileSchema {
  /// The schema of a mapping with known keys.
  static func object<Target>(
    _ fields: [Field<Target>], constraints: JSONObject = [:]
  ) -> JSONObject {
    var properties = JSONObject()
    for field in fields {
      var property = field.schema().objectValue ?? [:]
      property["description"] = .string(field.note)
      properties[field.name] = .object(property)
    }
    var schema: JSONObject = [
      "type": "object", "additionalProperties": false, "properties": .object(properties),
    ]
    let required = fields.filter(\.isRequired).map(\.name)
    if !required.isEmpty { schema["required"] = JSONValue(required) }
    for member in constraints { schema[member.key] = member.value }
    return schema
  }
}
