import AgentTrace
public import TraceMatching

/// What the model was shown.
struct ContextExpectation: Expectation {
  var rules: [ContextRule]

  static let key = "context"
  static let summary = ExpectationSummary(
    takes: "a mapping or a list of them", holds: "what the model was shown")

  static var schema: JSONValue {
    [
      "description": "What the model is shown.",
      "anyOf": [
        ExpectationSchema.ref("contextRule"),
        ["type": "array", "minItems": 1, "items": ExpectationSchema.ref("contextRule")],
      ],
    ]
  }
  static var schemaParts: JSONObject {
    [
      "contextRule": .object(ruleSchema), "omitted": ExpectationSchema.oneOrMore("omittedItem"),
      "omittedItem": [
        "anyOf": [
          ExpectationSchema.glob,
          [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": [
              "ref": ExpectationSchema.name("What is left out: its reference, or a glob."),
              "reason": ExpectationSchema.described("Why.", "textMatcher"),
            ],
          ],
        ]
      ],
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.context(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { false }
  var facts: Facts { [.timeline, .contexts] }
  var undecided: [UndecidedPart] {
    rules.filter {
      !$0.offers.isEmpty || !$0.contains.isEmpty || !$0.evidence.isEmpty || !$0.omits.isEmpty
    }.map { _ in UndecidedPart(place: [Self.key], why: "a later context may be as asked") }
  }
  var namedTools: [NamedTool] {
    rules.flatMap { rule in
      NamedTool.all(rule.offers, "\(Self.key).offers")
        + NamedTool.all(rule.neverOffers, "\(Self.key).neverOffers")
        + NamedTool.all(rule.evidence, "\(Self.key).evidence")
    }
  }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  /// The same steps, the same words and perhaps more.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    guard let own = change.now.objectValue, let its = change.was.objectValue,
      own["steps"]?.byValue == its["steps"]?.byValue
    else { return false }
    return its.allSatisfy { member in
      guard let value = own[member.key] else { return false }
      if member.key == "maxTokens" { return AskedChange.isNumber(value, atMost: member.value) }
      let known = Set((value.arrayValue ?? [value]).map(\.byValue))
      return (member.value.arrayValue ?? [member.value]).allSatisfy { known.contains($0.byValue) }
    }
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    rules.indices.flatMap { index -> [ExpectationOutcome] in
      // What was gathered for other expectations watched for other things.
      guard let watch = run.takeContextWatch() else { return [] }
      return run.context(watch, rules.count == 1 ? Self.key : "\(Self.key)[\(index)]")
    }
  }

  private static var ruleSchema: JSONObject {
    func texts(_ text: String) -> JSONValue {
      [
        "description": .string(text), "if": ["type": "array"],
        "then": [
          "minItems": 1, "maxItems": ExpectationSchema.limit,
          "items": ["$ref": "#/$defs/textMatcher", "not": ["const": ""]],
        ],
        "else": ["$ref": "#/$defs/textMatcher", "not": ["const": ""]],
      ]
    }
    var schema = ExpectationSchema.record([
      ("steps", ExpectationSchema.described("Which steps: a number, or min and max.", "times")),
      (
        "offers", ExpectationSchema.described("Tools, or globs, that some context offers.", "globs")
      ),
      (
        "neverOffers",
        ExpectationSchema.described("Tools, or globs, that no context offers.", "globs")
      ),
      ("contains", texts("Texts that some prompt holds: a part, or a matcher.")),
      ("neverContains", texts("Texts that no prompt holds: a part, or a matcher.")),
      (
        "evidence",
        ExpectationSchema.list(
          "Calls whose results some context holds.",
          ["anyOf": [ExpectationSchema.glob, ExpectationSchema.ref("proposedMoment")]])
      ),
      ("maxTokens", ExpectationSchema.count("The estimate of tokens of each context, at most.")),
      ("omits", ExpectationSchema.described("What some context leaves out.", "omitted")),
      ("neverOmits", ExpectationSchema.described("What no context leaves out.", "omitted")),
    ])
    schema["not"] = ["propertyNames": ["const": "steps"]]
    return schema
  }

  static func addConformance(to book: inout ConformanceBook) {
    let run = Run { run in
      run.see(tools: ["search"], text: "hello", tokens: 10)
      run.decide(Call("search"))
      run.see(
        tools: ["search", "mail"], text: "the key is s3cret", evidence: ["1.1.0"], tokens: 20,
        omitted: [ContextItem(ref: "0.1.0", reason: "budget")])
      run.end()
    }
    book.check(
      "tools that were offered", ["offers": ["mail"], "neverOffers": ["delete*"]], on: run,
      is: .pass)
    book.check("a tool that must not be offered", ["neverOffers": ["m*"]], on: run, is: .fail)
    book.check("only the first step", ["steps": 1, "neverOffers": ["m*"]], on: run, is: .pass)
    book.check(
      "a text that must not be in the prompt", ["neverContains": "s3cret"], on: run, is: .fail)
    book.check(
      "a text that must be", ["contains": ["hello", ["$regex": "key is"]]], on: run, is: .pass)
    book.check("evidence that is there", ["evidence": ["search"]], on: run, is: .pass)
    book.check("evidence that is not", ["evidence": ["mail"]], on: run, is: .fail)
    book.check("the estimate of tokens", ["maxTokens": 19], on: run, is: .fail)
    book.check(
      "what was left out, and why", ["omits": [["ref": "0.*", "reason": "budget"]]], on: run,
      is: .pass)
    book.check("nothing may be left out", ["neverOmits": ["*"]], on: run, is: .fail)
    book.check("no context at all", ["maxTokens": 5], on: Run("a"), is: .notExercised)
    book.check(
      "contexts that were not recorded", ["neverContains": "x"],
      on: Run(recorded: ["context": "none"]) { $0.end() }, is: .unverifiable)
  }
}

/// What the model is shown, in each context or in some.
public struct ContextRule: Sendable, Hashable {
  /// Which steps it speaks of; `nil` for all.
  public var steps: ClosedRange<Int>?
  /// For each, some context offers a tool that it matches.
  public var offers: [Glob]
  /// No context offers a tool that one of these matches.
  public var neverOffers: [Glob]
  /// For each, some prompt holds a text that it matches.
  public var contains: [Matcher]
  /// No prompt holds a text that one of these matches.
  public var neverContains: [Matcher]
  /// For each, some context holds the result of such a call as evidence.
  public var evidence: [CallEntry]
  /// Every context is estimated at no more tokens.
  public var maximumTokens: Int?
  /// For each, some context leaves such a thing out.
  public var omits: [OmittedItem]
  /// No context leaves such a thing out.
  public var neverOmits: [OmittedItem]

