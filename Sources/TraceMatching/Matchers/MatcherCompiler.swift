import AgentTrace

/// Turns a JSON value into a matcher, or says where it is none.
struct MatcherCompiler {
  private let origins: Matcher.OriginScope
  private(set) var usesOrigins = false
  private var size = 0

  init(origins: Matcher.OriginScope) { self.origins = origins }

  private mutating func count(at pointer: JSONPointer, depth: Int) throws(MatcherError) {
    guard depth <= Matcher.depthLimit else {
      throw MatcherError(code: .tooDeep(limit: Matcher.depthLimit), pointer: pointer)
    }
    size += 1
    guard size <= Matcher.sizeLimit else {
      throw MatcherError(code: .tooLarge(limit: Matcher.sizeLimit), pointer: pointer)
    }
  }

  mutating func compile(
    _ value: JSONValue, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> MatcherNode {
    try count(at: pointer, depth: depth)
    switch value {
    case .array(let elements):
      return .array(try compile(elements, at: pointer, depth: depth))
    case .object(let object):
      if object.contains(where: { $0.key.utf8.first == UInt8(ascii: "$") }) {
        return try compile(operators: object, at: pointer, depth: depth)
      }
      var members: [(key: String, node: MatcherNode)] = []
      for member in object {
        let node = try compile(
          member.value, at: pointer.appending(member.key), depth: depth + 1)
        members.append((member.key, node))
      }
      return .object(members)
    case .number(let number): return .scalar(value, Decimal(number))
    default: return .scalar(value, nil)
    }
  }

  private mutating func compile(
    _ elements: [JSONValue], at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> [MatcherNode] {
    var nodes: [MatcherNode] = []
    for (index, element) in elements.enumerated() {
      nodes.append(
        try compile(element, at: pointer.appending(String(index)), depth: depth + 1))
    }
    return nodes
  }

  private mutating func compile(
    operators object: JSONObject, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> MatcherNode {
    var nodes: [MatcherNode] = []
    for member in object where member.key.utf8.first == UInt8(ascii: "$") {
      let place = pointer.appending(member.key)
      guard let name = MatcherOperator(rawValue: member.key) else {
        let nearest = Spelling.nearest(to: member.key, among: Matcher.operatorNames)
        throw MatcherError(
          code: .unknownOperator(member.key, nearest: nearest), pointer: place)
      }
      if let plain = object.first(where: { $0.key.utf8.first != UInt8(ascii: "$") }) {
        throw MatcherError(
          code: .mixedKeys(operator: member.key, key: plain.key), pointer: place)
      }
      nodes.append(try compile(name, member.value, at: place, depth: depth + 1))
    }
    return nodes.count == 1 ? nodes[0] : .allOf(nodes)
  }

  private mutating func compile(
    _ name: MatcherOperator, _ operand: JSONValue, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> MatcherNode {
    func bad(_ needs: String) -> MatcherError {
      MatcherError(code: .badOperand(operator: name.rawValue, needs: needs), pointer: pointer)
    }
    switch name {
    case .any:
      guard operand.boolValue == true else { throw bad("true") }
      return .any
    case .absent:
      guard let isAbsent = operand.boolValue else { throw bad("true or false") }
      return .absent(isAbsent)
    case .not: return .not(try compile(operand, at: pointer, depth: depth))
    case .oneOf, .allOf, .anyOf:
      guard let elements = operand.arrayValue, !elements.isEmpty else {
        throw bad("a list of at least one matcher")
      }
      let nodes = try compile(elements, at: pointer, depth: depth)
      return name == .oneOf ? .oneOf(nodes) : name == .allOf ? .allOf(nodes) : .anyOf(nodes)
    case .regex, .glob:
      guard let text = operand.stringValue else { throw bad("a string") }
      return try compile(name, pattern: text, at: pointer)
    case .greater, .greaterOrEqual, .less, .lessOrEqual:
      guard case .number(let number) = operand else { throw bad("a number") }
      return .compare(name, Decimal(number), number)
    case .approximate:
      guard let node = Self.approximate(operand) else {
        throw bad("a number, or {\"value\": number, \"tolerance\": number that is not negative}")
      }
      return node
    case .contains:
      let element = try compile(operand, at: pointer, depth: depth)
      return .contains(text: operand.stringValue.map { Array($0.utf8) }, element: element)
    case .length:
      guard Self.isLength(operand) else { throw bad("a whole number, or a matcher for one") }
      return .length(try compile(operand, at: pointer, depth: depth))
    case .type: return .type(try types(operand, at: pointer))
    case .schema:
      do { return .schema(try JSONSchema(compiling: operand)) } catch {
        throw MatcherError(
          code: .badSchema(error),
          pointer: JSONPointer(tokens: pointer.tokens + error.pointer.tokens))
      }
    case .ignoreCase:
      guard let text = operand.stringValue else {
        throw bad("a string; for a part of a text use {\"$regex\": \"(?i)…\"}")
      }
      return .ignoreCase(folded: CaseFolding.fold(text), text: text)
    case .exact:
      try measure(operand, at: pointer, depth: depth)
      return .exact(operand)
    case .literal: return try compile(literal: operand, at: pointer, depth: depth)
    case .subsetOf:
      guard let object = operand.objectValue else { throw bad("an object") }
      return .subsetOf(try compile(subset: object, at: pointer, depth: depth))
    case .from:
      guard origins != .nothing else {
        throw MatcherError(code: .misplaced(operator: name.rawValue), pointer: pointer)
      }
      usesOrigins = true
      return .from(try origin(operand, at: pointer))
    }
  }

  private mutating func origin(
    _ operand: JSONValue, at pointer: JSONPointer
  ) throws(MatcherError) -> Origin {
    func bad(_ needs: String) -> MatcherError {
      MatcherError(
        code: .badOperand(operator: MatcherOperator.from.rawValue, needs: needs), pointer: pointer)
    }
    if origins == .ownInput { return try ownInput(operand, bad) }
    let needs = "a tool and a path into its result, {\"tool\": \"lookup\", \"path\": \"/id\"}"
    guard let object = operand.objectValue, let tool = object["tool"]?.stringValue,
      let path = object["path"]?.stringValue
    else { throw bad(needs) }
    if let key = object.keys.first(where: { !Origin.keyNames.contains($0) }) {
      throw bad("\(needs), and perhaps input; not “\(key.prefix(utf8Bytes: 80))”")
    }
    guard let path = JSONPointer(path) else {
      throw bad("a path such as /orders/*/id, each of its steps behind a slash")
    }
    let glob: Glob
    do { glob = try Glob(tool) } catch {
      throw MatcherError(
        code: .badPattern(operator: MatcherOperator.from.rawValue, error), pointer: pointer)
    }
    var input: Matcher?
    if let value = object["input"] {
      do { input = try Matcher(compiling: value) } catch {
        throw MatcherError(
          code: error.code,
          pointer: JSONPointer(tokens: pointer.tokens + ["input"] + error.pointer.tokens))
      }
    }
    return Origin(tool: glob, path: path, input: input)
  }

  private func ownInput(
    _ operand: JSONValue, _ bad: (String) -> MatcherError
  ) throws(MatcherError) -> Origin {
    guard let object = operand.objectValue, object.count == 1,
      let path = object["path"]?.stringValue.flatMap(JSONPointer.init)
    else {
      throw bad(
        "a path into the input of the call that the rule is asked about, {\"path\": \"/id\"}")
    }
    return Origin(tool: nil, path: path)
  }

  private func compile(
    _ name: MatcherOperator, pattern text: String, at pointer: JSONPointer
  ) throws(MatcherError) -> MatcherNode {
    do {
      return name == .regex ? .regex(try Pattern(text)) : .glob(try Glob(text))
    } catch {
      throw MatcherError(
        code: .badPattern(operator: name.rawValue, error), pointer: pointer)
    }
  }

  private static func approximate(_ operand: JSONValue) -> MatcherNode? {
    switch operand {
    case .number(let number):
      let value = number.doubleValue
      guard value.isFinite else { return nil }
      let decimal = Decimal(number)
      return .approximate(
        decimal, within: decimal.magnitude(timesTenTo: -9), value: value,
        tolerance: value.magnitude * 1e-9)
    case .object(let object):
      guard object.count == 2, case .number(let number)? = object["value"],
        case .number(let tolerance)? = object["tolerance"], !Decimal(tolerance).isNegative,
        number.doubleValue.isFinite
      else { return nil }
      return .approximate(
        Decimal(number), within: Decimal(tolerance), value: number.doubleValue,
        tolerance: tolerance.doubleValue)
    default: return nil
    }
  }

  private static func isLength(_ operand: JSONValue) -> Bool {
    switch operand {
    case .number(let number): Decimal(number).isInteger && !Decimal(number).isNegative
    case .object(let object): object.contains { $0.key.utf8.first == UInt8(ascii: "$") }
    default: false
    }
  }

  private func types(
    _ operand: JSONValue, at pointer: JSONPointer
  ) throws(MatcherError) -> [JSONTypeName] {
    let names = operand.arrayValue ?? [operand]
    let known = JSONTypeName.allCases.map(\.rawValue)
    var types: [JSONTypeName] = []
    for value in names {
      guard let name = value.stringValue, let type = JSONTypeName(rawValue: name) else {
        let nearest = value.stringValue.flatMap { Spelling.nearest(to: $0, among: known) }
        throw MatcherError(
          code: .badOperand(
            operator: MatcherOperator.type.rawValue,
            needs: "one or more of \(known.joined(separator: ", "))"
              + (nearest.map { "; did you mean “\($0)”?" } ?? "")),
          pointer: pointer)
      }
      types.append(type)
    }
    guard !types.isEmpty else {
      throw MatcherError(
        code: .badOperand(
          operator: MatcherOperator.type.rawValue, needs: "at least one type"),
        pointer: pointer)
    }
    return types
  }

  /// A literal in which no key is an operator.
  private mutating func compile(
    literal value: JSONValue, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> MatcherNode {
    try count(at: pointer, depth: depth)
    switch value {
    case .array(let elements):
      var nodes: [MatcherNode] = []
      for (index, element) in elements.enumerated() {
        nodes.append(
          try compile(literal: element, at: pointer.appending(String(index)), depth: depth + 1))
      }
      return .array(nodes)
    case .object(let object):
      var members: [(key: String, node: MatcherNode)] = []
      for member in object {
        let node = try compile(
          literal: member.value, at: pointer.appending(member.key), depth: depth + 1)
        members.append((member.key, node))
      }
      return .object(members)
    case .number(let number): return .scalar(value, Decimal(number))
    default: return .scalar(value, nil)
    }
  }

  private mutating func compile(
    subset object: JSONObject, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) -> [(key: String, node: MatcherNode)] {
    var members: [(key: String, node: MatcherNode)] = []
    for member in object {
      let place = pointer.appending(member.key)
      if let inner = member.value.objectValue,
        inner.contains(where: { $0.key.utf8.first == UInt8(ascii: "$") })
      {
        members.append((member.key, try compile(member.value, at: place, depth: depth + 1)))
      } else {
        try measure(member.value, at: place, depth: depth + 1)
        members.append((member.key, .exact(member.value)))
      }
    }
    return members
  }

  /// Holds a value that is compared as it is to the limits of a matcher.
  private mutating func measure(
    _ value: JSONValue, at pointer: JSONPointer, depth: Int
  ) throws(MatcherError) {
    try count(at: pointer, depth: depth)
    switch value {
    case .array(let elements):
      for element in elements { try measure(element, at: pointer, depth: depth + 1) }
    case .object(let object):
      for member in object { try measure(member.value, at: pointer, depth: depth + 1) }
    default: break
    }
  }
}
