import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

/// The debugger on a terminal: in tmux, skipped where there is none.
@Suite("The debugger's screen", .serialized, .enabled("tmux is not there") { await Tmux.isThere() })
struct DebuggerScreenTests {
  /// Opens a log, and waits until it is shown.
  private static func open(
    _ log: String, columns: Int, rows: Int, in folder: String = Project.root,
    environment: String = ""
  ) async throws -> Tmux {
    let terminal = try await Tmux(
      columns: columns, rows: rows, in: folder, environment: environment)
    try await terminal.enter("'\(Binary.path)' replay '\(log)'")
    _ = try await terminal.shows { $0.first?.hasPrefix(" event 0") == true }
    return terminal
  }

  // MARK: Captures

  /// Keys, one after the other, and what must be in the first row or the last one then.
  struct Scene: Sendable {
    var name: String
    var keys: [String]
    var awaits: String
  }

  private static let scenes = [
    Scene(name: "start", keys: [], awaits: " event 0"),
    Scene(name: "context", keys: ["J", "J"], awaits: " event 7"),
    Scene(name: "decision", keys: ["j", "j"], awaits: " event 9"),
    Scene(name: "why", keys: ["w"], awaits: "why archive_message"),
    Scene(name: "breakpoint", keys: ["b", "G", "r"], awaits: "breakpoint 1: tool archive_message"),
    Scene(
      name: "search", keys: ["/", "d", "e", "l", "e", "t", "e", "d", "Enter"], awaits: "n next"),
    Scene(name: "typing", keys: [":", "s", "t", "a"], awaits: ":sta"),
    Scene(name: "state", keys: ["t", "e", "Enter"], awaits: "digest"),
    Scene(name: "folded", keys: ["z", "K"], awaits: "▸ step 1"),
    Scene(name: "unfolded", keys: ["Space"], awaits: "▾ step"),
    Scene(name: "stop", keys: ["z", "G"], awaits: "event 22, step 3"),
    Scene(name: "help", keys: ["?"], awaits: "space enter"),
  ]

