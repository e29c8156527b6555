public import AgentTrace
public import TraceJudging

/// Many runs at a glance, for a terminal and for programs.
public struct SurveyReport: Sendable {
  private let survey: Survey
  private let rules: [(group: Survey.Group?, rules: MinedRules)]

  /// - Parameter rules: what the runs of each group have in common, where that was looked for.
  public init(_ survey: Survey, rules: [(group: Survey.Group?, rules: MinedRules)] = []) {
    self.survey = survey
    self.rules = rules
  }

  /// Rows of a table at most.
  private static let rowLimit = 20

  // MARK: Lines

  /// Lines for a terminal, made visible.
  public func lines(painter: Painter, width: Int) -> [String] {
    var lines = [head]
    for run in survey.unreadable.prefix(Self.rowLimit) {
      lines.append(
        painter.paint("unreadable", .bad)
          + "  \(Visible.line(run.name, width: 80)): \(Visible.line(run.reason, width: 160))")
    }
    lines += more(survey.unreadable.count)
    if survey.runs > 0 {
      lines += agents(painter, width) + tools(painter, width) + stops(painter, width)
      lines += seen(painter) + used
    }
    // Paths stand whole, to be copied.
    return lines.map { Visible.cut($0, width: width) }
      + (survey.runs > 0 ? unusual(painter, width) : [])
  }

  private var head: String {
    let agents = Set(survey.groups.keys.map(\.agent)).count
    var text = "\(Figures.count(survey.runs, "run")) of \(Figures.count(agents, "agent"))"
    if let steps = survey.stepRange {
      text +=
        steps.least < steps.most
        ? ", \(steps.least) to \(steps.most) steps, \(steps.median) in the middle"
        : ", \(Figures.count(steps.least, "step"))" + (survey.runs > 1 ? " each" : "")
    }
    if !survey.unreadable.isEmpty { text += "; \(survey.unreadable.count) could not be read" }
    return text
  }

  private func more(_ count: Int) -> [String] {
    count > Self.rowLimit ? ["  … and \(count - Self.rowLimit) more; --json has them all"] : []
  }

  private func agents(_ painter: Painter, _ width: Int) -> [String] {
    var table = TextTable(
      headings: ["agent", "imported from", "calls recorded", "runs"], rightAligned: [3])
    let groups = survey.groupsByRuns
    for entry in groups.prefix(Self.rowLimit) {
      table.append([
        entry.group.agent.isEmpty ? "–" : entry.group.agent, entry.group.format ?? "–",
        entry.group.hasAllCalls ? "all" : "in part",
        String(entry.runs),
      ])
    }
    return [""] + table.lines(painter: painter, width: width) + more(groups.count)
  }

  private func tools(_ painter: Painter, _ width: Int) -> [String] {
    let tools = survey.toolsByCalls
    guard !tools.isEmpty else { return ["", "no tool was called"] }
    var table = TextTable(
      headings: ["tool", "runs", "calls", "ran", "errors", "", "refused", "unknown"],
      rightAligned: [1, 2, 3, 4, 5, 6, 7])
    for tool in tools.prefix(Self.rowLimit) {
      let figures = tool.figures
      // Where no source says what became of a call, 0 errors would be invented.
      let isTold = figures.executed > figures.returned || figures.executed == 0
      table.append([
        tool.name, String(figures.runs), String(figures.calls), String(figures.executed),
        isTold ? String(figures.errors) : "?", figures.errorRate.map(Self.percent) ?? "",
        String(figures.refused), String(figures.unknown),
      ])
    }
    return [""] + table.lines(painter: painter, width: width) + more(tools.count)
  }

  /// A share in per cent, to a tenth.
  private static func percent(_ share: Double) -> String {
    let tenths = Int((share * 1_000).rounded())
    return "\(tenths / 10).\(tenths % 10) %"
  }

  private func stops(_ painter: Painter, _ width: Int) -> [String] {
    var table = TextTable(headings: ["stopped", "runs"], rightAligned: [1])
    for stop in survey.stopsByRuns {
      table.append([stop.reason.isEmpty ? "not recorded" : stop.reason, String(stop.runs)])
    }
    return [""] + table.lines(painter: painter, width: width)
  }

  private static let words = [
    ("noLoops", "loops"), ("noRepeatedSideEffect", "repeated writes"),
    ("noApprovalBypass", "bypassed approvals"), ("maxInvalidDecisions", "invalid decisions"),
  ]

  private func seen(_ painter: Painter) -> [String] {
    var lines = [""]
    for (key, word) in Self.words {
      let sighting = survey.sightings[key] ?? Survey.Sightings()
      let padded = word + String(repeating: " ", count: 20 - word.count)
      var text =
        sighting.runs == 0
        ? "none" : painter.paint("in \(Figures.count(sighting.runs, "run"))", .warning)
      if sighting.runs > 0 {
        let names = sighting.examples.map { Visible.line($0, width: 60) }
        text +=
          ": \(names.joined(separator: ", "))" + (sighting.runs > names.count ? ", …" : "")
      }
      if sighting.unverifiable > 0 {
        text += "; of \(Figures.count(sighting.unverifiable, "run")) nobody can say"
      }
      lines.append(padded + text)
    }
    return lines
  }

