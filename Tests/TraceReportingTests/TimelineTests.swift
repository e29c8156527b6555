import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReporting
import TraceStorage

/// What the reports are compared with; `Fixtures/regenerate` makes them.
enum Golden {
  static let timelines = Project.files(below: "Fixtures/goldens", ending: ".txt")
    .filter { !$0.contains(".step-") && !$0.contains(".session.") }
  static let steps = Project.files(below: "Fixtures/goldens", ending: ".txt")
    .filter { $0.contains(".step-") }

  /// The name of a golden without folder and ending.
  static func name(of path: String) -> String {
    String((path.split(separator: "/").last ?? "").dropLast(".txt".count))
  }

  /// The events of the log that a golden shows.
  static func events(of name: String) throws -> [Event] {
    let log =
      switch name {
      case "torn": "torn/parallel-search"
      case _ where name.hasPrefix("fork-"): "forks/\(name.dropFirst("fork-".count))"
      default: "runs/\(name)"
      }
    var reader = try LogReader(path: Project.path("Fixtures/\(log).jsonl.gz"))
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }
}

let plain = Painter(isColoured: false)

/// All lines of a timeline.
func timeline(of events: [Event], painter: Painter = plain, width: Int = 120) -> [String] {
  var timeline = Timeline(painter: painter, width: width)
  return events.flatMap { timeline.lines(for: $0) }
}

@Suite("Timelines")
struct TimelineTests {
  /// Texts that a model, a tool or a person may have put anywhere.
  static let hostile = [
    "\u{1b}[2J\u{1b}]0;title\u{7}", "\r\n\t\0", "\u{9b}31m", "\u{202e}txet desrever",
    String(repeating: "x", count: 100_000), String(repeating: "e\u{301}", count: 500),
    String(repeating: "\u{1b}", count: 500), "a\u{2028}b\u{feff}", "",
  ]

  /// One event of every type, with a text in every place for one.
  static func events(holding text: String) -> [Event] {
    let value = JSONValue.string(text)
    let data: [(EventType, JSONObject)] = [
      (
        .runStarted,
        [
          "formatVersion": 2, "agent": ["name": value, "version": value], "goal": value,
          "limits": [:], "policyContext": [:], "tools": [],
          "recorded": .object(JSONObject([(text, value)])),
          "source": ["format": value, "file": value],
        ]
      ),
      (.toolsListed, ["source": value, "tools": [], "digest": value]),
      (.contextBuilt, ["runId": value, "goal": value, "prompt": ["messages": []]]),
      (.modelResult, ["purpose": "decide", "attempt": 1, "error": value]),
      (.decision, ["kind": "answer", "text": value, "caller": value]),
      (.decision, ["kind": "ask_human", "question": value]),
      (.decision, ["kind": "invalid", "reason": value, "calls": []]),
      (
        .decision,
        ["kind": "tool", "calls": [["callId": value, "name": value, "input": ["a": value]]]]
      ),
      (
        .policyDecision,
        ["callId": value, "tool": value, "status": "deny", "reason": value, "ruleId": value]
      ),
      (.toolStarted, ["callId": value, "tool": value, "attempt": 2, "idempotencyKey": value]),
      (.toolResult, ["callId": value, "tool": value, "status": "ok", "data": ["a": [value]]]),
      (.toolResult, ["callId": value, "tool": value, "status": "error", "reason": value]),
      (.toolResult, ["callId": value, "tool": value, "status": "refused", "reason": value]),
      (
        .approval,
        ["callId": value, "actionId": value, "granted": true, "by": value, "reason": value]
      ),
      (.humanReplied, ["text": value, "by": value]),
      (.memoryRead, ["scope": value, "key": value, "value": value]),
      (.memoryWritten, ["scope": value, "key": value, "value": value]),
      (.breakerChanged, ["tool": value, "state": "open", "failures": 1]),
      (.runResumed, ["why": value]),
      (.stop, ["reason": "success", "detail": value, "answer": value, "final": true]),
      (EventType(rawValue: text), ["x": value]),
      (.decision, ["kind": value]), (.toolResult, [:]),
    ]
    return data.enumerated().map { index, entry in
      Event(
        seq: index == 20 ? 1 << 52 : index, step: index, type: entry.0, runId: text,
        time: text, t: index, data: entry.1)
    }
  }

