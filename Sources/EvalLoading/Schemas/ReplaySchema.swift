import AgentTrace

/// The schemas of what is said of runs beside each other, and of a policy beside runs.
enum ReplaySchema {
  private static func anything(_ description: String) -> JSONValue {
    ["description": .string(description)]
  }

  private static func format(_ name: String) -> JSONValue {
    [
      "const": .string("agent-eval/\(name)/1"),
      "description": "The format; keys are added to it and never renamed.",
    ]
  }

  // MARK: diff

  /// What `agent-eval diff --json` prints.
  static var diff: JSONObject {
    let row: JSONValue = ["anyOf": [["$ref": "#/$defs/row"], ["type": "null"]]]
    func first(_ description: String) -> JSONValue {
      var object = row.objectValue ?? [:]
      object["description"] = .string(description)
      return .object(object)
    }
    return [
      "type": "object",
      "required": [
        "schema", "same", "left", "right", "first", "firstAct", "differences", "untold", "missing",
        "sameActs", "notes",
      ],
      "properties": [
        "schema": format("diff"),
        "same": .flag("Whether nothing that counts differs, and nothing of it is missing."),
        "left": .part("run", "The run on the left, A."),
        "right": .part("run", "The run on the right, B."),
        "first": first("What differs first; null where nothing does."),
        "firstAct": first("The first act that differs; null where none does."),
        "differences": .list(of: ["$ref": "#/$defs/row"], "All that differs, in order."),
        "untold": .count("Differences beyond those."),
        "missing": .list(
          of: ["type": "string"], "Logs of agents that were called and are not there, in sentences."
        ),
        "sameActs": .count("Acts that are the same."),
        "notes": .list(of: ["type": "string"], "What could not be compared, in sentences."),
      ],
      "$defs": ["run": run, "row": rowSchema, "act": act, "field": field],
    ]
  }

  private static let run: JSONValue = [
    "type": "object", "required": ["log", "runId", "steps", "calls", "stop", "usage"],
    "properties": [
      "log": .text("The log that was read."), "runId": .text("The run's identifier."),
      "steps": .count("Steps that hold a decision."),
      "calls": .count("Proposed calls."),
      "stop": anything("How it ended: reason, detail, final; null where it has no stop."),
      "usage": anything("Tokens and cost, each where it is known."),
      "labels": anything("Versions and digests of files; never compared."),
    ],
  ]

  private static let rowSchema: JSONValue = [
    "type": "object", "required": ["kind", "standing"],
    "properties": [
      "kind": .word(
        of: [
          "start", "call", "answer", "question", "reply", "invalid", "end", "memory", "task",
          "stop", "usage",
        ], "What it is about."),
      "standing": .word(
        of: ["same", "changed", "replaced", "left", "right", "moved_left", "moved_right"],
        "How its two sides are to each other."),
      "left": .part("act", "The act of the left run."),
      "right": .part("act", "The act of the right run."),
      "fields": .list(of: ["$ref": "#/$defs/field"], "What differs in what both have."),
      "untoldFields": .count("Fields beyond those."),
      "together": .word(
        of: ["left", "right"],
        "The side on which the call was made together with the one before; on the other, after it."),
    ],
  ]

  private static let act: JSONValue = [
    "type": "object", "required": ["step", "events"],
    "properties": [
      "step": .count("The step that it belongs to."),
      "events": .list(of: ["type": "integer", "minimum": 0], "The events that show it."),
      "tool": .text("The tool of a call."), "caller": .text("Who made the call."),
      "task": .text("The task of a pipeline, with its element."),
    ],
  ]

  private static let field: JSONValue = [
    "type": "object", "required": ["path"],
    "properties": [
      "path": .text("Where it stands: a JSON Pointer from the act on."),
      "left": anything("What the left has there; left out where it has nothing."),
      "right": anything("What the right has there; left out where it has nothing."),
      "from": .count("Bytes of both texts that were left out at their beginning."),
    ],
  ]

  // MARK: policy backtest

  private static let verdict: JSONValue = ["allow", "deny", "approval_required"]

  private static func counts(_ description: String) -> JSONValue {
    let names = verdict.arrayValue ?? []
    return [
      "type": "object", "required": verdict, "description": .string(description),
      "properties": .object(
        JSONObject(
          names.compactMap(\.stringValue).map { ($0, .count("How many of them: \($0).")) })
      ),
    ]
  }

