import AgentTrace
public import TraceMatching

/// Which notes were read and written.
struct MemoryExpectation: Expectation {
  var rules: [MemoryRule]

  static let key = "memory"
  static let summary = ExpectationSummary(
    takes: "a mapping of lists", holds: "notes were read and written, or were not")

  static var schema: JSONValue {
    ExpectationSchema.mapping(
      "Which notes are read and written.",
      [
        ("read", "Notes that are read."), ("notRead", "Notes that are not read."),
        ("written", "Notes that are written."), ("notWritten", "Notes that are not written."),
      ].map { ($0, ExpectationSchema.list($1, ExpectationSchema.ref("note"))) })
  }
  static var schemaParts: JSONObject {
    [
      "note": [
        "anyOf": [
          ExpectationSchema.glob,
          [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": [
              "scope": ExpectationSchema.name("Whose note, or a glob."),
              "key": ExpectationSchema.name("Its key, or a glob."),
              "value": ExpectationSchema.described("What it says.", "matcher"),
              "times": ExpectationSchema.described("How often: a number, or min and max.", "times"),
            ],
          ],
        ]
      ]
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.memory(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { false }
  var facts: Facts { [.timeline, .memory] }
  var undecided: [UndecidedPart] {
    rules.compactMap {
      UndecidedPart.counted($0.name, under: Self.key, $0.times, isForbidden: $0.isForbidden)
    }
  }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.members(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isEntryNarrowed }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { rules.map(run.memory) }

  static func addConformance(to book: inout ConformanceBook) {
    let notes = Run { run in
      run.remember("allergies", ["nuts"])
      run.remember("city", "Rome", isWritten: true)
      run.end()
    }
    book.check(
      "a note that was read", ["read": [["key": "allergies", "value": ["$contains": "nuts"]]]],
      on: notes, is: .pass)
    book.check("a note that was not written", ["written": ["allergies"]], on: notes, is: .fail)
    book.check(
      "a note that must not be written", ["notWritten": [["scope": "actor", "key": "c*"]]],
      on: notes, is: .fail)
  }
}

/// A note that is read or written, or is not.
public struct MemoryRule: Sendable, Hashable {
  /// Whose notes this project's runs keep.
  fileprivate static let scopes = ["run", "agent", "actor", "tenant"]

  /// The list it stands in, with its place: `memory.read[0]`.
  public var name: String
  /// Whether it speaks of notes that are written.
  public var isWritten: Bool
  /// Whether there must be none.
  public var isForbidden: Bool
  /// Whose note; `nil` for anybody's.
  public var scope: Glob?
  /// Its key; `nil` for any.
  public var key: Glob?
  /// What it says; `nil` for anything.
  public var value: Matcher?
  /// How often.
  public var times: CallEntry.Times
}

extension ExpectationReader {
  mutating func memory(_ value: JSONValue, at pointer: JSONPointer) -> [MemoryRule]? {
    let keys = ["read", "notRead", "written", "notWritten"]
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping of lists") else {
      return nil
    }
    var rules: [MemoryRule] = []
    for key in keys {
      guard let value = object[key] else { continue }
      let notes = list(value, at: pointer.appending(key)) { $0.note($1, at: $2) } ?? []
      for (index, var rule) in notes.enumerated() {
        rule.name = "memory.\(key)[\(index)]"
        rule.isWritten = key == "written" || key == "notWritten"
        rule.isForbidden = key == "notRead" || key == "notWritten"
        rules.append(rule)
      }
    }
    if object.isEmpty { report(pointer, "nothing is expected of memory") }
    return rules.isEmpty ? nil : rules
  }

  private mutating func note(_ value: JSONValue, at pointer: JSONPointer) -> MemoryRule? {
    var rule = MemoryRule(
      name: "", isWritten: false, isForbidden: false,
      times: .init(minimum: 1, maximum: nil))
    if let text = value.stringValue {
      guard let key = glob(text, at: pointer) else { return nil }
      rule.key = key
      return rule
    }
    let keys = ["scope", "key", "value", "times"]
    guard let object = mapping(value, at: pointer, keys: keys, "a key of a note or a mapping")
    else { return nil }
    if object.isEmpty { report(pointer, "says nothing") }
    rule.scope = object["scope"].flatMap { name($0, at: pointer.appending("scope")) }
    // Logs of other runtimes may have scopes of their own: only a slip is told.
    if let scope = rule.scope?.literal, !MemoryRule.scopes.contains(scope),
      let nearest = Spelling.nearest(to: scope, among: MemoryRule.scopes)
    {
      report(
        pointer.appending("scope"), "no note has the scope “\(scope)”",
        hint: "did you mean “\(nearest)”?")
    }
    rule.key = object["key"].flatMap { name($0, at: pointer.appending("key")) }
    rule.value = object["value"].flatMap { matcher($0, at: pointer.appending("value")) }
    if let times = object["times"].flatMap({ self.times($0, at: pointer.appending("times")) }) {
      rule.times = times
    }
    return rule
  }
}

extension JudgedRun {
  fileprivate func memory(_ rule: MemoryRule) -> ExpectationOutcome {
    let found = gathered.notes.compactMap { note -> (answer: Trilean, events: [Int])? in
      guard note.isWritten == rule.isWritten, rule.scope?.matches(note.scope) ?? true,
        rule.key?.matches(note.key) ?? true
      else { return nil }
      let answer = rule.value.map { Trilean($0.matches(note.value)) } ?? .yes
      return answer == .no ? nil : (answer, [note.seq])
    }
    var what = "a note"
    if let key = rule.key { what += " “\(CallWording.short(key.text))”" }
    if let scope = rule.scope { what += " of \(CallWording.short(scope.text))" }
    what += rule.isWritten ? " is written" : " is read"
    if let value = rule.value { what += " that says \(CallWording.short(value.description))" }
    // An import has no channel for notes.
    let isImport = !view.trajectory.recorded.isEmpty
    let isUnread = rule.isWritten ? gathered.unreadNotes.written : gathered.unreadNotes.read
    func whyMore() -> String {
      if isUnread { return "of a note the log does not say which it is" }
      return view.gaps.isEmpty ? "an import does not tell of memory" : view.whyHidden
    }
    return count(
      rule.name, rule.times, rule.isForbidden, found,
      mayBeMore: !view.gaps.isEmpty || isImport || isUnread, what, whyMore: whyMore())
  }
}
