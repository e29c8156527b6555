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
    Shape(["type": "string"]) { value, reader in
      if case .string(let text) = value { return text }
      reader.reportKind(of: value, expected: "text")
      return nil
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
        guard !text.hasPrefix("~/") else {
          reader.report(homeless)
          return nil
        }
        return reader.folder.resolve(text)
      }
      reader.report(
        value == "" ? "should not be empty" : "should be a path, not \(value.phrase)")
      return nil
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
    Shape(["type": "boolean"]) { value, reader in
      if case .bool(let flag) = value { return flag }
      reader.reportKind(of: value, expected: "true or false")
      return nil
    }
  }
}

extension Shape where Value == Int {
  /// A whole number within bounds.
  static func count(_ range: ClosedRange<Int>) -> Shape {
    Shape([
      "type": "integer", "minimum": JSONValue(range.lowerBound),
      "maximum": JSONValue(range.upperBound),
    ]) { value, reader in
      if let count = value.intValue, range.contains(count) { return count }
      reader.reportKind(
        of: value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
  }

  /// A whole number from 0 up; the upper end keeps sums of such numbers in range.
  static var count: Shape { count(0...1_000_000_000_000) }
}

extension Shape where Value == Double {
  /// A number from 0 up, with a fraction if need be; seconds, or money. The upper end keeps it in
  /// range when it is turned into microseconds.
  static var amount: Shape {
    Shape(["type": "number", "minimum": 0, "maximum": 1_000_000_000]) { value, reader in
      if let amount = value.doubleValue, (0...1_000_000_000).contains(amount) { return amount }
      reader.reportKind(of: value, expected: "a number from 0 to 1000000000")
      return nil
    }
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
        return value
      } catch {
        reader.report(
          "no usable JSON Schema: \(error.code.phrase)", deeper: Array(error.pointer, in: value))
        return nil
      }
    }
  }
}

extension Shape where Value == JSONObject {
  /// Any mapping.
  static var mapping: Shape {
    Shape(["type": "object"]) { value, reader in
      if case .object(let object) = value { return object }
      reader.reportKind(of: value, expected: "a mapping")
      return nil
    }
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

extension Shape where Value == Glob {
  /// A name, or a glob for many.
  static var glob: Shape {
    Shape<String>.name.map { text, reader in
      do throws(PatternError) {
        return try Glob(text)
      } catch {
        reader.report("no usable glob: \(error)")
        return nil
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
        reader.reportKind(of: value, expected: "a list")
        return nil
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
        reader.reportKind(of: value, expected: expected)
        return nil
      }
      var target = start()
      reader.read(object, into: &target, fields)
      return target
    }
  }
}