  /// What `agent-eval policy backtest --json` prints.
  static var backtest: JSONObject {
    let kind: [(String, JSONValue)] = [
      ("tool", .text("The tool that was called.")),
      ("from", .word(of: verdict, "The recorded verdict.")),
      ("to", .word(of: verdict, "The verdict of the policy that is asked.")),
      ("oldRule", .text("The rule of the recorded verdict; left out for the default.")),
      ("newRule", .text("The rule that decides now; left out for the default.")),
    ]
    let required: JSONValue = ["tool", "from", "to"]
    let counted: JSONObject = [
      "type": "object", "required": required,
      "properties": .object(JSONObject(kind + [("count", .count("How many there are."))])),
    ]
    let example: JSONObject = [
      "type": "object", "required": required,
      "properties": .object(
        JSONObject(
          kind + [
            ("log", .text("The log.")),
            ("seq", .count("The event of the recorded verdict.")),
            ("step", .count("Its step.")), ("callId", .text("The call that it is about.")),
          ])),
    ]
    return [
      "type": "object",
      "required": [
        "schema", "logs", "verdicts", "changed", "widens", "kinds", "examples", "unjudged",
        "failures",
      ],
      "properties": [
        "schema": format("backtest"), "policyDigest": .text("SHA-256 of the policy file's bytes."),
        "logs": .count("Logs that were read."),
        "verdicts": .count("Verdicts that were asked for again."),
        "changed": counts("Verdicts that are another now, by what they are now."),
        "widens": .flag("Whether something is allowed now that was denied or asked about."),
        "byOtherRule": .count("Verdicts that are as they were, by another rule."),
        "guarded": .count("Verdicts of a guard of the run, compared with allow."),
        "askedByFork": .count(
          "Verdicts in which a fork asked again, compared with allow."),
        "unclear": .count("Verdicts and calls that the log does not show whole."),
        "unanswered": .count(
          "Verdicts that an authorizer would give which was not asked so then."),
        "undecided": .count(
          "Those of unclear and unanswered by which a call was denied or asked about."),
        "unjudged": counts("Calls without a recorded verdict, by what the policy says of them."),
        "kinds": .list(
          of: .object(counted), "Changes by tool, verdicts and rules, the most frequent first."),
        "examples": .list(of: .object(example), "The first changes to each verdict."),
        "undefinedTools": .list(
          of: ["type": "string"], "Tools without a definition, which count as writing."),
        "failures": [
          "type": "array",
          "items": [
            "type": "object", "required": ["log", "message"],
            "properties": ["log": .text("The log."), "message": .text("Why it was not read.")],
          ],
          "description": "Logs that could not be read.",
        ],
      ],
    ]
  }

  // MARK: policy check

  private static func list(
    _ description: String, _ properties: [(String, JSONValue)], required: [String]
  ) -> JSONValue {
    [
      "type": "array", "description": .string(description),
      "items": [
        "type": "object", "required": JSONValue(required),
        "properties": .object(JSONObject(properties)),
      ],
    ]
  }

  private static func texts(_ description: String) -> JSONValue {
    .list(of: ["type": "string"], description)
  }

  /// What `agent-eval policy check --json` prints.
  static var policyCheck: JSONObject {
    let rules = list(
      "The rules that may decide about it, in order.",
      [
        ("rule", .text("Its id.")), ("verdict", .word(of: verdict, "What it says.")),
        (
          "authorizer",
          .text("Whom it asks; then the verdict is what a call gets that has no answer.")
        ),
        ("conditions", texts("What must hold; empty where it fits every call of the tool.")),
      ], required: ["rule", "verdict", "conditions"])
    return [
      "type": "object",
      "required": ["schema", "rules", "unreachable", "contradictions", "unusedGlobs", "tools"],
      "properties": [
        "schema": format("policy-check"), "file": .text("The file."),
        "rules": .count("Rules that were looked at."),
        "diagnostics": texts("What is wrong with the file itself."),
        "unreachable": list(
          "Rules that never decide.",
          [
            ("rule", .text("Its id.")),
            ("coveredBy", texts("Earlier rules that decide; empty where it fits no tool.")),
          ], required: ["rule", "coveredBy"]),
        "contradictions": list(
          "Rules that fit the same call with different verdicts, so that order alone decides.",
          [
            ("first", .text("The rule that comes first.")),
            ("firstVerdict", .word(of: verdict, "What it says.")),
            ("second", .text("The rule that comes later.")),
            ("secondVerdict", .word(of: verdict, "What it would say.")),
            ("isStricterFirst", .flag("Whether the stricter of them comes first.")),
            ("example", .mapping("A call that both fit.")),
          ], required: ["first", "firstVerdict", "second", "secondVerdict", "example"]),
        "unusedGlobs": list(
          "Names and globs of tools that fit no tool of the agent.",
          [
            ("rule", .text("The rule.")), ("glob", .text("As it is written.")),
            ("nearest", .text("The nearest tool that there is.")),
          ], required: ["rule", "glob"]),
        "tools": list(
          "What each tool gets.",
          [
            ("tool", .text("Its name.")),
            (
              "sideEffect",
              .word(of: ["read", "draft", "write"], "Its side effect.")
            ),
            ("rules", rules),
            (
              "otherwise",
              .word(
                of: verdict, "What a call gets that no rule fits; left out where one always fits.")
            ),
          ], required: ["tool", "sideEffect", "rules"]),
      ],
    ]
  }
}
