public import AgentRuntime
import AgentTrace
import FilePaths
import Glibc

/// A tool that is a program: the input as one line of JSON on its standard input, the result as JSON
/// on its standard output. No shell stands between. Docs/commands.md is the contract.
public struct CommandTool: Tool {
  /// How long a command may take whose tool and run set no limit.
  public static let defaultTimeoutMicroseconds = 300_000_000
  /// How much of the end of standard error a failure quotes.
  static let errorTailBytes = 2_048
  /// The variables that a command inherits; no other, so that no key or token reaches it by accident.
  static let inheritedVariables = ["HOME", "LANG", "PATH", "TMPDIR"]

  private let command: CommandDefinition
  private let folder: String
  private let clock: any RunClock
  private let cancellation: Cancellation

  /// - Parameters:
  ///   - command: The program, and how it is given its input.
  ///   - folder: The folder of the agent file: the working folder, and where a program with a `/` is
  ///     looked for.
  ///   - clock: On a fixed clock a call takes no time, so that a run gives the same bytes each time.
  ///   - cancellation: What cuts a call off.
  public init(
    _ command: CommandDefinition, folder: String, clock: any RunClock, cancellation: Cancellation
  ) {
    self.command = command
    self.folder = Self.absolute(folder)
    self.clock = clock
    self.cancellation = cancellation
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    await run(request, printing: nil)
  }

  /// Takes the lines that a call prints.
  func makeParts() -> PrintedParts {
    PrintedParts(
      limitBytes: command.outputLimitBytes)
  }

  /// - Parameter parts: told the lines as they come; what the call then returns is for them to say, and more than
  ///   the limit of output is always an error.
  func run(_ request: ToolRequest, printing parts: PrintedParts?) async -> ToolAnswer {
    let limit = request.timeoutMicroseconds ?? Self.defaultTimeoutMicroseconds
    if let answer = ToolAnswer.untried("not started", within: limit, cancellation) { return answer }
    if let fault = Self.fault(inIdentityOf: request) { return ToolAnswer(result: .error(fault)) }
    let program = program(for: request)
    if let fault = program.fault { return ToolAnswer(result: .error(fault)) }
    var order = program.order
    order.input = .bytes(
      CanonicalJSON.encode(request.input, form: .plain) + [UInt8(ascii: "\n")])
    order.timeoutMicroseconds = limit
    let start = SuspendingClock.now
    let ending: CommandProcess.Exit
    do throws(ProgramFault) {
      var process = CommandProcess(
        order: order, outputLimitBytes: command.outputLimitBytes,
        endsAtOutputLimit: parts != nil || command.outputLimit == .error)
      if let parts { process.seeOutput = { parts.take($0) } }
      ending = try await process.run(until: cancellation)
    } catch {
      return .notStarted(error, program.startFault(error), signal: cancellation.signal)
    }
    let elapsed = clock.isFixed ? 0 : (SuspendingClock.now - start).wholeMicroseconds
    return answer(
      to: request, after: ending, elapsed: elapsed, limit: limit, isParted: parts != nil)
  }

  /// The variables that say for whom a command runs.
  private static let identityVariables: [(ToolRequest.IdentityKey, String)] = [
    (.runId, "AGENT_RUN_ID"), (.callId, "AGENT_CALL_ID"), (.actorId, "AGENT_ACTOR_ID"),
    (.tenantId, "AGENT_TENANT_ID"), (.route, "AGENT_ROUTE"),
  ]

  /// Why nobody can tell the command for whom it runs; `nil` where that can be told.
  private static func fault(inIdentityOf request: ToolRequest) -> String? {
    identityVariables.first { request[identity: $0.0]?.utf8.contains(0) ?? false }
      .map { "not started: \($0.0.rawValue) holds a NUL byte, which no variable can say" }
  }

  // MARK: Start

  private func program(for request: ToolRequest) -> ProgramStart {
    var variables = CommandVariables(command.environment)
    for name in Self.inheritedVariables { variables.inherit(name) }
    variables["IDEMPOTENCY_KEY"] = request.idempotencyKey
    for (key, name) in Self.identityVariables {
      // Whatever the agent file says there: it acts for nobody else.
      variables[name] = request[identity: key]
    }
    return ProgramStart(
      command.arguments, folder: folder, variables: variables, limits: command.limits)
  }

  // MARK: End

  private func answer(
    to request: ToolRequest, after ending: CommandProcess.Exit, elapsed: Int, limit: Int,
    isParted: Bool
  ) -> ToolAnswer {
    let edges = CutEdges(command.environment)
    let words = edges.quote(ending.errors)
    switch ending.cause {
    case .timeLimit: return .timedOut(request, afterMicroseconds: limit)
    case .cancelled(let signal):
      return .cutOff(
        request, reason: "cancelled by \(signal)", by: cancellation.signal,
        afterMicroseconds: elapsed)
    case .outputLimit:
      return .cutOff(
        request, reason: "more than \(command.outputLimitBytes) bytes on standard output",
        afterMicroseconds: elapsed)
    case .processLimit:
      return .cutOff(request, reason: "too many processes", afterMicroseconds: elapsed)
    case nil: break
    }
    if isParted || command.outputLimit == .error, ending.output.isCut {
      // It had ended by itself before it could be ended.
      return .ended(
        request, .error("more than \(command.outputLimitBytes) bytes on standard output"),
        afterMicroseconds: elapsed)
    }
    switch ending.end {
    case .exited(0):
      let result =
        isParted
        ? ToolResult.ok(data: .null) : edges.trimmed(Self.result(reading: ending.output))
      return .ended(request, result, afterMicroseconds: elapsed)
    case .exited(let code):
      let result = ToolResult.error("exited with \(code)\(words)")
      // Whether nothing was done, the agent file knows of this exit code, or the command says so itself.
      let saysSo = Self.saysNoEffect(ending.output)
      guard saysSo || command.noEffectExitCodes.contains(Int(code)) else {
        return .ended(request, result, afterMicroseconds: elapsed)
      }
      var answer = ToolAnswer(result: result, elapsedMicroseconds: elapsed)
      answer.saysNoEffect = saysSo
      return answer
    case .killed(let signal):
      return .cutOff(
        request, reason: "killed by \(SignalName.name(of: signal))\(words)",
        afterMicroseconds: elapsed)
    }
  }

  /// A command that prints nothing, or white space alone, returns null; one that prints too much, what
  /// it began with.
  static func result(reading output: Head) -> ToolResult {
    let space: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
    let bytes = output.isCut ? output.bytes.withoutTornCharacter : output.bytes
    do {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      return .error("standard output is not UTF-8 at byte \(error.byteOffsets.lowerBound)")
    }
    if output.isCut { return .ok(data: output.cutText) }
    let text = bytes.withoutByteOrderMark
    if text.allSatisfy({ space.contains($0) }) { return .ok(data: .null) }
    do {
      return .ok(data: try JSONValue(parsing: text))
    } catch {
      return .error("standard output is not JSON: \(error)")
    }
  }

  /// Whether a command that failed says itself that nothing was done.
  private static func saysNoEffect(_ output: Head) -> Bool {
    if case .ok(let data) = result(reading: output) { data.saysNoEffect } else { false }
  }

  static func absolute(_ folder: String) -> String {
    guard !folder.utf8.starts(with: "/".utf8), let current = workingFolder() else { return folder }
    return "\(current)/\(folder)"
  }
}
