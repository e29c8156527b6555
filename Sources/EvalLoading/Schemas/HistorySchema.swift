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
        "startedAt": .text("When the run of the suite began: RFC 3339, in UTC."),
        "elapsedMicroseconds": .count("How long it took."),
        "commit": .text("The commit that was judged, where known."),
        "branch": .text("Its branch, where known."),
        "program": .text("The version of agent-eval that judged."),
        "cases": [
          "type": "array", "maxItems": JSONValue(SuiteRecord.mostCases),
          "items": ["$ref": "#/$defs/case"], "description": "One for each case that was judged.",
        ],
        "skipped": .list(of: ["type": "string"], "The ids of the cases that were left out."),
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

  private static func evalCase(with more: JSONObject, required: [String]) -> JSONObject {
    var properties: JSONObject = [
      "caseId": .text("The case's name."),
      "outcome": .word(of: outcome, "The judge's word on the case."),
      "trials": [
        "type": "array", "items": ["enum": outcome], "maxItems": JSONValue(SuiteRecord.mostTrials),
        "description": "The words on its runs, in their order.",
      ],
      "live": .flag("Whether its agent was run for it."),
      "safety": .flag("Whether one failure fails it."),
      "passThreshold": .count("How many of its trials had to pass."),
      "decisive": [
        "type": "object", "required": ["expectation", "message"],
        "description": "The first expectation that decided, where it did not pass.",
        "properties": [
          "expectation": .text("Its place in the case."),
          "message": .text("What was said of it."),
        ],
      ],
      "failedChecks": .count("How many expectations of its runs failed."),
      "warnedChecks": .count("How many did that only warn."),
      "error": .text("Why it could not be judged."),
      "usage": .part("usage", "What its runs used together; left out where none could be read."),
      "agent": .text("The name of its agent."),
      "model": .text("The name of its model."),
      "subject": .text("A digest of agent, model, policy, tools and limits."),
      "asked": .text("A digest of input, plan and expectations."),
      "cluster": .text("What it shares with other cases."),
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
      "runs": .count("The runs that are counted."), "steps": .count("Completed steps."),
      "toolCalls": .count("Executed calls."), "inputTokens": .count("Tokens that models read."),
      "outputTokens": .count("Tokens that models wrote."),
      "elapsedMicroseconds": .count("Time that passed in the runs."),
      "cost": [
        "type": "number", "minimum": 0, "description": "Money; left out where it is not known.",
      ],
    ],
  ]

  private static let point: JSONValue = .object(
    evalCase(
      with: [
        "file": .text("The file, relative to the folder."),
        "startedAt": .text("When the run of the suite began."),
        "commit": .text("The commit that was judged, where known."),
        "branch": .text("Its branch, where known."),
        "flip": .word(
          of: JSONValue(CaseTrend.Flip.allCases.map(\.rawValue)),
          "What it means that the outcome is another than the last that was decided."),
        "rate": .decimal("Of a live case: passed by decided trials."),
        "interval": .list(of: ["type": "number"], "Wilson's 95 % interval for the rate."),
      ], required: ["file", "startedAt"]))

  private static let trend: JSONValue = [
    "type": "object",
    "required": ["caseId", "state", "live", "outcomes", "flips", "pairs", "inNewestRun", "newest"],
    "properties": [
      "caseId": .text("The case's name."),
      "branch": .text("The branch of all its runs; left out where not known."),
      "state": .word(
        of: JSONValue(CaseTrend.State.allCases.map(\.rawValue)), "What can be said of it by now."),
      "live": .flag("Whether its agent was run for it last."),
      "outcomes": .list(
        of: ["enum": outcome],
        "Its outcomes, oldest first, one for each run of the suite that has it."),
      "flips": .count("How often a trial came out otherwise than the last, nothing being changed."),
      "pairs": .count("Of how many pairs of trials."),
      "flipRate": .decimal("Flips by pairs; left out without pairs."),
      "inNewestRun": .flag("Whether the newest run of the suite on its branch has it."),
      "newest": .part("point", "The case in the newest run that has it."),
      "firstFailing": .part(
        "point", "The first run that it failed in since it last passed, where it fails."),
      "lastPassing": .part("point", "The last run that it passed in."),
    ],
  ]
}
