public import AgentTrace
import CSQLite
import SQLite

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

  /// At most 10,000 rows and 10 seconds, unless given; a limit below 1 shows no row.
  public init(_ statement: String, limitRows: Int = 10_000, limitSeconds: Double = 10) {
    self.statement = statement
    self.limitRows = limitRows
    self.limitSeconds = limitSeconds
  }

  /// Whether all rows were shown.
  public enum Completeness: Sendable, Hashable {
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
  ) throws -> RunQuery.Completeness {
    try query.run(on: connection, path: path ?? "the index in memory", columns, body)
  }
}

extension RunQuery {
  fileprivate func run(
    on connection: Connection, path: String, _ columns: ([String]) throws -> Void,
    _ body: ([JSONValue]) throws -> Void
  ) throws -> Completeness {
    do {
      try connection.execute("PRAGMA temp_store = MEMORY", to: "keep its sorting in memory")
      return try connection.readingOnly {
        try connection.limited(to: limits) { deadline in
          do {
            let statement = try prepare(on: connection, path: path)
            try columns(statement.columns)
            return try show(statement, body)
          } catch let error as SQLiteError {
            if error.primaryCode == SQLITE_INTERRUPT, deadline.isOver {
              throw IndexError(.tookTooLong(seconds: limitSeconds), path: path)
            }
            throw Self.failure(error, path)
          }
        }
      }
    } catch let error as SQLiteError {
      throw IndexError(error, path: path)
    }
  }

  private func show(
    _ statement: Statement, _ body: ([JSONValue]) throws -> Void
  ) throws -> Completeness {
    var (shown, ending) = (0, Completeness.complete)
    try statement.rows([]) { row in
      guard shown < limitRows else {
        ending = .cut
        return false
      }
      shown += 1
      var values: [JSONValue] = []
      for column in 0..<row.count { values.append(row.value(column).json) }
      try body(values)
      return true
    }
    return ending
  }

  /// Reads exactly one statement, and refuses one that is not for reading.
  private func prepare(on connection: Connection, path: String) throws -> Statement {
    do {
      let made = try Statement(connection, statement, to: "run the statement")
      guard made.isReadOnly else { throw IndexError(.notReadOnly, path: path) }
      return made
    } catch let error as SQLiteError where error.code == SQLITE_MISUSE {
      throw IndexError(.notOneStatement, path: path)
    }
  }

  private static func failure(_ error: SQLiteError, _ path: String) -> IndexError {
    switch error.primaryCode {
    case SQLITE_AUTH: IndexError(.notReadOnly, path: path)
    case SQLITE_NOMEM, SQLITE_TOOBIG: IndexError(.tooLarge, path: path)
    case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISMATCH:
      IndexError(.badStatement(error.message), path: path)
    default: IndexError(error, path: path)
    }
  }

  private var limits: ReadingLimits {
    ReadingLimits(
      valueBytes: Self.valueLimitBytes, heapBytes: Self.memoryLimitBytes, seconds: limitSeconds)
  }
}
