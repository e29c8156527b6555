import AgentTrace
import SQLite
import Testing
import TraceImporting

@Suite("The database in which opencode keeps its sessions")
struct OpenCodeDatabaseTests {
  /// The tables that hold what was said, as far as they are read.
  private static let tables = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
      time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
      time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    """

  /// Two sessions; the first calls a tool.
  private static let rows = """
    INSERT INTO message VALUES
      ('msg_2', 'ses_1', 2, 2, '{"role":"assistant","time":{"created":1760000001000},"modelID":"m","tokens":{"input":10,"output":2},"finish":"tool-calls"}'),
      ('msg_1', 'ses_1', 1, 1, '{"role":"user","time":{"created":1760000000000}}'),
      ('msg_3', 'ses_1', 3, 3, '{"role":"assistant","time":{"created":1760000002000},"modelID":"m","finish":"stop"}'),
      ('msg_4', 'ses_2', 1, 1, '{"role":"user","time":{"created":1760000000000}}');
    INSERT INTO part VALUES
      ('prt_1', 'msg_1', 'ses_1', 1, 1, '{"type":"text","text":"List it."}'),
      ('prt_2', 'msg_2', 'ses_1', 2, 2, '{"type":"step-start"}'),
      ('prt_3', 'msg_2', 'ses_1', 2, 2, '{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a"}}'),
      ('prt_4', 'msg_3', 'ses_1', 3, 3, '{"type":"text","text":"There is a."}'),
      ('prt_5', 'msg_4', 'ses_2', 1, 1, '{"type":"text","text":"And now?"}');
    """

  private static func write(_ script: String, to path: String) throws {
    let connection = try Connection(path: path, for: .writing, busySeconds: 0)
    try connection.execute(script, to: "make a database")
  }

  private static func imported(_ folder: TemporaryFolder) throws -> [ImportReport] {
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      reports.append($0)
    }
    return reports
  }

  @Test("each session is a run, and nothing is changed or made where it lies")
  func whole() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/notes.txt", "x")
    try Self.write(Self.tables + Self.rows, to: "\(folder.path)/in/opencode.db")
    let before = try folder.bytes("in/opencode.db")
    let reports = try Self.imported(folder)
    #expect(reports.map(\.format) == [.openCode, .openCode], "\(reports)")
    #expect(try folder.bytes("in/opencode.db") == before)
    #expect(folder.files(below: "in") == ["notes.txt", "opencode.db"])
    var logs: [[Event]] = []
    for case .imported(let log, _) in reports.map(\.outcome) {
      logs.append(try ImportedFile.events(of: log))
    }
    #expect(logs.count == 2)
    let events = logs.first ?? []
    let data = { (type: EventType) in events.filter { $0.type == type }.map(\.data) }
    #expect(data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(data(.decision).first?["calls"]?[0]?["input"] == ["command": "ls"])
    #expect(data(.toolResult).map { $0["data"] } == ["a"])
    #expect(data(.runStarted).first?["input"] == "List it.")
    #expect(data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a row that is no JSON, and a part without its message, are marked")
  func damaged() throws {
    for change in [
      "UPDATE part SET data = '{\"type\":\"tool\"' WHERE id = 'prt_3'",
      "DELETE FROM message WHERE id = 'msg_2'",
    ] {
      let folder = try TemporaryFolder()
      try folder.write("in/notes.txt", "x")
      try Self.write(
        Self.tables + Self.rows + "\n\(change);", to: "\(folder.path)/in/opencode.db")
      for case .imported(let log, _) in try Self.imported(folder).prefix(1).map(\.outcome) {
        let started = try ImportedFile.events(of: log).first { $0.type == .runStarted }
        #expect(started?.data["recorded"]?["calls"] == "partial", "\(change)")
      }
    }
  }

  @Test("one that was not written to its end, or that is another program's, is refused")
  func refused() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/opencode.db-wal", "")
    try Self.write("CREATE TABLE t (x);", to: "\(folder.path)/in/opencode.db")
    var errors = try Self.imported(folder).compactMap { $0.json["error"]?.stringValue }
    #expect(errors.count == 1 && errors[0].contains("a database of opencode"), "\(errors)")
    try folder.write("in/opencode.db-wal", "x")
    errors = try Self.imported(folder).compactMap { $0.json["error"]?.stringValue }
    #expect(errors.count == 1 && errors[0].contains("opencode.db-wal has the rest"), "\(errors)")
  }
}
