import AgentTrace
import Foundation
import TestSupport
import TraceStorage

/// A folder that goes away with the test.
final class TemporaryFolder {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("trace-storage-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }
}

/// Whether proofs run whole (`bin/test --long`) rather than as samples.
let isLongRun = TestRun.isLong

/// Into how many parts, side by side, the longest proofs are cut.
let proofParts = isLongRun ? 16 : 1

/// Makes runs of random events that try every corner of the line format.
struct RandomRun {
  var generator: Seeded
  private var phrases: [String] = []
  private var messages: [JSONValue] = []

  init(seed: UInt64) { generator = Seeded(seed: seed) }

  static func events(seed: UInt64, count: Int, endsWithStop: Bool = true) -> [Event] {
    var run = RandomRun(seed: seed)
    var events: [Event] = []
    for seq in 0..<count {
      events.append(run.event(seq: seq, isLast: seq == count - 1 && endsWithStop))
    }
    return events
  }

  mutating func event(seq: Int, isLast: Bool) -> Event {
    let step = seq / 4
    let make = { (type: EventType, data: JSONObject) in
      Event(
        seq: seq, step: step, type: type, runId: "run-1",
        time: seq % 3 == 0 ? nil : "2026-11-21T12:00:00.123456Z", t: seq * 1000, data: data)
    }
    if seq == 0 {
      return make(
        .runStarted,
        RunStarted(
          agentName: "random", goal: .string(text()), limits: Limits(maxSteps: 9),
          policyContext: PolicyContext()
        ).encoded)
    }
    if isLast { return make(.stop, Stop(reason: .success, answer: text()).encoded) }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0, 1: return make(.contextBuilt, packet())
    case 2:
      return make(.modelResult, ["purpose": "decide", "attempt": 1, "reply": value(depth: 3)])
    case 3: return make(.humanReplied, ["text": .string(text()), "by": "somebody"])
    case 4:
      return make(
        .toolResult, ["callId": "1.1.0", "tool": "t", "status": "ok", "data": value(depth: 4)])
    default: return make(EventType(rawValue: "of_tomorrow"), ["what": value(depth: 2)])
    }
  }

  private mutating func packet() -> JSONObject {
    for _ in 0..<Int.random(in: 0...2, using: &generator) {
      messages.append(
        ["role": "user", "content": [["type": "text", "text": .string(text())]]])
    }
    if Int.random(in: 0..<8, using: &generator) == 0 { messages.shuffle(using: &generator) }
    if Int.random(in: 0..<8, using: &generator) == 0, let first = messages.first {
      messages.append(first)
    }
    var data = ContextPacket(
      runId: "run-1", goal: .string(text()), stateSummary: ["steps": 3],
      observations: Array(messages.suffix(3)), toolsDisclosed: ["a", "b"], evidenceRefs: ["1.1.0"],
      memoryRefs: [], included: [ContextItem(ref: "goal", reason: "always")], omittedRefs: [],
      messages: messages, tokenEstimate: 10, tokenBudget: nil
    ).encoded
    if Int.random(in: 0..<6, using: &generator) == 0 {
      data["observations"] = [[1, 2], value(depth: 1)]
    }
    if Int.random(in: 0..<6, using: &generator) == 0 { data["memoryRefs"] = "no list" }
    return data
  }

  mutating func value(depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 8), using: &generator) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2: return JSONValue(Int.random(in: -1000...1000, using: &generator))
    case 3: return JSONValue(Double.random(in: -1e9...1e9, using: &generator))
    case 4, 5: return .string(text())
    case 6: return .bytes((0..<Int.random(in: 0...400, using: &generator)).map { UInt8($0 & 255) })
    case 7:
      return Bool.random(using: &generator)
        ? .cut(bytes: 9_000_000, head: text()) : .lost("12/gone")
    case 8, 9:
      return .array(
        (0..<Int.random(in: 0...4, using: &generator)).map { _ in value(depth: depth - 1) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        object[Self.keys.randomElement(using: &generator) ?? "a"] = value(depth: depth - 1)
      }
      return .object(object)
    }
  }

  private static let keys = [
    "a", "b", "text", "$same", "$list", "$$list", "$$$cut", "$bytes", "$lost", "$other", "", "a/b",
    "m~n", "~1", "0", "é", "e\u{301}", "🙂", "\u{0}", "line\nbreak", "\"quoted\"", "data",
  ]

  /// Text that often repeats, short or long.
  mutating func text() -> String {
    if !phrases.isEmpty, Bool.random(using: &generator) {
      return phrases.randomElement(using: &generator) ?? ""
    }
    let length = [0, 5, 80, 255, 256, 257, 700, 3000].randomElement(using: &generator) ?? 5
    let alphabet = Array("abcdefgh ijkl\nmnop\"\\/\u{1}é🙂".unicodeScalars)
    var text = String.UnicodeScalarView()
    while text.count < length {
      text.append(alphabet.randomElement(using: &generator) ?? "x")
    }
    let phrase = String(text)
    phrases.append(phrase)
    return phrase
  }
}

/// Writes a log, and gives its path.
@discardableResult
func writeLog(
  _ events: [Event], to path: String, options: LogWriter.Options = .init(durability: .none)
) throws -> LogWriter.ClosedLog {
  let writer = try LogWriter(creating: path, options: options)
  for event in events { try writer.append(event, isEffectAhead: false) }
  return try writer.close()
}

/// All events of a log.
func readEvents(_ path: String, options: LogReader.Options = .init()) throws -> [Event] {
  var reader = try LogReader(path: path, options: options)
  var events: [Event] = []
  while let event = try reader.next() { events.append(event) }
  return events
}
