import AgentTrace

/// What the schemas of outputs say of one value, each with what the value is, in a sentence.
extension JSONValue {
  static func text(_ note: String) -> JSONValue {
    ["type": "string", "description": .string(note)]
  }

  static func flag(_ note: String) -> JSONValue {
    ["type": "boolean", "description": .string(note)]
  }

  /// One that is there only where it is true.
  static func yes(_ note: String) -> JSONValue { ["const": true, "description": .string(note)] }

  static func decimal(_ note: String) -> JSONValue {
    ["type": "number", "description": .string(note)]
  }

  static func whole(_ note: String) -> JSONValue {
    ["type": "integer", "description": .string(note)]
  }

  static func whole(from minimum: Int, _ note: String) -> JSONValue {
    ["type": "integer", "minimum": JSONValue(minimum), "description": .string(note)]
  }

  static func count(_ note: String) -> JSONValue { whole(from: 0, note) }

  static func list(of items: JSONValue, _ note: String) -> JSONValue {
    ["type": "array", "items": items, "description": .string(note)]
  }

  static func word(of words: JSONValue, _ note: String) -> JSONValue {
    ["enum": words, "description": .string(note)]
  }

  static func mapping(_ note: String) -> JSONValue {
    ["type": "object", "description": .string(note)]
  }

  /// One that is described elsewhere in the schema.
  static func part(_ name: String, _ note: String) -> JSONValue {
    ["$ref": .string("#/$defs/\(name)"), "description": .string(note)]
  }
}
