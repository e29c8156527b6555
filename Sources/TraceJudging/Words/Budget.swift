import AgentTrace
public import TraceMatching

/// How much a run may use.
public struct Budget: Sendable, Hashable {
  /// What is measured. Raw values are the keys in a case file.
  public enum Measure: String, Sendable, Hashable, CaseIterable {
    /// Steps with a decision.
    case steps
    /// Executed calls.
    case calls
    /// Calls of the model.
    case modelCalls
    /// Tokens in and out.
    case tokens
    case inputTokens
    case outputTokens
    /// What the model's calls cost.
    case cost
    /// Active run time in all; of a tool, the time of its calls together.
    case seconds
    /// Attempts at calls beyond their first.
    case retries
    /// Calls that failed.
    case errors
  }

  /// One limit.
  public struct Limit: Sendable, Hashable {
    /// What is limited.
    public var measure: Measure
    /// Of which tools; `nil` for the run as a whole.
    public var tool: Glob?
    /// At most so much.
    public var maximum: Double
    /// The limit as it was written.
    public var text: String
  }

  /// Each holds.
  public var limits: [Limit]
  /// Whether the runs that this one started count with it.
  public var includesSubRuns: Bool

  static let toolMeasures: [Measure] = [.calls, .seconds, .retries, .errors]
  static let runMeasures: [Measure] = Measure.allCases
}

/// What one run used; unknown parts are `nil`, and sums may be more than they say.
public struct RunTotals: Sendable, Hashable {
  /// The run that used it.
  public var runId: String
  /// What is known of each measure.
  public var amounts: [Budget.Measure: Double]
  /// The measures that may have been more.
  public var mayBeMore: Set<Budget.Measure>

  /// Nothing is checked.
  public init(
    runId: String, amounts: [Budget.Measure: Double], mayBeMore: Set<Budget.Measure> = []
  ) {
    self.runId = runId
    self.amounts = amounts
    self.mayBeMore = mayBeMore
  }
}

extension ExpectationReader {
  /// Limits in all, and per tool.
  mutating func budget(_ value: JSONValue, at pointer: JSONPointer) -> Budget? {
    let names = Budget.runMeasures.map(\.rawValue)
    guard
      let object = mapping(
        value, at: pointer, keys: names + ["tools", "subRuns"], "a mapping of limits")
    else { return nil }
    var limits = self.limits(object, Budget.runMeasures, of: nil, at: pointer)
    if let value = object["tools"] {
      let place = pointer.appending("tools")
      if let tools = value.objectValue, !tools.isEmpty {
        for member in tools { limits += toolLimits(member, at: place.appending(member.key)) }
      } else {
        report(place, "must be a mapping from tools to their limits")
      }
    }
    var includesSubRuns = false
    if let value = object["subRuns"] {
      if let flag = value.boolValue {
        includesSubRuns = flag
      } else {
        report(pointer.appending("subRuns"), "must be true or false")
      }
    }
    if limits.isEmpty {
      report(pointer, "limits nothing", hint: "add one of \(names.joined(separator: ", "))")
    }
    return limits.isEmpty ? nil : Budget(limits: limits, includesSubRuns: includesSubRuns)
  }

  private mutating func toolLimits(
    _ member: JSONObject.Member, at pointer: JSONPointer
  ) -> [Budget.Limit] {
    let names = Budget.toolMeasures.map(\.rawValue)
    guard let tool = glob(member.key, at: pointer),
      let object = mapping(member.value, at: pointer, keys: names, "a mapping of limits")
    else { return [] }
    let limits = self.limits(object, Budget.toolMeasures, of: tool, at: pointer)
    if limits.isEmpty {
      report(pointer, "limits nothing", hint: "add one of \(names.joined(separator: ", "))")
    }
    return limits
  }

  private mutating func limits(
    _ object: JSONObject, _ measures: [Budget.Measure], of tool: Glob?, at pointer: JSONPointer
  ) -> [Budget.Limit] {
    var limits: [Budget.Limit] = []
    for measure in measures {
      guard let value = object[measure.rawValue] else { continue }
      let place = pointer.appending(measure.rawValue)
      let isFraction = measure == .cost || measure == .seconds
      let isGood = isFraction ? true : value.intValue != nil
      guard isGood, case .number(let number) = value, number.doubleValue >= 0,
        number.doubleValue.isFinite
      else {
        report(place, "must be a \(isFraction ? "" : "whole ")number that is not negative")
        continue
      }
      limits.append(
        Budget.Limit(
          measure: measure, tool: tool, maximum: number.doubleValue, text: number.token))
    }
    return limits
  }
}
