import AgentRuntime
import AgentTrace
import Glibc
import Synchronization

/// One program from its start to its end, whatever it does: bounded in time and output, and with nothing of
/// its session left behind.
struct CommandProcess {
  /// How long a program has between SIGTERM and SIGKILL.
  static let grace = Duration.milliseconds(200)

  var order: ProgramOrder
  var outputLimitBytes: Int
  /// Whether more output than the limit ends the program; else it is read and dropped.
  var endsAtOutputLimit = true
  /// How much of the beginning of standard error is kept, besides its end.
  var errorLimitBytes = 0
  /// Told what the program prints as it comes, on the thread that reads it.
  var seeOutput: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  /// What came of a program.
  struct Exit: Sendable {
    var end: ProgramEnd
    /// `nil` where it ended by itself.
    var cause: ProgramCause?
    /// The beginning of standard output.
    var output: Head
    /// The beginning of standard error, where that is wanted.
    var errorHead: Head
    /// The end of standard error.
    var errors: Tail
    /// Where it could write, in a sandbox with a root of its own.
    var home: SandboxHome?
  }

  private struct Collected: Sendable {
    var output: Head
    var errorHead: Head
    var errors: Tail
  }

  /// Keeps what a program writes; told on one thread, read once that has told the end.
  private final class Collector: Sendable {
    private let state: Mutex<Collected>
    private let endsAtOutputLimit: Bool
    private let seeOutput: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    init(_ process: CommandProcess) {
      state = Mutex(
        Collected(
          output: Head(limitBytes: process.outputLimitBytes),
          errorHead: Head(limitBytes: process.errorLimitBytes),
          errors: Tail(limitBytes: CommandTool.errorTailBytes)))
      endsAtOutputLimit = process.endsAtOutputLimit
      seeOutput = process.seeOutput
    }

    var collected: Collected { state.withLock { $0 } }

    func takeOutput(_ bytes: UnsafeRawBufferPointer) -> ProgramCause? {
      // Beyond the limit what comes is read and dropped, so that the program, or SIGTERM, finds no full
      // pipe.
      let isCut = state.withLock { state in
        state.output.append(bytes)
        return state.output.isCut
      }
      if isCut, endsAtOutputLimit { return .outputLimit }
      seeOutput?(bytes)
      return nil
    }

    func takeErrors(_ bytes: UnsafeRawBufferPointer) {
      state.withLock { state in
        state.errorHead.append(bytes)
        state.errors.append(bytes)
      }
    }
  }

  /// Runs the program.
  ///
  /// - Throws: ``ProgramFault`` where it was not started.
  func run(until cancellation: Cancellation) async throws(ProgramFault) -> Exit {
    let hub = ProgramHub.shared
    let number = hub.number()
    let collector = Collector(self)
    let order = order
    let result = await withTaskCancellationHandler {
      await cancellation.whileListening({
        hub.end(number, .cancelled(signal: cancellation.signal ?? "a signal"))
      }) {
        await withCheckedContinuation { continuation in
          hub.start(
            order, as: number,
            ProgramEvents(
              output: { collector.takeOutput($0) }, errors: { collector.takeErrors($0) },
              ended: { continuation.resume(returning: $0) }))
          // Whoever asked before it was known here was not heard.
          if let signal = cancellation.signal { hub.end(number, .cancelled(signal: signal)) }
          if Task.isCancelled { hub.end(number, .cancelled(signal: "a signal")) }
        }
      }
    } onCancel: {
      hub.end(number, .cancelled(signal: "a signal"))
    }
    let ended = try result.get()
    let collected = collector.collected
    return Exit(
      end: ended.end, cause: ended.cause, output: collected.output,
      errorHead: collected.errorHead, errors: collected.errors, home: ended.home)
  }
}
