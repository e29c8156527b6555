import AgentTrace
public import TraceJudging

/// How many changed runs a suite notices, for a terminal: what slips through, and what would notice it.
public struct MutationReport {
  private let painter: Painter
  private let width: Int
  /// Groups of survivors of one run that are told.
  private static let mostSurvivors = 20

  /// - Parameter width: characters of a line.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(60, width)
  }

  /// Runs with survivors first, then the others, a summary last.
  public func lines(for score: MutationScore) -> [String] {
    var lines: [String] = []
    for run in score.runs where !run.survivors.isEmpty {
      lines += head(of: run, .warning) + survivors(of: run) + reasons(of: run) + [""]
    }
    for run in score.runs where run.survivors.isEmpty {
      lines += head(of: run, .good) + reasons(of: run)
    }
    for found in score.leftOut {
      lines.append(
        painter.paint("left out  ", .faint) + Visible.line(found.caseId, width: width / 2)
          + painter.paint(": " + Visible.line(found.why, width: 500), .faint))
    }
    for why in score.idleReasons {
      lines.append(
        painter.paint("no change needs ", .faint) + "the reason “\(Visible.line(why, width: 500))”")
    }
    if !lines.isEmpty, lines.last?.isEmpty == false { lines.append("") }
    return lines + summary(of: score)
  }

  private func head(of run: MutationScore.RunScore, _ role: Painter.Role) -> [String] {
    let counts = run.counts
    let share = "\(counts.noticed)/\(counts.changes)"
    let cases = run.cases.map { one in
      "\(Visible.line(one.caseId, width: 80)) \(one.noticed.values.reduce(0, +))"
    }
    return [
      painter.paint(share + String(repeating: " ", count: max(2, 10 - share.count)), role)
        + painter.paint(Visible.line(run.log, width: width - 12), .heading),
      "  " + painter.paint("by case: " + cases.joined(separator: ", "), .faint),
    ]
  }

  private func survivors(of run: MutationScore.RunScore) -> [String] {
    var lines: [String] = []
    // What one expectation would notice stands together.
    var groups: [(remedy: String?, changes: [RunMutation])] = []
    for survivor in run.survivors {
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

  /// What is let pass on purpose, by the reason.
  private func reasons(of run: MutationScore.RunScore) -> [String] {
    var groups: [(why: String, kinds: [RunMutation.Kind], count: Int)] = []
    for one in run.tolerated {
      let place =
        groups.firstIndex { $0.why.hasSameUTF8(as: one.why) } ?? groups.count
      if place == groups.count { groups.append((one.why, [], 0)) }
      groups[place].count += 1
      if !groups[place].kinds.contains(one.mutation.kind) {
        groups[place].kinds.append(one.mutation.kind)
      }
    }
    return groups.map { why, kinds, count in
      painter.paint(
        "  tolerates \(count) (\(kinds.map(\.rawValue).joined(separator: ", "))): "
          + Visible.line(why, width: width * 2), .faint)
    }
  }

  private func summary(of score: MutationScore) -> [String] {
    guard let share = score.score else { return ["no run was changed"] }
    let kinds = score.kinds
    let longest = kinds.map(\.kind.rawValue.count).max() ?? 0
    let table = kinds.map { kind, counts in
      "  " + kind.rawValue + String(repeating: " ", count: longest + 2 - kind.rawValue.count)
        + "\(counts.noticed) of \(counts.changes)" + Self.rest(of: counts)
    }
    let counts = score.counts
    // Rounded down: only a suite that notices everything has 100 %.
    let percent = Int(share * 1_000)
    return ["noticed, by what was changed:"] + table + [
      "\(counts.noticed) of \(counts.changes) changed runs are noticed: "
        + "\(percent / 10).\(percent % 10) %" + Self.rest(of: counts)
    ]
  }

  private static func rest(of counts: MutationScore.Counts) -> String {
    let parts = [
      counts.tolerated > 0 ? "\(counts.tolerated) tolerated" : nil,
      counts.survivors > 0
        ? "\(counts.survivors) survive\(counts.survivors == 1 ? "s" : "")" : nil,
    ].compactMap { $0 }
    return parts.isEmpty ? "" : "; " + parts.joined(separator: ", ")
  }
}
