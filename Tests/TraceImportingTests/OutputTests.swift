import AgentTrace
import Foundation
import Testing

@testable import TraceImporting

struct OutputTests {
  private static let list = #"[{"role":"user","content":"hi"}]"#
  private static let array = #"[{"task_id":1,"traj":[{"role":"user","content":"hi"}]}]"#

  @Test(
    "a log is named after its file's path below the argument, without its ending",
    arguments: [
      ("run.json", "run.jsonl.gz", "run/0.jsonl.gz"),
      ("a/b/run.v1.json", "a/b/run.v1.jsonl.gz", "a/b/run.v1/0.jsonl.gz"),
      (
        "a/é\u{301}\n\u{1b}[2J.json", "a/é\u{301}\n\u{1b}[2J.jsonl.gz",
        "a/é\u{301}\n\u{1b}[2J/0.jsonl.gz"
      ),
      ("a/-rf .json", "a/-rf .jsonl.gz", "a/-rf /0.jsonl.gz"),
    ])
  func names(_ name: String, _ one: String, _ many: String) throws {
    for (text, log) in [(Self.list, one), (Self.array, many)] {
      let folder = try TemporaryFolder()
      try folder.write("in/\(name)", text)
      let reports = try run(folder, ["in"])
      #expect(folder.files(below: "out") == [log])
      #expect(reports.first?["source"]?.stringValue == "\(folder.path)/in/\(name)")
      #expect(reports.first?["log"]?.stringValue == "\(folder.path)/out/\(log)")
    }
  }

  @Test(
    "no name of a file leads out of the output folder",
    arguments: ["...json", "..json", ".json", "....json", "..", "a/..json"])
  func escapes(_ name: String) throws {
    let folder = try TemporaryFolder()
    // Named directly, as hidden files of a folder are passed over.
    let path = name == ".." ? "in/a/../x.json" : "in/\(name)"
    try folder.write("in/a/keep", "")
    try folder.write(path, Self.array)
    let before = folder.files()
    try run(folder, [path])
    let created = folder.files().filter { !before.contains($0) }
    #expect(created.count == 1)
    #expect(created.allSatisfy { $0.hasPrefix("out/") }, "\(created)")
  }

  @Test(
    "even a path that no file system gives stays below the output folder",
    arguments: ["../../x.json", "/etc/x.json", "a/../../x.json", "..", "/", "", "./..json"])
  func paths(_ path: String) {
    let log = OutputFolder(path: "out").log(ofFile: path, index: nil)
    #expect(log.hasPrefix("out/"))
    #expect(!log.split(separator: "/").contains(".."))
    #expect(log.hasSuffix(".jsonl.gz"))
  }

  @Test("a run that a log cannot hold leaves nothing behind")
  func tooLargeForALine() throws {
    let folder = try TemporaryFolder()
    // Each input is below the limit of a value; together they are beyond that of a line.
    let call = { (index: Int) in
      let text = "\(index)" + String(repeating: "x", count: 1_000_000)
      return #"{"function":{"name":"f","arguments":{"a":"\#(text)"}}}"#
    }
    let calls = (0..<10).map(call).joined(separator: ",")
    try folder.write("in/run.json", #"[{"role":"assistant","tool_calls":[\#(calls)]}]"#)
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("cannot be written") == true)
    #expect(folder.files(below: "out").isEmpty)
  }

