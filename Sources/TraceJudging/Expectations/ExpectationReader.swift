public import AgentTrace
import TraceMatching

extension Expectations {
  /// How many entries a list may have.
  public static let entryLimit = 1_000
  /// How often an entry may ask for a call.
  public static let timesLimit = 1_000_000

  /// Reads the `expected` of a case.
  ///
  /// - Throws: ``ExpectationErrors`` with every mistake at once. Expecting nothing at all is one.
  public init(parsing value: JSONValue) throws(ExpectationErrors) {
    var reader = ExpectationReader()
    self = reader.readAll(value)
    guard reader.problems.isEmpty else { throw ExpectationErrors(problems: reader.problems) }
  }
}

/// Reads expectations and collects what is wrong with them.
struct ExpectationReader {
  private(set) var problems: [ExpectationProblem] = []
  /// The mapping that is being read: what one expectation means may hang on those beside it.
  private(set) var siblings: JSONObject = [:]

  mutating func report(
    _ pointer: JSONPointer, isKey: Bool = false, _ message: String, hint: String? = nil
  ) {
    problems.append(
      ExpectationProblem(pointer: pointer, isKey: isKey, message: message, hint: hint))
  }

  /// Reports what nothing can be made of.
  mutating func refuse<Value>(
    _ pointer: JSONPointer, _ message: String, hint: String? = nil
  ) -> Value? {
    report(pointer, message, hint: hint)
    return nil
  }

  /// Reports a list of calls that expects nothing.
  mutating func reportEmptyList(at pointer: JSONPointer) {
    report(
      pointer, "an empty list expects nothing",
      hint: "to expect that no tool is called, write `toolsNotCalled: [\"*\"]`, or "
        + "`toolsCalled: []` with `order: exact`")
  }

  /// Reports keys that are none of `names`.
  mutating func checkKeys(
    of object: JSONObject, at pointer: JSONPointer, among names: [String]
  ) {
    for key in object.keys where !names.contains(where: { $0.hasSameUTF8(as: key) }) {
      let nearest = Spelling.nearest(to: key, among: names)
      report(
        pointer.appending(key), isKey: true, "unknown key “\(key.prefix(utf8Bytes: 80))”",
        hint: nearest.map { "did you mean “\($0)”?" }
          ?? "known are \(names.joined(separator: ", "))")
    }
  }

  /// Reads a mapping of expectations, or a list of such mappings, of which some may only warn.
  mutating func readAll(_ value: JSONValue) -> Expectations {
    let root = JSONPointer()
    guard let elements = value.arrayValue else {
      let severity = severity(value, at: root)
      let own = read(value, at: root)
      guard severity == .warning else { return own }
      var expectations = Expectations()
      expectations.parts = [.init(name: "", severity: severity, expectations: own)]
      return expectations
    }
    if elements.isEmpty { report(root, "an empty list expects nothing") }
    if elements.count > 100 { report(root, "more than 100 mappings") }
    var expectations = Expectations()
    for (index, element) in elements.prefix(100).enumerated() {
      let place = root.appending(String(index))
      expectations.parts.append(
        .init(
          name: "[\(index)]", severity: severity(element, at: place),
          expectations: read(element, at: place)))
    }
    return expectations
  }

  private mutating func severity(_ value: JSONValue, at pointer: JSONPointer) -> Severity {
    guard let word = value["severity"] else { return .error }
    let place = pointer.appending("severity")
    if word.arrayValue != nil { report(place, "takes one word, not a list") }
    return words(word, at: place, Severity.self, "a severity")?.first ?? .error
  }

  mutating func read(_ value: JSONValue, at root: JSONPointer) -> Expectations {
    var expectations = Expectations()
    let problemsBefore = problems.count
    guard let object = value.objectValue else {
      report(root, "“expected” must be an object, not \(value.typeName)")
      return expectations
    }
    siblings = object
    checkKeys(of: object, at: root, among: Expectations.keyNames)
    for kind in Expectations.kinds {
      guard let value = object[kind.key],
        let found = kind.read(value, at: root.appending(kind.key), &self)
      else { continue }
      expectations.append(found)
    }
    if problems.count == problemsBefore, expectations.isEmpty {
      report(
        root, "nothing is expected",
        hint: "add one of "
          + Expectations.keyNames.prefix(9).filter { $0 != OrderOfCalls.key }
          .joined(separator: ", ") + " or one of the other words")
    }
    expectations.written.source = value
    return expectations
  }

