public import AgentTrace

/// A JSON Schema: what a tool's input may be.
///
/// The vocabularies of Draft 2020-12 that constrain a value (core, applicator, unevaluated,
/// validation), and what older drafts wrote in their place (`definitions`, `dependencies`, lists as
/// `items`, `additionalItems`, truth values as `exclusiveMinimum`). `format` and unknown keywords are
/// annotations. References stay inside the document; `$dynamicRef` is read as `$ref`.
/// (https://json-schema.org/draft/2020-12; numbers are compared by exact decimal value, lengths count
/// Unicode scalars, patterns are ``Pattern``s of ECMA-262's classes.)
///
/// Why: Docs/decisions/0020-schemas-are-checked-in-three-values.md
public struct JSONSchema: Sendable {
  /// How many schemas one document may hold.
  public static let sizeLimit = 20_000
  /// How many violations are told of one value.
  public static let violationLimit = 50

  /// The schema as it was written.
  public let source: JSONValue
  let nodes: [[SchemaKeyword]]

  /// Compiles a schema.
  ///
  /// - Throws: ``SchemaError`` with a pointer into `source`.
  public init(compiling source: JSONValue) throws(SchemaError) {
    var compiler = SchemaCompiler(source)
    self.source = source
    nodes = try compiler.compile()
  }

  /// How a value breaks the schema: nothing where it is valid, else the first
  /// ``violationLimit`` violations in the order of the value.
  ///
  /// A value that is lost or cut where the schema looks is reported too, because it cannot be shown
  /// to be valid; one that was withheld is not, because it was there when it was made. Work is bounded by two million steps and 400 nested schemas, beyond which the value
  /// counts as invalid and the violation says so.
  public func validate(_ value: JSONValue) -> [SchemaViolation] {
    var check = SchemaCheck(self)
    switch check.run(value) {
    case .yes: return []
    case .no: return check.violations
    case .unknown where check.unknownReason == .withheld && !check.isOverBudget: return []
    case .unknown:
      return check.violations + [
        SchemaViolation(
          pointer: JSONPointer(tokens: check.unknownPath), keyword: "",
          message: check.unknownReason == .limit
            ? "too much work to check" : "not there to be checked")
      ]
    }
  }
}

extension JSONSchema: Hashable {
  public static func == (left: JSONSchema, right: JSONSchema) -> Bool {
    left.source == right.source
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// One compiled constraint. Schemas within it are numbers of ``JSONSchema/nodes``.
enum SchemaKeyword: Sendable {
  /// The schema `false`.
  case never
  case reference(Int)
  case type([JSONTypeName])
  case enumeration([JSONValue])
  case constant(JSONValue)
  case properties([(key: String, schema: Int)], patterns: [(Pattern, Int)], additional: Int?)
  case required([String])
  case propertyNames(Int)
  case propertyCount(minimum: Int?, maximum: Int?)
  case dependentRequired([(key: String, needs: [String])])
  case dependentSchemas([(key: String, schema: Int)])
  case items(prefix: [Int], rest: Int?, restKeyword: String)
  case contains(Int, minimum: Int, maximum: Int?)
  case itemCount(minimum: Int?, maximum: Int?)
  case uniqueItems
  case length(minimum: Int?, maximum: Int?)
  case pattern(Pattern)
  case bound(keyword: String, Decimal, JSONNumber)
  case multipleOf(Decimal, JSONNumber)
  case allOf([Int])
  case anyOf([Int])
  case oneOf([Int])
  case not(Int)
  case conditional(Int, then: Int?, otherwise: Int?)
  case unevaluatedProperties(Int)
  case unevaluatedItems(Int)
}
