public import AgentTrace

/// What one run of a suite came to, as it is kept to be looked back on: `agent-eval/history/1`.
///
/// Results say what became of cases and hold no time; a record says when and at which commit, and of
/// each case no more than a trend needs. Docs/history.md specifies it.
public struct SuiteRecord: Sendable, Hashable {
  /// When the run of the suite began: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, in UTC.
  public var startedAt: String
  /// How long it took.
  public var elapsedMicroseconds = 0
  /// The commit that was judged; `nil` where nobody knows.
  public var commit: String?
  /// The branch of that commit; `nil` where nobody knows.
  public var branch: String?
  /// The version of the program that judged.
  public var program = ""
  /// The cases that were judged, in the order of the results.
  public var cases: [CaseRecord] = []
  /// The ids of the cases that were left out.
  public var skipped: [String] = []

  /// A record without cases, which can be set afterwards.
  public init(startedAt: String) { self.startedAt = startedAt }

  /// The format's name; keys are added to it and never renamed.
  public static let schema = "agent-eval/history/1"
  /// What every schema of the format begins with, also those of newer versions.
  static let schemaFamily = "agent-eval/history/"
  /// The end of the name of a file that holds a record.
  public static let fileSuffix = ".history.json"
  /// The most bytes of such a file that are read.
  public static let limitBytes = 64 * 1024 * 1024
  /// The most cases of a record.
  public static let mostCases = 100_000
  /// The most trials of a case.
  public static let mostTrials = 10_000
  /// The most bytes of a sentence that is kept.
  public static let sentenceBytes = 240
}

/// What a record keeps of one case.
public struct CaseRecord: Sendable, Hashable {
  /// The first expectation that decided the outcome, and what was said of it.
  public struct Check: Sendable, Hashable {
    /// Its place in the case, such as `toolsNotCalled[0]`.
    public var expectation: String
    /// One sentence.
    public var message: String

    /// Place and sentence as the results have them.
    public init(expectation: String, message: String) {
      self.expectation = expectation
      self.message = message
    }
  }

  /// What the runs of a case used together.
  public struct Usage: Sendable, Hashable {
    /// How many runs are counted: those whose logs could be read.
    public var runs = 0
    /// Completed steps.
    public var steps = 0
    /// Executed calls.
    public var toolCalls = 0
    /// Tokens that models read.
    public var inputTokens = 0
    /// Tokens that models wrote.
    public var outputTokens = 0
    /// Money, in the unit of the agent's prices; `nil` where that of a run is not known.
    public var cost: Double?
    /// Time that passed in the runs.
    public var elapsedMicroseconds = 0

    /// Nothing was used.
    public init() {}

    /// Money of one run; `nil` where it is not known.
    public var costPerRun: Double? { runs > 0 ? cost.map { $0 / Double(runs) } : nil }
    /// Steps of one run; `nil` where no run is counted.
    public var stepsPerRun: Double? { runs > 0 ? Double(steps) / Double(runs) : nil }
    /// Microseconds of one run; `nil` where no run is counted.
    public var microsecondsPerRun: Int? { runs > 0 ? elapsedMicroseconds / runs : nil }
  }

  /// The case's name.
  public var caseId: String
  /// The word on the case.
  public var outcome: CaseOutcome
  /// The words on its runs, in their order.
  public var trials: [CaseOutcome] = []
  /// Whether its agent was run for it, with a model that may do another thing each time.
  public var isLive = false
  /// Whether one failure fails it.
  public var isSafety = false
  /// How many of its trials had to pass; `nil` without a plan.
  public var passThreshold: Int?
  /// What decided where it did not pass; `nil` where it did, or where no expectation decided.
  public var decisive: Check?
  /// How many expectations of all its runs failed.
  public var failedChecks = 0
  /// How many did that only warn.
  public var warnedChecks = 0
  /// Why it could not be judged.
  public var error: String?
  /// What its runs used; `nil` where no log could be read.
  public var usage: Usage?
  /// The name of its agent, where its runs say one.
  public var agent: String?
  /// The name of its model, where its runs say one.
  public var model: String?
  /// A digest of what was tried: agent, model, policy, tools and limits of its runs. `nil` where they
  /// do not say.
  public var subject: String?
  /// A digest of what was asked: input and expectations. `nil` where that is not known.
  public var asked: String?
  /// What it shares with other cases.
  public var cluster: String?

  /// A case of which no run is counted yet.
  public init(caseId: String, outcome: CaseOutcome) {
    self.caseId = caseId
    self.outcome = outcome
  }

  /// How many of its runs that were decided passed.
  public var rate: SuccessRate {
    let passes = trials.count { $0 == .pass }
    return SuccessRate(successes: passes, trials: passes + trials.count { $0 == .fail })
  }

  /// Whether some of its runs passed and some failed, though nothing was changed between them.
  public var isFlaky: Bool { isLive && rate.successes > 0 && rate.successes < rate.trials }
}

// MARK: Wire form

extension SuiteRecord {
  /// The wire form.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": .string(Self.schema), "startedAt": .string(startedAt),
      "elapsedMicroseconds": JSONValue(elapsedMicroseconds), "program": .string(program),
      "cases": .array(cases.map(\.json)), "skipped": JSONValue(skipped),
    ]
    object["commit"] = commit.map(JSONValue.string)
    object["branch"] = branch.map(JSONValue.string)
    return .object(object)
  }
}

extension CaseRecord {
  /// The wire form: an element of `cases`.
  public var json: JSONValue {
    var object: JSONObject = [
      "caseId": .string(caseId), "outcome": .string(outcome.rawValue),
      "trials": JSONValue(trials.map(\.rawValue)),
    ]
    if isLive { object["live"] = true }
    if isSafety { object["safety"] = true }
    object["passThreshold"] = passThreshold.map { JSONValue($0) }
    object["decisive"] = decisive.map {
      ["expectation": .string($0.expectation), "message": .string($0.message)]
    }
    if failedChecks > 0 { object["failedChecks"] = JSONValue(failedChecks) }
    if warnedChecks > 0 { object["warnedChecks"] = JSONValue(warnedChecks) }
    object["error"] = error.map(JSONValue.string)
    object["usage"] = usage?.json
    object["agent"] = agent.map(JSONValue.string)
    object["model"] = model.map(JSONValue.string)
    object["subject"] = subject.map(JSONValue.string)
    object["asked"] = asked.map(JSONValue.string)
    object["cluster"] = cluster.map(JSONValue.string)
    return .object(object)
  }
}

extension CaseRecord.Usage {
  /// The wire form.
  public var json: JSONValue {
    var object: JSONObject = [
      "runs": JSONValue(runs), "steps": JSONValue(steps), "toolCalls": JSONValue(toolCalls),
      "inputTokens": JSONValue(inputTokens), "outputTokens": JSONValue(outputTokens),
      "elapsedMicroseconds": JSONValue(elapsedMicroseconds),
    ]
    object["cost"] = cost.map { JSONValue($0) }
    return .object(object)
  }
}
