public import AgentTrace
import Glibc

/// An interval that covers a value with a stated confidence.
public struct Interval: Sendable, Hashable {
  /// The lower end.
  public var low: Double
  /// The upper end.
  public var high: Double

  /// `low` is to be at most `high`.
  public init(low: Double, high: Double) {
    self.low = low
    self.high = high
  }

  /// The wire form: an array of two numbers.
  public var json: JSONValue { [JSONValue(low), JSONValue(high)] }
}

/// How often something succeeded.
public struct SuccessRate: Sendable, Hashable {
  /// How many trials succeeded.
  public var successes: Int
  /// How many trials were decided: those that are no pass and no fail are in neither number.
  public var trials: Int

  /// Counts are taken as they are; negative ones count as 0, more successes than trials as all of them.
  public init(successes: Int, trials: Int) {
    self.trials = max(0, trials)
    self.successes = min(max(0, successes), self.trials)
  }

  /// Successes by trials; `nil` without trials.
  public var rate: Double? { trials == 0 ? nil : Double(successes) / Double(trials) }

  /// The interval of Wilson (Journal of the American Statistical Association 22, 1927), which holds what it
  /// promises near 0 and 1 too; all there is without trials.
  ///
  /// - Parameter confidence: how often it covers the true rate, between 0 and 1.
  public func interval(confidence: Double = 0.95) -> Interval {
    guard let rate else { return Interval(low: 0, high: 1) }
    let (n, z) = (Double(trials), Normal.quantile(0.5 + confidence / 2))
    let whole = 1 + z * z / n
    let centre = (rate + z * z / (2 * n)) / whole
    let half = z / whole * (rate * (1 - rate) / n + z * z / (4 * n * n)).squareRoot()
    return Interval(
      low: successes == 0 ? 0 : max(0, centre - half),
      high: successes == trials ? 1 : min(1, centre + half))
  }

  /// How large the rate of failure can be where none was seen: the one-sided bound 1 − (1 − confidence)^(1/n);
  /// `nil` where there was one, or no trial.
  public func failureBound(confidence: Double = 0.95) -> Double? {
    guard trials > 0, successes == trials else { return nil }
    return 1 - pow(1 - confidence, 1 / Double(trials))
  }

  /// The chance that at least one of k further trials succeeds, without bias (pass@k; Chen et al. 2021,
  /// arXiv 2107.03374); `nil` where fewer than k trials were made, or k is not positive.
  public func passAt(_ k: Int) -> Double? {
    guard k > 0, k <= trials else { return nil }
    guard trials - successes >= k else { return 1 }
    return 1 - Self.product(trials - successes, trials, k)
  }

  /// The chance that k further trials all succeed, without bias (pass^k; τ-bench, arXiv 2406.12045); `nil`
  /// where fewer than k trials were made, or k is not positive.
  public func passAll(_ k: Int) -> Double? {
    guard k > 0, k <= trials else { return nil }
    guard successes >= k else { return 0 }
    return Self.product(successes, trials, k)
  }

  /// (a over k) by (n over k).
  private static func product(_ a: Int, _ n: Int, _ k: Int) -> Double {
    (0..<k).reduce(1.0) { $0 * Double(a - $1) / Double(n - $1) }
  }
}
