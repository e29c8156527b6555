import AgentTrace
import TraceMatching

/// Shows of two matchers that whatever meets one meets the other, without trying values at random.
///
/// What it says holds; what it does not say may hold all the same. A matcher that cannot be decided for a
/// value (one that was withheld, say) meets nothing.
struct MatcherProof {
  /// How many pairs may be looked at before it gives up.
  private var work = 20_000

  /// Whether each value, and each absence, that meets `strong` meets `weak`.
  ///
  /// - Parameter isText: whether what they are held against is a text or nothing: an answer.
  static func shows(_ strong: JSONValue, within weak: JSONValue, isText: Bool = false) -> Bool {
    var proof = MatcherProof()
    return proof.isWithin(strong, weak, isText: isText, depth: 0)
  }

  private mutating func isWithin(
    _ a: JSONValue, _ b: JSONValue, isText: Bool, depth: Int
  ) -> Bool {
    work -= 1
    guard work > 0, depth < 24 else { return false }
    if a.byValue == b.byValue { return true }
    if Self.isAny(b) { return !Self.takesAbsence(a) }
    if let values = Self.onlyValues(of: a) { return values.allSatisfy { Self.accepts(b, $0) } }
    if Self.isAbsent(a) { return Self.takesAbsence(b, surely: true) }
    let (partsA, partsB) = (Self.parts(of: a), Self.parts(of: b))
    if partsB.count > 1 || partsB[0] != b {
      return partsB.allSatisfy { isWithin(a, $0, isText: isText, depth: depth + 1) }
    }
    for name in ["$anyOf", "$oneOf"] {
      if let list = Self.only(name, of: a)?.arrayValue {
        return list.allSatisfy { isWithin($0, b, isText: isText, depth: depth + 1) }
      }
    }
    if let list = Self.only("$anyOf", of: b)?.arrayValue,
      list.contains(where: { isWithin(a, $0, isText: isText, depth: depth + 1) })
    {
      return true
    }
    // Exactly one may match: only of texts and whole numbers is it plain that no two do.
    if let list = Self.only("$oneOf", of: b)?.arrayValue, list.count == 1 || list.areDistinct,
      list.contains(where: { isWithin(a, $0, isText: isText, depth: depth + 1) })
    {
      return true
    }
    if let refused = Self.only("$not", of: b), areApart(a, refused, isText: isText, depth: depth) {
      return true
    }
    if partsA.count > 1 || partsA[0] != a {
      return partsA.contains { isWithin($0, b, isText: isText, depth: depth + 1) }
    }
    return isOneWithin(a, b, isText: isText, depth: depth)
  }

  /// Of two matchers that are one thing each.
  private mutating func isOneWithin(
    _ a: JSONValue, _ b: JSONValue, isText: Bool, depth: Int
  ) -> Bool {
    if let types = Self.only("$type", of: b), let kinds = Self.kinds(of: a) {
      return kinds.allSatisfy { Self.isType($0, among: types) }
    }
    if let left = Self.number(a), let right = Self.number(b) {
      return left.isUpper == right.isUpper && Self.reaches(left, beyond: right)
    }
    if case .array(let left) = a {
      if case .array(let right) = b {
        return left.count == right.count
          && zip(left, right).allSatisfy { isWithin($0, $1, isText: false, depth: depth + 1) }
      }
      if let wanted = Self.only("$contains", of: b), wanted.stringValue == nil {
        return left.contains { isWithin($0, wanted, isText: false, depth: depth + 1) }
      }
      return false
    }
    guard let left = a.objectValue, let right = b.objectValue else { return false }
    let (isPlainA, isPlainB) = (Self.isPlain(left), Self.isPlain(right))
    if isPlainA, isPlainB {
      return right.allSatisfy { member in
        left[member.key].map {
          isWithin($0, member.value, isText: false, depth: depth + 1)
        } ?? false
      }
    }
    guard !isPlainA, !isPlainB, let one = left.first, let other = right.first,
      one.key.hasSameUTF8(as: other.key)
    else { return false }
    return isOperandWithin(one.key, one.value, other.value, isText: isText, depth: depth)
  }

