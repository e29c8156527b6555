import AgentTrace
import TraceJudging

/// One thing that a report points at in a case file: a check that did not pass, over all trials of
/// its case.
struct Finding {
  /// How bad it is.
  enum Level {
    /// The case failed by it, or could not be judged.
    case error
    /// It decides nothing alone, or leaves the case open.
    case warning
  }

  /// What the finding is of, in one of few words: `toolsCalled` of `toolsCalled[1]`.
  var rule: String
  /// Which one of the rule: its place below `expected`; empty where the case as a whole is meant.
  var expectation: String
  var level: Level
  var message: String
  var outcome: String
  var expected: String?
  var actual: String?
  var events: [Int]
  /// The log of the first trial in which it was found.
  var log: String?
  /// Trials in which it was found.
  var trials: Int

  /// The rule of a case that could not be judged.
  static let unjudged = "could-not-be-judged"
  /// The rule of what was accepted otherwise, and is worse now.
  static let regression = "regression"
  /// The rule of what is not as it was accepted where nothing may change.
  static let change = "change"
  /// The rule of a case that could not be compared with what was accepted, or has nothing accepted.
  static let uncompared = "not-compared"
  /// The rule of a case in which nothing was checked.
  static let unexercised = "nothing-exercised"
  /// The rule of what looks like a mistake in the case.
  static let advice = "case-warning"

  /// What stays the same as long as the same check of the same case is meant, whatever it says.
  func fingerprint(of caseId: String) -> String {
    Digest(of: [.string(caseId), .string(rule), .string(expectation)]).hex
  }

  /// The words of the message and, where a case has several trials, in how many it was so.
  func text(ofTrials count: Int) -> String {
    Visible.line(message, width: 2_000) + (count > 1 ? " (\(trials) of \(count) runs)" : "")
  }

  /// All findings of a case, each once, in the order of the first trial that has it.
  static func all(in result: CaseResult) -> [Finding] {
    if let comparison = result.comparison, comparison.kind != .new || comparison.isFault {
      return found(in: comparison, log: result.trials.first?.log)
    }
    if let error = result.error {
      return [
        Finding(
          rule: unjudged, expectation: "", level: .error, message: error,
          outcome: "error", events: [], trials: 0)
      ]
    }
    var findings: [Finding] = []
    var places: [Key: Int] = [:]
    for trial in result.trials {
      for finding in found(in: trial) {
        let key = Key(finding)
        if let place = places[key] {
          findings[place].trials += 1
        } else {
          places[key] = findings.count
          findings.append(finding)
        }
      }
    }
    if findings.isEmpty, result.outcome != .pass {
      findings.append(
        Finding(
          rule: unexercised, expectation: "", level: .warning,
          message: result.trials.isEmpty ? "nothing was judged" : "no expectation was exercised",
          outcome: result.outcome.rawValue, events: [], log: result.trials.first?.log, trials: 0))
    }
    return findings
  }

  /// Two findings of one key are the same; of two levels the first is told.
  private struct Key: Hashable {
    var rule: [UInt8]
    var expectation: [UInt8]

    init(_ finding: Finding) {
      rule = Array(finding.rule.utf8)
      expectation = Array(finding.expectation.utf8)
    }
  }

  /// What is worse than it was accepted, each thing once; a case that fails as it was accepted has
  /// nothing to tell.
  private static func found(in comparison: CaseComparison, log: String?) -> [Finding] {
    var findings: [Finding] = []
    if let reason = comparison.reason {
      let isOpen = comparison.kind == .notCompared && !comparison.isFault
      findings.append(
        Finding(
          rule: comparison.kind == .regressed ? regression : uncompared, expectation: "",
          level: isOpen ? .warning : .error, message: reason, outcome: comparison.kind.rawValue,
          events: [], log: log, trials: 1))
    }
    let first = comparison.differences.first(where: \.isOfPath)
    let isStrict = comparison.isRed && comparison.kind == .changed
    for difference in comparison.differences where isStrict || difference.effect == .regression {
      var message = difference.sentence
      if let first, first != difference { message += "; first difference: \(first.sentence)" }
      findings.append(
        Finding(
          rule: isStrict ? change : regression,
          expectation: "\(difference.kind.rawValue) \(difference.place)",
          level: .error, message: message, outcome: comparison.kind.rawValue,
          expected: difference.accepted, actual: difference.actual, events: difference.events,
          log: log, trials: 1))
    }
    return findings
  }

  private static func found(in trial: TrialResult) -> [Finding] {
    var findings: [Finding] = []
    // What failed first, so that it is what is told of a check that is open in another trial.
    for outcome in trial.judgement.outcomes {
      guard outcome.outcome == .fail || outcome.outcome == .unverifiable else { continue }
      let isError = outcome.outcome == .fail && outcome.severity == .error
      findings.append(
        Finding(
          rule: rule(of: outcome.expectation), expectation: outcome.expectation,
          level: isError ? .error : .warning, message: outcome.message,
          outcome: outcome.outcome.rawValue, expected: outcome.expected, actual: outcome.actual,
          events: outcome.events, log: trial.log, trials: 1))
    }
    for warning in trial.judgement.warnings {
      findings.append(
        Finding(
          rule: advice, expectation: warning, level: .warning, message: warning,
          outcome: "warning", events: [], log: trial.log, trials: 1))
    }
    return findings
  }

  /// The first letters of an expectation's name, which all of the language's words are made of;
  /// before them may stand the number of a set of expectations.
  private static func rule(of expectation: String) -> String {
    func isLetter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    let letters = expectation.utf8.drop { !isLetter($0) }.prefix(while: isLetter)
    return letters.isEmpty || letters.count > 40 ? "expectation" : String(Substring(letters))
  }
}