  static let keyNames = [
    "steps", "offers", "neverOffers", "contains", "neverContains", "evidence", "maxTokens",
    "omits", "neverOmits",
  ]
}

/// Something that a context leaves out.
public struct OmittedItem: Sendable, Hashable {
  /// What: its reference, or a glob.
  public var ref: Glob
  /// Why; `nil` for any reason.
  public var reason: Matcher?
}

extension ExpectationReader {
  fileprivate mutating func context(_ value: JSONValue, at pointer: JSONPointer) -> [ContextRule]? {
    oneOrMore(value, at: pointer) { $0.contextRule($1, at: $2) }
  }

  private mutating func contextRule(
    _ value: JSONValue, at pointer: JSONPointer
  ) -> ContextRule? {
    guard
      let object = mapping(value, at: pointer, keys: ContextRule.keyNames, "a mapping")
    else { return nil }
    if !object.keys.contains(where: { $0 != "steps" }) {
      report(pointer, "nothing is expected of the context")
    }
    func part(_ key: String) -> (JSONValue, JSONPointer)? {
      object[key].map { ($0, pointer.appending(key)) }
    }
    var rule = ContextRule(
      steps: nil, offers: [], neverOffers: [], contains: [], neverContains: [], evidence: [],
      omits: [], neverOmits: [])
    if let (steps, place) = part("steps"), let times = times(steps, at: place) {
      rule.steps = times.minimum...(times.maximum ?? .max)
    }
    if let (list, place) = part("offers") { rule.offers = globs(list, at: place) ?? [] }
    if let (list, place) = part("neverOffers") { rule.neverOffers = globs(list, at: place) ?? [] }
    if let (list, place) = part("contains") { rule.contains = texts(list, at: place) }
    if let (list, place) = part("neverContains") { rule.neverContains = texts(list, at: place) }
    if let (list, place) = part("evidence") {
      rule.evidence =
        self.list(list, at: place) { $0.callEntry($1, at: $2, isExecuted: false) } ?? []
    }
    if let (tokens, place) = part("maxTokens") { rule.maximumTokens = count(tokens, at: place) }
    if let (list, place) = part("omits") { rule.omits = omitted(list, at: place) }
    if let (list, place) = part("neverOmits") { rule.neverOmits = omitted(list, at: place) }
    return rule
  }

  /// Texts that a prompt holds: a plain text is a part of one.
  private mutating func texts(_ value: JSONValue, at pointer: JSONPointer) -> [Matcher] {
    oneOrMore(value, at: pointer) { reader, value, place in
      if value == "" { reader.report(place, "an empty text stands in every prompt") }
      guard let text = value.stringValue else { return reader.textMatcher(value, at: place) }
      return reader.matcher(["$contains": .string(text)], at: place)
    } ?? []
  }