  private mutating func isOperandWithin(
    _ name: String, _ a: JSONValue, _ b: JSONValue, isText: Bool, depth: Int
  ) -> Bool {
    switch name {
    case "$not": return isWithin(b, a, isText: isText, depth: depth + 1)
    case "$length": return isWithin(a, b, isText: false, depth: depth + 1)
    case "$type":
      return (a.arrayValue ?? [a]).allSatisfy { type in
        type.stringValue.map { Self.isType($0, among: b) } ?? false
      }
    case "$contains":
      guard let part = a.stringValue, let wanted = b.stringValue else {
        return a.stringValue == nil && b.stringValue == nil
          && isWithin(a, b, isText: false, depth: depth + 1)
      }
      // Of a list it is an element that must be equal.
      return isText && (wanted.isEmpty || Array(part.utf8).contains(Array(wanted.utf8)))
    case "$glob": return GlobProof.shows(a, within: b)
    case "$subsetOf":
      guard let left = a.objectValue, let right = b.objectValue else { return false }
      return left.allSatisfy { right[$0.key]?.byValue == $0.value.byValue }
    case "$approx":
      guard let value = a["value"], let tolerance = a["tolerance"],
        value.byValue == b["value"]?.byValue, let other = b["tolerance"]
      else { return false }
      return Self.accepts(["$lte": other], tolerance)
    case "$schema": return SchemaProof.shows(a, within: b)
    default: return false
    }
  }

  // MARK: Nothing meets both

  /// Whether no value meets both, and absence not either.
  private mutating func areApart(
    _ a: JSONValue, _ b: JSONValue, isText: Bool, depth: Int
  ) -> Bool {
    work -= 1
    guard work > 0, depth < 24 else { return false }
    if let values = Self.onlyValues(of: a) { return values.allSatisfy { Self.refuses(b, $0) } }
    if let values = Self.onlyValues(of: b) { return values.allSatisfy { Self.refuses(a, $0) } }
    if let inner = Self.only("$not", of: a), isWithin(b, inner, isText: isText, depth: depth + 1) {
      return true
    }
    for (one, other) in [(a, b), (b, a)] {
      for name in ["$anyOf", "$oneOf"] {
        if let list = Self.only(name, of: one)?.arrayValue {
          return list.allSatisfy { areApart($0, other, isText: isText, depth: depth + 1) }
        }
      }
      let parts = Self.parts(of: one)
      if parts.count > 1 || parts[0] != one {
        return parts.contains { areApart($0, other, isText: isText, depth: depth + 1) }
      }
    }
    if let left = Self.number(a), let right = Self.number(b), left.isUpper != right.isUpper {
      let (upper, lower) = left.isUpper ? (left, right) : (right, left)
      let isClosed = upper.isClosed && lower.isClosed
      return Self.accepts([isClosed ? "$lt" : "$lte": lower.value], upper.value)
    }
    guard let left = Self.kinds(of: a), let right = Self.kinds(of: b) else { return false }
    return left.isDisjoint(with: right)
      && !(left.contains("integer") && right.contains("number"))
      && !(left.contains("number") && right.contains("integer"))
  }

  // MARK: What a matcher is

  private static func isPlain(_ object: JSONObject) -> Bool {
    !object.contains { $0.key.hasPrefix("$") }
  }

  /// The operand of a matcher that is this operator and nothing else.
  private static func only(_ name: String, of matcher: JSONValue) -> JSONValue? {
    guard let object = matcher.objectValue, object.count == 1 else { return nil }
    return object[name]
  }

  private static func isAny(_ matcher: JSONValue) -> Bool {
    only("$any", of: matcher)?.boolValue == true || only("$absent", of: matcher)?.boolValue == false
  }

  private static func isAbsent(_ matcher: JSONValue) -> Bool {
    only("$absent", of: matcher)?.boolValue == true
  }

  /// What must hold together; the matcher itself where it is one thing.
  private static func parts(of matcher: JSONValue) -> [JSONValue] {
    guard let object = matcher.objectValue, !isPlain(object) else { return [matcher] }
    if object.count > 1 { return object.map { .object([$0.key: $0.value]) } }
    if let list = object["$allOf"]?.arrayValue, !list.isEmpty { return list }
    return [matcher]
  }

