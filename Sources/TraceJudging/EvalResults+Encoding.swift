@_spi(Scanning) import AgentTrace

/// The wire form as text, written at once: the same bytes as the canonical form of ``EvalResults/json``
/// in a fraction of its time, which counts where thousands of cases are judged.
extension EvalResults {
  /// The canonical bytes of ``json``, for other programs: keys as they are.
  public var encoded: [UInt8] {
    var text = EncodedResults(cases: cases.map { EncodedResult($0) }, skipped: skipped)
    text.comparison = comparison.map(json(of:))
    text.shard = shard?.json
    return text.bytes
  }
}

/// The wire form of one case's result, for callers that need no more of it.
public struct EncodedResult: Sendable {
  /// The outcome of the case.
  public var outcome: CaseOutcome
  /// The canonical bytes of ``CaseResult/json``.
  public var bytes: [UInt8]

  /// Writes a result as text.
  public init(_ result: CaseResult) {
    outcome = result.outcome
    var output = ResultsText()
    output.bytes.reserveCapacity(1024)
    output.add(result, outcome)
    bytes = output.bytes
  }
}

/// The wire form of a whole set of results, kept as text alone.
public struct EncodedResults: Sendable {
  /// The cases that were to be judged.
  public var cases: [EncodedResult]
  /// The cases that were left out.
  public var skipped: [SkippedCase]
  /// The wire form of what they were compared with.
  fileprivate var comparison: JSONValue?
  /// The wire form of the part of a suite that they are.
  fileprivate var shard: JSONValue?

  /// Results of a whole suite that were compared with nothing.
  public init(cases: [EncodedResult], skipped: [SkippedCase]) {
    self.cases = cases
    self.skipped = skipped
  }

  private var tally: CaseTally { CaseTally(of: cases.lazy.map(\.outcome)) }

  /// As ``EvalResults/exitCode`` of a whole suite that was compared with nothing.
  public var exitCode: Int32 { tally.exitCode(isShard: false) }

  /// The canonical bytes of ``EvalResults/json``, for other programs: keys as they are.
  public var bytes: [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(cases.reduce(1024) { $0 + $1.bytes.count + 1 })
    forEachPiece { all += $0 }
    return all
  }

  /// Hands over ``bytes`` piece by piece, so that they need not stand in memory as a whole once more.
  public func forEachPiece(_ take: ([UInt8]) -> Void) {
    var output = ResultsText()
    output.bytes.reserveCapacity(2 * Self.pieceBytes)
    output.raw("{\"cases\":[")
    for index in cases.indices {
      output.comma(before: index)
      output.bytes += cases[index].bytes
      guard output.bytes.count >= Self.pieceBytes else { continue }
      take(output.bytes)
      output.bytes.removeAll(keepingCapacity: true)
    }
    addRest(to: &output)
    take(output.bytes)
  }

  /// About how many bytes a piece has.
  private static let pieceBytes = 32 * 1024

  /// Writes what stands behind the cases.
  private func addRest(to output: inout ResultsText) {
    output.raw("]")
    output.value(",\"comparison\":", comparison)
    output.string(",\"schema\":", EvalResults.schema)
    output.value(",\"shard\":", shard)
    output.raw(",\"skipped\":[")
    for (index, skipped) in skipped.enumerated() {
      output.comma(before: index)
      output.string("{\"caseId\":", skipped.caseId)
      output.value(",\"comparison\":", skipped.comparison?.json)
      output.string(",\"reason\":", skipped.reason)
      output.raw("}")
    }
    let tally = tally
    output.number("],\"summary\":{\"error\":", tally.error)
    output.number(",\"fail\":", tally.fail)
    output.number(",\"inconclusive\":", tally.inconclusive)
    output.number(",\"pass\":", tally.pass)
    output.raw("}}")
  }
}

/// Bytes of results that grow.
private struct ResultsText {
  var bytes: [UInt8] = []

  mutating func raw(_ text: StaticString) {
    bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func comma(before index: Int) { if index > 0 { bytes.append(UInt8(ascii: ",")) } }

  mutating func string(_ text: String) { CanonicalJSON.appendString(text, to: &bytes) }

  mutating func number(_ value: Int) {
    JSONNumber(value).append(to: &bytes)
  }

  /// A member behind others; nothing where it is not there.
  mutating func string(_ key: StaticString, _ text: String?) {
    guard let text else { return }
    raw(key)
    string(text)
  }

  mutating func number(_ key: StaticString, _ value: Int) {
    raw(key)
    number(value)
  }

  mutating func value(_ key: StaticString, _ value: JSONValue?) {
    guard let value else { return }
    raw(key)
    CanonicalJSON.append(value, to: &bytes, form: .plain)
  }

  mutating func add(_ result: CaseResult, _ outcome: CaseOutcome) {
    string("{\"caseId\":", result.caseId)
    string(",\"cluster\":", result.cluster)
    value(",\"comparison\":", result.comparison?.json)
    string(",\"error\":", result.error)
    string(",\"notRun\":", result.notRun)
    string(",\"outcome\":", outcome.rawValue)
    string(",\"position\":", result.position)
    value(",\"statistics\":", result.statistics?.json)
    value(",\"trialPlan\":", result.plan?.json)
    raw(",\"trials\":[")
    for index in result.trials.indices {
      comma(before: index)
      add(result.trials[index])
    }
    raw("]}")
  }

  private mutating func add(_ trial: TrialResult) {
    raw("{")
    if let error = trial.error {
      string("\"error\":", error)
      raw(",")
    }
    raw("\"expectations\":[")
    for index in trial.judgement.outcomes.indices {
      comma(before: index)
      add(trial.judgement.outcomes[index])
    }
    string("],\"judgedFrom\":", trial.judgedFrom)
    string(",\"log\":", trial.log)
    string(",\"outcome\":", trial.outcome.rawValue)
    string(",\"runId\":", trial.runId)
    raw(",\"warnings\":[")
    for (index, warning) in trial.judgement.warnings.enumerated() {
      comma(before: index)
      string(warning)
    }
    raw("]}")
  }

  private mutating func add(_ outcome: ExpectationOutcome) {
    raw("{")
    if let actual = outcome.actual {
      string("\"actual\":", actual)
      raw(",")
    }
    raw("\"events\":[")
    for (index, seq) in outcome.events.enumerated() {
      comma(before: index)
      number(seq)
    }
    string("],\"expectation\":", outcome.expectation)
    string(",\"expected\":", outcome.expected)
    if !outcome.judgements.isEmpty {
      value(",\"judgements\":", .array(outcome.judgements.map(\.json)))
    }
    string(",\"message\":", outcome.message)
    string(",\"outcome\":", outcome.outcome.rawValue)
    if outcome.severity != .error {
      string(",\"severity\":", outcome.severity.rawValue)
    }
    raw("}")
  }
}
