import TraceReporting

/// What the settings of a project say where the command line says nothing.
extension RunRequest {
  /// The word that takes back what settings say.
  private static let none = "none"

  /// Takes the settings for `run`.
  mutating func take(_ settings: Settings) {
    takeInputs(settings)
    guard filesFrom == nil else { return }
    if output.report.isEmpty { output.report = settings.report ?? [] }
    if output.report == [Self.none] { output.report = [] }
    if baselines.against == nil, let against = settings.against {
      baselines.against = against
      if against != Self.none { note("against", against, settings) }
    }
    if baselines.against == Self.none { baselines.against = nil }
    if baselines.against != nil {
      if baselines.tolerance.isEmpty, let tolerance = settings.tolerance {
        baselines.tolerance = tolerance
        note("tolerance", tolerance.joined(separator: " "), settings)
      }
      if baselines.strict == nil, let strict = settings.strict {
        baselines.strict = strict
        note("strict", "\(strict)", settings)
      }
    }
    if history.folder == nil, !watch, shard == nil { history.folder = settings.history }
    if history.folder == Self.none { history.folder = nil }
  }

  /// Takes the settings for every verb that judges cases: where they are, and how they are worked on.
  mutating func takeInputs(_ settings: Settings) {
    if jobs == nil { jobs = settings.jobs }
    guard filesFrom == nil else { return }
    if paths.isEmpty, let found = settings.paths {
      paths = found
      note("paths", found.joined(separator: " "), settings)
    }
    if runs == nil, on.isEmpty, let folder = settings.runs {
      runs = folder
      if folder != Self.none { note("runs", folder, settings) }
    }
    if runs == Self.none { runs = nil }
  }

  /// Says on standard error what was decided elsewhere than on the command line: no outcome changes in silence.
  func tellDecided() {
    guard !decided.isEmpty else { return }
    Output.error(Visible.line("note: settings decide here: \(decided.joined(separator: ", "))"))
  }

  private mutating func note(_ key: String, _ value: String, _ settings: Settings) {
    let place = settings.sources[key].map { " (\($0.place))" } ?? ""
    decided.append("\(key) \(value)\(place)")
  }
}
