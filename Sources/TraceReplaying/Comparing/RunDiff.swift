public import AgentTrace
import TraceStorage

/// Two runs beside each other: their acts aligned, and what differs.
///
/// Identifiers, event numbers and times never count, nor does the order of the calls of one decision.
/// The comparison is symmetric: the same rows with sides exchanged come out where the runs are.
public struct RunDiff: Sendable {
  /// What stands beside what.
  public struct Row: Sendable {
    /// What it is a row of.
    public enum Kind: String, Sendable, Hashable {
      /// What the runs began with.
      case start
      /// An act: a call, or something that was said.
      case act
      /// How the runs ended.
      case stop
      /// What the model's calls used.
      case usage
    }

    /// How its sides are to each other. Raw values are the wire format.
    public enum Standing: String, Sendable, Hashable {
      /// All that counts is the same.
      case same
      /// One thing on both sides, of which something differs.
      case changed
      /// Another thing at the same place.
      case replaced
      /// Only the left run has it.
      case left
      /// Only the right run has it.
      case right
      /// Both have it, at different places: this is the left one's.
      case movedLeft = "moved_left"
      /// Both have it, at different places: this is the right one's.
      case movedRight = "moved_right"
    }

    /// What it is a row of.
    public var kind: Kind
    /// How its sides are to each other.
    public var standing: Standing
    /// The left act; `nil` where there is none or the row is of no act.
    public var left: ComparedRun.Act?
    /// The right act; `nil` where there is none or the row is of no act.
    public var right: ComparedRun.Act?
    /// What differs in what both have.
    public var fields: [FieldDifference] = []
    /// Fields beyond ``FieldDifference/limit``.
    public var untoldFields = 0
    /// Whether one side made the call together with the one before, and the other after it: the one
    /// that made them together is the left.
    public var togetherOnLeft: Bool?

    /// Whether it counts.
    public var differs: Bool { standing != .same || togetherOnLeft != nil }
  }

  /// The left run.
  public private(set) var left: ComparedRun
  /// The right run.
  public private(set) var right: ComparedRun
  /// From the start to what was used.
  public private(set) var rows: [Row] = []
  /// What could not be compared, in sentences.
  public private(set) var notes: [String] = []

  /// Whether nothing that counts differs, and all that counts is there.
  public var isSame: Bool { missing.isEmpty && isWhole && !rows.contains(where: \.differs) }

  /// Whether both logs hold all that their runs did: neither is torn, unfinished or without some of its events.
  public var isWhole: Bool {
    [left, right].allSatisfy { $0.holes.isEmpty && ($0.ending ?? .closed) == .closed }
  }

  /// What is missing of either run, in sentences: logs of the agents that it called.
  public var missing: [String] {
    [left, right].flatMap { run in run.missing.map { "\(run.path): \($0)" } }
  }

  /// Whether it can be told that the runs are the same, or that they are not. Where the log of an agent that one of them
  /// called is missing, they differ for certain in what they began with, came to or did themselves alone. Where nothing
  /// differs in what a log holds that is not whole, something may in what it lacks.
  public var isTold: Bool {
    missing.isEmpty && (isWhole || rows.contains(where: \.differs))
      || !missing.isEmpty
        && rows.contains { row in
          guard row.differs, row.kind != .usage else { return false }
          return [row.left, row.right].allSatisfy { $0?.caller.hasSameUTF8(as: "agent") ?? true }
        }
  }

  /// The row that differs first; `nil` where none does.
  public var first: Row? { rows.first(where: \.differs) }

  /// The first act that differs; `nil` where none does.
  public var firstAct: Row? { rows.first { $0.kind == .act && $0.differs } }

  /// Compares two runs.
  ///
  /// - Complexity: that of `SequenceAlignment` in their acts between the first and the last that
  ///   differ.
  public init(_ left: ComparedRun, _ right: ComparedRun) {
    self.left = left
    self.right = right
    let unrecorded = dropUnrecorded()
    let sides = (Side(self.left, leftOut: unrecorded), Side(self.right, leftOut: unrecorded))
    let isMirrored = sides.1.precedes(sides.0)
    let aligned =
      isMirrored ? AlignedActs(sides.1, sides.0).mirrored : AlignedActs(sides.0, sides.1)
    if aligned.isRough {
      notes.append("the runs are long and differ in much: their calls were aligned roughly")
    }
    rows.append(whole(.start, [("start", self.left.start, self.right.start)]))
    rows += aligned.rows
    if !unrecorded.contains("stop") {
      rows.append(whole(.stop, [("stop", self.left.stop, self.right.stop)]))
    }
    if !unrecorded.contains("usage") {
      rows.append(whole(.usage, [("usage", self.left.usage, self.right.usage)]))
    }
    note(self.left)
    note(self.right)
    notes += missing.map { "what runs below it did is not compared: \($0)" }
  }

  /// Names of parts that one of the runs has no record of, so that nothing can be said about them.
  private mutating func dropUnrecorded() -> Set<String> {
    var parts: Set<String> = []
    for (channel, part) in [
      ("policy", "verdict"), ("tools", "result"), ("model", "usage"), ("stop", "stop"),
    ] where left.recorded[channel] == "none" || right.recorded[channel] == "none" {
      parts.insert(part)
      notes.append("\(part)s are not compared: one of the runs has no record of them")
    }
    if left.recorded.isEmpty != right.recorded.isEmpty {
      // One is an import: what its source says nothing of is no difference.
      notes.append("one of the runs was imported: what they began with is not compared")
      left.start = right.start
    } else if left.holdsModels != right.holdsModels {
      notes.append("how models were asked is not compared: one of the runs has no record of it")
      left.start.leaveOut("models")
      right.start.leaveOut("models")
    }
    return parts
  }