  @Test("a log that another writer left open is kept")
  func leftOpen() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    try folder.write("out/run.jsonl.gz.open", "x")
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("cannot be written") == true)
    #expect(folder.files(below: "out") == ["run.jsonl.gz.open"])
  }

  @Test("a link below the output folder is not followed")
  func links() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a/run.json", Self.list)
    try folder.write("elsewhere/keep", "")
    try folder.write("out/keep", "")
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/out/a", withDestinationPath: "\(folder.path)/elsewhere")
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("is there and is no folder") == true)
    #expect(folder.files(below: "elsewhere") == ["keep"])
  }

  @Test("importing again leaves the same log as it is, in the same folder and in another")
  func twice() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    let first = try run(folder, ["in"])
    let bytes = try folder.bytes("out/run.jsonl.gz")
    #expect(try run(folder, ["in"]) == first)
    #expect(try folder.bytes("out/run.jsonl.gz") == bytes)
    try run(folder, ["in"], output: "other")
    #expect(try folder.bytes("other/run.jsonl.gz") == bytes)
  }

  @Test(
    "a log that holds something else is kept, and the error says so",
    arguments: [
      #"[{"role":"user","content":"other"}]"#,
      #"[{"role":"user","content":"hi"},{"role":"user","content":"more"}]"#,
    ])
  func differs(_ other: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    try run(folder, ["in"])
    let bytes = try folder.bytes("out/run.jsonl.gz")
    try folder.write("in/run.json", other)
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("holds something else") == true)
    #expect(try folder.bytes("out/run.jsonl.gz") == bytes)
  }

  @Test("what is no log, or one cut short, is kept too", arguments: [0, 10, -1])
  func notALog(cutAt count: Int) throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    try run(folder, ["in"])
    let bytes = try folder.bytes("out/run.jsonl.gz")
    let cut = count < 0 ? bytes.dropLast() : bytes.prefix(count)
    try Data(cut).write(to: URL(fileURLWithPath: "\(folder.path)/out/run.jsonl.gz"))
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("holds something else") == true)
    #expect(try folder.bytes("out/run.jsonl.gz") == Data(cut))
  }

  @Test(
    "two files that would have one log: in a later call the second is refused, and the first is kept"
  )
  func collision() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    try folder.write("other/run.json", #"[{"role":"user","content":"else"}]"#)
    let reports = try run(folder, ["in"])
    let log = try folder.bytes("out/run.jsonl.gz")
    let later = try run(folder, ["other"])
    #expect((reports + later).map { $0["error"] == nil } == [true, false])
    #expect(try folder.bytes("out/run.jsonl.gz") == log)
  }

  @Test("an output folder that is a file is an error")
  func outputIsFile() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.list)
    try folder.write("out", "x")
    let reports = try run(folder, ["in"])
    #expect(reports.first?["error"]?.stringValue?.contains("cannot be written") == true)
  }

  @Test("files come in the order of their paths' UTF-8, arguments in the order they were named")
  func order() throws {
    let folder = try TemporaryFolder()
    for name in ["b/z", "b.a", "B", "é", "a/10", "a/9", "f", "e\u{301}", "\u{10000}", "\u{ff5e}"] {
      try folder.write("in/\(name).json", Self.list)
    }
    try folder.write("first.json", Self.list)
    let reports = try run(folder, ["in", "first.json"])
    #expect(
      reports.compactMap { $0["log"]?.stringValue?.dropFirst("\(folder.path)/out/".count) } == [
        "B.jsonl.gz", "a/10.jsonl.gz", "a/9.jsonl.gz", "b.a.jsonl.gz", "b/z.jsonl.gz",
        "e\u{301}.jsonl.gz", "f.jsonl.gz",
        "é.jsonl.gz", "\u{ff5e}.jsonl.gz", "\u{10000}.jsonl.gz", "first.jsonl.gz",
      ])
  }

  @Test(
    "sources of one name that are named in one call have logs in places of their own, in whatever order they are named",
    arguments: [
      (["a/t.json", "b/t.json"], ["a/t.json", "b/t.json"], ["a/t", "b/t"]),
      (["x/a/t.json", "y/a/t.json"], ["x/a/t.json", "y/a/t.json"], ["x/a/t", "y/a/t"]),
      (["a/in/t.json", "b/in/t.json"], ["a", "b"], ["a/in/t", "b/in/t"]),
      (["a/t.json", "a/t.traj"], ["a"], ["t.json", "t.traj"]),
      (["a/t.json", "a/u.json", "b/t.json"], ["a", "b"], ["a/t", "b/t", "u"]),
      (["a/t.json"], ["a/t.json", "a/t.json", "a"], ["t"]),
    ])
  func ownPlaces(_ files: [String], _ paths: [String], _ logs: [String]) throws {
    let folder = try TemporaryFolder()
    for (index, file) in files.enumerated() {
      let content = #"[{"role":"user","content":"\#(index)"},{"role":"assistant","content":"ok"}]"#
      try folder.write("in/\(file)", content)
    }
    let named = paths.map { "in/\($0)" }
    for named in [named, named.reversed(), named] {
      let reports = try run(folder, named)
      #expect(reports.allSatisfy { $0["error"] == nil }, "\(reports)")
      let places = Set(reports.compactMap { $0["log"]?.stringValue })
      #expect(places.sorted() == logs.map { "\(folder.path)/out/\($0).jsonl.gz" }.sorted())
    }
  }

  @Test("a report is the line that is printed: every count, or the error")
  func lines() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/run.json", Self.array)
    let reports = try run(folder, ["in"])
    #expect(
      reports == [
        [
          "source": .string("\(folder.path)/in/run.json"), "index": 0,
          "log": .string("\(folder.path)/out/run/0.jsonl.gz"), "messages": 1, "toolCalls": 0,
          "userToolCalls": 0, "parallelTurns": 0, "toolErrors": 0,
          "stopReason": "budget_exhausted",
        ]
      ])
    try folder.write("in/run.json", "[")
    let failed = try run(folder, ["in"])
    #expect(failed.first?.objectValue?.keys == ["error", "index", "source"])
    #expect(failed.first?["index"] == .null)
  }

  @discardableResult
  private func run(
    _ folder: TemporaryFolder, _ paths: [String], output: String = "out"
  ) throws -> [JSONValue] {
    var lines: [JSONValue] = []
    try Importer(format: nil, output: "\(folder.path)/\(output)")
      .run(paths: paths.map { "\(folder.path)/\($0)" }) { lines.append($0.json) }
    return lines
  }
}
