public import AgentTrace

/// How runs that were made again differ from what was recorded, for a terminal.
public struct DivergenceReport: Sendable {
  /// One run that differs.
  public struct Finding: Sendable {
    /// The log.
    public var log: String
    /// The word for the cause.
    public var cause: String
    /// The step of the first difference.
    public var step: Int
    /// The number of its event.
    public var seq: Int
    /// The recorded event in a few words; `nil` where nothing more was recorded.
    public var recorded: String?
    /// What happens now in a few words; `nil` where nothing more does.
    public var now: String?
    /// The smallest input that explains it, in a word or two; `nil` where none does.
    public var input: String?
    /// The same in a sentence.
    public var explanation: String?
    /// What differs: where, as recorded, and now.
    public var fields: [(pointer: String, recorded: JSONValue?, now: JSONValue?)]
    /// How many values differ in all.
    public var fieldCount: Int
    /// The keys of all inputs that have changed.
    public var changes: [String]

    /// `fieldCount` is to be no less than the number of `fields`.
    public init(
      log: String, cause: String, step: Int, seq: Int, recorded: String?, now: String?,
      input: String?, explanation: String?,
      fields: [(pointer: String, recorded: JSONValue?, now: JSONValue?)],
      fieldCount: Int, changes: [String] = []
    ) {
      self.log = log
      self.cause = cause
      self.step = step
      self.seq = seq
      self.recorded = recorded
      self.now = now
      self.input = input
      self.explanation = explanation
      self.fields = fields
      self.fieldCount = fieldCount
      self.changes = changes
    }
  }

  private let painter: Painter
  private let width: Int

  /// The most differing values that are shown of a run.
  private static let shownFields = 12
  /// The most changed inputs that are named.
  private static let shownChanges = 20

  /// - Parameter width: characters of a line at most, no less than 40.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(40, width)
  }

  /// One run in full: where, why, and what differs side by side.
  public func lines(_ finding: Finding) -> [String] {
    var lines = [
      painter.paint("diverged", .bad) + "  " + Visible.line(finding.log),
      "  step \(finding.step), event \(finding.seq): "
        + painter.paint(finding.cause, .heading),
    ]
    if let explanation = finding.explanation {
      lines.append("  " + Visible.line(explanation, width: 4 * width))
    }
    lines.append(
      cut("  recorded  " + Visible.line(finding.recorded ?? "nothing more", width: width)))
    lines.append(cut("  now       " + Visible.line(finding.now ?? "nothing more", width: width)))
    for field in finding.fields.prefix(Self.shownFields) {
      lines.append("  " + painter.paint(Visible.line(field.pointer, width: width - 2), .faint))
      let (recorded, now) = sides(field.recorded, field.now)
      lines.append("    recorded  " + recorded)
      lines.append("    now       " + now)
    }
    let rest = finding.fieldCount - min(finding.fields.count, Self.shownFields)
    if rest > 0 {
      lines.append("  and \(rest) more; --json shows up to a hundred")
    }
    if finding.changes.count > 1 || finding.changes.count == 1 && finding.input == nil {
      let keys = finding.changes.prefix(Self.shownChanges).joined(separator: ", ")
      let others = finding.changes.count - Self.shownChanges
      lines.append(
        "  changed   " + Visible.line(keys, width: 4 * width)
          + (others > 0 ? " and \(others) more" : ""))
    }
    return lines
  }

  /// One run on one line.
  public func line(_ finding: Finding) -> String {
    let what = finding.explanation ?? finding.recorded ?? "nothing more was recorded"
    return painter.paint("diverged", .bad) + "  " + Visible.line(finding.log)
      + "  step \(finding.step), event \(finding.seq): " + finding.cause + "  "
      + Visible.line(what, width: width)
  }

  /// How often each cause was found, with an example of each.
  public func table(_ findings: [Finding], causes: [String]) -> [String] {
    var table = TextTable(
      headings: ["cause", "runs", "the first", "by", "log"], rightAligned: [1],
      keepsLast: true)
    for cause in causes {
      let those = findings.filter { $0.cause.hasSameUTF8(as: cause) }
      guard let first = those.first else { continue }
      table.append([
        cause, "\(those.count)", "step \(first.step), event \(first.seq)", first.input ?? "–",
        first.log,
      ])
    }
    return table.lines(painter: painter, width: width)
  }

  private func cut(_ line: String) -> String {
    line.count > width ? line.prefix(width - 1) + "…" : line
  }

  /// Two values as text, from a little before the first difference on where they are long.
  private func sides(_ recorded: JSONValue?, _ now: JSONValue?) -> (String, String) {
    let room = width - 14
    let texts = [recorded, now].map { value in
      value.map { Visible.json(CanonicalJSON.string($0, form: .plain)) }
    }
    guard let left = texts[0], let right = texts[1] else {
      return (short(texts[0] ?? "–", room), short(texts[1] ?? "–", room))
    }
    let common = zip(left, right).prefix { $0 == $1 }.count
    guard max(left.count, right.count) > room, common > room / 2 else {
      return (short(left, room), short(right, room))
    }
    let start = common - room / 4
    return (
      short("…" + left.dropFirst(start), room), short("…" + right.dropFirst(start), room)
    )
  }

  private func short(_ text: String, _ room: Int) -> String {
    text.count > room ? text.prefix(room - 1) + "…" : text
  }
}
