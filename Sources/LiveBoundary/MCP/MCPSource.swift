import AgentRuntime
import AgentTrace
import Synchronization

/// A server as a source of tools: started when it is first asked, started again once where it dies, ended
/// with the run.
actor MCPSource: ToolSource {
  /// How often a server that died is started again, and a session that a server forgot is begun again, for
  /// each time that a run is started or gone on with.
  static let restartLimit = 1
  static let sessionLimit = 10
  /// The shortest time that a list holds, whatever the server says.
  private static let shortestLifetime = Duration.seconds(1)

  private let registration: SourceRegistration
  private let clock: any RunClock
  private let cancellation: Cancellation
  private let open: @Sendable () async throws -> any MCPLink
  private let restartLimit: Int

  private var session: MCPSession?
  private var opening: Task<MCPSession, any Error>?
  private var version: MCPVersion?
  private var restarts = 0
  /// Why the last session is no more.
  private var lastEnd: String?
  private var tools: [String: MCPTool] = [:]
  private var listEnds: ContinuousClock.Instant?
  /// A list that came in while a call was made.
  private var untold: ToolOffer?

  /// - Parameter open: opens a link to the server.
  init(
    _ registration: SourceRegistration, clock: any RunClock, cancellation: Cancellation,
    open: @escaping @Sendable () async throws -> any MCPLink
  ) {
    self.registration = registration
    self.clock = clock
    self.cancellation = cancellation
    self.open = open
    restartLimit =
      if case .endpoint = registration.implementation { Self.sessionLimit } else {
        Self.restartLimit
      }
  }

  // MARK: Session

  /// When a server that is asked now has to have said which tools it has.
  private var startEnd: ContinuousClock.Instant {
    .now + .microseconds(Self.microseconds(registration.startTimeoutSeconds))
  }

  private static func microseconds(_ seconds: Double) -> Int {
    Int(min(max(0.001, seconds), 1e6) * 1_000_000)
  }

  /// The session, opened where there is none. Whoever asks meanwhile waits for the same.
  private func opened(until end: ContinuousClock.Instant) async throws -> MCPSession {
    if let opening { return try await opening.value }
    if let session {
      guard let reason = session.link.end else { return session }
      await leave(session, because: reason)
    }
    if let lastEnd {
      guard restarts < restartLimit else {
        throw MCPFault(
          .notSent, "\(lastEnd); it was started again once already, and is not any more")
      }
      restarts += 1
    }
    let (version, open) = (version, open)
    let opening = Task {
      try await MCPSession.open(known: version, until: end, open: open)
    }
    self.opening = opening
    defer { self.opening = nil }
    let session = try await opening.value
    self.session = session
    self.version = session.version
    return session
  }

  private func leave(_ ended: MCPSession, because end: String) async {
    session = nil
    lastEnd = end
    await ended.link.close()
  }

  func close() async {
    let opened = try? await opening?.value
    let session = opened ?? session
    self.session = nil
    lastEnd = nil
    restarts = 0
    tools = [:]
    listEnds = nil
    untold = nil
    await session?.link.close()
  }

  // MARK: Lists

  func list() async -> ToolOffer {
    do {
      let end = startEnd
      let session = try await opened(until: end)
      return try await list(of: session, until: end)
    } catch { return ToolOffer(error: "\(error)") }
  }

  private func list(
    of session: MCPSession, until end: ContinuousClock.Instant
  ) async throws -> ToolOffer {
    _ = session.link.takeListChange()
    let list = try await session.list(until: end)
    let read = list.tools.compactMap(MCPTool.init).filter(\.hasUsableHeaders)
    tools = Dictionary(read.map { ($0.offered.name, $0) }) { first, _ in first }
    listEnds = list.lifetimeMilliseconds.map { lifetime in
      .now + max(Self.shortestLifetime, .milliseconds(min(lifetime, 1 << 40)))
    }
    return ToolOffer(tools: read.map(\.offered), server: session.server)
  }

  func news() async -> ToolOffer? {
    if let offer = untold {
      untold = nil
      return offer
    }
    guard let session else {
      return lastEnd == nil || restarts >= restartLimit ? nil : await relisted()
    }
    if session.link.end != nil { return restarts >= restartLimit ? nil : await relisted() }
    let isOver = listEnds.map { $0 <= .now } ?? false
    guard session.link.takeListChange() || isOver else { return nil }
    return await relisted()
  }

  /// A list that does not come is no news: calls tell what is wrong.
  private func relisted() async -> ToolOffer? {
    let offer = await list()
    return offer.error == nil ? offer : nil
  }

  // MARK: Calls

  func run(_ request: ToolRequest, as name: String) async -> ToolAnswer {
    let limit = request.timeoutMicroseconds ?? CommandTool.defaultTimeoutMicroseconds
    if let answer = ToolAnswer.untried("not called", within: limit, cancellation) { return answer }
    let start = SuspendingClock.now
    var answer = await answer(to: request, as: name, limit: limit)
    answer.elapsedMicroseconds = clock.isFixed ? 0 : (SuspendingClock.now - start).wholeMicroseconds
    return answer
  }

  private func answer(to request: ToolRequest, as name: String, limit: Int) async -> ToolAnswer {
    do {
      return try await call(request, as: name, limit: limit)
    } catch let fault as MCPFault {
      guard case .sessionGone = fault.kind else { return answer(to: request, fault, limit) }
      // Nothing was done: it is asked again in a session of its own, where the tool is what it was.
      let before = tools[name]?.offered
      untold = await relisted()
      guard untold != nil, let now = tools[name]?.offered, now == before else {
        return ToolAnswer(
          result: .error(
            "not called: the server began anew and describes this tool otherwise, or gives no list"
          ))
      }
      do { return try await call(request, as: name, limit: limit) } catch let fault as MCPFault {
        return answer(to: request, fault, limit)
      } catch { return .cutOff(request, reason: "\(error)", afterMicroseconds: 0) }
    } catch {
      return .cutOff(request, reason: "\(error)", afterMicroseconds: 0)
    }
  }

  private func call(_ request: ToolRequest, as name: String, limit: Int) async throws -> ToolAnswer
  {
    let session = try await opened(until: startEnd)
    let limits = ReplyLimits(
      totalMicroseconds: limit,
      idleMicroseconds: registration.idleSeconds.map(Self.microseconds))
    let reply = try await session.call(
      name, request.input, meta: MCPSession.meta(of: request),
      headers: MCPHeaders.values(of: tools[name], request.input), within: limits)
    switch reply {
    case .result(let value):
      let result = MCPContent.result(of: value)
      guard MCPContent.saysNoEffect(value) else {
        return .ended(request, result, afterMicroseconds: 0)
      }
      var answer = ToolAnswer(result: result)
      answer.saysNoEffect = true
      return answer
    case .error(let error):
      let result = ToolResult.error(error.words)
      return error.isRefusal
        ? ToolAnswer(result: result) : .ended(request, result, afterMicroseconds: 0)
    }
  }

  private func answer(to request: ToolRequest, _ fault: MCPFault, _ limit: Int) -> ToolAnswer {
    var words = fault.description
    if case .lost = fault.kind, session?.link.end != nil {
      words +=
        restarts >= restartLimit
        ? "; it was started again once already, and is not any more"
        : "; the next call starts it again, once in a run"
    }
    if case .timeout = fault.kind, registration.idleSeconds == nil {
      return .timedOut(request, afterMicroseconds: limit)
    }
    let signal: String? = if case .cancelled = fault.kind { cancellation.signal } else { nil }
    return fault.mayHaveArrived
      ? .cutOff(request, reason: words, by: signal, afterMicroseconds: 0)
      : ToolAnswer(result: .error("not called: \(words)"))
  }
}

/// Values of an input that are sent as headers too.
enum MCPHeaders {
  static func values(of tool: MCPTool?, _ input: JSONValue) -> [(name: String, value: String)] {
    (tool?.headers ?? []).compactMap { key, name in
      let text: String
      switch input[key] {
      case .string(let value)?: text = value
      case .number(let number)?: text = number.token
      case .bool(let flag)?: text = flag ? "true" : "false"
      default: return nil
      }
      return ("Mcp-Param-\(name)", encoded(text))
    }
  }

  /// As it stands where that is visible ASCII that no reader would trim; else in base64.
  static func encoded(_ text: String) -> String {
    let isPlain =
      text.utf8.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
      && text.utf8.first.map { $0 > 0x20 } ?? true && text.utf8.last.map { $0 > 0x20 } ?? true
      && !(text.utf8.starts(with: "=?base64?".utf8))
    return isPlain ? text : "=?base64?\(base64(Array(text.utf8)))?="
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for index in 0..<4 {
        let isThere = index <= group.count
        text.append(
          isThere ? digits[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
