import AgentRuntime
import AgentTrace
import Glibc
import LiveBoundary
import Synchronization
import TestSupport
import Testing

/// A terminal without a window: what is typed goes into one end, and is read at the other.
private final class PseudoTerminal {
  let keys: Int32
  let input: Int32

  init() throws {
    let keys = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2), which Glibc's module does not have.
    var (lock, number): (Int32, UInt32) = (0, 0)
    let isUnlocked = ioctl(keys, 0x4004_5431, &lock) == 0
    let isNumbered = ioctl(keys, 0x8004_5430, &number) == 0
    let input = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    try #require(isUnlocked && isNumbered && input >= 0)
    (self.keys, self.input) = (keys, input)
  }

  deinit {
    close(input)
    close(keys)
  }

  /// Types a text; the line is there for whoever reads once this returns.
  func type(_ text: String) throws {
    Self.write(text, to: keys)
    var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
    let count = poll(&ready, 1, 10_000)
    try #require(count == 1)
  }

  static func write(_ text: String, to file: Int32) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(file, bytes, bytes.count)
  }
}

@Suite("A person at a terminal", .timeLimit(.minutes(2)))
struct TerminalPersonTests {
  private static let request = ApprovalRequest(
    call: ProposedCall(callId: "1.1.0", name: "pay", input: ["n": 1]), reason: "writes need it")

  @Test("what was typed before a call was shown is no yes to it")
  func typedAhead() async throws {
    let terminal = try PseudoTerminal()
    let keys = terminal.keys
    let person = TerminalPerson(
      input: terminal.input, name: "ana", cancellation: Cancellation(),
      tell: { line in
        // Typed once the call is seen.
        if line.contains("or n, and why") { PseudoTerminal.write("n not this one\n", to: keys) }
      })
    try terminal.type("y\ny\n")
    let answer = try #require(await person.approve(Self.request))
    #expect(!answer.granted && answer.reason == "not this one")
  }

  @Test("lines that are piped in answer one question each")
  func piped() async throws {
    var ends: [Int32] = [-1, -1]
    let status = pipe(&ends)
    try #require(status == 0)
    defer { for end in ends { close(end) } }
    PseudoTerminal.write("y\nn no\n", to: ends[1])
    let person = TerminalPerson(
      input: ends[0], name: "ana", cancellation: Cancellation(), tell: { _ in })
    let answers = [await person.approve(Self.request), await person.approve(Self.request)]
    #expect(answers.map { $0?.granted } == [true, false])
  }

  @Test("a run that is to end asks nobody any more")
  func ended() async throws {
    let cancellation = Cancellation()
    cancellation.cancel(signal: "SIGINT")
    let told = Mutex(0)
    let terminal = try PseudoTerminal()
    let person = TerminalPerson(
      input: terminal.input, name: "ana", cancellation: cancellation,
      tell: { _ in told.withLock { $0 += 1 } })
    #expect(await person.approve(Self.request) == nil)
    #expect(told.withLock { $0 } == 0)
  }
}
