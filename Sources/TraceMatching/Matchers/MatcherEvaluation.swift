import AgentTrace

/// One walk over a matcher and a value.
///
/// Recursion follows the matcher, whose depth is limited; the value's depth does not matter.
struct MatcherEvaluation {
  private let explains: Bool
  private let origins: Origins?
  private var stepsLeft = Matcher.stepLimit
  /// The keys and indices that lead to where the walk stands.
  private var path: [String] = []
  private var mismatch: Mismatch?
  private var unverifiable: Unverifiable?

  init(explains: Bool, origins: Origins? = nil) {
    self.explains = explains
    self.origins = origins
  }

  /// Why the last answer was no.
  mutating func takeMismatch() -> Mismatch {
    mismatch ?? Mismatch(pointer: JSONPointer(), expected: "a match", actual: "none")
  }

  /// Why the last answer was unknown.
  mutating func takeUnverifiable() -> Unverifiable {
    unverifiable ?? Unverifiable(reason: .limit, pointer: JSONPointer())
  }

  // MARK: Answers

  private mutating func no(_ expected: @autoclosure () -> String, _ value: JSONValue?) -> Trilean {
    if explains {
      mismatch = Mismatch(
        pointer: JSONPointer(tokens: path), expected: expected(), actual: Wording.of(value))
    }
    return .no
  }

  private mutating func unknown(_ reason: Unverifiable.Reason) -> Trilean {
    unverifiable = Unverifiable(reason: reason, pointer: JSONPointer(tokens: path))
    return .unknown
  }

  private mutating func answer(
    _ isMatch: Bool, _ expected: @autoclosure () -> String, _ value: JSONValue?
  ) -> Trilean {
    isMatch ? .yes : no(expected(), value)
  }

  private mutating func step(_ count: Int = 1) -> Bool {
    stepsLeft -= count
    return stepsLeft >= 0
  }

  /// What is not there to be seen, if the value is of that kind.
  private static func hidden(_ value: JSONValue) -> Unverifiable.Reason? {
    switch value {
    case .lost: .lost
    case .cut: .cut
    // It stands in the place of a value of any type.
    case .string(let text) where Withheld.isWhole(text): .withheld
    default: nil
    }
  }

  // MARK: The walk

  mutating func evaluate(_ node: MatcherNode, _ value: JSONValue?) -> Trilean {
    guard step() else { return unknown(.limit) }
    // What needs no look at the value comes first.
    switch node {
    case .absent(let isAbsent):
      return answer((value == nil) == isAbsent, isAbsent ? "nothing" : "any value", value)
    case .not(let inner): return negate(inner, value)
    case .oneOf(let nodes): return exactlyOne(nodes, value)
    case .allOf(let nodes): return all(nodes, value)
    case .anyOf(let nodes): return any(nodes, value)
    default: break
    }
    guard let value else { return no(Wording.of(node), nil) }
    switch node {
    case .any: return .yes
    case .scalar(let expected, let decimal): return equal(expected, decimal, value)
    case .exact(let expected): return deepEqual(expected, value)
    case .array(let nodes): return array(nodes, value)
    case .object(let members): return object(members, value)
    case .subsetOf(let members): return subset(members, value)
    case .regex(let pattern): return search(pattern, value)
    case .glob(let glob): return text(value, node) { glob.matches($0) }
    case .ignoreCase(let folded, _):
      return text(value, node) { CaseFolding.fold($0).hasSameUTF8(as: folded) }
    case .compare, .approximate: return number(node, value)
    case .contains(let needle, let element): return contains(needle, element, node, value)
    case .length(let inner): return length(inner, node, value)
    case .type(let types): return type(types, node, value)
    case .schema(let schema): return conform(schema, value)
    case .from(let origin): return came(from: origin, node, value)
    case .absent, .not, .oneOf, .allOf, .anyOf: return .unknown
    }
  }

  private mutating func negate(_ inner: MatcherNode, _ value: JSONValue?) -> Trilean {
    let before = mismatch
    let result = evaluate(inner, value)
    mismatch = before
    return result == .yes ? no("not \(Wording.of(inner))", value) : !result
  }

