import AgentTrace
import Foundation
import TestSupport
import Testing

/// Six pipelines of programs, each killed at a random moment and gone on with until it ends.
@Suite("Processes of pipelines killed at random moments")
struct PipelineKillTests {
  enum Shape: String, CaseIterable {
    case chain
    case diamond
    case fanOut
    /// A fan-out whose elements begin as a program prints lines, and one whose begin as those of the first end.
    case streaming
    case human
    case rollback
  }

  /// A task that writes and may be done twice with one key.
  ///
  /// - Parameter more: its other keys.
  private static func task(_ id: String, _ more: String = "", forEach source: String? = nil)
    -> String
  {
    let fanOut = source.map { "    forEach: \($0)\n    concurrency: 3\n" } ?? ""
    return """
        - id: \(id)
          command: [./do.sh, \(id)\(source == nil ? "" : ", \"${index}\"")]
          sideEffect: write
          idempotent: true
          compensate: {command: [./undo.sh, \(id)]}

      """ + (more.isEmpty ? "" : "    \(more)\n") + fanOut
  }

  private static func pipeline(_ shape: Shape) -> String {
    let head = "pipeline: \(shape.rawValue)\ntasks:\n"
    switch shape {
    case .chain:
      return head + task("one") + task("two", "input: {x: \"${one.done}\"}")
        + task("three", "input: {x: \"${two.done}\"}")
    case .diamond:
      return head + task("top") + task("left", "input: {x: \"${top.done}\"}")
        + task("right", "input: {x: \"${top.done}\"}")
        + task("bottom", "input: {l: \"${left.done}\", r: \"${right.done}\"}")
    case .fanOut:
      let list = (0..<50).map(String.init).joined(separator: ",")
      return head
        + "  - {id: list, command: [printf, '[\(list)]'], sideEffect: read}\n"
        + task("each", forEach: "${list}")
    case .streaming:
      return head + "  - {id: list, command: [./lines.sh], parts: lines, sideEffect: read}\n"
        + task("first", forEach: "{partsOf: list}")
        + task("second", forEach: "${first.*}")
    case .human:
      return head + task("before")
        + "  - {id: ask, human: {ask: \"Go on?\", show: \"${before.done}\"}}\n"
        + task("after", "input: {by: \"${ask.by}\"}")
    case .rollback:
      return head + task("one") + task("two", "input: {x: \"${one.done}\"}")
        + "  - {id: fails, command: [./fail.sh], input: {x: \"${two.done}\"}, sideEffect: read}\n"
    }
  }

  private static func makeFolder(_ shape: Shape) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("p.yaml", pipeline(shape))
    let note = "echo \"$(basename $0) $1 $2 $IDEMPOTENCY_KEY\" >>world"
    for (name, body) in [
      ("do.sh", "\(note)\nsleep 0.03\necho '{\"done\": true}'"),
      ("lines.sh", "for i in 0 1 2 3; do echo $i; sleep 0.02; done"),
      ("undo.sh", "\(note)\nsleep 0.03\necho null"), ("fail.sh", "test -e mended && echo null"),
    ] {
      let path = try folder.write(name, "#!/bin/sh\n\(body)\n")
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    return folder
  }

  private static let log = "r.jsonl.gz"

  /// Runs a verb and kills its process after some milliseconds, where it has not ended by then.
  private static func kill(_ arguments: String, after milliseconds: Int, in folder: TemporaryFolder)
    async throws
  {
    try await shell(
      "$0 \(arguments) >/dev/null 2>&1 & pid=$!; sleep $1; kill -9 $pid 2>/dev/null; wait",
      ["\(Double(milliseconds) / 1_000)"], in: folder.path, status: nil)
  }

  /// Goes on until the pipeline has ended, answering what is asked; a rollback once the last task has failed.
  private static func finish(_ shape: Shape, in folder: TemporaryFolder) async throws {
    for _ in 0..<20 {
      // A process was killed in it: going on comes first.
      if FileManager.default.fileExists(atPath: folder.path(log + ".open")) {
        try await go(in: folder)
        continue
      }
      guard let stop = try await events(in: folder).last(where: { $0["type"] == "stop" }) else {
        try await go(in: folder)
        continue
      }
      switch stop["data"]?["reason"]?.stringValue {
      case "success": return
      case "blocked":
        for name in ["ask", "one", "two"] {
          _ = try await Binary.run(
            ["approve", log, name, "--by", "ann"], in: folder.path, status: nil)
        }
      case "tool_failure" where shape == .rollback:
        try await Binary.run(
          ["rollback", log, "--to", "one", "--agent", "p.yaml"], in: folder.path)
        try folder.write("mended", "")
      default: break
      }
      try await go(in: folder)
    }
  }

