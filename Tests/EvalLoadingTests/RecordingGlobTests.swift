import AgentTrace
import Glibc
import TestSupport
import Testing
import TraceJudging

@testable import EvalLoading

@Suite("Recordings that stand for many")
struct RecordingGlobTests {
  @Test("a path with a pattern that is a file's own name is that file")
  func literal() throws {
    let folder = try TemporaryFolder()
    try folder.write("a[1].jsonl.gz", "x")
    #expect(!RecordingGlob.isOne(folder.path("a[1].jsonl.gz")))
    #expect(RecordingGlob.isOne(folder.path("a[2].jsonl.gz")))
    #expect(!RecordingGlob.isOne(folder.path("a.jsonl.gz")))
  }

  @Test("hidden names, links to folders and folders themselves are never meant")
  func passedOver() throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/.hidden.jsonl.gz", "x")
    try folder.write("runs/.deep/a.jsonl.gz", "x")
    try folder.write("runs/a.jsonl.gz/b.jsonl.gz", "x")
    try folder.write("runs/open.jsonl.gz.open", "x")
    try folder.link("runs/loop", to: folder.path("runs"))
    let matches = try RecordingGlob(folder.path("runs/**/*.jsonl.gz")).matches()
    #expect(matches.map(\.name) == ["a.jsonl.gz/b", "open"])
    #expect(matches.map(\.path).last == folder.path("runs/open.jsonl.gz"))
  }

  @Test("folders that nobody looks into are told where a pattern leads through them")
  func notSearched() throws {
    let folder = try TemporaryFolder()
    let deep = Array(repeating: "d", count: 70).joined(separator: "/")
    try folder.write("runs/a.jsonl.gz", "x")
    try folder.write("runs/\(deep)/b.jsonl.gz", "x")
    try folder.write("far/c.jsonl.gz", "x")
    try folder.link("runs/linked", to: folder.path("far"))
    func told(_ pattern: String) throws -> [String] {
      var told: [String] = []
      _ = try RecordingGlob(folder.path(pattern)).matches { severity, _, reason in
        told.append("\(severity): \(reason)")
      }
      return told.sorted()
    }
    #expect(
      try told("runs/**/*.jsonl.gz")
        == ["error: too many folders deep", "warning: a symbolic link to a folder"])
    #expect(try told("runs/*/c.jsonl.gz") == ["warning: a symbolic link to a folder"])
    #expect(try told("runs/*.jsonl.gz") == [])
    #expect(try told("nowhere/*.jsonl.gz") == [])
  }

  @Test("a folder that may not be read is no empty one", .enabled(if: geteuid() != 0))
  func forbidden() throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/a.jsonl.gz", "x")
    try folder.write("runs/kept/b.jsonl.gz", "x")
    #expect(chmod(folder.path("runs/kept"), 0) == 0)
    defer { chmod(folder.path("runs/kept"), 0o700) }
    var told: [Diagnostic.Severity] = []
    let glob = try RecordingGlob(folder.path("runs/**/*.jsonl.gz"))
    #expect(glob.matches { severity, _, _ in told.append(severity) }.map(\.name) == ["a"])
    #expect(told == [.error])
  }

  /// Whether a path below a folder is like a pattern, in the plainest way.
  private static func isLike(_ path: [Substring], _ pattern: ArraySlice<String>) -> Bool {
    guard let first = pattern.first else { return path.isEmpty }
    if first == "**" {
      return (0...path.count).contains { skipped in
        // What `**` stands for are folders, so that a file is left, unless it is the last.
        if pattern.count == 1 { return skipped == path.count && !path.isEmpty }
        return isLike(Array(path[skipped...]), pattern.dropFirst())
      }
    }
    guard let name = path.first, isLike(Array(name), Array(first)) else { return false }
    return isLike(Array(path.dropFirst()), pattern.dropFirst())
  }

  private static func isLike(_ name: [Character], _ glob: [Character]) -> Bool {
    guard let first = glob.first else { return name.isEmpty }
    switch first {
    case "*":
      return (0...name.count).contains { isLike(Array(name[$0...]), Array(glob.dropFirst())) }
    case "?": return !name.isEmpty && isLike(Array(name.dropFirst()), Array(glob.dropFirst()))
    default: return name.first == first && isLike(Array(name.dropFirst()), Array(glob.dropFirst()))
    }
  }

  @Test("many patterns on many folders find what the plainest reading of them finds")
  func property() throws {
    var generator = SeededGenerator(seed: 31)
    let folder = try TemporaryFolder()
    var files: Set<String> = []
    for _ in 0..<60 {
      let depth = Int.random(in: 0...3, using: &generator)
      let folders = (0..<depth).map { _ in ["a", "ab", "b"].randomElement(using: &generator) ?? "a"
      }
      let name = ["x", "xy", "y", "yx"].randomElement(using: &generator) ?? "x"
      let path = (folders + ["\(name).jsonl.gz"]).joined(separator: "/")
      if files.insert(path).inserted { try folder.write("r/\(path)", "x") }
    }
    let pieces = ["*", "**", "a", "a*", "?", "*b"]
    let names = ["*.jsonl.gz", "x*.jsonl.gz", "?.jsonl.gz", "**", "*"]
    for _ in 0..<300 {
      let count = Int.random(in: 0...3, using: &generator)
      let pattern =
        (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "*" }
        + [names.randomElement(using: &generator) ?? "*"]
      let text = pattern.joined(separator: "/")
      let found = try RecordingGlob(folder.path("r/\(text)")).matches().map(\.path)
      let wanted = files.filter { Self.isLike($0.split(separator: "/"), pattern[...]) }
      #expect(
        found == wanted.map { folder.path("r/\($0)") }.sorted { $0.precedesByUTF8($1) }, "\(text)")
    }
  }

  @Test("an id is made of any name, within what an id may be, and two names never come to one")
  func ids() {
    let rule = EvalCase(caseId: "rule", expected: Expectations())
    let names = [
      "a", "a\u{0}b", "a\u{1}b", String(repeating: "x", count: 300),
      String(repeating: "x", count: 301), "\u{7f}", "é",
    ]
    let ids = names.map { rule.on(run: $0, recording: nil).caseId }
    #expect(Set(ids).count == names.count)
    for id in ids { #expect(EvalCase.isUsable(caseId: id) && id.hasPrefix("rule/")) }
    #expect(rule.on(run: "a", recording: "x").rule == "rule")
  }
}
