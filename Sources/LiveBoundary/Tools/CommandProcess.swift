import AgentRuntime
import Glibc
import Subprocess
import Synchronization

/// One process from its start to its end, whatever it does: bounded in time and output, and with
/// nothing of its process group left behind.
struct CommandProcess {
  /// How long a process has between SIGTERM and SIGKILL.
  static let grace = Duration.milliseconds(200)

  var configuration: Configuration
  var input: [UInt8]
  var outputLimitBytes: Int
  /// Whether more output than the limit ends the process; else it is read and dropped.
  var endsAtOutputLimit = true
  /// How much of the beginning of standard error is kept, besides its end.
  var errorLimitBytes = 0
  var timeoutMicroseconds: Int
  var limits = ProcessLimits()
  /// How many processes it may consist of; `nil` for no limit.
  var maxProcesses: Int?

  /// Why a process was ended before its time.
  enum Cause: Sendable, Hashable {
    case timeLimit
    case outputLimit
    case processLimit
    case cancelled(signal: String)
  }

  /// What came of a process.
  struct Ending: Sendable {
    var status: TerminationStatus
    /// `nil` where it ended by itself.
    var cause: Cause?
    /// The beginning of standard output.
    var output: Head
    /// The beginning of standard error, where that is wanted.
    var errorHead: Head
    /// The end of standard error.
    var errors: Tail
  }

  private typealias Running = Execution<CustomWriteInput, SequenceOutput, SequenceOutput>

  /// Runs the process.
  ///
  /// - Throws: what `Subprocess` throws when a process cannot be started.
  func run(until cancellation: Cancellation) async throws -> Ending {
    BrokenPipes.becomeErrors()
    let stopper = Stopper()
    let result = try await Subprocess.run(
      configuration, input: .inputWriter, output: .sequence, error: .sequence
    ) { running in
      await cancellation.whileListening({
        stopper.ask(.cancelled(signal: cancellation.signal ?? "a signal"))
      }) {
        await supervise(running, stopper)
      }
    }
    return Ending(
      status: result.terminationStatus, cause: stopper.cause, output: result.closureResult.output,
      errorHead: result.closureResult.errors.head, errors: result.closureResult.errors.tail)
  }

  private struct Collected: Sendable {
    var output: Head
    var errors: Errors
  }

  private struct Errors: Sendable {
    var head: Head
    var tail: Tail
  }

  /// Feeds and reads the process until it has ended. On return it is a zombie without living
  /// relatives: its number is not free yet, so that no signal can hit a stranger.
  private func supervise(_ running: Running, _ stopper: Stopper) async -> Collected {
    let group = running.processIdentifier.value
    limits.apply(to: group)
    RunningCommands.shared.insert(group)
    defer { RunningCommands.shared.remove(group) }
    return await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await feed(running.standardInputWriter) }
      tasks.addTask { await watchTime(stopper) }
      tasks.addTask { await stopper.carryOut(on: group) }
      tasks.addTask { await watchExit(of: group, stopper) }
      tasks.addTask { await watchProcesses(of: group, stopper) }
      async let output = collectOutput(running.standardOutput, stopper)
      async let errors = collectErrors(running.standardError, stopper)
      let collected = await Collected(output: output, errors: errors)
      // A process may close its outputs and live on.
      await ChildProcess.waitForExit(of: group, everyMicroseconds: 500)
      stopper.close()
      ProcessTable.killSession(group)
      tasks.cancelAll()
      return collected
    }
  }

  private func feed(_ writer: StandardInputWriter) async {
    // A process need not read its input: a closed pipe is no failure.
    _ = try? await writer.write(input)
    try? await writer.finish()
  }

  private func watchTime(_ stopper: Stopper) async {
    guard (try? await Task.sleep(for: .microseconds(timeoutMicroseconds))) != nil else { return }
    stopper.ask(.timeLimit)
  }

  /// Once the process has ended, ends what it left behind: a relative may hold its pipes open, or
  /// write to them for ever.
  private func watchExit(of group: pid_t, _ stopper: Stopper) async {
    await ChildProcess.waitForExit(of: group, everyMicroseconds: 20_000)
    guard !Task.isCancelled else { return }
    stopper.close()
    ProcessTable.killSession(group)
    try? await Task.sleep(for: .milliseconds(100))
    stopper.giveUpReading()
  }

  /// A limit on processes of a user is not one on those of a call, so that they are counted.
  private func watchProcesses(of group: pid_t, _ stopper: Stopper) async {
    guard let maxProcesses else { return }
    while (try? await Task.sleep(for: .milliseconds(20))) != nil {
      if ProcessTable().family(of: group).count > maxProcesses { stopper.ask(.processLimit) }
    }
  }

  private func collectOutput(_ buffers: SubprocessOutputSequence, _ stopper: Stopper) async -> Head
  {
    var output = Head(limitBytes: outputLimitBytes)
    do {
      for try await buffer in buffers {
        if stopper.hasGivenUpReading { break }
        // Beyond the limit what comes is read and dropped, so that the process, or SIGTERM, finds no
        // full pipe.
        buffer.withUnsafeBytes { output.append($0) }
        if output.isCut, endsAtOutputLimit { stopper.ask(.outputLimit) }
      }
    } catch {}
    return output
  }

  private func collectErrors(
    _ buffers: SubprocessOutputSequence, _ stopper: Stopper
  ) async -> Errors {
    var errors = Errors(
      head: Head(limitBytes: errorLimitBytes), tail: Tail(limitBytes: CommandTool.errorTailBytes))
    do {
      for try await buffer in buffers {
        if stopper.hasGivenUpReading { break }
        buffer.withUnsafeBytes { bytes in
          errors.head.append(bytes)
          errors.tail.append(bytes)
        }
      }
    } catch {}
    return errors
  }
}

