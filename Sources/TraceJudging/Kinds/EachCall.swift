import AgentTrace
import TraceMatching

/// Each executed call of a tool is like this.
struct EachCall: Expectation {
  var entries: [CallEntry]

  static let key = "eachCall"
  static let summary = ExpectationSummary(
    takes: "a list of calls", holds: "each executed call of the tool is like this")

  static var schema: JSONValue {
    ExpectationSchema.list(
      "Calls as each executed call of their tool must be.",
      [
        "allOf": [
          ExpectationSchema.ref("executedMoment"),
          [
            "anyOf": [
              ["required": ["input"]], ["required": ["status"]], ["required": ["result"]],
            ]
          ],
        ]
      ])
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    var seen: Set<String> = []
    return run.calls.filter { $0.isExecuted && seen.insert($0.tool).inserted }.prefix(10)
      .map { [key: [["tool": .string(Glob.escaping($0.tool)), "status": "ok"]]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.list(value, at: pointer) { $0.eachCall($1, at: $2) }.map(Self.init(entries:))
  }

  var needs: TrajectoryNeeds { entries.needs.union([.body, .inputs]) }
  /// What stands in another call may be one of another run.
  var isOfEachRun: Bool { entries.allSatisfy { $0.input?.usesOrigins != true } }
  var facts: Facts {
    entries.contains { $0.result != nil || $0.input?.usesOrigins == true } ? .timeline : []
  }
  var undecided: [UndecidedPart] {
    entries.enumerated().filter { $0.element.hasPassingStatus }.map {
      UndecidedPart(place: [Self.key, String($0.offset)], why: CallEntry.passingStatus)
    }
  }
  var namedTools: [NamedTool] { NamedTool.all(entries, Self.key) }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  /// More calls spoken of, and less that they may be.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    guard var own = change.now.objectValue, var its = change.was.objectValue,
      let tool = own["tool"], let oldTool = its["tool"], GlobProof.shows(oldTool, within: tool),
      own["caller"] == its["caller"]
    else { return false }
    (own["tool"], its["tool"]) = ("*", "*")
    guard let now = CallAsk(.object(own)), let was = CallAsk(.object(its)) else { return false }
    return now.isWithin(was)
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    entries.enumerated().map { Self.outcome($1, "\(Self.key)[\($0)]", run.view) }
  }

  /// Each executed call of a tool is as the entry says.
  private static func outcome(
    _ entry: CallEntry, _ name: String, _ view: CallView
  ) -> ExpectationOutcome {
    var (first, unsure): (Trajectory.Call?, Trajectory.Call?)
    let expected = "each call: \(entry)"
    for call in view.calls where entry.tool.matches(call.tool) && entry.speaks(of: call) {
      let executed = view.executed(call)
      guard executed != .no else { continue }
      var fits = Trilean.yes
      if let input = entry.input { fits = .both(fits, view.input(input, entry, call)) }
      fits = .both(fits, view.status(entry, call))
      if let result = entry.result { fits = .both(fits, view.result(result, call)) }
      if executed == .yes, fits == .no {
        return ExpectationOutcome(
          expectation: name, outcome: .fail, events: call.events,
          message: "A call of \(CallWording.short(call.tool)) is not as each must be. "
            + difference(entry, call, view),
          expected: expected, actual: CallWording.of(call))
      }
      if executed == .yes { first = first ?? call }
      if executed == .unknown || fits == .unknown { unsure = unsure ?? call }
    }
    if let unsure {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable, events: unsure.events,
        message: "Whether a call is as each must be cannot be seen.", expected: expected,
        actual: CallWording.of(unsure))
    }
    if view.mayHideCalls {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Whether every call is so cannot be seen: \(view.whyHidden).", expected: expected)
    }
    guard let first else {
      return ExpectationOutcome(
        expectation: name, outcome: .notExercised,
        message: "\(CallWording.short(entry.tool.text)) was never called.", expected: expected)
    }
    return ExpectationOutcome(
      expectation: name, outcome: .pass, events: first.events, message: "Every call is so.",
      expected: expected, actual: CallWording.of(first))
  }

  private static func difference(
    _ entry: CallEntry, _ call: Trajectory.Call, _ view: CallView
  ) -> String {
    if let input = entry.input,
      case .mismatch(let mismatch) = input.match(
        entry.arguments.map { $0.seen(call.input) } ?? call.input,
        from: { view.values(of: $0, before: call.outline.seq) })
    {
      return "Its input differs, \(mismatch)."
    }
    if let result = entry.result,
      case .mismatch(let mismatch) = result.match(CallView.resultValue(of: call))
    {
      return "Its result differs, \(mismatch)."
    }
    return "It ended as \(CallWording.fate(of: call))."
  }

  static func addConformance(to book: inout ConformanceBook) {
    let euro = Run(Call("pay", ["amount": 5, "currency": "EUR", "traceId": "x"]))
    let each: JSONValue = ["eachCall": [["tool": "pay", "input": ["amount": ["$lte": 10]]]]]
    book.add("every call is so", each, on: euro, is: .pass)
    book.add("no call, so nothing is said", each, on: Run("a"), is: .notExercised)
    book.add(
      "one that is not so", each, on: Run(Call("pay", ["amount": 5]), Call("pay", ["amount": 50])),
      is: .fail)
  }
}

extension ExpectationReader {
  /// A call that each executed call of its tool must be like.
  fileprivate mutating func eachCall(_ value: JSONValue, at pointer: JSONPointer) -> CallEntry? {
    guard let object = value.objectValue else {
      return refuse(pointer, "must be a call with a tool and what each call of it is like")
    }
    guard let entry = entry(object, at: pointer, isExecuted: true) else { return nil }
    if entry.times != nil {
      report(pointer.appending("times"), "each call is spoken of, however many there are")
    }
    if entry.input == nil, entry.result == nil, entry.statuses == nil {
      report(
        pointer, "says nothing of the calls of this tool", hint: "add `input`, `status` or `result`"
      )
    }
    return entry
  }
}
