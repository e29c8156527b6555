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
      "rootCase": .object(object([CaseFile.schemaField] + CaseFile.fields)),
      "tableCase": .object(tableCase(root: false)), "rootTableCase": .object(tableCase(root: true)),
      "anyCase": choice("case", "tableCase"), "anyRootCase": choice("rootCase", "rootTableCase"),
    ]
    return own.merging(ExpectationsSchema.definitions)
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
    let fields = (root ? [CaseFile.schemaField] : []) + CaseFile.fields
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
      ])
    // A case may expect nothing but what the sets that it includes expect.
    schema["required"] = ["caseId"]
    schema["anyOf"] = [["required": ["expected"]], ["required": ["include"]]]
    return schema
  }
}

/// What the schemas say of `expected`; the parser is TraceJudging's.
enum ExpectationsSchema {
  /// `$defs` of each schema that speaks of expectations.
  static var definitions: JSONObject {
    let own: JSONObject = [
      "expected": [
        "if": ["type": "array"],
        "then": ["minItems": 1, "maxItems": 100, "items": ["$ref": "#/$defs/expectations"]],
        "else": ["$ref": "#/$defs/expectations"],
      ],
      "expectations": .object(expected),
      "executed": entries(isExecuted: true), "proposed": entries(isExecuted: false),
      "executedMoment": call(isExecuted: true, isCounted: false),
      "proposedMoment": call(isExecuted: false, isCounted: false),
      "times": ["anyOf": [times, range]],
    ]
    return own.merging(WordSchema.definitions)
  }

  static let expected: JSONObject = [
    "type": "object", "additionalProperties": false,
    "properties": .object(properties.merging(JSONObject(WordSchema.properties))),
    "allOf": [
      // These alone expect nothing.
      ["not": ["propertyNames": ["enum": ["order", "extra", "severity"]]]],
      [
        "if": [
          "required": ["order"], "properties": ["order": ["enum": ["in_order", "exact"]]],
        ],
        "then": ["anyOf": [["required": ["toolsCalled"]], ["required": ["toolsProposed"]]]],
      ],
      [
        "if": ["required": ["extra"], "properties": ["extra": ["const": "forbid"]]],
        "then": ["required": ["toolsCalled"]],
      ],
      [
        "if": ["not": ["required": ["order"], "properties": ["order": ["const": "exact"]]]],
        "then": ["properties": ["toolsCalled": ["minItems": 1]]],
      ],
    ],
  ]

  private static let properties: JSONObject = [
    "stopReason": [
      "description": "Why the run stops or pauses: one reason, or a list of them.",
      "anyOf": [word(StopReason.names), words(StopReason.names)],
    ],
    "toolsCalled": [
      "description": "Calls that are executed, each by a call of its own.",
      "$ref": "#/$defs/executed",
    ],
    "toolsNotCalled": [
      "description": "Calls of which none is executed.", "$ref": "#/$defs/executed",
      "minItems": 1,
    ],
    "toolsProposed": [
      "description": "Calls that a decision proposes, whatever became of them.",
      "$ref": "#/$defs/proposed", "minItems": 1,
    ],
    "toolsNotProposed": [
      "description": "Calls of which none is proposed.", "$ref": "#/$defs/proposed",
      "minItems": 1,
    ],
    "order": [
      "description": """
      How the calls follow each other: any (without it), in_order (others may stand between) or \
      exact (no other executed call).
      """,
      "type": "string", "enum": JSONValue(Expectations.Order.allCases.map(\.rawValue)),
    ],
    "maxSteps": [
      "description": "Steps with a decision, at most.", "type": "integer", "minimum": 0,
    ],
    "maxToolCalls": [
      "description": "Executed calls, at most.", "type": "integer", "minimum": 0,
    ],
    "answer": ["description": "What the last answer is.", "$ref": "#/$defs/matcher"],
  ]

  /// A list of calls. One that was refused was never executed, so an executed call is not only that.
  static func entries(isExecuted: Bool) -> JSONValue {
    [
      "type": "array", "maxItems": JSONValue(Expectations.entryLimit),
      "items": [
        "anyOf": [
          ["type": "string", "description": "A tool's name, or a glob such as delete_*."],
          call(isExecuted: isExecuted, isCounted: true),
        ]
      ],
    ]
  }

  /// A call. In a moment it is one, so there it has no number of times.
  private static func call(isExecuted: Bool, isCounted: Bool) -> JSONValue {
    let statuses = CallStatus.allCases.map(\.rawValue)
    let usable = isExecuted ? statuses.filter { $0 != CallStatus.refused.rawValue } : statuses
    var properties: JSONObject = [
      "tool": [
        "type": "string", "description": "A tool's name, or a glob such as delete_*.",
      ],
      "input": ["description": "What goes in.", "$ref": "#/$defs/matcher"],
      "status": [
        "description": "What became of the call: one status, or a list of them.",
        "anyOf": [
          word(usable),
          [
            "type": "array", "minItems": 1, "items": word(statuses),
            "contains": word(usable),
          ],
        ],
      ],
      "result": [
        "description": "The data of a result that is ok, else the reason.",
        "$ref": "#/$defs/matcher",
      ],
      "caller": [
        "type": "string",
        "description": "Who makes the call, or a glob; without it everybody but user.",
      ],
      "defaults": [
        "description": "Arguments that may be left out, with the values they have then.",
        "type": "object", "minProperties": 1,
      ],
      "ignore": [
        "description": "Arguments, or globs of them, that are not looked at.",
        "$ref": "#/$defs/globs",
      ],
    ]
    if isCounted {
      properties["times"] = [
        "description": "How many calls match: a number, or min and max.",
        "$ref": "#/$defs/times",
      ]
    }
    return [
      "type": "object", "additionalProperties": false, "required": ["tool"],
      "properties": .object(properties),
      "dependentRequired": ["defaults": ["input"], "ignore": ["input"]],
    ]
  }

  private static let times: JSONValue = [
    "type": "integer", "minimum": 0, "maximum": JSONValue(Expectations.timesLimit),
  ]

  private static let range: JSONValue = [
    "type": "object", "additionalProperties": false, "minProperties": 1,
    "properties": [
      "min": [
        "type": "integer", "minimum": 0, "maximum": JSONValue(Expectations.timesLimit),
        "description": "The fewest calls.",
      ],
      "max": [
        "type": "integer", "minimum": 0, "maximum": JSONValue(Expectations.timesLimit),
        "description": "The most calls.",
      ],
    ],
  ]

  private static func word(_ words: [String]) -> JSONValue {
    ["type": "string", "enum": JSONValue(words)]
  }

  private static func words(_ words: [String]) -> JSONValue {
    ["type": "array", "minItems": 1, "items": word(words)]
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
