import AgentTrace
import TraceJudging

/// The schemas of what `agent-eval run` prints for programs.
enum ResultsSchema {
  static var results: JSONObject {
    [
      "type": "object", "required": ["schema", "cases", "summary"],
      "properties": [
        "schema": [
          "const": "agent-eval/results/1",
          "description": "The format; keys are added to it and never renamed.",
        ],
        "cases": [
          "type": "array", "items": ["$ref": "#/$defs/case"],
          "description": "One for each case that was to be judged.",
        ],
        "shard": [
          "$ref": "#/$defs/shard",
          "description": "Which part of a suite this is, with --shard; all of it without.",
        ],
        "comparison": [
          "$ref": "#/$defs/suiteComparison",
          "description": "What the results were compared with; left out where they were not.",
        ],
        "summary": [
          "type": "object", "description": "How many cases had each outcome.",
          "required": JSONValue(CaseOutcome.allCases.map(\.rawValue)),
          "properties": .object(
            JSONObject(
              CaseOutcome.allCases.map { outcome in
                (
                  outcome.rawValue,
                  [
                    "type": "integer", "minimum": 0,
                    "description": .string("Cases whose outcome is \(outcome.rawValue)."),
                  ]
                )
              })),
        ],
      ],
      "$defs": [
        "case": evalCase, "trial": trial, "expectation": expectation, "shard": shard,
        "suiteComparison": suiteComparison, "comparison": comparison, "difference": difference,
      ],
    ]
  }

  /// A line that `agent-eval run --files-from` prints.
  static var line: JSONObject {
    [
      "type": "object", "required": ["line", "input", "outcome", "cases"],
      "properties": [
        "line": [
          "type": "integer", "minimum": 1, "description": "Which line of the input it answers.",
        ],
        "input": [
          "type": "string",
          "description":
            "That line; what is no UTF-8 is replaced, and of one that is too long the beginning stands here.",
        ],
        "outcome": [
          "enum": caseOutcome, "description": "What all its cases say together.",
        ],
        "cases": [
          "type": "array", "items": ["$ref": "#/$defs/case"],
          "description": "One for each case that the log was judged by.",
        ],
        "error": ["type": "string", "description": "Why the log was judged by none."],
      ],
      "$defs": [
        "case": evalCase, "trial": trial, "expectation": expectation, "comparison": comparison,
        "difference": difference,
      ],
    ]
  }

  private static let caseOutcome = JSONValue(CaseOutcome.allCases.map(\.rawValue))
  private static let outcome = JSONValue(Outcome.allCases.map(\.rawValue))

  private static let evalCase: JSONValue = [
    "type": "object", "required": ["caseId", "outcome", "trials"],
    "properties": [
      "caseId": ["type": "string", "description": "The case's name."],
      "position": ["type": "string", "description": "Where the case stands: path:line."],
      "outcome": ["enum": caseOutcome, "description": "The judge's word on the case."],
      "error": ["type": "string", "description": "Why it could not be judged."],
      "notRun": [
        "type": "string",
        "description":
          "Why no run of it, or no further one, was made: the budget of the suite is spent.",
      ],
      "trials": [
        "type": "array", "items": ["$ref": "#/$defs/trial"],
        "description": "One for each run of the case.",
      ],
      "cluster": ["type": "string", "description": "What it shares with other cases."],
      "trialPlan": [
        "type": "object", "description": "How often it was to be run, and when it passes.",
        "required": ["trials", "passThreshold"],
        "properties": [
          "trials": ["type": "integer", "description": "Trials that are decided at most."],
          "passThreshold": ["type": "integer", "description": "How many have to pass."],
          "safety": ["type": "boolean", "description": "Whether one failure fails the case."],
          "rates": ["type": "object", "description": "Rates that are to be told apart."],
        ],
      ],
      "statistics": [
        "type": "object", "description": "What the trials say together; with a plan.",
        "required": ["pass", "fail", "inconclusive", "error", "interval", "flaky", "moreTrials"],
        "properties": [
          "pass": ["type": "integer", "description": "Trials that passed."],
          "fail": ["type": "integer", "description": "Trials that failed."],
          "inconclusive": ["type": "integer", "description": "Trials that decided nothing."],
          "error": ["type": "integer", "description": "Trials that say nothing of the agent."],
          "rate": ["type": "number", "description": "Passed by decided trials."],
          "interval": [
            "type": "array", "items": ["type": "number"],
            "description": "Wilson's 95 % interval for the rate.",
          ],
          "passAt": [
            "type": "object",
            "description": "By k: the chance that one of k further trials passes, without bias.",
          ],
          "passAll": [
            "type": "object",
            "description": "By k: the chance that k further trials all pass, without bias.",
          ],
          "failureBound": [
            "type": "number",
            "description": "Where none failed: what the rate of failure is at most, at 95 %.",
          ],
          "flaky": ["type": "boolean", "description": "Whether some passed and some failed."],
          "moreTrials": [
            "type": "integer", "description": "Trials that would decide the case at least.",
          ],
        ],
      ],
      "comparison": [
        "$ref": "#/$defs/comparison",
        "description":
          "The case beside what was accepted of it; left out where it was not compared.",
      ],
    ],
  ]

