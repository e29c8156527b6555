package import AgentTrace
public import TraceReplaying
public import TraceReporting

/// What another policy says of recorded calls, for a terminal.
public struct BacktestReport {
  private let painter: Painter
  private let width: Int

  /// Kinds of changes that are told at most.
  private static let kindLimit = 40

  /// - Parameter width: characters of a line at most, no less than 60.
  public init(painter: Painter, width: Int) {
    self.painter = painter
    self.width = max(60, width)
  }

  /// The lines of the report.
  public func lines(for found: PolicyBacktest) -> [String] {
    // What nobody could be asked about is not as before.
    let isAllAsBefore = found.changed == 0 && found.unanswered == 0
    var lines = [
      "\(Figures.count(found.verdicts, "recorded verdict")) of \(Figures.count(found.logs, "run")): "
        + painter.paint(
          "\(found.verdicts - found.changed - found.unanswered) as before",
          isAllAsBefore ? .good : .faint)
    ]
    for (status, words, role) in Self.headings where found.count(to: status) > 0 {
      lines.append(painter.paint("  \(found.count(to: status)) \(words)", role))
    }
    if found.byOtherRule > 0 { lines.append("  \(found.byOtherRule) as before, by another rule") }
    if found.guarded > 0 {
      lines.append("  \(found.guarded) denied by a guard of the run, where policy had allowed")
    }
    if found.askedByFork > 0 {
      lines.append(
        "  \(found.askedByFork) asked about because the run is a fork, where policy had allowed")
    }
    if found.unanswered > 0 {
      lines.append(
        "  \(found.unanswered) that an authorizer would decide which was not asked so then")
    }
    if found.unclear > 0 {
      lines.append("  \(found.unclear) whose call the log does not show whole")
    }
    if found.undecided > 0 {
      lines.append(
        painter.paint(
          "  \(found.undecided) of these denied or asked about then: whether now allowed is not known",
          .warning))
    }
    return lines + unjudged(found) + kinds(found) + examples(found) + undefined(found)
  }

  private static let headings: [(VerdictStatus, String, Painter.Role)] = [
    (.allow, "newly allowed", .bad), (.deny, "newly denied", .warning),
    (.approvalRequired, "newly asked about", .warning),
  ]

  private func unjudged(_ found: PolicyBacktest) -> [String] {
    let counts = VerdictStatus.allCases.compactMap { status in
      found.unjudged[status].map { "\($0) \(status.word)" }
    }
    guard !counts.isEmpty else { return [] }
    let calls = found.unjudged.values.reduce(0, +)
    return [
      "\(Figures.count(calls, "call")) without a recorded verdict, under this policy: "
        + counts.joined(separator: ", ")
    ]
  }

  private func kinds(_ found: PolicyBacktest) -> [String] {
    let kinds = found.kinds
    guard !kinds.isEmpty else { return [] }
    var table = TextTable(
      headings: ["COUNT", "TOOL", "THEN", "RULE", "NOW", "RULE"], rightAligned: [0])
    for (kind, count) in kinds.prefix(Self.kindLimit) {
      table.append([
        "\(count)", kind.tool, kind.from.word, kind.oldRule ?? "–", kind.to.word,
        kind.newRule ?? "–",
      ])
    }
    var lines = [""] + table.lines(painter: painter, width: width)
    if kinds.count > Self.kindLimit {
      lines.append("and \(Figures.count(kinds.count - Self.kindLimit, "kind")) more")
    }
    return lines
  }

  private func examples(_ found: PolicyBacktest) -> [String] {
    var lines: [String] = []
    for (status, words, _) in Self.headings {
      let examples = found.examples.filter { $0.kind.to == status }
      guard !examples.isEmpty else { continue }
      lines += ["", painter.paint(words, .heading)]
      for example in examples {
        let call = Visible.line(
          "\(example.kind.tool) (\(example.callId)): \(example.kind.from.word) by "
            + "\(example.kind.oldRule ?? "default") → \(status.word) by "
            + (example.kind.newRule ?? "default"), width: width - 2)
        lines.append("  " + call)
        // To be copied: never cut.
        lines.append(
          painter.paint(
            Visible.line(
              "    agent-eval replay \(ShellWord.path(example.log)) --event \(example.seq)"),
            .faint))
      }
    }
    return lines
  }

  private func undefined(_ found: PolicyBacktest) -> [String] {
    let names = found.undefinedToolNames
    guard !names.isEmpty else { return [] }
    let shown = names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    return [
      "",
      painter.paint("note", .warning)
        + Visible.line(
          ": no definition of \(shown) is known, so they count as writing; --agent FILE gives them"),
    ]
  }
}

extension VerdictStatus {
  /// As policy files have it.
  package var word: String {
    switch self {
    case .allow: "allow"
    case .deny: "deny"
    case .approvalRequired: "ask"
    }
  }
}