  @Test("each view is as it was looked at, at two sizes", arguments: [(110, 32), (60, 20)])
  func captures(columns: Int, rows: Int) async throws {
    let terminal = try await Self.open(
      "Fixtures/runs/hidden-deletion.jsonl.gz", columns: columns, rows: rows)
    for scene in Self.scenes {
      for key in scene.keys { try await terminal.press(key) }
      let shown = try await terminal.shows { rows in
        rows.contains { $0.contains(scene.awaits) }
      }
      let name = "\(columns)x\(rows)/\(scene.name).txt"
      let text = shown.joined(separator: "\n") + "\n"
      if ProcessInfo.processInfo.environment["UPDATE_SCREENS"] == "1" {
        let path = Project.path("Fixtures/screens/\(name)")
        try FileManager.default.createDirectory(
          at: URL(fileURLWithPath: path).deletingLastPathComponent(),
          withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
      }
      let kept = (try? Project.text("Fixtures/screens/\(name)")) ?? ""
      #expect(text == kept, "\(name)\n\(text)")
    }
    await terminal.end()
  }

  @Test("keys that come at once lead to what they lead to one by one")
  func keysAtOnce() async throws {
    let keys = [
      ("J", " event 1 "), ("J", " event 7 "), ("j", " event 8 "), ("j", " event 9 "),
      ("b", "breakpoint 1"), ("G", " event 22 "), ("r", " event 9 "),
    ]
    let log = "Fixtures/runs/hidden-deletion.jsonl.gz"
    let slow = try await Self.open(log, columns: 110, rows: 32)
    for (key, awaited) in keys {
      try await slow.type(key)
      _ = try await slow.shows { rows in
        rows.first?.contains(awaited) ?? false || rows.last?.contains(awaited) ?? false
      }
    }
    let expected = try await slow.rows()
    await slow.end()
    let quick = try await Self.open(log, columns: 110, rows: 32)
    try await quick.type(keys.map(\.0).joined())
    _ = try await quick.shows { $0 == expected }
    await quick.end()
  }

  @Test("a terminal that changes its size is drawn anew, however small")
  func resize() async throws {
    let terminal = try await Self.open(
      "Fixtures/runs/refund-approved.jsonl.gz", columns: 100, rows: 30)
    try await terminal.press("J", "J", "j", "j")
    _ = try await terminal.shows { $0[0].hasPrefix(" event 9") }
    let wide = try await terminal.rows()
    for (columns, rows) in [(200, 50), (72, 14), (40, 10), (20, 4), (5, 2), (100, 30)] {
      try await terminal.tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
      let shown = try await terminal.shows { shown in
        shown.count == rows
          && (columns < 16 || rows < 3
            ? shown[0].hasPrefix("too") : shown[0].hasPrefix(" event 9"))
      }
      #expect(shown.allSatisfy { $0.count <= columns })
    }
    let last = try await terminal.shows { $0.count == 30 }
    #expect(last[0] == wide[0] && last.suffix(6) == wide.suffix(6))
    await terminal.end()
  }

  // MARK: Giving the terminal back

  /// The settings of the terminal, as its shell's commands find them.
  private static func settings(_ terminal: Tmux, _ folder: TemporaryFolder) async throws -> String {
    try await terminal.enter("clear; stty -g >'\(folder.path("settings"))'; echo noted")
    _ = try await terminal.shows { rows in rows.contains("noted") }
    return folder.text("settings") ?? ""
  }

  @Test(
    "the terminal is given back, whatever ends it",
    arguments: ["q", ":quit", "TERM", "INT", "HUP", "QUIT", "SEGV", "ABRT"])
  func restored(_ end: String) async throws {
    let folder = try TemporaryFolder()
    let terminal = try await Tmux(columns: 90, rows: 24)
    let before = try await Self.settings(terminal, folder)
    try await terminal.enter(
      "(echo $BASHPID >'\(folder.path("pid"))'; exec '\(Binary.path)' replay Fixtures/runs/tool-failure.jsonl.gz)"
    )
    _ = try await terminal.shows { $0[0].hasPrefix(" event 0") }
    #expect(try await terminal.format("alternate_on") == "1")
    if end == "q" {
      try await terminal.press("q")
    } else if end == ":quit" {
      try await terminal.enter(end)
    } else {
      try await shell("kill -\(end) $(cat \(folder.path("pid")))")
    }
    _ = try await terminal.shows { rows in
      rows.contains { $0.hasPrefix("$ ") } && !rows[0].hasPrefix(" event")
    }
    #expect(try await terminal.format("alternate_on") == "0")
    #expect(try await terminal.format("cursor_flag") == "1")
    #expect(try await terminal.format("wrap_flag") == "1")
    #expect(try await Self.settings(terminal, folder) == before && !before.isEmpty)
    await terminal.end()
  }

  @Test("it goes to the background and comes back as it was")
  func suspend() async throws {
    let terminal = try await Self.open(
      "Fixtures/runs/tool-failure.jsonl.gz", columns: 90, rows: 24)
    try await terminal.press("J", "J")
    let before = try await terminal.shows { $0[0].hasPrefix(" event 7") }
    for _ in 0..<2 {
      try await terminal.press("C-z")
      _ = try await terminal.shows { rows in rows.contains { $0.contains("Stopped") } }
      #expect(try await terminal.format("alternate_on") == "0")
      try await terminal.enter("fg")
      let after = try await terminal.shows { $0[0].hasPrefix(" event 7") }
      #expect(after == before)
    }
    await terminal.end()
  }

  // MARK: What it shows

  @Test("a run that goes on is followed, and a selected last event stays the last")
  func following() async throws {
    let folder = try TemporaryFolder()
    let writer = try LogWriter(creating: folder.path("a.jsonl.gz"))
    func append(_ seq: Int) throws {
      try writer.append(
        Event(
          seq: seq, step: 1, type: .humanReplied, runId: "r", data: ["text": .string("word \(seq)")]
        ), isEffectAhead: false)
    }
    for seq in 0..<3 { try append(seq) }
    let terminal = try await Self.open("a.jsonl.gz", columns: 90, rows: 24, in: folder.path)
    #expect(try await terminal.rows()[0].contains("being written"))
    try append(3)
    _ = try await terminal.shows { rows in
      rows[0].hasPrefix(" event 0") && rows.contains { $0.contains("word 3") }
    }
    try await terminal.press("G")
    _ = try await terminal.shows { $0[0].hasPrefix(" event 3") }
    for seq in 4..<8 {
      try append(seq)
      _ = try await terminal.shows { $0[0].hasPrefix(" event \(seq)") }
    }
    _ = try writer.close()
    _ = try await terminal.shows { $0[0].hasPrefix(" event 7 of 7") }
    await terminal.end()
  }

  @Test("an event is copied as JSON, and the screen says so")
  func copy() async throws {
    let terminal = try await Self.open(
      "Fixtures/runs/refund-approved.jsonl.gz", columns: 90, rows: 24)
    try await terminal.press("J", "J", "j", "j", "y")
    _ = try await terminal.shows { $0.last?.contains("event 9 is copied") == true }
    let copied = try JSONValue(parsing: try await terminal.tmux(["show-buffer"]))
    #expect(copied["seq"] == 9 && copied["data"]?["calls"]?[0]?["name"] == "issue_refund")
    await terminal.end()
  }

  /// Escape sequences of every kind, marks that turn the direction, wide and combining characters.
  private static let hostile =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[?1049l\u{9b}31m\r\n\t\u{8}\u{202e}\u{2066}"
    + "\u{200b}\u{e0041}日本e\u{301}👩‍👩‍👧🇳🇴"

  private static func hostileLog(_ folder: TemporaryFolder) throws {
    let text = JSONValue.string(hostile)
    let word = JSONValue.string(String(repeating: "w", count: 1 << 20))
    let call: JSONValue = ["callId": text, "name": text, "input": ["x": text, hostile: text]]
    let data: [(EventType, JSONObject)] = [
      (
        .runStarted,
        [
          "formatVersion": 2, "agent": ["name": text], "goal": text, "limits": [:],
          "policyContext": [:], "tools": [],
        ]
      ),
      (
        .contextBuilt,
        [
          "runId": text,
          "prompt": ["messages": [["role": text, "content": [["type": "text", "text": text]]]]],
          "included": [["ref": text, "reason": text]],
          "omittedRefs": [["ref": text, "reason": text]], "toolsDisclosed": [text],
        ]
      ),
      (.decision, ["kind": "tool", "calls": [call]]),
      (
        .policyDecision,
        ["callId": text, "tool": text, "status": "deny", "reason": text, "ruleId": text]
      ),
      (.toolResult, ["callId": text, "tool": text, "status": "error", "reason": word]),
      (.humanReplied, ["text": word]), (EventType(rawValue: hostile), ["x": text]),
      (.stop, ["reason": "success", "detail": text, "answer": text, "final": true]),
    ]
    try writeLog(
      data.enumerated().map { index, entry in
        Event(seq: index, step: min(index, 1), type: entry.0, runId: hostile, data: entry.1)
      }, to: folder.path("a.jsonl.gz"))
  }

  @Test("a hostile log changes nothing but the text shown", arguments: [(100, 30), (60, 20)])
  func hostile(columns: Int, rows: Int) async throws {
    let folder = try TemporaryFolder()
    try Self.hostileLog(folder)
    let terminal = try await Self.open(
      "a.jsonl.gz", columns: columns, rows: rows, in: folder.path)
    let title = try await terminal.format("pane_title")
    for (keys, seq) in [
      (["f"], 0), (["j"], 1), (["j"], 2), (["w"], 2), (["j"], 3), (["j"], 4), (["w"], 4),
      (["j"], 5),
      (["j"], 6), (["j"], 7), (["w"], 7), (["s"], 7), (["z"], 7),
    ] {
      for key in keys { try await terminal.press(key) }
      let shown = try await terminal.shows { $0[0].hasPrefix(" event \(seq)") }
      let text = shown.joined(separator: "\n")
      #expect(controlBytes(in: Array(text.utf8)).isEmpty)
      #expect(
        !text.unicodeScalars.contains {
          "\u{202e}\u{2066}\u{200b}\u{e0041}".unicodeScalars.contains($0)
        })
      #expect(shown.count == rows)
      // Everything stands where it always does: the border between the panes, the rule, the hints.
      if columns >= 72 {
        for row in shown.dropFirst().prefix(rows - 7) {
          #expect(row.unicodeScalars.contains("│"), "\(row)")
        }
      }
      #expect(shown.contains { $0.hasPrefix("── state after event \(seq)") }, "\(text)")
      if [4, 5].contains(seq), keys != ["w"] {
        #expect(text.contains("w…") || text.contains("www"))
      }
    }
    #expect(try await terminal.format("pane_title") == title)
    #expect(try await terminal.format("alternate_on") == "1")
    #expect(try await terminal.tmux(["list-buffers"]).isEmpty)
    try await terminal.press("q")
    _ = try await terminal.shows { rows in rows.contains { $0.hasPrefix("$ ") } }
    await terminal.end()
  }

  @Test("what is said line by line about a hostile log does nothing to a terminal either")
  func hostileLines() async throws {
    let folder = try TemporaryFolder()
    try Self.hostileLog(folder)
    let everything =
      "show; why; context all; state; diff; events; next; show; why; diff context; next; show; why; "
      + "next; show; why; next; show; next; show; why; next; show; next; show; why; search owned; "
      + "print /data; print /state; break tool *; reverse; export step out.json"
    let told = try await Binary.run(["replay", "a.jsonl.gz", "-c", everything], in: folder.path)
    #expect(controlBytes(in: told.outputBytes).isEmpty)
    #expect(told.output.contains("owned") && told.output.contains("(1048576 bytes)"))
    for mark in "\u{202e}\u{2066}\u{200b}\u{e0041}".unicodeScalars {
      #expect(!told.output.unicodeScalars.contains(mark))
    }
  }
}