  private mutating func omitted(_ value: JSONValue, at pointer: JSONPointer) -> [OmittedItem] {
    oneOrMore(value, at: pointer) { reader, value, place in
      if let text = value.stringValue {
        return reader.glob(text, at: place).map { OmittedItem(ref: $0, reason: nil) }
      }
      let keys = ["ref", "reason"]
      guard let object = reader.mapping(value, at: place, keys: keys, "a reference or a mapping")
      else { return nil }
      if object.isEmpty { reader.report(place, "says nothing") }
      let reason = object["reason"].flatMap {
        reader.textMatcher($0, at: place.appending("reason"))
      }
      return reader.name(object["ref"] ?? "*", at: place.appending("ref")).map {
        OmittedItem(ref: $0, reason: reason)
      }
    } ?? []
  }
}

extension JudgedRun {
  fileprivate func context(_ watch: ContextWatch, _ name: String) -> [ExpectationOutcome] {
    let rule = watch.rule
    var outcomes: [ExpectationOutcome] = []
    let lacks = view.trajectory.recorded["context"] != nil
    let isHidden = view.gaps.contains { gap in
      guard let steps = rule.steps else { return true }
      let first = gathered.step(before: gap.first)
      let last = gap.last.flatMap { gathered.step(after: $0) } ?? .max
      return steps.overlaps(first...max(first, last))
    }
    let mayBeMore = isHidden || lacks
    let why = !isHidden ? "contexts were not recorded whole" : view.whyHidden
    func outcome(
      _ part: String, _ outcome: Outcome, _ events: [Int], _ message: String, _ expected: String,
      _ actual: String? = nil
    ) {
      outcomes.append(
        ExpectationOutcome(
          expectation: "\(name).\(part)", outcome: outcome, events: events, message: message,
          expected: CallWording.short(expected), actual: actual))
    }
    /// Says of what was looked for whether it was seen; `absence` is the word where it surely was not.
    func look(
      _ part: String, _ sighting: ContextWatch.Sighting, _ what: String, presence: Outcome,
      absence: Outcome
    ) {
      if let seq = sighting.certain {
        outcome(part, presence, [seq], "It stands in the context at event \(seq).", what)
      } else if sighting.possible != nil || mayBeMore {
        outcome(
          part, .unverifiable, sighting.possible.map { [$0] } ?? [],
          sighting.possible == nil ? "This cannot be seen: \(why)." : "This cannot be seen.", what)
      } else if watch.count == 0 {
        outcome(part, .notExercised, [], "There was no such context.", what)
      } else {
        // A failure has evidence: the end of the run, before which it should have been there.
        let end = absence == .fail ? view.trajectory.stop.map { [$0.seq] } ?? [] : []
        outcome(part, absence, end, "It stands in none of \(watch.count) contexts.", what)
      }
    }
    func sought(_ part: String, _ sighting: ContextWatch.Sighting, _ what: String) {
      look(part, sighting, what, presence: .pass, absence: .fail)
    }
    func forbidden(_ part: String, _ sighting: ContextWatch.Sighting, _ what: String) {
      look(part, sighting, what, presence: .fail, absence: .pass)
    }
    for (index, glob) in rule.offers.enumerated() {
      sought("offers[\(index)]", watch.offers[index], "a context offers \(glob.text)")
    }
    for (index, glob) in rule.neverOffers.enumerated() {
      forbidden("neverOffers[\(index)]", watch.neverOffers[index], "no context offers \(glob.text)")
    }
    for (index, matcher) in rule.contains.enumerated() {
      sought("contains[\(index)]", watch.contains[index], "a prompt holds \(matcher)")
    }
    for (index, matcher) in rule.neverContains.enumerated() {
      forbidden("neverContains[\(index)]", watch.neverContains[index], "no prompt holds \(matcher)")
    }
    for (index, entry) in rule.evidence.enumerated() {
      var sighting = ContextWatch.Sighting()
      for call in view.calls {
        guard let seq = watch.evidence[call.outline.callId] else { continue }
        sighting.note(view.isSuch(entry, call, .proposed), at: seq)
      }
      sought("evidence[\(index)]", sighting, "a context holds a result of \(entry)")
    }
    if let limit = rule.maximumTokens {
      let expected = "at most \(Figures.count(limit, "token")) in each context"
      let most = watch.most.map { Figures.count($0.tokens, "token") }
      if let found = watch.most, found.tokens > limit {
        outcome(
          "maxTokens", .fail, [found.seq],
          "A context is estimated at \(Figures.count(found.tokens, "token")).",
          expected, most)
      } else if watch.uncounted != nil || mayBeMore {
        outcome(
          "maxTokens", .unverifiable, watch.uncounted.map { [$0] } ?? [],
          "Not every estimate can be seen.", expected, most)
      } else if let found = watch.most {
        outcome(
          "maxTokens", .pass, [found.seq], "No context is estimated at more.", expected, most)
      } else {
        outcome("maxTokens", .notExercised, [], "There was no such context.", expected)
      }
    }
    for (index, item) in rule.omits.enumerated() {
      sought("omits[\(index)]", watch.omits[index], "a context leaves out \(item)")
    }
    for (index, item) in rule.neverOmits.enumerated() {
      forbidden("neverOmits[\(index)]", watch.neverOmits[index], "no context leaves out \(item)")
    }
    return outcomes
  }
}

extension OmittedItem: CustomStringConvertible {
  /// The reference and the reason.
  public var description: String {
    ref.text + (reason.map { " because \(CallWording.short($0.description))" } ?? "")
  }
}
