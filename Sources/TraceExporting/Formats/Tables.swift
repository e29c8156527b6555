import AgentTrace
import TraceJudging

/// Runs, calls and outcomes as rows of tables, for whatever reads CSV or a line of JSON for each row. Columns are
/// added at the end and never renamed.
public enum ExportTable: String, Sendable, Hashable, CaseIterable {
  /// A row for each run.
  case runs
  /// A row for each call that a run's decisions held, and each that ran without one.
  case calls
  /// A row for each outcome that a results file has of the runs.
  case outcomes

  /// The names of the columns, in order.
  public var columns: [String] {
    switch self {
    case .runs:
      [
        "run_id", "agent", "agent_version", "model", "case_id", "tags", "source_format", "started",
        "duration_us", "stop_reason", "stop_detail", "steps", "model_calls", "tool_calls",
        "tool_errors", "refused", "input_tokens", "output_tokens", "cost", "goal", "answer", "log",
        "parent_run_id",
      ]
    case .calls:
      [
        "run_id", "seq", "step", "call_id", "caller", "tool", "input", "verdict", "rule", "status",
        "effect_unknown", "started_us", "ended_us", "result",
      ]
    case .outcomes:
      [
        "run_id", "case_id", "case_outcome", "expectation", "outcome", "severity", "message",
        "events",
      ]
    }
  }

  func rows(of story: RunStory, log: String, results: [RunResult]) -> [[JSONValue]] {
    switch self {
    case .runs: [Self.run(story, log)]
    case .calls: Self.calls(story)
    case .outcomes: Self.outcomes(story, results)
    }
  }

  private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

  private static func count(_ count: Int?) -> JSONValue { count.map { JSONValue($0) } ?? .null }

  private static func run(_ story: RunStory, _ log: String) -> [JSONValue] {
    var (models, steps) = (0, Set<Int>())
    var (called, failed, refused) = (0, 0, 0)
    for item in story.items {
      switch item {
      case .said: break
      case .model: models += 1
      case .turn(let turn):
        steps.insert(turn.step)
        called += turn.calls.count { !story.taskCalls.contains($0.callId) }
      case .result(let result):
        if result.status == "error", !story.taskCalls.contains(result.callId) { failed += 1 }
        if result.status == "refused" { refused += 1 }
      }
    }
    // What the runs used that are parts of it is in its row, as in an index.
    let below = story.usedBelow
    let usage = story.usageOfTree
    let isOfTasks = story.start["inputs"]?["pipeline"]?.objectValue != nil
    let parent = story.start["parent"]
    return [
      .string(story.runId), .string(story.agentName), text(story.agentVersion),
      text(story.modelName), text(story.start["case"]?["caseId"]?.stringValue),
      text(
        story.start["tags"]?.arrayValue.map {
          $0.compactMap(\.stringValue).joined(separator: " ")
        }),
      text(story.start["source"]?["format"]?.stringValue),
      text(story.began > 0 ? UTCTime.text(story.began) : nil), JSONValue(story.last.t),
      text(story.stop?.reason.rawValue), text(story.stop?.detail),
      JSONValue(isOfTasks ? below?.steps ?? 0 : steps.count),
      JSONValue(models &+ (below?.modelCalls ?? 0)), JSONValue(called &+ (below?.toolCalls ?? 0)),
      JSONValue(failed), JSONValue(refused),
      count(usage.input), count(usage.output),
      usage.cost.map { JSONValue(Figures.money($0)) } ?? .null,
      .string(story.goal), text(story.answer), .string(log),
      text(ParentRun.isPart(parent) ? parent?["runId"]?.stringValue : nil),
    ]
  }

  private static func calls(_ story: RunStory) -> [[JSONValue]] {
    var results = ResultsOfCalls(story)
    var rows: [[JSONValue]] = []
    for case .turn(let turn) in story.items {
      for call in turn.calls {
        rows.append(
          row(
            story, turn.seq, turn.step, (call.callId, call.name, turn.caller),
            .string(CanonicalJSON.string(call.input, form: .plain)),
            results.take(call.callId, behind: turn.seq)))
      }
    }
    // What ran though no decision holds it.
    for result in results.left {
      rows.append(
        row(
          story, result.seq, 0, (result.callId, result.tool, result.caller), .null, result))
    }
    return rows
  }

