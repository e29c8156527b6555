import AgentTrace

/// Imports other tools' traces: files in, one run log a run out, and a report for each.
///
/// The order of things: a path → its files (`SourceFiles`) → those that belong together (`SourceGroup`) →
/// a parsed document → its runs, by the
/// format's adapter (`Formats/`) → events (`RunEvents`, `GraphEvents`) → a log (`RunLog`), from which the report is
/// counted.
public struct Importer: Sendable {
  /// The format of every file; `nil` to guess it of each.
  public var format: ImportFormat?
  /// The folder that logs are written below; made where it is missing.
  public var output: String

  /// Touches no file before ``run(paths:report:)``.
  public init(format: ImportFormat?, output: String) {
    self.format = format
    self.output = output
  }

  /// Imports every file that the paths name, folders recursively and in the order of their names'
  /// UTF-8. What cannot be imported is reported in its place, and the others go on.
  ///
  /// Importing again is harmless: a log that already holds the same events stays as it is.
  ///
  /// - Throws: what `report` throws.
  public func run(paths: [String], report: (ImportReport) throws -> Void) throws {
    var found: [(path: String, groups: Range<Int>, error: ImportError?)] = []
    var groups: [SourceGroup] = []
    for path in paths {
      let first = groups.count
      do throws(ImportError) {
        groups += SourceGroup.groups(of: try SourceFiles.find(path), below: path)
        found.append((path, first..<groups.count, nil))
      } catch {
        found.append((path, first..<first, error))
      }
    }
    if format == nil || format == .batch { BatchFiles.join(&groups) }
    SourceNames.tellApart(
      &groups, roots: found.flatMap { Array(repeating: $0.path, count: $0.groups.count) })
    for (path, places, error) in found {
      if let error {
        try report(ImportReport(source: path, index: nil, outcome: .failed(error)))
      }
      for group in groups[places] where !group.files.isEmpty {
        try importGroup(group, report: report)
      }
    }
  }

  /// Imports one source.
  func importGroup(
    _ group: SourceGroup, report: (ImportReport) throws -> Void
  ) rethrows {
    var digest = DigestBuilder()
    var format = format
    let runs: [SourceRun]
    do throws(ImportError) {
      if SourceFiles.isUnpackedLog(group.path) { throw ImportError(.unpackedLog) }
      let document = try group.document(takingIn: &digest).fitting(format)
      format = format ?? ImportFormat.guess(document)
      if document.holdsCases(for: format) { throw ImportError(.cases) }
      runs = try Self.runs(in: document, format)
    } catch {
      return try report(
        ImportReport(source: group.path, index: nil, outcome: .failed(error), format: format))
    }
    for run in runs {
      let identity = RunIdentity(fileDigest: digest, file: group.name, index: run.index)
      try report(
        ImportReport(
          source: group.path, index: run.index, outcome: importRun(run, of: group, as: identity),
          format: format))
    }
  }

  private static func runs(
    in document: SourceDocument, _ format: ImportFormat?
  ) throws(ImportError) -> [SourceRun] {
    guard let format else { throw ImportError(.unknownFormat) }
    let runs = try format.adapter.runs(in: document)
    guard !runs.isEmpty else { throw ImportError(.noRuns) }
    return runs.markingCallsNotRead(in: document).notingContinuation(of: document)
  }

  private func importRun(
    _ run: SourceRun, of group: SourceGroup, as identity: RunIdentity
  ) -> ImportReport.Outcome {
    let folder = OutputFolder(path: output)
    let log = folder.log(of: group, index: identity.index)
    do throws(ImportError) {
      let parsed = try run.content.get()
      try folder.makeFolders(for: log)
      return .imported(log: log, try RunLog(path: log).write(parsed, as: identity))
    } catch {
      return .failed(error)
    }
  }
}