  private static let suiteComparison: JSONValue = [
    "type": "object",
    "required": ["against", "tolerance", "needsBaselines", "gone", "unusable", "summary"],
    "properties": [
      "against": ["type": "string", "description": "What was asked for: accepted, or a path."],
      "tolerance": [
        "type": "object", "description": "How much more a run may use, in per cent.",
        "properties": .object(
          JSONObject(
            Tolerance.Measure.allCases.map {
              (
                $0.rawValue,
                [
                  "type": "number", "minimum": 0,
                  "description": .string("Per cent that \($0.rawValue) may grow."),
                ]
              )
            })),
      ],
      "needsBaselines": [
        "type": "boolean", "description": "Whether a case without baseline fails.",
      ],
      "gone": [
        "type": "array", "description": "Baselines without a case.",
        "items": [
          "type": "object", "required": ["caseId", "path"],
          "properties": [
            "caseId": ["type": "string", "description": "The case's name."],
            "path": ["type": "string", "description": "The path of the baseline."],
          ],
        ],
      ],
      "unusable": [
        "type": "array", "items": ["type": "string"],
        "description": "What is wrong with baselines of which nobody knows whose they are.",
      ],
      "worsened": [
        "type": "string",
        "description": "That the suite as a whole is worse by more than chance; absent where not.",
      ],
      "strict": [
        "const": true,
        "description": "What has changed counted as worse in each case; absent where it did not.",
      ],
      "summary": [
        "type": "object", "description": "How many cases compare in some way.",
        "properties": .object(
          JSONObject(
            (CaseComparison.Kind.allCases.map(\.rawValue) + ["gone"]).map {
              (
                $0,
                [
                  "type": "integer", "minimum": 0,
                  "description": .string("Cases that are \($0)."),
                ]
              )
            })),
      ],
    ],
  ]

  private static let comparison: JSONValue = [
    "type": "object", "required": ["kind", "differences"],
    "properties": [
      "kind": [
        "enum": JSONValue(CaseComparison.Kind.allCases.map(\.rawValue)),
        "description": "The word on the whole.",
      ],
      "differences": [
        "type": "array", "items": ["$ref": "#/$defs/difference"],
        "description": .string(
          "What the agent did otherwise, in its order; then what the judge said, what was used and "
            + "what is asked."),
      ],
      "untold": [
        "type": "integer", "minimum": 1, "description": "Differences beyond those that are told.",
      ],
      "run": [
        "type": "integer", "minimum": 1,
        "description": "Which of several trials the differences are of, from 1.",
      ],
      "reason": [
        "type": "string",
        "description": "Why it could not be compared, or is no good as a new case.",
      ],
      "fault": [
        "const": true,
        "description": .string(
          "The baseline or the case is at fault that it could not be compared; a new case should "
            + "have a baseline."),
      ],
      "path": ["type": "string", "description": "The path of the baseline."],
      "strict": [
        "const": true,
        "description": "What has changed counts as worse; absent where it does not.",
      ],
    ],
  ]