  private static func row(
    _ story: RunStory, _ seq: Int, _ step: Int, _ call: (id: String, tool: String, caller: String?),
    _ input: JSONValue, _ result: RunStory.Result?
  ) -> [JSONValue] {
    let verdict = story.verdicts[call.id]
    return [
      .string(story.runId), JSONValue(seq), JSONValue(step), .string(call.id),
      .string(call.caller ?? "agent"), .string(call.tool), input, text(verdict?.status),
      text(verdict?.ruleId), text(result?.status), .bool(result?.isEffectUnknown ?? false),
      count(story.started[call.id]?.t), count(result?.at.t),
      text(result.map { RunStory.text($0.content) }),
    ]
  }

  private static func outcomes(_ story: RunStory, _ results: [RunResult]) -> [[JSONValue]] {
    results.flatMap { result in
      result.expectations.map { expectation in
        [
          .string(story.runId), .string(result.caseId), .string(result.outcome.rawValue),
          .string(expectation.expectation), .string(expectation.outcome.rawValue),
          .string(expectation.severity.rawValue), .string(expectation.message),
          .string(expectation.events.map { String($0) }.joined(separator: " ")),
        ]
      }
    }
  }
}

/// Which result is whose, also where a later decision has a call of the same id.
private struct ResultsOfCalls {
  private var results: [String: [RunStory.Result]] = [:]
  /// The numbers of the decisions that hold a call of an id.
  private var decisions: [String: [Int]] = [:]

  init(_ story: RunStory) {
    for item in story.items {
      switch item {
      case .said, .model: break
      case .turn(let turn):
        for call in turn.calls { decisions[call.callId, default: []].append(turn.seq) }
      case .result(let result): results[result.callId, default: []].append(result)
      }
    }
  }

  /// Takes the first result of a call that came before the next decision with its id.
  mutating func take(_ callId: String, behind seq: Int) -> RunStory.Result? {
    let next = decisions[callId]?.first { $0 > seq } ?? .max
    guard
      let index = results[callId]?.firstIndex(where: { $0.seq > seq && $0.seq < next })
    else { return nil }
    return results[callId]?.remove(at: index)
  }

  /// What nobody took, in the order in which it came.
  var left: [RunStory.Result] { results.values.flatMap(\.self).sorted { $0.seq < $1.seq } }
}

/// Rows as text.
enum TableText {
  /// A row of CSV (RFC 4180, but for lines that end as lines do here): what is not a plain word stands in quotation marks; nothing stands for nothing.
  /// A text that a spreadsheet would take for a formula begins with an apostrophe, as OWASP has it
  /// (https://owasp.org/www-community/attacks/CSV_Injection); numbers stay.
  static func csv(_ row: [JSONValue]) -> String {
    row.map { value in
      switch value {
      case .null: ""
      case .string(let text): quoted(mayBeFormula(text) ? "'\(text)" : text)
      default: CanonicalJSON.string(value, form: .plain)
      }
    }.joined(separator: ",") + "\n"
  }

  /// Whether a text begins as formulas do, and is no number.
  private static func mayBeFormula(_ text: String) -> Bool {
    switch text.unicodeScalars.first {
    case "=", "@", "\t", "\r", "\n", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}": true
    case "+", "-": text.wholeMatch(of: /[+-][0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/) == nil
    default: false
    }
  }

  private static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.utf8.allSatisfy {
        $0 > 0x20 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"")
      }
    guard !isPlain else { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted.append("\"") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }

  /// A row as an object in JSON on a line.
  static func json(_ row: [JSONValue], _ columns: [String]) -> String {
    CanonicalJSON.string(.object(JSONObject(Array(zip(columns, row)))), form: .plain) + "\n"
  }
}
