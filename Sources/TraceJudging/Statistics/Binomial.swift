import Glibc

/// Binomial coefficients and tails, by logarithms, so that no count overflows.
enum Binomial {
  /// The natural logarithm of n over k; minus infinity where there is no such choice.
  static func logChoose(_ n: Int, _ k: Int) -> Double {
    guard k >= 0, k <= n else { return -.infinity }
    return logFactorial(n) - logFactorial(k) - logFactorial(n - k)
  }

  /// ln n!, by Stirling's series with three terms above 20 (error below 1e-13 there).
  static func logFactorial(_ n: Int) -> Double {
    guard n > 20 else { return log((1...max(1, n)).reduce(1.0) { $0 * Double($1) }) }
    let x = Double(n)
    let series = 1 / (12 * x) - 1 / (360 * x * x * x) + 1 / (1_260 * x * x * x * x * x)
    return x * log(x) - x + 0.5 * log(2 * .pi * x) + series
  }

  /// P(X = k) of n trials that succeed with probability p each.
  static func mass(_ k: Int, of n: Int, p: Double = 0.5) -> Double {
    guard k >= 0, k <= n else { return 0 }
    if p <= 0 { return k == 0 ? 1 : 0 }
    if p >= 1 { return k == n ? 1 : 0 }
    return exp(logChoose(n, k) + Double(k) * log(p) + Double(n - k) * log1p(-p))
  }

  /// P(X = k) where n of all are drawn at once, of whom so many are successes (hypergeometric).
  static func dealt(_ k: Int, of n: Int, successes: Int, all: Int) -> Double {
    exp(
      logChoose(successes, k) + logChoose(all - successes, n - k) - logChoose(all, n))
  }

  /// P(X ≤ k). Linear in k; the smaller tail is summed.
  static func atMost(_ k: Int, of n: Int, p: Double = 0.5) -> Double {
    guard k >= 0 else { return 0 }
    guard k < n else { return 1 }
    if Double(k) > Double(n) * p {
      return max(0, 1 - (k + 1...n).reduce(0) { $0 + mass($1, of: n, p: p) })
    }
    return min(1, (0...k).reduce(0) { $0 + mass($1, of: n, p: p) })
  }
}

/// The standard normal distribution.
enum Normal {
  /// P(Z ≤ z).
  static func below(_ z: Double) -> Double { 0.5 * erfc(-z / 2.0.squareRoot()) }

  /// The z with P(Z ≤ z) = p, to 1e-12, by halving; ±40 at the ends.
  static func quantile(_ p: Double) -> Double {
    guard p > 0 else { return -40 }
    guard p < 1 else { return 40 }
    var (low, high) = (-40.0, 40.0)
    while high - low > 1e-12 {
      let middle = (low + high) / 2
      if middle == low || middle == high { break }
      if below(middle) < p { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }
}
