import AgentTrace
import TraceJudging

/// What the schemas say of the words of `expected` beyond the four lists, the stop and the answer.
enum WordSchema {
  /// The properties of `expected`, by name.
  static var properties: [(String, JSONValue)] {
    [
      (
        "extra",
        [
          "description": "Whether calls may be executed that toolsCalled does not speak of.",
          "type": "string", "enum": ["allow", "forbid"],
        ]
      ),
      (
        "eachCall",
        list(
          "Calls as each executed call of their tool must be.",
          [
            "allOf": [
              ref("executedMoment"),
              [
                "anyOf": [
                  ["required": ["input"]], ["required": ["status"]], ["required": ["result"]],
                ]
              ],
            ]
          ])
      ),
      ("time", list("What comes before, after, until something else.", ref("timeRule"))),
      ("budget", budget),
      (
        "noRepeatedSideEffect",
        [
          "description": "No write is done twice: true, or the tools that this speaks of.",
          "anyOf": [["const": true], ref("globs")],
        ]
      ),
      (
        "noLoops",
        [
          "description": "No call is made so often with nothing new learned; true is 3.",
          "anyOf": [
            ["const": true],
            [
              "type": "integer", "minimum": 2, "maximum": JSONValue(Expectations.timesLimit),
            ],
          ],
        ]
      ),
      ("maxInvalidDecisions", count("Decisions that could not be used, at most.")),
      ("maxRetries", count("Attempts at calls beyond their first, at most.")),
      ("answerJson", described("What the last answer says, read as JSON.", "matcher")),
      ("evidence", evidence), ("state", state), ("policy", policy),
      (
        "noApprovalBypass",
        [
          "description": "No call runs without the approval that policy asked for.", "const": true,
        ]
      ),
      (
        "context",
        [
          "description": "What the model is shown.",
          "anyOf": [
            ref("contextRule"), ["type": "array", "minItems": 1, "items": ref("contextRule")],
          ],
        ]
      ),
      ("memory", memory), ("exec", list("Programs that judge along.", ref("program"))),
      ("judge", judge),
      (
        "severity",
        [
          "description": "What it means that one of these is not met.", "type": "string",
          "enum": JSONValue(Severity.allCases.map(\.rawValue)),
        ]
      ),
    ]
  }

