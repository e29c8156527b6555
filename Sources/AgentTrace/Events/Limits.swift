/// What a run may use at most. A limit that is `nil` is none.
public struct Limits: Sendable, Hashable {
  /// Completed steps.
  public var maxSteps: Int?
  /// Calls that are executed, in all.
  public var maxToolCalls: Int?
  /// Input and output tokens together.
  public var maxTokens: Int?
  /// In the currency of the model's prices.
  public var maxCost: Double?
  /// Seconds of active run time.
  public var timeoutSeconds: Double?
  /// How many levels of agents may be called below this run: none where it is 0, ``defaultDepth`` where it is
  /// `nil`.
  public var maxDepth: Int?

  /// The levels of agents below a run that says nothing of them.
  public static let defaultDepth = 4

  /// What is left out is no limit.
  public init(
    maxSteps: Int? = nil, maxToolCalls: Int? = nil, maxTokens: Int? = nil, maxCost: Double? = nil,
    timeoutSeconds: Double? = nil, maxDepth: Int? = nil
  ) {
    self.maxSteps = maxSteps
    self.maxToolCalls = maxToolCalls
    self.maxTokens = maxTokens
    self.maxCost = maxCost
    self.timeoutSeconds = timeoutSeconds
    self.maxDepth = maxDepth
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "limits")
    maxSteps = try reader.optionalInt("maxSteps")
    maxToolCalls = try reader.optionalInt("maxToolCalls")
    maxTokens = try reader.optionalInt("maxTokens")
    maxCost = try reader.optionalDouble("maxCost")
    timeoutSeconds = try reader.optionalDouble("timeoutSeconds")
    maxDepth = try reader.optionalInt("maxDepth")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("maxSteps", maxSteps.map { JSONValue($0) }),
      ("maxToolCalls", maxToolCalls.map { JSONValue($0) }),
      ("maxTokens", maxTokens.map { JSONValue($0) }),
      ("maxCost", maxCost.map { JSONValue($0) }),
      ("timeoutSeconds", timeoutSeconds.map { JSONValue($0) }),
      ("maxDepth", maxDepth.map { JSONValue($0) }),
    ])
  }
}

extension Limits {
  /// How many levels of agents may be called below this run; see ``maxDepth``.
  public var depth: Int { maxDepth ?? Self.defaultDepth }

  /// Of two limits on the same thing the smaller one.
  public func tightened(by other: Limits) -> Limits {
    func least<Number: Comparable>(_ left: Number?, _ right: Number?) -> Number? {
      [left, right].compactMap { $0 }.min()
    }
    return Limits(
      maxSteps: least(maxSteps, other.maxSteps),
      maxToolCalls: least(maxToolCalls, other.maxToolCalls),
      maxTokens: least(maxTokens, other.maxTokens), maxCost: least(maxCost, other.maxCost),
      timeoutSeconds: least(timeoutSeconds, other.timeoutSeconds),
      maxDepth: least(maxDepth, other.maxDepth))
  }
}

/// What a run has used so far.
public struct Totals: Sendable, Hashable {
  /// Completed steps.
  public var steps = 0
  /// Executed calls.
  public var toolCalls = 0
  /// Tries of model calls that were answered or failed.
  public var modelCalls = 0
  /// Of all model calls that said so.
  public var inputTokens = 0
  /// Of all model calls that said so.
  public var outputTokens = 0
  /// In the currency of the model's prices; `nil` when unknown, never 0 for unknown.
  public var cost: Double?

  /// Nothing used yet; the cost is unknown.
  public init() {}

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "totals")
    steps = try reader.int("steps")
    toolCalls = try reader.int("toolCalls")
    modelCalls = try reader.int("modelCalls")
    inputTokens = try reader.int("inputTokens")
    outputTokens = try reader.int("outputTokens")
    cost = try reader.optionalDouble("cost")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("steps", JSONValue(steps)), ("toolCalls", JSONValue(toolCalls)),
      ("modelCalls", JSONValue(modelCalls)), ("inputTokens", JSONValue(inputTokens)),
      ("outputTokens", JSONValue(outputTokens)), ("cost", cost.map { JSONValue($0) }),
    ])
  }
}

extension Totals {
  /// Counts one try of a model call, from the data of its `model_result`.
  ///
  /// One call of unknown cost makes the sum unknown for good. A later try that failed and names no cost
  /// is taken to have cost nothing; a first one leaves the sum unknown. Tokens add up to the largest number at most.
  public mutating func count(modelResult data: JSONObject) {
    let cost = data["cost"]?.doubleValue
    if modelCalls == 0 {
      self.cost = cost
    } else if data["error"] == nil || cost != nil {
      self.cost = self.cost.flatMap { sum in cost.map { sum + $0 } }
    }
    modelCalls += 1
    inputTokens = Self.sum(inputTokens, data["usage"]?["inputTokens"]?.intValue)
    outputTokens = Self.sum(outputTokens, data["usage"]?["outputTokens"]?.intValue)
  }

  /// Counts what a child's run used: all of it but its steps.
  public mutating func count(child: Totals) {
    var used = child
    used.steps = 0
    add(used)
  }

  /// Counts what another run used, as part of this one. A run of unknown cost that asked models makes the
  /// sum unknown for good.
  public mutating func add(_ other: Totals) {
    if other.modelCalls > 0 {
      cost = modelCalls == 0 ? other.cost : cost.flatMap { sum in other.cost.map { sum + $0 } }
    }
    steps = Self.sum(steps, other.steps)
    toolCalls = Self.sum(toolCalls, other.toolCalls)
    modelCalls = Self.sum(modelCalls, other.modelCalls)
    inputTokens = Self.sum(inputTokens, other.inputTokens)
    outputTokens = Self.sum(outputTokens, other.outputTokens)
  }

  private static func sum(_ left: Int, _ right: Int?) -> Int {
    let (sum, overflow) = left.addingReportingOverflow(max(0, right ?? 0))
    return overflow ? .max : sum
  }
}

extension DataShape {
  /// What a run may use.
  package static let runLimits = DataShape.object(
    "What a run may use at most.",
    [
      DataKey("maxSteps", .integer, "Decisions."),
      DataKey("maxToolCalls", .integer, "Executed calls."),
      DataKey("maxTokens", .integer, "Tokens in and out."), DataKey("maxCost", .number, "Money."),
      DataKey("timeoutSeconds", .number, "Seconds of active run time."),
      DataKey("maxDepth", .integer, "Levels of agents that may be called below the run."),
    ])
}

extension DataShape {
  /// What a run used.
  package static let runTotals = DataShape.object(
    "What a run used.",
    [
      DataKey("steps!", .count, "Completed steps."),
      DataKey("toolCalls!", .count, "Executed calls."),
      DataKey("modelCalls!", .count, "Tries of calls to models."),
      DataKey("inputTokens!", .count, "Tokens that went in."),
      DataKey("outputTokens!", .count, "Tokens that came out."),
      DataKey("cost", .number, "Money; absent when unknown."),
    ])
}

extension Totals {
  /// Steps, calls and calls of models, in words.
  package var counts: [String] {
    [
      Figures.count(steps, "step"), Figures.count(toolCalls, "call"),
      Figures.count(modelCalls, "model call"),
    ]
  }

  /// Tokens and cost in words, where there are any.
  package var spent: [String] {
    let tokens = inputTokens + outputTokens
    return (tokens > 0 ? ["\(inputTokens) + \(outputTokens) tokens"] : [])
      + (cost.map { ["cost \(Figures.cost($0))"] } ?? [])
  }
}
