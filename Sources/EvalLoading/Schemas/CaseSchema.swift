import AgentTrace
import TraceJudging

/// What the schemas say of cases.
enum CaseSchema {
  /// A file: a case, a list of cases, or `cases:`.
  static var file: JSONObject {
    [
      "if": ["type": "array"],
      "then": ["minItems": 1, "items": ["$ref": "#/$defs/anyCase"]],
      "else": [
        "if": [
          "type": "object", "not": ["required": ["caseId"]],
          "anyOf": [["required": ["cases"]], ["required": ["sets"]], ["required": ["defaults"]]],
        ],
        "then": .object(shared),
        "else": ["$ref": "#/$defs/anyRootCase"],
      ],
      "$defs": .object(definitions),
    ]
  }

  private static var definitions: JSONObject {
    let own: JSONObject = [
      "commandAgent": .object(FileSchema.object(CommandAgentFile.fields)),
      "case": .object(object(CaseFile.fields)),
      "rootCase": .object(object([Field<CaseFile.Draft>.schemaOfFile] + CaseFile.fields)),
      "tableCase": .object(tableCase(root: false)), "rootTableCase": .object(tableCase(root: true)),
      "anyCase": choice("case", "tableCase"), "anyRootCase": choice("rootCase", "rootTableCase"),
    ]
    return own.merging(CaseConditionsFile.definitions).merging(ExpectationsSchema.definitions)
  }

  /// Cases with what they share, or a file of that alone.
  private static var shared: JSONObject {
    var schema = FileSchema.object(SharedParts.draftFields)
    var properties = schema["properties"]?.objectValue ?? [:]
    properties["cases"] = [
      "type": "array", "minItems": 1, "items": ["$ref": "#/$defs/anyCase"],
      "description": "The cases of this file.",
    ]
    schema["properties"] = .object(properties)
    return schema
  }

  /// A case of which some values stand in the rows of a table.
  private static func tableCase(root: Bool) -> JSONObject {
    let fields = (root ? [Field<CaseFile.Draft>.schemaOfFile] : []) + CaseFile.fields
    var properties = JSONObject()
    for field in fields { properties[field.name] = ["description": .string(field.note)] }
    properties["table"] = CaseTable.schema
    return [
      "type": "object", "additionalProperties": false, "required": ["caseId", "table"],
      "properties": .object(properties),
    ]
  }

  private static func choice(_ plain: String, _ table: String) -> JSONValue {
    [
      "if": ["type": "object", "required": ["table"]],
      "then": ["$ref": .string("#/$defs/\(table)")],
      "else": ["$ref": .string("#/$defs/\(plain)")],
    ]
  }

  private static func object(_ fields: [Field<CaseFile.Draft>]) -> JSONObject {
    var schema = FileSchema.object(
      fields,
      constraints: [
        // `input` may be missing or empty only where there is a recording; without an agent, too,
        // because `--runs` may find the recording by the case's id.
        "if": ["required": ["agent"], "not": ["required": ["recording"]]],
        "then": ["required": ["input"], "properties": ["input": ["minLength": 1]]],
        "allOf": [
          [
            // What is no text is given to a pipeline.
            "if": ["not": ["anyOf": [["required": ["pipeline"]], ["required": ["recording"]]]]],
            "then": ["properties": ["input": ["type": "string"]]],
          ],
          [
            // The agents of a pipeline say the rest in their own files.
            "if": ["required": ["pipeline"]],
            "then": [
              "not": [
                "anyOf": .array(
                  (["agent", "human"]
                    + CaseConditionsFile.keys.filter { $0 != "seed" }.sorted {
                      $0.precedesByUTF8($1)
                    }).map { ["required": [.string($0)]] })
              ]
            ],
          ],
        ],
      ])
    // A case may expect nothing but what the sets that it includes expect.
    schema["required"] = ["caseId"]
    schema["anyOf"] = [["required": ["expected"]], ["required": ["include"]]]
    return schema
  }
}

/// What the schemas say of `expected`, which TraceJudging knows but for the models that judge.
enum ExpectationsSchema {
  /// `$defs` of each schema that speaks of expectations.
  static var definitions: JSONObject {
    ExpectationSchema.definitions.merging(["judgeModel": JudgeFile.schema])
  }
}

extension JSONObject {
  /// These members and those of another, which win.
  func merging(_ other: JSONObject) -> JSONObject {
    var merged = self
    for member in other { merged[member.key] = member.value }
    return merged
  }
}