  /// How much is wrong so far.
  var problemCount: Int { problems.count }

  /// Reads a mapping of expectations that stands within another.
  mutating func reading(_ value: JSONValue, at pointer: JSONPointer) -> Expectations {
    let outer = siblings
    defer { siblings = outer }
    return read(value, at: pointer)
  }

  // MARK: Simple values

  /// One word of an enumeration, or a list of them.
  mutating func words<T: RawRepresentable & CaseIterable>(
    _ value: JSONValue, at pointer: JSONPointer, _ type: T.Type, _ what: String
  ) -> [T]? where T.RawValue == String {
    let elements = value.arrayValue ?? [value]
    let names = T.allCases.map(\.rawValue)
    if elements.isEmpty {
      return refuse(pointer, "an empty list", hint: "known are \(names.joined(separator: ", "))")
    }
    var found: [T] = []
    for (index, element) in elements.enumerated() {
      if let text = element.stringValue, let word = T(rawValue: text) {
        found.append(word)
        continue
      }
      let place = value.arrayValue == nil ? pointer : pointer.appending(String(index))
      let nearest = element.stringValue.flatMap { Spelling.nearest(to: $0, among: names) }
      let said = element.stringValue.map { "“\($0.prefix(utf8Bytes: 80))”" } ?? element.typeName
      report(
        place, "\(said) is not \(what)",
        hint: nearest.map { "did you mean “\($0)”?" }
          ?? "known are \(names.joined(separator: ", "))")
    }
    return found.isEmpty ? nil : found
  }

  mutating func count(_ value: JSONValue, at pointer: JSONPointer) -> Int? {
    guard let count = value.intValue, count >= 0 else {
      return refuse(pointer, "must be a whole number that is not negative")
    }
    return count
  }

  mutating func matcher(
    _ value: JSONValue, at pointer: JSONPointer, allowsOrigins: Bool = false
  ) -> Matcher? {
    do throws(MatcherError) {
      let matcher = try Matcher(compiling: value, allowsOrigins: allowsOrigins)
      try matcher.refuseContradictions()
      return matcher
    } catch {
      let place = JSONPointer(tokens: pointer.tokens + error.pointer.tokens)
      switch error.code {
      case .unknownOperator(let name, let nearest?):
        report(
          place, isKey: true, "unknown operator “\(name.prefix(utf8Bytes: 80))”",
          hint: "did you mean “\(nearest)”?")
      case .unknownOperator, .misplaced, .mixedKeys:
        report(place, isKey: true, error.code.phrase)
      default: report(place, error.code.phrase)
      }
      return nil
    }
  }

  /// A matcher of what is a text wherever it is there.
  mutating func textMatcher(
    _ value: JSONValue, at pointer: JSONPointer, allowsOrigins: Bool = false
  ) -> Matcher? {
    guard let matcher = matcher(value, at: pointer, allowsOrigins: allowsOrigins) else {
      return nil
    }
    if let place = matcher.placeThatNoTextMatches {
      var operand: JSONValue? = value
      for token in place.tokens {
        let index = operand?.arrayValue == nil ? nil : Int(token)
        operand = index.flatMap { operand?[$0] } ?? operand?[token]
      }
      let operators: [String] = (operand?.objectValue?.keys ?? []).map { "$" + $0 }
      let slip = operators.first { Matcher.operatorNames.contains($0) }
      report(
        JSONPointer(tokens: pointer.tokens + place.tokens), "no text is like this",
        hint: slip.map { "did you mean “\($0)”?" })
    }
    return matcher
  }

  mutating func glob(_ text: String, at pointer: JSONPointer) -> Glob? {
    do { return try Glob(text) } catch {
      return refuse(pointer, "\(error)")
    }
  }

  // MARK: Entries

