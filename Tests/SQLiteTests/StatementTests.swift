import CSQLite
import SQLite
import TestSupport
import Testing

@Suite("A statement")
struct StatementTests {
  static let values: [Value] = [
    .null, .integer(0), .integer(-1), .integer(.min), .integer(.max), .integer(1 << 40),
    .real(0.1), .real(-0.5), .real(1e300), .real(.infinity), .text(""), .text("a"), .text("a\u{0}"),
    .text("a\u{0}b"), .text("\u{0}"), .text("é"), .text("e\u{301}"), .text("👩‍👩‍👧"), .text("1"),
    .text(String(repeating: "x", count: 100_000)), .blob([]), .blob([0]), .blob([0x61]),
    .blob([0xff, 0xfe, 0]), .blob(Array(repeating: 7, count: 70_000)),
  ]

  /// Whether two values are the same: text by its bytes.
  static func areSame(_ left: Value?, _ right: Value) -> Bool {
    guard case .text(let left) = left, case .text(let right) = right else { return left == right }
    return Array(left.utf8) == Array(right.utf8)
  }

  @Test("stores every value as what it is, and gives it back", arguments: values)
  func everyValue(value: Value) throws {
    let connection = try table()
    try connection.insert([value])
    let statement = try Statement(connection, "SELECT x, typeof(x) FROM t", to: "read")
    var rows = 0
    try statement.rows([]) { row in
      rows += 1
      #expect(Self.areSame(row.value(0), value))
      let type =
        switch value {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
      #expect(row.text(1) == type)
      // Each value is read as what it is, never turned into something else.
      #expect(row.integer(0) == value.integer)
      #expect((row.text(0) == nil) == (value.text == nil))
      #expect((row.real(0) == nil) == !["real", "integer"].contains(type))
      return true
    }
    #expect(rows == 1)
  }

  @Test("finds a value by itself and by no other, also where they differ only behind a NUL")
  func equality() throws {
    let connection = try table()
    for (number, value) in Self.values.enumerated() where value != .null {
      try connection.execute("DELETE FROM t", to: "begin again")
      try connection.insert([value])
      let find = try Statement(connection, "SELECT count(*) FROM t WHERE x = ?", to: "find")
      for (other, asked) in Self.values.enumerated() {
        var count: Int?
        try find.rows([asked]) { row in
          count = row.integer(0)
          return false
        }
        #expect(count == (other == number ? 1 : 0), "\(number) \(other)")
      }
    }
  }

  @Test("stores what is no number as NULL, as SQLite does")
  func notANumber() throws {
    let connection = try table()
    try connection.insert([.real(.nan)])
    #expect(try connection.value("SELECT x FROM t", to: "read") == .null)
    #expect(Value(nil as Int?) == .null && Value(nil as String?) == .null)
    #expect(Value(nil as Double?) == .null)
  }

  @Test("gives text that is no UTF-8 as its bytes, or repaired where text is asked for")
  func badText() throws {
    let connection = try table()
    try connection.execute("INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT))", to: "insert")
    try Statement(connection, "SELECT x FROM t", to: "read").rows([]) { row in
      #expect(row.value(0) == .blob([0x61, 0xff, 0x62]))
      #expect(row.text(0) == "a\u{fffd}b")
      return true
    }
  }

  @Test("has nothing in a column that is not there")
  func noColumn() throws {
    let connection = try table()
    try Statement(connection, "SELECT 1, 'a'", to: "read").rows([]) { row in
      #expect(row.count == 2)
      for index in [-1, 2, 3, Int(Int32.max), .max, .min] {
        #expect(row.integer(index) == nil && row.text(index) == nil && row.real(index) == nil)
        #expect(row.value(index) == .null)
      }
      return true
    }
    #expect(try Statement(connection, "SELECT 1 AS a, 2 AS a", to: "read").columns == ["a", "a"])
    #expect(try connection.value("SELECT 1 WHERE 0", to: "read") == nil)
  }

  @Test("is refused with more or fewer values than it asks for, and has none of those before")
  func valueCount() throws {
    let connection = try table()
    let statement = try Statement(connection, "INSERT INTO t VALUES (?1 || ?2 || ?1)", to: "insert")
    for values in [[], [Value.null], Array(repeating: Value.null, count: 3)] {
      let error = #expect(throws: SQLiteError.self) { try statement.run(values) }
      #expect(error?.description == "cannot insert: \(values.count) values for 2")
    }
    #expect(try connection.rowCount() == 0)
    try statement.run([.text("a"), .text("b")])
    #expect(try connection.value("SELECT x FROM t", to: "read") == .text("aba"))
  }

  @Test("may be run again after every end, but not while it is run")
  func again() throws {
    struct Mishap: Error {}
    let connection = try table("x INTEGER UNIQUE")
    for number in 0..<3 { try connection.insert([.integer(number)]) }
    let statement = try Statement(connection, "SELECT x FROM t ORDER BY x", to: "read")
    for _ in 0..<3 {
      #expect(throws: Mishap.self) { try statement.rows([]) { _ in throw Mishap() } }
      try statement.rows([]) { _ in false }
      var seen: [Int?] = []
      try statement.rows([]) { row in
        seen.append(row.integer(0))
        #expect(#expect(throws: SQLiteError.self) { try statement.run([]) }?.code == SQLITE_MISUSE)
        return true
      }
      #expect(seen == [0, 1, 2])
    }
    let insertion = try Statement(connection, "INSERT INTO t VALUES (?)", to: "insert")
    let error = #expect(throws: SQLiteError.self) { try insertion.run([.integer(1)]) }
    // The code is the precise one.
    #expect(error?.primaryCode == SQLITE_CONSTRAINT && error?.code == SQLITE_CONSTRAINT | 8 << 8)
    #expect(error?.description == "cannot insert: UNIQUE constraint failed: t.x")
    try insertion.run([.integer(7)])
    #expect(try connection.rowCount() == 4)
  }

  @Test("is one, and says what is wrong with it and what it was for")
  func notOne() throws {
    let connection = try table()
    for sql in [
      "", " -- nothing", "SELECT 1; SELECT 2", "SELECT 1;; nonsense", "SELECT 1\u{0}", "/* */ ;",
    ] {
      let error = #expect(throws: SQLiteError.self) { try Statement(connection, sql, to: "ask") }
      #expect(error?.code == SQLITE_MISUSE, "\(sql)")
      #expect(error?.description == "cannot ask: not exactly one statement")
    }
    for sql in ["SELECT 1;", "SELECT 1; -- and no more", " SELECT 1 ; ; "] {
      #expect(try connection.value(sql, to: "ask") == .integer(1), "\(sql)")
    }
    for (sql, message) in [
      ("SELECT nope FROM t", "no such column: nope"), ("SELECT", "incomplete input"),
      ("SELECT \"nope\" FROM t", "no such column: nope"),
      ("SELECT * FROM nope", "no such table: nope"),
    ] {
      let error = #expect(throws: SQLiteError.self) { try Statement(connection, sql, to: "ask") }
      #expect(error == SQLiteError(code: SQLITE_ERROR, message: message, purpose: "ask"))
    }
    let error = #expect(throws: SQLiteError.self) {
      try connection.execute("SELECT 1\u{0}; DELETE FROM t", to: "ask")
    }
    #expect(error?.code == SQLITE_MISUSE)
    #expect(try Statement(connection, "SELECT 1", to: "ask").isReadOnly)
    #expect(try !Statement(connection, "DELETE FROM t", to: "ask").isReadOnly)
  }
}
