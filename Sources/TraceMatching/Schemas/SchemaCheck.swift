import AgentTrace

/// One walk of a value through a schema.
struct SchemaCheck {
  private static let stepLimit = 2_000_000
  private static let depthLimit = 400

  private let schema: JSONSchema
  private var stepsLeft = Self.stepLimit
  private var depth = 0
  private var path: [String] = []
  /// Above 0 while trying alternatives, whose violations are not told.
  private var silence = 0

  private(set) var violations: [SchemaViolation] = []
  private(set) var unknownReason: Unverifiable.Reason?
  private(set) var unknownPath: [String] = []

  init(_ schema: JSONSchema) { self.schema = schema }

  mutating func run(_ value: JSONValue) -> Trilean {
    let result = check(0, value)
    // Nothing that was found valid after the budget ran out can be relied on.
    return stepsLeft < 0 ? .unknown : result
  }

  /// Whether the value was too much work.
  var isOverBudget: Bool { stepsLeft < 0 }

  // MARK: Answers

  private mutating func no(_ keyword: String, _ message: @autoclosure () -> String) -> Trilean {
    if silence == 0, violations.count < JSONSchema.violationLimit {
      violations.append(
        SchemaViolation(
          pointer: JSONPointer(tokens: path), keyword: keyword, message: message()))
    }
    return .no
  }

  private mutating func unknown(_ reason: Unverifiable.Reason) -> Trilean {
    // A value that was withheld may be valid; any other reason is told before it.
    if unknownReason == nil || unknownReason == .withheld && reason != .withheld {
      unknownReason = reason
      unknownPath = path
    }
    return .unknown
  }

  private mutating func answer(
    _ holds: Bool, _ keyword: String, _ message: @autoclosure () -> String
  ) -> Trilean {
    holds ? .yes : no(keyword, message())
  }

  /// Both must hold; unlike in a search the second is looked at all the same, to tell every violation.
  private static func both(_ left: Trilean, _ right: Trilean) -> Trilean {
    if left == .no || right == .no { return .no }
    return left == .unknown || right == .unknown ? .unknown : .yes
  }

  private mutating func silently(_ number: Int, _ value: JSONValue) -> Trilean {
    silence += 1
    defer { silence -= 1 }
    return check(number, value)
  }

  private mutating func check(_ number: Int, _ value: JSONValue, at key: String) -> Trilean {
    path.append(key)
    defer { path.removeLast() }
    return check(number, value)
  }

  // MARK: One schema

  private mutating func check(_ number: Int, _ value: JSONValue) -> Trilean {
    stepsLeft -= 1
    guard stepsLeft >= 0, depth < Self.depthLimit else {
      stepsLeft = -1
      return unknown(.limit)
    }
    depth += 1
    defer { depth -= 1 }
    var result = Trilean.yes
    for keyword in schema.nodes[number] {
      if case .never = keyword { return no("false", "no value is allowed here") }
      switch value {
      case .lost: return unknown(.lost)
      case .cut: return unknown(.cut)
      case .string(let text) where Withheld.isIn(text): return unknown(.withheld)
      default: break
      }
      result = Self.both(result, check(keyword, of: number, value))
    }
    return result
  }

  private mutating func check(
    _ keyword: SchemaKeyword, of number: Int, _ value: JSONValue
  ) -> Trilean {
    switch keyword {
    case .never: return .no
    case .reference(let target): return check(target, value)
    case .type(let types):
      return answer(
        types.contains { $0.includes(value) == .yes }, "type",
        "expected \(types.map(\.rawValue).joined(separator: " or ")), found \(Wording.of(value))")
    case .enumeration(let values): return checkEnumeration(values, value)
    case .constant(let expected): return checkConstant(expected, value)
    case .allOf(let schemas):
      return schemas.reduce(.yes) { Self.both($0, check($1, value)) }
    case .anyOf(let schemas): return checkAny(schemas, value)
    case .oneOf(let schemas): return checkOne(schemas, value)
    case .not(let inner):
      let result = !silently(inner, value)
      return result == .no
        ? no("not", "\(Wording.of(value)) is what the schema excludes") : result
    case .conditional(let condition, let then, let otherwise):
      return checkConditional(condition, then, otherwise, value)
    default: break
    }
    switch value {
    case .object(let object): return check(keyword, of: number, object)
    case .array(let elements): return check(keyword, of: number, elements)
    case .string(let text): return check(keyword, text)
    case .number(let number): return check(keyword, number)
    default: return .yes
    }
  }

