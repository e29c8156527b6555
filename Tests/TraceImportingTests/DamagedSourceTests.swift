import AgentTrace
import Foundation
import Testing
import TraceImporting

struct DamagedSourceTests {
  @Test(
    "a file that is no trace is reported with what is wrong and where, and writes no log",
    arguments: [
      ("", "not JSON: the text ends in the middle of a value at byte 0"),
      (#"[{"role":"user","content":NaN}]"#, "unexpected “N” at byte 26"),
      (#"[{"role":"user","n":-Infinity}]"#, "a number that JSON does not allow at byte 21"),
      (#"[{"role":"user","content":"hi"}"#, "the text ends in the middle of a value at byte 31"),
      (#"[{"role":"user","content":"hi"}] x"#, "more text behind the end of the value at byte 33"),
      ("{\"role\":\"user\"}\n{\"role\":", "line 2 is not JSON: the text ends"),
      (String(repeating: "[", count: 300), "nesting deeper than 100 at byte 100"),
      ("\u{1f}\u{8b}", "not JSON"),
      ("[]", "a run without messages"),
      ("{}", "in the shape of no known format"),
      ("17", "in the shape of no known format"),
      ("[17]", "in the shape of no known format"),
      (#"{"messages":[]}"#, "at /messages: a run without messages"),
      (#"{"simulations":[]}"#, "holds no runs"),
      (#"{"suite_name":"s","messages":[]}"#, "at /messages: a run without messages"),
      (#"{"suite_name":"s","messages":7}"#, "at /messages: expected a list, not number"),
      (#"[{"role":"user"},7]"#, "at /1: expected an object, not number"),
      (#"[{"role":"user"},{"role":7}]"#, "at /1: expected a message with a role"),
      (
        #"[{"role":"user"},{"a":1,"a":2}]"#,
        "at /1: expected an object in which each key stands once"
      ),
      (
        #"[{"role":"assistant","tool_calls":{"a":1}}]"#,
        "at /0/tool_calls: expected a list, not object"
      ),
      (
        #"[{"role":"assistant","tool_calls":["x"]}]"#,
        "at /0/tool_calls/0: expected an object, not string"
      ),
      (
        #"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use"}]}]"#,
        "at /1/content/0: expected messages of the chat interface; blocks of type tool_use"
      ),
    ])
  func damage(_ text: String, _ expected: String) throws {
    let file = try ImportedFile(text)
    #expect(file.errors.count == 1)
    #expect(file.errors.first?.contains(expected) == true, "\(file.errors)")
    #expect(file.logs.isEmpty)
    #expect(file.reports.first?.index == nil)
  }

  @Test("a compressed file is named as such")
  func compressed() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/run.json"
    try Data([0x1f, 0x8b, 0x08, 0x00]).write(to: URL(fileURLWithPath: path))
    #expect(try errors(folder, [path]).first?.contains("compressed files; unpack") == true)
  }

  @Test("a format that was named is not guessed", arguments: ImportFormat.allCases)
  func namedFormat(_ format: ImportFormat) throws {
    let file = try ImportedFile(#"{"something":"else"}"#, format: format)
    #expect(file.errors.first?.contains("expected") == true, "\(file.errors)")
  }

  @Test(
    "eval cases are no runs, though their input looks like a message; runs that name a case are",
    arguments: [
      (#"{"caseId":"a","input":"q","expected":{"toolsCalled":["f"]}}"#, true),
      (#"{"caseId":"a","input":"q","recording":"r.jsonl.gz"}"#, true),
      (#"{"caseId":"a","messages":[{"role":"user","content":"q"}]}"#, false),
    ])
  func cases(_ line: String, _ isCase: Bool) throws {
    let file = try ImportedFile(line, name: "lines.jsonl")
    #expect(file.logs.isEmpty == isCase)
    #expect(
      file.errors == (isCase ? ["eval cases, and no trace: `agent-eval run` takes them"] : []))
  }

  @Test("a damaged run of an array keeps its number, and the others go on")
  func damagedRun() throws {
    let file = try ImportedFile(
      #"""
      [{"task_id":0,"traj":[{"role":"user","content":"a"}]},
       {"task_id":1,"traj":[]},
       {"task_id":2,"traj":[{"role":"user"},{"content":"no role"}]},
       {"task_id":3,"traj":[{"role":"user","content":"d"}]}]
      """#)
    #expect(file.reports.map(\.index) == [0, 1, 2, 3])
    #expect(file.logs.count == 2)
    #expect(file.errors.count == 2)
    #expect(file.errors.last?.hasPrefix("at /2/traj/1: ") == true)
  }

  @Test("a file that cannot be imported does not keep the others from it")
  func otherFiles() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a.json", "{")
    try folder.write("in/b.json", #"[{"role":"user","content":"hi"}]"#)
    try folder.write("in/c/d.json", "[]")
    var lines: [JSONValue] = []
    try Importer(format: nil, output: "\(folder.path)/out")
      .run(paths: ["\(folder.path)/nothing", "\(folder.path)/in"]) { lines.append($0.json) }
    #expect(lines.map { $0["error"] == nil } == [false, false, true, false])
    #expect(folder.files(below: "out") == ["b.jsonl.gz"])
  }

  @Test("a folder without traces, a missing path and a folder with a trace's name are errors")
  func nothing() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/readme.md", "x")
    try folder.write("in/.hidden.json", "[]")
    try folder.write("odd/x.json/readme.md", "x")
    let paths = ["in", "odd", "missing"].map { "\(folder.path)/\($0)" }
    let errors = try errors(folder, paths)
    #expect(errors.count == 3)
    #expect(errors.first?.contains("no file below it ends in .json, .jsonl, .ndjson") == true)
    #expect(errors.last?.contains("No such file") == true)
  }

  @Test("a pipe with a trace's name is refused, not waited for")
  func pipe() throws {
    let folder = try TemporaryFolder()
    #expect(mkfifo("\(folder.path)/run.json", 0o600) == 0)
    #expect(try errors(folder, [folder.path]) == ["cannot be read: not a file"])
  }

  @Test(
    "a link that leads nowhere is reported, a file whose name is no UTF-8 is imported, and others go on"
  )
  func oddFiles() throws {
    let folder = try TemporaryFolder()
    let list = #"[{"role":"user","content":"hi"}]"#
    let good = try folder.write("good.json", list)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/dangling.json", withDestinationPath: "nowhere")
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/link.json", withDestinationPath: good)
    var name = Array("\(folder.path)/bad-".utf8CString.dropLast()) + [CChar(bitPattern: 0xff)]
    name += Array(".json".utf8CString)
    #expect(rename(try folder.write("x", list), name) == 0)
    var reports: [JSONValue] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: [folder.path]) {
      reports.append($0.json)
    }
    #expect(reports.map { $0["error"] == nil } == [true, false, true, true])
    #expect(reports[0]["log"]?.stringValue.map { access($0, F_OK) } != 0)
  }

  @Test("more messages than a run may have are an error, as many as it may have are not")
  func messageLimit() throws {
    func list(_ count: Int) -> String {
      "["
        + Array(repeating: #"{"role":"system","content":"x"}"#, count: count)
        .joined(separator: ",") + "]"
    }
    #expect(
      try ImportedFile(list(25_001)).errors == ["a run of more than 25000 messages; split it"])
    let file = try ImportedFile(list(25_000))
    #expect(file.reports.first?.json["messages"] == 25_000)
  }

  @Test("a text, an input and a result larger than a log's line holds are cut, and say so")
  func oversized() throws {
    let large = String(repeating: "x", count: 9 << 20)
    let file = try ImportedFile(
      """
      [{"role":"user","content":"\(large)"},
       {"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":"\(large)"}}}]},
       {"role":"tool","content":"\(large)"}]
      """)
    #expect(file.errors.isEmpty)
    #expect(file.data(.humanReplied).first?["text"]?.typeName == "cut")
    #expect(file.data(.modelResult).first?["reply"]?.typeName == "cut")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"]?.typeName == "cut")
    #expect(file.data(.toolResult).first?["data"]?.typeName == "cut")
  }

  private func errors(_ folder: TemporaryFolder, _ paths: [String]) throws -> [String] {
    var errors: [String] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: paths) {
      if let error = $0.json["error"]?.stringValue { errors.append(error) }
    }
    return errors
  }
}
