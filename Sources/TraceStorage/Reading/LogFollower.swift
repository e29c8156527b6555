public import AgentTrace

/// Reads a log while another process writes it: each line once it can be read.
///
/// Takes no lock and holds no more than a ``LogReader``. The file is looked at again when its size or
/// its time has changed; of it only the last block is read anew. A follower never waits: when there
/// is nothing yet, its caller does.
public struct LogFollower {
  /// What there is to be said of the log now.
  public enum Step: Sendable, Hashable {
    /// The next line, event or mark.
    case line(LogLine)
    /// Nothing new so far; ask again in a while.
    case nothingYet
    /// The log was closed, or its run has ended for good and nobody holds it any more.
    case ended
  }

  private var reader: LogReader
  private var isAtEnd = false
  private var seen: LogFile.Stamp?
  private var runIsOver = false
  private var failures = 0
  private var linesRead = 0
  private var eventsRead = 0
  /// Bytes of the file when its lines were last known to be those that were read.
  private var length = 0

  private var file: LogFile { reader.cursor.blocks.file }
  private let plainName: String

  /// Opens a log, open or closed, at its beginning.
  ///
  /// - Throws: ``LogError`` where the file is not there or cannot be read.
  public init(path: String) throws(LogError) {
    reader = try LogReader(path: path)
    plainName = LogFormat.plainName(reader.path)
  }

  /// Whether a process holds the log to write it, as far as the system tells.
  public var isHeld: Bool { ((try? file.holder()) ?? nil) != nil }

  /// How the log ended when it was last looked at.
  public var ending: LogReader.Ending? { isClosed ? .closed : reader.ending }

  /// The next line, or why there is none.
  ///
  /// - Throws: ``LogError`` where the log is damaged, and where its file is gone, was replaced, or holds
  ///   less than was read of it and nobody writes it. What looks damaged while a writer cuts off a torn end
  ///   and goes on is looked at again first.
  public mutating func next() throws(LogError) -> Step {
    if isAtEnd {
      let now = try file.stamp()
      if now.size < length, !isHeld { try checkLength(now.size) }
      guard now != seen || failures > 0 else {
        if try hasEnded() { return .ended }
        try checkPlace()
        return .nothingYet
      }
      isAtEnd = false
      seen = now
      do { try reader.cursor.takeUp() } catch { return try lookAgain(error) }
    } else if seen == nil {
      seen = try file.stamp()
    }
    do {
      guard let line = try reader.nextLine() else {
        isAtEnd = true
        failures = 0
        length = max(length, seen?.size ?? 0)
        return try hasEnded() ? .ended : .nothingYet
      }
      failures = 0
      linesRead += 1
      if case .event(let event) = line { note(event) }
      return .line(line)
    } catch {
      return try lookAgain(error)
    }
  }

  private mutating func note(_ event: Event) {
    eventsRead += 1
    guard event.type == .stop else { return }
    runIsOver = (try? Stop(decoding: event.data))?.isFinal ?? true
  }

  /// A writer that goes on in a torn log cuts it and writes: what was read in between fits neither.
  private mutating func lookAgain(_ error: LogError) throws(LogError) -> Step {
    isAtEnd = true
    if error.code == .noTrailer, file.isAt(plainName + LogFormat.openSuffix) {
      return .nothingYet
    }
    failures += 1
    guard error.isDamage, error.code != .noTrailer, reader.cursor.blocks.isLost, failures < 5 else {
      if let size = try? file.size(), size < length, !isHeld { try checkLength(size) }
      throw error
    }
    return .nothingYet
  }

  // MARK: What became of the file

  private func failure(_ code: LogError.Code) -> LogError {
    LogError(code, path: reader.path, intactEvents: eventsRead)
  }

  /// A writer that goes on in a torn log, or a machine that stopped, may take bytes away, but no line.
  private mutating func checkLength(_ size: Int) throws(LogError) {
    var lines = 0
    do throws(LogError) {
      let cursor = try LineCursor(file: file, options: LogReader.Options())
      while lines < linesRead, try cursor.advance() != nil { lines += 1 }
    } catch {
      // Then its lines are not there either.
    }
    guard lines >= linesRead else { throw failure(.fileShrank) }
    length = size
  }

  /// Whether the path still leads to the file. A writer gives it its other name when it closes it, or
  /// goes on: one look at each might miss it in between.
  private func checkPlace() throws(LogError) {
    let names = [reader.path, plainName + LogFormat.openSuffix, plainName]
    guard !(names + names).contains(where: file.isAt) else { return }
    let isThere = names.contains { (try? LogFile.exists($0, .real)) ?? false }
    throw failure(isThere ? .fileReplaced : .fileGone)
  }

  /// Whether the end that was reached is that of the log.
  ///
  /// A writer that let go of it may have closed it since the file was looked at: only a file that is still
  /// the same *after* nobody holds it holds nothing more.
  private func hasEnded() throws(LogError) -> Bool {
    if isClosed { return true }
    guard runIsOver, !isHeld else { return false }
    return try file.stamp() == seen
  }

  /// A trailer alone says little: a writer may be about to rename the file, or to go on behind it.
  private var isClosed: Bool {
    reader.cursor.block?.kind == .trailer && file.isAt(plainName)
  }
}