  /// No beats unknown, unknown beats yes; the first no ends the walk.
  private mutating func all(_ nodes: [MatcherNode], _ value: JSONValue?) -> Trilean {
    var result = Trilean.yes
    for node in nodes {
      switch evaluate(node, value) {
      case .no: return .no
      case .unknown: result = .unknown
      case .yes: break
      }
    }
    return result
  }

  /// Yes beats unknown, unknown beats no.
  private mutating func any(_ nodes: [MatcherNode], _ value: JSONValue?) -> Trilean {
    var result = Trilean.no
    for node in nodes {
      switch evaluate(node, value) {
      case .yes: return .yes
      case .unknown: result = .unknown
      case .no: break
      }
    }
    guard result == .no else { return result }
    // With one alternative its own explanation, which points deeper, says more.
    return nodes.count == 1 ? .no : no(Wording.of(.anyOf(nodes)), value)
  }

  private mutating func exactlyOne(_ nodes: [MatcherNode], _ value: JSONValue?) -> Trilean {
    var (matches, unknowns) = (0, 0)
    for node in nodes {
      switch evaluate(node, value) {
      case .yes: matches += 1
      case .unknown: unknowns += 1
      case .no: break
      }
    }
    if matches > 1 {
      return no("exactly one of \(Wording.list(nodes)) (\(matches) of them match)", value)
    }
    if unknowns > 0 { return .unknown }
    if matches == 1 { return .yes }
    return nodes.count == 1 ? .no : no(Wording.of(.oneOf(nodes)), value)
  }

  // MARK: Values as they are

  private mutating func equal(
    _ expected: JSONValue, _ decimal: Decimal?, _ value: JSONValue
  ) -> Trilean {
    if expected == value { return .yes }
    switch (expected, value) {
    case (_, .lost): return unknown(.lost)
    case (.string(let text), .cut(let bytes, let head)):
      return value.isCutFromUnknownLength || couldBe(text, bytes, head)
        ? unknown(.cut) : no(Wording.of(expected), value)
    case (.null, .cut), (.bool, .cut), (.number, .cut), (_, .cut): return unknown(.cut)
    case (.number(let number), .number(let other)):
      let left = decimal ?? Decimal(number)
      guard step(number.token.utf8.count + other.token.utf8.count) else { return unknown(.limit) }
      return answer(left == Decimal(other), Wording.of(expected), value)
    case (.string(let text), .string(let other)):
      if Withheld.couldBe(other, text) { return unknown(.withheld) }
      return no(Wording.of(expected), value)
    case (.null, .string(let other)), (.bool, .string(let other)), (.number, .string(let other)):
      if Withheld.isWhole(other) { return unknown(.withheld) }
      return no(Wording.of(expected), value)
    default: return no(Wording.of(expected), value)
    }
  }

  /// Whether a value is one that an earlier result held.
  private mutating func came(
    from origin: Origin, _ node: MatcherNode, _ value: JSONValue
  ) -> Trilean {
    guard let values = origins?(origin) else { return unknown(.noRun) }
    let (before, wasUnverifiable) = (mismatch, unverifiable)
    var result = Trilean.no
    let hidden = Self.hidden(value)
    if let hidden, hidden != .withheld { return unknown(hidden) }
    for known in values.known {
      switch deepEqual(value, known) {
      case .yes:
        (mismatch, unverifiable) = (before, wasUnverifiable)
        return .yes
      case .unknown: result = .unknown
      case .no: break
      }
    }
    mismatch = before
    // A token is equal to itself; what it is not equal to may be equal to what it stands for.
    if let hidden, !values.known.isEmpty { return unknown(hidden) }
    if result == .unknown { return .unknown }
    if values.mayBeMore { return unknown(.hidden) }
    return no(Wording.of(node), value)
  }

  /// Whether a text can be what was cut: its canonical form has that length and it begins that way.
  private func couldBe(_ text: String, _ bytes: Int, _ head: String) -> Bool {
    CanonicalJSON.encode(.string(text)).count == bytes && text.utf8.starts(with: head.utf8)
  }

