import AgentTrace
import GRDB
import GRDBSQLite

/// A prepared statement used many times. Text goes in and out with its length, so that a NUL in a
/// name neither ends it nor makes it equal to another.
final class IndexStatement {
  private let statement: Statement
  private let db: Database
  private let pointer: OpaquePointer

  init(_ db: Database, _ sql: String) throws {
    self.db = db
    statement = try db.makeStatement(sql: sql)
    pointer = statement.sqliteStatement
  }

  /// A value of a column.
  enum Value {
    case null
    case integer(Int)
    case real(Double)
    case text(String)

    init(_ value: Int?) { self = value.map(Value.integer) ?? .null }
    init(_ value: String?) { self = value.map(Value.text) ?? .null }
    init(_ value: Double?) { self = value.map(Value.real) ?? .null }
  }

  /// Runs the statement to its end.
  func run(_ values: [Value]) throws { try rows(values) { _ in true } }

  /// Runs the statement and shows each row to `body`, until that returns false.
  func rows(_ values: [Value], _ body: (SQLRow) throws -> Bool) throws {
    defer { sqlite3_reset(pointer) }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
    while true {
      let code = sqlite3_step(pointer)
      switch code {
      case SQLITE_ROW: if try !body(SQLRow(statement: pointer)) { return }
      case SQLITE_DONE: return
      default: throw failure(code)
      }
    }
  }

  private func bind(_ value: Value, at index: Int32) throws {
    let code: Int32
    switch value {
    case .null: code = sqlite3_bind_null(pointer, index)
    case .integer(let value): code = sqlite3_bind_int64(pointer, index, Int64(value))
    case .real(let value): code = sqlite3_bind_double(pointer, index, value)
    case .text(var text):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) { bytes in
          // SQLite copies the bytes (SQLITE_TRANSIENT); an empty text must not become NULL.
          sqlite3_bind_text64(
            pointer, index, bytes.baseAddress ?? Self.nothing, UInt64(bytes.count),
            Self.transient, UInt8(SQLITE_UTF8))
        }
      }
    }
    guard code == SQLITE_OK else { throw failure(code) }
  }

  private func failure(_ code: Int32) -> DatabaseError {
    DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  nonisolated(unsafe) private static let nothing: UnsafePointer<CChar> = {
    let space = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    space.initialize(to: 0)
    return UnsafePointer(space)
  }()
}

/// The current row of a statement; valid until its next step.
struct SQLRow {
  let statement: OpaquePointer

  var count: Int { Int(sqlite3_column_count(statement)) }

  func name(_ index: Int) -> String {
    sqlite3_column_name(statement, Int32(index)).map { String(cString: $0) } ?? ""
  }

  func text(_ index: Int) -> String? {
    let index = Int32(index)
    guard sqlite3_column_type(statement, index) != SQLITE_NULL,
      let start = sqlite3_column_text(statement, index)
    else { return nil }
    let count = Int(sqlite3_column_bytes(statement, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func integer(_ index: Int) -> Int? {
    guard sqlite3_column_type(statement, Int32(index)) != SQLITE_NULL else { return nil }
    return Int(sqlite3_column_int64(statement, Int32(index)))
  }

  func real(_ index: Int) -> Double? {
    guard sqlite3_column_type(statement, Int32(index)) != SQLITE_NULL else { return nil }
    return sqlite3_column_double(statement, Int32(index))
  }

  /// Any value as JSON: text that is no UTF-8 and blobs are bytes; infinity, which JSON lacks, is
  /// `null`.
  func json(_ index: Int) -> JSONValue {
    let column = Int32(index)
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return JSONValue(Int(sqlite3_column_int64(statement, column)))
    case SQLITE_FLOAT: return JSONValue(sqlite3_column_double(statement, column))
    case SQLITE_TEXT:
      let start = sqlite3_column_text(statement, column)
      let count = Int(sqlite3_column_bytes(statement, column))
      let bytes = UnsafeBufferPointer(start: start, count: count)
      return String(validating: bytes, as: UTF8.self).map(JSONValue.string) ?? .bytes(Array(bytes))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(statement, column)
      let count = Int(sqlite3_column_bytes(statement, column))
      return .bytes(Array(UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }
}
