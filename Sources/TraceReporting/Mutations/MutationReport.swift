import AgentTrace
public import TraceJudging

/// How many changed runs a suite notices, for a terminal: what slips through, and what would notice it.
public struct MutationReport {
  private let painter: Painter
  private let width: Int
  /// Survivors of one case that are told.
  private static let mostSurvivors = 20

  /// - Parameter width: characters of a line.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(60, width)
  }

  /// Cases with survivors first, a line for each of the others, a summary last.
  public func lines(for score: MutationScore) -> [String] {
    var lines: [String] = []
    for found in score.cases where !found.survivors.isEmpty {
      lines += self.lines(for: found) + [""]
    }
    let whole = score.cases.filter { $0.survivors.isEmpty && $0.leftOut == nil }
    lines += whole.map { head(of: $0, .good) }
    for found in score.cases {
      guard let reason = found.leftOut else { continue }
      lines.append(
        painter.paint("left out  ", .faint) + Visible.line(found.caseId, width: width / 2)
          + painter.paint(": " + Visible.line(reason, width: 500), .faint))
    }
    if !lines.isEmpty, lines.last?.isEmpty == false { lines.append("") }
    return lines + summary(of: score)
  }

  private func head(of found: MutationScore.CaseScore, _ role: Painter.Role) -> String {
    let share = "\(found.killed)/\(found.mutants)"
    return painter.paint(share + String(repeating: " ", count: max(2, 10 - share.count)), role)
      + painter.paint(Visible.line(found.caseId, width: width - 30), .heading)
  }

  private func lines(for found: MutationScore.CaseScore) -> [String] {
    var lines = [head(of: found, .warning)]
    // What one expectation would notice stands together.
    var groups: [(remedy: String?, changes: [RunMutation])] = []
    for survivor in found.survivors {
      let remedy = survivor.remedy.map { CanonicalJSON.string($0) }
      if let place = groups.firstIndex(where: { $0.remedy == remedy }) {
        groups[place].changes.append(survivor.mutation)
      } else {
        groups.append((remedy, [survivor.mutation]))
      }
    }
    for (remedy, changes) in groups.prefix(Self.mostSurvivors) {
      for change in changes.prefix(3) {
        lines.append(
          "  passes though " + Visible.line(change.words, width: width - 30)
            + painter.paint("  event \(change.seq)", .faint))
      }
      if changes.count > 3 {
        lines.append(painter.paint("  and \(changes.count - 3) more like these", .faint))
      }
      lines.append(
        remedy.map {
          "    " + painter.paint("would notice: ", .faint) + Visible.line($0, width: width * 2)
        }
          ?? "    " + painter.paint("no expectation that was tried would notice", .faint))
    }
    if groups.count > Self.mostSurvivors {
      lines.append(painter.paint("  and \(groups.count - Self.mostSurvivors) groups more", .faint))
    }
    return lines
  }

  private func summary(of score: MutationScore) -> [String] {
    guard let share = score.score else { return ["no run was changed"] }
    var kinds: [(kind: RunMutation.Kind, mutants: Int, killed: Int)] = []
    for kind in RunMutation.Kind.allCases {
      let counts = score.cases.compactMap { $0.kinds[kind] }
      let mutants = counts.reduce(0) { $0 + $1.mutants }
      if mutants > 0 { kinds.append((kind, mutants, counts.reduce(0) { $0 + $1.killed })) }
    }
    let longest = kinds.map(\.kind.rawValue.count).max() ?? 0
    let table = kinds.map { kind, mutants, killed in
      "  " + kind.rawValue + String(repeating: " ", count: longest + 2 - kind.rawValue.count)
        + "\(killed) of \(mutants)"
    }
    // Rounded down: only a suite that notices everything has 100 %.
    let percent = Int(share * 1_000)
    return ["noticed, by what was changed:"] + table + [
      "\(score.killed) of \(score.mutants) changed runs are noticed: \(percent / 10).\(percent % 10) %"
    ]
  }
}