  /// Equality by value with the same keys, all the way down; recursion follows `expected`.
  private mutating func deepEqual(_ expected: JSONValue, _ value: JSONValue) -> Trilean {
    guard step() else { return unknown(.limit) }
    switch (expected, value) {
    case (.array(let elements), .array(let others)):
      guard elements.count == others.count else {
        return no("an array of \(elements.count)", value)
      }
      var result = Trilean.yes
      for (index, element) in elements.enumerated() {
        path.append(String(index))
        let part = deepEqual(element, others[index])
        path.removeLast()
        if part == .no { return .no }
        if part == .unknown { result = .unknown }
      }
      return result
    case (.object(let object), .object(let other)): return deepEqual(object, other)
    case (.array, _), (.object, _):
      if let reason = Self.hidden(value) { return unknown(reason) }
      return answer(expected == value, Wording.of(expected), value)
    default: return equal(expected, nil, value)
    }
  }

  private mutating func deepEqual(_ expected: JSONObject, _ value: JSONObject) -> Trilean {
    guard step(value.count) else { return unknown(.limit) }
    if let extra = value.first(where: { expected[$0.key] == nil }) {
      path.append(extra.key)
      defer { path.removeLast() }
      return no("no such key", extra.value)
    }
    var result = Trilean.yes
    for member in expected {
      path.append(member.key)
      let part: Trilean
      if let other = value[member.key] {
        part = deepEqual(member.value, other)
      } else {
        part = no(Wording.of(member.value), nil)
      }
      path.removeLast()
      if part == .no { return .no }
      if part == .unknown { result = .unknown }
    }
    return result
  }

