import AgentRuntime
import CPrograms
import Glibc

/// A program that is to run beneath a watcher, and for how long.
struct ProgramOrder: Sendable {
  /// What stands on its standard input, and where its outputs go.
  enum Input: Sendable {
    /// These bytes, all of them before it begins, then the end; its outputs are read here.
    case bytes([UInt8])
    /// What is written to it while it runs; its outputs are read here.
    case written
    /// This process's own input and outputs.
    case inherited
  }

  /// Where the program may be, in order.
  var paths: [String]
  /// With its name first.
  var arguments: [String]
  var environment: [String: String]
  /// `nil` for this process's own.
  var folder: String?
  var input = Input.bytes([])
  /// Whether it has a session of its own, or only a process group.
  var hasSession = true
  var limits = ProcessLimits()
  var sandbox: SandboxedFile?
  /// `nil` for the network of this process.
  var network: IsolatedNetwork?
  /// From now on, waiting for descriptors included; `nil` for no limit.
  var timeoutMicroseconds: Int?
  /// How many processes it may consist of; `nil` for no limit.
  var maxProcesses: Int?
  /// How many processes there may be in its namespace of users (`RLIMIT_NPROC`); `nil` for no limit.
  var maxProcessesOfUser: Int?
  /// Whether it ends only when it is told to: nobody waits for its descriptors.
  var isLasting = false

  /// How many descriptors this process opens to start it; some of them only for a moment.
  var descriptors: Int {
    switch input {
    case .bytes: 7
    case .written: 8
    case .inherited: 2
    }
  }
}

/// A sandbox, and the file with the program that is to be found there.
struct SandboxedFile: Sendable {
  var sandbox: Sandbox
  /// Paths of this system that are there too, read-only.
  var visible: [String]
  /// The most bytes that all it writes may take.
  var quotaBytes: Int
  var name: String
  var bytes: [UInt8]
}

/// Why a program was not started. Nothing has happened then.
enum ProgramFault: Error, Sendable, Hashable {
  /// What its watcher could not do, by the numbers of `CPrograms.h` and errno(3).
  case stage(Int, Int32)
  /// No watcher could be made.
  case system(Int32)
  /// This process may not have as many descriptors as one start needs.
  case descriptors(needed: Int, open: Int, limit: Int)
  /// It was to be ended before it began.
  case ended(ProgramCause)
}

/// How a program ended.
enum ProgramEnd: Sendable, Hashable {
  case exited(Int32)
  case killed(Int32)

  /// Reads a status of waitpid(2).
  init(status: Int32) {
    let signal = status & 0x7f
    self = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
  }
}

/// Why a program was ended before its time.
enum ProgramCause: Sendable, Hashable {
  case timeLimit
  case outputLimit
  case processLimit
  case cancelled(signal: String)
}

/// What came of a program.
struct ProgramResult: Sendable {
  var end: ProgramEnd
  /// `nil` where it ended by itself.
  var cause: ProgramCause?
  /// Where it could write, in a sandbox with a root of its own.
  var home: SandboxHome?
}

/// The folder in which a sandboxed program could write; it is there as long as somebody holds it.
final class SandboxHome: Sendable {
  let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}

/// What is told of a program, always on one thread and in this order; none of it may wait.
struct ProgramEvents: Sendable {
  /// It runs, by this number.
  var started: @Sendable (pid_t) -> Void = { _ in }
  /// It wrote something; says why it is to be ended for that.
  var output: @Sendable (UnsafeRawBufferPointer) -> ProgramCause? = { _ in nil }
  /// It wrote something to standard error.
  var errors: @Sendable (UnsafeRawBufferPointer) -> Void = { _ in }
  /// Nobody holds its standard output any more.
  var outputEnded: @Sendable () -> Void = {}
  /// It has ended, and everything that it wrote was told; or it never began. Told once.
  var ended: @Sendable (Result<ProgramResult, ProgramFault>) -> Void
}
