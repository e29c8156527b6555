import AgentTrace
import Foundation
import Testing
import TraceImporting
import TraceStorage

/// Imports whole corpora and compares with what their labels say. The corpora are not part of the
/// project; the environment names a folder that holds them.
@Suite(.enabled(if: Corpora.folder != nil, "AGENT_EVAL_CORPORA names no folder"))
struct CorporaTests {
  @Test(
    "every run of a corpus has the messages, calls, errors, tools and stop its label says",
    arguments: Corpora.known, [true, false])
  func labels(_ corpus: Corpus, isFormatGuessed: Bool) throws {
    let folder = "\(Corpora.folder ?? "")/\(corpus.name)"
    let output = try TemporaryFolder()
    var reports: [String: ImportReport] = [:]
    try Importer(format: isFormatGuessed ? nil : corpus.format, output: output.path)
      .run(paths: try corpus.paths(in: folder)) { report in
        reports["\(report.source.dropFirst(folder.count + 1))#\(report.index ?? -1)"] = report
      }
    let labels = try String(contentsOfFile: "\(folder)/labels.jsonl", encoding: .utf8)
      .split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(labels.count == reports.count)
    var mismatches: [String] = []
    for label in labels {
      let key = "\(label["file"]?.stringValue ?? "")#\(label["index"]?.intValue ?? -1)"
      mismatches += try Self.mismatches(reports[key], label, corpus).map { "\(key): \($0)" }
    }
    #expect(mismatches.isEmpty, "\(mismatches.count): \(mismatches.prefix(8))")
  }

  private static func mismatches(
    _ report: ImportReport?, _ label: JSONValue, _ corpus: Corpus
  ) throws -> [String] {
    guard let report else { return ["no report"] }
    if label["messages"] == 0 {
      return report.json["error"] == nil ? ["no messages, yet no error"] : []
    }
    guard case .imported(let log, _) = report.outcome else { return ["\(report.json)"] }
    let inside = try RecountedLog(path: log)
    var found: [String] = []
    for (ours, theirs) in corpus.fields {
      if report.json[ours] != label[theirs] { found.append("\(ours) printed: \(report.json)") }
      if let count = inside.counts[ours], label[theirs] != JSONValue(count) {
        found.append("\(ours) in the log: \(count), label \(label[theirs] ?? .null)")
      }
    }
    if let tools = label["tools"], tools != JSONValue(inside.tools) {
      found.append("tools: \(inside.tools)")
    }
    let stop = label["suggested_stop"]?.stringValue?.split(separator: " ").first.map(String.init)
    if inside.stop != stop || report.json["stopReason"]?.stringValue != stop {
      found.append("stop: \(inside.stop ?? "none"), label \(stop ?? "none")")
    }
    return found
  }
}

/// A corpus and how its labels name our counts.
struct Corpus: Sendable, CustomTestStringConvertible {
  var name: String
  var format: ImportFormat
  var fields: [(String, String)]
  /// Whether runs stand in a folder of their own, beside the labels.
  var hasRunsFolder = false

  var testDescription: String { name }

  func paths(in folder: String) throws -> [String] {
    if hasRunsFolder { return ["\(folder)/runs"] }
    return try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".json") }.sorted().map { "\(folder)/\($0)" }
  }
}

enum Corpora {
  static let folder = ProcessInfo.processInfo.environment["AGENT_EVAL_CORPORA"]

  static let known = [
    Corpus(
      name: "tau2-bench", format: .tau2,
      fields: [
        ("messages", "messages"), ("toolCalls", "agent_tool_calls"),
        ("userToolCalls", "user_tool_calls"), ("parallelTurns", "parallel_turns"),
        ("toolErrors", "tool_errors"),
      ]),
    Corpus(
      name: "tau-bench", format: .openAIMessages,
      fields: [
        ("messages", "messages"), ("toolCalls", "tool_calls"), ("toolErrors", "tool_error_results"),
      ]),
    Corpus(
      name: "agentdojo", format: .agentDojo,
      fields: [
        ("messages", "messages"), ("toolCalls", "tool_calls"), ("parallelTurns", "parallel_turns"),
        ("toolErrors", "tool_errors"),
      ], hasRunsFolder: true),
  ]
}

/// What stands in a log, counted without the importer's own counting.
struct RecountedLog {
  var counts = ["toolCalls": 0, "userToolCalls": 0, "parallelTurns": 0, "toolErrors": 0]
  var tools: [String] = []
  var stop: String?

  init(path: String) throws {
    var reader = try LogReader(path: path)
    while let event = try reader.next() {
      switch event.type {
      case .decision where event.data["kind"] == "tool":
        let calls = event.data["calls"]?.arrayValue ?? []
        if event.data["caller"] == nil || event.data["caller"] == "agent" {
          counts["toolCalls", default: 0] += calls.count
          counts["parallelTurns", default: 0] += calls.count > 1 ? 1 : 0
          tools += calls.compactMap { $0["name"]?.stringValue }
        } else {
          counts["userToolCalls", default: 0] += calls.count
        }
      case .toolResult where event.data["status"] == "error":
        counts["toolErrors", default: 0] += 1
      case .stop: stop = event.data["reason"]?.stringValue
      default: break
      }
    }
  }
}
