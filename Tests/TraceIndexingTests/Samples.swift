import AgentRuntime
import AgentTrace
import SQLite
import TestSupport
import TraceStorage

@testable import TraceIndexing

/// Makes the events of a run.
struct SampleRun {
  var events: [Event] = []
  private let runId: String

  init(
    runId: String = "run-1", caseId: String? = nil, agent: String = "clerk",
    goal: JSONValue = "File the letter", tags: [String] = [],
    time: String? = "2026-03-01T09:00:00.5Z", source: RunSource? = nil
  ) {
    self.runId = runId
    var started = RunStarted(agentName: agent, goal: goal)
    started.agentVersion = "3"
    started.modelName = "parrot-1"
    started.caseId = caseId
    started.trial = caseId == nil ? nil : 2
    started.tags = tags
    started.source = source
    events.append(
      Event(
        seq: 0, step: 0, type: .runStarted, runId: runId, time: time, data: started.encoded))
  }

  mutating func add(_ type: EventType, step: Int = 1, _ data: JSONObject) {
    events.append(
      Event(
        seq: events.count, step: step, type: type, runId: runId, t: events.count * 10, data: data))
  }

  mutating func decide(_ calls: [(id: String, tool: String)], step: Int = 1) {
    let calls = calls.map { ProposedCall(callId: $0.id, name: $0.tool, input: [:]) }
    add(.decision, step: step, DecisionPayload(.tool(calls)).encoded)
  }

  mutating func result(_ callId: String, step: Int = 1, status: String = "ok") {
    add(
      .toolResult, step: step, ["callId": .string(callId), "tool": "t", "status": .string(status)])
  }

  mutating func stop(
    _ reason: StopReason = .success, answer: String? = "Done", isFinal: Bool = true
  ) {
    add(
      .stop, Stop(reason: reason, detail: "final_answer", answer: answer, isFinal: isFinal).encoded)
  }

  /// A run with calls of every status and verdict.
  static func everything(_ number: Int = 0) -> SampleRun {
    var run = SampleRun(
      runId: "run-\(number)", caseId: "case-\(number % 7)", tags: ["nightly", "n\(number)"])
    run.add(
      .modelResult,
      [
        "purpose": "decide", "attempt": 1, "usage": ["inputTokens": 7, "outputTokens": 3],
        "cost": 0.25,
      ])
    run.decide([
      ("1.1.0", "read"), ("1.1.1", "write"), ("1.1.2", "drop"), ("1.1.3", "ask"), ("1.1.4", "cut"),
    ])
    for (id, verdict) in [("1.1.0", "allow"), ("1.1.2", "deny"), ("1.1.3", "approval_required")] {
      run.add(.policyDecision, ["callId": .string(id), "tool": "t", "status": .string(verdict)])
    }
    run.add(.toolStarted, ["callId": "1.1.0", "tool": "read", "attempt": 1])
    run.result("1.1.0")
    run.result("1.1.1", status: "error")
    run.result("1.1.2", status: "refused")
    run.add(.toolStarted, ["callId": "1.1.4", "tool": "cut", "attempt": 1])
    run.stop()
    return run
  }

  /// Events in any order, with ids that repeat and data that are not what they should be.
  ///
  /// - Parameter isReadable: whether decisions at least are; a summary leaves out the calls otherwise.
  static func random(seed: UInt64, isReadable: Bool = false) -> SampleRun {
    var generator = Seeded(seed: seed)
    func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &generator)] }
    var run = SampleRun()
    let ids = ["a", "b", "c", "é", "e\u{301}"]
    for index in 1...40 {
      let step = index / 5 + 1
      switch pick([0, 1, 2, 3, 4, 5, 6]) {
      case 0:
        run.decide(
          (0..<pick([0, 1, 2, 4])).map { _ in (pick(ids), pick(["x", "y"])) }, step: step)
      case 1:
        run.add(
          .decision, step: step,
          pick([
            ["kind": "answer", "text": "t"], ["kind": isReadable ? "tool" : "?"],
            ["kind": "invalid", "reason": "r"],
          ]))
      case 2: run.add(.toolStarted, step: step, ["callId": .string(pick(ids))])
      case 3: run.result(pick(ids), step: step, status: pick(["ok", "error", "refused", "odd"]))
      case 4:
        run.add(
          .policyDecision, step: step,
          ["callId": .string(pick(ids)), "status": pick(["allow", "deny", "hm"])])
      case 5:
        run.add(
          .modelResult, step: step,
          pick([
            ["usage": ["inputTokens": 5, "outputTokens": 2], "cost": 0.5], ["error": "e"],
            ["cost": 1], ["usage": "odd"], ["cost": 2, "callId": "a"],
            ["usage": ["inputTokens": 9_007_199_254_740_991, "outputTokens": -4]],
          ]))
      default:
        run.add(
          pick([.runResumed, .stop, .humanReplied]), step: step,
          ["reason": "blocked", "final": false])
      }
    }
    run.stop(pick([.success, .blocked]), answer: pick(["A", nil]))
    return run
  }
}

/// Writes a log, and gives its full path.
@discardableResult
func writeLog(
  _ run: SampleRun, _ name: String, in folder: TemporaryFolder, blockBytes: Int = 4096
) throws -> String {
  let path = folder.path(name)
  let writer = try LogWriter(
    creating: path, options: LogWriter.Options(blockBytes: blockBytes, durability: .none))
  for event in run.events { try writer.append(event, isEffectAhead: false) }
  _ = try writer.close()
  return path
}

/// The index of a folder, refreshed.
@discardableResult
func refreshed(
  _ folder: TemporaryFolder, fromSummary: Bool = true
) throws -> (index: RunIndex, report: RunIndex.Report) {
  var index = try RunIndex(folder: folder.path)
  let report = try index.refresh(fromSummary: fromSummary)
  return (index, report)
}

/// Changes an index as another program would: it knows nothing of sums.
func changeIndex(at path: String, _ script: String) throws {
  let connection = try Connection(path: path, for: .writing, busySeconds: 0)
  try connection.execute(script, to: "change it")
}

extension RunIndex {
  /// Every row of every table, a line each, without the columns named.
  func dump(without columns: Set<String> = []) throws -> [String] {
    try connection.read { connection in
      var lines: [String] = []
      for table in ["runs", "calls", "tags", "suiteRuns", "outcomes"] {
        let statement = try Statement(connection, "SELECT * FROM \(table)", to: "show \(table)")
        let names = statement.columns
        try statement.rows([]) { row in
          var cells: [String] = []
          for (column, name) in names.enumerated() where !columns.contains(name) {
            cells.append("\(name)=\(row.value(column).json)")
          }
          lines.append("\(table): " + cells.joined(separator: " "))
          return true
        }
      }
      return lines.sorted()
    }
  }

  /// The rows of a statement.
  func rows(_ sql: String) throws -> [[JSONValue]] {
    var rows: [[JSONValue]] = []
    _ = try run(RunQuery(sql), columns: { _ in }, row: { rows.append($0) })
    return rows
  }

  /// The first value of the first row.
  func value(_ sql: String) throws -> JSONValue? { try rows(sql).first?.first }

  func listed(_ change: (inout RunFilter) -> Void = { _ in }) throws -> [String] {
    var filter = RunFilter()
    change(&filter)
    var paths: [String] = []
    try list(filter) { run in
      paths.append(run["path"].stringValue ?? "")
      return true
    }
    return paths
  }
}
