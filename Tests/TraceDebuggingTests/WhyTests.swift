import AgentTrace
import TestSupport
import Testing
import TraceReporting
import TraceStorage

@testable import TraceDebugging

@Suite("Why a call has its arguments")
struct WhyTests {
  /// How the model was shown a result, or where else a value stood.
  private enum Showing: CaseIterable {
    /// As it came.
    case whole
    /// A marker stood in its place.
    case leftOut
    /// The turn was not in the packet at all.
    case gone
    /// A marker in its place, and the value in a summary.
    case summarised
    /// A marker in its place, and the value in what the model itself had said.
    case said
  }

  /// A run that looks so many things up, and a last call with all that it found and a value of its own.
  private static func run(_ showings: [Showing], padding: Int = 0) -> [Event] {
    var events: [Event] = []
    func add(_ type: EventType, _ step: Int, _ data: JSONObject) {
      events.append(
        Event(
          seq: events.count, step: step, type: type, runId: "r", t: events.count, data: data))
    }
    func text(_ role: String, _ text: String) -> JSONValue {
      ["role": .string(role), "content": [["type": "text", "text": .string(text)]]]
    }
    add(
      .runStarted, 0,
      [
        "formatVersion": 2, "agent": ["name": "a"], "goal": "find all of it", "limits": [:],
        "policyContext": [:], "tools": [],
      ])
    var messages = [text("system", "Be quick."), text("user", "find all of it")]
    for (index, showing) in showings.enumerated() {
      let (step, callId) = (index + 1, "\(index + 1).1.0")
      let value = "value-\(index)x"
      add(.contextBuilt, step, ["prompt": ["messages": []]])
      add(
        .decision, step,
        ["kind": "tool", "calls": [["callId": .string(callId), "name": "look", "input": [:]]]])
      add(
        .toolStarted, step,
        ["callId": .string(callId), "tool": "look", "attempt": 1, "idempotencyKey": "k"])
      add(
        .toolResult, step,
        [
          "callId": .string(callId), "tool": "look", "status": "ok",
          "data": ["id": .string(value), "pad": .string(String(repeating: "p", count: padding))],
        ])
      guard showing != .gone else { continue }
      let call: JSONValue = [
        "type": "tool_call", "callId": .string(callId), "name": "look", "input": [:],
      ]
      messages.append(["role": "assistant", "content": [call]])
      let data: JSONValue = showing == .whole ? ["id": .string(value)] : "[left out]"
      messages.append([
        "role": "tool",
        "content": [["type": "tool_result", "callId": .string(callId), "data": data]],
      ])
      if showing == .summarised { messages.append(text("user", "So far: \(value).")) }
      if showing == .said { messages.append(text("assistant", "I saw \(value).")) }
    }
    let step = showings.count + 1
    add(.contextBuilt, step, ["prompt": ["messages": .array(messages)]])
    var input: JSONObject = ["own": "never-seen"]
    for index in showings.indices { input["v\(index)"] = .string("value-\(index)x") }
    add(
      .decision, step,
      [
        "kind": "tool",
        "calls": [["callId": .string("\(step).1.0"), "name": "send", "input": .object(input)]],
      ])
    return events
  }

  private static func told(_ session: DebugSession, _ command: String) throws -> [String] {
    try session.execute(command).map { $0.painted(by: Painter(isColoured: false)) }
  }

  /// The lines about one argument.
  private static func lines(_ told: [String], of argument: String) -> String {
    let rest = told.drop { !$0.contains("/\(argument) = ") }.dropFirst()
    return rest.prefix { !$0.contains(" argument ") && $0.hasPrefix("   ") }.joined(separator: "\n")
  }

  @Test("a value is said to come from where the model was shown it, and from nowhere else")
  func shown() throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 22)
    for round in 0..<TestRun.count(40, long: 400) {
      let showings = (0..<Int.random(in: 1...7, using: &generator)).map { _ in
        Showing.allCases.randomElement(using: &generator) ?? .whole
      }
      let path = folder.path("run-\(round).jsonl.gz")
      let events = Self.run(showings)
      let writer = try LogWriter(creating: path, options: .init(durability: .none))
      for event in events { try writer.append(event, isEffectAhead: false) }
      _ = try writer.close()
      let session = DebugSession(try RunCursor(path: path))
      let last = "\(showings.count + 1).1.0"
      let told = try Self.told(session, "why \(last)")
      let packet = events.count - 2
      for (index, showing) in showings.enumerated() {
        let lines = Self.lines(told, of: "v\(index)")
        let result = "is event \(index * 4 + 4) /data/id, the result of look \(index + 1).1.0"
        #expect(lines.contains(result), "\(showing): \(lines)")
        #expect(lines.contains(": not shown to the model") == (showing != .whole), "\(lines)")
        switch showing {
        case .whole: #expect(!lines.contains("model's own") && !lines.contains("event \(packet)"))
        case .leftOut, .gone: #expect(lines.contains("nothing that the model was shown"))
        case .summarised:
          #expect(lines.contains("within event \(packet) /prompt/messages/"), "\(lines)")
          #expect(lines.contains(", the prompt"), "\(lines)")
        case .said: #expect(lines.contains("what the model itself had said"), "\(lines)")
        }
      }
      #expect(Self.lines(told, of: "own").contains("the model's own"))
      // From wherever one asks.
      for seq in [0, events.count / 2, events.count - 1] {
        try session.cursor.go(to: seq)
        #expect(try Self.told(session, "why \(last)") == told)
      }
    }
  }

  @Test("where a log holds no packets nothing is said of what the model was shown")
  func imported() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("run.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    var seq = 0
    for var event in Self.run([.leftOut, .whole]) where event.type != .contextBuilt {
      event.seq = seq
      seq += 1
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
    let told = try Self.told(DebugSession(try RunCursor(path: path)), "why 3.1.0")
    #expect(!told.contains { $0.contains("shown to the model") })
    #expect(
      told.contains { $0.contains("is event 3 /data/id, the result of look 1.1.0") }, "\(told)")
  }

  @Test("in a long run a value that was shown is found behind many that were not")
  func long() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("run.jsonl.gz")
    var showings = [Showing](repeating: .gone, count: TestRun.count(60, long: 600))
    showings[0] = .whole
    let writer = try LogWriter(
      creating: path, options: .init(checkpointBytes: 1 << 20, durability: .none))
    for var event in Self.run(showings, padding: 2_000) {
      // The same value in every result: only the first was shown.
      if event.type == .toolResult, var data = event.data["data"]?.objectValue {
        data["id"] = "value-0x"
        event.data["data"] = .object(data)
      }
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
    let told = try Self.told(
      DebugSession(try RunCursor(path: path)), "why \(showings.count + 1).1.0")
    let lines = Self.lines(told, of: "v0")
    #expect(lines.contains("is event 4 /data/id, the result of look 1.1.0"), "\(lines)")
    let first = lines.split(separator: "\n").first { $0.contains("event 4 ") }
    #expect(first?.contains("not shown") == false, "\(lines)")
  }
}
