import AgentTrace

/// The schema of what `agent-eval inspect` prints for programs.
enum InspectionSchema {
  static var inspection: JSONObject {
    [
      "type": "object", "additionalProperties": false,
      "required": [
        "schema", "runs", "unreadable", "agents", "tools", "stops", "steps", "seen", "usage",
        "unusual",
      ],
      "properties": [
        "schema": [
          "const": "agent-eval/inspection/1",
          "description": "The format; keys are added to it and never renamed.",
        ],
        "runs": .count("Runs that could be read."),
        "unreadable": list(
          "Runs that could not.",
          ["name": .text("What it is called."), "reason": .text("Why it could not be read.")],
          required: ["name", "reason"]),
        "agents": list(
          "Agents by the format that their runs were imported from, those with most runs first.",
          [
            "agent": .text("The agent's name; empty where nobody says."),
            "format": nullable("The format; null for runs of our own."),
            "calls": .word(of: ["whole", "partial"], "Whether all calls are recorded."),
            "runs": .count("Its runs."),
          ], required: ["agent", "format", "runs"]),
        "tools": list("Tools, those with most calls first.", tool, required: ["tool", "calls"]),
        "stops": list(
          "Why runs ended, the most frequent first.",
          [
            "reason": nullable("The reason; null where a run has not ended or nobody says."),
            "runs": .count("Runs that ended so."),
          ], required: ["reason", "runs"]),
        "steps": [
          "type": ["object", "null"], "required": ["least", "median", "most"],
          "description": "Steps of the runs; null without runs.",
          "properties": [
            "least": .count("Of the shortest."), "median": .count("Of the middle one."),
            "most": .count("Of the longest."),
          ],
        ],
        "seen": list(
          "What no run should do, by the expectation that is held against it.",
          [
            "expectation": .text("The key, as in a case."),
            "runs": .count("Runs in which it was seen."),
            "unverifiable": .count("Runs of which nobody can say."),
            "examples": .list(of: ["type": "string"], "The first runs in which it was seen."),
          ], required: ["expectation", "runs", "unverifiable", "examples"]),
        "usage": [
          "type": "object",
          "required": ["inputTokens", "outputTokens", "tokensToldBy", "costToldBy"],
          "description": "What model calls used, as far as runs say so.",
          "properties": [
            "inputTokens": .count("Tokens that models read."),
            "outputTokens": .count("Tokens that models wrote."),
            "tokensToldBy": .count("Runs that say so."),
            "costToldBy": .count("Runs that tell a cost."),
            "cost": .decimal("Money; left out where no run tells it."),
          ],
        ],
        "unusual": list(
          "Paths that few runs take, the most surprising first.",
          [
            "tools": .list(
              of: ["type": "string"], "The tools in the order in which they ran; cut after 50."),
            "bits": .decimal("What a step of it is worth on average."),
            "runs": .count("Runs that took it."), "example": .text("One of them."),
          ], required: ["tools", "bits", "runs", "example"]),
        "rules": list(
          "With --write: what was looked for in the runs of each agent, and on how many it holds.",
          rule, required: ["agent", "format", "expectation", "value", "runs", "shown", "holds"]),
      ],
    ]
  }

  private static let tool: JSONObject = [
    "tool": .text("Its name."), "runs": .count("Runs that called it."),
    "calls": .count("Calls that decisions held."), "executed": .count("Those that ran."),
    "errors": .count("Those that failed."), "refused": .count("Those that never began."),
    "unknown": .count("Those of which nobody knows what they did."),
    "returned": .count("Those that ran, and of which nobody says whether they succeeded."),
    "errorRate": .decimal("Failed ones by those of which it is known; left out for none."),
  ]

  private static let rule: JSONObject = [
    "agent": nullable("The agent; null for all together."),
    "format": nullable("The format that the runs were imported from; null for runs of our own."),
    "calls": .word(
      of: ["whole", "partial", .null],
      "Whether all calls of the runs are recorded; null for all runs together."),
    "expectation": .text("The key of `expected`."),
    "value": ["description": "What stands under it; of a list one element."],
    "runs": .count("Runs that were judged."), "shown": .count("Runs that show it."),
    "notExercised": .count("Runs in which it never arose."),
    "broken": .count("Runs that break it."),
    "unverifiable": .count("Runs of which nobody can say."),
    "holds": .flag("Whether it holds on all, and stands in the file."),
  ]

  private static func nullable(_ description: String) -> JSONValue {
    ["type": ["string", "null"], "description": .string(description)]
  }

  private static func list(
    _ description: String, _ properties: JSONObject, required: [String]
  ) -> JSONValue {
    [
      "type": "array", "description": .string(description),
      "items": [
        "type": "object", "required": JSONValue(required), "additionalProperties": false,
        "properties": .object(properties),
      ],
    ]
  }
}
