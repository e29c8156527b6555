import AgentTrace
import TraceMatching

/// Keys of a JSON Schema that are likely slips in its keywords.
///
/// A key that no draft knows is an annotation, so that `propertis` is allowed and constrains nothing.
struct SchemaSlips {
  /// A key, and the keyword that was likely meant.
  struct Slip {
    /// Leads to the key.
    var pointer: JSONPointer
    var key: String
    var keyword: String
  }

  /// How many are told of one schema.
  private static let limit = 20

  private static let ofOne = [
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
  ]
  private static let ofMany = ["allOf", "anyOf", "items", "oneOf", "prefixItems"]
  private static let ofNamed = [
    "$defs", "definitions", "dependentSchemas", "patternProperties", "properties",
  ]
  private static let others = [
    "$ref", "const", "dependencies", "dependentRequired", "enum", "exclusiveMaximum",
    "exclusiveMinimum",
    "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems",
    "minLength", "minProperties", "minimum", "multipleOf", "pattern", "required", "type",
    "uniqueItems",
  ]
  private static let keywords = Set(ofOne + ofMany + ofNamed + others)
  /// Words so short that many others are near them are not guessed.
  private static let guessed = keywords.subtracting(["else", "if", "not", "then"])
  /// What constrains nothing and is none of the slips, some of it of OpenAPI.
  private static let annotations: Set = [
    "default", "deprecated", "description", "discriminator", "example", "examples",
    "externalDocs", "format", "id", "nullable", "readOnly", "title", "writeOnly", "xml",
  ]

  private(set) var all: [Slip] = []

  /// Looks where a schema stands, and nowhere else: names of properties are anybody's.
  ///
  /// - Parameter schema: nests no deeper than a file may.
  init(in schema: JSONValue) { look(at: schema, JSONPointer()) }

  private mutating func look(at schema: JSONValue, _ pointer: JSONPointer) {
    guard let object = schema.objectValue else { return }
    for member in object {
      guard all.count < Self.limit else { return }
      let place = pointer.appending(member.key)
      if !Self.keywords.contains(member.key) {
        tell(member.key, place)
      } else if Self.ofNamed.contains(member.key) {
        for named in member.value.objectValue ?? [:] {
          look(at: named.value, place.appending(named.key))
        }
      } else if Self.ofMany.contains(member.key), let elements = member.value.arrayValue {
        for (index, element) in elements.enumerated() {
          look(at: element, place.appending(String(index)))
        }
      } else if Self.ofOne.contains(member.key) {
        look(at: member.value, place)
      }
    }
  }

  private mutating func tell(_ key: String, _ place: JSONPointer) {
    guard !Self.annotations.contains(key), !key.hasPrefix("$"), !key.hasPrefix("x-"),
      let keyword = Spelling.nearest(to: key, among: Self.guessed)
    else { return }
    all.append(Slip(pointer: place, key: key, keyword: keyword))
  }
}
