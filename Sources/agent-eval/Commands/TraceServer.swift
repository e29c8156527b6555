import Glibc
import LiveBoundary
import Synchronization
import TraceExporting

/// Why something was not handed on.
struct HandingFault: Error, CustomStringConvertible {
  var description: String
  /// Whether the same request would be refused again.
  var isLasting = false
  /// In how many seconds the server wants to be asked again, where it says so.
  var retrySeconds: Double?
}

/// A server that takes traces in OTLP.
struct TraceServer: Sendable {
  /// What is asked.
  let url: String
  /// The same for people: a query may hold a key.
  let name: String
  private let headers: [HTTPHeader]

  /// The longest answer that is looked at.
  private static let answerLimitBytes = 64 << 10
  private static let pauseSeconds = 0.5

  /// - Parameter url: with `/v1/traces`, or what that stands behind; a query stays at its end.
  init(_ url: String) {
    let place = url.prefix { $0 != "?" && $0 != "#" }
    let query = url[place.endIndex...].prefix { $0 != "#" }
    let base = place.hasSuffix("/") ? place.dropLast() : place
    name = base.hasSuffix("/v1/traces") ? String(base) : base + "/v1/traces"
    self.url = name + query
    headers =
      [HTTPHeader("content-type", "application/x-protobuf")]
      + OTLPHeaders.inEnvironment.map { HTTPHeader($0.name, $0.value) }
  }

  /// Posts a request. What OTLP says may be tried again is, no sooner than the server wants it, until there is no time
  /// left.
  ///
  /// - Returns: what the server says of it.
  /// - Throws: ``HandingFault`` where it was not taken; at once where the task is cancelled.
  @discardableResult
  func post(
    _ body: [UInt8], until end: ContinuousClock.Instant, tries: Int
  ) async throws(HandingFault) -> OtlpAnswer {
    #if Live
      var attempt = 1
      while true {
        let fault: HandingFault
        do throws(HandingFault) { return try await ask(body, until: end) } catch { fault = error }
        let wait = fault.retrySeconds ?? Self.pauseSeconds
        // What has no time left is told, and so is what nobody waits for any more.
        guard !fault.isLasting, attempt < tries, !Task.isCancelled,
          wait < (end - ContinuousClock.now) / .seconds(1)
        else { throw fault }
        try? await Task.sleep(for: .seconds(wait))
        attempt += 1
      }
    #else
      throw HandingFault(description: "this build has no HTTP stack")
    #endif
  }
}

#if Live
  extension TraceServer {
    private struct Answer: Sendable {
      var head: HTTPHead
      var body: [UInt8]
    }

    /// Asks once.
    private func ask(
      _ body: [UInt8], until end: ContinuousClock.Instant
    ) async throws(HandingFault) -> OtlpAnswer {
      let left = (end - ContinuousClock.now) / .seconds(1)
      guard left > 0 else { throw HandingFault(description: "there was no time left") }
      let call = HTTPCall(
        url: url, headers: headers, body: body,
        timeouts: HTTPTimeouts(
          connect: min(2, left), firstByte: left, idle: min(1, left), total: left))
      let answer = try await answer(to: call)
      let status = answer.head.status
      guard (200..<300).contains(status) else {
        throw HandingFault(
          description: "it answered with \(status)",
          isLasting: ![429, 502, 503, 504].contains(status),
          retrySeconds: answer.head.headers.secondsUntilRetry(now: time(nil)))
      }
      return OtlpAnswer(
        answer.body, isJSON: answer.head.headers["content-type"]?.contains("json") ?? false)
    }

    private func answer(to call: HTTPCall) async throws(HandingFault) -> Answer {
      let head = Mutex<HTTPHead?>(nil)
      do {
        return try await HTTPConnector.shared.perform(call) { told, body in
          head.withLock { $0 = told }
          return Answer(
            head: told, body: try await body.rest(limitBytes: Self.answerLimitBytes))
        }
      } catch {
        // What its head says counts, whatever becomes of the rest.
        if let head = head.withLock({ $0 }) { return Answer(head: head, body: []) }
        throw HandingFault(description: "\(error)")
      }
    }
  }
#endif
