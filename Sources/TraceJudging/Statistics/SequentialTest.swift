import Glibc

/// Whether a rate is the good or the bad one, looked at after each trial: the sequential probability ratio
/// test (Wald, Annals of Mathematical Statistics 16, 1945). On average no test of these error rates needs
/// fewer trials.
public struct SequentialTest: Sendable, Hashable {
  /// What the trials say so far.
  public enum Verdict: String, Sendable, Hashable, CaseIterable {
    /// The rate is the good one.
    case good
    /// The rate is the bad one.
    case bad
    /// More trials are needed.
    case open
  }

  /// The rate of successes that is good enough.
  public let good: Double
  /// The rate that is not; lower.
  public let bad: Double
  /// How often a good rate is called bad at most.
  public let falseAlarms: Double
  /// How often a bad rate is called good at most.
  public let misses: Double

  /// The logarithm of how much likelier the trials are under the bad rate than under the good one.
  public private(set) var score = 0.0
  /// How many trials were taken in.
  public private(set) var trials = 0

  /// `nil` unless 0 < bad < good < 1 and both errors lie between 0 and one half.
  public init?(good: Double, bad: Double, falseAlarms: Double = 0.05, misses: Double = 0.05) {
    guard bad > 0, bad < good, good < 1, falseAlarms > 0, falseAlarms < 0.5, misses > 0,
      misses < 0.5
    else { return nil }
    self.good = good
    self.bad = bad
    self.falseAlarms = falseAlarms
    self.misses = misses
  }

  /// Takes in one trial. What comes behind a decision changes nothing.
  public mutating func take(isSuccess: Bool) {
    guard verdict == .open else { return }
    score += isSuccess ? log(bad / good) : log((1 - bad) / (1 - good))
    trials += 1
  }

  /// What the trials say so far.
  public var verdict: Verdict {
    if score >= log((1 - misses) / falseAlarms) { return .bad }
    if score <= log(misses / (1 - falseAlarms)) { return .good }
    return .open
  }

  /// How many more trials decide at least: that many successes, or failures, in a row; 0 once it is decided.
  public var trialsToDecide: Int {
    guard verdict == .open else { return 0 }
    let toGood = (log(misses / (1 - falseAlarms)) - score) / log(bad / good)
    let toBad = (log((1 - misses) / falseAlarms) - score) / log((1 - bad) / (1 - good))
    return max(1, Int(min(toGood, toBad).rounded(.up)))
  }
}
