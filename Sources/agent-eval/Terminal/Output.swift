import AgentTrace
import Glibc
import Synchronization
import TraceJudging
import TraceReporting

/// Standard output and standard error: the one place that all verbs print through.
///
/// In a step of GitHub Actions nothing that is printed is a workflow command but what ``commands(_:)`` prints.
///
/// A verb that acts goes on when nobody reads its output any more, and its exit code says how it
/// went; one that only shows may stop early, see ``hasEnded``.
enum Output {
  /// The `errno` of the first write to standard output that failed; 0 while none has.
  private static let failure = Atomic<Int32>(0)

  /// Whether nothing more can be written to standard output.
  static var hasEnded: Bool { failure.load(ordering: .relaxed) != 0 }

  /// Why results were lost; `nil` where none were, or where whoever read had seen enough.
  static var lostResults: String? {
    let number = failure.load(ordering: .relaxed)
    guard number != 0, number != EPIPE else { return nil }
    return "standard output cannot be written: \(String(cString: strerror(number)))"
  }

  /// Writes one line of results to standard output.
  static func line(_ text: String) { write(Array((text + "\n").utf8), to: STDOUT_FILENO) }

  /// Writes lines of results to standard output.
  static func lines(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    line(lines.joined(separator: "\n"))
  }

  /// Writes a value as one line of JSON to standard output.
  static func json(_ value: JSONValue) {
    jsonLine(CanonicalJSON.encode(value, form: .plain))
  }

  /// Writes a line of JSON, given without its end, to standard output, as ``PrintedJSON`` has it; on a terminal with
  /// every character escaped that would act on it or does not show.
  static func jsonLine(_ line: consuming [UInt8]) {
    if isatty(STDOUT_FILENO) == 1 {
      line = Array(Visible.json(String(decoding: line, as: UTF8.self)).utf8)
    }
    line.append(UInt8(ascii: "\n"))
    write(line, to: STDOUT_FILENO, as: .json)
  }

  /// Writes results as a line of JSON, as ``jsonLine(_:)`` does.
  static func jsonLine(_ results: EncodedResults) {
    guard isatty(STDOUT_FILENO) != 1 else { return jsonLine(results.bytes) }
    results.forEachPiece { bytes($0, as: .json) }
    bytes([UInt8(ascii: "\n")], as: .json)
  }

  /// Writes one line of progress or diagnostics to standard error.
  static func error(_ text: String) { write(Array((text + "\n").utf8), to: STDERR_FILENO) }

  /// Whether standard output takes bytes as they are: not where it may be a step's log, in which they would be read for
  /// workflow commands. A file is none.
  static var takesBytes: Bool {
    var status = stat()
    guard GitHubActions.isHere, fstat(STDOUT_FILENO, &status) == 0 else { return true }
    return status.st_mode & S_IFMT == S_IFREG
  }

  /// Writes bytes that are no text for people to standard output, as they are: where ``takesBytes``
  /// says so, or nothing of them is from a trace.
  static func raw(_ bytes: [UInt8]) { writeAll(bytes, to: STDOUT_FILENO) }

  /// Writes bytes to standard output, as they are but for workflow commands, and JSON as ``PrintedJSON`` has it.
  static func bytes(_ bytes: [UInt8], as form: CommandFilter.Form = .text) {
    write(bytes, to: STDOUT_FILENO, as: form)
  }

  /// Writes workflow commands of our own, whole lines.
  static func commands(_ bytes: [UInt8], isDiagnostic: Bool = false) {
    writeAll(bytes, to: isDiagnostic ? STDERR_FILENO : STDOUT_FILENO)
  }

  /// Replaces the last line of a terminal on standard error; nothing where there is none that can do that.
  static func progress(_ text: @autoclosure () -> String) {
    guard Screen.canReplaceLines else { return }
    write(Array("\r\u{1b}[K\(text())".utf8), to: STDERR_FILENO)
  }

  /// Waits; shorter where whoever reads standard output goes away, which counts as its end.
  static func wait(milliseconds: Int32) {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if poll(&output, 1, milliseconds) > 0 { failure.store(EPIPE, ordering: .relaxed) }
  }

  /// What was printed to standard output and to standard error, as far as it may become a command.
  private static let filters = Mutex((output: CommandFilter(), errors: CommandFilter()))
  private static let printedJSON = Mutex(PrintedJSON())

  private static func write(
    _ bytes: [UInt8], to descriptor: Int32, as form: CommandFilter.Form = .text
  ) {
    let bytes = form == .json ? printedJSON.withLock { $0.escaped(bytes) } : bytes
    guard GitHubActions.isHere else { return writeAll(bytes, to: descriptor) }
    let neutral = filters.withLock { filters in
      descriptor == STDOUT_FILENO
        ? filters.output.filtered(bytes, as: form) : filters.errors.filtered(bytes, as: form)
    }
    writeAll(neutral, to: descriptor)
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    let isResult = descriptor == STDOUT_FILENO
    guard !isResult || !hasEnded else { return }
    if isResult, let paged = Paging.take(bytes) { return send(paged.bytes, to: paged.descriptor) }
    send(bytes, to: descriptor)
  }

  /// Writes what a pager did not get after all.
  static func withoutPager(_ bytes: [UInt8]) { send(bytes, to: STDOUT_FILENO) }

  private static func send(_ bytes: [UInt8], to descriptor: Int32) {
    let isResult = descriptor != STDERR_FILENO
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        // Diagnostics that cannot be shown are no reason to stop, and there is nobody to tell.
        if isResult { failure.store(errno, ordering: .relaxed) }
        return
      }
    }
  }
}
