#if Live
  import AgentRuntime
  import AgentTrace
  import Glibc
  import Synchronization

  /// A model that a provider serves over HTTP. Each request is one try: whether and when another follows is
  /// part of the answer.
  struct HTTPModel: Model {
    private let provider: ProviderModel
    private let name: String
    private let clock: any RunClock
    private let cancellation: Cancellation
    private let pace: ModelPace?
    private let estimate: TokenEstimate

    /// The most bytes of a reply.
    private static let replyLimitBytes = 32 << 20
    /// The most bytes of a reply that tells of an error.
    private static let errorLimitBytes = 256 << 10
    /// The most bytes of an error in words.
    private static let wordsLimitBytes = 64 << 10

    init(
      _ provider: ProviderModel, name: String, clock: any RunClock, cancellation: Cancellation
    ) {
      self.provider = provider
      self.name = name
      self.clock = clock
      self.cancellation = cancellation
      pace = ModelPace.of(provider, name: name)
      estimate = TokenEstimate(provider: provider.dialect.rawValue, model: name)
    }

    func reply(to request: ModelRequest) async -> ModelAnswer {
      let call: HTTPCall
      switch self.call(for: request) {
      case .success(let made): call = made
      case .failure(let fault): return .failed("\(fault)", .never)
      }
      let tokens =
        pace == nil
        ? 0
        : estimate.tokens(in: .array(request.messages)) + (provider.settings.maxOutputTokens ?? 0)
      if let answer = await waitForTurn(tokens: tokens, request) { return answer }
      let start = ContinuousClock.now
      var answer = await performed(call, request)
      if !clock.isFixed {
        answer.elapsedMicroseconds = (ContinuousClock.now - start).wholeMicroseconds
      }
      if let input = answer.inputTokens, let output = answer.outputTokens {
        pace?.settle(taken: tokens, used: input + output)
      }
      return answer
    }

    /// Waits where the pace asks for it; an answer where the run's time or the run itself ends before.
    private func waitForTurn(tokens: Int, _ request: ModelRequest) async -> ModelAnswer? {
      let wait = pace?.take(tokens: tokens) ?? 0
      let left = request.timeoutMicroseconds ?? .max
      if wait > 0 { await clock.wait(microseconds: min(wait, left)) }
      if let signal = cancellation.signal { return .failed("cancelled by \(signal)", .atOnce) }
      guard wait < left else {
        return .failed("the run's time is over before the model may be asked again", .atOnce)
      }
      return nil
    }

    // MARK: Requests

    private struct Unset: Error, CustomStringConvertible {
      var variable: String
      var description: String { "the variable \(variable), which a request needs, is not set" }
    }

    private func call(for request: ModelRequest) -> Result<HTTPCall, Unset> {
      let settings = provider.settings(for: request.purpose, step: request.step)
      let body = provider.dialect.body(
        of: ModelPrompt(request), model: name, settings, stream: provider.streams,
        isOpenAI: provider.isOpenAI)
      var headers = [
        HTTPHeader("Content-Type", "application/json"),
        HTTPHeader("Accept", provider.streams ? "text/event-stream" : "application/json"),
        HTTPHeader("User-Agent", "agent-eval"),
      ]
      if provider.dialect == .anthropic {
        headers.append(HTTPHeader("anthropic-version", AnthropicMessages.version))
      }
      if let variable = provider.keyVariable {
        guard let key = ProcessVariables[variable], !key.isEmpty else {
          return .failure(Unset(variable: variable))
        }
        let header =
          switch provider.dialect {
          case .anthropic: HTTPHeader("x-api-key", key)
          case .gemini: HTTPHeader("x-goog-api-key", key)
          default: HTTPHeader("Authorization", "Bearer \(key)")
          }
        headers.append(header)
      }
      for header in provider.headers {
        headers.removeAll { $0.name.lowercased().hasSameUTF8(as: header.name.lowercased()) }
        switch header.value {
        case .text(let text): headers.append(HTTPHeader(header.name, text))
        case .variable(let variable):
          guard let value = ProcessVariables[variable], !value.isEmpty else {
            return .failure(Unset(variable: variable))
          }
          headers.append(HTTPHeader(header.name, value))
        }
      }
      var timeouts = HTTPTimeouts(
        connect: provider.timeouts.connect, firstByte: provider.timeouts.firstByte,
        idle: provider.timeouts.idle, total: provider.timeouts.total)
      if let left = request.timeoutMicroseconds {
        // A little more, so that the run's own clock has passed it too.
        let seconds = Double(left) / 1_000_000 + 0.005
        timeouts.isTotalLeftOver = seconds < timeouts.total
        timeouts.total = min(timeouts.total, seconds)
      }
      var call = HTTPCall(
        method: "POST", url: provider.url(of: name), headers: headers,
        body: CanonicalJSON.encode(.object(body), form: .plain), timeouts: timeouts)
      call.authorityFile = provider.authorityFile
      return .success(call)
    }

    // MARK: Replies

    /// An answer that is whole, though the connection may still fail.
    private final class Settled: Sendable {
      private let known = Mutex<(answer: ModelAnswer, paused: [JSONValue]?)?>(nil)
      var answer: ModelAnswer? { known.withLock { $0?.answer } }
      /// What has to be sent back for the provider to go on; `nil` where it has not paused.
      var paused: [JSONValue]? { known.withLock { $0?.paused } }
      func settle(_ answer: ModelAnswer, paused: [JSONValue]?) {
        known.withLock { $0 = (answer, paused) }
      }
    }

    /// How often a provider that paused is asked to go on.
    private static let pauseLimit = 10

    /// Asks, and asks again where the provider pauses: with what it said so far as the last message.
    private func performed(_ call: HTTPCall, _ request: ModelRequest) async -> ModelAnswer {
      var settled = Settled()
      var answer = await perform(call, request, settled)
      var said: [JSONValue] = []
      for _ in 0..<Self.pauseLimit {
        guard let paused = settled.paused, answer.error == nil, let body = call.body,
          var object = (try? JSONValue(parsing: body))?.objectValue,
          var messages = object["messages"]?.arrayValue
        else { break }
        said += paused
        messages.append(["role": "assistant", "content": .array(said)])
        object["messages"] = .array(messages)
        var next = call
        next.body = CanonicalJSON.encode(.object(object), form: .plain)
        settled = Settled()
        let before = answer
        answer = await perform(next, request, settled)
        answer.goOn(behind: before)
      }
      return answer
    }

    private func perform(
      _ call: HTTPCall, _ request: ModelRequest, _ settled: Settled
    ) async -> ModelAnswer {
      let advice = RetryAdvice(
        attempt: request.attempt, chance: clock.isFixed ? 0 : Double.random(in: 0...1))
      let work = Task {
        try await HTTPConnector.shared.perform(call) { head, body in
          try await answer(head, &body, request, advice, settled)
        }
      }
      let result = await withTaskCancellationHandler {
        await cancellation.whileListening({ work.cancel() }) { await work.result }
      } onCancel: {
        work.cancel()
      }
      if let answer = settled.answer { return answer }
      do { return try result.get() } catch let failure as HTTPFailure {
        if let signal = cancellation.signal { return .failed("cancelled by \(signal)", .atOnce) }
        // The run's own time is over: the loop sees to that.
        let isRunOver =
          failure.kind == .totalTimeout && call.timeouts.isTotalLeftOver
        let step = ErrorAdvice(provider, model: name).step(after: failure).map { "; \($0)" } ?? ""
        return .failed(
          "\(provider.url(of: name)): \(failure)\(step)",
          isRunOver ? .atOnce : advice.retry(after: failure))
      } catch { return .failed("\(error)", advice.usual) }
    }

    /// Reads a reply as it comes in.
    private func answer(
      _ head: HTTPHead, _ body: inout HTTPBody, _ request: ModelRequest, _ advice: RetryAdvice,
      _ settled: Settled
    ) async throws -> ModelAnswer {
      guard (200..<300).contains(head.status) else {
        return try await refusal(head, &body, advice)
      }
      var digest = DigestBuilder()
      let outcome: Result<ProviderReply, ReplyFault>
      do {
        outcome = try await read(&body, head.headers["content-type"], request, &digest)
      } catch let failure as HTTPFailure
        where failure.kind != .cancelled && failure.kind != .totalTimeout
      {
        var answer = ModelAnswer.failed(
          "\(provider.url(of: name)): \(failure)", advice.retry(after: failure))
        answer.status = head.status
        answer.requestId = head.requestID
        return answer
      }
      var answer: ModelAnswer
      var paused: [JSONValue]?
      switch outcome {
      case .success(let reply):
        answer = self.answer(reply, advice)
        paused = reply.paused
      case .failure(let fault):
        let type = head.headers["content-type"].map {
          "; it is called \($0.prefix(utf8Bytes: 100))"
        }
        answer = .failed("\(fault)\(fault.isOfForm ? type ?? "" : "")", advice.retry(after: fault))
      }
      answer.status = head.status
      answer.requestId = head.requestID ?? answer.requestId
      answer.responseDigest = digest.digest().hex
      settled.settle(answer, paused: paused)
      await body.finish()
      return answer
    }

    private func read(
      _ body: inout HTTPBody, _ type: String?, _ request: ModelRequest,
      _ digest: inout DigestBuilder
    ) async throws -> Result<ProviderReply, ReplyFault> {
      var reader = ReplyReader(
        provider.dialect, tools: request.tools.map(\.name), type: type,
        limitBytes: Self.replyLimitBytes)
      do {
        while !reader.isEnded, reader.error == nil, let piece = try await body.next() {
          digest.update(piece)
          let text = try reader.take(piece)
          if !text.isEmpty { RunProgress.report(text) }
        }
      } catch let fault as ReplyFault {
        return .failure(fault)
      } catch let failure as HTTPFailure {
        // Whatever was lost behind it is no part of the reply.
        guard reader.isWhole, failure.kind != .cancelled else { throw failure }
      }
      return Result { () throws(ReplyFault) in try reader.reply() }
    }

    private func answer(_ reply: ProviderReply, _ advice: RetryAdvice) -> ModelAnswer {
      var answer: ModelAnswer
      if let error = reply.error {
        answer = .failed("the provider reports: \(error)", advice.retry(after: error))
      } else {
        let read =
          provider.settings.textToolCalls == .hermes ? reply.readingHermesCalls() : reply
        answer = ModelAnswer(reply: read.reply)
      }
      answer.inputTokens = reply.usage?.input
      answer.outputTokens = reply.usage?.output
      answer.cachedInputTokens = reply.usage?.cachedInput
      answer.cacheWriteTokens = reply.usage?.cacheWrite
      answer.reasoningTokens = reply.usage?.reasoning
      answer.cost = provider.prices?.cost(
        input: reply.usage?.input, cachedInput: reply.usage?.cachedInput,
        cacheWrite: reply.usage?.cacheWrite, output: reply.usage?.output)
      answer.finishReason = reply.finishReason
      answer.modelVersion = reply.model
      answer.requestId = reply.id
      return answer
    }

    /// A reply that tells why there is none.
    private func refusal(
      _ head: HTTPHead, _ body: inout HTTPBody, _ advice: RetryAdvice
    ) async throws -> ModelAnswer {
      let bytes: [UInt8]
      do { bytes = try await body.rest(limitBytes: Self.errorLimitBytes) } catch let failure
        as HTTPFailure where failure.kind != .cancelled && failure.kind != .totalTimeout
      { bytes = [] }
      let error = (try? JSONValue.wire(bytes)).flatMap { provider.dialect.error(in: $0) }?
        .typed(head.headers["x-amzn-errortype"])
      let retry = advice.retry(
        status: head.status, headers: head.headers, error: error, now: Int(time(nil)))
      var words = "HTTP \(head.status) from \(provider.url(of: name))"
      if let error { words += ": \(error)" } else { words += Self.said(bytes) }
      let step = ErrorAdvice(provider, model: name).step(status: head.status, error: error)
      if let step { words += "; \(step)" }
      if retry == .never,
        let told = RetryAdvice.seconds(toldBy: head.headers, now: Int(time(nil))),
        told > RetryAdvice.longestSeconds
      {
        // How long is counted from a time of day, and so another number each time.
        words += "; it asks to wait for longer than \(Int(RetryAdvice.longestSeconds)) seconds"
      }
      var answer = ModelAnswer.failed(words.prefix(utf8Bytes: Self.wordsLimitBytes), retry)
      answer.status = head.status
      answer.requestId = head.requestID
      answer.responseDigest = bytes.isEmpty ? nil : Digest(of: bytes).hex
      return answer
    }
  }

  extension HTTPModel {
    /// What a body says that is no error of any known form.
    private static func said(_ bytes: [UInt8]) -> String {
      let text = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        .joined(separator: " ")
      return text.isEmpty ? "" : ": \(text)"
    }
  }

  extension ModelAnswer {
    /// Takes in what a provider said before it paused: this is the rest.
    fileprivate mutating func goOn(behind before: ModelAnswer) {
      inputTokens = Self.sum(before.inputTokens, inputTokens)
      outputTokens = Self.sum(before.outputTokens, outputTokens)
      cachedInputTokens = Self.sum(before.cachedInputTokens, cachedInputTokens)
      cacheWriteTokens = Self.sum(before.cacheWriteTokens, cacheWriteTokens)
      reasoningTokens = Self.sum(before.reasoningTokens, reasoningTokens)
      if let first = before.cost, let second = cost { cost = first + second } else { cost = nil }
      guard var first = before.reply?.objectValue, let second = reply?.objectValue else { return }
      first["paused"] = nil
      // Where thoughts stood between is not kept: none of them has a call behind it.
      first["parts"] = nil
      for member in second {
        switch (first[member.key], member.value) {
        case (.string(let said)?, .string(let more)): first[member.key] = .string(said + more)
        case (.array(let said)?, .array(let more)): first[member.key] = .array(said + more)
        case (_, let value): first[member.key] = value
        }
      }
      reply = .object(first)
    }

    private static func sum(_ first: Int?, _ second: Int?) -> Int? {
      first.flatMap { first in second.map { first + $0 } }
    }

    fileprivate static func failed(_ error: String, _ retry: Retry) -> ModelAnswer {
      var answer = ModelAnswer(error: error)
      answer.retry = retry
      return answer
    }
  }

  extension ReplyFault {
    /// Whether it is about what the body is, so that its type tells something.
    fileprivate var isOfForm: Bool {
      switch self {
      case .notJSON, .unknownForm: true
      case .cut, .tooLarge: false
      }
    }
  }

  extension HTTPHead {
    /// What the provider calls the request.
    var requestID: String? {
      (headers["x-request-id"] ?? headers["request-id"] ?? headers["x-amzn-requestid"])?
        .prefix(utf8Bytes: 200)
    }
  }

  extension ProviderModel {
    /// Where requests to a model go. A version of the interface that the base URL ends with is not said again.
    func url(of model: String) -> String {
      var base = baseURL
      while base.hasSuffix("/") { base.removeLast() }
      var path = dialect.path(model: model, streams: streams)
      for version in ["/v1", "/v1beta"]
      where base.hasSuffix(version) && path.hasPrefix(version + "/") {
        path.removeFirst(version.count)
      }
      if dialect == .gemini, base.hasSuffix("/v1") { path.removeFirst("/v1beta".count) }
      return base + path
    }

    /// Whether OpenAI serves the model, or Microsoft in its place.
    fileprivate var isOpenAI: Bool {
      guard let host = HTTPAddress(baseURL)?.host else { return false }
      return host == "api.openai.com" || host.hasSuffix(".openai.azure.com")
    }
  }
#endif
