import CSQLite
import FilePaths

/// One connection to one database. It is closed when nobody holds it or a statement of it any more; there is
/// no other way to close it, so that no use comes after.
///
/// Not `Sendable`, and SQLite keeps no lock for it: whoever shares one keeps it in a `Mutex`.
///
/// Why: Docs/decisions/0017-sqlite-and-libyaml-in-c.md
package final class Connection {
  /// What a connection may do with its file.
  package enum Access: Sendable {
    /// The file has to be there, and stays as it is.
    case reading
    /// The same, where nobody writes it meanwhile: no lock is taken, and no file is made beside it. What stands in another
    /// file, as a log of writes, is not seen.
    case readingWhatNobodyWrites
    /// The file is made where there is none.
    case writing
  }

  private let handle: OpaquePointer
  /// Whether nothing may be written just now.
  private var isForReading: Bool

  /// Opens a file, or a database in memory where `path` is `nil`. SQLite looks into the file only with the
  /// first statement that asks for something in it.
  ///
  /// - Parameter busySeconds: how long a statement waits for another connection that holds the file.
  /// - Throws: an error whose ``SQLiteError/purpose`` is to open it.
  package init(path: String?, for access: Access, busySeconds: Double) throws(SQLiteError) {
    let purpose = "open it"
    let path = path ?? ":memory:"
    guard !path.utf8.contains(0) else {
      throw SQLiteError(
        code: SQLITE_CANTOPEN, message: "there is a NUL in its name", purpose: purpose)
    }
    let way =
      switch access {
      case .reading: SQLITE_OPEN_READONLY
      case .readingWhatNobodyWrites: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .writing: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    var opened: OpaquePointer?
    let name = access == .readingWhatNobodyWrites ? Self.unchanging(path) : path
    let code = name.withPath { sqlite3_open_v2($0, &opened, way | SQLITE_OPEN_NOMUTEX, nil) }
    guard code == SQLITE_OK, let opened else {
      let error = SQLiteError(code, of: opened, purpose: purpose)
      // Also what could not be opened takes room.
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    isForReading = access != .writing
    // From here on deinit closes it.
    try check(sqlite3_extended_result_codes(handle, 1), purpose)
    let milliseconds = min(max(busySeconds * 1_000, 0), Double(Int32.max))
    try check(sqlite3_busy_timeout(handle, Int32(milliseconds)), purpose)
    try check(csqlite_refuse_double_quoted_text(handle), purpose)
  }

  /// The address of a file that nobody writes (https://sqlite.org/uri.html).
  private static func unchanging(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var name: [UInt8] = []
    path.withPath { start in
      var place = start
      while place.pointee != 0 {
        let byte = UInt8(bitPattern: place.pointee)
        name += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        place += 1
      }
    }
    return "file:" + String(decoding: name, as: UTF8.self) + "?immutable=1"
  }

  deinit { sqlite3_close_v2(handle) }

  private func check(_ code: Int32, _ purpose: String) throws(SQLiteError) {
    guard code == SQLITE_OK else { throw error(code, purpose) }
  }

  /// What the last call left.
  func error(_ code: Int32, _ purpose: String) -> SQLiteError {
    SQLiteError(code, of: handle, purpose: purpose)
  }

  /// Shows SQLite's own handle to `body`, for what has no other way here. It must not be kept.
  package func withHandle<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result {
    try body(handle)
  }

  // MARK: Statements

  /// Runs any number of statements without values, and passes over their rows.
  package func execute(_ script: String, to purpose: String) throws(SQLiteError) {
    guard !script.utf8.contains(0) else {
      throw SQLiteError(code: SQLITE_MISUSE, message: "a NUL in a statement", purpose: purpose)
    }
    try check(sqlite3_exec(handle, script, nil, nil, nil), purpose)
  }

  /// The first value of the first row; `nil` where there is no row.
  package func value(
    _ sql: String, _ values: [Value] = [], to purpose: String
  ) throws -> Value? {
    var found: Value?
    try Statement(self, sql, to: purpose).rows(values) { row in
      found = row.value(0)
      return false
    }
    return found
  }

  // MARK: Transactions

  /// Whether a transaction is under way.
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Reads: all statements of `body` see one state of the database, and none of them can write.
  package func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try readingOnly { try transaction("DEFERRED", body) }
  }

  /// Writes: what `body` does is done as a whole, or not at all where it throws. Nobody else writes meanwhile.
  ///
  /// - Throws: what `body` throws; an ``SQLiteError`` where another connection writes for too long.
  package func write<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    // At once: a reader that turns writer cannot wait for another that did (sqlite.org/lang_transaction.html).
    try transaction("IMMEDIATE", body)
  }

  /// Lets no statement of `body` write, in a transaction or not.
  package func readingOnly<Result>(_ body: () throws -> Result) throws -> Result {
    if isForReading { return try body() }
    try execute("PRAGMA query_only = ON", to: "use it for reading")
    isForReading = true
    let result = Swift.Result { try body() }
    isForReading = false
    let ending = Swift.Result { try execute("PRAGMA query_only = OFF", to: "use it for writing") }
    // What went wrong first is told.
    let value = try result.get()
    try ending.get()
    return value
  }

  private func transaction<Result>(
    _ kind: String, _ body: (Connection) throws -> Result
  ) throws -> Result {
    if isInTransaction { return try body(self) }
    try execute("BEGIN \(kind)", to: "begin a transaction")
    do {
      let result = try body(self)
      // Where an error that `body` passed over has ended it already, what was to be whole is not.
      guard isInTransaction else {
        throw SQLiteError(
          code: SQLITE_ABORT, message: "it was rolled back", purpose: "end a transaction")
      }
      try execute("COMMIT", to: "end a transaction")
      return result
    } catch {
      // Some errors end a transaction by themselves.
      if isInTransaction { try? execute("ROLLBACK", to: "undo a transaction") }
      throw error
    }
  }
}
