import AgentTrace
import Glibc

/// What cases have become, where several trials stand for each and cases may belong together.
///
/// Cases that share a scenario, a document or a template are one cluster: they rise and fall together, and
/// counted one by one they would look like more evidence than they are (Miller 2024, arXiv 2411.00640).
public struct ClusteredDifferences: Sendable {
  /// The sum of the differences of a cluster's cases, and how many they are.
  private var clusters: [(sum: Double, count: Int)] = []
  /// How many cases there are.
  public let cases: Int

  /// How many clusters there are.
  public var clusterCount: Int { clusters.count }

  /// - Parameter differences: of each case, how its rate changed, and what it belongs to; a case without a
  ///   cluster is one of its own.
  public init(_ differences: [(cluster: String?, value: Double)]) {
    var places: [String: Int] = [:]
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
    }
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

  /// Below so many clusters an interval is Student's: drawn anew, few clusters give one that is too narrow.
  public static let fewClusters = 50

  /// The standard error as an estimate from few clusters has to be: larger by √(G / (G − 1)); `nil` with
  /// fewer than two.
  public var estimatedError: Double? {
    guard clusters.count > 1, let standardError else { return nil }
    let count = Double(clusters.count)
    return standardError * (count / (count - 1)).squareRoot()
  }

  /// Where the mean lies with this confidence; `nil` with fewer than two clusters.
  ///
  /// With fewer than ``fewClusters``: mean ± t × ``estimatedError``, t of as many degrees of freedom as there
  /// are clusters, less one. Else between the percentiles of means of clusters drawn anew, both conditions
  /// together (the bootstrap; Efron and Tibshirani 1993). What a gate decides by is
  /// ``worseningPValue(draws:seed:)``.
  ///
  /// - Complexity: draws × clusters.
  public func interval(
    confidence: Double = 0.95, draws: Int = 10_000, seed: UInt64 = 1
  ) -> Interval? {
    guard clusters.count > 1, draws > 0 else { return nil }
    if clusters.count < Self.fewClusters, let mean, let estimatedError {
      let t = StudentT.quantile(0.5 + confidence / 2, degrees: clusters.count - 1)
      return Interval(low: mean - t * estimatedError, high: mean + t * estimatedError)
    }
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

  /// The smallest change to the worse that so many clusters would have shown with this power, were the
  /// changes spread like these; `nil` where none would: even if all of them had become worse.
  ///
  /// - Parameters:
  ///   - level: of the one-sided test of ``worseningPValue(draws:seed:)``.
  ///   - power: how likely a change of that size is to be shown, from 0 to 1.
  ///   - leastError: what the standard error is taken for where the changes are spread less.
  public func smallestDifference(
    level: Double, power: Double = 0.8, leastError: Double = 0
  ) -> Double? {
    // All signs the same is one of 2^G.
    guard clusters.count > 1, let estimatedError, exp2(-Double(clusters.count)) < level else {
      return nil
    }
    let degrees = clusters.count - 1
    let t = StudentT.quantile(1 - level, degrees: degrees) + Normal.quantile(power)
    let smallest = t * max(estimatedError, leastError)
    return smallest <= 1 ? smallest : nil
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
