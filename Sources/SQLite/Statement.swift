import CSQLite

/// A value as SQLite stores it.
package enum Value: Hashable, Sendable {
  case null
  case integer(Int)
  case real(Double)
  case text(String)
  case blob([UInt8])

  /// A number, or NULL for `nil`.
  package init(_ value: Int?) { self = value.map(Value.integer) ?? .null }
  /// A text, or NULL for `nil`.
  package init(_ value: String?) { self = value.map(Value.text) ?? .null }
  /// A number, or NULL for `nil`. SQLite has no value for what is no number, and stores NULL.
  package init(_ value: Double?) { self = value.map(Value.real) ?? .null }

  /// The number; `nil` where it is none, or not whole.
  package var integer: Int? { if case .integer(let value) = self { value } else { nil } }
  /// The text; `nil` where it is none.
  package var text: String? { if case .text(let value) = self { value } else { nil } }
}

/// A statement that is prepared once and may be run many times. It keeps its connection open.
///
/// Text goes in and out with its length, so that a NUL in a name neither ends it nor makes it equal to
/// another.
package final class Statement {
  private let connection: Connection
  private let handle: OpaquePointer
  private let purpose: String
  private let valueCount: Int

  /// Prepares exactly one statement.
  ///
  /// - Parameter purpose: what it is for, as it goes on after “cannot”; errors say it.
  /// - Throws: an error of the code `SQLITE_MISUSE` where there is none or more than one.
  package init(_ connection: Connection, _ sql: String, to purpose: String) throws(SQLiteError) {
    self.connection = connection
    self.purpose = purpose
    let text = Array(sql.utf8)
    // A NUL would end the text early, and hide what stands behind it.
    guard !text.contains(0), text.count < Int(Int32.max) else {
      throw Self.notOne(purpose)
    }
    let (code, statement, isAlone) = connection.withHandle { connection in
      Self.prepare(text + [0], on: connection)
    }
    guard code == SQLITE_OK else { throw connection.error(code, purpose) }
    guard let statement, isAlone else {
      sqlite3_finalize(statement)
      throw Self.notOne(purpose)
    }
    handle = statement
    valueCount = Int(sqlite3_bind_parameter_count(statement))
  }

  deinit { sqlite3_finalize(handle) }

  private static func notOne(_ purpose: String) -> SQLiteError {
    SQLiteError(code: SQLITE_MISUSE, message: "not exactly one statement", purpose: purpose)
  }

  /// Prepares the first statement of a text that ends with a NUL, and sees whether there is another.
  private static func prepare(
    _ text: [UInt8], on connection: OpaquePointer
  ) -> (code: Int32, statement: OpaquePointer?, isAlone: Bool) {
    text.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        var statement: OpaquePointer?
        var rest: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v2(
          connection, text.baseAddress, Int32(text.count), &statement, &rest)
        guard code == SQLITE_OK, let rest else { return (code, statement, true) }
        var next: OpaquePointer?
        // Spaces and comments make no statement; anything else is one, or a mistake.
        let more = sqlite3_prepare_v2(connection, rest, -1, &next, nil)
        let isAlone = more == SQLITE_OK && next == nil
        sqlite3_finalize(next)
        return (code, statement, isAlone)
      }
    }
  }

  /// Whether it leaves the database as it is.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The names of its columns; more than one may have the same.
  package var columns: [String] {
    (0..<sqlite3_column_count(handle)).map { index in
      sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
    }
  }

  /// Runs it to its end.
  package func run(_ values: [Value]) throws { try rows(values) { _ in true } }

  /// Runs it and shows each row to `body`, until that returns false.
  ///
  /// - Throws: an ``SQLiteError`` also where there are more or fewer values than it asks for, or where it is
  ///   run already, further out; what `body` throws.
  package func rows(_ values: [Value], _ body: (borrowing Row) throws -> Bool) throws {
    guard values.count == valueCount else {
      throw SQLiteError(
        code: SQLITE_RANGE, message: "\(values.count) values for \(valueCount)", purpose: purpose)
    }
    guard sqlite3_stmt_busy(handle) == 0 else {
      throw SQLiteError(code: SQLITE_MISUSE, message: "it is being run", purpose: purpose)
    }
    // What resetting returns is the error that stepping has told already.
    defer { sqlite3_reset(handle) }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
    while true {
      let code = sqlite3_step(handle)
      switch code {
      case SQLITE_ROW: if try !body(Row(handle)) { return }
      case SQLITE_DONE: return
      default: throw connection.error(code, purpose)
      }
    }
  }

  private func bind(_ value: Value, at index: Int32) throws(SQLiteError) {
    let code: Int32
    switch value {
    case .null: code = sqlite3_bind_null(handle, index)
    case .integer(let value): code = sqlite3_bind_int64(handle, index, Int64(value))
    case .real(let value): code = sqlite3_bind_double(handle, index, value)
    case .text(var text):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) { bytes in
          // Of an empty text there may be no address, which SQLite would take for NULL.
          guard let start = bytes.baseAddress else {
            return sqlite3_bind_text64(
              handle, index, "", 0, csqlite_copied(), UInt8(SQLITE_UTF8))
          }
          return sqlite3_bind_text64(
            handle, index, start, UInt64(bytes.count), csqlite_copied(), UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      code = bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
          return sqlite3_bind_zeroblob(handle, index, 0)
        }
        return sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), csqlite_copied())
      }
    }
    guard code == SQLITE_OK else { throw connection.error(code, purpose) }
  }
}