  private var used: [String] {
    let usage = survey.usage
    var lines: [String] = []
    if usage.told > 0 {
      lines.append(
        "tokens              \(usage.inputTokens) in, \(usage.outputTokens) out, told by \(Figures.count(usage.told, "run"))"
      )
    }
    lines.append(
      usage.priced > 0
        ? "cost                \(Figures.cost(usage.cost)), told by \(Figures.count(usage.priced, "run"))"
        : "cost                not recorded")
    return lines
  }

  private func unusual(_ painter: Painter, _ width: Int) -> [String] {
    let paths = survey.unusualPaths()
    guard !paths.isEmpty else { return [] }
    var table = TextTable(
      headings: ["bits", "runs", "unusual path", "for example"], rightAligned: [0, 1],
      keepsLast: true)
    for path in paths {
      table.append([
        Self.bits(path.bits), String(path.runs),
        path.tools.isEmpty ? "no tool" : path.tools.joined(separator: " → "), path.example,
      ])
    }
    return [""] + table.lines(painter: painter, width: width)
  }

  private static func bits(_ bits: Double) -> String {
    let tenths = Int((min(bits, 1e6) * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  // MARK: JSON

  /// As one JSON object, `agent-eval/inspection/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": "agent-eval/inspection/1", "runs": JSONValue(survey.runs),
      "unreadable": .array(
        survey.unreadable.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
      "agents": .array(
        survey.groupsByRuns.map { entry in
          [
            "agent": .string(entry.group.agent), "format": Self.text(entry.group.format),
            "calls": Self.calls(entry.group.hasAllCalls),
            "runs": JSONValue(entry.runs),
          ]
        }),
      "tools": .array(survey.toolsByCalls.map { Self.json($0.name, $0.figures) }),
      "stops": .array(
        survey.stopsByRuns.map {
          [
            "reason": $0.reason.isEmpty ? .null : .string($0.reason), "runs": JSONValue($0.runs),
          ]
        }),
      "seen": .array(
        Self.words.map { key, _ in
          let sighting = survey.sightings[key] ?? Survey.Sightings()
          return [
            "expectation": .string(key), "runs": JSONValue(sighting.runs),
            "unverifiable": JSONValue(sighting.unverifiable),
            "examples": JSONValue(sighting.examples),
          ]
        }),
      "unusual": .array(
        survey.unusualPaths().map {
          [
            "tools": JSONValue($0.tools), "bits": JSONValue(($0.bits * 1_000).rounded() / 1_000),
            "runs": JSONValue($0.runs), "example": .string($0.example),
          ]
        }),
      "usage": usage,
    ]
    object["steps"] =
      survey.stepRange.map {
        [
          "least": JSONValue($0.least), "median": JSONValue($0.median), "most": JSONValue($0.most),
        ]
      } ?? .null
    if !rules.isEmpty {
      object["rules"] = .array(
        rules.flatMap { entry in
          let holding = Set(entry.rules.holding)
          return entry.rules.rules.map { rule in
            Self.json(rule, entry, holds: holding.contains(rule))
          }
        })
    }
    return .object(object)
  }

  private static func calls(_ hasAllCalls: Bool) -> JSONValue {
    hasAllCalls ? "whole" : "partial"
  }

  private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

  private var usage: JSONValue {
    var object: JSONObject = [
      "inputTokens": JSONValue(survey.usage.inputTokens),
      "outputTokens": JSONValue(survey.usage.outputTokens),
      "tokensToldBy": JSONValue(survey.usage.told), "costToldBy": JSONValue(survey.usage.priced),
    ]
    if survey.usage.priced > 0 {
      object["cost"] = JSONValue((survey.usage.cost * 1_000_000).rounded() / 1_000_000)
    }
    return .object(object)
  }

  private static func json(_ name: String, _ figures: Survey.ToolFigures) -> JSONValue {
    var object: JSONObject = [
      "tool": .string(name), "runs": JSONValue(figures.runs), "calls": JSONValue(figures.calls),
      "executed": JSONValue(figures.executed), "errors": JSONValue(figures.errors),
      "refused": JSONValue(figures.refused), "unknown": JSONValue(figures.unknown),
      "returned": JSONValue(figures.returned),
    ]
    object["errorRate"] = figures.errorRate.map { JSONValue(($0 * 10_000).rounded() / 10_000) }
    return .object(object)
  }

  private static func json(
    _ rule: MinedRules.Rule, _ entry: (group: Survey.Group?, rules: MinedRules), holds: Bool
  ) -> JSONValue {
    [
      "agent": text(entry.group?.agent), "format": text(entry.group?.format),
      "calls": entry.group.map { calls($0.hasAllCalls) } ?? .null,
      "expectation": .string(rule.key), "value": rule.value,
      "runs": JSONValue(entry.rules.runs), "shown": JSONValue(rule.shown),
      "notExercised": JSONValue(rule.notExercised), "broken": JSONValue(rule.broken),
      "unverifiable": JSONValue(rule.unverifiable), "holds": .bool(holds),
    ]
  }
}