  /// The values that a matcher takes, and no other; `nil` where they are not few.
  private static func onlyValues(of matcher: JSONValue, depth: Int = 0) -> [JSONValue]? {
    guard depth < 4 else { return nil }
    switch matcher {
    case .string, .number, .bool, .null: return [matcher]
    case .array(let elements):
      return elements.allSatisfy { $0.isScalar } ? [matcher] : nil
    case .object(let object) where object.count == 1:
      if let value = object["$exact"] { return [value] }
      if let value = object["$literal"], value.isScalar { return [value] }
      guard let list = (object["$anyOf"] ?? object["$oneOf"])?.arrayValue else { return nil }
      var values: [JSONValue] = []
      for element in list {
        guard let more = onlyValues(of: element, depth: depth + 1), values.count < 100 else {
          return nil
        }
        values += more
      }
      return values
    default: return nil
    }
  }

  /// A bound of numbers.
  private struct Bound {
    var value: JSONValue
    var isUpper: Bool
    var isClosed: Bool
  }

  private static func number(_ matcher: JSONValue) -> Bound? {
    guard let object = matcher.objectValue, object.count == 1, let member = object.first else {
      return nil
    }
    switch member.key {
    case "$gt": return Bound(value: member.value, isUpper: false, isClosed: false)
    case "$gte": return Bound(value: member.value, isUpper: false, isClosed: true)
    case "$lt": return Bound(value: member.value, isUpper: true, isClosed: false)
    case "$lte": return Bound(value: member.value, isUpper: true, isClosed: true)
    default: return nil
    }
  }

  /// Whether one bound, on the same side, lets through no more than another.
  private static func reaches(_ bound: Bound, beyond other: Bound) -> Bool {
    let mayBeEqual = other.isClosed || !bound.isClosed
    let name = bound.isUpper ? (mayBeEqual ? "$lte" : "$lt") : (mayBeEqual ? "$gte" : "$gt")
    return accepts(.object([name: other.value]), bound.value)
  }

  /// The types of what a matcher takes, as `$type` names them; `nil` where it may be any, or nothing.
  private static func kinds(of matcher: JSONValue) -> Set<String>? {
    switch matcher {
    case .array: return ["array"]
    case .object(let object):
      if isPlain(object) { return ["object"] }
      guard object.count == 1, let member = object.first else { return nil }
      switch member.key {
      case "$gt", "$gte", "$lt", "$lte", "$approx": return ["number"]
      case "$regex", "$glob", "$ignoreCase": return ["string"]
      case "$subsetOf": return ["object"]
      case "$type":
        let names = (member.value.arrayValue ?? [member.value]).compactMap(\.stringValue)
        return names.isEmpty ? nil : Set(names)
      default: return nil
      }
    default: return nil
    }
  }

  private static func isType(_ name: String, among types: JSONValue) -> Bool {
    (types.arrayValue ?? [types]).contains { type in
      guard let type = type.stringValue else { return false }
      return type.hasSameUTF8(as: name) || (name == "integer" && type == "number")
    }
  }

  // MARK: Trying one value

  /// Whether a matcher may take a value that is not there; or is sure to.
  private static func takesAbsence(_ matcher: JSONValue, surely: Bool = false) -> Bool {
    let answer = (try? Matcher(compiling: matcher, allowsOrigins: true))?.matches(nil)
    return surely ? answer == true : answer != false
  }

  private static func accepts(_ matcher: JSONValue, _ value: JSONValue) -> Bool {
    (try? Matcher(compiling: matcher, allowsOrigins: false))?.matches(value) == true
  }

  private static func refuses(_ matcher: JSONValue, _ value: JSONValue) -> Bool {
    (try? Matcher(compiling: matcher, allowsOrigins: false))?.matches(value) == false
  }
}

extension [JSONValue] {
  /// Whether no value equals two of them, as texts and whole numbers show.
  fileprivate var areDistinct: Bool {
    guard Set(map(\.byValue)).count == count else { return false }
    return allSatisfy { $0.stringValue != nil || $0.intValue != nil }
  }
}

extension JSONValue {
  fileprivate var isScalar: Bool {
    switch self {
    case .string, .number, .bool, .null: true
    default: false
    }
  }
}