  private mutating func array(_ nodes: [MatcherNode], _ value: JSONValue) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard let elements = value.arrayValue, elements.count == nodes.count else {
      return no("an array of \(nodes.count)", value)
    }
    var result = Trilean.yes
    for (index, node) in nodes.enumerated() {
      path.append(String(index))
      let part = evaluate(node, elements[index])
      path.removeLast()
      if part == .no { return .no }
      if part == .unknown { result = .unknown }
    }
    return result
  }

  private mutating func object(
    _ members: [(key: String, node: MatcherNode)], _ value: JSONValue
  ) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard let object = value.objectValue else { return no(Wording.of(.object(members)), value) }
    var result = Trilean.yes
    for (key, node) in members {
      path.append(key)
      let part = evaluate(node, object[key])
      path.removeLast()
      if part == .no { return .no }
      if part == .unknown { result = .unknown }
    }
    return result
  }

  private mutating func subset(
    _ members: [(key: String, node: MatcherNode)], _ value: JSONValue
  ) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard let object = value.objectValue else { return no("an object", value) }
    guard step(object.count) else { return unknown(.limit) }
    var (result, position) = (Trilean.yes, 0)
    for member in object {
      // Both sides are sorted by UTF-8.
      while position < members.count, members[position].key.precedesByUTF8(member.key) {
        position += 1
      }
      path.append(member.key)
      let part: Trilean
      if position < members.count, members[position].key.hasSameUTF8(as: member.key) {
        part = evaluate(members[position].node, member.value)
      } else {
        part = no("no such key", member.value)
      }
      path.removeLast()
      if part == .no { return .no }
      if part == .unknown { result = .unknown }
    }
    return result
  }

  // MARK: Texts

  /// Judges a string as a whole; anything else does not match.
  private mutating func text(
    _ value: JSONValue, _ node: MatcherNode, _ matches: (String) -> Bool
  ) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard let text = value.stringValue else { return no(Wording.of(node), value) }
    guard step(text.utf8.count / 16) else { return unknown(.limit) }
    if Withheld.isIn(text) { return unknown(.withheld) }
    return answer(matches(text), Wording.of(node), value)
  }

  private mutating func search(_ pattern: Pattern, _ value: JSONValue) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard let text = value.stringValue else { return no(Wording.of(.regex(pattern)), value) }
    if Withheld.isIn(text) { return unknown(.withheld) }
    guard step(text.utf8.count / 16), let isFound = pattern.isFound(in: text) else {
      return unknown(.limit)
    }
    return answer(isFound, Wording.of(.regex(pattern)), value)
  }

  private mutating func contains(
    _ needle: [UInt8]?, _ element: MatcherNode, _ node: MatcherNode, _ value: JSONValue
  ) -> Trilean {
    switch value {
    case .lost: return unknown(.lost)
    case .cut: return unknown(.cut)
    case .array(let elements): return containsElement(element, elements, node, value)
    case .string(let text):
      guard let needle else { return no(Wording.of(node), value) }
      guard step(text.utf8.count / 16) else { return unknown(.limit) }
      var seesAll = true
      for piece in Withheld.pieces(of: text, seesAll: &seesAll)
      where Substring.isFound(needle, in: Array(piece)) {
        return .yes
      }
      return seesAll ? no(Wording.of(node), value) : unknown(.withheld)
    case .bytes(let bytes):
      guard let needle else { return no(Wording.of(node), value) }
      return answer(Substring.isFound(needle, in: bytes), Wording.of(node), value)
    default: return no(Wording.of(node), value)
    }
  }

  private mutating func containsElement(
    _ element: MatcherNode, _ elements: [JSONValue], _ node: MatcherNode, _ value: JSONValue
  ) -> Trilean {
    var result = Trilean.no
    for (index, candidate) in elements.enumerated() {
      path.append(String(index))
      let part = evaluate(element, candidate)
      path.removeLast()
      if part == .yes { return .yes }
      if part == .unknown { result = .unknown }
    }
    return result == .no ? no(Wording.of(node), value) : .unknown
  }

  // MARK: The rest

  private mutating func number(_ node: MatcherNode, _ value: JSONValue) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    guard case .number(let number) = value else { return no(Wording.of(node), value) }
    guard step(number.token.utf8.count) else { return unknown(.limit) }
    let isMatch: Bool
    switch node {
    case .compare(let name, let bound, _):
      let order = Decimal(number).compare(to: bound)
      switch name {
      case .greater: isMatch = order > 0
      case .greaterOrEqual: isMatch = order >= 0
      case .less: isMatch = order < 0
      default: isMatch = order <= 0
      }
    case .approximate(let middle, let tolerance, _, _):
      isMatch = Decimal(number).isWithin(tolerance, of: middle)
    default: isMatch = false
    }
    return answer(isMatch, Wording.of(node), value)
  }

  private mutating func length(
    _ inner: MatcherNode, _ node: MatcherNode, _ value: JSONValue
  ) -> Trilean {
    let count: Int
    switch value {
    case .lost: return unknown(.lost)
    case .cut: return unknown(.cut)
    case .string(let text):
      guard step(text.utf8.count / 16) else { return unknown(.limit) }
      if Withheld.isIn(text) { return unknown(.withheld) }
      count = text.unicodeScalars.count
    case .array(let elements): count = elements.count
    case .object(let object): count = object.count
    default: return no(Wording.of(node), value)
    }
    let before = mismatch
    let result = evaluate(inner, JSONValue(count))
    mismatch = before
    guard result == .no else { return result }
    let isString = value.stringValue != nil
    if explains {
      mismatch = Mismatch(
        pointer: JSONPointer(tokens: path), expected: Wording.of(node),
        actual: "length \(count)" + (isString ? ": \(Wording.of(value))" : ""))
    }
    return .no
  }

  private mutating func type(
    _ types: [JSONTypeName], _ node: MatcherNode, _ value: JSONValue
  ) -> Trilean {
    if let reason = Self.hidden(value) { return unknown(reason) }
    return answer(
      types.contains { $0.includes(value) == .yes }, Wording.of(node), value)
  }

  private mutating func conform(_ schema: JSONSchema, _ value: JSONValue) -> Trilean {
    var check = SchemaCheck(schema)
    switch check.run(value) {
    case .yes: return .yes
    case .unknown:
      unverifiable = Unverifiable(
        reason: check.unknownReason ?? .limit,
        pointer: JSONPointer(tokens: path + check.unknownPath))
      return .unknown
    case .no:
      if explains, let first = check.violations.first {
        mismatch = Mismatch(
          pointer: JSONPointer(tokens: path + first.pointer.tokens),
          expected: "by the schema's “\(first.keyword)”: \(first.message)",
          actual: Wording.of(value[first.pointer]))
      }
      return .no
    }
  }
}
