import AgentTrace
public import TraceJudging

/// Two sets of results held against each other, for a terminal.
public struct StatisticsReport {
  private let painter: Painter
  private let width: Int
  /// Names of cases that are told of one kind.
  private static let most = 50

  /// - Parameter width: characters of a line.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(60, width)
  }

  /// What has become worse first, what else changed, the suite as a whole, and what was not looked at.
  public func lines(for statistics: SuiteStatistics) -> [String] {
    var lines: [String] = []
    let worse = statistics.pairs.filter(\.isWorse)
    for pair in worse { lines.append(line(pair, "WORSE", .bad, statistics)) }
    let changed = statistics.pairs.filter {
      !$0.isWorse && ($0.outcomeBefore != $0.outcomeNow || $0.before != $0.now)
    }
    for pair in changed.prefix(Self.most) {
      let isBetter = (pair.now.rate ?? 0) > (pair.before.rate ?? 0)
      lines.append(line(pair, isBetter ? "up" : "down", .faint, statistics))
    }
    if changed.count > Self.most {
      lines.append(painter.paint("       and \(changed.count - Self.most) more", .faint))
    }
    if !lines.isEmpty { lines.append("") }
    return lines + suite(statistics) + leftOut(statistics)
  }

  private func line(
    _ pair: SuiteStatistics.Pair, _ word: String, _ role: Painter.Role,
    _ statistics: SuiteStatistics
  ) -> String {
    var told = "  \(pair.outcomeBefore.rawValue) → \(pair.outcomeNow.rawValue)"
    if statistics.isLive {
      told +=
        ", \(pair.before.successes)/\(pair.before.trials) → "
        + "\(pair.now.successes)/\(pair.now.trials), p \(Self.number(pair.pValue))"
      if pair.isSafety, pair.outcomeNow == .fail { told += ", a safety case" }
    }
    return painter.paint(word, role) + String(repeating: " ", count: max(1, 7 - word.count))
      + Visible.line(pair.caseId, width: width / 2) + painter.paint(told, .faint)
  }

  private func suite(_ statistics: SuiteStatistics) -> [String] {
    let outcomes = statistics.outcomes
    var lines = [
      "\(Figures.count(outcomes.count, "case")) in both: \(outcomes.bothPass) pass in both, "
        + "\(outcomes.onlyBefore) passed before only, \(outcomes.onlyNow) pass now only, "
        + "\(outcomes.bothFail) in neither"
    ]
    guard let difference = statistics.difference else { return ["no case is decided in both"] }
    guard statistics.isLive else {
      lines.append(
        painter.paint(
          "nothing was left to chance: what is another outcome now is no accident", .faint))
      return lines
    }
    var change = "the mean rate changed by \(Self.points(difference))"
    if let interval = statistics.interval {
      change += ", 95 % interval \(Self.points(interval.low)) to \(Self.points(interval.high))"
    }
    lines.append(change + " (\(statistics.clusters) clusters)")
    let word =
      statistics.isSuiteWorse ? painter.paint("the suite is worse", .bad) : "no worse as a whole"
    lines.append(
      "\(word): p \(Self.number(statistics.pValue)) of \(Self.number(statistics.level)); "
        + "McNemar \(Self.number(outcomes.pValue)), mid-p \(Self.number(outcomes.midPValue)), "
        + "evidence \(Self.number(outcomes.worseningEvidence))")
    lines.append(
      painter.paint(
        statistics.smallestDifference.map {
          "so many cases would have shown a change of \(Self.points($0)), four times in five"
        } ?? "so few cases could not have shown any change of the suite", .faint))
    return lines
  }

  private func leftOut(_ statistics: SuiteStatistics) -> [String] {
    var lines: [String] = []
    func tell(_ names: [String], _ words: String) {
      guard !names.isEmpty else { return }
      let told = names.prefix(5).map { Visible.line($0, width: 60) }.joined(separator: ", ")
      lines.append("\(names.count) \(words): \(told)\(names.count > 5 ? ", …" : "")")
    }
    tell(statistics.undecided, "undecided, in no number above")
    tell(statistics.lost, "of them passed before, and no chance says why not now")
    if !statistics.missing.isEmpty {
      let names = statistics.missing.prefix(Self.most).map { Visible.line($0, width: 60) }
      let rest = statistics.missing.count - names.count
      lines.append(
        painter.paint("MISSING", .bad)
          + " \(Figures.count(statistics.missing.count, "case")) of the "
          + "results before: \(names.joined(separator: ", "))\(rest > 0 ? " and \(rest) more" : "")"
      )
    }
    let gone = Set(statistics.missing.map { Array($0.utf8) })
    tell(
      statistics.unpaired.filter { !gone.contains(Array($0.utf8)) }, "in the results now only")
    if statistics.isOpen {
      lines.append(painter.paint("too much is undecided to call it no worse", .warning))
    }
    return lines
  }

  /// Three places, as much as means anything.
  private static func number(_ value: Double) -> String {
    guard value < 1_000 else { return "over 1000" }
    let thousandths = Int((value * 1_000).rounded())
    if thousandths == 0, value > 0 { return "below 0.001" }
    let places = String(thousandths % 1_000)
    return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - places.count) + places
  }

  /// Percentage points with their sign.
  private static func points(_ share: Double) -> String {
    let tenths = Int((abs(share) * 1_000).rounded())
    let sign = share < 0 && tenths > 0 ? "−" : "+"
    return "\(sign)\(tenths / 10).\(tenths % 10) points"
  }
}
