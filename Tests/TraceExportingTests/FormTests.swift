import AgentTrace
import TestSupport
import Testing
import TraceExporting
import TraceJudging

@Suite("The forms that runs are exported in")
struct FormTests {
  private static func json(_ format: ExportFormat, _ log: String) throws -> JSONValue {
    let folder = try TemporaryFolder()
    let path = folder.path("x\(format.ending)")
    try Exporting.export(format, [Project.path(log)], to: path, isPlain: true)
    return try JSONValue(parsing: try Exporting.bytes(path))
  }

  private static func spans(_ log: String) throws -> [JSONValue] {
    try json(.otlpJSON, log)["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.arrayValue ?? []
  }

  @Test(
    "spans are one tree with one root, with identifiers of their own, within the times of the root")
  func tree() throws {
    for log in Exporting.logs {
      let spans = try Self.spans(log)
      let ids = spans.compactMap { $0["spanId"]?.stringValue }
      #expect(Set(ids).count == spans.count, "\(log)")
      #expect(Set(spans.compactMap { $0["traceId"]?.stringValue }).count == 1)
      let roots = spans.filter { $0["parentSpanId"] == nil }
      #expect(roots.count == 1)
      for span in spans {
        if let parent = span["parentSpanId"]?.stringValue { #expect(ids.contains(parent)) }
        let attributes = span["attributes"]?.arrayValue ?? []
        #expect(attributes.count <= 128)
        #expect(Set(attributes.compactMap { $0["key"]?.stringValue }).count == attributes.count)
        let (start, end) = (
          UInt64(span["startTimeUnixNano"]?.stringValue ?? ""),
          UInt64(span["endTimeUnixNano"]?.stringValue ?? "")
        )
        #expect(try #require(start) <= #require(end))
      }
    }
  }

  @Test(
    "outcomes of a results file are events of the run's span, scored only where they are a yes or a no"
  )
  func evaluations() throws {
    let log = "Fixtures/runs/hidden-deletion.jsonl.gz"
    let before = try Exporting.trajectory(Project.path(log))
    let expectations = try Expectations(
      parsing: ["toolsNotCalled": ["delete_*"], "stopReason": "success", "toolsCalled": ["none"]])
    var result = CaseResult(caseId: "case", position: "x:1")
    result.trials = [
      TrialResult(
        runId: before.runId, log: log, judgedFrom: "body",
        judgement: Judge.judge(before, against: expectations))
    ]
    let results = try RunResults(decoding: EvalResults(cases: [result], skipped: []).json)
    let folder = try TemporaryFolder()
    let path = folder.path("x.jsonl")
    try Exporting.export(.otlpJSON, [Project.path(log)], to: path, results: results)
    let value = try JSONValue(parsing: try Exporting.bytes(path))
    let events =
      value["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?[0]?["events"]?.arrayValue ?? []
    #expect(events.count == 3 && events.allSatisfy { $0["name"] == "gen_ai.evaluation.result" })
    let scores = events.map { event -> Double? in
      (event["attributes"]?.arrayValue ?? []).first {
        $0["key"] == "gen_ai.evaluation.score.value"
      }?["value"]?["doubleValue"]?.doubleValue
    }
    #expect(scores.compactMap { $0 }.sorted() == [0, 0, 1])
  }

  /// Rows of CSV as RFC 4180 has them.
  private static func rows(_ text: String) -> [[String]] {
    var (rows, row, field): ([[String]], [String], String.UnicodeScalarView) = ([], [], .init())
    var isQuoted = false
    var scalars = Array(text.unicodeScalars)[...]
    while let scalar = scalars.popFirst() {
      if isQuoted {
        if scalar == "\"", scalars.first == "\"" {
          field.append("\"")
          scalars = scalars.dropFirst()
        } else if scalar == "\"" {
          isQuoted = false
        } else {
          field.append(scalar)
        }
      } else if scalar == "\"" {
        isQuoted = true
      } else if scalar == "," || scalar == "\n" {
        row.append(String(field))
        field = .init()
        guard scalar == "\n" else { continue }
        rows.append(row)
        row = []
      } else if scalar != "\r" {
        field.append(scalar)
      }
    }
    return rows
  }

  @Test("a row of CSV and a line of JSON say the same, whatever stands in them")
  func tables() throws {
    let folder = try TemporaryFolder()
    let logs = Exporting.logs.map(Project.path)
    try Exporting.export(.csv, logs, to: folder.path("csv/"))
    try Exporting.export(.ndjson, logs, to: folder.path("lines/"))
    for table in [ExportTable.runs, .calls] {
      let text = String(
        decoding: try Exporting.bytes(folder.path("csv/\(table.rawValue).csv")), as: UTF8.self)
      let rows = Self.rows(text)
      #expect(rows.first == table.columns)
      let lines = try Exporting.bytes(folder.path("lines/\(table.rawValue).ndjson"))
        .split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
      #expect(lines.count == rows.count - 1 && lines.count >= logs.count)
      for (row, line) in zip(rows.dropFirst(), lines) {
        let told = table.columns.map { column -> String in
          let value = line[column] ?? .null
          return value.isNull ? "" : value.stringValue ?? CanonicalJSON.string(value)
        }
        #expect(told == row)
      }
    }
    #expect(!folder.listing.contains { $0.contains("outcomes") })
  }

  @Test("in a trace for Perfetto no two slices of a lane overlap")
  func lanes() throws {
    for log in Exporting.logs {
      let events = try Self.json(.chromeTrace, log)["traceEvents"]?.arrayValue ?? []
      var ends: [Int: Int] = [:]
      for event in events where event["ph"] == "X" && event["cat"] == "tool" {
        let (lane, start) = (event["tid"]?.intValue ?? 0, event["ts"]?.intValue ?? 0)
        let length = try #require(event["dur"]?.intValue)
        #expect(length >= 0)
        if let end = ends[lane] { #expect(start >= end, "\(log)") }
        ends[lane] = start + length
      }
      #expect(events.contains { $0["ph"] == "M" })
    }
  }
}
