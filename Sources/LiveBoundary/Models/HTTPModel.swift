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
      var answer = await perform(call, request)
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
        headers.append(
          provider.dialect == .anthropic
            ? HTTPHeader("x-api-key", key) : HTTPHeader("Authorization", "Bearer \(key)"))
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
        method: "POST", url: provider.url, headers: headers,
        body: CanonicalJSON.encode(.object(body), form: .plain), timeouts: timeouts)
      call.authorityFile = provider.authorityFile
      return .success(call)
    }

    // MARK: Replies

    /// An answer that is whole, though the connection may still fail.
    private final class Settled: Sendable {
      private let known = Mutex<ModelAnswer?>(nil)
      var answer: ModelAnswer? { known.withLock { $0 } }
      func settle(_ answer: ModelAnswer) { known.withLock { $0 = answer } }
    }

    private func perform(_ call: HTTPCall, _ request: ModelRequest) async -> ModelAnswer {
      let advice = RetryAdvice(
        attempt: request.attempt, chance: clock.isFixed ? 0 : Double.random(in: 0...1))
      let settled = Settled()
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
          "\(provider.url): \(failure)\(step)", isRunOver ? .atOnce : advice.retry(after: failure))
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
          "\(provider.url): \(failure)", advice.retry(after: failure))
        answer.status = head.status
        answer.requestId = head.requestID
        return answer
      }
      var answer: ModelAnswer
      switch outcome {
      case .success(let reply): answer = self.answer(reply, advice)
      case .failure(let fault):
        let type = head.headers["content-type"].map {
          "; it is called \($0.prefix(utf8Bytes: 100))"
        }
        answer = .failed("\(fault)\(fault.isOfForm ? type ?? "" : "")", advice.retry(after: fault))
      }
      answer.status = head.status
      answer.requestId = head.requestID ?? answer.requestId
      answer.responseDigest = digest.digest().hex
      settled.settle(answer)
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
        answer = ModelAnswer(reply: reply.reply)
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
      let error = (try? JSONValue.wire(bytes)).flatMap { provider.dialect.error(in: $0) }
      let retry = advice.retry(
        status: head.status, headers: head.headers, error: error, now: Int(time(nil)))
      var words = "HTTP \(head.status) from \(provider.url)"
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
      (headers["x-request-id"] ?? headers["request-id"])?.prefix(utf8Bytes: 200)
    }
  }

  extension ProviderModel {
    /// Where requests go.
    var url: String {
      var base = baseURL
      while base.hasSuffix("/") { base.removeLast() }
      var path = dialect.path
      if base.hasSuffix("/v1"), path.hasPrefix("/v1/") { path.removeFirst(3) }
      return base + path
    }

    /// Whether OpenAI serves the model, or Microsoft in its place.
    fileprivate var isOpenAI: Bool {
      guard let host = HTTPAddress(baseURL)?.host else { return false }
      return host == "api.openai.com" || host.hasSuffix(".openai.azure.com")
    }
  }
#endif
