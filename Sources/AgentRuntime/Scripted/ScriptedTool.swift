public import AgentTrace
public import TraceMatching

/// A tool whose results are written down. The first rule that fits answers.
public struct ScriptedTool: Sendable {
  /// A result and when it is given.
  public struct Rule: Sendable {
    /// Looks at `{"input","attempt","step"}`; `nil` fits always.
    public var condition: Matcher?
    /// What the tool returns.
    public var outcome: Outcome
    /// How long the tool seems to work.
    public var delaySeconds: Double
    /// Notes that it writes with its result, `${…}` filled in.
    public var writes: [MemoryNote]
    /// A signal that the tool sends to its own process before it answers, for example `SIGTERM`. An error
    /// behind it is that of a call which the signal cut off.
    public var raises: String?

    /// A delay below 0 counts as 0, one above 1,000,000 seconds as that.
    public init(
      condition: Matcher? = nil, outcome: Outcome, delaySeconds: Double = 0, raises: String? = nil,
      writes: [MemoryNote] = []
    ) {
      self.writes = writes
      self.condition = condition
      self.outcome = outcome
      self.delaySeconds = delaySeconds
      self.raises = raises
    }
  }

  /// What a rule answers; `${…}` is filled in from what its condition looks at.
  public enum Outcome: Sendable {
    /// The result's data.
    case ok(JSONValue)
    /// The call fails with this reason, and whether nobody knows what it did; unless the tool only reads.
    case error(String, isEffectUnknown: Bool = false)
  }

  /// In order; an input that none fits is an error of the tool.
  public var rules: [Rule]

  /// Without rules, every input is an error of the tool.
  public init(rules: [Rule]) { self.rules = rules }
}

/// Runs scripted tools on a clock of the caller's choice.
public struct ScriptedToolRunner: Tool {
  private let rules: ScriptedRules
  /// Waits for so many microseconds; a clock that stands still returns at once.
  private let wait: @Sendable (Int) async -> Void
  /// Sends a signal to this process by its name, and returns once it has arrived.
  private let raise: @Sendable (String) async -> Void
  /// What ends the run; `nil` outside of one.
  private let cancellation: Cancellation?

  /// A tool that plays the script and keeps nothing between calls.
  ///
  /// - Parameters:
  ///   - tool: the script.
  ///   - cancellation: hears the signals that the script raises; where it is left out no call counts as cut off
  ///     by one.
  ///   - wait: see ``ScriptedTool/Rule/delaySeconds``.
  ///   - raise: sends a signal, and returns once it has arrived.
  public init(
    _ tool: ScriptedTool, until cancellation: Cancellation? = nil,
    wait: @escaping @Sendable (Int) async -> Void,
    raise: @escaping @Sendable (String) async -> Void
  ) {
    rules = ScriptedRules(tool.rules)
    self.cancellation = cancellation
    self.wait = wait
    self.raise = raise
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    let view: JSONValue = [
      "input": request.input, "attempt": JSONValue(request.attempt),
      "step": JSONValue(request.step),
    ]
    guard let rule = rules.first(for: view) else {
      return ToolAnswer(result: .error("the script of this tool has no result for this input"))
    }
    if let signal = rule.raises { await raise(signal) }
    let delay = Int(min(max(0, rule.delaySeconds), 1_000_000) * 1_000_000)
    if let timeout = request.timeoutMicroseconds, delay > timeout {
      await wait(timeout)
      return .timedOut(request, afterMicroseconds: timeout)
    }
    await wait(delay)
    let result: ToolResult
    var cutOffBy: String?
    switch rule.outcome {
    case .ok(let data): result = .ok(data: Template.fill(data, from: view))
    case .error(let reason, let isEffectUnknown):
      if rule.raises != nil { cutOffBy = cancellation?.signal }
      result = .error(
        reason: Template.fill(.string(reason), from: view),
        isEffectUnknown: isEffectUnknown && request.tool.sideEffect != .read)
    }
    var answer = ToolAnswer(result: result, signal: cutOffBy, elapsedMicroseconds: delay)
    answer.notes = rule.writes.map { note in
      let key = Template.fill(.string(note.key), from: view)
      return .written(
        MemoryNote(
          scope: note.scope, key: key.stringValue ?? CanonicalJSON.string(key, form: .plain),
          value: note.value.map { Template.fill($0, from: view) }))
    }
    return answer
  }
}