  private mutating func equal(_ expected: JSONValue, _ value: JSONValue) -> Trilean {
    stepsLeft -= 1
    var evaluation = MatcherEvaluation(explains: false)
    let result = evaluation.evaluate(.exact(expected), value)
    if result == .unknown {
      let why = evaluation.takeUnverifiable()
      path += why.pointer.tokens
      _ = unknown(why.reason)
      path.removeLast(why.pointer.tokens.count)
    }
    return result
  }

  private mutating func checkEnumeration(_ values: [JSONValue], _ value: JSONValue) -> Trilean {
    var result = Trilean.no
    for candidate in values {
      switch equal(candidate, value) {
      case .yes: return .yes
      case .unknown: result = .unknown
      case .no: break
      }
    }
    guard result == .no else { return result }
    let nearest = value.stringValue.flatMap { text in
      Spelling.nearest(to: text, among: values.compactMap(\.stringValue))
    }
    return no(
      "enum",
      "\(Wording.of(value)) is none of \(Wording.of(JSONValue.array(values)))"
        + (nearest.map { "; did you mean “\($0)”?" } ?? ""))
  }

  private mutating func checkConstant(_ expected: JSONValue, _ value: JSONValue) -> Trilean {
    let result = equal(expected, value)
    return result == .no
      ? no("const", "expected \(Wording.of(expected)), found \(Wording.of(value))") : result
  }

  private mutating func checkAny(_ schemas: [Int], _ value: JSONValue) -> Trilean {
    // With one alternative its own violations say more.
    if schemas.count == 1 { return check(schemas[0], value) }
    var result = Trilean.no
    for schema in schemas {
      switch silently(schema, value) {
      case .yes: return .yes
      case .unknown: result = .unknown
      case .no: break
      }
    }
    return result == .no
      ? no("anyOf", "\(Wording.of(value)) is none of the \(schemas.count) alternatives") : result
  }

  private mutating func checkOne(_ schemas: [Int], _ value: JSONValue) -> Trilean {
    if schemas.count == 1 { return check(schemas[0], value) }
    var (matches, unknowns) = (0, 0)
    for schema in schemas {
      switch silently(schema, value) {
      case .yes: matches += 1
      case .unknown: unknowns += 1
      case .no: break
      }
    }
    if matches <= 1, unknowns > 0 { return .unknown }
    return answer(
      matches == 1, "oneOf",
      "\(Wording.of(value)) is \(matches) of the \(schemas.count) alternatives instead of one")
  }

  private mutating func checkConditional(
    _ condition: Int, _ then: Int?, _ otherwise: Int?, _ value: JSONValue
  ) -> Trilean {
    switch silently(condition, value) {
    case .yes: return then.map { check($0, value) } ?? .yes
    case .no: return otherwise.map { check($0, value) } ?? .yes
    case .unknown:
      let first = then.map { silently($0, value) } ?? .yes
      let second = otherwise.map { silently($0, value) } ?? .yes
      return first == second ? first : .unknown
    }
  }

  // MARK: Objects

  private mutating func check(
    _ keyword: SchemaKeyword, of number: Int, _ object: JSONObject
  ) -> Trilean {
    switch keyword {
    case .properties(let properties, let patterns, let additional):
      return checkProperties(properties, patterns, additional, object)
    case .required(let keys):
      var result = Trilean.yes
      for key in keys where object[key] == nil {
        result = no("required", "the key “\(key.prefix(utf8Bytes: 80))” is missing")
      }
      return result
    case .propertyNames(let schema):
      return object.reduce(.yes) {
        Self.both($0, check(schema, .string($1.key), at: $1.key))
      }
    case .propertyCount(let minimum, let maximum):
      return checkCount(object.count, minimum, maximum, "Properties", "keys")
    case .dependentRequired(let dependencies):
      var result = Trilean.yes
      for (key, needs) in dependencies where object[key] != nil {
        for need in needs where object[need] == nil {
          result = no(
            "dependentRequired",
            "the key “\(key.prefix(utf8Bytes: 80))” needs the key “\(need.prefix(utf8Bytes: 80))”")
        }
      }
      return result
    case .dependentSchemas(let dependencies):
      return dependencies.reduce(.yes) {
        object[$1.key] == nil ? $0 : Self.both($0, check($1.schema, .object(object)))
      }
    case .unevaluatedProperties(let schema):
      let evaluated = evaluatedKeys(of: number, object)
      var result = Trilean.yes
      for (index, member) in object.enumerated() where !evaluated[index] {
        result = Self.both(result, check(schema, member.value, at: member.key))
      }
      return result
    default: return .yes
    }
  }

