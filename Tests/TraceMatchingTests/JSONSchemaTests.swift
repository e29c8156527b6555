import AgentTrace
import Testing
import TraceMatching

private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

@Suite("JSON Schema")
struct JSONSchemaTests {
  /// A schema, values that are valid, and values that are not.
  struct Row: Sendable, CustomTestStringConvertible {
    var schema: String
    var valid: [String]
    var invalid: [String]
    var testDescription: String { schema }
    init(_ schema: String, _ valid: [String], _ invalid: [String]) {
      (self.schema, self.valid, self.invalid) = (schema, valid, invalid)
    }
  }

  static let rows = [
    Row("true", ["null", "{}"], []), Row("false", [], ["null", "{}"]), Row("{}", ["1"], []),
    Row(#"{"type":"integer"}"#, ["1", "1.0", "1e3", "-0"], ["1.5", "\"1\"", "null", "true"]),
    Row(#"{"type":"number"}"#, ["1", "1.5"], ["\"1\"", "false"]),
    Row(#"{"type":["string","null"]}"#, ["\"\"", "null"], ["0", "{}"]),
    Row(#"{"type":"object"}"#, ["{}"], ["[]"]), Row(#"{"type":"array"}"#, ["[]"], ["{}"]),
    Row(#"{"type":"boolean"}"#, ["true"], ["0", "1", "\"true\""]),
    Row(
      #"{"enum":[1,"a",{"b":[1]}]}"#, ["1.0", "\"a\"", #"{"b":[1.0]}"#],
      ["2", "\"A\"", #"{"b":[1],"c":1}"#]),
    Row(#"{"enum":[false]}"#, ["false"], ["0", "null"]),
    Row(#"{"enum":[[0]]}"#, ["[0.0]"], ["[false]"]),
    Row(#"{"const":{"a":1}}"#, [#"{"a":1e0}"#], ["{}", #"{"a":1,"b":2}"#]),
    Row(#"{"const":null}"#, ["null"], ["0"]),
    Row(
      #"{"properties":{"a":{"type":"string"}}}"#, ["{}", #"{"a":"x","b":1}"#, "[]", "1"],
      [#"{"a":1}"#]),
    Row(#"{"required":["a","b"]}"#, [#"{"a":null,"b":1}"#, "[]"], ["{}", #"{"a":1}"#]),
    Row(#"{"properties":{"a":{"required":true}}}"#, ["{}"], []),
    Row(
      #"{"properties":{"a":true},"additionalProperties":false}"#, ["{}", #"{"a":1}"#], [#"{"b":1}"#]
    ),
    Row(#"{"additionalProperties":{"type":"integer"}}"#, [#"{"a":1}"#], [#"{"a":"x"}"#]),
    Row(
      #"{"patternProperties":{"^n_":{"type":"number"}},"additionalProperties":false}"#,
      [#"{"n_a":1}"#], [#"{"n_a":"x"}"#, #"{"m":1}"#]),
    Row(
      #"{"properties":{"foo":{"maxLength":1}},"patternProperties":{"f.o":{"minLength":1}}}"#,
      [#"{"foo":"a"}"#], [#"{"foo":""}"#, #"{"foo":"ab"}"#]),
    Row(#"{"propertyNames":{"maxLength":2}}"#, [#"{"ab":1}"#], [#"{"abc":1}"#]),
    Row(
      #"{"minProperties":1,"maxProperties":2}"#, [#"{"a":1}"#, "[]"],
      ["{}", #"{"a":1,"b":1,"c":1}"#]),
    Row(#"{"items":{"type":"integer"}}"#, ["[]", "[1,2]", "{}"], ["[1,\"a\"]"]),
    Row(#"{"items":false}"#, ["[]"], ["[1]"]),
    Row(
      #"{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}"#,
      ["[1]", "[1,\"a\"]"], ["[1,\"a\",2]", "[\"a\"]"]),
    Row(
      #"{"items":[{"type":"integer"}],"additionalItems":{"type":"string"}}"#, ["[1,\"a\"]"],
      ["[1,2]", "[\"a\"]"]),
    Row(#"{"contains":{"const":1}}"#, ["[2,1.0]", "{}"], ["[]", "[2]"]),
    Row(
      #"{"contains":{"const":1},"minContains":2,"maxContains":3}"#, ["[1,1]", "[1,1,1,2]"],
      ["[1]", "[1,1,1,1]"]),
    Row(#"{"contains":{"const":1},"minContains":0}"#, ["[]"], []),
    Row(#"{"minItems":1,"maxItems":2}"#, ["[1]"], ["[]", "[1,2,3]"]),
    Row(#"{"minItems":1.0}"#, ["[1]"], ["[]"]),
    Row(
      #"{"uniqueItems":true}"#,
      [
        "[1,2]", "[1,true]", "[0,false]", "[\"1\",1]", #"[{"a":1},{"a":2}]"#, "[[1],[[1]]]",
        #"["a,","a"]"#,
      ], ["[1,1.0]", #"[{"a":1,"b":2},{"b":2e0,"a":1}]"#, "[[1],[1.0]]", "[null,null]"]),
    Row(#"{"uniqueItems":false}"#, ["[1,1]"], []),
    Row(
      #"{"minLength":2,"maxLength":3}"#, ["\"ab\"", "\"😀😀\"", "1"], ["\"a\"", "\"😀\"", "\"abcd\""]),
    Row(#"{"pattern":"^a+$"}"#, ["\"aa\"", "1"], ["\"b\"", "\"aa\\n\""]),
    Row(#"{"pattern":"\\d"}"#, ["\"1\""], ["\"٣\""]),
    Row(#"{"format":"email"}"#, ["\"not an email\""], []),
    Row(#"{"minimum":1.1}"#, ["1.1", "2", "\"x\""], ["1.0999999999999999999999"]),
    Row(#"{"exclusiveMinimum":1,"exclusiveMaximum":3}"#, ["2"], ["1", "3.0"]),
    Row(#"{"maximum":-2}"#, ["-2.0", "-3"], ["-1"]),
    Row(#"{"minimum":1,"exclusiveMinimum":true}"#, ["1.5"], ["1"]),
    Row(#"{"maximum":1,"exclusiveMaximum":false}"#, ["1"], ["2"]),
    Row(#"{"multipleOf":2}"#, ["4", "0", "1e400", "-6", "\"x\""], ["7", "1.5"]),
    Row(#"{"multipleOf":0.01}"#, ["19.99", "0.07", "1e10", "35"], ["0.075", "0.0001"]),
    Row(#"{"multipleOf":0.123456789}"#, ["1.23456789", "0"], ["1e308", "1"]),
    Row(#"{"multipleOf":1e-8}"#, ["12391239123", "1e308"], ["1e-9"]),
    Row(
      #"{"multipleOf":999999999999999999}"#, ["999999999999999999e5", "1999999999999999998"],
      ["1999999999999999999", "1e30"]),
    Row(#"{"allOf":[{"minimum":1},{"maximum":3}]}"#, ["2"], ["0", "4"]),
    Row(#"{"allOf":[true,false]}"#, [], ["1"]),
    Row(#"{"anyOf":[{"type":"integer"},{"minimum":2}]}"#, ["1", "2.5"], ["1.5"]),
    Row(#"{"oneOf":[{"type":"integer"},{"minimum":2}]}"#, ["1", "2.5"], ["3", "1.5"]),
    Row(#"{"oneOf":[true,true]}"#, [], ["1"]),
    Row(#"{"not":{"type":"integer"}}"#, ["\"a\""], ["1"]), Row(#"{"not":{}}"#, [], ["1"]),
    Row(#"{"not":{"not":{}}}"#, ["1"], []),
    Row(
      #"{"if":{"exclusiveMaximum":0},"then":{"minimum":-10},"else":{"multipleOf":2}}"#,
      ["-1", "4"], ["-100", "3"]),
    Row(#"{"if":false,"then":false}"#, ["1"], []), Row(#"{"then":false}"#, ["1"], []),
    Row(
      #"{"dependentRequired":{"a":["b"]}}"#, ["{}", #"{"b":1}"#, #"{"a":1,"b":1}"#], [#"{"a":1}"#]),
    Row(#"{"dependentSchemas":{"a":{"required":["b"]}}}"#, [#"{"b":1}"#], [#"{"a":1}"#]),
    Row(
      #"{"dependencies":{"a":["b"],"c":{"required":["d"]}}}"#, ["{}", #"{"a":1,"b":1}"#],
      [#"{"a":1}"#, #"{"c":1}"#]),
    Row(##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##, ["1"], ["\"a\""]),
    Row(
      ##"{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"type":"integer"}}}"##,
      ["1"], ["\"a\""]),
    Row(
      ##"{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"additionalProperties":false}"##,
      [#"{"next":{"next":{"v":1}}}"#], [#"{"next":{"next":{"w":1}}}"#]),
    Row(
      ##"{"$defs":{"a~b/c%d":{"type":"integer"}},"$ref":"#/$defs/a~0b~1c%25d"}"##, ["1"], ["\"\""]),
    Row(##"{"$defs":{"x":{"$anchor":"here","type":"integer"}},"$ref":"#here"}"##, ["1"], ["\"\""]),
    Row(
      #"{"$id":"https://example.org/s.json","$defs":{"x":{"type":"integer"}},"$ref":"https://example.org/s.json#/$defs/x"}"#,
      ["1"], ["\"\""]),
    Row(
      ##"{"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"type":"integer"}}}"##, ["1"], ["6", "1.5"]),
    Row(#"{"properties":{"$ref":{"type":"string"}}}"#, [#"{"$ref":"a"}"#], [#"{"$ref":1}"#]),
    Row(
      #"{"properties":{"a":true},"allOf":[{"properties":{"b":true}}],"unevaluatedProperties":false}"#,
      [#"{"a":1,"b":1}"#], [#"{"c":1}"#]),
    Row(
      #"{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true}}],"unevaluatedProperties":false}"#,
      [#"{"a":1}"#, #"{"b":1}"#], [#"{"a":2}"#]),
    Row(
      #"{"if":{"required":["a"]},"then":{"properties":{"a":true}},"unevaluatedProperties":false}"#,
      [#"{"a":1}"#], [#"{"b":1}"#]),
    Row(#"{"prefixItems":[true],"unevaluatedItems":false}"#, ["[1]"], ["[1,2]"]),
    Row(
      #"{"contains":{"type":"string"},"unevaluatedItems":{"type":"integer"}}"#, ["[\"a\",1]"],
      ["[\"a\",null]"]),
    Row(
      #"{"unknownKeyword":5,"title":"x","default":1,"examples":[],"$schema":"https://x.org","nullable":true}"#,
      ["1"], []),
  ]

  @Test("a schema takes what it should and refuses the rest", arguments: rows)
  func validates(row: Row) throws {
    let schema = try JSONSchema(compiling: json(row.schema))
    for value in row.valid { #expect(schema.validate(try json(value)) == [], "\(value)") }
    for value in row.invalid { #expect(schema.validate(try json(value)) != [], "\(value)") }
  }

  @Test(
    "a violation names the place, the keyword and what to do",
    arguments: [
      (
        #"{"properties":{"orderId":{"type":"string"}}}"#, #"{"orderId":5}"#, "/orderId", "type",
        "expected string, found 5"
      ),
      (#"{"required":["orderId"]}"#, "{}", "", "required", "the key “orderId” is missing"),
      (
        #"{"properties":{"orderId":true},"additionalProperties":false}"#, #"{"orderID":1}"#, "",
        "additionalProperties", "the key “orderID” is not allowed; did you mean “orderId”?"
      ),
      (
        #"{"items":{"enum":["red","green"]}}"#, #"["gren"]"#, "/0", "enum",
        #""gren" is none of ["red","green"]; did you mean “green”?"#
      ),
      (#"{"minimum":3}"#, "2", "", "minimum", "2 is not at least 3"),
      (#"{"maxItems":1}"#, "[1,2]", "", "maxItems", "2 items where at most 1 are allowed"),
      (
        #"{"anyOf":[{"properties":{"a":{"type":"string"}}}]}"#, #"{"a":1}"#, "/a", "type",
        "expected string, found 1"
      ),
    ])
  func violations(
    schema: String, value: String, pointer: String, keyword: String, message: String
  ) throws {
    let violation = SchemaViolation(
      pointer: try #require(JSONPointer(pointer)), keyword: keyword, message: message)
    #expect(try JSONSchema(compiling: json(schema)).validate(json(value)) == [violation])
  }

  @Test("every violation is told, up to a limit")
  func manyViolations() throws {
    let schema = try JSONSchema(
      compiling: json(#"{"required":["a","b"],"properties":{"c":{"type":"string"}}}"#))
    #expect(
      schema.validate(try json(#"{"c":1}"#)).map(\.keyword).sorted() == [
        "required", "required", "type",
      ])
    let items = try JSONSchema(compiling: json(#"{"items":{"type":"string"}}"#))
    let count = items.validate(.array(Array(repeating: 1, count: 1000))).count
    #expect(count == JSONSchema.violationLimit)
  }

  @Test(
    "a schema that cannot be used says why and where",
    arguments: [
      ("1", "", .notASchema), (#"{"properties":{"a":1}}"#, "/properties/a", .notASchema),
      (
        #"{"type":"strin"}"#, "/type",
        .badKeyword(
          "type", needs: "one or more of null, boolean, integer, number, string, array, object")
      ),
      (
        #"{"minLength":-1}"#, "/minLength",
        .badKeyword("minLength", needs: "a whole number that is not negative")
      ),
      (#"{"pattern":"("}"#, "/pattern", .badPattern(PatternError(code: .unclosedGroup, offset: 0))),
      (
        #"{"patternProperties":{"(":true}}"#, "/patternProperties",
        .badPattern(PatternError(code: .unclosedGroup, offset: 0))
      ),
      (##"{"$ref":"#/$defs/a"}"##, "/$ref", .unresolvedReference("#/$defs/a")),
      (##"{"$ref":"#nowhere"}"##, "/$ref", .unresolvedReference("#nowhere")),
      (#"{"items":{"$ref":"other.json"}}"#, "/items/$ref", .remoteReference("other.json")),
      (
        #"{"$ref":"https://example.org/x#/a"}"#, "/$ref",
        .remoteReference("https://example.org/x#/a")
      ), (#"{"$ref":1}"#, "/$ref", .badKeyword("$ref", needs: "a string")),
      (
        #"{"multipleOf":0}"#, "/multipleOf",
        .badKeyword("multipleOf", needs: "a number above 0 with at most 18 digits")
      ),
      (#"{"required":"a"}"#, "/required", .badKeyword("required", needs: "a list of strings")),
      (#"{"required":[1]}"#, "/required", .badKeyword("required", needs: "a list of strings")),
      (#"{"anyOf":{}}"#, "/anyOf", .badKeyword("anyOf", needs: "a list of schemas")),
      (#"{"enum":1}"#, "/enum", .badKeyword("enum", needs: "a list")),
      (
        #"{"properties":[]}"#, "/properties",
        .badKeyword("properties", needs: "an object of schemas")
      ), (#"{"minimum":"1"}"#, "/minimum", .badKeyword("minimum", needs: "a number")),
    ] as [(String, String, SchemaError.Code)])
  func bad(schema: String, pointer: String, code: SchemaError.Code) throws {
    let expected = SchemaError(code: code, pointer: try #require(JSONPointer(pointer)))
    #expect(throws: expected) { try JSONSchema(compiling: json(schema)) }
    #expect(!expected.description.isEmpty)
  }

  @Test(
    "a schema that goes round in circles or branches without end is given up, in time",
    arguments: [
      (##"{"$ref":"#"}"##, "1"),
      (##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##, "1"),
      (##"{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}"##, "1"),
      (##"{"not":{"$ref":"#"}}"##, "1"),
      (##"{"allOf":[{"$ref":"#"}],"unevaluatedProperties":false}"##, #"{"a":1}"#),
    ])
  func endless(schema: String, value: String) throws {
    let compiled = try JSONSchema(compiling: json(schema))
    #expect(compiled.validate(try json(value)).map(\.message) == ["too much work to check"])
  }

  @Test("a chain of ten thousand references compiles without deep recursion")
  func longChain() throws {
    var definitions = JSONObject()
    for index in 0..<10_000 {
      definitions["d\(index)"] = ["$ref": .string("#/$defs/d\(index + 1)")]
    }
    definitions["d10000"] = ["type": "integer"]
    let schema = try JSONSchema(
      compiling: ["$ref": "#/$defs/d0", "$defs": .object(definitions)])
    #expect(schema.validate(1).map(\.message) == ["too much work to check"])
  }

  @Test(
    "a value that is not there to be checked is neither valid nor told as a breach of a keyword")
  func lost() throws {
    let schema = try JSONSchema(compiling: json(#"{"properties":{"a":{"type":"string"}}}"#))
    let violations = schema.validate(["a": .lost("3/b")])
    #expect(violations.map(\.message) == ["not there to be checked"])
    #expect(violations.map(\.pointer.description) == ["/a"])
    #expect(schema.validate(["b": .lost("3/b")]) == [])
  }
}
