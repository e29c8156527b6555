#if Live
  import AgentRuntime
  import AgentTrace
  import ArgumentParser
  import LiveBoundary
  import TraceImporting
  import TraceReceiving
  import TraceReporting

  /// A receiver at work: requests in, runs out, until a signal comes.
  struct Receiving: Sendable {
    let receiver: Receiver
    let access: ReceiverAccess
    let judge: ReceivedJudge?
    let isJSON: Bool

    /// Milliseconds between two looks for runs that are due.
    private static let pace = 50
    private static let secondsBetweenTidying = 1.0

    /// Serves until SIGINT, SIGTERM or SIGHUP; then writes what was taken in.
    ///
    /// - Throws: ``ReceiveFailure``, or exit code 2 behind words where something stays unwritten or unjudged.
    func run(host: String, port: Int, folder: String) async throws {
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      defer { listener.stop() }
      await judgeWhatIsLeft()
      let shown = host.contains(":") ? "[\(host)]" : host
      do {
        try await HTTPServer(serving).serve(host: host, port: port) { port in
          Output.error(
            Visible.line("listening on http://\(shown):\(port); runs go to \(folder)"))
          await writeRuns(until: cancellation)
          receiver.stopTaking()
        }
      } catch {
        throw ReceiveFailure(
          description: Visible.line(
            "\(host):\(port) cannot be listened at: \(error); --listen HOST:PORT names another address"
          ))
      }
      let isWhole = await writeWhatIsLeft()
      await judge?.finish()
      tellEnd()
      // Whoever waits for the end must not take runs that nobody judged for runs that passed.
      if !isWhole { throw ExitCode(2) }
    }

    // MARK: Requests

    private var serving: HTTPServing {
      var serving = HTTPServing(
        refusal: { request in
          let type = contentType(request)
          guard access.allows({ request.headers[$0] }) else {
            return answer(
              .refused(
                401, "show the receiver's token, or reach it by its address", contentType: type))
          }
          return receiver.refusal(
            method: request.method, target: request.target, contentType: type,
            contentEncoding: contentEncoding(request)
          ).map(answer)
        },
        answer: { request in
          answer(
            await receiver.take(
              method: request.method, target: request.target, contentType: contentType(request),
              contentEncoding: contentEncoding(request), body: request.body))
        },
        refused: { request, refusal in
          let type = contentType(request)
          switch refusal {
          case .tooLarge:
            return answer(.refused(413, "the body is larger than 32 MiB", contentType: type))
          case .busy:
            return answer(
              .refused(
                429, "too much is being received", contentType: type, retrySeconds: 1))
          case .tooManyConnections:
            return answer(
              .refused(503, "too many connections", contentType: type, retrySeconds: 1))
          }
        })
      serving.limits.bodyBytes = 32 << 20
      return serving
    }

    private func contentType(_ request: HTTPServing.Request) -> String {
      (request.headers["content-type"] ?? "").lowercasingType
    }

    private func contentEncoding(_ request: HTTPServing.Request) -> String {
      (request.headers["content-encoding"] ?? "").lowercased()
    }

    private func answer(_ answer: ReceivedAnswer) -> HTTPServing.Answer {
      HTTPServing.Answer(
        status: answer.status, headers: answer.headers.map { HTTPHeader($0.name, $0.value) },
        body: answer.body)
    }

    // MARK: Runs

    private func writeRuns(until cancellation: Cancellation) async {
      let clock = SystemClock(cancellation: cancellation)
      var tidied = ContinuousClock.now
      while cancellation.signal == nil {
        var isBusy = false
        do {
          isBusy = try await writeNext()
          if ContinuousClock.now - tidied > .seconds(Self.secondsBetweenTidying) {
            try await receiver.tidy()
            tidied = .now
          }
        } catch {
          // What was taken is kept, and the next try may find room.
          tell("\(error); trying again")
          await clock.wait(microseconds: 5_000_000)
        }
        if !isBusy { await clock.wait(microseconds: Self.pace * 1_000) }
      }
    }

    /// Writes runs that are due, and says whether there were any.
    private func writeNext(isLast: Bool = false) async throws -> Bool {
      let written = try await receiver.writeNext(isLast: isLast)
      for run in written {
        for name in run.gone {
          if isJSON {
            Output.json(["gone": .string(name)])
          } else {
            Output.line("gone   \(name), which is part of another run now")
          }
        }
        for (path, error) in run.faults {
          tell("no run can be made of what is kept in \(path): \(error)")
        }
        run.logs.forEach(tell)
      }
      let logs = written.flatMap(\.logs)
      for log in logs { try await judge(log) }
      return !written.isEmpty
    }

    /// Judges a log and notes that. One that fails is done with once that is told: what this receiver does not come to
    /// tell, the next one does.
    private func judge(_ log: WrittenRuns.Log) async throws {
      let failure = await judge?.judge(log)
      try receiver.judged([log], isTold: failure == nil)
      guard let judge, let failure else { return }
      await judge.tell(failure) { [receiver] in try? receiver.told(log) }
    }

    private func tell(_ log: WrittenRuns.Log) {
      // Those of sub-agents too, as imports count them.
      let calls = log.counts.toolCalls + log.counts.userToolCalls
      guard !isJSON else {
        var line: JSONObject = [
          "run": .string(log.name), "log": .string(log.path), "version": JSONValue(log.version),
          "messages": JSONValue(log.counts.messages), "calls": JSONValue(calls),
          "open": .bool(log.isOpen),
        ]
        line["stop"] = log.counts.stopReason.map(JSONValue.string) ?? .null
        return Output.json(.object(line))
      }
      let ending =
        log.isOpen ? "open" : log.counts.stopReason.map { "stop \($0)" } ?? "no stop told"
      let version = log.version > 1 ? ", version \(log.version)" : ""
      Output.line(
        Visible.line(
          "run    \(log.name)  \(Figures.count(log.counts.messages, "message")), "
            + "\(Figures.count(calls, "call")), \(ending)\(version)"))
    }

    /// What another receiver wrote and did not come to judge.
    private func judgeWhatIsLeft() async {
      do {
        for log in try receiver.unjudged() { try await judge(log) }
      } catch { tell("\(error)") }
    }

    /// Whether nothing is left behind it.
    private func writeWhatIsLeft() async -> Bool {
      do {
        while try await writeNext(isLast: true) {}
        try await receiver.tidy()
        return true
      } catch {
        tell("\(error); what was taken in stays in the spool, for the next receiver of this folder")
        return false
      }
    }

    private func tellEnd() {
      let counts = receiver.counts
      var words = [
        "\(Figures.count(counts.requests, "request")) with \(Figures.count(counts.spans, "span")) taken",
        "\(Figures.count(counts.written, "log")) written, \(counts.open) open",
      ]
      if counts.refused > 0 { words.append("\(Figures.count(counts.refused, "request")) refused") }
      if counts.rejected > 0 {
        words.append(
          "\(Figures.count(counts.rejected, "span")) without the id of a trace or of its own")
      }
      if counts.leftOver > 0 {
        words.append("\(Figures.count(counts.leftOver, "span")) of no agent's run")
      }
      if let judge { words.append(judge.summary) }
      Output.error(words.joined(separator: "; ") + ".")
    }

    private func tell(_ words: String) {
      Output.error(Visible.lines("agent-eval: \(words)").joined(separator: "\n"))
    }
  }

  extension String {
    /// A content type in small letters but for its parameters, whose values may be in both.
    fileprivate var lowercasingType: String {
      let type = prefix { $0 != ";" }
      return type.lowercased() + self[type.endIndex...]
    }
  }
#endif