/// The first bytes of a stream, and how many there were.
struct Head: Sendable {
  private let limitBytes: Int
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  init(limitBytes: Int) { self.limitBytes = max(0, limitBytes) }

  mutating func append(_ buffer: UnsafeRawBufferPointer) {
    count += buffer.count
    bytes.append(contentsOf: buffer.prefix(limitBytes - bytes.count))
  }

  /// Says how many bytes there are where not all were read.
  mutating func setCount(_ count: Int) { self.count = max(self.count, count) }

  /// Whether there was more than the limit.
  var isCut: Bool { count > limitBytes }
}

/// The last bytes of a stream.
struct Tail: Sendable {
  private let limitBytes: Int
  private var bytes: [UInt8] = []
  private(set) var isCut = false

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  mutating func append(_ buffer: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: buffer.suffix(limitBytes))
    isCut = isCut || buffer.count > limitBytes || bytes.count > limitBytes
    if bytes.count > limitBytes { bytes.removeFirst(bytes.count - limitBytes) }
  }

  /// The bytes as text without white space around them, `…` before them where more came earlier. What
  /// is no UTF-8 reads as U+FFFD.
  var text: String {
    var bytes = bytes[...]
    // A cut may fall into the middle of a character.
    if isCut { bytes = bytes.drop { $0 & 0xc0 == 0x80 } }
    bytes = bytes.drop { $0 <= 0x20 }
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    let text = String(decoding: bytes, as: UTF8.self)
    return isCut ? "…\(text)" : text
  }
}

/// Ends a process, once, for the first cause that asks.
private final class Stopper: Sendable {
  private struct State {
    var cause: CommandProcess.Cause?
    var isClosed = false
    var hasGivenUpReading = false
  }

  private let state = Mutex(State())
  private let (asked, asking) = AsyncStream<Void>.makeStream()

  /// The cause that counted.
  var cause: CommandProcess.Cause? { state.withLock { $0.cause } }

  /// Whether what still comes on the pipes is no longer the process's own.
  var hasGivenUpReading: Bool { state.withLock { $0.hasGivenUpReading } }

  func ask(_ cause: CommandProcess.Cause) {
    state.withLock { state in
      if state.cause == nil, !state.isClosed { state.cause = cause }
    }
    asking.finish()
  }

  /// The process has ended: causes that come now are too late.
  func close() { state.withLock { $0.isClosed = true } }

  func giveUpReading() { state.withLock { $0.hasGivenUpReading = true } }

  /// Waits until someone asks, then ends the process group.
  func carryOut(on group: pid_t) async {
    for await _ in asked {}
    guard let cause else { return }
    // What multiplies gets no time to go on.
    if cause == .processLimit { return ProcessTable.killSession(group) }
    kill(-group, SIGTERM)
    guard (try? await Task.sleep(for: CommandProcess.grace)) != nil else { return }
    ProcessTable.killSession(group)
  }
}

/// Writing to a process that closed its input is an error, not the end of this process.
enum BrokenPipes {
  private static let ignored: Void = { signal(SIGPIPE, SIG_IGN) }()

  /// Ignores SIGPIPE from now on. Commands start with the default again.
  static func becomeErrors() { ignored }
}
