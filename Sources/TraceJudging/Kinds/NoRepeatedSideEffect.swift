import AgentTrace
import TraceMatching

/// No write is done twice; without globs, by the tools that are declared to write.
struct NoRepeatedSideEffect: Expectation {
  var tools: [Glob]

  static let key = "noRepeatedSideEffect"
  static let summary = ExpectationSummary(
    takes: "`true` or tools", holds: "no write is done twice with the same input")

  static var schema: JSONValue {
    [
      "description": "No write is done twice: true, or the tools that this speaks of.",
      "anyOf": [["const": true], ExpectationSchema.ref("globs")],
      "not": [
        "type": "string",
        "pattern":
          "^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[yY]|[yY][eE][sS]|[nN]|[nN][oO]|[oO][nN]|[oO][fF][fF])$",
      ],
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] { [[key: true]] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.boolValue == true { return Self(tools: []) }
    if value.boolValue == false || value.objectValue != nil {
      return reader.refuse(pointer, "takes true, or the names of the tools that it speaks of")
    }
    if let word = value.stringValue, truths.contains(word.lowercased()) {
      return reader.refuse(
        pointer,
        "the text “\(word)” would be the name of a tool; write true for all that write, or [\"\(word)\"] for a "
          + "tool of that name")
    }
    return reader.globs(value, at: pointer).map(Self.init(tools:))
  }

  /// What YAML 1.1 takes for true or false, and is text here.
  private static let truths: Set = ["true", "false", "yes", "no", "on", "off", "y", "n"]

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { .timeline }
  /// What has happened breaks it for good.
  var undecided: [UndecidedPart] { [] }
  var namedTools: [NamedTool] { NamedTool.all(tools, Self.key) }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    guard let tools = change.now.arrayValue, let before = change.was.arrayValue else {
      return change.was == false
    }
    return before.allSatisfy { tool in tools.contains { GlobProof.shows(tool, within: $0) } }
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run)] }

  /// No write with the same canonical input is done twice.
  private func outcome(_ run: JudgedRun) -> ExpectationOutcome {
    let (name, view, gathered) = (Self.key, run.view, run.gathered)
    func outcome(
      _ outcome: Outcome, _ calls: [Trajectory.Call], _ message: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: calls.flatMap(\.events), message: message,
        expected: "each write done once",
        actual: calls.isEmpty ? nil : calls.map { CallWording.of($0) }.joined(separator: "; "))
    }
    var first: [JSONValue: (call: Trajectory.Call, isSure: Bool)] = [:]
    var unsure: [Trajectory.Call]?
    // Of each tool the last call that may have done something, or one of unknown input.
    var done: [String: Trajectory.Call] = [:]
    // Of each tool the last call that failed.
    var failed: [String: Trajectory.Call] = [:]
    var inPart = InputsInPart()
    func isPlaced(_ call: Trajectory.Call) -> Bool { view.hiddenStart(of: call.outline) == nil }
    // In the order in which they began: calls of one decision run side by side.
    let begun = view.agentsCalls
      .enumerated().sorted { ($0.element.begin, $0.offset) < ($1.element.begin, $1.offset) }
    for call in begun.map(\.element) {
      let isWrite: Trilean
      if tools.isEmpty {
        isWrite = gathered.sideEffects[call.tool].map { $0 == .write ? .yes : .no } ?? .unknown
      } else {
        let fits = tools.map { view.fits($0, call.tool) }
        isWrite = fits.contains(.yes) ? .yes : fits.contains(.unknown) ? .unknown : .no
      }
      guard isWrite != .no, view.executed(call) != .no else { continue }
      // One of unknown input may be any other of its tool.
      if let other = done[call.tool], call.lacksInput || other.lacksInput {
        unsure = unsure ?? [other, call]
      }
      // One that no decision holds began nobody knows when: one that failed may have run beside it.
      if call.outline.isStray, let other = failed[call.tool] { unsure = unsure ?? [other, call] }
      if call.status == .error {
        failed[call.tool] = call
      } else if done[call.tool]?.lacksInput != true {
        done[call.tool] = call
      }
      let action: JSONValue = [.string(call.tool), call.input?.byValue ?? .null]
      let isSure = isWrite == .yes && view.executed(call) == .yes && !action.hidesSomething
      let start = call.begin
      // A call that had failed before did nothing; one that still ran, or of unknown effect, may
      // have done it.
      guard let earlier = first[action],
        earlier.call.status != .error || earlier.call.outline.resultSeq ?? .max > start
      else {
        if let other = inPart.other(perhapsEqualTo: call, begun: start) {
          unsure = unsure ?? [other, call]
        }
        inPart.add(call)
        first[action] = (call, isSure)
        continue
      }
      // What the log does not show may be that the earlier call had failed before.
      let end = earlier.call.outline
      let mayHaveFailed =
        end.resultSeq == nil
        ? view.gaps.contains { $0.first < start && $0.last ?? .max > end.seq }
        : earlier.call.status == .error && !isPlaced(call)
          // One whose start is not seen may be the later one, of which the other had failed before.
          || !isPlaced(earlier.call) && [.error, .returned].contains(call.status)
          // One that merely returned may have failed, and be tried again.
          || earlier.call.status == .returned && end.resultSeq ?? .max <= start
      if isSure, earlier.isSure, !mayHaveFailed {
        return outcome(
          .fail, [earlier.call, call],
          "\(CallWording.short(call.tool)) was done twice with the same input.")
      }
      unsure = unsure ?? [earlier.call, call]
      if isSure { first[action] = (call, true) }
    }
    if let unsure {
      return outcome(.unverifiable, unsure, "Whether this write was repeated cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, [], "Whether a write was repeated cannot be seen: \(view.whyHidden).")
    }
    return outcome(.pass, [], "No write was done twice.")
  }

  static func addConformance(to book: inout ConformanceBook) {
    func token(_ text: String) -> JSONValue {
      JSONNumber(token: text).map(JSONValue.number) ?? .null
    }
    func writes(_ calls: [Call]) -> Run {
      Run(tools: ["read"], writes: ["pay"]) { run in
        for call in calls { run.decide(call) }
        run.end()
      }
    }
    book.check(
      "two payments of one sort", true,
      on: writes([Call("pay", ["a": 1, "b": 2]), Call("pay", ["b": 2, "a": 1])]), is: .fail)
    book.check(
      "two payments of one value, written in two ways", true,
      on: writes([Call("pay", ["a": token("5")]), Call("pay", ["a": token("5.0")])]), is: .fail)
    book.check(
      "two payments that a double would not tell apart", true,
      on: writes([
        Call("pay", ["a": token("9007199254740993")]),
        Call("pay", ["a": token("9007199254740992")]),
      ]), is: .pass)
    book.check(
      "two payments that differ", true, on: writes([Call("pay", ["a": 1]), Call("pay", ["a": 2])]),
      is: .pass)
    book.check("reading twice", true, on: writes([Call("read"), Call("read")]), is: .pass)
    book.check(
      "again after an error", true, on: writes([Call("pay", [:], .error()), Call("pay")]), is: .pass
    )
    book.check(
      "again after a call that was cut off", true,
      on: writes([Call("pay", [:], .effectUnknown), Call("pay")]), is: .fail)
    book.check(
      "a refused call did nothing", true, on: writes([Call("pay", [:], .refused), Call("pay")]),
      is: .pass)
    book.check("tools by name", ["re*"], on: writes([Call("read"), Call("read")]), is: .fail)
    book.check(
      "the same as far as it is not lost", true,
      on: writes([Call("pay", ["a": 1]), Call("pay", ["a": .lost("3/a")])]), is: .unverifiable)
    book.check(
      "another, whatever is lost of it", true,
      on: writes([Call("pay", ["a": 1]), Call("pay", ["b": .lost("3/b")])]), is: .pass)
    book.check("nobody says what the tool does", true, on: Run("mail", "mail"), is: .unverifiable)
  }
}

