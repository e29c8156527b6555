import AgentTrace

/// Turns a document into numbered schemas. Works off a queue, so that neither deep nesting nor long
/// chains of references recurse.
struct SchemaCompiler {
  private let root: JSONValue
  private var numbers: [JSONPointer: Int] = [:]
  private var queue: [(pointer: JSONPointer, value: JSONValue)] = []

  init(_ root: JSONValue) { self.root = root }

  mutating func compile() throws(SchemaError) -> [[SchemaKeyword]] {
    var nodes: [[SchemaKeyword]] = []
    _ = try number(of: root, at: JSONPointer())
    while nodes.count < queue.count {
      let (pointer, value) = queue[nodes.count]
      nodes.append(try keywords(of: value, at: pointer))
    }
    return nodes
  }

  private mutating func number(
    of value: JSONValue, at pointer: JSONPointer
  ) throws(SchemaError) -> Int {
    if let known = numbers[pointer] { return known }
    guard queue.count < JSONSchema.sizeLimit else {
      throw SchemaError(code: .tooLarge(limit: JSONSchema.sizeLimit), pointer: pointer)
    }
    queue.append((pointer, value))
    numbers[pointer] = queue.count - 1
    return queue.count - 1
  }

  // MARK: One schema

  private mutating func keywords(
    of value: JSONValue, at pointer: JSONPointer
  ) throws(SchemaError) -> [SchemaKeyword] {
    if let allows = value.boolValue { return allows ? [] : [.never] }
    guard let object = value.objectValue else {
      throw SchemaError(code: .notASchema, pointer: pointer)
    }
    var found: [SchemaKeyword] = []
    for name in ["$ref", "$dynamicRef", "$recursiveRef"] {
      if let text = object[name] {
        found.append(.reference(try reference(text, at: pointer.appending(name))))
      }
    }
    let reader = KeywordReader(object: object, pointer: pointer)
    try appendValues(reader, to: &found)
    try appendObjects(reader, to: &found)
    try appendArrays(reader, to: &found)
    try appendCombinations(reader, to: &found)
    return found
  }

  private func appendValues(
    _ reader: KeywordReader, to found: inout [SchemaKeyword]
  ) throws(SchemaError) {
    if let types = try reader.types("type") { found.append(.type(types)) }
    if let value = reader.object["enum"] {
      guard let values = value.arrayValue else { throw reader.bad("enum", "a list") }
      found.append(.enumeration(values))
    }
    if let value = reader.object["const"] { found.append(.constant(value)) }
    let (minLength, maxLength) = (try reader.count("minLength"), try reader.count("maxLength"))
    if minLength != nil || maxLength != nil {
      found.append(.length(minimum: minLength, maximum: maxLength))
    }
    if let value = reader.object["pattern"] {
      guard let text = value.stringValue else { throw reader.bad("pattern", "a string") }
      found.append(.pattern(try reader.pattern(text, "pattern")))
    }
    for (plain, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
      // In draft 4 the exclusive form was a truth value that changed the plain one.
      let isExclusive = reader.object[exclusive]?.boolValue
      if let number = try reader.number(plain) {
        found.append(
          .bound(keyword: isExclusive == true ? exclusive : plain, Decimal(number), number))
      }
      if isExclusive == nil, let number = try reader.number(exclusive) {
        found.append(.bound(keyword: exclusive, Decimal(number), number))
      }
    }
    if let number = try reader.number("multipleOf") {
      let divisor = Decimal(number)
      guard !divisor.isZero, !divisor.isNegative, divisor.digits.count <= 18 else {
        throw reader.bad("multipleOf", "a number above 0 with at most 18 digits")
      }
      found.append(.multipleOf(divisor, number))
    }
  }

  private mutating func appendObjects(
    _ reader: KeywordReader, to found: inout [SchemaKeyword]
  ) throws(SchemaError) {
    let properties = try schemas(in: "properties", reader)
    var patterns: [(Pattern, Int)] = []
    for (text, schema) in try schemas(in: "patternProperties", reader) ?? [] {
      patterns.append((try reader.pattern(text, "patternProperties"), schema))
    }
    let additional = try schema("additionalProperties", reader)
    if properties != nil || !patterns.isEmpty || additional != nil {
      found.append(.properties(properties ?? [], patterns: patterns, additional: additional))
    }
    // Draft 3 and 4 tools write `required: true` inside a property; it constrains nothing here.
    if let value = reader.object["required"], value.boolValue == nil {
      found.append(.required(try reader.strings(value, "required")))
    }
    if let names = try schema("propertyNames", reader) { found.append(.propertyNames(names)) }
    let (minimum, maximum) = (try reader.count("minProperties"), try reader.count("maxProperties"))
    if minimum != nil || maximum != nil {
      found.append(.propertyCount(minimum: minimum, maximum: maximum))
    }
    try appendDependencies(reader, to: &found)
    if let rest = try schema("unevaluatedProperties", reader) {
      found.append(.unevaluatedProperties(rest))
    }
  }