  private mutating func checkProperties(
    _ properties: [(key: String, schema: Int)], _ patterns: [(Pattern, Int)], _ additional: Int?,
    _ object: JSONObject
  ) -> Trilean {
    var result = Trilean.yes
    for member in object {
      var isKnown = false
      if let schema = Self.schema(of: member.key, in: properties) {
        isKnown = true
        result = Self.both(result, check(schema, member.value, at: member.key))
      }
      for (pattern, schema) in patterns {
        stepsLeft -= 1 + member.key.utf8.count / 16
        guard let isFound = pattern.isFound(in: member.key) else {
          result = Self.both(result, unknown(.limit))
          continue
        }
        guard isFound else { continue }
        isKnown = true
        result = Self.both(result, check(schema, member.value, at: member.key))
      }
      if !isKnown, let additional {
        result = Self.both(
          result, checkAdditional(additional, member, known: properties))
      }
    }
    return result
  }

  private static func schema(
    of key: String, in properties: [(key: String, schema: Int)]
  ) -> Int? {
    // The properties of a schema object are sorted by UTF-8, as all objects are.
    let place = properties.partitionPoint { $0.key.precedesByUTF8(key) }
    guard place < properties.count, properties[place].key.hasSameUTF8(as: key) else { return nil }
    return properties[place].schema
  }

  private mutating func checkAdditional(
    _ schema: Int, _ member: JSONObject.Member, known: [(key: String, schema: Int)]
  ) -> Trilean {
    if case .never? = self.schema.nodes[schema].first {
      let nearest = Spelling.nearest(to: member.key, among: known.map(\.key))
      return no(
        "additionalProperties",
        "the key “\(member.key.prefix(utf8Bytes: 80))” is not allowed"
          + (nearest.map { "; did you mean “\($0)”?" } ?? ""))
    }
    return check(schema, member.value, at: member.key)
  }

  private mutating func checkCount(
    _ count: Int, _ minimum: Int?, _ maximum: Int?, _ suffix: String, _ what: String
  ) -> Trilean {
    if let minimum, count < minimum {
      return no("min" + suffix, "\(count) \(what) where at least \(minimum) are needed")
    }
    if let maximum, count > maximum {
      return no("max" + suffix, "\(count) \(what) where at most \(maximum) are allowed")
    }
    return .yes
  }

  // MARK: Arrays

  private mutating func check(
    _ keyword: SchemaKeyword, of number: Int, _ elements: [JSONValue]
  ) -> Trilean {
    switch keyword {
    case .items(let prefix, let rest, let restKeyword):
      var result = Trilean.yes
      for (index, element) in elements.enumerated() {
        if index < prefix.count {
          result = Self.both(result, check(prefix[index], element, at: String(index)))
        } else if let rest {
          if case .never? = schema.nodes[rest].first {
            return no(restKeyword, "\(elements.count) items where \(prefix.count) are allowed")
          }
          result = Self.both(result, check(rest, element, at: String(index)))
        }
      }
      return result
    case .contains(let schema, let minimum, let maximum):
      return checkContains(schema, minimum, maximum, elements)
    case .itemCount(let minimum, let maximum):
      return checkCount(elements.count, minimum, maximum, "Items", "items")
    case .uniqueItems: return checkUnique(elements)
    case .unevaluatedItems(let schema):
      let evaluated = evaluatedItems(of: number, elements)
      var result = Trilean.yes
      for (index, element) in elements.enumerated() where !evaluated[index] {
        result = Self.both(result, check(schema, element, at: String(index)))
      }
      return result
    default: return .yes
    }
  }

