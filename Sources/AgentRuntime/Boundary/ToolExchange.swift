public import AgentTrace

/// A tool is to run.
public struct ToolRequest: Sendable, Hashable {
  /// Ours; see `ProposedCall.callId`.
  public var callId: String
  /// The tool as it is registered.
  public var tool: ToolDefinition
  /// What the model gave it; already valid by the tool's input schema.
  public var input: JSONValue
  /// From 1.
  public var attempt: Int
  /// The step of the decision that proposed the call, from 1.
  public var step: Int
  /// The same for every attempt of the call.
  public var idempotencyKey: String
  /// When to cut the call off; `nil` for never.
  public var timeoutMicroseconds: Int?
  /// Whether `timeoutMicroseconds` is what is left of the run's time: less than the tool itself may take.
  public var endsWithRun = false
  /// The notes that it may look at; only for tools of the kind `memory`.
  public var memory: MemoryView?
  /// The run that the call is part of; empty where nobody says.
  public var runId = ""
  /// For whom the run acts.
  public var policyContext = PolicyContext()
  /// The run that the attempt is, of a tool that is an agent; `nil` for any other.
  public var child: ChildLink?

  /// What a tool is told of whom it acts for.
  public enum IdentityKey: String, Sendable, Hashable, CaseIterable {
    case runId, callId, actorId, tenantId, route
  }

  /// One part of that; `nil` where it is not known.
  public subscript(identity key: IdentityKey) -> String? {
    switch key {
    case .runId: runId.isEmpty ? nil : runId
    case .callId: callId
    case .actorId: policyContext.actorId
    case .tenantId: policyContext.tenantId
    case .route: policyContext.route
    }
  }

  /// Without more, the first attempt at a call of step 1.
  public init(
    callId: String, tool: ToolDefinition, input: JSONValue, attempt: Int = 1, step: Int = 1,
    idempotencyKey: String, timeoutMicroseconds: Int? = nil
  ) {
    self.callId = callId
    self.tool = tool
    self.input = input
    self.attempt = attempt
    self.step = step
    self.idempotencyKey = idempotencyKey
    self.timeoutMicroseconds = timeoutMicroseconds
  }
}

/// Whether a call can be made.
public enum CallReadiness: Sendable, Hashable {
  /// It can, with the plain values that tokens in its input stand for.
  case needsValues
  /// It is answered from a record, by its tokens alone.
  case recorded
  /// It cannot: it is refused for this reason.
  case refused(reason: String)
}

/// A note that was recorded is to be kept.
public struct MemoryRequest: Sendable, Hashable {
  /// What, and for which event.
  public var writing: MemoryWriting
  /// The call that wrote it.
  public var callId: String

  /// The note that a call has written, or taken away.
  public init(writing: MemoryWriting, callId: String) {
    self.writing = writing
    self.callId = callId
  }
}

/// A note that a tool read or wrote.
public enum ToolNote: Sendable, Hashable {
  /// It was looked up.
  case read(MemoryNote)
  /// It is to be kept, or taken away.
  case written(MemoryNote)

  /// The note, whatever was done with it.
  public var note: MemoryNote {
    switch self {
    case .read(let note), .written(let note): note
    }
  }
}