/// The current row of a statement; it cannot be kept beyond the call that shows it.
package struct Row: ~Copyable {
  private let statement: OpaquePointer
  /// How many values it has.
  package let count: Int

  init(_ statement: OpaquePointer) {
    self.statement = statement
    count = Int(sqlite3_data_count(statement))
  }

  /// The type of a value; NULL where there is no such column, of which SQLite promises nothing.
  private func type(_ index: Int) -> Int32 {
    guard index >= 0, index < count else { return SQLITE_NULL }
    return sqlite3_column_type(statement, Int32(index))
  }

  private func bytes(ofText index: Int) -> UnsafeBufferPointer<UInt8> {
    // The text first: asking for it may change where it is and how long.
    let start = sqlite3_column_text(statement, Int32(index))
    return UnsafeBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, Int32(index))))
  }

  /// A text, with U+FFFD for what is no UTF-8; `nil` where there is none, or something else.
  package func text(_ index: Int) -> String? {
    guard type(index) == SQLITE_TEXT else { return nil }
    return String(decoding: bytes(ofText: index), as: UTF8.self)
  }

  /// A whole number; `nil` where there is none, or something else.
  package func integer(_ index: Int) -> Int? {
    guard type(index) == SQLITE_INTEGER else { return nil }
    return Int(sqlite3_column_int64(statement, Int32(index)))
  }

  /// A number; `nil` where there is none.
  package func real(_ index: Int) -> Double? {
    switch type(index) {
    case SQLITE_FLOAT, SQLITE_INTEGER: sqlite3_column_double(statement, Int32(index))
    default: nil
    }
  }

  /// A value as it is stored. Text that is no UTF-8 is a blob.
  package func value(_ index: Int) -> Value {
    switch type(index) {
    case SQLITE_INTEGER: return .integer(Int(sqlite3_column_int64(statement, Int32(index))))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, Int32(index)))
    case SQLITE_TEXT:
      let bytes = bytes(ofText: index)
      return String(validating: bytes, as: UTF8.self).map(Value.text) ?? .blob(Array(bytes))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(statement, Int32(index))
      let count = start == nil ? 0 : Int(sqlite3_column_bytes(statement, Int32(index)))
      return .blob(Array(UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }
}
