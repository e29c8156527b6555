import CSQLite

/// What a statement may take and do that somebody else wrote.
package struct ReadingLimits: Sendable {
  /// The most bytes of one value or row.
  package var valueBytes: Int
  /// The most bytes of everything that SQLite holds, in the whole process.
  package var heapBytes: Int
  /// The most bytes of a statement.
  package var statementBytes = 1_000_000
  /// How deep an expression may nest.
  package var expressionDepth = 100
  /// How long it may take.
  package var seconds: Double

  package init(valueBytes: Int, heapBytes: Int, seconds: Double) {
    self.valueBytes = valueBytes
    self.heapBytes = heapBytes
    self.seconds = seconds
  }
}

/// When statements have to have ended; asked by SQLite every so many of its steps.
package final class Deadline {
  private let end: ContinuousClock.Instant

  init(seconds: Double) { end = .now + .seconds(min(max(seconds, 0), 86_400)) }

  /// Whether a statement was, or will be, interrupted.
  package var isOver: Bool { ContinuousClock.now >= end }
}

extension Connection {
  /// Keeps the statements of `body` to limits, and lets nothing but SELECT be prepared: no ATTACH, no PRAGMA,
  /// no function that reaches files. What was there before is there again afterwards.
  package func limited<Result>(
    to limits: ReadingLimits, _ body: (Deadline) throws -> Result
  ) rethrows -> Result {
    let deadline = Deadline(seconds: limits.seconds)
    return try withHandle { handle in
      let asked = [
        (SQLITE_LIMIT_ATTACHED, 0), (SQLITE_LIMIT_LENGTH, limits.valueBytes),
        (SQLITE_LIMIT_SQL_LENGTH, limits.statementBytes),
        (SQLITE_LIMIT_EXPR_DEPTH, limits.expressionDepth),
      ]
      let before = asked.map { ($0, sqlite3_limit(handle, $0, Int32(clamping: $1))) }
      let heapBefore = sqlite3_hard_heap_limit64(Int64(limits.heapBytes))
      sqlite3_progress_handler(
        handle, 1000,
        { pointer in
          guard let pointer else { return 1 }
          return Unmanaged<Deadline>.fromOpaque(pointer).takeUnretainedValue().isOver ? 1 : 0
        }, Unmanaged.passUnretained(deadline).toOpaque())
      sqlite3_set_authorizer(
        handle,
        { _, action, _, name, _, _ in
          switch action {
          case SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE: return SQLITE_OK
          case SQLITE_FUNCTION:
            let name = name.map { String(cString: $0) } ?? ""
            return ["load_extension", "fts3_tokenizer"].contains(name) ? SQLITE_DENY : SQLITE_OK
          default: return SQLITE_DENY
          }
        }, nil)
      defer {
        sqlite3_set_authorizer(handle, nil, nil)
        sqlite3_progress_handler(handle, 0, nil, nil)
        sqlite3_hard_heap_limit64(heapBefore)
        for (limit, value) in before { sqlite3_limit(handle, limit, value) }
      }
      return try withExtendedLifetime(deadline) { try body(deadline) }
    }
  }
}
