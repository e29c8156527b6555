import AgentTrace
import TraceJudging

/// What the schemas say of cases.
enum CaseSchema {
  /// A file: a case, a list of cases, or `cases:`.
  static var file: JSONObject {
    [
      "if": ["type": "array"],
      "then": ["minItems": 1, "items": ["$ref": "#/$defs/case"]],
      "else": [
        "if": ["type": "object", "required": ["cases"], "not": ["required": ["caseId"]]],
        "then": [
          "additionalProperties": false,
          "properties": [
            "$schema": [
              "type": "string", "description": "The JSON Schema of this file, for editors.",
            ],
            "cases": [
              "type": "array", "minItems": 1, "items": ["$ref": "#/$defs/case"],
              "description": "The cases of this file.",
            ],
          ],
        ],
        "else": ["$ref": "#/$defs/rootCase"],
      ],
      "$defs": [
        "case": .object(object(CaseFile.fields)),
        "rootCase": .object(object(CaseFile.rootFields)),
        "expected": .object(ExpectationsSchema.expected),
        "executed": ExpectationsSchema.entries(isExecuted: true),
        "proposed": ExpectationsSchema.entries(isExecuted: false),
      ],
    ]
  }

  private static func object(_ fields: [Field<CaseFile.Draft>]) -> JSONObject {
    FileSchema.object(
      fields,
      constraints: [
        // `input` may be missing or empty only where there is a recording; without an agent, too,
        // because `--runs` may find the recording by the case's id.
        "if": ["required": ["agent"], "not": ["required": ["recording"]]],
        "then": ["required": ["input"], "properties": ["input": ["minLength": 1]]],
      ])
  }
}

/// What the schemas say of `expected`; the parser is TraceJudging's.
enum ExpectationsSchema {
  static let expected: JSONObject = [
    "type": "object", "additionalProperties": false, "minProperties": 1,
    "properties": [
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
    ],
    "allOf": [
      // An order alone, or an order without calls to be in it, expects nothing.
      ["not": ["required": ["order"], "maxProperties": 1]],
      [
        "if": [
          "required": ["order"], "properties": ["order": ["enum": ["in_order", "exact"]]],
        ],
        "then": ["anyOf": [["required": ["toolsCalled"]], ["required": ["toolsProposed"]]]],
      ],
      [
        "if": ["not": ["required": ["order"], "properties": ["order": ["const": "exact"]]]],
        "then": ["properties": ["toolsCalled": ["minItems": 1]]],
      ],
    ],
  ]

  /// A list of calls. One that was refused was never executed, so an executed call is not only that.
  static func entries(isExecuted: Bool) -> JSONValue {
    let statuses = CallStatus.allCases.map(\.rawValue)
    let usable = isExecuted ? statuses.filter { $0 != CallStatus.refused.rawValue } : statuses
    return [
      "type": "array", "maxItems": JSONValue(Expectations.entryLimit),
      "items": [
        "anyOf": [
          ["type": "string", "description": "A tool's name, or a glob such as delete_*."],
          [
            "type": "object", "additionalProperties": false, "required": ["tool"],
            "properties": [
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
              "times": [
                "description": "How many calls match: a number, or min and max.",
                "anyOf": [times, range],
              ],
              "caller": [
                "type": "string",
                "description": "Who makes the call, or a glob; without it everybody but user.",
              ],
            ],
          ],
        ]
      ],
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
