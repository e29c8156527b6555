import AgentTrace
import Foundation
import SQLite
import TestSupport
import Testing

@testable import TraceIndexing

@Suite("A statement put to an index")
struct QueryTests {
  @Test(
    "can only read",
    arguments: [
      "DELETE FROM runs", "INSERT INTO tags VALUES ('a', 'b')", "UPDATE runs SET goal = 'x'",
      "DROP TABLE runs", "CREATE TABLE t (x)", "CREATE TEMP TABLE t AS SELECT 1",
      "ATTACH 'FOLDER/other.db' AS other", "DETACH main", "VACUUM", "VACUUM INTO 'FOLDER/other.db'",
      "PRAGMA query_only = OFF", "PRAGMA journal_mode = WAL",
      "SELECT * FROM pragma_table_info('runs')",
      "BEGIN", "COMMIT", "SAVEPOINT s", "REINDEX", "ANALYZE", "SELECT load_extension('x')",
      "WITH x AS (SELECT 1) DELETE FROM runs", "REPLACE INTO tags VALUES ('a', 'b')",
      "EXPLAIN DELETE FROM runs", "CREATE VIRTUAL TABLE v USING fts5(x)",
      "INSERT INTO tags VALUES ('a', 'b') RETURNING tag",
    ])
  func readOnly(_ statement: String) throws {
    let folder = try IndexFileTests.folder()
    let (index, _) = try refreshed(folder)
    let rows = try index.dump()
    let statement = statement.replacingOccurrences(of: "FOLDER", with: folder.path)
    #expect(throws: IndexError.self) { try index.rows(statement) }
    #expect(try index.dump() == rows)
    #expect(!folder.listing.contains("other.db"))
    // The index can be written to again afterwards.
    try writeLog(.everything(77), "77.jsonl.gz", in: folder)
    #expect(try refreshed(folder).report.read == 1)
  }

  @Test(
    "is one statement, and one that SQLite understands",
    arguments: [
      ("", .notOneStatement), (" -- nothing", .notOneStatement),
      ("SELECT 1; SELECT 2", .notOneStatement), ("SELECT 1; DELETE FROM runs", .notOneStatement),
      ("SELECT 1;; nonsense", .notOneStatement),
      ("SELECT 1\u{0}; DELETE FROM runs", .notOneStatement),
      ("SELECT nope", .badStatement("no such column: nope")),
      ("SELECT \"quoted\" FROM runs", .badStatement("no such column: quoted")),
      ("SELECT ", .badStatement("incomplete input")),
    ] as [(String, IndexError.Code)])
  func oneStatement(_ statement: String, _ code: IndexError.Code) throws {
    let (index, _) = try refreshed(try IndexFileTests.folder(logs: 1))
    #expect(#expect(throws: IndexError.self) { try index.rows(statement) }?.code == code)
  }

  @Test("ends where it takes too long", .timeLimit(.minutes(1)))
  func time() throws {
    let (index, _) = try refreshed(try IndexFileTests.folder(logs: 1))
    let query = RunQuery(
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
      limitSeconds: 0.2)
    let error = #expect(throws: IndexError.self) {
      try index.run(query, columns: { _ in }, row: { _ in })
    }
    #expect(error?.code == .tookTooLong(seconds: 0.2))
    #expect(try index.value("SELECT count(*) FROM runs") == 1)
  }

  @Test(
    "ends where it needs too much memory",
    arguments: [
      "SELECT zeroblob(1000000000)",
      "SELECT hex(hex(hex(hex(zeroblob(10000000)))))",
      """
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000)
      SELECT group_concat(zeroblob(10000)) FROM n
      """,
    ])
  func memory(_ statement: String) throws {
    let (index, _) = try refreshed(try IndexFileTests.folder(logs: 1))
    #expect(#expect(throws: IndexError.self) { try index.rows(statement) }?.code == .tooLarge)
    #expect(try index.value("SELECT count(*) FROM runs") == 1)
  }

  @Test("shows as many rows as it may, and says that there are more", arguments: 0...4)
  func rows(limit: Int) throws {
    let (index, _) = try refreshed(try IndexFileTests.folder(logs: 3))
    var shown = 0
    let ending = try index.run(
      RunQuery("SELECT path FROM runs", limitRows: limit), columns: { #expect($0 == ["path"]) },
      row: { _ in shown += 1 })
    #expect(shown == min(limit, 3))
    #expect(ending == (limit < 3 ? .cut : .complete))
  }

  @Test("gives every kind of value as JSON")
  func values() throws {
    let (index, _) = try refreshed(try IndexFileTests.folder(logs: 1))
    #expect(
      try index.rows(
        "SELECT 1, 2.5, 'a', NULL, x'00ff', 9e999, cast(x'ff' AS TEXT), 9223372036854775807")
        == [[1, 2.5, "a", .null, .bytes([0, 255]), .null, .bytes([255]), JSONValue(Int.max)]])
  }

  @Test("works on an index in memory too, and cannot write to that either")
  func inMemory() throws {
    let folder = try IndexFileTests.folder()
    let kept = try refreshed(folder).index.dump()
    var index = try RunIndex(inMemoryFor: folder.path)
    _ = try index.refresh()
    #expect(try index.dump() == kept)
    #expect(throws: IndexError.self) { try index.rows("DELETE FROM runs") }
    #expect(try index.dump() == kept)
  }

  @Test("prints tables and JSON, and exits with 2 where rows are left out or it is wrong")
  func command() async throws {
    let folder = try IndexFileTests.folder()
    let sql = "SELECT caseId, 1 AS n, 2 AS n FROM runs ORDER BY 1"
    #expect(
      try await Binary.run(["query", folder.path, sql]).output == """
        caseId  n  n
        case-0  1  2
        case-1  1  2
        case-2  1  2

        """)
    #expect(
      try await Binary.run(["query", folder.path, sql, "--json", "--limit", "1"], status: 2).output
        == "{\"caseId\":\"case-0\",\"n\":1,\"n:2\":2}\n")
    let wrong = try await Binary.run(["query", folder.path, "SELECT x FROM runs"], status: 2)
    #expect(wrong.errors.contains("no such column: x"))
    #expect(wrong.output.isEmpty)
    // What the message says to ask shows the columns, also where nobody has the documents.
    let tables = "SELECT sql FROM sqlite_schema"
    #expect(wrong.errors.contains(tables))
    let shown = try await Binary.run(["query", folder.path, tables, "--json"])
    #expect(shown.output.contains("CREATE TABLE runs") && shown.output.contains("stopReason"))
    try await Binary.run(["query", folder.path], status: 64)
    try await Binary.run(["query", folder.path, "SELECT 1", "--timeout", "0"], status: 64)
  }

  @Test("ends within its time although one function goes on")
  func longFunction() async throws {
    let folder = try IndexFileTests.folder(logs: 1)
    let begun = ContinuousClock.now
    let outcome = try await Binary.run(
      ["query", folder.path, "SELECT length(printf('%.*c', 2000000000, 'x'))", "--timeout", "0.5"],
      status: 2)
    #expect(outcome.errors.contains("the statement took longer than 0.5 s"))
    #expect(begun.duration(to: .now) < .seconds(15))
  }

  @Test("finds the tables as the document shows them")
  func document() throws {
    let document = try Project.text("Docs/finding-runs.md")
    for statement in IndexSchema.statements { #expect(document.contains(statement + ";")) }
    let connection = try refreshed(try IndexFileTests.folder(logs: 1)).index.connection
    let columns = try Statement(connection, "SELECT * FROM runs", to: "see its columns").columns
    #expect(columns == IndexSchema.runColumns)
  }
}
