import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceJudging

/// A line that expects word for word what the line before it does is read without being parsed. A blank more
/// in the line before makes the plain way read it.
@Suite("Cases on lines, read without being parsed")
struct PlainCaseLineTests {
  private static let expected =
    #"{"toolsCalled": ["a", {"tool": "b}\u0041"}], "stopReason": "success"}"#

  private struct Loaded: Equatable {
    var cases: [String]
    var expected: [Expectations]
    var diagnostics: [String]
  }

  private static func load(
    _ line: [UInt8], behind expected: String, in folder: TemporaryFolder,
    areRunsElsewhere: Bool = false
  ) throws -> Loaded {
    let first = #"{"caseId": "first", "recording": "r", "expected": \#(expected)}"#
    try folder.write("cases.jsonl", Array((first + "\n").utf8) + line + Array("\n".utf8))
    let result = CaseLoader.load(
      [folder.path("cases.jsonl")], areRunsElsewhere: areRunsElsewhere)
    return Loaded(
      cases: result.cases.map {
        var copy = $0
        copy.expected = Expectations()
        return "\(copy)"
      },
      expected: result.cases.map(\.expected),
      diagnostics: result.diagnostics.map(\.description))
  }

  private static func same(
    _ line: [UInt8], in folder: TemporaryFolder, areRunsElsewhere: Bool = false
  ) throws -> (isSame: Bool, loaded: Loaded) {
    let fast = try load(line, behind: expected, in: folder, areRunsElsewhere: areRunsElsewhere)
    let plain = try load(
      line, behind: " " + expected.replacing(": ", with: ":  "), in: folder,
      areRunsElsewhere: areRunsElsewhere)
    return (fast == plain, fast)
  }

  @Test(
    "mistakes and strange forms are told, or read, as the plain way does",
    arguments: [
      #"{"caseId": "first", "recording": "r", "expected": E}"#,
      #"{"caseId": "", "recording": "r", "expected": E}"#,
      #"{"caseId": "a", "caseId": "b", "recording": "r", "expected": E}"#,
      #"{"caseId": "a", "recording": "", "expected": E}"#,
      #"{"caseId": "a", "recording": "../x/../r", "expected": E}"#,
      #"{"caseId": "a", "recording": "/tmp/../r", "expected": E}"#,
      #"{"caseId": "a", "recording": 7, "expected": E}"#,
      #"{"caseId": "a", "expected": E}"#,
      #"{"caseId": "a", "input": "", "expected": E}"#,
      #"{"caseId": "a", "input": "go", "expected": E}"#,
      #"{"caseId": "a", "input": "a\tb", "recording": "r", "expected": E}"#,
      #"{"caseId": "ä\u007f", "recording": "r", "expected": E}"#,
      "{\"caseId\": \"\u{7f}\", \"recording\": \"r\", \"expected\": E}",
      "{\"caseId\": \"a\u{1}\", \"recording\": \"r\", \"expected\": E}",
      "{\"caseId\": \"\u{e9}\u{2028}\u{1f600}\", \"recording\": \"r\u{301}\", \"expected\": E}",
      #"{"caseId": "a", "recording": "r", "expected": E, "tags": ["x"]}"#,
      #"{"caseId": "a", "recording": "r", "expected": E} x"#,
      #"{"caseId": "a", "recording": "r", "expected": E}}"#,
      #"{"caseId": "a", "recording": "r", "expected": E,}"#,
      #"{"caseId": "a", "recording": "r", "expected": E"#,
      #"{"caseId": "a" "recording": "r", "expected": E}"#,
      #"{"caseId": "a", "recording": "r", "expected": {}}"#,
      #"{"caseId": "a", "recording": "r", "expected": {"toolsCalled": ["a"]]}"#,
      #"{"caseId": "a", "recording": "r", "expected": ["a"]}"#,
      #" { "expected" : E , "caseId" : "a" , "recording" : "r" } "#,
      "\t{\"expected\":E,\"input\":\"\",\"caseId\":\"a\",\"recording\":\"r\"}\r",
      "\u{feff}{\"caseId\": \"a\", \"recording\": \"r\", \"expected\": E}",
      #"[{"caseId": "a", "recording": "r", "expected": E}]"#,
      #"{"cases": [], "recording": "r", "expected": E}"#,
    ])
  func forms(_ form: String) throws {
    let folder = try TemporaryFolder()
    let line = form.replacing("E", with: Self.expected)
    for areRunsElsewhere in [false, true] {
      let (isSame, loaded) = try Self.same(
        Array(line.utf8), in: folder, areRunsElsewhere: areRunsElsewhere)
      #expect(isSame, "\(line)\n\(loaded)")
    }
  }

  @Test("lines changed at random bytes come to the same either way")
  func randomChanges() throws {
    var seeded = Seeded(seed: 17)
    let folder = try TemporaryFolder()
    let line = #"{"caseId": "aé", "input": "", "recording": "a/../r", "expected": E}"#
      .replacing("E", with: Self.expected)
    let signs = Array("\"\\{}[],: \t\u{1}aE0\u{7f}".utf8) + [0xff, 0xc3]
    var read = 0
    for _ in 0..<TestRun.count(400, long: 20_000) {
      var bytes = Array(line.utf8)
      for _ in 0..<Int.random(in: 0...2, using: &seeded) {
        let place = Int.random(in: 0..<bytes.count, using: &seeded)
        switch Int.random(in: 0..<3, using: &seeded) {
        case 0: bytes[place] = signs.randomElement(using: &seeded) ?? 0
        case 1: bytes.insert(signs.randomElement(using: &seeded) ?? 0, at: place)
        default: bytes.remove(at: place)
        }
      }
      let (isSame, loaded) = try Self.same(bytes, in: folder)
      #expect(isSame, "\(String(decoding: bytes, as: UTF8.self))\n\(loaded)")
      if loaded.cases.count == 2 { read += 1 }
    }
    #expect(read > 100)
  }

  @Test("defaults reach cases on every line")
  func defaults() throws {
    let folder = try TemporaryFolder()
    try folder.write("defaults.yaml", "defaults: {tags: [x]}\n")
    let line = #"{"caseId": "a", "recording": "r", "expected": E}"#
      .replacing("E", with: Self.expected)
    try folder.write(
      "cases.jsonl", line + "\n" + line.replacing("\"a\", \"rec", with: "\"b\", \"rec"))
    let result = CaseLoader.load([folder.path("cases.jsonl")])
    #expect(result.cases.map(\.tags) == [["x"], ["x"]])
  }
}
