#if Live
  import AgentRuntime
  import AgentTrace
  import ArgumentParser
  import EvalRunning
  import Glibc
  import LiveBoundary
  import TraceReplaying
  import TraceReporting
  import TraceStorage

  /// Records a command that talks to models, or answers it from what was recorded.
  struct ProxiedRecording {
    var command: [String]
    var upstreams: [String]
    var name: String?
    var out: String?
    var durability: LogWriter.Durability
    /// The log that answers; `nil` to ask the providers.
    var replay: String?
    /// What is let through; `nil` for everything.
    var guarding: ProxyGuard?
    /// Whether it is a failure that something was not seen.
    var requiresComplete: Bool
    /// `NAME=MATCHER` each; see ``CallerName``.
    var callers: [String]
    /// See ``CallerMatcher``.
    var main: String?
    /// See ``CommandAgent/AnswerCall``.
    var answerFrom: String?
    /// Whether the command can reach nothing but the proxy.
    var isIsolated: Bool
    /// The server that the run is handed to.
    var otlp: String?

    func run() async throws -> Int32 {
      let routes: ProxyRoutes
      do {
        // A recording needs no provider, and none is asked.
        routes = try ProxyRoutes(upstreams, asksProviders: replay == nil) {
          replay == nil ? getenv($0).map { String(cString: $0) } : nil
        }
      } catch {
        throw ValidationError(Visible.line("\(error)."))
      }
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      defer { listener.stop() }
      guard let replay else { return try await record(routes, cancellation) }
      return try await answer(routes, from: RecordedExchanges(path: replay), cancellation)
    }

    private var agentName: String {
      name ?? command.first.map { String($0.split(separator: "/").last ?? "agent") } ?? "agent"
    }

    /// What is recorded of the run, and who is called what in it.
    private func recorderStart(_ runId: String) throws -> ExchangeRecorder.Start {
      var start = ExchangeRecorder.Start(runId: runId, name: agentName)
      for text in callers {
        guard let name = CallerName(text) else {
          throw ValidationError("--caller is NAME=MATCHER, not “\(Visible.line(text))”.")
        }
        start.callers.append(name)
      }
      if let main {
        start.main = CallerMatcher(main)
        if start.main == nil { throw ValidationError("--main names nothing.") }
      }
      if let answerFrom {
        start.answerFrom = CommandAgent.AnswerCall(answerFrom)
        if start.answerFrom == nil {
          throw ValidationError("--answer-from is TOOL or TOOL/PATH.")
        }
      }
      return start
    }

    private func record(_ routes: ProxyRoutes, _ cancellation: Cancellation) async throws -> Int32 {
      let runId = RandomRunIDs().next()
      let path = RunFiles(output: out ?? Settings.here.out).path(of: agentName, runId: runId)
      try LogPlace.check(path)
      // The command hears of signals and of the policy.
      let ending = Cancellation()
      var start = try recorderStart(runId)
      start.caseId = name
      start.guarding = guarding
      start.guarding?.endCommand = { ending.cancel(signal: "policy") }
      let handed = HandedRuns(to: otlp)
      let recorder = ExchangeRecorder(
        start, clock: SystemClock(cancellation: cancellation),
        redactor: Redactor(RedactionSettings(), .inEnvironment)
      ) { [durability] in
        try ObservedLog(
          LogWriter(creating: path, options: .init(durability: durability)),
          stays: { handed?.follow(path) })
      }
      let passOn: @Sendable () -> Void = {
        ending.cancel(signal: cancellation.signal ?? "SIGTERM")
      }
      let served: Result<CommandEnd, any Error> = await cancellation.whileListening(passOn) {
        do { return .success(try await serve(routes, recorder, nil, ending)) } catch {
          return .failure(error)
        }
      }
      let imposed = await recorder.imposedEnd
      let end = try imposed ?? served.get()
      let log = try await recorder.finish(end)
      if case .ended(let reason, let detail)? = imposed {
        Output.error(Visible.line("agent-eval: the run stopped: \(reason.rawValue) (\(detail))"))
      }
      Output.error("agent-eval: recorded \(Visible.line(log))")
      await handed?.hand([log])
      return await tell(recorder.lack) && requiresComplete && end.exitCode == 0 ? 1 : end.exitCode
    }

    /// Tells what the recording may lack; says whether it lacks anything.
    private func tell(_ lack: ExchangeRecorder.Lack) -> Bool {
      for note in lack.notes { Output.error("agent-eval: note: \(Visible.line(note))") }
      guard lack.count > 0 else { return false }
      for reason in lack.reasons.prefix(5) {
        Output.error("agent-eval: warning: not seen: \(Visible.line(reason))")
      }
      let more = lack.count - min(5, lack.reasons.count)
      Output.error(
        "agent-eval: \(more > 0 ? "and \(more) more; " : "")what speaks against calls, of their number or "
          + "of what was used cannot be verified by this recording")
      return true
    }

    private func answer(
      _ routes: ProxyRoutes, from exchanges: RecordedExchanges, _ cancellation: Cancellation
    ) async throws -> Int32 {
      let recorder = ExchangeRecorder(
        try recorderStart(RandomRunIDs().next()), clock: FixedClock(),
        redactor: Redactor(RedactionSettings(), .inEnvironment), makeSink: { NoSink() })
      let end = try await serve(routes, recorder, exchanges, cancellation)
      _ = try await recorder.finish(end)
      if tell(exchanges) { return 1 }
      guard requiresComplete, end.exitCode == 0 else { return end.exitCode }
      return await tell(recorder.lack) ? 1 : 0
    }

    private func serve(
      _ routes: ProxyRoutes, _ recorder: ExchangeRecorder, _ source: (any ReplySource)?,
      _ cancellation: Cancellation
    ) async throws -> CommandEnd {
      let command = command
      let network = isIsolated ? try IsolatedNetwork() : nil
      let proxy = RecordingProxy(routes, recordingTo: recorder, source: source)
      return try await proxy.serve(in: network) { port in
        var variables =
          routes.variables(port: port)
          + ProxyRoutes.direct { getenv($0).map { String(cString: $0) } }.map { ($0, $1) }
        if source != nil { variables += Self.keys }
        let started = ProxiedCommand(
          command[0], Array(command.dropFirst()), variables: variables)
        let watch = ConnectionWatch(port: port)
        let end = try await watch.whileLooking {
          try await started.run(
            until: cancellation, watch: network == nil ? watch : nil, in: network)
        }
        await Self.note(watch.others, routes, recorder)
        return end
      }
    }

    /// Connections past the proxy are no fault: agents have tools. But one that led to a provider was to a model.
    private static func note(
      _ others: [String], _ routes: ProxyRoutes, _ recorder: ExchangeRecorder
    ) async {
      let providers = await routes.providers(among: others)
      let past = others.filter(providers.contains)
      if !past.isEmpty {
        await recorder.notice(
          Unseen(
            .connections, ["calls": "partial", "model": "partial"],
            reason:
              "the command had connections to a provider of models past the proxy, of which nothing "
              + "is recorded: \(list(past))"))
      }
      let elsewhere = others.filter { !providers.contains($0) }
      guard !elsewhere.isEmpty else { return }
      await recorder.notice(
        Unseen(
          .connections, [:],
          reason: "the command had connections past the proxy, of which nothing is recorded: "
            + list(elsewhere)))
    }

    private static func list(_ addresses: [String]) -> String {
      let more = addresses.count > 5 ? " and \(addresses.count - 5) more" : ""
      return addresses.prefix(5).joined(separator: ", ") + more
    }

    /// Keys that clients want to have, where none is set.
    private static var keys: [(name: String, value: String?)] {
      var names = [
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY",
      ]
      // Keys in variables go before those of a profile.
      if getenv("AWS_PROFILE") == nil { names += ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] }
      return names.filter { getenv($0) == nil }.map { ($0, ProxyRoutes.noKey) }
    }

    /// Tells what the recording had no reply to, and what nobody asked for; says whether there was any.
    private func tell(_ exchanges: RecordedExchanges) -> Bool {
      let report = DivergenceReport(painter: Screen.painter, width: Screen.width)
      if let found = exchanges.difference {
        let lines = report.lines(
          DivergenceReport.Finding(
            log: exchanges.path, cause: "context", step: found.step ?? 0, seq: found.seq ?? 0,
            recorded: found.seq.map { "request of event \($0)" },
            now: "request \(found.number): \(found.now)", input: nil,
            explanation: found.reason ?? "The recording holds no reply to request \(found.number).",
            fields: found.fields.map { ($0.pointer.description, $0.recorded, $0.now) },
            fieldCount: found.fieldCount))
        Output.error(lines.joined(separator: "\n"))
        return true
      }
      let unasked = exchanges.unasked
      guard let first = unasked.first else {
        Output.error(
          "agent-eval: faithful, \(exchanges.counts.asked) requests answered from "
            + Visible.line(exchanges.path))
        return false
      }
      Output.error(
        "agent-eval: \(Visible.line(exchanges.path)) holds \(unasked.count) \(unasked.count == 1 ? "reply" : "replies") that nobody asked "
          + "for; the first is event \(first.seq), step \(first.step).")
      return true
    }
  }

  /// What is answered from a log is recorded there already.
  private final class NoSink: ClosableSink {
    func append(_ event: Event, isEffectAhead: Bool) {}
    func closeLog() -> String { "" }
    func settle() {}
    func takeBack() {}
  }
#endif
