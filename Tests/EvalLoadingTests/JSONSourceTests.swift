import AgentTrace
import Glibc
import TestSupport
import Testing

@testable import EvalLoading

@Suite("JSON sources")
struct JSONSourceTests {
  @Test(
    "What is no JSON is an error with line and column",
    arguments: [
      ("", 1, 1), ("{\"a\": }", 1, 7), ("{\n  \"a\": 1,\n}", 3, 1), ("[1] x", 1, 5),
      ("{\"a\":1,\"a\":2}", 1, 8), ("[\"é\", tru]", 1, 10), ("\u{feff}[01]", 1, 2),
    ])
  func syntaxErrors(text: String, line: Int, column: Int) {
    let document = SourceDocument(Array(text.utf8), path: "f.json")
    #expect(document.roots.isEmpty)
    #expect(document.diagnostics.count == 1)
    #expect(document.diagnostics.first?.line == line)
    #expect(document.diagnostics.first?.column == column)
  }

  @Test("A key that stands twice is an error with both lines, wherever the object stands")
  func duplicateKey() {
    let text = "[1, {\"x\": {},\n \"k\": {\"k\": 1},\n \"\\u006b\": 2}, {]"
    let document = SourceDocument(Array(text.utf8), path: "f.json")
    #expect(
      document.diagnostics.map(\.description) == [
        "f.json:3:2: error: the key “k” stands twice, first on line 2"
      ])
  }

  @Test("Nesting beyond the limit is an error")
  func deep() {
    let text = String(repeating: "[", count: 1_000_000)
    let document = SourceDocument(Array(text.utf8), path: "f.json")
    #expect(document.diagnostics.first?.message.contains("nesting deeper than 128") == true)
  }

  @Test("Places in JSON are those that the YAML reader finds in the same text")
  func samePlaces() throws {
    let texts = [
      #"{"a": {"b": [1, {"c\"d": "x\\"}, [], {}]}, "é": [true , null]}"#,
      "{\n  \"k\": [\n    1,\n    \"two\"\n  ],\n  \"m\": {\"n\": {}}\n}",
      "[[], [[]], {\"a\": \"]\", \"b\": \"}\"}]",
    ]
    for text in texts {
      let tree = PositionTree(json: Array(text.utf8))
      let oracle = YAMLReader(Array(text.utf8), path: "f", limits: SourceLimits()).documents[0]
      let value = try JSONValue(parsing: text)
      #expect(value == oracle.value)
      for (path, _) in paths(in: value) {
        for end in [PathEnd.key, .value] {
          #expect(
            tree.position(of: path, end: end) == oracle.tree.position(of: path, end: end),
            "\(path.dotted)")
        }
      }
    }
  }

  @Test("Places noted for the upper levels are those of the whole walk")
  func fewerLevels() throws {
    let text = #"{"cases": [ {"a": "]}\"", "b": [[1]]}, 2,  {"c": {}} ], "z": 1}"#
    let bytes = Array(text.utf8)
    let whole = PositionTree(json: bytes)
    let upper = PositionTree(json: bytes, levels: 2)
    for path in [[PathStep.key("cases"), .index(1)], [.key("cases"), .index(2)], [.key("z")]] {
      #expect(upper.position(of: path, end: .value) == whole.position(of: path, end: .value))
    }
    #expect(
      PositionTree(json: Array(" \n [1]".utf8), levels: 0).start == TextPosition(line: 2, column: 2)
    )
  }

  private func paths(in value: JSONValue) -> [([PathStep], JSONValue)] {
    var all: [([PathStep], JSONValue)] = [([], value)]
    var index = 0
    while index < all.count {
      let (path, value) = all[index]
      index += 1
      for member in value.objectValue ?? [:] {
        all.append((path + [.key(member.key)], member.value))
      }
      for (place, element) in (value.arrayValue ?? []).enumerated() {
        all.append((path + [.index(place)], element))
      }
    }
    return all
  }

  // MARK: Files

  @Test("A file larger than the limit is refused before it is read as anything")
  func largeFile() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a.yaml", "a: " + String(repeating: "x", count: 5_000))
    let document = SourceDocument(path: path, limits: SourceLimits(bytes: 4_096))
    #expect(document.diagnostics.first?.message == "larger than 4096 bytes")
  }

  @Test("Lines of a JSONL file come whole, however the file is cut into reads")
  func lines() throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "y", count: 300_000)
    let path = try folder.write("a.jsonl", "\r\n1\n \t\n\"\(long)\"\r\n\n\n2")
    var lines: [(Int, Int)] = []
    try JSONLines.read(path, limits: SourceLimits()) { line in
      lines.append((line.number, line.bytes.count))
      return true
    }
    #expect(lines.map(\.0) == [2, 4, 7])
    #expect(lines.map(\.1) == [1, 300_003, 1])
  }

  @Test("A JSONL line longer than the limit is refused")
  func longLine() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a.jsonl", "1\n" + String(repeating: " ", count: 600_000))
    #expect(throws: Diagnostic.self) {
      try JSONLines.read(path, limits: SourceLimits(bytes: 100_000)) { _ in true }
    }
  }

  @Test("A relative path is resolved from the folder of the file that holds it")
  func resolving() throws {
    let folder = try TemporaryFolder()
    try folder.write("real/inner/a.yaml", "")
    #expect(SourceFolder(ofFile: "a.yaml").resolve("x/y") == "x/y")
    #expect(SourceFolder(ofFile: "a.yaml").resolve("../x") == "../x")
    #expect(SourceFolder(ofFile: "e/f/a.yaml").resolve("../../x/../y") == "x/../y")
    #expect(SourceFolder(ofFile: "e/a.yaml").resolve("./../../x") == "../x")
    #expect(SourceFolder(ofFile: "../e/a.yaml").resolve("../../x") == "../../x")
    #expect(SourceFolder(ofFile: "/e/a.yaml").resolve("../x") == "/x")
    #expect(SourceFolder(ofFile: "/a.yaml").resolve("../x") == "/../x")
    #expect(SourceFolder(ofFile: "e/a.yaml").resolve("/x") == "/x")
    // Through a symbolic link, `..` is the parent of what the link leads to.
    symlink(folder.path("real/inner"), folder.path("link"))
    #expect(
      SourceFolder(ofFile: folder.path("link/a.yaml")).resolve("../x") == folder.path("link/../x"))
  }
}