  private static let difference: JSONValue = [
    "type": "object", "required": ["kind", "effect", "place", "events"],
    "properties": [
      "kind": [
        "enum": JSONValue(Difference.Kind.allCases.map(\.rawValue)),
        "description": "What differs.",
      ],
      "effect": [
        "enum": JSONValue(Difference.Effect.allCases.map(\.rawValue)),
        "description": "What it means for the case.",
      ],
      "place": [
        "type": "string",
        "description": "Where, such as call 2 (lookup) /orderId or toolsCalled[1].",
      ],
      "accepted": [
        "type": "string", "description": "What was accepted; left out where there was nothing.",
      ],
      "actual": [
        "type": "string", "description": "What is there now; left out where there is nothing.",
      ],
      "step": ["type": "integer", "minimum": 1, "description": "The step of the run."],
      "events": [
        "type": "array", "items": ["type": "integer", "minimum": 0],
        "description": "The numbers of the events that show it.",
      ],
    ],
  ]

  private static let shard: JSONValue = [
    "type": "object",
    "required": [
      "index", "of", "suite", "suiteCases", "places", "skippedPlaces", "program", "isWhole",
    ],
    "properties": [
      "index": ["type": "integer", "minimum": 1, "description": "Which shard it is."],
      "of": ["type": "integer", "minimum": 1, "description": "How many shards there are."],
      "suite": [
        "type": "string",
        "description":
          "A digest of the cases, their files and the options: the same in shards that belong together.",
      ],
      "suiteCases": [
        "type": "integer", "minimum": 0, "description": "How many cases all shards have together.",
      ],
      "places": [
        "type": "array", "items": ["type": "integer", "minimum": 0],
        "description": "Where each of cases stands in the suite, from 0.",
      ],
      "skippedPlaces": [
        "type": "array", "items": ["type": "integer", "minimum": 0],
        "description": "The same for each of skipped.",
      ],
      "program": ["type": "string", "description": "The version of agent-eval that judged."],
      "isWhole": [
        "type": "boolean", "description": "Whether every case was judged before the run ended.",
      ],
      "live": ["type": "boolean", "description": "Whether agents were run for it."],
    ],
  ]

  private static let trial: JSONValue = [
    "type": "object", "required": ["outcome", "expectations"],
    "properties": [
      "runId": ["type": ["string", "null"], "description": "The run that was judged."],
      "log": ["type": ["string", "null"], "description": "The path of its log."],
      "judgedFrom": [
        "enum": ["summary", "body", "tree", .null],
        "description": "Whether the log's summary was enough or its events were read.",
      ],
      "outcome": ["enum": caseOutcome, "description": "The judge's word on this run."],
      "error": [
        "type": "string",
        "description": "Why the run says nothing of the agent, such as a model out of reach.",
      ],
      "expectations": [
        "type": "array", "items": ["$ref": "#/$defs/expectation"],
        "description": "One for each expectation, in the order of the case format.",
      ],
    ],
  ]

  private static let expectation: JSONValue = [
    "type": "object", "required": ["expectation", "outcome", "events", "message"],
    "properties": [
      "expectation": [
        "type": "string",
        "description": "Its place below expected, such as stopReason or toolsCalled[1].",
      ],
      "outcome": ["enum": outcome, "description": "The judge's word on the expectation."],
      "events": [
        "type": "array", "items": ["type": "integer", "minimum": 0],
        "description": "The numbers of the fewest events that show it.",
      ],
      "message": ["type": "string", "description": "One sentence for a person."],
      "expected": ["type": "string", "description": "What was asked."],
      "actual": ["type": "string", "description": "What was there instead."],
      "judgements": [
        "type": "array", "minItems": 1,
        "items": [
          "type": "object", "required": ["log", "seq"],
          "properties": [
            "log": ["type": "string", "description": "The path of the judgement's log."],
            "seq": [
              "type": "integer", "minimum": 0,
              "description": "The number of the event there that holds what the model said.",
            ],
          ],
        ],
        "description": "The judgements of models that it rests on.",
      ],
      "severity": [
        "enum": ["error", "warning"],
        "description": "warning where the case does not fail by it; else left out.",
      ],
    ],
  ]
}
