import AgentTrace
import TraceMatching

/// What the schemas say of matchers; Docs/matchers.md says it in words.
enum MatcherSchema {
  private static let matcher: JSONValue = ["$ref": "#/$defs/matcher"]
  private static let matchers: JSONValue = [
    "type": "array", "minItems": 1, "items": ["$ref": "#/$defs/matcher"],
  ]
  private static let types: JSONValue = [
    "enum": ["null", "boolean", "integer", "number", "string", "array", "object"]
  ]
  private static let hasOperator: JSONValue = [
    "type": "object", "not": ["propertyNames": ["not": ["pattern": "^\\$"]]],
  ]

  /// `$defs` of each schema that speaks of matchers.
  static let definitions: JSONObject = [
    "matcher": [
      "description": """
      A value that must be equal, an object whose keys must match, or operators such as $regex.
      """,
      "if": hasOperator,
      "then": ["$ref": "#/$defs/operators"],
      "else": ["items": matcher, "additionalProperties": matcher],
    ],
    "operators": .object(operators),
  ]

  /// Beside them, where expectations speak of texts.
  static let textDefinitions: JSONObject = [
    "textMatcher": [
      "description": "A text that must be equal, or operators that a text can meet.",
      "$ref": "#/$defs/matcher",
      "anyOf": [
        ["type": "string"],
        [
          "type": "object", "minProperties": 1,
          "propertyNames": ["enum": JSONValue(Matcher.operatorsOfTexts)],
          "properties": .object(JSONObject(operandsOfTexts.map { ($0.name, described($0)) })),
        ],
      ],
    ]
  ]

  private static let textMatcher: JSONValue = ["$ref": "#/$defs/textMatcher"]

  /// What the operands of operators have to be where a text is matched, beyond what they are elsewhere.
  private static let operandsOfTexts: [(name: String, schema: JSONObject)] = [
    ("$not", ["$ref": "#/$defs/textMatcher"]), ("$oneOf", ["items": textMatcher]),
    ("$allOf", ["items": textMatcher]), ("$anyOf", ["items": textMatcher]),
    ("$contains", ["type": "string"]), ("$exact", ["type": "string"]),
    ("$literal", ["type": "string"]),
    (
      "$type",
      ["anyOf": [["const": "string"], ["type": "array", "contains": ["const": "string"]]]]
    ),
  ]

  private static func described(_ operand: (name: String, schema: JSONObject)) -> JSONValue {
    var schema = operand.schema
    schema["description"] = table.first { $0.name == operand.name }.map { .string($0.note) }
    return .object(schema)
  }

  private static let operators: JSONObject = [
    "type": "object", "additionalProperties": false, "minProperties": 1,
    "properties": .object(
      JSONObject(
        table.map { row in
          var property = row.schema
          property["description"] = .string(row.note)
          return (row.name, .object(property))
        })),
  ]

  private static let table: [(name: String, note: String, schema: JSONObject)] = [
    ("$any", "Any value that is there.", ["const": true]),
    ("$absent", "The key is not there; with false, it is.", ["type": "boolean"]),
    ("$not", "The matcher does not match.", ["$ref": "#/$defs/matcher"]),
    ("$oneOf", "Exactly one of the matchers matches.", list),
    ("$allOf", "All of the matchers match.", list),
    ("$anyOf", "At least one of the matchers matches.", list),
    ("$regex", "A text in which the pattern is found, anywhere.", ["type": "string"]),
    ("$glob", "A text that the glob fits as a whole.", ["type": "string"]),
    ("$gt", "A number greater than this.", ["type": "number"]),
    ("$gte", "A number that is this or greater.", ["type": "number"]),
    ("$lt", "A number less than this.", ["type": "number"]),
    ("$lte", "A number that is this or less.", ["type": "number"]),
    (
      "$approx", "A number about this.",
      [
        "anyOf": [
          ["type": "number"],
          [
            "type": "object", "additionalProperties": false, "required": ["value", "tolerance"],
            "properties": [
              "value": ["type": "number", "description": "The number."],
              "tolerance": [
                "type": "number", "minimum": 0, "description": "How far off it may be.",
              ],
            ],
          ],
        ]
      ]
    ),
    (
      "$contains", "A text that holds this text, or a list with an element that matches.",
      ["$ref": "#/$defs/matcher"]
    ),
    (
      "$length", "How many characters, elements or keys: a number, or operators on one.",
      ["anyOf": [["type": "integer", "minimum": 0], ["$ref": "#/$defs/operators"]]]
    ),
    (
      "$type", "The kind of value, or a list of kinds.",
      ["anyOf": [types, ["type": "array", "minItems": 1, "items": types]]]
    ),
    ("$schema", "A value that this JSON Schema allows.", ["type": ["object", "boolean"]]),
    ("$ignoreCase", "This text, whatever the case of its letters.", ["type": "string"]),
    ("$exact", "Exactly this value, with no other keys.", [:]),
    (
      "$subsetOf",
      "An object whose every key is here, with this value or what its operators allow.",
      [
        "type": "object",
        "additionalProperties": ["if": hasOperator, "then": ["$ref": "#/$defs/operators"]],
      ]
    ),
    (
      "$from",
      """
      A value that an earlier result held, in the input of a call or an answer; in what a policy rule \
      says of earlier calls, one of the input of the call that it is asked about.
      """,
      [
        "type": "object", "additionalProperties": false, "required": ["path"],
        "properties": [
          "tool": [
            "type": "string",
            "description": """
            The tool, or a glob, whose result held it. Needed, but where a policy rule speaks of \
            earlier calls: there it is left out.
            """,
          ],
          "path": [
            "type": "string", "pattern": "^(/([^~]|~[01])*)?$",
            "description": "From the data of the result to the value; * is every key or element.",
          ],
          "input": ["$ref": "#/$defs/matcher", "description": "What went into that call."],
        ],
      ]
    ),
    ("$literal", "This value, with keys such as $regex taken as they are.", [:]),
  ]

  private static let list: JSONObject = matchers.objectValue ?? [:]
}
