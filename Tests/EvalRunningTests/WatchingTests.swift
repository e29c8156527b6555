import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing

@Suite("Watched files")
struct WatchingTests {
  private static func list(_ folder: TemporaryFolder, runs: Bool = false) -> WatchList {
    WatchList(paths: [folder.path("cases")], runsFolder: runs ? folder.path("runs") : nil)
  }

  /// What is told as changed by doing something, without the folder before it.
  private static func change(
    _ folder: TemporaryFolder, _ list: WatchList, by act: () throws -> Void
  ) rethrows -> String? {
    let before = FileStamps(of: list)
    #expect(before.change(since: before) == nil)
    try act()
    return FileStamps(of: list).change(since: before).map {
      String($0.dropFirst(folder.path.count + 1))
    }
  }

  @Test("files that come, change, are replaced and go are seen; others are not")
  func files() throws {
    let folder = try TemporaryFolder()
    try folder.write("cases/a.yaml", "one")
    let list = Self.list(folder)
    #expect(
      try Self.change(folder, list) { try folder.write("cases/a.yaml", "two!") } == "cases/a.yaml")
    #expect(
      try Self.change(folder, list) { try folder.write("cases/deep/er/b.jsonl", "") }
        == "cases/deep/er/b.jsonl")
    #expect(
      try Self.change(folder, list) {
        try folder.write("other", "four")
        try FileManager.default.removeItem(atPath: folder.path("cases/a.yaml"))
        try FileManager.default.moveItem(
          atPath: folder.path("other"), toPath: folder.path("cases/a.yaml"))
      } == "cases/a.yaml")
    #expect(
      try Self.change(folder, list) {
        try FileManager.default.removeItem(atPath: folder.path("cases/a.yaml"))
      } == "cases/a.yaml")
    #expect(
      try Self.change(folder, list) {
        try folder.write("cases/notes.txt", "x")
        try folder.write("cases/.hidden.yaml", "x")
        try folder.write("elsewhere/a.yaml", "x")
        try FileManager.default.createDirectory(
          atPath: folder.path("cases/empty.yaml"), withIntermediateDirectories: true)
      } == nil)
    // Of several the first by its bytes.
    #expect(
      try Self.change(folder, list) {
        try folder.write("cases/z.yaml", "x")
        try folder.write("cases/B.yaml", "x")
      } == "cases/B.yaml")
  }

  @Test(
    "what cases name is watched, there or not: recordings, agents, policies, programs, defaults")
  func named() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases/a.yaml",
      """
      caseId: a
      input: x
      recording: ../logs/a.jsonl.gz
      agent: ../agents/a.yaml
      expected: {exec: [{command: [sh, ./judge.sh]}]}
      """)
    try folder.write(
      "agents/a.yaml",
      """
      name: a
      policy: ../policies/p.yaml
      tools: [{name: t, sideEffect: read, command: [../tools/t.sh]}]
      model: {script: [{answer: x}]}
      """)
    try folder.write("policies/p.yaml", "rules: []\n")
    var list = WatchList(paths: [folder.path("cases/a.yaml")], runsFolder: nil)
    let loaded = CaseLoader.load([folder.path("cases/a.yaml")])
    #expect(loaded.cases.count == 1)
    list.add(loaded)
    for name in [
      "agents/a.yaml", "policies/p.yaml", "logs/a.jsonl.gz", "logs/a.jsonl.gz.open",
      "cases/defaults.yaml", "cases/./judge.sh",
    ] {
      #expect(try Self.change(folder, list) { try folder.write(name, "\(name) x") } == name)
    }
    let tool = try Self.change(folder, list) { try folder.write("tools/t.sh", "x") }
    #expect(tool?.hasSuffix("tools/t.sh") == true)
    #expect(try Self.change(folder, list) { try folder.write("logs/b.jsonl.gz", "x") } == nil)
  }

  @Test("in a folder of runs logs count, and those that were made by watching do not")
  func runs() throws {
    let folder = try TemporaryFolder()
    try folder.write("cases/a.yaml", "")
    try folder.write("runs/old.jsonl.gz", "x")
    let list = Self.list(folder, runs: true)
    #expect(
      try Self.change(folder, list) { try folder.write("runs/x/new.jsonl.gz.open", "x") }
        == "runs/x/new.jsonl.gz.open")
    #expect(try Self.change(folder, list) { try folder.write("runs/index.sqlite", "x") } == nil)

    var stamps = FileStamps(of: list)
    let count = stamps.count
    try folder.write("runs/own.jsonl.gz", "x")
    try folder.write("unwatched.jsonl.gz", "x")
    stamps.expect([folder.path("runs/own.jsonl.gz"), folder.path("unwatched.jsonl.gz")], on: list)
    #expect(stamps.count == count + 1)
    #expect(FileStamps(of: list).change(since: stamps) == nil)
    // One that was known stays as it was known: somebody else may have changed it meanwhile.
    try folder.write("runs/old.jsonl.gz", "changed")
    stamps.expect([folder.path("runs/old.jsonl.gz")], on: list)
    #expect(FileStamps(of: list).change(since: stamps)?.hasSuffix("runs/old.jsonl.gz") == true)
  }

  @Test("what changes while it is judged is a change; what is watched only since then is none")
  func goingBack() throws {
    let folder = try TemporaryFolder()
    try folder.write("cases/a.yaml", "one")
    let first = FileStamps(of: Self.list(folder))
    try folder.write("cases/a.yaml", "two!")
    try folder.write("runs/a.jsonl.gz", "x")
    let list = Self.list(folder, runs: true)
    var stamps = FileStamps(of: list)
    stamps.goBack(to: first)
    #expect(FileStamps(of: list).change(since: stamps)?.hasSuffix("cases/a.yaml") == true)
  }
}