/// What a tool returned.
public struct ToolAnswer: Sendable, Hashable {
  /// What became of the attempt.
  public var result: ToolResult
  /// The signal of this run that cut the attempt off, or kept it from being made: then the result says nothing
  /// about the tool. `nil` for whatever came of the tool itself, whatever its words are.
  public var signal: String?
  /// Whether the tool itself says that nothing was done, in so many words: that holds for the call's earlier attempts
  /// too. One that was turned away, or could not be made, says nothing of them.
  public var saysNoEffect = false
  /// From the start of the attempt to its end.
  public var elapsedMicroseconds: Int
  /// Only of a recorded answer, where it is known whether the call was made again: `true` where another
  /// attempt followed, up to which `elapsedMicroseconds` reaches, so that there was time left then;
  /// `false` where none did and a signal may be why, or the record breaks off before it says why.
  public var wasTriedAgain: Bool?
  /// Why this machine can run no tool as things are, where that is so. Nothing was done; the run stops with
  /// this error once the calls beside it have ended. No log holds it.
  public var machineFault: String?
  /// How the run ended that the attempt was, of a tool that is an agent.
  public var child: ChildEnd?
  /// Why the run that the attempt is waits, of a tool that is an agent: then there is no result yet, whatever
  /// ``result`` says. `nil` for any other.
  public var pause: StopReason?
  /// Notes that the tool read or wrote, in the order in which they are recorded, before the result.
  public var notes: [ToolNote] = []

  /// Without more, an attempt that took no time.
  public init(result: ToolResult, signal: String? = nil, elapsedMicroseconds: Int = 0) {
    self.result = result
    self.signal = signal
    self.elapsedMicroseconds = elapsedMicroseconds
  }

  /// The answer of a tool that was cut off: its effect is unknown unless it only reads.
  ///
  /// - Parameters:
  ///   - request: the call.
  ///   - reason: why, in words.
  ///   - signal: the run's signal that did it; `nil` where something else did.
  ///   - elapsed: how long it had worked.
  public static func cutOff(
    _ request: ToolRequest, reason: String, by signal: String? = nil, afterMicroseconds elapsed: Int
  ) -> ToolAnswer {
    ToolAnswer(
      result: .error(reason, isEffectUnknown: request.tool.sideEffect != .read), signal: signal,
      elapsedMicroseconds: elapsed)
  }

  /// The answer of a tool that has ended by itself: what one did that failed nobody knows, unless it only
  /// reads.
  public static func ended(
    _ request: ToolRequest, _ result: ToolResult, afterMicroseconds elapsed: Int
  ) -> ToolAnswer {
    guard case .error(let reason, _) = result else {
      return ToolAnswer(result: result, elapsedMicroseconds: elapsed)
    }
    return ToolAnswer(
      result: .error(reason: reason, isEffectUnknown: request.tool.sideEffect != .read),
      elapsedMicroseconds: elapsed)
  }

  /// The answer of a tool that took too long. The reason names a limit that somebody set, never what happened
  /// to be left of the run's time: equal runs say equal things.
  public static func timedOut(
    _ request: ToolRequest, afterMicroseconds limit: Int
  ) -> ToolAnswer {
    let reason =
      request.endsWithRun && request.timeoutMicroseconds == limit
      ? "the run's time was over"
      : "timed out after \(JSONValue(Double(limit) / 1_000_000)) seconds"
    return cutOff(request, reason: reason, afterMicroseconds: limit)
  }
}

extension JSONValue {
  /// Whether what a tool returned says itself that nothing was done: `{"effect":"none"}`, and whatever
  /// stands beside that.
  public var saysNoEffect: Bool { self["effect"] == "none" }
}

/// Why this machine can run no tool as things are. What was recorded stands; the run may go on where the
/// cause is gone.
public struct MachineFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// In words.
  public var description: String

  /// Says why.
  public init(description: String) { self.description = description }
}

/// Something that can be called.
public protocol Tool: Sendable {
  /// The result of one call. A failure is a value.
  func run(_ request: ToolRequest) async -> ToolAnswer
}

/// A tool that can give parts of its result before the end.
public protocol PartedTool: Tool {
  /// The result of one call: the list of its parts, where it did not fail.
  ///
  /// - Parameters:
  ///   - request: the call.
  ///   - part: told each part as it comes, in order, the next once it has returned; where it says `false` nobody waits
  ///     for more, and the call is cut off.
  func run(
    _ request: ToolRequest, part: @escaping @Sendable (JSONValue) async -> Bool
  ) async -> ToolAnswer
}