  /// - Parameter leaves: whether an entry may leave it open how often, for the sake of what stands beside it.
  mutating func entries(
    _ value: JSONValue, at pointer: JSONPointer, isExecuted: Bool, leavesNumberOpen leaves: Bool
  ) -> [CallEntry]? {
    guard let elements = value.arrayValue else {
      return refuse(
        pointer, "must be a list of tool names or calls, not \(value.typeName)",
        hint: value.stringValue.map { "write [\($0.prefix(utf8Bytes: 80))]" })
    }
    guard elements.count <= Expectations.entryLimit else {
      return refuse(pointer, "more than \(Expectations.entryLimit) entries")
    }
    var entries: [CallEntry] = []
    for (index, element) in elements.enumerated() {
      let place = pointer.appending(String(index))
      switch element {
      case .string(let text):
        if let tool = glob(text, at: place) { entries.append(.init(tool: tool)) }
      case .object(let object):
        if let entry = entry(
          object, at: place, isExecuted: isExecuted, leavesNumberOpen: leaves)
        {
          entries.append(entry)
        }
      default:
        report(place, "must be a tool's name, a glob or a call, not \(element.typeName)")
      }
    }
    return entries
  }

  mutating func entry(
    _ object: JSONObject, at pointer: JSONPointer, isExecuted: Bool,
    leavesNumberOpen leaves: Bool = false
  ) -> CallEntry? {
    checkKeys(of: object, at: pointer, among: CallEntry.keyNames)
    var tool: Glob?
    switch object["tool"] {
    case .string(let text)?: tool = glob(text, at: pointer.appending("tool"))
    case nil: report(pointer, "a call without “tool”", hint: "write `tool: \"*\"` for any tool")
    case let other?:
      report(pointer.appending("tool"), "must be a tool's name or a glob, not \(other.typeName)")
    }
    let statuses: [CallStatus]? = object["status"].flatMap {
      words($0, at: pointer.appending("status"), CallStatus.self, "a status of a call")
    }
    if isExecuted, let statuses, statuses.allSatisfy({ $0 == .refused }) {
      report(
        pointer.appending("status"), "a refused call was never executed",
        hint: "put it into `toolsProposed` or `toolsNotProposed`")
    }
    if object["input"] == .null {
      report(
        pointer.appending("input"), "nothing stands here, and no call's input is nothing",
        hint: "leave it out for any input; write {} for one with whatever keys")
    }
    let input: Matcher? = object["input"].flatMap {
      matcher($0, at: pointer.appending("input"), allowsOrigins: true)
    }
    let result: Matcher? = object["result"].flatMap { matcher($0, at: pointer.appending("result")) }
    let times = object["times"].flatMap {
      self.times($0, at: pointer.appending("times"), mayBeAny: leaves)
    }
    var caller: Glob?
    switch object["caller"] {
    case nil: break
    case .string(let text)?: caller = glob(text, at: pointer.appending("caller"))
    case let other?:
      report(pointer.appending("caller"), "must be a caller's name, not \(other.typeName)")
    }
    let arguments = arguments(object, at: pointer)
    guard let tool else { return nil }
    var entry = CallEntry(
      tool: tool, input: input, statuses: statuses, result: result, times: times, caller: caller)
    entry.arguments = arguments
    return entry
  }

  /// Whether an entry of a positive list says something where it leaves it open how often: it has a place in an
  /// order, or is what else may be called.
  func numberMayBeOpen(in list: JSONValue, of key: String) -> Bool {
    if key == ToolsCalled.key, siblings[NoExtraCalls.key] == "forbid" { return true }
    switch siblings[OrderOfCalls.key]?.stringValue.flatMap(Expectations.Order.init) {
    case .exact: return true
    // It takes calls that one with a bound would fail on.
    case .inOrder:
      return list.arrayValue?.contains {
        ($0["times"]?.intValue ?? $0["times"]?["max"]?.intValue) != nil
      }
        ?? false
    case .any, nil: return false
    }
  }

