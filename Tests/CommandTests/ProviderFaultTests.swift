#if Live
  import AgentRuntime
  import AgentTrace
  import EvalRunning
  import Foundation
  import Glibc
  import LiveBoundary
  import TestSupport
  import Testing
  import TraceReplaying
  import TraceStorage

  /// What goes wrong with a provider, and what becomes of the run.
  struct ProviderFault: Sendable, CustomTestStringConvertible {
    enum End: Sendable, Equatable {
      /// Asked again, it replies, and the run ends well. The first wait is of so many milliseconds; `nil`
      /// where that is left to chance.
      case retried(milliseconds: Int?)
      /// The run ends as `model_failure`, behind so many tries.
      case failure(tries: Int)
      /// The decision is invalid; asked again, the model makes a valid one.
      case invalid
      /// Nothing is lost: there is one try, and the run ends well.
      case taken
      /// The model will not reply: the run ends as `blocked`.
      case blocked
    }

    var name: String
    var end: End
    /// Answers each request that the fault is about.
    var handler: @Sendable (FakeProvider.Asked, FakeServer.Reply) -> Void
    /// Whether every request meets it, or the first alone.
    var isLasting = false
    /// As short as the fault needs them: a busy machine answers late as well.
    var timeouts = ProviderModel.Timeouts(connect: 30, firstByte: 60, idle: 60, total: 60)

    var testDescription: String { name }

    init(
      _ name: String, _ end: End, isLasting: Bool = false,
      _ handler: @escaping @Sendable (FakeProvider.Asked, FakeServer.Reply) -> Void
    ) {
      self.name = name
      self.end = end
      self.isLasting = isLasting
      self.handler = handler
    }

    private func waiting(_ change: (inout ProviderModel.Timeouts) -> Void) -> ProviderFault {
      var fault = self
      change(&fault.timeouts)
      return fault
    }

    static let usual = End.retried(milliseconds: 500)
    static let call = FakeProvider.Reply(
      "Let me look.", calls: [.init("lookup", "{\"order\":\"é😀7\"}")])

    /// An error as the dialect's vendor tells it.
    static func error(_ dialect: Dialect, _ type: String, _ message: String) -> String {
      switch dialect {
      case .anthropic:
        "{\"type\":\"error\",\"error\":{\"type\":\"\(type)\",\"message\":\"\(message)\"}}"
      case .bedrock: "{\"__type\":\"com.amazon#\(type)\",\"message\":\"\(message)\"}"
      default: "{\"error\":{\"type\":\"\(type)\",\"message\":\"\(message)\",\"code\":null}}"
      }
    }

    private static func status(
      _ status: Int, _ type: String, _ end: End, _ headers: [(String, String)] = [],
      isLasting: Bool = false, note: String = ""
    ) -> ProviderFault {
      ProviderFault("status \(status) \(type)\(note)", end, isLasting: isLasting) {
        $1.finish(status, headers: headers, body: error($0.dialect, type, "no \(status)"))
      }
    }

    /// Sends a reply as bytes up to a place, then does something else.
    private static func cut(
      _ asked: FakeProvider.Asked, _ reply: FakeServer.Reply, at place: ([UInt8]) -> Int
    ) {
      if asked.streams {
        let bytes = Array(FakeProvider.events(call, asked.dialect).joined())
        reply.beginChunks()
        reply.chunk(Array(bytes[..<place(bytes)]))
      } else {
        let bytes = Array(FakeProvider.body(call, asked.dialect).utf8)
        reply.head(headers: [("Content-Length", "\(bytes.count)")])
        reply.send(Array(bytes[..<place(bytes)]))
      }
    }

    static let all: [ProviderFault] = [
      ProviderFault("nothing", .taken) { FakeProvider.send(call, to: $0, $1) },
      ProviderFault("the head is late", usual) { $1.wait(seconds: 20) }.waiting {
        $0.firstByte = 2
      },
      ProviderFault("the body stops", usual) {
        cut($0, $1) { $0.count / 2 }
        $1.wait(seconds: 20)
      }.waiting { $0.idle = 2 },
      ProviderFault("lost before the head", usual) { $1.close() },
      ProviderFault("reset before the head", usual) { $1.close(reset: true) },
      ProviderFault("lost within the body", usual) {
        cut($0, $1) { $0.count / 2 }
        $1.close()
      },
      ProviderFault("lost within a character", usual) {
        cut($0, $1) { bytes in (bytes.firstIndex(of: 0xf0) ?? bytes.count / 2) + 2 }
        $1.close()
      },
      ProviderFault("ended within the body as if it were whole", usual) {
        guard $0.streams else {
          let bytes = Array(FakeProvider.body(call, $0.dialect).utf8)
          $1.finish(body: Array(bytes[..<(bytes.count / 2)]))
          return
        }
        cut($0, $1) { $0.count / 2 }
        $1.endChunks()
      },
      status(429, "rate_limit_error", .retried(milliseconds: 20), [("retry-after-ms", "20")]),
      status(429, "rate_limit_error", .retried(milliseconds: 2_500), [("Retry-After", "2.5")]),
      status(
        429, "rate_limit_error", .retried(milliseconds: 0),
        [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], note: ", a date"),
      status(429, "rate_limit_error", usual, [("retry-after", "soon")], note: ", no time"),
      status(
        429, "rate_limit_error", .failure(tries: 1), [("retry-after", "3600")], note: ", an hour"),
      status(429, "insufficient_quota", .failure(tries: 1), [("retry-after-ms", "1")]),
      status(408, "timeout", usual), status(409, "conflict_error", usual),
      status(500, "api_error", usual), status(503, "overloaded", usual),
      status(529, "overloaded_error", usual),
      status(500, "api_error", .failure(tries: 1), [("x-should-retry", "false")], note: ", final"),
      status(400, "odd", usual, [("x-should-retry", "true")], note: ", again"),
      status(400, "invalid_request_error", .failure(tries: 1)),
      status(401, "authentication_error", .failure(tries: 1)),
      status(402, "billing_error", .failure(tries: 1)),
      status(403, "permission_error", .failure(tries: 1)),
      status(404, "not_found_error", .failure(tries: 1)),
      status(413, "request_too_large", .failure(tries: 1)),
      status(500, "api_error", .failure(tries: 3), isLasting: true, note: ", always"),
      ProviderFault("a status of failure with a page", usual) { _, reply in
        reply.finish(502, type: "text/html", body: "<h1>Bad gateway</h1>")
      },
      ProviderFault("a redirect", .failure(tries: 1)) { _, reply in
        reply.finish(307, headers: [("Location", "http://127.0.0.1:9/")], body: "")
      },
      ProviderFault("a body that is no JSON", usual) { asked, reply in
        reply.finish(
          type: asked.streams ? "text/event-stream" : "application/json",
          body: "data: {\"choices\":[}\n\n")
      },
      ProviderFault("a body of zero bytes", usual) { _, reply in
        reply.finish(body: [UInt8](repeating: 0, count: 1_000))
      },
      ProviderFault("an empty body", usual) { asked, reply in
        reply.finish(type: asked.streams ? "text/event-stream" : "application/json", body: "")
      },
      ProviderFault("a page", usual) { _, reply in
        reply.finish(type: "text/html", body: "<html><body>Log in</body></html>")
      },
      ProviderFault("another form", usual) { _, reply in reply.finish(body: "{\"hello\":1}") },
      ProviderFault("a chunk whose size is no number", usual) { _, reply in
        reply.beginChunks()
        reply.send("zz\r\nhello\r\n")
        reply.close()
      },
      ProviderFault("a body that never ends", .failure(tries: 3), isLasting: true) { asked, reply in
        reply.beginChunks(type: asked.streams ? "text/event-stream" : "application/json")
        while reply.chunk(asked.streams ? ": still here\n\n" : " "), reply.wait(seconds: 0.05) {}
      }.waiting { $0.total = TestRun.isLong ? 2 : 0.5 },
      ProviderFault("a huge body", .failure(tries: 1)) { asked, reply in
        reply.beginChunks(type: asked.streams ? "text/event-stream" : "application/json")
        let piece = Array((asked.streams ? ": " : "").utf8) + [UInt8](repeating: 32, count: 1 << 20)
        while reply.chunk(piece) {}
      },
      ProviderFault("a wrong type, and the right body", .taken) { asked, reply in
        let body =
          asked.streams
          ? Array(FakeProvider.events(call, asked.dialect).joined())
          : Array(FakeProvider.body(call, asked.dialect).utf8)
        reply.finish(type: "text/plain", body: body)
      },
      ProviderFault("a plain reply whatever was asked for", .taken) {
        $1.finish(body: FakeProvider.body(call, $0.dialect))
      },
      ProviderFault("a streamed reply whatever was asked for", .taken) {
        $1.beginChunks()
        for event in FakeProvider.events(call, $0.dialect) { $1.chunk(event) }
        $1.endChunks()
      },
      ProviderFault("a whole stream whose connection is lost behind it", .taken) { asked, reply in
        guard asked.streams else { return FakeProvider.send(call, to: asked, reply) }
        reply.beginChunks()
        for event in FakeProvider.events(call, asked.dialect) { reply.chunk(event) }
        // Where the end comes in with the stream, the client may lose what it has not handed over yet, and
        // asks again.
        reply.wait(seconds: 1)
        reply.close(reset: false)
      },
      ProviderFault("a whole stream that stays open", .taken) { asked, reply in
        guard asked.streams else { return FakeProvider.send(call, to: asked, reply) }
        reply.beginChunks()
        for event in FakeProvider.events(call, asked.dialect) { reply.chunk(event) }
        reply.wait(seconds: 20)
        reply.close()
      },
      ProviderFault("overloaded, in a reply of success", usual) {
        inSuccess("overloaded_error", $0, $1)
      },
      ProviderFault("refused, in a reply of success", .failure(tries: 1)) {
        inSuccess("invalid_request_error", $0, $1)
      },
      ProviderFault("a reply that says nothing", .invalid) {
        FakeProvider.send(FakeProvider.Reply(), to: $0, $1)
      },
      ProviderFault("no choices", .invalid) { asked, reply in
        guard asked.dialect == .openai else {
          return FakeProvider.send(FakeProvider.Reply(), to: asked, reply)
        }
        if asked.streams {
          reply.finish(
            type: "text/event-stream", body: "data: {\"choices\":[]}\n\ndata: [DONE]\n\n")
        } else {
          reply.finish(body: "{\"choices\":[]}")
        }
      },
      ProviderFault("an unknown tool", .invalid) {
        FakeProvider.send(.init(calls: [.init("look_up", "{}")]), to: $0, $1)
      },
      ProviderFault("arguments that are no JSON", .invalid) {
        FakeProvider.send(.init(calls: [.init("lookup", "{\"order\":")]), to: $0, $1)
      },
      ProviderFault("arguments that are no object", .invalid) {
        FakeProvider.send(.init(calls: [.init("lookup", "[1]")]), to: $0, $1)
      },
      ProviderFault("arguments that break the schema", .invalid) {
        FakeProvider.send(.init(calls: [.init("lookup", "{\"order\":7}")]), to: $0, $1)
      },
      ProviderFault("ended for its length", .invalid) { asked, reply in
        let finish =
          switch asked.dialect {
          case .openai: "length"
          case .anthropic: "max_tokens"
          case .openaiResponses: "max_output_tokens"
          case .gemini: "MAX_TOKENS"
          case .ollama: "length"
          case .bedrock: "max_tokens"
          }
        FakeProvider.send(.init("The order is", finish: finish), to: asked, reply)
      },
      ProviderFault("refused by the provider's filter", .blocked) { asked, reply in
        let finish =
          switch asked.dialect {
          case .anthropic: "refusal"
          case .gemini: "SAFETY"
          case .bedrock: "content_filtered"
          default: "content_filter"
          }
        FakeProvider.send(.init("The", finish: finish), to: asked, reply)
      },
      ProviderFault("an unknown tool beside a good one", .taken) {
        FakeProvider.send(
          .init(calls: [.init("lookup", "{\"order\":\"1\"}"), .init("look_up", "{}", id: "b")]),
          to: $0, $1)
      },
      ProviderFault("no ids, and the same id twice", .taken) {
        FakeProvider.send(
          .init(calls: [
            .init("lookup", "{\"order\":\"1\"}", id: nil),
            .init("lookup", "{\"order\":\"2\"}", id: "x"),
            .init("lookup", "{\"order\":\"3\"}", id: "x"),
          ]), to: $0, $1)
      },
    ]

    private static func inSuccess(
      _ type: String, _ asked: FakeProvider.Asked, _ reply: FakeServer.Reply
    ) {
      let body = error(asked.dialect, type, "not now")
      guard asked.streams else {
        reply.finish(body: body)
        return
      }
      reply.beginChunks(type: FakeProvider.streamType(asked.dialect))
      for event in FakeProvider.events(call, asked.dialect).prefix(4) { reply.chunk(event) }
      let data =
        asked.dialect == .openaiResponses
        ? "{\"type\":\"error\",\"code\":\"\(type)\",\"message\":\"not now\"}" : body
      switch asked.dialect {
      case .ollama: reply.chunk("\(data)\n")
      case .bedrock: reply.chunk(EventFrames.exception(type, "not now"))
      default: reply.chunk("event: error\ndata: \(data)\n\n")
      }
      reply.wait(seconds: 20)
    }
  }

  @Suite("Providers that fail")
  struct ProviderFaultTests {
    static let key = "qk7-PLAINTEXT-93hfsKEY"
    static let variable = "AGENT_EVAL_TEST_PROVIDER"

    struct Way: Sendable, CustomTestStringConvertible {
      var dialect: Dialect
      var streams: Bool
      var testDescription: String { "\(dialect.rawValue), \(streams ? "streamed" : "plain")" }
    }

    static let ways = Dialect.allCases.flatMap { dialect in
      [false, true].map { Way(dialect: dialect, streams: $0) }
    }

    /// Ollama has no filter.
    private static func isThere(_ fault: ProviderFault, _ way: Way) -> Bool {
      fault.end != .blocked || way.dialect != .ollama
    }

    static func agent(_ provider: FakeProvider, _ way: Way, _ fault: ProviderFault? = nil)
      -> AgentDefinition
    {
      var model = ProviderModel(
        dialect: way.dialect, baseURL: provider.baseURL(way.dialect), keyVariable: variable,
        streams: way.streams,
        prices: .init(input: 1, output: 2),
        timeouts: fault?.timeouts ?? .init())
      model.settings.maxOutputTokens = 100
      let lookup = ToolDefinition(
        name: "lookup",
        inputSchema: [
          "type": "object", "required": ["order"], "properties": ["order": ["type": "string"]],
        ], sideEffect: .read)
      return AgentDefinition(
        name: "clerk", systemPrompt: "Help.",
        model: ModelDefinition(
          provider: way.dialect.rawValue, name: "fake", implementation: .provider(model)),
        tools: [
          ToolRegistration(
            definition: lookup,
            implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok(["state": "sent"]))]))
          )
        ])
    }

    @Test(
      "each fault of a provider ends in another try, model_failure or an invalid decision",
      arguments: ProviderFault.all, ways)
    func table(_ fault: ProviderFault, _ way: Way) async throws {
      guard Self.isThere(fault, way) else { return }
      setenv(Self.variable, Self.key, 1)
      let provider = try FakeProvider { asked, reply in
        if fault.isLasting || asked.number == 0 { return fault.handler(asked, reply) }
        // Once a tool was called, the answer; before that the call.
        let isDone = ["\\\"sent\\\"", "\"sent\""].contains { asked.request.text.contains($0) }
        FakeProvider.send(isDone ? .init("It is sent.") : ProviderFault.call, to: asked, reply)
      }
      defer { provider.stop() }
      let agent = Self.agent(provider, way, fault)
      let folder = try TemporaryFolder()
      let log = folder.path("run.jsonl.gz")
      let boundary = LiveBoundary.make(for: agent, clock: FixedClock())
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Where is my order?", files: RunFiles(output: log)), on: boundary)
      // Converse does not say which model replied.
      try await Self.check(
        recording, provider, fault.end, model: way.dialect == .bedrock ? nil : "fake-1")
      let leak = try await shell("zcat \(log) | grep -c '\(Self.key)'", status: 1)
      #expect(leak.output == "0\n")
      #expect(LogVerifier.verify(path: log).status == .whole)
      let again = try await Reexecution(of: log, with: agent)
      #expect(again.divergence == nil)
      #expect(await provider.server.waitUntilQuiet(), "a connection is left open in mid-reply")
      // At most the one that the next request would use.
      #expect(await eventually { provider.server.openConnections <= 1 })
      for request in provider.server.requests {
        let sent =
          request.header("authorization") ?? request.header("x-api-key")
          ?? request.header("x-goog-api-key") ?? ""
        #expect(sent.hasSuffix(Self.key))
      }
    }

    private static func check(
      _ recording: AgentRecording, _ provider: FakeProvider, _ end: ProviderFault.End,
      model: String?
    ) async throws {
      var reader = try LogReader(path: recording.log)
      var results: [ModelResult] = []
      var decisions: [Decision] = []
      while let event = try reader.next() {
        if event.type == .modelResult { results.append(try ModelResult(decoding: event.data)) }
        if event.type == .decision {
          decisions.append(try DecisionPayload(decoding: event.data).decision)
        }
      }
      let reason = recording.state.stop?.reason
      let words = results.map { $0.error ?? "replied" }
      #expect(provider.server.requests.count == results.count)
      switch end {
      case .taken:
        #expect(reason == "success", "\(words)")
        #expect(results.count == 2, "\(words)")
      case .blocked:
        #expect(reason == "blocked", "\(words)")
        #expect(results.count == 1, "\(words)")
        // Anthropic does not say which of the two it was.
        let detail = results.first?.finishReason == "refusal" ? "refusal" : "content_filter"
        #expect(decisions == [.stop(.blocked, detail: detail)])
      case .retried(let milliseconds):
        #expect(reason == "success", "\(words)")
        #expect(results.count == 3, "\(words)")
        #expect(results.first?.error != nil)
        #expect(results.first?.isFinal == false)
        #expect(results.first?.retryAfterMicroseconds == milliseconds.map { $0 * 1_000 })
      case .failure(let tries):
        #expect(reason == "model_failure", "\(words)")
        #expect(results.count == tries, "\(words)")
        #expect(results.last?.isFinal == (tries == 1), "\(words)")
        #expect(decisions.isEmpty)
      case .invalid:
        #expect(reason == "success", "\(words)")
        #expect(results.count == 3, "\(words)")
        guard case .invalid? = decisions.first else {
          Issue.record("\(decisions)")
          return
        }
      }
      for result in results where result.error == nil {
        #expect(result.modelVersion == model || result.inputTokens == nil)
        if let input = result.inputTokens, let output = result.outputTokens {
          #expect(result.cost == Double(input) * 1e-6 + Double(output) * 2e-6)
        }
      }
    }
  }
#endif
