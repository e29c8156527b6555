import AgentTrace
import TraceMatching

/// What a value in a file may be: how it is read, and how a JSON Schema says the same.
struct Shape<Value>: Sendable {
  /// The JSON Schema; made only when somebody asks for it.
  let schema: @Sendable () -> JSONValue
  /// Reads a value; `nil` after reporting what is wrong with it.
  let read: @Sendable (JSONValue, FieldReader) -> Value?

  init(
    _ schema: @autoclosure @escaping @Sendable () -> JSONValue,
    read: @escaping @Sendable (JSONValue, FieldReader) -> Value?
  ) {
    self.schema = schema
    self.read = read
  }

  /// A value that `take` makes something of; of any other is told what was `expected`.
  init(
    _ schema: @autoclosure @escaping @Sendable () -> JSONValue, expected: String,
    _ take: @escaping @Sendable (JSONValue) -> Value?
  ) {
    self.init(schema()) { value, reader in
      if let taken = take(value) { return taken }
      return reader.refuseKind(of: value, expected: expected)
    }
  }

  /// A shape whose value becomes something else, or is refused by `transform` with a report.
  func map<Other>(
    _ transform: @escaping @Sendable (Value, FieldReader) -> Other?
  ) -> Shape<Other> {
    let read = read
    return Shape<Other>(schema: schema) { value, reader in
      read(value, reader).flatMap { transform($0, reader) }
    }
  }

  private init(
    schema: @escaping @Sendable () -> JSONValue,
    read: @escaping @Sendable (JSONValue, FieldReader) -> Value?
  ) {
    self.schema = schema
    self.read = read
  }
}

// MARK: - Scalars

extension Shape where Value == String {
  /// Any text.
  static var text: Shape {
    Shape(["type": "string"], expected: "text") { $0.stringValue }
  }

  /// A text of which something holds.
  static func text(
    _ schema: @autoclosure @escaping @Sendable () -> JSONValue, expected: String,
    where holds: @escaping @Sendable (String) -> Bool
  ) -> Shape {
    Shape(schema(), expected: expected) { value in
      value.stringValue.flatMap { holds($0) ? $0 : nil }
    }
  }

  /// A text of at least one character.
  static var name: Shape {
    Shape(["type": "string", "minLength": 1]) { value, reader in
      if case .string(let text) = value, !text.isEmpty { return text }
      if case .number(let number) = value {
        reader.report("should be text, not a number", hint: "write \"\(number.token)\"")
      } else {
        reader.report(
          value == "" ? "should not be empty" : "should be text, not \(value.phrase)")
      }
      return nil
    }
  }

  /// What is said of a path that begins with `~/`: taken as it stands, it would lead to a folder of that name.
  static var homeless: String {
    "“~” is no home folder in a file; write the whole path, or ./~ for a folder of that name"
  }

  /// A path to another file, resolved against the folder of this one.
  static var path: Shape {
    Shape(["type": "string", "minLength": 1]) { value, reader in
      if case .string(let text) = value, !text.isEmpty, !text.utf8.contains(0) {
        guard !text.hasPrefix("~/") else { return reader.refuse(homeless) }
        return reader.folder.resolve(text)
      }
      return reader.refuse(
        value == "" ? "should not be empty" : "should be a path, not \(value.phrase)")
    }
  }

  /// A path to a file of a kind, remembered so that it can be looked at.
  static func path(to kind: FieldReader.Reference.Kind) -> Shape {
    path.map { file, reader in
      reader.refer(to: file, kind)
      return file
    }
  }

  /// One of some words.
  static func word(_ words: [String]) -> Shape {
    Shape(["type": "string", "enum": JSONValue(words)]) { value, reader in
      if case .string(let text) = value {
        if words.contains(where: { $0.hasSameUTF8(as: text) }) { return text }
        let nearest = Spelling.nearest(to: text, among: words)
        reader.report(
          "should be \(words.alternatives), not \(text.quoted)",
          hint: nearest.map { "did you mean “\($0)”?" })
      } else {
        reader.reportKind(of: value, expected: words.alternatives)
      }
      return nil
    }
  }
}

extension Shape where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the raw values of an enumeration.
  static var word: Shape {
    Shape<String>.word(Value.allCases.map(\.rawValue)).map { word, _ in Value(rawValue: word) }
  }
}

extension Shape where Value == Bool {
  /// `true` or `false`.
  static var flag: Shape {
    Shape(["type": "boolean"], expected: "true or false") { $0.boolValue }
  }
}

extension Shape where Value == Int {
  /// A whole number within bounds.
  static func count(_ range: ClosedRange<Int>) -> Shape {
    Shape(
      [
        "type": "integer", "minimum": JSONValue(range.lowerBound),
        "maximum": JSONValue(range.upperBound),
      ], expected: "a whole number from \(range.lowerBound) to \(range.upperBound)"
    ) { value in value.intValue.flatMap { range.contains($0) ? $0 : nil } }
  }

  /// A whole number from 0 up; the upper end keeps sums of such numbers in range.
  static var count: Shape { count(0...1_000_000_000_000) }
}

extension Shape where Value == Double {
  /// A number from 0 up, with a fraction if need be; seconds, or money. The upper end keeps it in
  /// range when it is turned into microseconds.
  static var amount: Shape {
    Shape(
      ["type": "number", "minimum": 0, "maximum": 1_000_000_000],
      expected: "a number from 0 to 1000000000"
    ) { value in value.doubleValue.flatMap { (0...1_000_000_000).contains($0) ? $0 : nil } }
  }

