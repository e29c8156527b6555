public import TraceJudging

/// How far a suite is, in words. Knows no clock: whoever asks says how long it has been.
public struct SuiteProgress: Sendable {
  private let total: Int
  private var done = 0
  private var counts: [CaseOutcome: Int] = [:]

  /// - Parameter total: how many cases are to be judged.
  public init(total: Int) { self.total = total }

  /// Takes in what became of a case.
  public mutating func take(_ outcome: CaseOutcome) {
    done += 1
    counts[outcome, default: 0] += 1
  }

  /// `12 of 40, 1 failed, 3.2 a second, about 9 s left`. What is nought or cannot be told yet is left out.
  ///
  /// - Parameter seconds: how long it has been since the first case began.
  public func line(after seconds: Double) -> String {
    var parts = ["\(done) of \(total)"]
    for (outcome, word) in [
      (CaseOutcome.fail, "failed"), (.error, "not judged"), (.inconclusive, "inconclusive"),
    ] {
      if let count = counts[outcome] { parts.append("\(count) \(word)") }
    }
    guard done > 0, seconds > 0 else { return parts.joined(separator: ", ") }
    parts.append(Self.rate(Double(done) / seconds))
    if done < total {
      let left = seconds / Double(done) * Double(total - done)
      parts.append("about \(Self.duration(left)) left")
    }
    return parts.joined(separator: ", ")
  }

  private static func rate(_ perSecond: Double) -> String {
    let (rate, unit) =
      perSecond >= 1
      ? (perSecond, "a second")
      : perSecond * 60 >= 1 ? (perSecond * 60, "a minute") : (perSecond * 3600, "an hour")
    guard rate < 10 else { return "\(Int(min(rate.rounded(), 1e9))) \(unit)" }
    let tenths = Int((rate * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(unit)"
  }

  private static func duration(_ seconds: Double) -> String {
    let whole = Int(min(max(1, seconds.rounded()), 1e9))
    switch whole {
    case ..<120: return "\(whole) s"
    case ..<7_200: return "\((whole + 30) / 60) min"
    default: return "\((whole + 1_800) / 3_600) h"
    }
  }
}