  private mutating func checkContains(
    _ schema: Int, _ minimum: Int, _ maximum: Int?, _ elements: [JSONValue]
  ) -> Trilean {
    var (matches, unknowns) = (0, 0)
    for (index, element) in elements.enumerated() {
      path.append(String(index))
      switch silently(schema, element) {
      case .yes: matches += 1
      case .unknown: unknowns += 1
      case .no: break
      }
      path.removeLast()
    }
    if matches + unknowns < minimum {
      return no("contains", "\(matches) items of the needed kind where \(minimum) are needed")
    }
    if let maximum, matches > maximum {
      return no("maxContains", "\(matches) items of a kind of which \(maximum) are allowed")
    }
    if matches < minimum { return .unknown }
    if let maximum, matches + unknowns > maximum { return .unknown }
    return .yes
  }

  private mutating func checkUnique(_ elements: [JSONValue]) -> Trilean {
    var seen: [[UInt8]: Int] = [:]
    var hidden: Unverifiable.Reason?
    for (index, element) in elements.enumerated() {
      var key: [UInt8] = []
      if let reason = Self.appendKey(of: element, to: &key) {
        hidden = reason
        continue
      }
      stepsLeft -= 1 + key.count / 64
      if let first = seen[key] {
        return no("uniqueItems", "the items \(first) and \(index) are equal")
      }
      seen[key] = index
    }
    return hidden.map { unknown($0) } ?? .yes
  }

  /// Bytes that are the same for values that are equal by value, and only for those; or why there are
  /// none.
  private static func appendKey(
    of value: JSONValue, to key: inout [UInt8]
  ) -> Unverifiable.Reason? {
    switch value {
    case .number(let number):
      let decimal = Decimal(number)
      key.append(UInt8(ascii: decimal.isNegative ? "-" : "+"))
      key.append(contentsOf: decimal.digits.map { $0 + 0x30 })
      key.append(contentsOf: "e\(decimal.exponent)".utf8)
    case .array(let elements):
      key.append(UInt8(ascii: "["))
      for element in elements {
        if let reason = appendKey(of: element, to: &key) { return reason }
        key.append(UInt8(ascii: ","))
      }
      key.append(UInt8(ascii: "]"))
    case .object(let object):
      key.append(UInt8(ascii: "{"))
      for member in object {
        CanonicalJSON.appendString(member.key, to: &key)
        key.append(UInt8(ascii: ":"))
        if let reason = appendKey(of: member.value, to: &key) { return reason }
        key.append(UInt8(ascii: ","))
      }
      key.append(UInt8(ascii: "}"))
    case .lost: return .lost
    case .cut: return .cut
    default: CanonicalJSON.append(value, to: &key)
    }
    return nil
  }

  // MARK: Texts and numbers

  private mutating func check(_ keyword: SchemaKeyword, _ text: String) -> Trilean {
    switch keyword {
    case .length(let minimum, let maximum):
      if Withheld.isIn(text) { return unknown(.withheld) }
      stepsLeft -= text.utf8.count / 16
      return checkCount(text.unicodeScalars.count, minimum, maximum, "Length", "characters")
    case .pattern(let pattern):
      if Withheld.isIn(text) { return unknown(.withheld) }
      stepsLeft -= text.utf8.count / 16
      guard let isFound = pattern.isFound(in: text) else { return unknown(.limit) }
      return answer(
        isFound, "pattern",
        "\(Wording.of(.string(text))) does not have the form /\(pattern.text.prefix(utf8Bytes: 200))/"
      )
    default: return .yes
    }
  }