  /// A number of seconds above 0.
  static func seconds(atMost limit: Int) -> Shape {
    Shape(
      ["type": "number", "exclusiveMinimum": 0, "maximum": JSONValue(limit)],
      expected: "a number of seconds above 0, \(limit) at most"
    ) { value in value.doubleValue.flatMap { $0 > 0 && $0 <= Double(limit) ? $0 : nil } }
  }
}

// MARK: - Values as they are

extension Shape where Value == JSONValue {
  /// Anything.
  static var any: Shape {
    Shape([:]) { value, _ in value }
  }

  /// A JSON Schema, compiled to see that it can be.
  static var jsonSchema: Shape {
    Shape(["type": ["object", "boolean"]]) { value, reader in
      do throws(SchemaError) {
        _ = try JSONSchema(compiling: value)
        for slip in SchemaSlips(in: value).all {
          reader.report(
            "\(slip.key.quoted) is no keyword of JSON Schema and constrains nothing",
            hint: "did you mean “\(slip.keyword)”?", as: .warning, at: .key,
            deeper: Array(slip.pointer, in: value))
        }
        return value
      } catch {
        return reader.refuse(
          "no usable JSON Schema: \(error.code.phrase)", deeper: Array(error.pointer, in: value))
      }
    }
  }
}

extension Shape where Value == JSONObject {
  /// Any mapping.
  static var mapping: Shape {
    Shape(["type": "object"], expected: "a mapping") { $0.objectValue }
  }
}

extension Shape where Value == Matcher {
  /// A matcher; see Docs/matchers.md.
  static var matcher: Shape { matcher(origins: .nothing) }

  /// A matcher in which `$from` has a meaning.
  static func matcher(origins: Matcher.OriginScope) -> Shape {
    Shape(["$ref": "#/$defs/matcher"]) { value, reader in
      do throws(MatcherError) {
        let matcher = try Matcher(compiling: value, origins: origins)
        try matcher.refuseContradictions()
        return matcher
      } catch {
        reader.report(error, in: value)
        return nil
      }
    }
  }
}

extension Shape where Value == Matcher {
  /// A matcher on what is always made of these names: one that asks for another asks for what is never there.
  static func matcher(on names: [String]) -> Shape {
    let plain = Shape.matcher
    return Shape(["$ref": "#/$defs/matcher"]) { value, reader in
      for key in value.objectValue?.map(\.key) ?? []
      where !key.hasPrefix("$") && !names.contains(key) {
        let nearest = Spelling.nearest(to: key, among: names)
        reader.report(
          "\(key.quoted) is never there to be looked at",
          hint: nearest.map { "did you mean “\($0)”?" }
            ?? "known here: \(names.joined(separator: ", "))",
          as: .warning, at: .key, deeper: [.key(key)])
      }
      return plain.read(value, reader)
    }
  }
}

extension Shape where Value == Glob {
  /// A name, or a glob for many.
  static var glob: Shape {
    Shape<String>.name.map { text, reader in
      do throws(PatternError) {
        return try Glob(text)
      } catch {
        return reader.refuse("no usable glob: \(error)")
      }
    }
  }
}

// MARK: - Collections

extension Shape {
  /// A list of things of one shape.
  static func list<Element>(of element: Shape<Element>, atLeast minimum: Int = 0) -> Shape
  where Value == [Element] {
    Shape(
      JSONValue.object(
        JSONObject(
          [
            ("type", "array"), ("items", element.schema()),
            minimum > 0 ? ("minItems", JSONValue(minimum)) : nil,
          ].compactMap { $0 }))
    ) { value, reader in
      guard case .array(let elements) = value else {
        return reader.refuseKind(of: value, expected: "a list")
      }
      if elements.count < minimum { reader.report("should not be empty") }
      return elements.enumerated().compactMap { index, value in
        reader.within(.index(index)) { element.read(value, reader) }
      }
    }
  }

  /// One thing, or a list of them that is not empty.
  static func oneOrMore<Element>(of element: Shape<Element>) -> Shape where Value == [Element] {
    let list = Shape.list(of: element, atLeast: 1)
    return Shape(["anyOf": [element.schema(), list.schema()]]) { value, reader in
      if case .array = value { return list.read(value, reader) }
      return element.read(value, reader).map { [$0] }
    }
  }

  /// A mapping from names to things, of which `read` makes each, or reports what is wrong with it.
  static func members<Element>(
    _ schema: @autoclosure @escaping @Sendable () -> JSONValue, expected: String = "a mapping",
    _ read: @escaping @Sendable (JSONObject.Member, FieldReader) -> Element?
  ) -> Shape where Value == [Element] {
    Shape(schema()) { value, reader in
      guard case .object(let object) = value else {
        return reader.refuseKind(of: value, expected: expected)
      }
      return object.compactMap { member in
        reader.within(.key(member.key)) { read(member, reader) }
      }
    }
  }

  /// A mapping with known keys.
  ///
  /// - Parameters:
  ///   - start: What the keys are read into.
  ///   - constraints: What the schema says beside its keys.
  static func record(
    _ start: @autoclosure @escaping @Sendable () -> Value, _ fields: [Field<Value>],
    expected: String = "a mapping", constraints: JSONObject = [:]
  ) -> Shape {
    Shape(.object(FileSchema.object(fields, constraints: constraints))) { value, reader in
      guard case .object(let object) = value else {
        return reader.refuseKind(of: value, expected: expected)
      }
      var target = start()
      reader.read(object, into: &target, fields)
      return target
    }
  }
}
