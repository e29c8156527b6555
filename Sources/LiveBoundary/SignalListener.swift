public import AgentRuntime
import CPrograms
import Glibc
import Synchronization

/// Turns SIGHUP, SIGINT and SIGTERM into the end of a run.
///
/// The first signal asks every run that listens to end: it writes its stop and closes its log. A
/// second one ends the process at once with 128 + its number, and the commands that still run with
/// it. Signals in quick succession count as one, since a terminal or `timeout` may send the same wish
/// to a process and to its group. A signal that the process was started to ignore stays ignored, as
/// SIGHUP under `nohup`.
public final class SignalListener: Sendable {
  private let number: Int

  /// Listens until ``stop()``.
  public init(_ cancellation: Cancellation) {
    number = SignalHub.shared.add(cancellation)
  }

  deinit { stop() }

  /// Listens no more. When the last listener stops, signals do what they did before.
  public func stop() { SignalHub.shared.remove(number) }

  /// What a process exits with that such a signal ended: 128 and its number, that of SIGTERM for a name
  /// that is none of a signal.
  public static func exitCode(of name: String) -> Int32 {
    128 + (SignalName.number(of: name) ?? SIGTERM)
  }

  /// Makes the calling thread one that these signals are delivered to; called by the first thread of a
  /// program, so that they end it while nobody listens.
  ///
  /// A process inherits the signals that its parent's thread had blocked, and a thread those of the one
  /// that made it; threads of a pool block them all. Were none left to take a signal, it would wait
  /// for ever.
  public static func letSignalsIn() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in SignalHub.signals { sigaddset(&signals, signal) }
    pthread_sigmask(Int32(SIG_UNBLOCK), &signals, nil)
  }

  /// Sends a signal to this very process by its name, and returns once the cancellation has it.
  ///
  /// Where nobody listens for it, or it has not come after two seconds, the cancellation is told
  /// directly: the run ends in any case.
  public static func raise(_ name: String, awaiting cancellation: Cancellation) async {
    guard cancellation.signal == nil else { return }
    if let signal = SignalName.number(of: name),
      SignalHub.shared.isListening(cancellation, to: signal)
    {
      let arrival = Task { try? await Task.sleep(for: .seconds(2)) }
      await cancellation.whileListening(
        { arrival.cancel() },
        {
          kill(getpid(), signal)
          await arrival.value
        })
    }
    cancellation.cancel(signal: name)
  }
}

/// The names of signals.
enum SignalName {
  private static let names: [(String, Int32)] = [
    ("SIGHUP", SIGHUP), ("SIGINT", SIGINT), ("SIGQUIT", SIGQUIT), ("SIGILL", SIGILL),
    ("SIGTRAP", SIGTRAP), ("SIGABRT", SIGABRT), ("SIGBUS", SIGBUS), ("SIGFPE", SIGFPE),
    ("SIGKILL", SIGKILL), ("SIGUSR1", SIGUSR1), ("SIGSEGV", SIGSEGV), ("SIGUSR2", SIGUSR2),
    ("SIGPIPE", SIGPIPE), ("SIGALRM", SIGALRM), ("SIGTERM", SIGTERM), ("SIGXCPU", SIGXCPU),
    ("SIGXFSZ", SIGXFSZ), ("SIGSYS", SIGSYS),
  ]

  /// For example `SIGTERM`, or `signal 64` for one without a name.
  static func name(of number: Int32) -> String {
    names.first { $0.1 == number }?.0 ?? "signal \(number)"
  }

  static func number(of name: String) -> Int32? { names.first { $0.0 == name }?.1 }
}

/// The one place in the process where signals come in.
///
/// The handler only writes the signal's number to a pipe; a thread of its own reads there and does
/// the rest, so that nothing but `write` runs inside a handler and a busy thread pool delays nothing.
final class SignalHub: Sendable {
  static let shared = SignalHub()

  fileprivate static let signals = [SIGHUP, SIGINT, SIGTERM]
  /// How long after the first signal others count as the same wish.
  private static let echoDuration = Duration.milliseconds(250)

  private struct State {
    var listeners: [Int: Cancellation] = [:]
    var lastNumber = 0
    var replaced: [Int32: sigaction] = [:]
    var firstSignalAt: SuspendingClock.Instant?
    var isThreadStarted = false
  }

  private let state = Mutex(State())

  func add(_ cancellation: Cancellation) -> Int {
    state.withLock { state in
      if state.listeners.isEmpty { Self.install(&state) }
      state.lastNumber += 1
      state.listeners[state.lastNumber] = cancellation
      return state.lastNumber
    }
  }

  func remove(_ number: Int) {
    state.withLock { state in
      guard state.listeners.removeValue(forKey: number) != nil, state.listeners.isEmpty else {
        return
      }
      for (signal, action) in state.replaced {
        var action = action
        sigaction(signal, &action, nil)
      }
      state.replaced = [:]
      state.firstSignalAt = nil
    }
  }

  func isListening(_ cancellation: Cancellation, to signal: Int32) -> Bool {
    state.withLock { state in
      state.replaced[signal] != nil && state.listeners.values.contains { $0 === cancellation }
    }
  }

  /// Called on the reading thread.
  fileprivate func arrived(_ signal: Int32) {
    let (cancellations, isSecond) = state.withLock { state -> ([Cancellation], Bool) in
      guard let first = state.firstSignalAt else {
        state.firstSignalAt = .now
        return (state.listeners.sorted { $0.key < $1.key }.map(\.value), false)
      }
      return ([], !state.listeners.isEmpty && .now - first > Self.echoDuration)
    }
    // The watchers of the programs that still run end them, as at any end of this process.
    if isSecond { _exit(128 + signal) }
    for cancellation in cancellations { cancellation.cancel(signal: SignalName.name(of: signal)) }
  }

  // MARK: The pipe

  private static func install(_ state: inout State) {
    guard startReading(&state) else { return }
    for signal in signals {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { signal in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: signal)
        write(signalPipe, &byte, 1)
        errno = before
      }
      action.sa_flags = SA_RESTART
      var old = sigaction()
      sigaction(signal, nil, &old)
      let isIgnored =
        unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
      guard !isIgnored, sigaction(signal, &action, nil) == 0 else { continue }
      state.replaced[signal] = old
    }
  }

  private static func startReading(_ state: inout State) -> Bool {
    guard !state.isThreadStarted else { return true }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    signalPipe = ends[1]
    let context = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    context.initialize(to: ends[0])
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        guard let readEnd = context?.assumingMemoryBound(to: Int32.self).pointee else { return nil }
        SignalListener.letSignalsIn()
        while true {
          var byte: UInt8 = 0
          let count = read(readEnd, &byte, 1)
          if count == 1 { SignalHub.shared.arrived(Int32(byte)) }
          if count == 0 || (count < 0 && errno != EINTR) { return nil }
        }
      }, context)
    guard status == 0 else { return false }
    pthread_detach(thread)
    state.isThreadStarted = true
    return true
  }
}

/// Where the signal handler writes. Set once, under the hub's lock, before the handler is installed.
private nonisolated(unsafe) var signalPipe: Int32 = -1
