package import AgentTrace

/// What the JSON Schemas of case files say of `expected`: put together of what each expectation says of itself,
/// and of the parts that several of them name.
package enum ExpectationSchema {
  /// `$defs` of each schema that speaks of expectations. They name `matcher` and `judgeModel`, which whoever
  /// puts the schema together adds.
  package static var definitions: JSONObject {
    var definitions: JSONObject = [
      "expected": [
        "if": ["type": "array"],
        "then": ["minItems": 1, "maxItems": 100, "items": ref("expectations")],
        "else": ref("expectations"),
      ],
      "expectations": .object(expected),
      "executed": entries(isExecuted: true), "proposed": entries(isExecuted: false),
      "executedMoment": call(isExecuted: true, isCounted: false),
      "proposedMoment": call(isExecuted: false, isCounted: false),
      "times": ["anyOf": [number, range], "not": openNumber],
      "callTimes": ["anyOf": [number, range]],
      "globs": [
        "anyOf": [
          glob, ["type": "array", "minItems": 1, "maxItems": limit, "items": glob],
        ]
      ],
    ]
    for kind in Expectations.kinds {
      for part in kind.schemaParts { definitions[part.key] = part.value }
    }
    return definitions
  }

  /// A mapping of expectations.
  package static var expected: JSONObject {
    var properties = JSONObject()
    for kind in Expectations.kinds { properties[kind.key] = kind.schema }
    properties[Expectations.severityKey] = [
      "description": "What it means that one of these is not met.", "type": "string",
      "enum": JSONValue(Severity.allCases.map(\.rawValue)),
    ]
    return [
      "type": "object", "additionalProperties": false, "properties": .object(properties),
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
        // Without an order, and where others may be called, a number that is left open says nothing.
        [
          "if": [
            "properties": ["order": ["const": "any"], "extra": ["const": "allow"]]
          ],
          "then": [
            "properties": [
              "toolsCalled": ["items": withNumber], "toolsProposed": ["items": withNumber],
            ]
          ],
        ],
      ],
    ]
  }

  // MARK: Parts

  static let limit = JSONValue(Expectations.entryLimit)
  static let glob: JSONValue = ["type": "string"]

  static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }

  /// A matcher of what a call is given, which is never nothing.
  private static func input(_ text: String) -> JSONValue {
    ["description": .string(text), "$ref": "#/$defs/matcher", "not": ["const": .null]]
  }

  /// One of the parts, with what it means here.
  static func described(_ text: String, _ name: String) -> JSONValue {
    ["description": .string(text), "$ref": .string("#/$defs/\(name)")]
  }

  static func name(_ text: String) -> JSONValue {
    ["description": .string(text), "type": "string"]
  }

  static func count(_ text: String) -> JSONValue {
    ["description": .string(text), "type": "integer", "minimum": 0]
  }

  static func word(_ words: [String]) -> JSONValue {
    ["type": "string", "enum": JSONValue(words)]
  }

  static func words(_ words: [String]) -> JSONValue {
    ["type": "array", "minItems": 1, "items": word(words)]
  }

  static func list(_ text: String, _ item: JSONValue) -> JSONValue {
    [
      "description": .string(text), "type": "array", "minItems": 1, "maxItems": limit,
      "items": item,
    ]
  }

  static func oneOrMore(_ name: String) -> JSONValue {
    [
      "if": ["type": "array"],
      "then": ["minItems": 1, "maxItems": limit, "items": ref(name)],
      "else": ref(name),
    ]
  }

  /// A mapping of these keys and no others.
  static func record(
    _ properties: [(String, JSONValue)], required: [String] = []
  ) -> JSONObject {
    [
      "type": "object", "additionalProperties": false, "required": JSONValue(required),
      "properties": .object(JSONObject(properties)),
    ]
  }

  /// Such a mapping that says something, and what it is.
  static func mapping(_ text: String, _ properties: [(String, JSONValue)]) -> JSONValue {
    var schema = record(properties)
    schema["description"] = .string(text)
    schema["minProperties"] = 1
    return .object(schema)
  }

  // MARK: Calls

  /// A list of calls. One that was refused was never executed, so an executed call is not only that.
  private static func entries(isExecuted: Bool) -> JSONValue {
    [
      "type": "array", "maxItems": limit,
      "items": [
        "anyOf": [
          ["type": "string", "description": "A tool's name, or a glob such as delete_*."],
          call(isExecuted: isExecuted, isCounted: true),
        ]
      ],
    ]
  }

  /// A call, a name or a glob.
  static func call(_ text: String, isExecuted: Bool) -> JSONValue {
    [
      "description": .string(text),
      "anyOf": [glob, ref(isExecuted ? "executedMoment" : "proposedMoment")],
    ]
  }

  /// A call. In a moment it is one, so there it has no number of times.
  private static func call(isExecuted: Bool, isCounted: Bool) -> JSONValue {
    let statuses = CallStatus.allCases.map(\.rawValue)
    let usable = isExecuted ? statuses.filter { $0 != CallStatus.refused.rawValue } : statuses
    var properties: JSONObject = [
      "tool": name("A tool's name, or a glob such as delete_*."),
      "input": input("What goes in."),
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
      "result": described("The data of a result that is ok, else the reason.", "matcher"),
      "caller": name("Who makes the call, or a glob; without it everybody but a simulated user."),
      "defaults": [
        "description": "Arguments that may be left out, with the values they have then.",
        "type": "object", "minProperties": 1,
      ],
      "ignore": described("Arguments, or globs of them, that are not looked at.", "globs"),
    ]
    if isCounted {
      properties["times"] = described(
        "How many calls match: a number, or min and max.", "callTimes")
    }
    return [
      "type": "object", "additionalProperties": false, "required": ["tool"],
      "properties": .object(properties),
      "dependentRequired": ["defaults": ["input"], "ignore": ["input"]],
    ]
  }

  private static let number: JSONValue = [
    "type": "integer", "minimum": 0, "maximum": JSONValue(Expectations.timesLimit),
  ]

  private static let range: JSONValue = [
    "type": "object", "additionalProperties": false, "minProperties": 1,
    "properties": [
      "min": bound("The fewest calls."), "max": bound("The most calls."),
    ],
  ]

  private static func bound(_ text: String) -> JSONValue {
    [
      "type": "integer", "minimum": 0, "maximum": JSONValue(Expectations.timesLimit),
      "description": .string(text),
    ]
  }

  /// Bounds that every number keeps.
  private static let openNumber: JSONValue = ["const": ["min": 0]]

  /// A call whose number of times, where it has one, says something by itself.
  static let withNumber: JSONValue = [
    "not": ["type": "object", "required": ["times"], "properties": ["times": openNumber]]
  ]

  /// How often: of verdicts, approvals and notes.
  static let times: (String, JSONValue) = (
    "times", described("How often: a number, or min and max.", "times")
  )

  // MARK: Verdicts and approvals

  /// `tool`, `input` and `caller` where they speak of another moment than a call.
  private static let callProperties: [(String, JSONValue)] = [
    ("tool", name("The tool of the call, or a glob.")),
    ("input", input("What goes into the call.")),
    ("caller", name("Who makes the call, or a glob; without it everybody but a simulated user.")),
  ]

  static let verdictProperties: [(String, JSONValue)] =
    [
      (
        "verdict",
        [
          "description": "The word of policy: one, or a list of them.",
          "anyOf": [
            word(VerdictStatus.allCases.map(\.rawValue)),
            words(VerdictStatus.allCases.map(\.rawValue)),
          ],
        ]
      ),
      ("rule", name("The rule that gave it, or a glob.")),
      ("reason", described("Why, in words.", "textMatcher")),
    ] + callProperties

  static let approvalProperties: [(String, JSONValue)] =
    [
      (
        "approval",
        [
          "description": "What the person said.", "type": "string",
          "enum": ["granted", "denied", "any"],
        ]
      ),
      ("by", name("Who answered, or a glob.")),
    ] + callProperties
}
