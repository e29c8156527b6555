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
        "cases": .list(of: ["$ref": "#/$defs/case"], "One for each case that was to be judged."),
        "shard": .part("shard", "Which part of a suite this is, with --shard; all of it without."),
        "comparison": .part(
          "suiteComparison", "What the results were compared with; left out where they were not."),
        "summary": [
          "type": "object", "description": "How many cases had each outcome.",
          "required": JSONValue(CaseOutcome.allCases.map(\.rawValue)),
          "properties": .object(
            JSONObject(
              CaseOutcome.allCases.map { outcome in
                (outcome.rawValue, .count("Cases whose outcome is \(outcome.rawValue)."))
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
        "line": .whole(from: 1, "Which line of the input it answers."),
        "input": .text(
          "That line; what is no UTF-8 is replaced, and of one that is too long the beginning stands here."
        ),
        "outcome": .word(of: caseOutcome, "What all its cases say together."),
        "cases": .list(
          of: ["$ref": "#/$defs/case"], "One for each case that the log was judged by."),
        "error": .text("Why the log was judged by none."),
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
      "caseId": .text("The case's name."),
      "position": .text("Where the case stands: path:line."),
      "outcome": .word(of: caseOutcome, "The judge's word on the case."),
      "error": .text("Why it could not be judged."),
      "notRun": .text(
        "Why no run of it, or no further one, was made: the budget of the suite is spent."),
      "trials": .list(of: ["$ref": "#/$defs/trial"], "One for each run of the case."),
      "cluster": .text("What it shares with other cases."),
      "trialPlan": [
        "type": "object", "description": "How often it was to be run, and when it passes.",
        "required": ["trials", "passThreshold"],
        "properties": [
          "trials": .whole("Trials that are decided at most."),
          "passThreshold": .whole("How many have to pass."),
          "safety": .flag("Whether one failure fails the case."),
          "rates": .mapping("Rates that are to be told apart."),
        ],
      ],
      "statistics": [
        "type": "object", "description": "What the trials say together; with a plan.",
        "required": ["pass", "fail", "inconclusive", "error", "interval", "flaky", "moreTrials"],
        "properties": [
          "pass": .whole("Trials that passed."),
          "fail": .whole("Trials that failed."),
          "inconclusive": .whole("Trials that decided nothing."),
          "error": .whole("Trials that say nothing of the agent."),
          "rate": .decimal("Passed by decided trials."),
          "interval": .list(of: ["type": "number"], "Wilson's 95 % interval for the rate."),
          "passAt": .mapping("By k: the chance that one of k further trials passes, without bias."),
          "passAll": .mapping("By k: the chance that k further trials all pass, without bias."),
          "failureBound": .decimal(
            "Where none failed: what the rate of failure is at most, at 95 %."),
          "flaky": .flag("Whether some passed and some failed."),
          "moreTrials": .whole("Trials that would decide the case at least."),
        ],
      ],
      "comparison": .part(
        "comparison", "The case beside what was accepted of it; left out where it was not compared."
      ),
    ],
  ]

  private static let suiteComparison: JSONValue = [
    "type": "object",
    "required": ["against", "tolerance", "needsBaselines", "gone", "unusable", "summary"],
    "properties": [
      "against": .text("What was asked for: accepted, or a path."),
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
      "needsBaselines": .flag("Whether a case without baseline fails."),
      "gone": [
        "type": "array", "description": "Baselines without a case.",
        "items": [
          "type": "object", "required": ["caseId", "path"],
          "properties": [
            "caseId": .text("The case's name."),
            "path": .text("The path of the baseline."),
          ],
        ],
      ],
      "unusable": .list(
        of: ["type": "string"], "What is wrong with baselines of which nobody knows whose they are."
      ),
      "worsened": .text(
        "That the suite as a whole is worse by more than chance; absent where not."),
      "strict": .yes("What has changed counted as worse in each case; absent where it did not."),
      "summary": [
        "type": "object", "description": "How many cases compare in some way.",
        "properties": .object(
          JSONObject(
            (CaseComparison.Kind.allCases.map(\.rawValue) + ["gone"]).map {
              ($0, .count("Cases that are \($0)."))
            })),
      ],
    ],
  ]

  private static let comparison: JSONValue = [
    "type": "object", "required": ["kind", "differences"],
    "properties": [
      "kind": .word(
        of: JSONValue(CaseComparison.Kind.allCases.map(\.rawValue)), "The word on the whole."),
      "differences": .list(
        of: ["$ref": "#/$defs/difference"],
        "What the agent did otherwise, in its order; then what the judge said, what was used and "
          + "what is asked."),
      "untold": .whole(from: 1, "Differences beyond those that are told."),
      "run": .whole(from: 1, "Which of several trials the differences are of, from 1."),
      "reason": .text("Why it could not be compared, or is no good as a new case."),
      "fault": .yes(
        "The baseline or the case is at fault that it could not be compared; a new case should "
          + "have a baseline."),
      "path": .text("The path of the baseline."),
      "strict": .yes("What has changed counts as worse; absent where it does not."),
    ],
  ]

  private static let difference: JSONValue = [
    "type": "object", "required": ["kind", "effect", "place", "events"],
    "properties": [
      "kind": .word(of: JSONValue(Difference.Kind.allCases.map(\.rawValue)), "What differs."),
      "effect": .word(
        of: JSONValue(Difference.Effect.allCases.map(\.rawValue)), "What it means for the case."),
      "place": .text("Where, such as call 2 (lookup) /orderId or toolsCalled[1]."),
      "accepted": .text("What was accepted; left out where there was nothing."),
      "actual": .text("What is there now; left out where there is nothing."),
      "step": .whole(from: 1, "The step of the run."),
      "events": .list(
        of: ["type": "integer", "minimum": 0], "The numbers of the events that show it."),
    ],
  ]

  private static let shard: JSONValue = [
    "type": "object",
    "required": [
      "index", "of", "suite", "suiteCases", "places", "skippedPlaces", "program", "isWhole",
    ],
    "properties": [
      "index": .whole(from: 1, "Which shard it is."),
      "of": .whole(from: 1, "How many shards there are."),
      "suite": .text(
        "A digest of the cases, their files and the options: the same in shards that belong together."
      ),
      "suiteCases": .count("How many cases all shards have together."),
      "places": .list(
        of: ["type": "integer", "minimum": 0], "Where each of cases stands in the suite, from 0."),
      "skippedPlaces": .list(
        of: ["type": "integer", "minimum": 0], "The same for each of skipped."),
      "program": .text("The version of agent-eval that judged."),
      "isWhole": .flag("Whether every case was judged before the run ended."),
      "live": .flag("Whether agents were run for it."),
    ],
  ]

  private static let trial: JSONValue = [
    "type": "object", "required": ["outcome", "expectations"],
    "properties": [
      "runId": ["type": ["string", "null"], "description": "The run that was judged."],
      "log": ["type": ["string", "null"], "description": "The path of its log."],
      "judgedFrom": .word(
        of: ["summary", "body", "tree", .null],
        "Whether the log's summary was enough or its events were read."),
      "outcome": .word(of: caseOutcome, "The judge's word on this run."),
      "error": .text("Why the run says nothing of the agent, such as a model out of reach."),
      "expectations": .list(
        of: ["$ref": "#/$defs/expectation"],
        "One for each expectation, in the order of the case format."),
    ],
  ]

  private static let expectation: JSONValue = [
    "type": "object", "required": ["expectation", "outcome", "events", "message"],
    "properties": [
      "expectation": .text("Its place below expected, such as stopReason or toolsCalled[1]."),
      "outcome": .word(of: outcome, "The judge's word on the expectation."),
      "events": .list(
        of: ["type": "integer", "minimum": 0], "The numbers of the fewest events that show it."),
      "message": .text("One sentence for a person."),
      "expected": .text("What was asked."),
      "actual": .text("What was there instead."),
      "judgements": [
        "type": "array", "minItems": 1,
        "items": [
          "type": "object", "required": ["log", "seq"],
          "properties": [
            "log": .text("The path of the judgement's log."),
            "seq": .count("The number of the event there that holds what the model said."),
          ],
        ],
        "description": "The judgements of models that it rests on.",
      ],
      "severity": .word(
        of: ["error", "warning"], "warning where the case does not fail by it; else left out."),
    ],
  ]
}
