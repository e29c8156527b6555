#if Live
  public import AgentRuntime
  public import AgentTrace
  import CPrograms
  import Glibc

  /// A run of an agent that is a command, behind the recording proxy.
  ///
  /// The command has what its file gives it and no more: a few variables, its input on standard input, a
  /// session of its own with no terminal, and base-URL variables that lead its clients to the proxy. At its
  /// end, or when its time is over, nothing of its session is left.
  public struct CommandAgentRun: Sendable {
    private let agent: AgentDefinition
    private let command: CommandAgent
    private let routes: ProxyRoutes
    private let person: (any Person)?

    /// The most bytes of standard output that are kept; what comes after is read and dropped.
    static let outputLimitBytes = 1 << 20

    /// Why a command could not be run.
    public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
      /// In words.
      public var description: String
    }

    /// What came of it.
    public struct Exit: Sendable {
      /// The log's path.
      public var log: String
      /// Why the run stopped.
      public var stop: StopReason
      /// The end of what it wrote to standard error, with secrets withheld as in the log.
      public var errors: String
    }

    /// Nothing is started.
    ///
    /// - Parameters:
    ///   - agent: the command, and what is said of its run.
    ///   - person: who is asked for approvals, in place of the agent's own.
    /// - Throws: ``Fault`` where the agent is no command, or an upstream is no URL.
    public init(_ agent: AgentDefinition, person: (any Person)? = nil) throws(Fault) {
      guard let command = agent.command else {
        throw Fault(description: "the agent “\(agent.name)” is no command")
      }
      self.agent = agent
      self.command = command
      self.person = person
      do {
        routes = try ProxyRoutes(command.upstreams.map { "\($0.name)=\($0.url)" }) { name in
          command.environment.set[name] ?? getenv(name).map { String(cString: $0) }
        }
      } catch {
        throw Fault(description: error.description)
      }
    }

    /// Runs the command to its end.
    ///
    /// - Parameters:
    ///   - start: names the run.
    ///   - input: what it is asked to do.
    ///   - cancellation: What ends the command early.
    ///   - makeSink: opens the log.
    /// - Throws: ``Fault`` where it could not be started: there is no log then; and what the log throws.
    public func run(
      _ start: Runtime.Start, input: String, until cancellation: Cancellation,
      makeSink: @escaping @Sendable () throws -> any ClosableSink
    ) async throws -> Exit {
      let command = filled(start, input)
      // The command hears of signals and of its policy, the run of signals alone.
      let ending = Cancellation()
      var first = ExchangeRecorder.Start(runId: start.runId, name: agent.name)
      first.started = agent.started(start)
      first.answerFrom = command.answerFrom
      (first.main, first.callers) = (command.main, command.callers)
      let clock = SystemClock(cancellation: cancellation)
      first.guarding = ProxyGuard(
        agent, person: person,
        authorizers: LiveBoundary.authorizers(
          of: agent.policy, folder: agent.folder, clock: clock, cancellation: cancellation)
      ) { ending.cancel(signal: "policy") }
      let redactor = Redactor(agent.redaction, .inEnvironment(for: agent))
      let recorder = ExchangeRecorder(
        first, clock: clock, redactor: redactor, makeSink: makeSink)
      let proxy = RecordingProxy(routes, recordingTo: recorder)
      let network: IsolatedNetwork?
      do { network = command.isIsolated ? try IsolatedNetwork() : nil } catch {
        throw Fault(description: "not started: isolate: \(error)")
      }
      let result = try await cancellation.whileListening({
        ending.cancel(signal: cancellation.signal ?? "a signal")
      }) {
        await Self.result {
          try await proxy.serve(in: network) {
            try await run(command, input, $0, in: network, until: ending)
          }
        }
      }.get()
      let edges = CutEdges(command.environment)
      if command.answer == .stdout {
        await recorder.answers(
          edges.trimmed(Self.answer(result.output), result.output.isCut ? .end : []))
      }
      let end = await recorder.imposedEnd ?? Self.end(result)
      return Exit(
        log: try await recorder.finish(end), stop: await recorder.stopReason ?? .cancelled,
        errors: redactor.redacted(
          edges.trimmed(result.errors.text, result.errors.isCut ? .start : [])))
    }

    private func filled(_ start: Runtime.Start, _ input: String) -> CommandAgent {
      command.filled { name in
        switch name {
        case "input": input
        case "caseId": start.caseId ?? ""
        case "trial": start.trial.map(String.init) ?? ""
        default: ""
        }
      }
    }

    private static func result<Value: Sendable>(
      _ work: () async throws -> Value
    ) async -> Result<Value, any Error> {
      do { return .success(try await work()) } catch { return .failure(error) }
    }

    private func run(
      _ command: CommandAgent, _ input: String, _ port: Int, in network: IsolatedNetwork?,
      until ending: Cancellation
    ) async throws -> CommandProcess.Exit {
      let program = program(command, port)
      if let fault = program.fault { throw Fault(description: fault) }
      var order = program.order
      order.network = network
      order.input = .bytes(Array(input.utf8))
      order.timeoutMicroseconds = Int(min(max(0, command.timeoutSeconds), 1e9) * 1_000_000)
      do throws(ProgramFault) {
        return try await CommandProcess(
          order: order, outputLimitBytes: Self.outputLimitBytes, endsAtOutputLimit: false
        ).run(until: ending)
      } catch {
        throw Fault(description: Self.words(error, program, in: command.folder))
      }
    }

    private func program(_ command: CommandAgent, _ port: Int) -> ProgramStart {
      var variables = CommandVariables(command.environment)
      for name in CommandTool.inheritedVariables { variables.inherit(name) }
      for (name, value) in routes.variables(port: port) { variables[name] = value }
      for (name, value) in ProxyRoutes.direct(besides: { variables[$0] }) {
        variables[name] = value
      }
      return ProgramStart(
        command.arguments, folder: CommandTool.absolute(command.folder), variables: variables,
        limits: ProcessLimits())
    }

    private static func words(
      _ fault: ProgramFault, _ program: ProgramStart, in folder: String
    ) -> String {
      if case .stage(Int(PROGRAM_STAGE_FOLDER), _) = fault {
        return "cannot start “\(program.name)”: its folder \(folder) cannot be entered"
      }
      return program.startFault(fault)
    }

    private static func end(_ ending: CommandProcess.Exit) -> CommandEnd {
      switch ending.cause {
      case .timeLimit: return .ended(.budgetExhausted, detail: StopDetail.timeout)
      case .cancelled(let signal): return .cancelled(signal: signal)
      case .outputLimit, .processLimit, nil: break
      }
      return switch ending.end {
      case .exited(let code): .exited(code)
      case .killed(let signal): .killed(signal)
      }
    }

    /// What standard output says, without the white space around it.
    private static func answer(_ output: Head) -> String {
      let space: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
      let bytes = output.isCut ? output.bytes.withoutTornCharacter : output.bytes
      guard let first = bytes.firstIndex(where: { !space.contains($0) }),
        let last = bytes.lastIndex(where: { !space.contains($0) })
      else { return "" }
      return String(decoding: bytes[first...last], as: UTF8.self)
    }
  }
#endif

extension ProxyRoutes {
  /// What keeps clients from asking loopback by way of another proxy.
  ///
  /// - Parameter before: the variables as they would be.
  public static func direct(
    besides before: (String) -> String?
  ) -> [(name: String, value: String)] {
    ["NO_PROXY", "no_proxy"].map { name in
      let others = before(name) ?? ""
      return (name, others.isEmpty ? "127.0.0.1,localhost" : "\(others),127.0.0.1,localhost")
    }
  }
}
