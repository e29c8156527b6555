import AgentTrace
import TestSupport
import Testing
import TraceExporting
import TraceImporting
import TraceStorage

@Suite(
  "What becomes of damaged logs, exports that were changed, and outputs that are there already")
struct DamagedExportTests {
  @Test(
    "a log that is damaged is an error, and the others are exported",
    arguments: ExportFormat.allCases)
  func damagedLog(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let damaged = Project.path("Fixtures/damaged/error-recovered.jsonl.gz")
    let missing = folder.path("none.jsonl.gz")
    let sound = Project.path(Exporting.logs[0])
    var reports: [ExportReport] = []
    try Exporter(format: format, output: folder.path("out/"), version: "1").run(
      logs: [damaged, sound, missing]
    ) { reports.append($0) }
    #expect(reports.map { $0.error == nil } == [false, true, false])
    #expect(reports.map(\.files.isEmpty) == [true, false, true])
  }

  @Test(
    "a log that nobody closed is exported as far as it goes, does not go along, and that is said")
  func tornLog() throws {
    let folder = try TemporaryFolder()
    let torn = Project.path("Fixtures/torn/parallel-search.jsonl.gz.open")
    for format in Exporting.carrying {
      let report = try Exporting.export(
        format, [torn], to: folder.path("\(format.rawValue)\(format.ending)"))[0]
      #expect(report.note?.contains("not closed") == true)
      let text = String(decoding: try Exporting.bytes(report.files[0]), as: UTF8.self)
      #expect(!text.contains("agent_eval.log") && !text.contains("\"visible\":"))
    }
  }

  @Test("a file that is there and holds something else is never written over; the same bytes stay")
  func existing() throws {
    let folder = try TemporaryFolder()
    let log = Project.path(Exporting.logs[0])
    for format in ExportFormat.allCases {
      let path = try folder.write("there-\(format.rawValue)\(format.ending)", "mine")
      #expect(throws: ExportError.self) {
        try Exporter(format: format, output: path, version: "1").run(logs: [log]) { _ in }
      }
      #expect(try Exporting.bytes(path) == Array("mine".utf8))
      let other = folder.path("other-\(format.rawValue)\(format.ending)")
      try Exporting.export(format, [log], to: other)
      let first = try Exporting.bytes(other)
      try Exporting.export(format, [log], to: other)
      #expect(try Exporting.bytes(other) == first)
    }
    #expect(folder.listing.allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test("names of logs never lead out of the folder, and no two become one")
  func names() throws {
    let folder = try TemporaryFolder()
    let bytes = try Exporting.bytes(Project.path(Exporting.logs[0]))
    let names = [
      "in/a.jsonl.gz", "in/deep/a.jsonl.gz", "in/..jsonl.gz", "in/-rf.jsonl.gz",
      "in/\u{202e}x\n.jsonl.gz", "in/$(id).jsonl.gz",
    ]
    let logs = try names.map { try folder.write($0, bytes) }
    let reports = try Exporting.export(.atif, logs, to: folder.path("out/"))
    let files = reports.flatMap(\.files)
    #expect(Set(files).count == names.count)
    for file in files {
      let name = file.dropFirst(folder.path("out/").count)
      #expect(!name.contains("/") && !name.hasPrefix(".") && !name.hasPrefix("-"))
      #expect(name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
    }
  }

  /// Texts that stand in the files as they can be seen, and others in their place.
  private static let changes = ["lookup_order_summary", "draft_refund_request"]

  @Test(
    "where what can be seen was changed, that counts, and not the log that goes along",
    arguments: [ExportFormat.otlpJSON, .atif, .openAI, .anthropic])
  func changed(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    let path = folder.path("run\(format.ending)")
    try Exporting.export(format, [log], to: path)
    let text = String(decoding: try Exporting.bytes(path), as: UTF8.self)
    let other = text.split(separator: Self.changes[0], omittingEmptySubsequences: false)
      .joined(separator: "delete_everything")
    #expect(other != text)
    let file = try folder.write("changed\(format.ending)", other)
    let logs = try Exporting.imported(file, into: folder.path("in"))
    let tools = try Exporting.trajectory(try #require(logs.first)).calls.map(\.tool)
    #expect(tools == ["delete_everything", Self.changes[1]])
  }

  @Test("what was written anew by another program, with the same meaning, is the same")
  func rewritten() throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    for format in [ExportFormat.otlpJSON, .atif, .openAI, .anthropic] {
      let path = folder.path("run-\(format.rawValue)\(format.ending)")
      try Exporting.export(format, [log], to: path)
      // Spaces between, and keys in another order.
      let value = try JSONValue(parsing: try Exporting.bytes(path))
      let spaced = Self.spaced(value)
      let file = try folder.write("spaced-\(format.rawValue).json", spaced)
      let logs = try Exporting.imported(file, into: folder.path("in"))
      #expect(try logs.map(Exporting.bytes) == [try Exporting.bytes(log)])
    }
  }

  private static func spaced(_ value: JSONValue) -> String {
    switch value {
    case .array(let elements): "[ " + elements.map(spaced).joined(separator: " , ") + " ]"
    case .object(let object):
      "{ "
        + object.reversed().map {
          CanonicalJSON.string(.string($0.key)) + " : " + spaced($0.value)
        }.joined(separator: " , ") + " }"
    default: CanonicalJSON.string(value, form: .plain)
    }
  }

  @Test(
    "a log that goes along and is damaged is an error that says what to do, and leaves nothing behind"
  )
  func damagedInside() throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    let good = try Exporting.bytes(log)
    var generator = SeededGenerator(seed: 7)
    for round in 0..<40 {
      var bytes = good
      switch round % 4 {
      case 0: bytes = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &generator)))
      case 1: bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
      case 2: bytes += [0]
      default: bytes = Array("no log".utf8)
      }
      let beside: JSONValue = [
        "messages": [
          ["role": "user", "content": "Hello"], ["role": "assistant", "content": "Hi"],
        ]
      ]
      var object = beside.objectValue ?? [:]
      object[CarriedLog.key] = .object(try CarriedLog.members(log: bytes, beside: beside))
      let path = try folder.write(
        "\(round).json", CanonicalJSON.encode(.object(object), form: .plain))
      var told: [String] = []
      try Importer(format: nil, output: folder.path("in")).run(paths: [path]) { report in
        if case .failed(let error) = report.outcome { told.append("\(error)") }
      }
      #expect(told.count == 1 && told[0].contains("take that key away"), "round \(round)")
    }
    #expect(folder.listing.allSatisfy { !$0.hasPrefix("in/") || !$0.hasSuffix(".gz") })
  }

  @Test("spans of which one never came are read as what they are, and never as half a log")
  func missingSpan() throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/hundred-steps.jsonl.gz")
    let path = folder.path("run.jsonl")
    try Exporting.export(.otlpJSON, [log], to: path)
    let value = try JSONValue(parsing: try Exporting.bytes(path))
    let scope = try #require(value["resourceSpans"]?[0]?["scopeSpans"]?[0])
    let spans = try #require(scope["spans"]?.arrayValue)
    for missing in [1, 2, spans.count - 1] {
      var left = spans
      left.remove(at: missing)
      let request: JSONValue = ["resourceSpans": [["scopeSpans": [["spans": .array(left)]]]]]
      let file = try folder.write(
        "\(missing).json", CanonicalJSON.encode(request, form: .plain))
      let logs = try Exporting.imported(file, into: folder.path("in"))
      #expect(logs.count == 1)
      #expect(try Exporting.bytes(try #require(logs.first)) != Exporting.bytes(log))
    }
  }
}