  private mutating func appendDependencies(
    _ reader: KeywordReader, to found: inout [SchemaKeyword]
  ) throws(SchemaError) {
    var needs: [(key: String, needs: [String])] = []
    var schemas: [(key: String, schema: Int)] = []
    // `dependencies` is both in one, as drafts up to 7 had it.
    for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
      guard let value = reader.object[keyword] else { continue }
      guard let members = value.objectValue else { throw reader.bad(keyword, "an object") }
      for member in members {
        if keyword != "dependentSchemas", member.value.arrayValue != nil {
          needs.append((member.key, try reader.strings(member.value, keyword)))
        } else if keyword == "dependentRequired" {
          throw reader.bad(keyword, "lists of strings")
        } else {
          let place = reader.pointer.appending(keyword).appending(member.key)
          schemas.append((member.key, try number(of: member.value, at: place)))
        }
      }
    }
    if !needs.isEmpty { found.append(.dependentRequired(needs)) }
    if !schemas.isEmpty { found.append(.dependentSchemas(schemas)) }
  }

  private mutating func appendArrays(
    _ reader: KeywordReader, to found: inout [SchemaKeyword]
  ) throws(SchemaError) {
    let hasOldTuple = reader.object["items"]?.arrayValue != nil
    let prefix = try list(hasOldTuple ? "items" : "prefixItems", reader) ?? []
    let restKeyword = hasOldTuple ? "additionalItems" : "items"
    let rest = try schema(restKeyword, reader)
    if !prefix.isEmpty || rest != nil {
      found.append(.items(prefix: prefix, rest: rest, restKeyword: restKeyword))
    }
    if let element = try schema("contains", reader) {
      found.append(
        .contains(
          element, minimum: try reader.count("minContains") ?? 1,
          maximum: try reader.count("maxContains")))
    }
    let (minimum, maximum) = (try reader.count("minItems"), try reader.count("maxItems"))
    if minimum != nil || maximum != nil {
      found.append(.itemCount(minimum: minimum, maximum: maximum))
    }
    if reader.object["uniqueItems"]?.boolValue == true { found.append(.uniqueItems) }
    if let rest = try schema("unevaluatedItems", reader) { found.append(.unevaluatedItems(rest)) }
  }

  private mutating func appendCombinations(
    _ reader: KeywordReader, to found: inout [SchemaKeyword]
  ) throws(SchemaError) {
    if let schemas = try list("allOf", reader) { found.append(.allOf(schemas)) }
    if let schemas = try list("anyOf", reader) { found.append(.anyOf(schemas)) }
    if let schemas = try list("oneOf", reader) { found.append(.oneOf(schemas)) }
    if let schema = try schema("not", reader) { found.append(.not(schema)) }
    if let condition = try schema("if", reader) {
      found.append(
        .conditional(
          condition, then: try schema("then", reader), otherwise: try schema("else", reader)))
    }
  }

  // MARK: Schemas within schemas

  private mutating func schema(
    _ keyword: String, _ reader: KeywordReader
  ) throws(SchemaError) -> Int? {
    guard let value = reader.object[keyword] else { return nil }
    return try number(of: value, at: reader.pointer.appending(keyword))
  }

  private mutating func list(
    _ keyword: String, _ reader: KeywordReader
  ) throws(SchemaError) -> [Int]? {
    guard let value = reader.object[keyword] else { return nil }
    guard let elements = value.arrayValue else { throw reader.bad(keyword, "a list of schemas") }
    var schemas: [Int] = []
    let place = reader.pointer.appending(keyword)
    for (index, element) in elements.enumerated() {
      schemas.append(try number(of: element, at: place.appending(String(index))))
    }
    return schemas
  }

  private mutating func schemas(
    in keyword: String, _ reader: KeywordReader
  ) throws(SchemaError) -> [(key: String, schema: Int)]? {
    guard let value = reader.object[keyword] else { return nil }
    guard let members = value.objectValue else { throw reader.bad(keyword, "an object of schemas") }
    var schemas: [(key: String, schema: Int)] = []
    let place = reader.pointer.appending(keyword)
    for member in members {
      schemas.append((member.key, try number(of: member.value, at: place.appending(member.key))))
    }
    return schemas
  }

  // MARK: References

  private mutating func reference(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(SchemaError) -> Int {
    guard let text = value.stringValue else {
      throw SchemaError(code: .badKeyword("$ref", needs: "a string"), pointer: pointer)
    }
    let (base, fragment) = Self.split(text)
    if base.isEmpty || base == root["$id"]?.stringValue.map({ Self.split($0).base }) {
      guard let target = target(of: fragment), let schema = root[target] else {
        throw SchemaError(code: .unresolvedReference(text), pointer: pointer)
      }
      return try number(of: schema, at: target)
    }
    if fragment.isEmpty, let target = place(where: { $0["$id"]?.stringValue == base }),
      let schema = root[target]
    {
      return try number(of: schema, at: target)
    }
    throw SchemaError(code: .remoteReference(text), pointer: pointer)
  }

  private func target(of fragment: String) -> JSONPointer? {
    if fragment.isEmpty { return JSONPointer() }
    if fragment.hasPrefix("/") { return JSONPointer(fragment) }
    return place {
      $0["$anchor"]?.stringValue == fragment || $0["$dynamicAnchor"]?.stringValue == fragment
        || $0["$id"]?.stringValue == "#" + fragment
    }
  }

  /// The first object of the document, breadth first, of which something holds.
  private func place(where holds: (JSONObject) -> Bool) -> JSONPointer? {
    var found: [(JSONPointer, JSONValue)] = [(JSONPointer(), root)]
    var next = 0
    while next < found.count, next < JSONSchema.sizeLimit {
      let (pointer, value) = found[next]
      next += 1
      if let object = value.objectValue {
        if holds(object) { return pointer }
        for member in object { found.append((pointer.appending(member.key), member.value)) }
      }
      for (index, element) in (value.arrayValue ?? []).enumerated() {
        found.append((pointer.appending(String(index)), element))
      }
    }
    return nil
  }

  private static func split(_ text: String) -> (base: String, fragment: String) {
    guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "#")) else { return (text, "") }
    return (
      String(text[..<mark]), percentDecoded(Array(text.utf8[text.utf8.index(after: mark)...]))
    )
  }

  private static func percentDecoded(_ bytes: [UInt8]) -> String {
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let value = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
      {
        decoded.append(value)
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}

/// Reads the plain keywords of one schema object.
private struct KeywordReader {
  let object: JSONObject
  let pointer: JSONPointer

  func bad(_ keyword: String, _ needs: String) -> SchemaError {
    SchemaError(
      code: .badKeyword(keyword, needs: needs), pointer: pointer.appending(keyword))
  }

  func count(_ keyword: String) throws(SchemaError) -> Int? {
    guard let value = object[keyword] else { return nil }
    guard let count = value.intValue, count >= 0 else {
      throw bad(keyword, "a whole number that is not negative")
    }
    return count
  }

  func number(_ keyword: String) throws(SchemaError) -> JSONNumber? {
    guard let value = object[keyword] else { return nil }
    guard case .number(let number) = value else { throw bad(keyword, "a number") }
    return number
  }

  func strings(_ value: JSONValue, _ keyword: String) throws(SchemaError) -> [String] {
    guard let elements = value.arrayValue else { throw bad(keyword, "a list of strings") }
    var strings: [String] = []
    for element in elements {
      guard let text = element.stringValue else { throw bad(keyword, "a list of strings") }
      strings.append(text)
    }
    return strings
  }

  func types(_ keyword: String) throws(SchemaError) -> [JSONTypeName]? {
    guard let value = object[keyword] else { return nil }
    var types: [JSONTypeName] = []
    for element in value.arrayValue ?? [value] {
      guard let type = element.stringValue.flatMap(JSONTypeName.init) else {
        throw bad(
          keyword, "one or more of " + JSONTypeName.allCases.map(\.rawValue).joined(separator: ", ")
        )
      }
      types.append(type)
    }
    return types
  }

  func pattern(_ text: String, _ keyword: String) throws(SchemaError) -> Pattern {
    do { return try Pattern(text, dialect: .ecmaScript) } catch {
      throw SchemaError(code: .badPattern(error), pointer: pointer.appending(keyword))
    }
  }
}
