import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceExporting
import TraceImporting
import TraceStorage

/// The logs of the project that are whole, and what tests do with them.
enum Exporting {
  /// Every log of the fixtures that is whole.
  static let logs = ["runs", "forks", "context-runs", "policy-runs", "format-1", "before-settings"]
    .flatMap { Project.files(below: "Fixtures/\($0)", ending: ".jsonl.gz") }

  /// The formats in which a run's log goes along.
  static let carrying = ExportFormat.allCases.filter(\.carriesLogs)

  static func bytes(_ path: String) throws -> [UInt8] {
    try WholeFile.read(path, limitBytes: 1 << 30)
  }

  /// Exports logs; expects that each went well.
  @discardableResult
  static func export(
    _ format: ExportFormat, _ logs: [String], to output: String, isPlain: Bool = false,
    results: RunResults = RunResults()
  ) throws -> [ExportReport] {
    var exporter = Exporter(format: format, output: output, version: "1")
    exporter.isPlain = isPlain
    exporter.results = results
    var reports: [ExportReport] = []
    try exporter.run(logs: logs) { reports.append($0) }
    #expect(reports.map(\.log) == logs)
    for report in reports { #expect(report.error == nil) }
    return reports
  }

  /// Imports a file or a folder: the logs, in order.
  static func imported(_ path: String, into folder: String) throws -> [String] {
    var logs: [String] = []
    try Importer(format: nil, output: folder).run(paths: [path]) { report in
      switch report.outcome {
      case .imported(let log, _): logs.append(log)
      case .failed(let error): Issue.record("\(report.source): \(error)")
      }
    }
    return logs
  }

  static func trajectory(_ log: String) throws -> Trajectory {
    var reader = try LogReader(path: log)
    var trajectory = Trajectory()
    while let event = try reader.next() { trajectory.apply(event) }
    return trajectory
  }
}
