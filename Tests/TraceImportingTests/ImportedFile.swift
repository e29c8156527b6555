import AgentTrace
import Testing
import TraceImporting
import TraceStorage

/// One small foreign file, imported: its reports and what stands in the logs.
struct ImportedFile {
  var reports: [ImportReport] = []
  /// The events of each run that was imported, in the order of the reports.
  var logs: [[Event]] = []
  /// The file, parsed.
  var source: JSONValue?

  /// Imports a text under a name; the format is guessed unless given.
  init(_ text: String, format: ImportFormat? = nil, name: String = "run.json") throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("in/\(name)", text)
    var reports: [ImportReport] = []
    try Importer(format: format, output: "\(folder.path)/out").run(paths: [path]) {
      reports.append($0)
    }
    self.reports = reports
    for case .imported(let log, _) in reports.map(\.outcome) {
      logs.append(try Self.events(of: log))
    }
    source = try? JSONValue(parsing: Array(text.utf8), options: .init(keepsForeignText: true))
  }

  /// All events of a log, each checked to be what its type promises.
  static func events(of log: String) throws -> [Event] {
    var reader = try LogReader(path: log)
    var events: [Event] = []
    while let event = try reader.next() {
      _ = try EventPayload(of: event)
      events.append(event)
    }
    #expect(reader.ending == .closed)
    return events
  }

  /// The events of the only run.
  var events: [Event] { logs.first ?? [] }

  func data(_ type: EventType) -> [JSONObject] { events.filter { $0.type == type }.map(\.data) }

  /// What was wrong with each run or file that failed.
  var errors: [String] { reports.compactMap { $0.json["error"]?.stringValue } }

  /// The `type` of every event, with the step it belongs to.
  var outline: [String] { events.map { "\($0.step) \($0.type)" } }

  var stop: String? {
    data(.stop).first.map {
      "\($0["reason"]?.stringValue ?? "") \($0["detail"]?.stringValue ?? "")"
    }
  }
}
