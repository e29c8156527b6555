import Glibc

/// Student's distribution, for means of few values.
enum StudentT {
  /// Above so many degrees of freedom it is the normal distribution, to three digits.
  private static let mostDegrees = 2_000

  /// P(T ≤ t), by its finite series (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
  ///
  /// - Complexity: linear in the degrees of freedom.
  static func below(_ t: Double, degrees: Int) -> Double {
    guard degrees <= mostDegrees else { return Normal.below(t) }
    let count = max(1, degrees)
    let angle = atan(abs(t) / Double(count).squareRoot())
    let (sine, cosine) = (sin(angle), cos(angle))
    // Odd: cos + 2/3 cos³ + (2·4)/(3·5) cos⁵ …; even: 1 + 1/2 cos² + (1·3)/(2·4) cos⁴ ….
    let isOdd = count % 2 == 1
    var (term, sum) = (isOdd ? cosine : 1, 0.0)
    for place in stride(from: isOdd ? 1 : 0, through: count - 2, by: 2) {
      sum += term
      term *= cosine * cosine * Double(place + 1) / Double(place + 2)
    }
    let inside = isOdd ? 2 / Double.pi * (angle + sine * sum) : sine * sum
    return t < 0 ? (1 - inside) / 2 : (1 + inside) / 2
  }

  /// The t with P(T ≤ t) = p, to 1e-9, by halving; a million at the ends.
  static func quantile(_ p: Double, degrees: Int) -> Double {
    guard p > 0 else { return -1e6 }
    guard p < 1 else { return 1e6 }
    var (low, high) = (-1e6, 1e6)
    while high - low > 1e-9 {
      let middle = (low + high) / 2
      if middle == low || middle == high { break }
      if below(middle, degrees: degrees) < p { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }
}
