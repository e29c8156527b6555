import Glibc

/// The same cases under two conditions: what was accepted, and what is looked at now.
public struct PairedOutcomes: Sendable, Hashable {
  /// Cases that pass under both.
  public var bothPass: Int
  /// Cases that passed before and do not now.
  public var onlyBefore: Int
  /// Cases that pass only now.
  public var onlyNow: Int
  /// Cases that pass under neither.
  public var bothFail: Int

  /// Negative counts count as 0.
  public init(bothPass: Int = 0, onlyBefore: Int = 0, onlyNow: Int = 0, bothFail: Int = 0) {
    self.bothPass = max(0, bothPass)
    self.onlyBefore = max(0, onlyBefore)
    self.onlyNow = max(0, onlyNow)
    self.bothFail = max(0, bothFail)
  }

  /// All of them.
  public var count: Int { bothPass + onlyBefore + onlyNow + bothFail }
  /// Those that differ: nothing else speaks for or against a change.
  public var differing: Int { onlyBefore + onlyNow }

  /// The exact test of McNemar (Psychometrika 12, 1947): how likely a difference this large is, either way,
  /// where there is none. 1 where nothing differs.
  public var pValue: Double {
    let least = min(onlyBefore, onlyNow)
    return min(1, 2 * Binomial.atMost(least, of: differing))
  }

  /// The same with half of the point itself (mid-p): less careful, and its false alarms are not bounded by
  /// the level in each single case.
  public var midPValue: Double {
    guard differing > 0 else { return 1 }
    return max(0, pValue - Binomial.mass(min(onlyBefore, onlyNow), of: differing))
  }

  /// How likely at least so many of the differing cases have become worse where that is mere chance.
  public var worseningPValue: Double {
    differing == 0 ? 1 : Binomial.atMost(onlyNow, of: differing)
  }

  /// Evidence that there is a difference, which may be looked at after each case: where there is none it
  /// ever exceeds 1/α with probability α at most (Ville's inequality; a uniform mixture over the share of
  /// one kind among the differing).
  public var evidence: Double {
    let n = differing
    return exp(Double(n) * log(2) - log(Double(n + 1)) - Binomial.logChoose(n, onlyBefore))
  }

  /// The same for a change to the worse only: the mixture is over shares above one half.
  public var worseningEvidence: Double {
    2 * evidence * Binomial.atMost(onlyBefore, of: differing + 1)
  }
}

/// Many tests at once.
public enum ManyTests {
  /// The p-values adjusted after Holm (Scandinavian Journal of Statistics 6, 1979), in the order they were
  /// given: those below the level may be believed together, with a false one among them at that level.
  public static func holm(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { (pValues[$0], $0) < (pValues[$1], $1) }
    var adjusted = pValues
    var largest = 0.0
    for (rank, index) in order.enumerated() {
      largest = max(largest, min(1, pValues[index] * Double(pValues.count - rank)))
      adjusted[index] = largest
    }
    return adjusted
  }
}
