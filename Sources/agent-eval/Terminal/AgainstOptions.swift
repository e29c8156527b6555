import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceJudging
import TraceReporting

/// The options that say what results are compared with.
struct AgainstOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      """
      Compare with what was accepted, and fail on regressions only: “accepted” for the folders beside \
      the case files, a folder, or a file with the results of an earlier run (--json).
      """, valueName: "accepted|path"), completion: .file())
  var against: String?

  @Option(
    help: ArgumentHelp(
      """
      How much more a run may use than the accepted one, in per cent: a number, or steps=, tokens= or \
      cost= and a number; may be given several times. Default: 10.
      """, valueName: "percent"))
  var tolerance: [String] = []

  @Flag(
    inversion: .prefixedNo,
    help: "Fail on what has changed as well, also where nothing is worse; goes with --against.")
  var strict: Bool?

  /// What they say.
  var request: AgainstRequest {
    AgainstRequest(against: against, tolerance: tolerance, strict: strict)
  }

  func validate() throws { try request.validate() }
}

/// What results are compared with.
struct AgainstRequest: Hashable {
  /// `accepted`, or a path; `nil` where nothing is compared.
  var against: String?
  /// The words of `--tolerance`.
  var tolerance: [String] = []
  /// What is said of whether that which has changed fails.
  var strict: Bool?
  /// Whether what has changed fails, whatever the cases say.
  var isStrict: Bool { strict ?? false }

  func validate() throws {
    guard strict != true || against != nil else {
      throw ValidationError("--strict needs --against.")
    }
    guard tolerance.isEmpty || against != nil else {
      throw ValidationError("--tolerance needs --against.")
    }
    _ = try parsedTolerance()
  }

  private func parsedTolerance() throws -> Tolerance { try Self.parsed(tolerance: tolerance) }

  /// What the words of `--tolerance` say together, the later ones over the earlier.
  static func parsed(tolerance words: [String]) throws -> Tolerance {
    var parsed = Tolerance()
    for text in words {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let measures =
        parts.count == 1
        ? Tolerance.Measure.allCases
        : Tolerance.Measure(rawValue: String(parts[0])).map { [$0] } ?? []
      guard let percent = parts.last.flatMap({ Double($0) }), percent >= 0, percent <= 1e6,
        !measures.isEmpty
      else {
        throw ValidationError(
          Visible.line(
            "--tolerance takes a number of per cent, or steps=, tokens= or cost= and a number; not "
              + "“\(text)”."))
      }
      for measure in measures { parsed[measure] = percent }
    }
    return parsed
  }

  /// What shards that belong together have in common.
  var conditions: JSONValue {
    guard let against else { return .null }
    return [
      "against": .string(against), "tolerance": (try? parsedTolerance().json) ?? .null,
      "needsBaselines": .bool(Screen.isCI), "strict": .bool(isStrict),
    ]
  }

  /// Compares results, where that was asked for. In continuous integration each case needs a
  /// baseline.
  ///
  /// - Parameter loaded: all cases of the paths; `nil` where only some were chosen, and
  ///   nobody asks for cases that are gone.
  /// - Parameter isPart: whether the cases are those of a shard.
  func compare(
    _ results: inout EvalResults, of judged: [EvalCase], among loaded: [EvalCase]?,
    paths: [String], isPart: Bool
  ) throws {
    guard let against else { return }
    var request = Baselines.Request(
      paths: paths, tolerance: try parsedTolerance(), needsBaselines: Screen.isCI)
    request.isPart = isPart
    request.isStrict = isStrict
    try Baselines(against).compare(&results, of: judged, among: loaded, request)
  }
}
