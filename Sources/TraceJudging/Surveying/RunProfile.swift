public import AgentTrace

/// What is told of a run among many: who ran, which tools in which order, what became of the calls, how it ended.
public struct RunProfile: Sendable {
  /// A call, with what became of it.
  public struct Call: Sendable, Hashable {
    /// The tool's name.
    public var tool: String
    /// What became of it; `nil` where it has neither start nor result.
    public var status: CallStatus?
    /// Whether it ran.
    public var isExecuted: Bool

    /// A call that was told of.
    public init(tool: String, status: CallStatus?, isExecuted: Bool) {
      self.tool = tool
      self.status = status
      self.isExecuted = isExecuted
    }
  }

  /// What the run is called among those that are looked at.
  public var name: String
  /// The agent's name; empty where nobody says.
  public var agent = ""
  /// The format that it was imported from; `nil` for a run of our own.
  public var format: String?
  /// Whether all its calls are recorded, and nothing of the run is missing.
  public var hasAllCalls = true
  /// In decision order, those of a simulated user aside.
  public var calls: [Call] = []
  /// The names of the tools that it had; `nil` where that was not recorded.
  public var toolNames: [String]?
  /// How it ended; `nil` where it has not, or nobody says.
  public var stop: StopReason?
  /// Steps that hold a decision.
  public var steps = 0
  /// What its model calls used; `nil` where no call says so.
  public var (inputTokens, outputTokens): (Int?, Int?)
  /// What they cost; `nil` where no call says so.
  public var cost: Double?
  /// Outcomes of ``common``, by their keys.
  public var common: [String: Outcome] = [:]

  /// What every run is held against.
  public static let common: Expectations = {
    let expected: JSONObject = [
      "noLoops": 3, "noRepeatedSideEffect": true, "noApprovalBypass": true,
      "maxInvalidDecisions": 0,
    ]
    return (try? Expectations(parsing: .object(expected))) ?? Expectations()
  }()

  /// The runs that it is looked at with.
  public var group: Survey.Group {
    Survey.Group(agent: agent, format: format, hasAllCalls: hasAllCalls)
  }

  /// A run of which nothing is known yet.
  public init(name: String) { self.name = name }

  /// Takes in the data of a `run_started`.
  public mutating func apply(runStarted data: JSONObject) {
    agent = data["agent"]?["name"]?.stringValue ?? ""
    format = data["source"]?["format"]?.stringValue
  }

  /// Takes in the data of a `model_result`.
  public mutating func apply(modelResult data: JSONObject) {
    if let count = data["usage"]?["inputTokens"]?.intValue {
      inputTokens = (inputTokens ?? 0).addingReportingOverflow(count).partialValue
    }
    if let count = data["usage"]?["outputTokens"]?.intValue {
      outputTokens = (outputTokens ?? 0).addingReportingOverflow(count).partialValue
    }
    if let price = data["cost"]?.doubleValue, price.isFinite { cost = (cost ?? 0) + price }
  }

  /// Takes in the run as a judge looks at it, and what one says of `common`.
  public mutating func apply(_ trajectory: Trajectory, _ gathered: GatheredFacts?) {
    for call in trajectory.calls where !call.outline.isOfSimulatedUser {
      calls.append(Call(tool: call.tool, status: call.status, isExecuted: call.isExecuted))
    }
    hasAllCalls = trajectory.hasAllCalls
    toolNames = trajectory.toolNames
    stop = trajectory.stop?.reason
    steps = trajectory.steps
    let judgement = Judge.judge(trajectory, gathered, against: Self.common, warns: false)
    for outcome in judgement.outcomes { common[outcome.expectation] = outcome.outcome }
  }
}

extension Trajectory {
  /// Whether all calls of the run are recorded, and nothing of it is missing.
  public var hasAllCalls: Bool { recorded["calls"] == nil && gaps.isEmpty }
}
