public import AgentTrace
import GRDB
import GRDBSQLite

/// One statement that reads an index, within limits.
public struct RunQuery: Sendable {
  /// One SELECT in SQLite's language; checked only when it is run.
  public var statement: String
  /// The most rows that are shown.
  public var limitRows: Int
  /// How long the statement may run.
  public var limitSeconds: Double

  /// The most bytes of one value, and of everything that SQLite holds at once.
  private static let valueLimitBytes = 16 * 1024 * 1024
  private static let memoryLimitBytes = 256 * 1024 * 1024

  /// Nothing is checked. At most 10,000 rows and 10 seconds, unless given.
  public init(_ statement: String, limitRows: Int = 10_000, limitSeconds: Double = 10) {
    self.statement = statement
    self.limitRows = limitRows
    self.limitSeconds = limitSeconds
  }

  /// Whether all rows were shown.
  public enum Ending: Sendable, Hashable {
    case complete
    /// There are more rows than the limit.
    case cut
  }
}

extension RunIndex {
  /// Puts a statement to the index and shows each row to `body`.
  ///
  /// The connection is set to reading only for it, and nothing but SELECT is let through: no ATTACH,
  /// no PRAGMA, no function that reaches files. It is the connection that refreshed the index, so
  /// that the statement sees what was refreshed, even where another process replaces the file.
  ///
  /// - Parameters:
  ///   - columns: told the names of the columns before the first row.
  /// - Throws: ``IndexError``: what is wrong with the statement, or a limit; what `body` throws.
  public func run(
    _ query: RunQuery, columns: ([String]) throws -> Void, row body: ([JSONValue]) throws -> Void
  ) throws -> RunQuery.Ending {
    try queue.unsafeRead { db in
      try db.execute(sql: "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY")
      defer { try? db.execute(sql: "PRAGMA query_only = OFF") }
      return try query.run(on: db, path: path ?? "the index in memory", columns, body)
    }
  }
}

extension RunQuery {
  fileprivate func run(
    on db: Database, path: String, _ columns: ([String]) throws -> Void,
    _ body: ([JSONValue]) throws -> Void
  ) throws -> Ending {
    guard let connection = db.sqliteConnection else {
      throw IndexError(.database("it is closed"), path: path)
    }
    return try withLimits(on: connection) { deadline in
      let statement = try prepare(on: connection, path: path)
      defer { sqlite3_finalize(statement) }
      let row = SQLRow(statement: statement)
      try columns((0..<row.count).map(row.name))
      var shown = 0
      while true {
        let code = sqlite3_step(statement)
        switch code & 0xff {
        case SQLITE_ROW:
          guard shown < limitRows else { return .cut }
          shown += 1
          try body((0..<row.count).map(row.json))
        case SQLITE_DONE: return .complete
        case SQLITE_INTERRUPT where deadline.isOver:
          throw IndexError(.tookTooLong(seconds: limitSeconds), path: path)
        default: throw failure(code, connection, path)
        }
      }
    }
  }

  /// Reads exactly one statement, and refuses one that is not for reading.
  private func prepare(
    on connection: OpaquePointer, path: String
  ) throws(IndexError) -> OpaquePointer {
    var statement: OpaquePointer?
    var isAlone = true
    // A NUL would end the text early, and hide what stands behind it.
    guard !text.contains(0) else { throw IndexError(.notOneStatement, path: path) }
    let code = (text + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { start -> Int32 in
        var rest: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v2(connection, start.baseAddress, -1, &statement, &rest)
        if code == SQLITE_OK, let rest {
          var next: OpaquePointer?
          // Spaces and comments make no statement; anything else is one, or a mistake.
          let more = sqlite3_prepare_v2(connection, rest, -1, &next, nil)
          isAlone = more == SQLITE_OK && next == nil
          sqlite3_finalize(next)
        }
        return code
      }
    }
    if code & 0xff == SQLITE_AUTH { throw IndexError(.notReadOnly, path: path) }
    guard code == SQLITE_OK else { throw failure(code, connection, path) }
    guard let statement, isAlone else {
      sqlite3_finalize(statement)
      throw IndexError(.notOneStatement, path: path)
    }
    guard sqlite3_stmt_readonly(statement) != 0 else {
      sqlite3_finalize(statement)
      throw IndexError(.notReadOnly, path: path)
    }
    return statement
  }

  private var text: [UInt8] { Array(statement.utf8) }

  private func failure(_ code: Int32, _ connection: OpaquePointer, _ path: String) -> IndexError {
    switch code & 0xff {
    case SQLITE_NOMEM, SQLITE_TOOBIG: return IndexError(.tooLarge, path: path)
    case SQLITE_BUSY, SQLITE_LOCKED: return IndexError(.busy, path: path)
    case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISMATCH:
      return IndexError(.badStatement(String(cString: sqlite3_errmsg(connection))), path: path)
    default:
      return IndexError(.database(String(cString: sqlite3_errmsg(connection))), path: path)
    }
  }

  // MARK: Limits

  /// When a statement has to have ended; asked by SQLite every so many of its steps.
  private final class Deadline {
    private let end: ContinuousClock.Instant

    init(seconds: Double) { end = .now + .seconds(seconds) }

    var isOver: Bool { ContinuousClock.now >= end }
  }

  private func withLimits<T>(
    on connection: OpaquePointer, _ body: (Deadline) throws -> T
  ) rethrows -> T {
    let deadline = Deadline(seconds: min(max(limitSeconds, 0), 86_400))
    sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0)
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(Self.valueLimitBytes))
    sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, 1_000_000)
    sqlite3_limit(connection, SQLITE_LIMIT_EXPR_DEPTH, 100)
    sqlite3_hard_heap_limit64(Int64(Self.memoryLimitBytes))
    sqlite3_progress_handler(
      connection, 1000,
      { pointer in
        guard let pointer else { return 1 }
        return Unmanaged<Deadline>.fromOpaque(pointer).takeUnretainedValue().isOver ? 1 : 0
      }, Unmanaged.passUnretained(deadline).toOpaque())
    sqlite3_set_authorizer(
      connection,
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
      sqlite3_set_authorizer(connection, nil, nil)
      sqlite3_progress_handler(connection, 0, nil, nil)
      sqlite3_hard_heap_limit64(0)
    }
    return try withExtendedLifetime(deadline) { try body(deadline) }
  }
}