  private func whole(
    _ kind: Row.Kind, _ parts: [(name: String, left: ComparedValue?, right: ComparedValue?)]
  ) -> Row {
    var row = Row(kind: kind, standing: .same)
    for part in parts {
      let (fields, untold) = FieldDifference.all(part.left, part.right, at: part.name)
      row.fields += fields
      row.untoldFields += untold
    }
    if !row.fields.isEmpty { row.standing = .changed }
    return row
  }

  private mutating func note(_ run: ComparedRun) {
    switch run.ending {
    case .unfinished: notes.append("\(run.path) is unfinished: what follows in it is not known")
    case .torn(let offset):
      notes.append("\(run.path) is torn at byte \(offset): what followed in it is not known")
    case .closed, nil: break
    }
    if let hole = run.holes.first {
      notes.append("\(run.path) lacks events, the first is \(hole.lowerBound)")
    }
  }
}

// MARK: - For programs

extension RunDiff {
  /// What a program may read: `agent-eval schema diff` describes it.
  ///
  /// - Parameter limit: rows that differ and are told with their fields; those beyond are counted.
  public func json(limit: Int = 10_000) -> JSONValue {
    let differing = rows.filter(\.differs)
    return .object(
      JSONObject([
        ("schema", "agent-eval/diff/1"), ("same", .bool(isSame)), ("left", Self.json(of: left)),
        ("right", Self.json(of: right)), ("first", first.map(\.json) ?? .null),
        ("firstAct", firstAct.map(\.json) ?? .null),
        ("differences", .array(differing.prefix(limit).map(\.json))),
        ("untold", JSONValue(max(0, differing.count - limit))),
        ("missing", JSONValue(missing)),
        ("sameActs", JSONValue(rows.count { $0.kind == .act && !$0.differs })),
        ("notes", JSONValue(notes)),
      ]))
  }

  private static func json(of run: ComparedRun) -> JSONValue {
    var object: JSONObject = [
      "log": .string(run.path), "runId": .string(run.runId), "steps": JSONValue(run.steps),
      "calls": JSONValue(run.calls), "stop": run.stop?.value ?? .null,
      "usage": run.usage.value,
    ]
    object["labels"] =
      run.labels.isEmpty
      ? nil : .object(JSONObject(run.labels.map { ($0.name, .string($0.value)) }))
    return .object(object)
  }
}

extension RunDiff.Row {
  var json: JSONValue {
    var object: JSONObject = [
      "kind": .string(kind == .act ? (left ?? right)?.kind.rawValue ?? "act" : kind.rawValue),
      "standing": .string(standing.rawValue),
    ]
    object["left"] = left.map(Self.json)
    object["right"] = right.map(Self.json)
    if !fields.isEmpty { object["fields"] = .array(fields.map(\.json)) }
    if untoldFields > 0 { object["untoldFields"] = JSONValue(untoldFields) }
    object["together"] = togetherOnLeft.map { $0 ? "left" : "right" }
    return .object(object)
  }

  private static func json(of act: ComparedRun.Act) -> JSONValue {
    var object: JSONObject = [
      "step": JSONValue(act.step), "events": .array(act.events.map { JSONValue($0) }),
    ]
    if act.kind == .call {
      object["tool"] = .string(act.name)
      object["caller"] = .string(act.caller)
    }
    if act.kind == .task { object["task"] = .string(act.name) }
    return .object(object)
  }
}

extension FieldDifference {
  /// Values beyond 4 KiB are cut; of two texts, what stands from a little before their first difference
  /// on is told, and how many bytes come before it.
  var json: JSONValue {
    var object: JSONObject = ["path": .string(path.description)]
    let (left, right, from) = pieces(bytes: 4_096)
    object["left"] = left
    object["right"] = right
    if from > 0 { object["from"] = JSONValue(from) }
    return .object(object)
  }

  /// Both sides, cut to what shows that they differ.
  ///
  /// - Parameter limit: bytes of each side at most, about.
  /// - Returns: Where two texts are cut at the front, how many bytes were left out there.
  public func pieces(bytes limit: Int) -> (left: JSONValue?, right: JSONValue?, from: Int) {
    if case .string(let a)? = left, case .string(let b)? = right,
      max(a.utf8.count, b.utf8.count) > limit
    {
      let common = zip(a.utf8, b.utf8).prefix { $0 == $1 }.count
      // Of a value whose end is left out, the beginning alone would not show the difference.
      var start = max(0, common - limit / 4)
      if start < limit / 4 { start = 0 }
      let (left, from) = Self.piece(a, from: start, limit)
      return (.string(left), .string(Self.piece(b, from: start, limit).text), from)
    }
    return (left?.cut(toBytes: limit), right?.cut(toBytes: limit), 0)
  }

  /// A piece of a text that begins at a scalar.
  private static func piece(_ text: String, from start: Int, _ limit: Int) -> (
    text: String, from: Int
  ) {
    var index = text.utf8.index(text.startIndex, offsetBy: min(start, text.utf8.count))
    while index > text.startIndex, index < text.endIndex,
      text.utf8[index] & 0b1100_0000 == 0b1000_0000
    {
      index = text.utf8.index(before: index)
    }
    let from = text.utf8.distance(from: text.startIndex, to: index)
    let rest = String(text[index...])
    return (rest.prefix(utf8Bytes: limit) + (rest.utf8.count > limit ? "…" : ""), from)
  }
}
