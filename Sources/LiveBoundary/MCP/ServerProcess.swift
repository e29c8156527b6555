import AgentRuntime
import AgentTrace
import Glibc
import Subprocess
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
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let (outgoing, sender) = AsyncStream<[UInt8]>.makeStream()
  private let (closing, closer) = AsyncStream<Void>.makeStream()
  private let program: ProgramStart
  private let receive: @Sendable (LineSplitter.Line) -> Void
  private let ended: @Sendable (String) -> Void

  private init(
    _ program: ProgramStart, receive: @escaping @Sendable (LineSplitter.Line) -> Void,
    ended: @escaping @Sendable (String) -> Void
  ) {
    self.program = program
    self.receive = receive
    self.ended = ended
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - receive: told each line of its standard output, from one task.
  ///   - ended: told once, how it ended.
  /// - Throws: ``MCPFault``, where it cannot be started.
  static func start(
    _ program: ProgramStart, receive: @escaping @Sendable (LineSplitter.Line) -> Void,
    ended: @escaping @Sendable (String) -> Void
  ) async throws -> ServerProcess {
    if let fault = program.fault { throw MCPFault(.notSent, fault) }
    BrokenPipes.becomeErrors()
    let process = ServerProcess(program, receive: receive, ended: ended)
    let (starts, started) = AsyncStream<MCPFault?>.makeStream()
    let task = Task { await process.live(started) }
    process.state.withLock { $0.task = task }
    for await fault in starts {
      if let fault { throw fault }
      return process
    }
    throw MCPFault(.notSent, "cannot start “\(program.name)”")
  }

  /// The end of what it wrote to standard error.
  var errors: Tail { state.withLock { $0.errors } }

  /// Sends a line.
  func send(_ line: [UInt8]) { sender.yield(line + [UInt8(ascii: "\n")]) }

  /// Ends it: its input first, then by signals. Returns once nothing of it is left.
  func close() async {
    sender.finish()
    closer.finish()
    await state.withLock { $0.task }?.value
  }

  // MARK: Life

  private func live(_ started: AsyncStream<MCPFault?>.Continuation) async {
    defer { started.finish() }
    do {
      _ = try await Subprocess.run(
        program.configuration, input: .inputWriter, output: .sequence, error: .sequence
      ) { running in
        started.yield(nil)
        await serve(
          running.processIdentifier.value, running.standardInputWriter, running.standardOutput,
          running.standardError)
      }
    } catch {
      started.yield(MCPFault(.notSent, program.startFault(error)))
    }
    ended("the server has ended")
  }

  /// On return the process is a zombie without living relatives, which is waited for next.
  private func serve(
    _ group: pid_t, _ writer: StandardInputWriter, _ output: SubprocessOutputSequence,
    _ errors: SubprocessOutputSequence
  ) async {
    program.limits.apply(to: group)
    RunningCommands.shared.insert(group)
    defer { RunningCommands.shared.remove(group) }
    let (reads, read) = AsyncStream<Void>.makeStream()
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await self.write(to: writer) }
      tasks.addTask {
        await self.readOutput(output)
        // Whoever has said the last word serves no longer.
        self.closer.finish()
        read.yield()
      }
      tasks.addTask {
        await self.readErrors(errors)
        read.yield()
      }
      tasks.addTask { await self.carryOutClosing(group) }
      await ChildProcess.waitForExit(of: group, everyMicroseconds: 20_000)
      ProcessTable.killSession(group)
      // What it said before it ended still counts; a relative in a session of its own may hold the pipes.
      tasks.addTask {
        try? await Task.sleep(for: .milliseconds(500))
        read.finish()
      }
      var open = 2
      for await _ in reads {
        open -= 1
        if open == 0 { break }
      }
      ended(ChildProcess.ending(of: group))
      tasks.cancelAll()
    }
  }

  private func write(to writer: StandardInputWriter) async {
    for await line in outgoing {
      guard (try? await writer.write(line)) != nil else { break }
    }
    try? await writer.finish()
  }

  private func readOutput(_ buffers: SubprocessOutputSequence) async {
    var splitter = LineSplitter(limitBytes: Self.lineLimitBytes)
    do {
      for try await buffer in buffers {
        for line in buffer.withUnsafeBytes({ splitter.append($0) }) { receive(line) }
      }
    } catch {}
  }

  private func readErrors(_ buffers: SubprocessOutputSequence) async {
    do {
      for try await buffer in buffers {
        buffer.withUnsafeBytes { bytes in state.withLock { $0.errors.append(bytes) } }
      }
    } catch {}
  }

  private func carryOutClosing(_ group: pid_t) async {
    for await _ in closing {}
    sender.finish()
    guard (try? await Task.sleep(for: Self.closingGrace)) != nil else { return }
    kill(-group, SIGTERM)
    guard (try? await Task.sleep(for: Self.signalGrace)) != nil else { return }
    ProcessTable.killSession(group)
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
