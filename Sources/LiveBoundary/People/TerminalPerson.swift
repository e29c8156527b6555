public import AgentRuntime
import AgentTrace
import Glibc
import Synchronization

/// A person at a terminal, or whoever writes the lines of standard input.
///
/// A call that waits is shown with the rule and the reason; what counts is a line that begins with yes
/// (this once), always (this input for the run) or no, the reason behind it. The end of the input, or of the run, means that nobody is there.
/// What was typed at a terminal before a question was shown is no answer to it: nobody says yes to a call that they have not seen.
public final class TerminalPerson: Person {
  /// Reads from this descriptor.
  private let input: Int32
  private let name: String
  private let cancellation: Cancellation
  private let tell: @Sendable (String) -> Void
  /// What was read behind the last line.
  private let rest = Mutex<[UInt8]>([])

  /// The most bytes of a line; a longer one ends the input.
  static let lineLimitBytes = 1 << 20

  /// - Parameters:
  ///   - input: the descriptor of a file; standard input unless given.
  ///   - name: what logs call the person.
  ///   - cancellation: what ends the waiting.
  ///   - tell: Shows a text without its end of line. It holds what came from a model: whoever shows it has
  ///     to make it safe.
  public init(
    input: Int32 = 0, name: String, cancellation: Cancellation,
    tell: @escaping @Sendable (String) -> Void
  ) {
    self.input = input
    self.name = name
    self.cancellation = cancellation
    self.tell = tell
  }

  public func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    let call = request.call
    guard cancellation.signal == nil else { return nil }
    forgetWhatWasTyped()
    tell(
      "approve?   \(call.name) \(CanonicalJSON.string(call.input, form: .plain))  \(call.callId)")
    tell("           \(request.reason)\(request.ruleId.map { " (rule \($0))" } ?? "")")
    while true {
      tell("           y (this once), always (this input, this run) or n, and why:")
      guard let line = await line() else { return nil }
      if let word = SpokenApproval(line, takesAlways: true) {
        return ApprovalAnswer(
          granted: word.granted, by: name, reason: word.reason, scope: word.scope)
      }
    }
  }

  /// An answer of the agent ends the run; nobody is bothered with it.
  public func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    guard request.kind == .question, cancellation.signal == nil else { return nil }
    forgetWhatWasTyped()
    tell("question   \(request.question)")
    while true {
      guard let line = await line() else { return nil }
      if line.contains(where: { !$0.isWhitespace }) { return PersonAnswer(text: line, by: name) }
    }
  }

  // MARK: Lines

  /// Lines that are piped in were written for the questions to come, and stay.
  private func forgetWhatWasTyped() {
    guard isatty(input) == 1 else { return }
    _ = tcflush(input, TCIFLUSH)
    rest.withLock { $0 = [] }
  }

  /// The next line; `nil` at the end of the input, or when the run is to end.
  private func line() async -> String? {
    await withCheckedContinuation { continuation in
      // Reading blocks: it gets a thread of its own, so that tools and signals go on.
      let work = Work { continuation.resume(returning: self.nextLine()) }
      if !work.start() { continuation.resume(returning: nil) }
    }
  }

  private func nextLine() -> String? {
    while cancellation.signal == nil {
      if let line = takeLine() { return line }
      var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      let count = poll(&ready, 1, 50)
      if count < 0, errno != EINTR { return nil }
      guard count > 0 else { continue }
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let read = buffer.withUnsafeMutableBytes { Glibc.read(input, $0.baseAddress, $0.count) }
      if read < 0, errno == EINTR || errno == EAGAIN { continue }
      guard read > 0 else { return takeRest() }
      rest.withLock { $0 += buffer.prefix(read) }
      if rest.withLock({ $0.count > Self.lineLimitBytes }) { return nil }
    }
    return nil
  }

  private func takeLine() -> String? {
    rest.withLock { rest in
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      var line = rest[..<end]
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      let text = String(decoding: line, as: UTF8.self)
      rest.removeSubrange(...end)
      return text
    }
  }

  /// A last line without an end.
  private func takeRest() -> String? {
    rest.withLock { rest in
      defer { rest = [] }
      return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }
  }
}

/// A thread that does one thing and ends.
private final class Work: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Whether there was a thread to be had.
  func start() -> Bool {
    let context = Unmanaged.passRetained(self).toOpaque()
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, context)
    guard status == 0 else {
      Unmanaged<Work>.fromOpaque(context).release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