  private static func go(in folder: TemporaryFolder) async throws {
    let isThere =
      FileManager.default.fileExists(atPath: folder.path(log))
      || FileManager.default.fileExists(atPath: folder.path(log + ".open"))
    let isBegun = try await events(in: folder).isEmpty == false
    if isThere, !isBegun { try? FileManager.default.removeItem(atPath: folder.path(log + ".open")) }
    _ = try await Binary.run(
      isBegun ? ["resume", log, "--agent", "p.yaml"] : ["record", "p.yaml", "--out", log],
      in: folder.path, status: nil)
  }

  private static func events(in folder: TemporaryFolder) async throws -> [JSONValue] {
    try await Binary.run(["show", log, "--json"], in: folder.path, status: nil).jsonLines()
      .filter { $0["type"] != nil }
  }

  /// What was done and undone: the lines without their keys, and the keys of each.
  private static func world(_ folder: TemporaryFolder) -> [(action: String, key: String)] {
    let text = (try? String(contentsOfFile: folder.path("world"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { line in
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      return (words.dropLast().joined(separator: " "), String(words.last ?? ""))
    }
  }

  /// What the run came to: how each task ended, and its output.
  private static func end(_ events: [JSONValue]) -> [String: JSONValue] {
    var end: [String: JSONValue] = [:]
    for event in events where event["type"] == "task_finished" {
      let element = event["data"]?["element"]?.intValue.map { "[\($0)]" } ?? ""
      end["\(event["data"]?["task"]?.stringValue ?? "")\(element)"] =
        event["data"]?["output"] ?? .null
    }
    return end
  }

  @Test(
    "what ended runs once, what was under way is named and done with one key, and the end is that of an undisturbed run",
    arguments: Shape.allCases)
  func killed(_ shape: Shape) async throws {
    let calm = try Self.makeFolder(shape)
    try await Self.finish(shape, in: calm)
    let whole = Self.end(try await Self.events(in: calm))
    let actions = Set(Self.world(calm).map(\.action))
    #expect(!whole.isEmpty)
    var random = Seeded(seed: UInt64(shape.hashlessNumber))
    for _ in 0..<TestRun.count(3, long: 1_000 / Shape.allCases.count + 1) {
      let folder = try Self.makeFolder(shape)
      let milliseconds = Int.random(in: 20...(shape == .fanOut ? 1_200 : 350), using: &random)
      try await Self.kill("record p.yaml --out \(Self.log)", after: milliseconds, in: folder)
      if shape == .rollback, Bool.random(using: &random) {
        // The second kill is in the rollback itself.
        try await Self.go(in: folder)
        try await Self.kill(
          "rollback \(Self.log) --to one --agent p.yaml",
          after: Int.random(in: 20...200, using: &random), in: folder)
        try folder.write("mended", "")
      }
      try await Self.finish(shape, in: folder)
      let events = try await Self.events(in: folder)
      let words = "\(shape) killed after \(milliseconds) ms"
      #expect(events.last { $0["type"] == "stop" }?["data"]?["reason"] == "success", "\(words)")
      #expect(Self.end(events) == whole, "\(words)")
      Self.checkWorld(folder, events, words)
      if shape != .rollback {
        #expect(Set(Self.world(folder).map(\.action)) == actions, "\(words)")
      }
      try await Binary.run(["verify", Self.log], in: folder.path)
      let made = try await Binary.run(
        ["replay", Self.log, "--reexecute", "--agent", "p.yaml"], in: folder.path)
      #expect(made.output.hasPrefix("faithful"), "\(words)")
    }
  }

  /// Each key is of one action; an action was begun no more often than attempts at it were, and more than once only
  /// where an attempt was told to be cut off.
  private static func checkWorld(_ folder: TemporaryFolder, _ events: [JSONValue], _ words: String)
  {
    var done: [String: Int] = [:]
    for line in world(folder) where line.action.hasPrefix("do.sh ") {
      done[line.key, default: 0] += 1
    }
    var attempts: [String: Int] = [:]
    for event in events where event["type"] == "task_started" {
      if let key = event["data"]?["idempotencyKey"]?.stringValue { attempts[key, default: 0] += 1 }
    }
    #expect(!done.isEmpty)
    for (key, count) in done {
      #expect(count <= attempts[key] ?? 0, "\(words): \(key)")
    }
    let interrupted = events.count { $0["data"]?["error"]?["kind"] == "interrupted" }
    let again = attempts.values.reduce(0) { $0 + $1 - 1 }
    #expect(again <= interrupted, "\(words): \(again) again, \(interrupted) told")
  }
}

extension PipelineKillTests.Shape {
  /// A number of its own, the same on each run.
  fileprivate var hashlessNumber: Int { (Self.allCases.firstIndex(of: self) ?? 0) + 31 }
}