  /// The parts that the properties refer to.
  static var definitions: JSONObject {
    [
      "globs": [
        "anyOf": [
          glob, ["type": "array", "minItems": 1, "maxItems": limit, "items": glob],
        ]
      ],
      "moment": .object(moment), "moments": oneOrMore("moment"),
      "timeRule": .object(timeRule), "runLimits": .object(limits(Budget.Measure.allCases)),
      "toolLimits": .object(limits([.calls, .seconds, .retries, .errors])),
      "contextRule": .object(contextRule), "judgeRule": .object(judgeRule),
      "omitted": oneOrMore("omittedItem"),
      "omittedItem": [
        "anyOf": [
          glob,
          [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": [
              "ref": name("What is left out: its reference, or a glob."),
              "reason": described("Why.", "matcher"),
            ],
          ],
        ]
      ],
      "note": [
        "anyOf": [
          glob,
          [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": [
              "scope": name("Whose note, or a glob."), "key": name("Its key, or a glob."),
              "value": described("What it says.", "matcher"),
              "times": described("How often: a number, or min and max.", "times"),
            ],
          ],
        ]
      ],
      "program": [
        "type": "object", "additionalProperties": false, "required": ["command"],
        "properties": [
          "command": [
            "description": "The program and its arguments; a path starts from this file's folder.",
            "type": "array", "minItems": 1, "items": ["type": "string"],
            "prefixItems": [["type": "string", "minLength": 1]],
          ],
          "timeoutSeconds": [
            "description": "After so many seconds it is stopped; 10 without it.", "type": "number",
            "exclusiveMinimum": 0, "maximum": 3600,
          ],
          "maxOutputBytes": [
            "description": "More output than this is refused; 1 MiB without it.",
            "type": "integer", "minimum": 1, "maximum": 16_777_216,
          ],
        ],
      ],
    ]
  }

  // MARK: Parts

  private static let limit = JSONValue(Expectations.entryLimit)
  private static let glob: JSONValue = ["type": "string"]

  private static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }

  private static func described(_ text: String, _ name: String) -> JSONValue {
    ["description": .string(text), "$ref": .string("#/$defs/\(name)")]
  }

  private static func name(_ text: String) -> JSONValue {
    ["description": .string(text), "type": "string"]
  }

  private static func count(_ text: String) -> JSONValue {
    ["description": .string(text), "type": "integer", "minimum": 0]
  }

  private static func list(_ text: String, _ item: JSONValue) -> JSONValue {
    [
      "description": .string(text), "type": "array", "minItems": 1, "maxItems": limit,
      "items": item,
    ]
  }

  private static func oneOrMore(_ name: String) -> JSONValue {
    [
      "if": ["type": "array"],
      "then": ["minItems": 1, "maxItems": limit, "items": ref(name)],
      "else": ref(name),
    ]
  }

  /// A call, a name or a glob.
  private static func call(_ text: String, isExecuted: Bool) -> JSONValue {
    [
      "description": .string(text),
      "anyOf": [glob, ref(isExecuted ? "executedMoment" : "proposedMoment")],
    ]
  }

  /// `tool`, `input` and `caller` where they speak of another moment than a call.
  private static let callProperties: [(String, JSONValue)] = [
    ("tool", name("The tool of the call, or a glob.")),
    ("input", described("What goes into the call.", "matcher")),
    ("caller", name("Who makes the call, or a glob; without it everybody but user.")),
  ]

  private static func record(
    _ properties: [(String, JSONValue)], required: [String] = []
  ) -> JSONObject {
    [
      "type": "object", "additionalProperties": false, "required": JSONValue(required),
      "properties": .object(JSONObject(properties)),
    ]
  }

  private static let verdictProperties: [(String, JSONValue)] =
    [
      (
        "verdict",
        [
          "description": "The word of policy: one, or a list of them.",
          "anyOf": [
            verdictWord, ["type": "array", "minItems": 1, "items": verdictWord],
          ],
        ]
      ),
      ("rule", name("The rule that gave it, or a glob.")),
      ("reason", described("Why, in words.", "matcher")),
    ] + callProperties

  private static let times: (String, JSONValue) = (
    "times", described("How often: a number, or min and max.", "times")
  )

  private static let verdictWord: JSONValue = [
    "type": "string", "enum": ["allow", "deny", "approval_required"],
  ]

  private static let approvalProperties: [(String, JSONValue)] =
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

  // MARK: Moments

  private static var moment: JSONObject {
    func branch(_ key: String, _ schema: JSONObject, _ otherwise: JSONValue) -> JSONValue {
      [
        "if": ["type": "object", "required": [.string(key)]], "then": .object(schema),
        "else": otherwise,
      ]
    }
    let stop = StopReason.names
    var schema: JSONValue = ["anyOf": [glob, ref("executedMoment")]]
    schema = branch(
      "invalidDecision",
      record([
        (
          "invalidDecision",
          ["description": "A decision that could not be used.", "const": true]
        )
      ]), schema)
    schema = branch(
      "stop",
      record([
        (
          "stop",
          [
            "description": "The end or a pause, for one of these reasons; true is any.",
            "anyOf": [
              ["const": true], ["type": "string", "enum": JSONValue(stop)],
              [
                "type": "array", "minItems": 1,
                "items": ["type": "string", "enum": JSONValue(stop)],
              ],
            ],
          ]
        )
      ]), schema)
    schema = branch(
      "answer", record([("answer", described("What the answer is.", "matcher"))]), schema)
    schema = branch(
      "reply",
      record([
        ("reply", described("What a person says.", "matcher")),
        ("by", name("Who says it, or a glob.")),
      ]), schema)
    schema = branch("approval", record(approvalProperties), schema)
    schema = branch("verdict", record(verdictProperties), schema)
    for (key, text) in [
      ("returned", "A call whose result comes in."), ("proposed", "A call that is proposed."),
    ] {
      schema = branch(key, record([(key, call(text, isExecuted: false))]), schema)
    }
    schema = branch(
      "called", record([("called", call("A call that begins to run.", isExecuted: true))]), schema)
    return schema.objectValue ?? [:]
  }

  private static var timeRule: JSONObject {
    func moments(_ text: String) -> JSONValue { described(text, "moments") }
    var schema = record([
      ("eventually", moments("One of these happens.")),
      ("never", moments("None of these happens.")),
      ("only", moments("Of their sort, nothing but these happens.")),
      ("expect", moments("One of these happens, before or after the other.")),
      ("before", moments("What it stands before.")),
      ("after", moments("What it stands behind.")),
      ("until", moments("What it holds until, and what must come.")),
      ("within", count("In at most so many steps.")),
    ])
    func form(_ claims: [String], _ relations: [String], within: Bool, alone: Bool) -> JSONValue {
      var keys = claims + relations
      if within { keys.append("within") }
      func one(of names: [String]) -> JSONValue {
        ["oneOf": .array(names.map { ["required": [.string($0)]] })]
      }
      var all: [JSONValue] = [one(of: claims)]
      if !relations.isEmpty, !alone { all.append(one(of: relations)) }
      return ["propertyNames": ["enum": JSONValue(keys)], "allOf": .array(all)]
    }
    schema["anyOf"] = [
      form(["eventually"], [], within: true, alone: true),
      form(["never", "only"], [], within: false, alone: true),
      form(["never", "only"], ["before", "until"], within: false, alone: false),
      form(["never", "only"], ["after"], within: true, alone: false),
      form(["expect"], ["before", "after"], within: true, alone: false),
    ]
    return schema
  }

  // MARK: Mappings

  private static func limits(_ measures: [Budget.Measure]) -> JSONObject {
    record(measures.map { ($0.rawValue, limit(of: $0)) })
  }

  private static func limit(of measure: Budget.Measure) -> JSONValue {
    let text =
      switch measure {
      case .steps: "Steps with a decision, at most."
      case .calls: "Executed calls, at most."
      case .modelCalls: "Calls of the model, at most."
      case .tokens: "Tokens in and out, at most."
      case .inputTokens: "Tokens in, at most."
      case .outputTokens: "Tokens out, at most."
      case .cost: "What the model's calls cost, at most."
      case .seconds: "Active run time in seconds, at most; of a tool, that of its calls."
      case .retries: "Attempts beyond the first, at most."
      case .errors: "Calls that failed, at most."
      }
    let isFraction = measure == .cost || measure == .seconds
    return [
      "description": .string(text), "type": isFraction ? "number" : "integer", "minimum": 0,
    ]
  }

  private static var budget: JSONValue {
    let names = Budget.Measure.allCases
    var properties = names.map { ($0.rawValue, limit(of: $0)) }
    properties.append(
      (
        "tools",
        [
          "description": "Limits by tool, or by a glob of tools.", "type": "object",
          "minProperties": 1,
          "additionalProperties": [
            "allOf": [ref("toolLimits")], "minProperties": 1,
          ],
        ]
      ))
    properties.append(
      (
        "subRuns",
        ["description": "Whether runs that this one started count with it.", "type": "boolean"]
      ))
    var schema = record(properties)
    schema["description"] = "How much a run may use."
    schema["anyOf"] = .array(
      (names.map(\.rawValue) + ["tools"]).map { ["required": [.string($0)]] })
    return .object(schema)
  }

  private static var evidence: JSONValue {
    var schema = record([
      (
        "observed",
        ["description": "Every observation cited was made before the answer.", "const": true]
      ),
      ("min", count("So many are cited, at least.")),
      ("cites", list("Calls whose results are cited.", ["anyOf": [glob, ref("proposedMoment")]])),
    ])
    schema["description"] = "What the answer rests on."
    schema["minProperties"] = 1
    return .object(schema)
  }

  private static let state: JSONValue = [
    "description": "Places of the final state, as JSON Pointers, and what stands there.",
    "type": "object", "minProperties": 1,
    "propertyNames": ["pattern": "^(/([^~]|~[01])*)?$"],
    "additionalProperties": ["$ref": "#/$defs/matcher"],
  ]

  private static var policy: JSONValue {
    func list(_ text: String, _ properties: [(String, JSONValue)]) -> JSONValue {
      Self.list(text, .object(record(properties)))
    }
    var schema = record([
      ("given", list("Verdicts that are given.", verdictProperties + [times])),
      ("notGiven", list("Verdicts that are not given.", verdictProperties + [times])),
      ("approvals", list("Answers of people that there are.", approvalProperties + [times])),
      ("noApprovals", list("Answers of people that there are not.", approvalProperties + [times])),
    ])
    schema["description"] = "What policy and people say of the calls."
    schema["minProperties"] = 1
    return .object(schema)
  }

  private static var memory: JSONValue {
    var schema = record([
      ("read", list("Notes that are read.", ref("note"))),
      ("notRead", list("Notes that are not read.", ref("note"))),
      ("written", list("Notes that are written.", ref("note"))),
      ("notWritten", list("Notes that are not written.", ref("note"))),
    ])
    schema["description"] = "Which notes are read and written."
    schema["minProperties"] = 1
    return .object(schema)
  }

  private static var judge: JSONValue {
    [
      "description": "What models say of the run by a rubric.",
      "anyOf": [
        ref("judgeRule"),
        ["type": "array", "minItems": 1, "maxItems": limit, "items": ref("judgeRule")],
      ],
    ]
  }

  private static var judgeRule: JSONObject {
    let text: JSONValue = ["type": "string", "minLength": 1, "pattern": "\\S"]
    var schema = record([
      (
        "rubric",
        [
          "description": "What must hold: a statement, or statements by name.",
          "anyOf": [
            text,
            [
              "type": "object", "minProperties": 1,
              "maxProperties": JSONValue(JudgeRule.statementLimit),
              "propertyNames": ["pattern": "^[A-Za-z0-9_-]{1,64}$"], "additionalProperties": text,
            ],
          ],
        ]
      ),
      ("model", JudgeFile.schema),
      (
        "shown",
        [
          "description": "What of the run the model is shown; answer without it.",
          "type": "string", "enum": JSONValue(JudgeRule.Shown.allCases.map(\.rawValue)),
        ]
      ),
      (
        "instructions",
        [
          "description": "What else the model is told.", "type": "string", "minLength": 1,
          "pattern": "\\S",
        ]
      ),
      (
        "votes",
        [
          "description": "How often it is asked; once without it.", "type": "integer",
          "minimum": 1, "maximum": JSONValue(JudgeRule.voteLimit),
        ]
      ),
      (
        "threshold",
        [
          "description": "The share of votes that a statement needs; without it more than half.",
          "type": "number", "exclusiveMinimum": 0, "maximum": 1,
        ]
      ),
    ])
    schema["required"] = ["rubric", "model"]
    return schema
  }

  private static var contextRule: JSONObject {
    func texts(_ text: String) -> JSONValue {
      [
        "description": .string(text), "if": ["type": "array"],
        "then": ["minItems": 1, "maxItems": limit, "items": ref("matcher")],
        "else": ref("matcher"),
      ]
    }
    var schema = record([
      ("steps", described("Which steps: a number, or min and max.", "times")),
      ("offers", described("Tools, or globs, that some context offers.", "globs")),
      ("neverOffers", described("Tools, or globs, that no context offers.", "globs")),
      ("contains", texts("Texts that some prompt holds: a part, or a matcher.")),
      ("neverContains", texts("Texts that no prompt holds: a part, or a matcher.")),
      (
        "evidence",
        list("Calls whose results some context holds.", ["anyOf": [glob, ref("proposedMoment")]])
      ),
      ("maxTokens", count("The estimate of tokens of each context, at most.")),
      ("omits", described("What some context leaves out.", "omitted")),
      ("neverOmits", described("What no context leaves out.", "omitted")),
    ])
    schema["not"] = ["propertyNames": ["const": "steps"]]
    return schema
  }
}