/// Shows of two globs that one matches all that the other does.
enum GlobProof {
  static func shows(_ narrow: JSONValue, within wide: JSONValue) -> Bool {
    guard let narrow = narrow.stringValue, let wide = wide.stringValue else { return false }
    return shows(narrow, within: wide)
  }

  static func shows(_ narrow: String, within wide: String) -> Bool {
    if narrow.hasSameUTF8(as: wide) || wide.utf8.elementsEqual("*".utf8) { return true }
    guard let glob = try? Glob(wide), let other = try? Glob(narrow) else { return false }
    if let literal = other.literal { return glob.matches(literal) }
    // `ab*` is within `a*`.
    guard wide.hasSuffix("*"), narrow.hasSuffix("*"), Glob.isLiteral(String(wide.dropLast())),
      Glob.isLiteral(String(narrow.dropLast()))
    else { return false }
    return narrow.utf8.starts(with: wide.utf8.dropLast())
  }

  /// Whether some name may match both.
  static func mayShare(_ one: String, _ other: String) -> Bool {
    guard let left = try? Glob(one), let right = try? Glob(other) else { return true }
    switch (left.literal, right.literal) {
    case (let name?, _): return right.matches(name)
    case (_, let name?): return left.matches(name)
    default:
      // `a*` and `b*` share nothing.
      let (a, b) = (prefix(one), prefix(other))
      return a.utf8.starts(with: b.utf8) || b.utf8.starts(with: a.utf8)
    }
  }

  /// What each name begins with that the glob matches.
  private static func prefix(_ glob: String) -> String {
    String(glob.prefix { !"*?[]{}\\!".contains($0) })
  }
}

/// Shows of two JSON Schemas that one allows nothing that the other does not.
enum SchemaProof {
  /// Keywords that speak for themselves: to leave one out allows more.
  private static let alone: Set<String> = [
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
    "minProperties", "maxProperties", "required",
  ]
  /// Keywords that allow and refuse nothing.
  private static let silent: Set<String> = [
    "title", "description", "$comment", "examples", "default",
  ]

  static func shows(_ strong: JSONValue, within weak: JSONValue, depth: Int = 0) -> Bool {
    if strong.byValue == weak.byValue || weak == true { return true }
    guard depth < 16, let left = strong.objectValue, let right = weak.objectValue else {
      return false
    }
    let keys = Set((left.keys + right.keys).map(ByteText.init))
    return keys.allSatisfy { key in
      let (a, b) = (left[key.text], right[key.text])
      if a?.byValue == b?.byValue || silent.contains(key.text) { return true }
      if alone.contains(key.text) {
        guard let b else { return true }
        return a.map { isWithin(key.text, $0, b) } ?? false
      }
      guard key.text == "properties", let a = a?.objectValue, let b = b?.objectValue else {
        return false
      }
      // What is named here may be refused, or allowed, elsewhere for not being named.
      let names = Set((a.keys + b.keys).map(ByteText.init))
      guard
        names.count == a.count && names.count == b.count
          || !["additionalProperties", "unevaluatedProperties"].contains(where: {
            left[$0] != nil || right[$0] != nil
          })
      else { return false }
      return b.allSatisfy { member in
        a[member.key].map { shows($0, within: member.value, depth: depth + 1) } ?? false
      }
    }
  }

  private static func isWithin(_ name: String, _ a: JSONValue, _ b: JSONValue) -> Bool {
    func holds(_ matcher: String) -> Bool {
      (try? Matcher(compiling: .object([matcher: b])))?.matches(a) == true
    }
    switch name {
    case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
      return holds("$gte")
    case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
      return holds("$lte")
    case "enum": return includes(b, a)
    case "required": return includes(a, b)
    case "uniqueItems": return b.boolValue == false
    case "type":
      return (a.arrayValue ?? [a]).allSatisfy { type in
        (b.arrayValue ?? [b]).contains { $0 == type || ($0 == "number" && type == "integer") }
      }
    default: return false
    }
  }

  private static func includes(_ wide: JSONValue, _ narrow: JSONValue) -> Bool {
    guard let wide = wide.arrayValue, let narrow = narrow.arrayValue else { return false }
    let known = Set(wide.map(\.byValue))
    return narrow.allSatisfy { known.contains($0.byValue) }
  }
}
