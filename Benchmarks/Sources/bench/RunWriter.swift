import AgentTrace
import TraceStorage

/// Makes up a run, event by event, as an agent of a help desk might live it.
struct RunWriter {
  /// What the texts of a run are like.
  struct Shape {
    /// Of each context, reply and result that is new.
    var contextBytes = 5_400
    var replyBytes = 5_000
    var resultBytes = 5_600
    /// How much of a context was said before, in percent.
    var repeatedPercent = 0
  }

  static let tools = [
    "lookup_order", "search_orders", "read_policy", "draft_refund", "issue_refund", "send_email",
    "read_calendar", "update_address",
  ]

  let runId: String
  var shape = Shape()
  var text: TextSource
  private(set) var seq = 0
  private(set) var plainBytes = 0
  /// What was said and can be said again, oldest first.
  private var said: [String] = []
  private let take: (Event) throws -> Void

  init(runId: String, seed: UInt64, take: @escaping (Event) throws -> Void) {
    self.runId = runId
    text = TextSource(seed: seed)
    self.take = take
  }

  private mutating func put(_ type: EventType, step: Int, _ data: JSONObject) throws {
    let event = Event(
      seq: seq, step: step, type: type, runId: runId, time: nil, t: seq * 20_011, data: data)
    try take(event)
    seq += 1
  }

  mutating func start() throws {
    let tools = Self.tools.map { name -> JSONValue in
      [
        "name": .string(name), "description": "Does what its name says, and nothing else.",
        "inputSchema": [
          "type": "object", "properties": ["id": ["type": "string"], "note": ["type": "string"]],
          "required": ["id"],
        ], "sideEffect": name.hasPrefix("issue") ? "write" : "read",
      ]
    }
    try put(
      .runStarted, step: 0,
      [
        "formatVersion": 2, "agent": ["name": "help-desk", "version": "1"],
        "goal": .string(text.text(200)), "limits": ["maxSteps": 1_000_000],
        "policyContext": ["actorId": "a-1", "tenantId": "t-1"], "tools": .array(tools),
        "model": ["provider": "bench", "name": "made-up"], "seed": 1,
      ])
  }

  /// One step: a context, a reply, a decision with one call, its verdict, start and result.
  mutating func step(_ step: Int) throws {
    try context(step)
    let tool = Self.tools[text.below(Self.tools.count)]
    let callId = "\(step).1.0"
    let input: JSONValue = [
      "id": .string(text.identifier("ORD")), "note": .string(text.text(60)),
      "limit": JSONValue(text.below(50)),
    ]
    let thought = remember(text.text(shape.replyBytes))
    try put(
      .modelResult, step: step,
      [
        "purpose": "decide", "attempt": 1, "finishReason": "tool_calls", "model": "made-up",
        "reply": [
          "role": "assistant", "content": .string(thought),
          "tool_calls": [["id": .string("call_\(step)"), "name": .string(tool), "input": input]],
        ], "usage": ["inputTokens": 1_800, "outputTokens": 900],
        "elapsedMicroseconds": JSONValue(100_000 + text.below(900_000)),
      ])
    try put(
      .decision, step: step,
      [
        "kind": "tool", "modelResult": JSONValue(seq - 1),
        "calls": [
          [
            "callId": .string(callId), "name": .string(tool), "input": input,
            "providerCallId": .string("call_\(step)"),
          ]
        ],
      ])
    try put(
      .policyDecision, step: step,
      [
        "callId": .string(callId), "tool": .string(tool), "status": "allow",
        "reason": "reading is allowed", "ruleId": "default",
        "context": ["approvedActionIds": [], "remainingSteps": 40],
      ])
    try put(
      .toolStarted, step: step,
      [
        "callId": .string(callId), "tool": .string(tool), "attempt": 1,
        "idempotencyKey": .string("\(runId)/\(callId)"),
      ])
    try put(
      .toolResult, step: step,
      [
        "callId": .string(callId), "tool": .string(tool), "status": "ok", "attempts": 1,
        "elapsedMicroseconds": JSONValue(text.below(90_000)), "data": result(),
      ])
  }

  /// Half records, half text.
  private mutating func result() -> JSONValue {
    var records: [JSONValue] = []
    for _ in 0..<(shape.resultBytes / 300) {
      records.append([
        "orderId": .string(text.identifier("ORD")), "customer": .string(text.identifier("C")),
        "status": text.below(2) == 0 ? "delivered" : "in transit",
        "total": JSONValue(text.below(90_000)), "city": .string(text.word()),
      ])
    }
    let body = remember(text.text(shape.resultBytes / 2))
    return ["records": .array(records), "body": .string(body)]
  }

  private mutating func context(_ step: Int) throws {
    var messages: [JSONValue] = []
    var fresh = shape.contextBytes
    let repeated = said.isEmpty ? 0 : shape.contextBytes * shape.repeatedPercent / 100
    var again = 0
    while again < repeated {
      // Mostly what was said just now, sometimes what was said long ago.
      let reach = text.below(50) == 0 ? said.count : min(said.count, 16)
      let old = said[said.count - 1 - text.below(reach)]
      again += old.utf8.count
      messages.append(Self.message("tool", old))
    }
    while fresh > 0 {
      let piece = text.text(min(fresh, 1_400))
      fresh -= piece.utf8.count
      messages.append(Self.message("user", piece))
    }
    try put(
      .contextBuilt, step: step,
      [
        "runId": .string(runId), "goal": "help", "stateSummary": ["steps": JSONValue(step)],
        "prompt": ["messages": .array(messages)], "tokens": ["estimate": 1_800, "budget": 8_000],
      ])
  }

  private static func message(_ role: String, _ text: String) -> JSONValue {
    ["role": .string(role), "content": [["type": "text", "text": .string(text)]]]
  }

  private mutating func remember(_ text: String) -> String {
    guard shape.repeatedPercent > 0 else { return text }
    said.append(text)
    if said.count > 4_000 { said.removeFirst(2_000) }
    return text
  }

  /// The answer and the stop.
  mutating func finish(step: Int, _ reason: StopReason = .success) throws {
    try context(step)
    let answer = text.text(300)
    try put(
      .modelResult, step: step,
      [
        "purpose": "decide", "attempt": 1,
        "reply": ["role": "assistant", "content": .string(answer)],
        "usage": ["inputTokens": 900, "outputTokens": 80],
      ])
    try put(
      .decision, step: step,
      ["kind": "answer", "text": .string(answer), "modelResult": JSONValue(seq - 1)])
    try put(
      .stop, step: step,
      [
        "reason": .string(reason.rawValue),
        "detail": reason == .success ? "final_answer" : "max_steps", "answer": .string(answer),
        "final": true,
      ])
  }
}
