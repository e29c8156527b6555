import AgentTrace

/// What cases have become, where several trials stand for each and cases may belong together.
///
/// Cases that share a scenario, a document or a template are one cluster: they rise and fall together, and
/// counted one by one they would look like more evidence than they are (Miller 2024, arXiv 2411.00640).
public struct ClusteredDifferences: Sendable {
  /// The sum of the differences of a cluster's cases, and how many they are.
  private var clusters: [(sum: Double, count: Int)] = []
  private let differences: [(cluster: Int, value: Double)]
  /// How many cases there are.
  public let cases: Int

  /// How many clusters there are.
  public var clusterCount: Int { clusters.count }

  /// - Parameter differences: of each case, how its rate changed, and what it belongs to; a case without a
  ///   cluster is one of its own.
  public init(_ differences: [(cluster: String?, value: Double)]) {
    var places: [String: Int] = [:]
    var placed: [(cluster: Int, value: Double)] = []
    for (cluster, value) in differences {
      let place: Int
      if let cluster, let known = places[cluster] {
        place = known
      } else {
        place = clusters.count
        clusters.append((0, 0))
        if let cluster { places[cluster] = place }
      }
      clusters[place].sum += value
      clusters[place].count += 1
      placed.append((place, value))
    }
    self.differences = placed
    cases = differences.count
  }

  /// The mean over all cases; `nil` without cases.
  public var mean: Double? {
    cases == 0 ? nil : clusters.reduce(0) { $0 + $1.sum } / Double(cases)
  }

  /// The standard error of the mean: √Σ(Σ residuals of a cluster)² / n; `nil` without cases.
  public var standardError: Double? {
    guard let mean else { return nil }
    let squares = clusters.reduce(0.0) { sum, cluster in
      let residual = cluster.sum - Double(cluster.count) * mean
      return sum + residual * residual
    }
    return squares.squareRoot() / Double(cases)
  }

  /// The interval between the percentiles of means of clusters drawn anew, both conditions together (the
  /// bootstrap; Efron and Tibshirani 1993); `nil` with fewer than two clusters.
  ///
  /// With few clusters it is somewhat too narrow: what a gate decides by is ``worseningPValue(draws:seed:)``.
  ///
  /// - Complexity: draws × clusters.
  public func interval(
    confidence: Double = 0.95, draws: Int = 10_000, seed: UInt64 = 1
  ) -> Interval? {
    guard clusters.count > 1, draws > 0 else { return nil }
    var generator = SeededGenerator(seed: seed)
    var means: [Double] = []
    means.reserveCapacity(draws)
    for _ in 0..<draws {
      var (sum, count) = (0.0, 0)
      for _ in clusters.indices {
        let cluster = clusters[Int.random(in: 0..<clusters.count, using: &generator)]
        sum += cluster.sum
        count += cluster.count
      }
      means.append(sum / Double(count))
    }
    means.sort()
    let tail = (1 - confidence) / 2 * Double(draws - 1)
    return Interval(
      low: means[Int(tail.rounded(.down))],
      high: means[draws - 1 - Int(tail.rounded(.down))])
  }

  /// How likely a mean at least this low is where nothing changed: then each cluster's difference is as
  /// likely with the other sign (a sign-flip permutation test). Exact up to 16 clusters that differ, by
  /// seeded draws above, of which the observed is one, so that it never says 0.
  ///
  /// Where each case is one trial and a cluster of its own this is the one-sided exact test of McNemar.
  public func worseningPValue(draws: Int = 10_000, seed: UInt64 = 1) -> Double {
    let sums = clusters.map(\.sum).filter { $0 != 0 }
    guard !sums.isEmpty else { return 1 }
    let observed = sums.reduce(0, +)
    // Sums in another order differ in their last bits.
    let bound = observed + 1e-9 * max(1, sums.reduce(0) { $0 + abs($1) })
    if sums.count <= 16 {
      var low = 0
      for signs in 0..<(1 << sums.count) {
        var sum = 0.0
        for index in sums.indices { sum += signs >> index & 1 == 0 ? sums[index] : -sums[index] }
        if sum <= bound { low += 1 }
      }
      return Double(low) / Double(1 << sums.count)
    }
    var generator = SeededGenerator(seed: seed)
    var low = 1
    for _ in 0..<max(1, draws) {
      var (sum, bits, left) = (0.0, UInt64(0), 0)
      for value in sums {
        if left == 0 { (bits, left) = (generator.next(), 64) }
        sum += bits & 1 == 0 ? value : -value
        bits >>= 1
        left -= 1
      }
      if sum <= bound { low += 1 }
    }
    return Double(low) / Double(max(1, draws) + 1)
  }
}