  /// A number, or bounds of one. Bounds that every number keeps say nothing, and are a mistake where nothing
  /// beside them gives them a meaning.
  mutating func times(
    _ value: JSONValue, at pointer: JSONPointer, mayBeAny: Bool = false
  ) -> CallEntry.Times? {
    let limit = 0...Expectations.timesLimit
    let needs = "a whole number from 0 to \(Expectations.timesLimit)"
    guard let object = value.objectValue else {
      guard let count = value.intValue, limit.contains(count) else {
        return refuse(pointer, "must be \(needs), or an object with `min` and `max`")
      }
      return CallEntry.Times(minimum: count, maximum: count, isRange: false)
    }
    checkKeys(of: object, at: pointer, among: ["min", "max"])
    for (key, bound) in [("min", object["min"]), ("max", object["max"])] {
      if let bound, bound.intValue.map(limit.contains) != true {
        return refuse(pointer.appending(key), "must be \(needs)")
      }
    }
    let (minimum, maximum) = (object["min"]?.intValue, object["max"]?.intValue)
    guard minimum != nil || maximum != nil else {
      return refuse(pointer, "neither `min` nor `max`")
    }
    guard minimum ?? 0 <= maximum ?? .max else {
      return refuse(pointer, "`min` is greater than `max`")
    }
    guard mayBeAny || minimum != 0 || maximum != nil else {
      return refuse(
        pointer.appending("min"), "every number is at least 0, so that this says nothing",
        hint: "write the fewest that there have to be, 1 or more, or add `max`")
    }
    return CallEntry.Times(minimum: minimum ?? 0, maximum: maximum)
  }

  // MARK: Lists and mappings

  /// A list that is not empty, each element read by itself.
  mutating func list<T>(
    _ value: JSONValue, at pointer: JSONPointer,
    _ read: (inout ExpectationReader, JSONValue, JSONPointer) -> T?
  ) -> [T]? {
    guard let elements = value.arrayValue else {
      return refuse(pointer, "must be a list, not \(value.typeName)")
    }
    guard !elements.isEmpty else { return refuse(pointer, "an empty list expects nothing") }
    guard elements.count <= Expectations.entryLimit else {
      return refuse(pointer, "more than \(Expectations.entryLimit) entries")
    }
    var found: [T] = []
    for (index, element) in elements.enumerated() {
      if let part = read(&self, element, pointer.appending(String(index))) { found.append(part) }
    }
    return found
  }

  /// One thing, or a list of them that is not empty.
  mutating func oneOrMore<T>(
    _ value: JSONValue, at pointer: JSONPointer,
    _ read: (inout ExpectationReader, JSONValue, JSONPointer) -> T?
  ) -> [T]? {
    if value.arrayValue != nil { return list(value, at: pointer, read) }
    return read(&self, value, pointer).map { [$0] }
  }

  /// A mapping whose keys are among some names.
  mutating func mapping(
    _ value: JSONValue, at pointer: JSONPointer, keys: [String], _ what: String
  ) -> JSONObject? {
    guard let object = value.objectValue else {
      return refuse(pointer, "must be \(what), not \(value.typeName)")
    }
    checkKeys(of: object, at: pointer, among: keys)
    return object
  }

  /// A call entry, a name or a glob.
  mutating func callEntry(
    _ value: JSONValue, at pointer: JSONPointer, isExecuted: Bool
  ) -> CallEntry? {
    switch value {
    case .string(let text): return glob(text, at: pointer).map { CallEntry(tool: $0) }
    case .object(let object):
      let entry = entry(object, at: pointer, isExecuted: isExecuted)
      guard entry?.times == nil else {
        return refuse(pointer.appending("times"), "this speaks of one call")
      }
      return entry
    default:
      return refuse(pointer, "must be a tool's name, a glob or a call, not \(value.typeName)")
    }
  }

  /// One word of an enumeration.
  mutating func word<T: RawRepresentable & CaseIterable>(
    _ value: JSONValue, at pointer: JSONPointer, _ type: T.Type, _ what: String
  ) -> T? where T.RawValue == String {
    if value.arrayValue != nil { return refuse(pointer, "takes one word, not a list") }
    return words(value, at: pointer, type, what)?.first
  }
}
