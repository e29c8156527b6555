/// What a value in an event is, as a JSON Schema says it.
///
/// The parts that several types share are named, and stand once in the schema; see ``parts``.
package struct DataShape: Sendable, ExpressibleByDictionaryLiteral {
  /// The schema, without what the key says that it stands under.
  package var schema: JSONObject

  private init(_ schema: JSONObject) { self.schema = schema }

  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    schema = JSONObject(elements)
  }

  package static let any = DataShape([:])
  package static let string: DataShape = ["type": "string"]
  package static let integer: DataShape = ["type": "integer"]
  package static let number: DataShape = ["type": "number"]
  package static let boolean: DataShape = ["type": "boolean"]
  package static let mapping: DataShape = ["type": "object"]

  /// One of these words.
  package static func words(_ words: [String]) -> DataShape { ["enum": JSONValue(words)] }

  /// A list of values that are all like this.
  package static func list(_ items: DataShape) -> DataShape {
    ["type": "array", "items": .object(items.schema)]
  }

  /// An object with these keys, and any others: newer versions add some.
  package static func object(_ keys: [DataKey]) -> DataShape { object("", keys) }

  /// The same, with a sentence that says what it is; none where that is empty.
  package static func object(_ summary: String, _ keys: [DataKey]) -> DataShape {
    var properties = JSONObject()
    var required: [String] = []
    for key in keys {
      if key.isRequired { required.append(key.name) }
      var property = key.shape.schema
      property["description"] = .string(key.note)
      properties[key.name] = .object(property)
    }
    var schema: JSONObject = ["type": "object", "properties": .object(properties)]
    if !required.isEmpty { schema["required"] = JSONValue(required) }
    if !summary.isEmpty { schema["description"] = .string(summary) }
    return DataShape(schema)
  }

  // MARK: Named parts

  /// The parts that shapes refer to, by name.
  package static let parts: [(name: String, shape: DataShape)] = [
    ("call", .proposedCall), ("tool", .toolDefinition), ("limits", .runLimits),
    ("totals", .runTotals), ("contextItem", .itemOfContext),
    ("text", ["type": ["string", "object"]]), ("count", ["type": "integer", "minimum": 0]),
  ]

  package static let call = part("call")
  package static let tool = part("tool")
  package static let limits = part("limits")
  package static let totals = part("totals")
  package static let contextItem = part("contextItem")
  /// A text that may have been cut, lost, or no UTF-8.
  package static let text = part("text")
  /// A number that is not negative.
  package static let count = part("count")

  private static func part(_ name: String) -> DataShape { ["$ref": .string("#/$defs/\(name)")] }
}

/// A key of an event's data.
package struct DataKey: Sendable {
  /// The key.
  package var name: String
  /// Whether it is always there.
  package var isRequired: Bool
  /// What stands under it.
  package var shape: DataShape
  /// What it says, in words.
  package var note: String

  /// A key that is always there has an `!` behind its name.
  init(_ name: String, _ shape: DataShape, _ note: String) {
    isRequired = name.hasSuffix("!")
    self.name = isRequired ? String(name.dropLast()) : name
    self.shape = shape
    self.note = note
  }

  /// The keys that say which task of a pipeline, and which element of it.
  static let node = [
    DataKey("task!", .string, "The task."),
    DataKey("element", .count, "Which element, of a task that runs for each of many."),
  ]
}
