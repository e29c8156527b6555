import CSQLite
import Glibc
import SQLite
import Synchronization
import TestSupport
import Testing

/// A connection to a file of a folder.
func connect(
  _ folder: TemporaryFolder, _ name: String = "a.sqlite", for access: Connection.Access = .writing,
  busySeconds: Double = 0
) throws -> Connection {
  try Connection(path: folder.path(name), for: access, busySeconds: busySeconds)
}

/// A connection to a table `t` of one column `x`, in memory.
func table(_ column: String = "x") throws -> Connection {
  let connection = try Connection(path: nil, for: .writing, busySeconds: 0)
  try connection.execute("CREATE TABLE t (\(column))", to: "make a table")
  return connection
}

extension Connection {
  /// How many rows `t` has.
  func rowCount() throws -> Int? { try value("SELECT count(*) FROM t", to: "count")?.integer }
  /// Puts a row into `t`.
  func insert(_ values: [Value]) throws {
    let marks = Array(repeating: "?", count: values.count).joined(separator: ",")
    try Statement(self, "INSERT INTO t VALUES (\(marks))", to: "insert").run(values)
  }
}

private struct Mishap: Error {}

@Suite("A connection to a database")
struct ConnectionTests {
  // MARK: Opening

  @Test("makes a file for writing, and none for reading")
  func making() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: SQLiteError.self) { try connect(folder, for: .reading) }
    #expect(error?.primaryCode == SQLITE_CANTOPEN)
    #expect(error?.description == "cannot open it: unable to open database file")
    #expect(folder.listing.isEmpty)
    try connect(folder).execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)", to: "make it")
    let bytes = try folder.read("a.sqlite")
    let reading = try connect(folder, for: .reading)
    #expect(try reading.rowCount() == 1)
    #expect(try reading.read { try $0.rowCount() } == 1)
    for work in [{ try reading.insert([.null]) }, { try reading.write { try $0.insert([.null]) } }]
    {
      #expect(#expect(throws: SQLiteError.self) { try work() }?.primaryCode == SQLITE_READONLY)
    }
    #expect(try folder.read("a.sqlite") == bytes)
  }

  @Test(
    "cannot be made to a folder, nor to a name with a NUL, which is not taken for its beginning")
  func names() throws {
    let folder = try TemporaryFolder()
    try folder.write("b.sqlite/x", "")
    for name in ["b.sqlite", "c\u{0}.sqlite"] {
      let error = #expect(throws: SQLiteError.self) { try connect(folder, name) }
      #expect(error?.primaryCode == SQLITE_CANTOPEN, "\(name)")
    }
    #expect(folder.listing == ["b.sqlite", "b.sqlite/x"])
  }

  @Test("says of a file that is no database what it is, with the first look into it")
  func noDatabase() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.sqlite", String(repeating: "no database ", count: 100))
    let connection = try connect(folder)
    let error = #expect(throws: SQLiteError.self) { try connection.rowCount() }
    #expect(error?.primaryCode == SQLITE_NOTADB)
    #expect(error?.description == "cannot count: file is not a database")
  }

  /// The descriptors of this process that lead to a file.
  private static func descriptors(of path: String) -> Int {
    (0..<1024).count { number in
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlink("/proc/self/fd/\(number)", &target, target.count)
      return count > 0
        && String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
          == path
    }
  }

  @Test("is closed when the last of it and of its statements is gone, and not before")
  func closing() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.sqlite")
    var connection: Connection? = try connect(folder)
    try connection?.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)", to: "make it")
    var statement = try connection.map { try Statement($0, "SELECT x FROM t", to: "read") }
    connection = nil
    #expect(Self.descriptors(of: path) == 1)
    var sum = 0
    try statement?.rows([]) { row in
      sum += row.integer(0) ?? 0
      return true
    }
    #expect(sum == 3)
    statement = nil
    #expect(Self.descriptors(of: path) == 0)
    // Not even where it could not be used.
    try folder.write("a.sqlite", "noise")
    for _ in 0..<50 {
      _ = try? connect(folder).rowCount()
      _ = try? connect(folder, "none", for: .reading)
    }
    #expect(Self.descriptors(of: path) == 0)
  }

  // MARK: Transactions

  @Test("writes all of a transaction or nothing of it")
  func wholeOrNothing() throws {
    let connection = try table("x INTEGER UNIQUE")
    #expect(throws: Mishap.self) {
      try connection.write {
        try $0.insert([.integer(1)])
        throw Mishap()
      }
    }
    #expect(try connection.rowCount() == 0 && !connection.isInTransaction)
    // An error that is passed over undoes its statement alone.
    try connection.write {
      try $0.insert([.integer(1)])
      try? $0.insert([.integer(1)])
      try $0.insert([.integer(2)])
    }
    #expect(try connection.rowCount() == 2)
    // Unless it ended the transaction: then nobody is told that it was done.
    let error = #expect(throws: SQLiteError.self) {
      try connection.write {
        try $0.insert([.integer(3)])
        try? $0.execute("INSERT OR ROLLBACK INTO t VALUES (1)", to: "fail")
      }
    }
    #expect(error?.code == SQLITE_ABORT)
    #expect(try connection.rowCount() == 2 && !connection.isInTransaction)
    // One within another is part of it.
    #expect(throws: Mishap.self) {
      try connection.write { outer in
        try outer.write { try $0.insert([.integer(4)]) }
        #expect(try outer.read { try $0.rowCount() } == 3)
        throw Mishap()
      }
    }
    #expect(try connection.rowCount() == 2)
  }

  @Test("writes nothing while it reads, and can write again afterwards, however that ended")
  func reading() throws {
    let connection = try table()
    for fails in [false, true] {
      let works = [
        { (body: () throws -> Void) throws in try connection.read { _ in try body() } },
        { (body: () throws -> Void) throws in try connection.readingOnly { try body() } },
      ]
      for work in works {
        try? work {
          let error = #expect(throws: SQLiteError.self) { try connection.insert([.null]) }
          #expect(error?.primaryCode == SQLITE_READONLY)
          try connection.readingOnly {}
          #expect(throws: SQLiteError.self) { try connection.insert([.null]) }
          if fails { throw Mishap() }
        }
        #expect(try connection.rowCount() == 0)
        #expect(!connection.isInTransaction)
        try connection.insert([.null])
        try connection.execute("DELETE FROM t", to: "begin again")
      }
    }
  }

  @Test("sees one state of the database while it reads, whatever others write")
  func isolation() throws {
    let folder = try TemporaryFolder()
    let writer = try connect(folder)
    try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)", to: "make it")
    let reader = try connect(folder)
    try reader.read {
      #expect(try $0.rowCount() == 0)
      try writer.insert([.integer(1)])
      #expect(try $0.rowCount() == 0)
    }
    #expect(try reader.rowCount() == 1)
  }

  @Test("undoes what a process that died left half done")
  func hotJournal() throws {
    let folder = try TemporaryFolder()
    do {
      let connection = try connect(folder)
      try connection.execute("CREATE TABLE t (x)", to: "make it")
      try connection.write { for _ in 0..<2_000 { try $0.insert([.text("as it was")]) } }
      try connection.execute(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE t SET x = 'changed'", to: "change half")
      for name in ["a.sqlite", "a.sqlite-journal"] {
        try folder.write("b\(name)", folder.read(name))
      }
      try connection.execute("ROLLBACK", to: "end")
    }
    #expect(try folder.read("ba.sqlite") != folder.read("a.sqlite"))
    let left = try connect(folder, "ba.sqlite")
    #expect(
      try left.value("SELECT count(*) FROM t WHERE x = 'as it was'", to: "count")
        == .integer(2_000))
  }

  // MARK: Waiting for others

  @Test(
    "waits for another that writes as long as it is told, and then says so", arguments: [0, 0.3])
  func busy(seconds: Double) throws {
    let folder = try TemporaryFolder()
    let first = try connect(folder)
    try first.execute("CREATE TABLE t (x)", to: "make it")
    let second = try connect(folder, busySeconds: seconds)
    try first.write { _ in
      let clock = ContinuousClock()
      var error: SQLiteError?
      let time = clock.measure {
        error = #expect(throws: SQLiteError.self) {
          try second.write { _ in Issue.record("it got in") }
        }
      }
      #expect(error?.isBusy == true && error?.purpose == "begin a transaction")
      #expect(time >= .seconds(seconds * 0.9))
      #expect(!second.isInTransaction)
      // Reading goes on beside a writer that has not begun to change the file.
      let count = try second.read { try $0.rowCount() }
      #expect(count == 0)
    }
    try second.write { try $0.insert([.null]) }
  }

  @Test("gets its turn when the other has ended in time, and no row of several writers is lost")
  func turns() async throws {
    let folder = try TemporaryFolder()
    try connect(folder).execute("CREATE TABLE t (x)", to: "make it")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          let connection = try connect(folder, busySeconds: 60)
          for number in 0..<20 {
            try connection.write { try $0.insert([.integer(writer * 100 + number)]) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try connect(folder).rowCount() == 60)
  }

  @Test("may be shared in a lock")
  func shared() async throws {
    final class Shared: Sendable {
      let connection: Mutex<Connection>
      init(_ connection: sending Connection) { self.connection = Mutex(connection) }
    }
    let shared = Shared(try table())
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { shared.connection.withLock { try? $0.insert([.integer(number)]) } }
      }
    }
    #expect(try shared.connection.withLock { try $0.rowCount() } == 50)
  }

  // MARK: Limits

  @Test("keeps statements of others to limits, and has its own again afterwards")
  func limits() throws {
    let connection = try table()
    let limits = ReadingLimits(valueBytes: 1_000, heapBytes: 256 << 20, seconds: 0.2)
    let endless =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    for (sql, code) in [
      ("SELECT zeroblob(2000)", SQLITE_TOOBIG), (endless, SQLITE_INTERRUPT),
      ("DELETE FROM t", SQLITE_AUTH), ("PRAGMA query_only", SQLITE_AUTH),
      ("ATTACH '' AS b", SQLITE_AUTH), ("SELECT load_extension('x')", SQLITE_ERROR),
      ("SELECT " + String(repeating: "(", count: 200) + "1", SQLITE_ERROR),
    ] {
      let error = #expect(throws: SQLiteError.self) {
        try connection.limited(to: limits) { _ in _ = try connection.value(sql, to: "try") }
      }
      #expect(error?.primaryCode == code, "\(sql)")
    }
    #expect(try connection.value("SELECT length(zeroblob(2000))", to: "try") == .integer(2_000))
    try connection.execute("ATTACH '' AS b; DETACH b; DELETE FROM t", to: "do as before")
  }
}
