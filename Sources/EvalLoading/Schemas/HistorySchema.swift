import AgentTrace
import TraceJudging

/// The schemas of what is kept of runs of suites, and of what `agent-eval history` prints for programs.
enum HistorySchema {
  /// A file that `--history` writes.
  static var record: JSONObject {
    [
      "type": "object", "required": ["schema", "startedAt", "cases"],
      "properties": [
        "schema": [
          "const": .string(SuiteRecord.schema),
          "description": "The format; keys are added to it and never renamed.",
        ],
        "startedAt": [
          "type": "string", "description": "When the run of the suite began: RFC 3339, in UTC.",
        ],
        "elapsedMicroseconds": count("How long it took."),
        "commit": ["type": "string", "description": "The commit that was judged, where known."],
        "branch": ["type": "string", "description": "Its branch, where known."],
        "program": ["type": "string", "description": "The version of agent-eval that judged."],
        "cases": [
          "type": "array", "maxItems": JSONValue(SuiteRecord.mostCases),
          "items": ["$ref": "#/$defs/case"], "description": "One for each case that was judged.",
        ],
        "skipped": [
          "type": "array", "items": ["type": "string"],
          "description": "The ids of the cases that were left out.",
        ],
      ],
      "$defs": ["case": .object(evalCase(with: [:], required: [])), "usage": usage],
    ]
  }

  /// A line that `agent-eval history --json` prints: of a case, or of a case in one run.
  static var line: JSONObject {
    [
      "type": "object",
      "anyOf": [["$ref": "#/$defs/trend"], ["$ref": "#/$defs/point"]],
      "$defs": ["trend": trend, "point": point, "usage": usage],
    ]
  }

  private static let outcome = JSONValue(CaseOutcome.allCases.map(\.rawValue))

  private static func count(_ description: String) -> JSONValue {
    ["type": "integer", "minimum": 0, "description": .string(description)]
  }

  private static func evalCase(with more: JSONObject, required: [String]) -> JSONObject {
    var properties: JSONObject = [
      "caseId": ["type": "string", "description": "The case's name."],
      "outcome": ["enum": outcome, "description": "The judge's word on the case."],
      "trials": [
        "type": "array", "items": ["enum": outcome], "maxItems": JSONValue(SuiteRecord.mostTrials),
        "description": "The words on its runs, in their order.",
      ],
      "live": ["type": "boolean", "description": "Whether its agent was run for it."],
      "safety": ["type": "boolean", "description": "Whether one failure fails it."],
      "passThreshold": count("How many of its trials had to pass."),
      "decisive": [
        "type": "object", "required": ["expectation", "message"],
        "description": "The first expectation that decided, where it did not pass.",
        "properties": [
          "expectation": ["type": "string", "description": "Its place in the case."],
          "message": ["type": "string", "description": "What was said of it."],
        ],
      ],
      "failedChecks": count("How many expectations of its runs failed."),
      "warnedChecks": count("How many did that only warn."),
      "error": ["type": "string", "description": "Why it could not be judged."],
      "usage": [
        "$ref": "#/$defs/usage",
        "description": "What its runs used together; left out where none could be read.",
      ],
      "agent": ["type": "string", "description": "The name of its agent."],
      "model": ["type": "string", "description": "The name of its model."],
      "subject": [
        "type": "string", "description": "A digest of agent, model, policy, tools and limits.",
      ],
      "asked": ["type": "string", "description": "A digest of input, plan and expectations."],
      "cluster": ["type": "string", "description": "What it shares with other cases."],
    ]
    for member in more { properties[member.key] = member.value }
    return [
      "type": "object", "required": JSONValue(["caseId", "outcome", "trials"] + required),
      "properties": .object(properties),
    ]
  }

  private static let usage: JSONValue = [
    "type": "object",
    "properties": [
      "runs": count("The runs that are counted."), "steps": count("Completed steps."),
      "toolCalls": count("Executed calls."), "inputTokens": count("Tokens that models read."),
      "outputTokens": count("Tokens that models wrote."),
      "elapsedMicroseconds": count("Time that passed in the runs."),
      "cost": [
        "type": "number", "minimum": 0, "description": "Money; left out where it is not known.",
      ],
    ],
  ]

  private static let point: JSONValue = .object(
    evalCase(
      with: [
        "file": ["type": "string", "description": "The file, relative to the folder."],
        "startedAt": ["type": "string", "description": "When the run of the suite began."],
        "commit": ["type": "string", "description": "The commit that was judged, where known."],
        "branch": ["type": "string", "description": "Its branch, where known."],
        "flip": [
          "enum": JSONValue(CaseTrend.Flip.allCases.map(\.rawValue)),
          "description":
            "What it means that the outcome is another than the last that was decided.",
        ],
        "rate": ["type": "number", "description": "Of a live case: passed by decided trials."],
        "interval": [
          "type": "array", "items": ["type": "number"],
          "description": "Wilson's 95 % interval for the rate.",
        ],
      ], required: ["file", "startedAt"]))

  private static let trend: JSONValue = [
    "type": "object",
    "required": ["caseId", "state", "live", "outcomes", "flips", "pairs", "inNewestRun", "newest"],
    "properties": [
      "caseId": ["type": "string", "description": "The case's name."],
      "branch": [
        "type": "string", "description": "The branch of all its runs; left out where not known.",
      ],
      "state": [
        "enum": JSONValue(CaseTrend.State.allCases.map(\.rawValue)),
        "description": "What can be said of it by now.",
      ],
      "live": ["type": "boolean", "description": "Whether its agent was run for it last."],
      "outcomes": [
        "type": "array", "items": ["enum": outcome],
        "description": "Its outcomes, oldest first, one for each run of the suite that has it.",
      ],
      "flips": count("How often a trial came out otherwise than the last, nothing being changed."),
      "pairs": count("Of how many pairs of trials."),
      "flipRate": ["type": "number", "description": "Flips by pairs; left out without pairs."],
      "inNewestRun": [
        "type": "boolean",
        "description": "Whether the newest run of the suite on its branch has it.",
      ],
      "newest": [
        "$ref": "#/$defs/point", "description": "The case in the newest run that has it.",
      ],
      "firstFailing": [
        "$ref": "#/$defs/point",
        "description": "The first run that it failed in since it last passed, where it fails.",
      ],
      "lastPassing": [
        "$ref": "#/$defs/point", "description": "The last run that it passed in.",
      ],
    ],
  ]
}
