import CSQLite

/// What SQLite would not do, and for what it was asked.
package struct SQLiteError: Error, Hashable, Sendable {
  /// SQLite's extended result code (https://sqlite.org/rescode.html).
  package var code: Int32
  /// What SQLite says of it.
  package var message: String
  /// What it was to be done for, as it goes on after “cannot”: `list the runs`.
  package var purpose: String

  package init(code: Int32, message: String, purpose: String) {
    self.code = code
    self.message = message
    self.purpose = purpose
  }

  /// What the last call on a connection left, which returned this code.
  init(_ code: Int32, of connection: OpaquePointer?, purpose: String) {
    // What a connection says is of its last call, and that may be another one.
    let isLast = connection.map { sqlite3_extended_errcode($0) == code } ?? false
    let said = isLast ? sqlite3_errmsg(connection) : sqlite3_errstr(code)
    self.init(
      code: code, message: said.map { String(cString: $0) } ?? "error \(code)", purpose: purpose)
  }

  /// The code without what makes it more precise.
  package var primaryCode: Int32 { code & 0xff }

  /// Whether somebody else held the database for longer than we wait.
  package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
}

extension SQLiteError: CustomStringConvertible {
  /// `cannot list the runs: database disk image is malformed`.
  package var description: String { "cannot \(purpose): \(message)" }
}
