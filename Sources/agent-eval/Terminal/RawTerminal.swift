import Glibc
import TraceDebugging

/// The terminal as a full-screen program has it: every key at once, no echo, a screen of its own.
///
/// Whatever ends the process, short of SIGKILL, the terminal is given back as it was: on leaving, on
/// the signals that end a process, and on those of a crash.
final class RawTerminal {
  /// What happened at the terminal.
  enum Event {
    case keys([Key])
    /// The size is another, or nobody knows any more what is shown.
    case redraw
    /// Somebody wants the process to stand still.
    case suspend
    /// A signal that ends the process.
    case end(Int32)
    /// Nobody is there any more.
    case hangUp
    case nothing
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private var reader = KeyReader()
  /// What was pressed while something was at work.
  private var waiting: [Key] = []
  private var pipe: (read: Int32, write: Int32)
  private var isActive = false

  private static let enter = "\u{1b}[?1049h\u{1b}[?7l\u{1b}[2J"
  private static let leave = "\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"
  private static let told = [SIGWINCH, SIGCONT, SIGTSTP, SIGTERM, SIGHUP, SIGINT, SIGQUIT]
  private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE]

  init() throws {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else {
      throw Failure(description: "standard input is no terminal")
    }
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else {
      throw Failure(description: "no pipe: \(String(cString: strerror(errno)))")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    pipe = (ends[0], ends[1])
    originalSettings = settings
    signalPipe = ends[1]
    (inputDescriptor, outputDescriptor) = (STDIN_FILENO, STDOUT_FILENO)
    let leave = Array(Self.leave.utf8)
    leaveBytes = UnsafeMutablePointer<UInt8>.allocate(capacity: leave.count)
    leaveBytes?.initialize(from: leave, count: leave.count)
    leaveCount = leave.count
    install()
    activate()
  }

  deinit {
    restore()
    for number in Self.told + Self.crashes { signal(number, SIG_DFL) }
    signalPipe = -1
    leaveBytes?.deallocate()
    leaveBytes = nil
    close(pipe.read)
    close(pipe.write)
  }

  /// Columns and rows.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  func write(_ text: String) { Output.bytes(Array(text.utf8)) }

  // MARK: Modes

  private func activate() {
    var settings = originalSettings
    cfmakeraw(&settings)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    isActive = true
    isScreenTaken = true
    write(Self.enter)
  }

  /// Gives the terminal back as it was.
  func restore() {
    guard isActive else { return }
    isActive = false
    isScreenTaken = false
    write(Self.leave)
    var settings = originalSettings
    tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
  }

  /// Stands still, as after ^Z, until the process is told to go on.
  func suspend() {
    restore()
    signal(SIGTSTP, SIG_DFL)
    kill(0, SIGTSTP)
    signal(SIGTSTP, noteSignal)
    activate()
  }

  /// Ends the process by a signal, as if nobody had caught it.
  func end(by number: Int32) {
    restore()
    signal(number, SIG_DFL)
    raise(number)
  }

  private func install() {
    for number in Self.told {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = noteSignal
      sigfillset(&action.sa_mask)
      sigaction(number, &action, nil)
    }
    for number in Self.crashes { signal(number, rescueTerminal) }
  }

  // MARK: Waiting

  /// What happens next, or nothing within a time.
  func next(milliseconds: Int32) -> Event {
    if !waiting.isEmpty {
      defer { waiting = [] }
      return .keys(waiting)
    }
    var sources = [
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&sources, 2, milliseconds) > 0 else { return signalled ?? .nothing }
    if let event = signalled { return event }
    guard sources[0].revents != 0 else { return .nothing }
    return readKeys().map(Event.keys) ?? .hangUp
  }

  /// Whether somebody pressed ^C or escape, or a signal came that ends the process, while something
  /// is at work. Other keys wait for their turn.
  func isInterrupted() -> Bool {
    var source = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    if poll(&source, 1, 0) > 0, let keys = readKeys() { waiting += keys }
    if case .end(let number)? = signalled {
      end(by: number)
      return true
    }
    guard let place = waiting.firstIndex(where: { $0 == .control("c") || $0 == .escape }) else {
      return false
    }
    waiting.removeSubrange(...place)
    return true
  }

  private var signalled: Event? {
    var number: UInt8 = 0
    guard read(pipe.read, &number, 1) == 1 else { return nil }
    switch Int32(number) {
    case SIGWINCH: return .redraw
    case SIGCONT:
      // A shell may have changed the settings in between.
      if isActive { activate() }
      return .redraw
    case SIGTSTP: return .suspend
    case let number: return .end(number)
    }
  }

  /// The keys that are there; `nil` where nobody will press any.
  private func readKeys() -> [Key]? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return [] }
    guard count > 0 else { return nil }
    return reader.take(bytes[..<count])
  }
}

// What a signal handler may look at: set before the first one is installed.

/// The terminal's settings before.
nonisolated(unsafe) private var originalSettings = termios()
/// Where handlers write the number of a signal; -1 where nobody reads.
nonisolated(unsafe) private var signalPipe: Int32 = -1
/// Whether the terminal shows our screen.
nonisolated(unsafe) private var isScreenTaken = false

/// Tells the loop of a signal. Calls nothing but write(2), which a handler may (signal-safety(7)).
private let noteSignal: @convention(c) (Int32) -> Void = { number in
  let before = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe, &byte, 1)
  errno = before
}

/// What gives the screen back, where a handler can have it without asking anybody for memory.
nonisolated(unsafe) private var leaveBytes: UnsafeMutablePointer<UInt8>?
nonisolated(unsafe) private var leaveCount = 0

/// Gives the terminal back before a crash takes its course: tcsetattr(3) and write(2), no more.
private let rescueTerminal: @convention(c) (Int32) -> Void = { number in
  if isScreenTaken, let leaveBytes {
    _ = write(outputDescriptor, leaveBytes, leaveCount)
    tcsetattr(inputDescriptor, TCSANOW, &originalSettings)
  }
  signal(number, SIG_DFL)
  raise(number)
}

nonisolated(unsafe) private var outputDescriptor: Int32 = 1
nonisolated(unsafe) private var inputDescriptor: Int32 = 0