  @Test("whatever a trace holds, each line is one line, no wider than asked", arguments: hostile)
  func hostileTexts(text: String) {
    for width in [40, 41, 60, 80, 120, 200] {
      let lines = timeline(of: Self.events(holding: text), width: width)
      #expect(lines.count >= 20)
      for line in lines {
        #expect(line.count <= width, "\(width): \(line)")
        #expect(
          line.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value)
              && !(0x2028...0x202e).contains($0.value)
          }, "\(line.debugDescription)")
      }
    }
  }

  @Test("colours are the only escape sequences, and each is taken back")
  func colours() {
    let painter = Painter(isColoured: true)
    for text in Self.hostile {
      let events = Self.events(holding: text)
      let coloured = timeline(of: events, painter: painter)
      #expect(coloured.contains { $0.contains("\u{1b}[") })
      for (line, without) in zip(coloured, timeline(of: events)) {
        // What is left without colours is the plain line.
        #expect(line.replacing(/\u{1b}\[[0-9;]*m/, with: "") == without)
        #expect(
          line.ranges(of: /\u{1b}\[[1-9][0-9;]*m/).count == line.ranges(of: "\u{1b}[0m").count)
      }
    }
  }

  @Test("every type of event is told of, or passed over on purpose")
  func everyType() {
    let silent: Set<EventType> = [.modelResult, .toolStarted]
    for event in Self.events(holding: "x") {
      let lines = timeline(of: [event])
      #expect(lines.contains { $0.hasPrefix("    ") && $0.contains("x") } || !lines.isEmpty)
      if silent.contains(event.type) {
        var quiet = event
        quiet.data["error"] = nil
        quiet.data["reply"] = ["text": "x"]
        quiet.data["attempt"] = 1
        #expect(!timeline(of: [quiet]).contains { $0.contains("retry") })
      }
    }
  }

  @Test("the timeline of every fixture is its golden", arguments: Golden.timelines)
  func goldens(path: String) throws {
    // What is written to a file is not cut.
    let lines = timeline(
      of: try Golden.events(of: Golden.name(of: path)), width: Visible.unlimited)
    #expect(lines.joined(separator: "\n") + "\n" == (try Project.text(path)))
  }

  @Test("there is a golden for every recorded run")
  func complete() {
    func names(in folder: String) -> [String] {
      Project.files(below: folder, ending: ".jsonl.gz").map {
        String($0.dropFirst(folder.count + 1).dropLast(".jsonl.gz".count))
      }
    }
    let logs = names(in: "Fixtures/runs") + names(in: "Fixtures/forks").map { "fork-\($0)" }
    #expect(Golden.timelines.map(Golden.name).sorted() == (logs + ["torn"]).sorted())
    #expect(Golden.steps.count >= 8)
  }

  @Test(
    "a fixture shown on a narrow or a wide terminal stays within it", arguments: Golden.timelines)
  func widths(path: String) throws {
    let events = try Golden.events(of: Golden.name(of: path))
    for width in [40, 57, 80, 250] {
      #expect(timeline(of: events, width: width).allSatisfy { $0.count <= width })
    }
    // Narrower than anything can be shown on: as on forty columns.
    #expect(timeline(of: events, width: 1) == timeline(of: events, width: 40))
  }
}

@Suite("Steps in full")
struct StepReportTests {
  static func lines(
    step: Int, of events: [Event], width: Int = 120, painter: Painter = plain
  ) -> [String] {
    var state = AgentState()
    for event in events where event.step <= step { state.apply(event) }
    return StepReport(painter: painter, width: width)
      .lines(step: step, events: events.filter { $0.step == step }, state: state)
  }

  @Test("a step in full is its golden", arguments: Golden.steps)
  func goldens(path: String) throws {
    let parts = Golden.name(of: path).components(separatedBy: ".step-")
    let step = try #require(Int(parts[1]))
    let lines = Self.lines(
      step: step, of: try Golden.events(of: parts[0]), width: Visible.unlimited)
    #expect(lines.joined(separator: "\n") + "\n" == (try Project.text(path)))
  }

  @Test("whatever a step holds, its lines are no wider than asked and do nothing to a terminal")
  func hostileTexts() {
    for text in TimelineTests.hostile where text.utf8.count < 10_000 {
      let value = JSONValue.string(text)
      let context = Event(
        seq: 0, step: 1, type: .contextBuilt, runId: text,
        data: [
          "runId": value, "goal": value,
          "prompt": [
            "messages": [
              ["role": value, "content": [["type": "text", "text": value], ["type": value]]],
              [
                "role": "tool",
                "content": [["type": "tool_result", "callId": value, "data": value]],
              ],
              ["role": "x", "content": [["type": "tool_call", "name": value, "input": [value]]]],
              ["content": value], value,
            ]
          ],
          "included": [["ref": value, "reason": value]],
          "omittedRefs": [["ref": value, "reason": value]],
        ])
      for width in [40, 80, 120] {
        var events = [context]
        events += TimelineTests.events(holding: text).map { event in
          var event = event
          event.step = 1
          return event
        }
        for line in Self.lines(step: 1, of: events, width: width) {
          #expect(line.count <= width, "\(width): \(line)")
          #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
        }
      }
    }
  }

  @Test(
    "a prompt of megabytes is wrapped in time that grows with its length", .timeLimit(.minutes(1)))
  func longPrompt() {
    for text in [
      String(repeating: "x", count: 1_000_000), String(repeating: "ab ", count: 300_000),
    ] {
      let context = Event(
        seq: 0, step: 1, type: .contextBuilt, runId: "r",
        data: [
          "runId": "r", "goal": "g",
          "prompt": [
            "messages": [["role": "user", "content": [["type": "text", "text": .string(text)]]]]
          ],
        ])
      let lines = Self.lines(step: 1, of: [context])
      let said = lines.dropFirst(3).map { $0.dropFirst(11) }.joined()
      #expect(said.count { $0 == "x" || $0 == "a" } >= 300_000)
      #expect(lines.count < 20_000)
    }
  }
}
