/// What a run may use at most. A limit that is `nil` is none.
public struct Limits: Sendable, Hashable {
  public var maxSteps: Int?
  /// Calls that are executed, in all.
  public var maxToolCalls: Int?
  /// Input and output tokens together.
  public var maxTokens: Int?
  /// In the currency of the model's prices.
  public var maxCost: Double?
  /// Seconds of active run time.
  public var timeoutSeconds: Double?

  public init(
    maxSteps: Int? = nil, maxToolCalls: Int? = nil, maxTokens: Int? = nil, maxCost: Double? = nil,
    timeoutSeconds: Double? = nil
  ) {
    self.maxSteps = maxSteps
    self.maxToolCalls = maxToolCalls
    self.maxTokens = maxTokens
    self.maxCost = maxCost
    self.timeoutSeconds = timeoutSeconds
  }

  /// Reads the wire form.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "limits")
    maxSteps = try reader.optionalInt("maxSteps")
    maxToolCalls = try reader.optionalInt("maxToolCalls")
    maxTokens = try reader.optionalInt("maxTokens")
    maxCost = try reader.optionalDouble("maxCost")
    timeoutSeconds = try reader.optionalDouble("timeoutSeconds")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("maxSteps", maxSteps.map { JSONValue($0) }),
      ("maxToolCalls", maxToolCalls.map { JSONValue($0) }),
      ("maxTokens", maxTokens.map { JSONValue($0) }),
      ("maxCost", maxCost.map { JSONValue($0) }),
      ("timeoutSeconds", timeoutSeconds.map { JSONValue($0) }),
    ])
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
  public var inputTokens = 0
  public var outputTokens = 0
  /// In the currency of the model's prices; `nil` when unknown, never 0 for unknown.
  public var cost: Double?

  public init() {}

  /// Reads the wire form.
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
