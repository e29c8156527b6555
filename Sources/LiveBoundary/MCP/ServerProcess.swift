import AgentRuntime
import AgentTrace
import Glibc
import Synchronization

/// A process that serves for as long as it is wanted: lines in, lines out. In a session of its own, so that
/// it can be ended with all that it has started.
final class ServerProcess: Sendable {
  /// How long a server has to end by itself once its input is closed, and then after SIGTERM.
  static let closingGrace = Duration.seconds(2)
  static let signalGrace = Duration.milliseconds(500)
  /// The most bytes of one line.
  static let lineLimitBytes = 16 << 20
  /// How much of the end of its standard error is kept.
  private static let errorTailBytes = 4_096

  private struct State {
    var errors = Tail(limitBytes: ServerProcess.errorTailBytes)
    var splitter = LineSplitter(limitBytes: ServerProcess.lineLimitBytes)
    var hasEnded = false
    /// When it closed its standard output, or ended.
    var silentSince: ContinuousClock.Instant?
    /// Those who wait for its end.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let number = ProgramHub.shared.number()
  private let receive: @Sendable (LineSplitter.Line) -> Void
  private let ended: @Sendable (String, Tail) -> Void

  private init(
    receive: @escaping @Sendable (LineSplitter.Line) -> Void,
    ended: @escaping @Sendable (String, Tail) -> Void
  ) {
    self.receive = receive
    self.ended = ended
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - receive: told each line of its standard output, from one thread.
  ///   - ended: told once, how it ended.
  /// - Throws: ``MCPFault``, where it cannot be started.
  static func start(
    _ program: ProgramStart, receive: @escaping @Sendable (LineSplitter.Line) -> Void,
    ended: @escaping @Sendable (String, Tail) -> Void
  ) async throws -> ServerProcess {
    if let fault = program.fault { throw MCPFault(.notSent, fault) }
    var order = program.order
    order.input = .written
    order.isLasting = true
    let process = ServerProcess(receive: receive, ended: ended)
    let (starts, start) = AsyncStream<ProgramFault?>.makeStream()
    ProgramHub.shared.start(
      order, as: process.number,
      ProgramEvents(
        started: { _ in
          start.yield(nil)
          start.finish()
        },
        output: { process.takeOutput($0) },
        errors: { bytes in process.state.withLock { $0.errors.append(bytes) } },
        // Whoever has said the last word serves no longer.
        outputEnded: { process.fallSilent() },
        ended: { result in
          // Unheard where it was told before that it runs.
          switch result {
          case .failure(let fault): start.yield(fault)
          case .success: start.yield(.system(ECHILD))
          }
          start.finish()
          process.end(result)
        }))
    for await fault in starts {
      guard let fault else { return process }
      throw MCPFault(.notSent, program.startFault(fault))
    }
    // Nobody waits any more.
    await process.close()
    throw MCPFault(.cancelled, "cannot start “\(program.name)”: cancelled")
  }

  /// Sends a line.
  func send(_ line: [UInt8]) {
    ProgramHub.shared.write(number, line + [UInt8(ascii: "\n")])
  }

  /// Ends it: its input first, then by signals, or by signals at once. Returns once nothing of it is left.
  func close(atOnce: Bool = false) async {
    if atOnce { ProgramHub.shared.end(number, .timeLimit) } else { startClosing() }
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiting.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  // MARK: Life

  private func startClosing() {
    ProgramHub.shared.close(number, grace: Self.closingGrace, signalGrace: Self.signalGrace)
  }

  private func fallSilent() {
    state.withLock { $0.silentSince = .now }
    startClosing()
  }

  private func takeOutput(_ bytes: UnsafeRawBufferPointer) -> ProgramCause? {
    for line in state.withLock({ $0.splitter.append(bytes) }) { receive(line) }
    return nil
  }

  /// Whether it lived on without an output until it was ended from here.
  private var hasOutlivedItsOutput: Bool {
    state.withLock { $0.silentSince }.map { .now - $0 >= Self.closingGrace } ?? false
  }

  private func end(_ result: Result<ProgramResult, ProgramFault>) {
    let words =
      switch result {
      case .success(let ended):
        switch ended.end {
        case .exited(let code): "the server exited with \(code)"
        case .killed where hasOutlivedItsOutput:
          "the server closed its standard output, and was ended"
        case .killed(let signal): "the server was killed by \(SignalName.name(of: signal))"
        }
      case .failure: "the server has ended"
      }
    // What it said last comes along: it may have ended before whoever started it knows of it.
    ended(words, state.withLock { $0.errors })
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}

extension ProgramStart {
  /// A server of an agent file.
  ///
  /// - Throws: ``MCPFault`` where a variable of its environment is not set.
  init(serving command: ServerCommand, folder: String) throws {
    var set: [String: String] = [:]
    for (name, text) in command.environment.sorted(by: { $0.key.precedesByUTF8($1.key) }) {
      do {
        set[name] = try text.resolved { name in getenv(name).map { String(cString: $0) } }
      } catch { throw MCPFault(.notSent, "not started: \(error)") }
    }
    var variables = CommandVariables(CommandEnvironment(set: set))
    for name in CommandTool.inheritedVariables { variables.inherit(name) }
    self.init(command.arguments, folder: folder, variables: variables, limits: command.limits)
  }
}
