import CPrograms
import Glibc
import Synchronization

/// The one place in this process that starts programs, reads what they write and ends them in time.
///
/// All of it happens on one thread of its own, so that no deadline depends on what a program does, nor on
/// the tasks of this process having a thread to run on.
///
/// Why: Docs/decisions/0016-programs-run-beneath-a-watcher.md
final class ProgramHub: Sendable {
  static let shared = ProgramHub()

  typealias Job = @Sendable (ProgramLoop) -> Void

  private struct Inbox {
    var jobs: [Job] = []
    var lastNumber = 0
    /// An eventfd(2) on which the thread is woken; `nil` while there is no thread.
    var bell: Int32?
  }

  private let inbox = Mutex(Inbox())

  /// A number by which a program can be spoken to, also before it is started.
  func number() -> Int {
    inbox.withLock { inbox in
      inbox.lastNumber += 1
      return inbox.lastNumber
    }
  }

  /// Starts a program, at once or when there are descriptors for it.
  func start(_ order: ProgramOrder, as number: Int, _ events: ProgramEvents) {
    // Writing to a program that closed its input is an error, not the end of this process.
    BrokenPipes.becomeErrors()
    let deadline = order.timeoutMicroseconds.map { ContinuousClock.now + .microseconds($0) }
    if let fault = post({ $0.accept(order, number, events, until: deadline) }) {
      events.ended(.failure(fault))
    }
  }

  /// Ends a program for a reason: SIGTERM for its process group and, after the grace, SIGKILL for all that
  /// descends from it.
  func end(_ number: Int, _ cause: ProgramCause) { post { $0.end(number, cause) } }

  /// Sends a signal to a program's process group.
  func signal(_ number: Int, _ signal: Int32) { post { $0.signal(number, signal) } }

  /// Writes to a program's standard input.
  func write(_ number: Int, _ bytes: [UInt8]) { post { $0.write(number, bytes) } }

  /// Closes a program's standard input behind what was written, and ends it where it does not end by
  /// itself: by SIGTERM after one time, by SIGKILL after another.
  func close(_ number: Int, grace: Duration, signalGrace: Duration) {
    post { $0.close(number, grace: grace, signalGrace: signalGrace) }
  }

  @discardableResult
  private func post(_ job: @escaping Job) -> ProgramFault? {
    inbox.withLock { inbox -> ProgramFault? in
      if inbox.bell == nil {
        let bell = program_bell()
        guard bell >= 0 else { return Self.fault(-bell) }
        guard Self.startThread(bell) else {
          Glibc.close(bell)
          return .system(EAGAIN)
        }
        inbox.bell = bell
      }
      inbox.jobs.append(job)
      if let bell = inbox.bell {
        var one: UInt64 = 1
        Glibc.write(bell, &one, 8)
      }
      return nil
    }
  }

  private static func fault(_ number: Int32) -> ProgramFault {
    number == EMFILE ? ProgramLoop.fault(needing: 1) : .system(number)
  }

  private static func startThread(_ bell: Int32) -> Bool {
    let context = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    context.initialize(to: bell)
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        guard let bell = context?.assumingMemoryBound(to: Int32.self).pointee else { return nil }
        // Signals are for the threads that wait for them.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        let loop = ProgramLoop(bell: bell)
        while true { loop.turn(ProgramHub.shared.takeJobs()) }
      }, context)
    guard status == 0 else {
      context.deallocate()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private func takeJobs() -> [Job] {
    inbox.withLock { inbox in
      defer { inbox.jobs = [] }
      return inbox.jobs
    }
  }
}

/// Writing to a process that closed its input is an error, not the end of this process.
enum BrokenPipes {
  private static let ignored: Void = { signal(SIGPIPE, SIG_IGN) }()

  /// Ignores SIGPIPE from now on. Programs start with the default again.
  static func becomeErrors() { ignored }
}
