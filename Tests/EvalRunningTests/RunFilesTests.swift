import AgentRuntime
import EvalRunning
import TestSupport
import Testing

@Suite("Names of logs")
struct RunFilesTests {
  /// Names that data may bear.
  static let names = [
    "", ".", "..", "...", "/", "//", "a/b", "a\\b", "../x", "../../etc/passwd", "/etc/passwd", "~",
    "~root", ".hidden", "-rf", "--help", "a b", "a\nb", "a\0b", "a\u{1b}[31mb", "é", "e\u{301}",
    "日本", "👩‍👩‍👧‍👦", "a:b", "a*b", "a?b", "CON", "x.jsonl.gz", "x.jsonl.gz.open", "%2e%2e%2f",
    "\u{202e}gpj.exe", "\u{ff0e}\u{ff0e}\u{ff0f}", String(repeating: "a", count: 80),
    String(repeating: "a", count: 81), String(repeating: "é", count: 5_000),
    String(repeating: "../", count: 200), "a_b", "a-b", "A", "a", "a_b-00000000", "_", "_.",
  ]

  @Test("a name from data is the name of one plain file, whatever it holds", arguments: names)
  func safe(name: String) {
    let file = RunFiles.fileName(for: name)
    #expect(!file.isEmpty && file.utf8.count <= 100)
    #expect(file.utf8.first != UInt8(ascii: "."))
    #expect(file.utf8.first != UInt8(ascii: "-"))
    #expect(
      file.unicodeScalars.allSatisfy {
        ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
          || "-_.".unicodeScalars.contains($0)
      }, "\(file)")
    #expect(RunFiles.fileName(for: name) == file)
  }

  @Test("two names never become one, also where letters of one kind look like those of another")
  func injective() {
    // What a name was changed to may itself be the name of another run.
    var names = Set(Self.names.map { Array($0.utf8) })
    names.formUnion(Self.names.map { Array(RunFiles.fileName(for: $0).utf8) })
    let files = names.map { RunFiles.fileName(for: String(decoding: $0, as: UTF8.self)) }
    #expect(Set(files.map { Array($0.utf8) }).count == names.count)
    var generator = Seeded(seed: 11)
    let alphabet = ["a", "/", ".", "_", "é", "e\u{301}", " ", "\n", "-"]
    var seen: [[UInt8]: [UInt8]] = [:]
    for _ in 0..<TestRun.count(5_000, long: 100_000) {
      let length = Int.random(in: 0...6, using: &generator)
      let name = (0..<length).map { _ in alphabet.randomElement(using: &generator) ?? "a" }.joined()
      let file = Array(RunFiles.fileName(for: name).utf8)
      if let other = seen[file] { #expect(other == Array(name.utf8), "\(name)") }
      seen[file] = Array(name.utf8)
    }
  }

  @Test("plain names stay as they are", arguments: ["a", "refund-drafted", "A_b.c-9", "support"])
  func plain(name: String) { #expect(RunFiles.fileName(for: name) == name) }

  @Test("a log stays in the folder that was asked for, whatever its run and its case are called")
  func paths() {
    for name in Self.names {
      for (files, lead, depth) in [
        (RunFiles(), ".agent-eval/runs/", 4), (RunFiles(output: "out"), "out/", 2),
        (RunFiles(output: "/var/out"), "/var/out/", 3), (RunFiles(output: "out/"), "out/", 2),
        (RunFiles(output: "."), "./", 2),
      ] {
        let path = files.path(of: name, runId: name)
        #expect(path.hasPrefix(lead) && path.hasSuffix(".jsonl.gz"), "\(path)")
        let parts = path.split(separator: "/")
        #expect(parts.count == depth, "\(path)")
        #expect(!parts.contains(".."))
      }
      #expect(RunFiles(output: "x/y.jsonl.gz").path(of: name, runId: name) == "x/y.jsonl.gz")
    }
  }
}
