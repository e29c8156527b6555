import AgentTrace
import TestSupport
import Testing
import TraceStorage

/// The recorded runs of the project: whole, torn and damaged.
struct RecordedLog: CustomTestStringConvertible, Sendable {
  var file: String
  var path: String { Project.path(file) }
  var testDescription: String { file }

  static let whole = Project.files(below: "Fixtures/runs", ending: ".jsonl.gz").map {
    RecordedLog(file: $0)
  }
  static let torn = Project.files(below: "Fixtures/torn", ending: ".open").map {
    RecordedLog(file: $0)
  }

  /// Every event that can be read before the first damage, and the state after each.
  func folded() throws -> [Folded] { try foldedLog(path) }
}

/// An event, and the state after it as folding from the beginning gives it.
struct Folded: Sendable {
  var event: Event
  var state: AgentState
}

/// Every event of a log that can be read before the first damage, and the state after each.
func foldedLog(_ path: String) throws -> [Folded] {
  var reader = try LogReader(path: path)
  var state = AgentState()
  var all: [Folded] = []
  while let event = try nextIntact(&reader) {
    state.apply(event)
    all.append(Folded(event: event, state: state))
  }
  return all
}

private func nextIntact(_ reader: inout LogReader) throws -> Event? {
  do { return try reader.next() } catch {
    guard error.isDamage else { throw error }
    return nil
  }
}

/// A run of random events, long enough for checkpoints, with steps of any length.
func writeRandomLog(
  to path: String, events count: Int, using generator: inout Seeded, closes: Bool = true,
  textBytes: Int = 1_500
) throws {
  let writer = try LogWriter(creating: path, options: .init(blockBytes: 16 << 10))
  for event in randomEvents(count, using: &generator, textBytes: textBytes) {
    try writer.append(event, isEffectAhead: false)
  }
  if closes { _ = try writer.close() }
}

/// Events as a run might hold them, with contexts that repeat themselves.
func randomEvents(
  _ count: Int, using generator: inout Seeded, textBytes: Int = 1_500
) -> [Event] {
  var run = RandomRun(textBytes: textBytes)
  while run.events.count < count { run.addSome(using: &generator) }
  return run.events
}

private struct RandomRun {
  let textBytes: Int
  var events = [
    Event(
      seq: 0, step: 0, type: .runStarted, runId: "random",
      data: [
        "formatVersion": 2, "agent": ["name": "random"], "goal": "find 42", "limits": [:],
        "policyContext": [:], "tools": [],
      ])
  ]
  private var messages: [JSONValue] = []
  private var step = 0
  private var calls: [String] = []

  init(textBytes: Int) { self.textBytes = textBytes }

  private mutating func add(_ type: EventType, _ data: JSONObject) {
    events.append(
      Event(
        seq: events.count, step: step, type: type, runId: "random", t: events.count * 1_000,
        data: data))
  }

  mutating func addSome(using generator: inout Seeded) {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1: addContext(using: &generator)
    case 2, 3:
      let count = Int.random(in: 1...3, using: &generator)
      calls = (0..<count).map { index in "\(step).1.\(index)" }
      let proposed = calls.map {
        ProposedCall(callId: $0, name: "look", input: ["at": .string($0)])
      }
      add(.decision, DecisionPayload(.tool(proposed)).encoded)
    case 4:
      guard let call = calls.first else { return }
      add(
        .toolStarted,
        ToolStartedPayload(callId: call, tool: "look", attempt: 1, idempotencyKey: call).encoded)
    case 5, 6:
      guard let call = calls.popLast() else { return }
      let data: JSONValue = ["seen": .string(String(repeating: "x", count: textBytes))]
      add(
        .toolResult,
        ToolResultPayload(callId: call, tool: "look", result: .ok(data: data)).encoded)
    case 7: add(.humanReplied, ["text": .string("said \(events.count)")])
    case 8:
      add(
        .modelResult,
        ["purpose": "decide", "attempt": 1, "usage": ["inputTokens": 3, "outputTokens": 2]])
    default:
      let note = MemoryNote(
        scope: "s", key: "k\(events.count % 7)", value: JSONValue(events.count))
      add(.memoryWritten, note.encoded)
    }
  }

  private mutating func addContext(using generator: inout Seeded) {
    step += Int.random(in: 1...2, using: &generator)
    let number = UInt32.random(in: 0...(.max), using: &generator)
    let text = String(repeating: "word \(number) ", count: textBytes / 16)
    messages.append(["role": "user", "content": [["type": "text", "text": .string(text)]]])
    if messages.count > 3 { messages.removeFirst(2) }
    let packet = ContextPacket(
      runId: "random", goal: "find 42", stateSummary: [:], observations: [],
      toolsDisclosed: ["look"], evidenceRefs: [], memoryRefs: [],
      included: [ContextItem(ref: "goal", reason: "the goal")], omittedRefs: [],
      messages: messages, tokenEstimate: 1, tokenBudget: nil)
    add(.contextBuilt, packet.encoded)
  }
}
