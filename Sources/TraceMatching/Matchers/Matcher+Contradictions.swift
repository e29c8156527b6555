import AgentTrace

extension Matcher {
  /// Refuses a matcher that asks several things of one value which none can meet together: numbers above 10 and below 5,
  /// two different texts, a text that is a number. Nothing would ever match it, so that whatever forbids it would hold
  /// for ever; below `$not` it would hold whatever is said.
  ///
  /// What is refused is refused for certain; not all that contradicts itself is found.
  ///
  /// - Throws: ``MatcherError`` with the place of what contradicts itself.
  /// - Complexity: O(size of the matcher · its depth).
  public func refuseContradictions() throws(MatcherError) {
    guard let place = Self.contradiction(in: source, at: JSONPointer()) else { return }
    throw MatcherError(code: .contradiction, pointer: place)
  }

  /// The innermost place that contradicts itself; `nil` where none was found.
  private static func contradiction(in value: JSONValue, at pointer: JSONPointer) -> JSONPointer? {
    switch value {
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        if let found = contradiction(in: element, at: pointer.appending(String(index))) {
          return found
        }
      }
      return nil
    case .object(let object):
      for member in object {
        let place = pointer.appending(member.key)
        if let part = matchers(in: member.key, member.value),
          let found = contradiction(in: part, at: place)
        {
          return found
        }
      }
      var demands = Demands()
      demands.add(value)
      return demands.areContradictory ? pointer : nil
    default: return nil
    }
  }

  /// What of a member is one matcher, or several; `nil` where it is none.
  private static func matchers(in key: String, _ value: JSONValue) -> JSONValue? {
    switch MatcherOperator(rawValue: key) {
    case nil, .not?, .oneOf?, .allOf?, .anyOf?, .contains?, .length?: value
    case .subsetOf?:
      // Of what stands beside operators nothing is one, whatever it is called.
      value.objectValue.map { object in
        .object(JSONObject(object.filter { holdsOperators($0.value) }.map { ($0.key, $0.value) }))
      }
    case .from?: value["input"].map { ["input": $0] }
    default: nil
    }
  }
}

/// Whether a value has a key that can only be an operator.
private func holdsOperators(_ value: JSONValue) -> Bool {
  value.objectValue?.contains { $0.key.utf8.first == UInt8(ascii: "$") } ?? false
}

/// What is asked of one value, all at once.
private struct Demands {
  private enum Kind: CaseIterable {
    case absent, null, boolean, number, string, array, object
  }

  /// What the value may be.
  private var kinds = Set(Kind.allCases)
  private var low, high: (bound: Decimal, isIncluded: Bool)?
  /// The text or truth value that it has to be.
  private var literal: JSONValue?
  /// How many elements it has to have.
  private var count: Int?
  /// What is asked of its length, and of its members.
  private var lengths: [JSONValue] = []
  private var members: [String: [JSONValue]] = [:]
  private var hasConflict = false

  var areContradictory: Bool {
    if hasConflict || kinds.isEmpty { return true }
    if let low, let high {
      let order = low.bound.compare(to: high.bound)
      if order > 0 || order == 0 && !(low.isIncluded && high.isIncluded) { return true }
    }
    if !lengths.isEmpty {
      var length = Demands()
      length.raise(to: Decimal(0), isIncluded: true)
      for demand in lengths { length.add(demand) }
      if length.areContradictory { return true }
    }
    // What is asked of a member in one place is looked at by itself.
    return members.contains { _, asked in
      guard asked.count > 1 else { return false }
      var member = Demands()
      for demand in asked { member.add(demand) }
      return member.areContradictory
    }
  }

  mutating func add(_ matcher: JSONValue) {
    switch matcher {
    case .array(let elements):
      allow([.array])
      hasConflict = hasConflict || count.map { $0 != elements.count } ?? false
      count = elements.count
    case .object(let object):
      if !holdsOperators(matcher) { allow([.object]) }
      for member in object {
        if let name = MatcherOperator(rawValue: member.key) {
          add(name, member.value)
        } else {
          members[member.key, default: []].append(member.value)
        }
      }
    default: add(value: matcher)
    }
  }

  private mutating func add(_ name: MatcherOperator, _ operand: JSONValue) {
    switch name {
    case .any: kinds.remove(.absent)
    case .absent:
      operand == true ? allow([.absent]) : allow(Set(Kind.allCases).subtracting([.absent]))
    case .allOf: for element in operand.arrayValue ?? [] { add(element) }
    case .anyOf, .oneOf: allow(Self.kinds(ofAny: operand.arrayValue ?? []))
    case .regex, .glob, .ignoreCase: allow([.string])
    case .greater, .greaterOrEqual, .less, .lessOrEqual:
      allow([.number])
      guard case .number(let number) = operand else { return }
      let isIncluded = name == .greaterOrEqual || name == .lessOrEqual
      if name == .greater || name == .greaterOrEqual {
        raise(to: Decimal(number), isIncluded: isIncluded)
      } else {
        lower(to: Decimal(number), isIncluded: isIncluded)
      }
    case .approximate: allow([.number])
    case .contains: allow([.string, .array])
    case .length:
      allow([.string, .array, .object])
      lengths.append(operand)
    case .type:
      let names = (operand.arrayValue ?? [operand]).compactMap(\.stringValue)
      allow(Set(names.compactMap { JSONTypeName(rawValue: $0).map(Self.kind(of:)) }))
    case .exact, .literal: add(value: operand)
    case .subsetOf: allow([.object])
    case .not, .schema, .from: break
    }
  }

  /// Asks for a value as it is.
  private mutating func add(value: JSONValue) {
    switch value {
    case .null: allow([.null])
    case .bool:
      allow([.boolean])
      hasConflict = hasConflict || literal.map { $0.boolValue != value.boolValue } ?? false
      literal = value
    case .number(let number):
      allow([.number])
      raise(to: Decimal(number), isIncluded: true)
      lower(to: Decimal(number), isIncluded: true)
    case .string(let text):
      allow([.string])
      let other = literal?.stringValue
      hasConflict = hasConflict || other.map { !$0.hasSameUTF8(as: text) } ?? false
      literal = value
    case .array: allow([.array])
    case .object: allow([.object])
    default: break
    }
  }

  private mutating func allow(_ some: Set<Kind>) { kinds.formIntersection(some) }

  private mutating func raise(to bound: Decimal, isIncluded: Bool) {
    let order = low.map { bound.compare(to: $0.bound) } ?? 1
    if order > 0 || order == 0 && !isIncluded { low = (bound, isIncluded) }
  }

  private mutating func lower(to bound: Decimal, isIncluded: Bool) {
    let order = high.map { bound.compare(to: $0.bound) } ?? -1
    if order < 0 || order == 0 && !isIncluded { high = (bound, isIncluded) }
  }

  private static func kinds(ofAny matchers: [JSONValue]) -> Set<Kind> {
    matchers.reduce(into: []) { kinds, matcher in
      var demands = Demands()
      demands.add(matcher)
      kinds.formUnion(demands.kinds)
    }
  }

  private static func kind(of type: JSONTypeName) -> Kind {
    switch type {
    case .null: .null
    case .boolean: .boolean
    case .integer, .number: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }
}