/// Writes whose inputs may be the same without looking so, because something of one cannot be seen.
private struct InputsInPart {
  /// By tool, each input once.
  private var calls: [String: [Trajectory.Call]] = [:]
  /// The tools of which some input is seen in part only.
  private var tools: Set<String> = []

  /// More different inputs than these are not compared with each other.
  private static let limit = 1_000

  mutating func add(_ call: Trajectory.Call) {
    guard let input = call.input, calls[call.tool, default: []].count <= Self.limit else { return }
    calls[call.tool, default: []].append(call)
    if Self.isInPart(input) { tools.insert(call.tool) }
  }

  /// Whether something in it was withheld, lost or cut.
  private static func isInPart(_ input: JSONValue) -> Bool {
    RedactionToken.isIn(input) || input.hidesSomething
  }

  /// A call that began before, did not fail, and may have had the same input, as far as can be seen.
  func other(perhapsEqualTo call: Trajectory.Call, begun start: Int) -> Trajectory.Call? {
    guard let input = call.input, let earlier = calls[call.tool],
      tools.contains(call.tool) || Self.isInPart(input)
    else { return nil }
    return earlier.first { one in
      guard let other = one.input,
        one.status != .error || one.outline.resultSeq ?? .max > start
      else { return false }
      return earlier.count > Self.limit
        || Withheld.equality(of: other.byValue, input.byValue) == .unknown
    }
  }
}

extension Trajectory.Call {
  /// Whether nothing is left of the input.
  var lacksInput: Bool { if case .lost? = input { true } else { false } }
}

extension Trajectory.Call {
  /// The event with which it begins: its start, or where it is proposed if its start was not recorded.
  fileprivate var begin: Int { outline.startedSeq ?? outline.seq }
}