  private mutating func check(_ keyword: SchemaKeyword, _ number: JSONNumber) -> Trilean {
    switch keyword {
    case .bound(let keyword, let bound, let boundNumber):
      let order = Decimal(number).compare(to: bound)
      let (holds, what) =
        switch keyword {
        case "minimum": (order >= 0, "at least")
        case "exclusiveMinimum": (order > 0, "more than")
        case "maximum": (order <= 0, "at most")
        default: (order < 0, "less than")
        }
      return answer(
        holds, keyword,
        "\(Wording.of(.number(number))) is not \(what) \(Wording.of(.number(boundNumber)))")
    case .multipleOf(let divisor, let divisorNumber):
      return answer(
        Decimal(number).isMultiple(of: divisor) ?? true, "multipleOf",
        "\(Wording.of(.number(number))) is no multiple of \(Wording.of(.number(divisorNumber)))")
    default: return .yes
    }
  }

  // MARK: What other keywords have looked at

  /// Which keys a schema's other keywords speak of (the annotations of JSON Schema, worked out anew
  /// where a schema asks for them), in the order of the object.
  private mutating func evaluatedKeys(of number: Int, _ object: JSONObject) -> [Bool] {
    var flags = [Bool](repeating: false, count: object.count)
    for keyword in schema.nodes[number] {
      switch keyword {
      case .properties(let properties, let patterns, let additional):
        for (index, member) in object.enumerated() {
          if additional != nil || Self.schema(of: member.key, in: properties) != nil
            || patterns.contains(where: { $0.0.isFound(in: member.key) == true })
          {
            flags[index] = true
          }
        }
      case .dependentSchemas(let dependencies):
        for (key, schema) in dependencies where object[key] != nil {
          Self.join(keysIfValid(schema, object), into: &flags)
        }
      case .unevaluatedProperties: break
      default:
        for schema in inPlace(keyword, .object(object)) {
          Self.join(keysIfValid(schema, object), into: &flags)
        }
      }
    }
    return flags
  }

  private static func join(_ more: [Bool], into flags: inout [Bool]) {
    for (index, flag) in more.enumerated() where flag { flags[index] = true }
  }

  private mutating func keysIfValid(_ number: Int, _ object: JSONObject) -> [Bool] {
    guard enter(), silently(number, .object(object)) == .yes else { return [] }
    depth += 1
    defer { depth -= 1 }
    let speaksOfAll = schema.nodes[number].contains {
      if case .unevaluatedProperties = $0 { true } else { false }
    }
    return speaksOfAll
      ? [Bool](repeating: true, count: object.count) : evaluatedKeys(of: number, object)
  }

  private mutating func evaluatedItems(of number: Int, _ elements: [JSONValue]) -> [Bool] {
    var flags = [Bool](repeating: false, count: elements.count)
    for keyword in schema.nodes[number] {
      switch keyword {
      case .items(let prefix, let rest, _):
        for index in elements.indices where rest != nil || index < prefix.count {
          flags[index] = true
        }
      case .contains(let schema, _, _):
        for index in elements.indices where silently(schema, elements[index]) == .yes {
          flags[index] = true
        }
      case .unevaluatedItems: break
      default:
        for schema in inPlace(keyword, .array(elements)) {
          Self.join(itemsIfValid(schema, elements), into: &flags)
        }
      }
    }
    return flags
  }

  private mutating func itemsIfValid(_ number: Int, _ elements: [JSONValue]) -> [Bool] {
    guard enter(), silently(number, .array(elements)) == .yes else { return [] }
    depth += 1
    defer { depth -= 1 }
    let speaksOfAll = schema.nodes[number].contains {
      if case .unevaluatedItems = $0 { true } else { false }
    }
    return speaksOfAll
      ? [Bool](repeating: true, count: elements.count) : evaluatedItems(of: number, elements)
  }

  private mutating func enter() -> Bool {
    stepsLeft -= 1
    guard stepsLeft >= 0, depth < Self.depthLimit else {
      stepsLeft = -1
      _ = unknown(.limit)
      return false
    }
    return true
  }

  /// The schemas that a keyword applies to the same value.
  private mutating func inPlace(_ keyword: SchemaKeyword, _ value: JSONValue) -> [Int] {
    switch keyword {
    case .reference(let target): return [target]
    case .allOf(let schemas), .anyOf(let schemas), .oneOf(let schemas): return schemas
    case .conditional(let condition, let then, let otherwise):
      return silently(condition, value) == .yes
        ? [condition] + (then.map { [$0] } ?? []) : otherwise.map { [$0] } ?? []
    default: return []
    }
  }
}
