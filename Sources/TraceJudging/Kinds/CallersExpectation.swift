import AgentTrace

/// Runs of the tree, each by itself, meet expectations of their own.
struct CallersExpectation: Expectation {
  var rules: [CallerRule]

  static let key = "callers"
  static let summary = ExpectationSummary(
    takes: "a mapping of callers, each to a mapping of these keys",
    holds:
      "each run that the name or glob names (`ask_billing`, `ask_billing/*`, `refactor[*]`) meets what stands there as if it had been the root: its own stop, answer, steps, state and contexts; and there is one"
  )

  static var schema: JSONValue {
    [
      "description":
        "What runs below the root meet, each by itself; keys are callers or globs of them.",
      "type": "object", "minProperties": 1, "maxProperties": ExpectationSchema.limit,
      "additionalProperties": ExpectationSchema.ref("expectationsOfOneRun"),
    ]
  }
  static var schemaParts: JSONObject {
    [
      "expectationsOfOneRun": [
        "allOf": [
          ExpectationSchema.ref("expectations"),
          ["not": ["anyOf": .array(strangers.map { ["required": [.string($0)]] })]],
        ]
      ]
    ]
  }

  /// What is said of a case as a whole, and of no run below its root.
  static let strangers =
    [Self.key] + [ProgramExpectation.key, JudgeExpectation.key, Expectations.severityKey]

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.callers(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { false }
  var facts: Facts { .runsBelow }
  var undecided: [UndecidedPart] {
    [
      UndecidedPart(
        place: [Self.key],
        why: "it is known only when the runs that it names are over; say `caller` in an entry")
    ]
  }
  var namedTools: [NamedTool] {
    rules.flatMap { rule in
      rule.expectations.all.flatMap(\.base.namedTools).map { named in
        var named = named
        named.list = "\(rule.name).\(named.list)"
        // Callers in it are those of that run.
        named.call?.caller = nil
        return named
      }
    }
  }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    guard let object = value.objectValue else { return AskedPart.whole(key, value) }
    return object.flatMap { member -> [AskedPart] in
      let name = "\(key).\(member.key)"
      guard let source = member.value.objectValue else {
        return AskedPart.whole(name, member.value)
      }
      return Expectations.kinds.flatMap { kind in
        source[kind.key].map(kind.asked) ?? []
      }.map { AskedPart(name: "\(name).\($0.name)", value: $0.value) }
    }
  }

  /// What is asked of a caller is as strict as it is of the root.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    guard let place = CallerPlace(of: change.list),
      let kind = Expectations.kind(place.key)
    else { return false }
    return kind.isAtLeastAsStrict(
      AskedChange(
        list: place.list, was: change.was, now: change.now,
        before: change.before.below(place.caller), after: change.after.below(place.caller)))
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    rules.indices.flatMap { CallerJudge(run: run, rule: rules[$0]).outcomes() }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check(
      "the root is a caller too", ["agent": ["stopReason": "success"]], on: .init("a"), is: .pass)
    book.check(
      "what it does not meet", ["agent": ["stopReason": "blocked"]], on: .init("a"), is: .fail)
    book.check(
      "a caller whose run never began", ["ask_*": ["maxSteps": 3]], on: .init("a"), is: .fail)
    book.check(
      "a torn log may hide its run", ["ask_*": ["maxSteps": 3]],
      on: .init { run in
        run.decide(.init("a"))
        run.tear()
      }, is: .unverifiable)
    book.check(
      "a caller who speaks in a log that is not his", ["helper": ["maxSteps": 3]],
      on: .init { run in
        run.decide(.init("a"), by: "helper")
        run.end()
      }, is: .unverifiable)
    book.add("no key of an expectation", mistaken: [key: ["agent": ["stopReasn": "success"]]])
    book.add("callers in callers", mistaken: [key: ["agent": [key: ["agent": ["maxSteps": 1]]]]])
    book.add("nothing expected of a caller", mistaken: [key: ["agent": [:]]])
  }
}

/// What each run of one caller meets.
struct CallerRule: Sendable, Hashable {
  /// Who is meant: a name or a glob; elements of tasks in brackets.
  var caller: CallerPattern
  var expectations: Expectations

  /// Its place below `expected`.
  var name: String { "\(CallersExpectation.key).\(caller.text)" }
}

extension ExpectationReader {
  /// A mapping of callers to what their runs meet.
  mutating func callers(_ value: JSONValue, at pointer: JSONPointer) -> [CallerRule]? {
    guard let object = value.objectValue else {
      return refuse(pointer, "must be a mapping of callers, not \(value.typeName)")
    }
    if object.isEmpty { report(pointer, "nothing is expected of any caller") }
    guard object.count <= Expectations.entryLimit else {
      return refuse(pointer, "more than \(Expectations.entryLimit) callers")
    }
    var rules: [CallerRule] = []
    for member in object {
      let (caller, expected) = (member.key, member.value)
      let place = pointer.appending(caller)
      for stranger in CallersExpectation.strangers where expected[stranger] != nil {
        report(
          place.appending(stranger), isKey: true, "it is said of the whole case, not of one caller",
          hint: "put it beside `\(CallersExpectation.key)`")
      }
      let known = problemCount
      let expectations = reading(expected, at: place)
      guard known == problemCount, let glob = glob(caller, at: place) else { continue }
      rules.append(CallerRule(caller: CallerPattern(glob), expectations: expectations))
    }
    return rules.isEmpty ? nil : rules
  }
}

/// Where in a baseline something stands that is asked of a caller: `callers.ask_billing.toolsCalled`.
struct CallerPlace {
  var caller: String
  /// The list or key below it.
  var list: String
  /// The key of the expectation.
  var key: String

  /// `nil` where it can be read in more than one way, because a caller's name may hold dots.
  init?(of list: String) {
    let head = CallersExpectation.key + "."
    guard list.hasPrefix(head) else { return nil }
    let rest = Array(list.utf8.dropFirst(head.utf8.count))
    var found: CallerPlace?
    for dot in rest.indices where rest[dot] == UInt8(ascii: ".") {
      let below = String(decoding: rest[(dot + 1)...], as: UTF8.self)
      let key = String(below.prefix { $0 != "." && $0 != "[" && $0 != " " })
      guard Expectations.kind(key) != nil else { continue }
      guard found == nil else { return nil }
      found = CallerPlace(
        caller: String(decoding: rest[..<dot], as: UTF8.self), list: below, key: key)
    }
    guard let found else { return nil }
    self = found
  }

  private init(caller: String, list: String, key: String) {
    (self.caller, self.list, self.key) = (caller, list, key)
  }
}

extension AskedContext {
  /// What is asked of one caller, as if it were asked of the root.
  func below(_ caller: String) -> AskedContext {
    let head = "\(CallersExpectation.key).\(caller)."
    var context = AskedContext()
    for (list, values) in lists where list.hasPrefix(head) {
      switch String(list.dropFirst(head.count)) {
      case "order": context.order = values.first?.stringValue ?? "?"
      case "extra": context.forbidsOthers = values.first != "allow"
      case let own: context.lists[own] = values
      }
    }
    return context
  }
}
