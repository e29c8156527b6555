import AgentTrace

/// The schema of a line of a run log, references resolved; Docs/log-format.md says it in words.
///
/// Keys that it does not name are allowed everywhere, because newer versions add some.
enum EventSchema {
  /// An event or a mark.
  static var line: JSONObject {
    [
      "type": "object",
      "if": ["required": ["mark"]],
      "then": ["$ref": "#/$defs/mark"],
      "else": ["$ref": "#/$defs/event"],
      "$defs": .object(definitions),
    ]
  }

  private static var definitions: JSONObject {
    var definitions: JSONObject = ["event": event, "mark": mark]
    for part in DataShape.parts { definitions[part.name] = .object(part.shape.schema) }
    for kind in EventType.kinds {
      definitions[kind.type.rawValue] = .object(
        DataShape.object(kind.summary, kind.data.keys).schema)
    }
    return definitions
  }

  // MARK: Envelopes

  private static var event: JSONValue {
    [
      "type": "object", "required": ["seq", "step", "type", "runId", "t", "data"],
      "properties": [
        "seq": .part("count", "The event's number: from 0, without gaps."),
        "step": .part("count", "The step it belongs to: from 1; 0 for what precedes the first."),
        "type": .text(
          "What kind of fact it states: \(EventType.known.map(\.rawValue).alternatives)."),
        "runId": .text("The run it belongs to."),
        "time": .text("When it happened, in UTC, for people; nothing is ordered by it."),
        "t": .part("count", "Microseconds of active run time, pauses excluded."),
        "data": .mapping("What happened."),
      ],
      "allOf": .array(
        EventType.known.map(\.rawValue).map { name in
          [
            "if": ["properties": ["type": ["const": .string(name)]]],
            "then": ["properties": ["data": ["$ref": .string("#/$defs/\(name)")]]],
          ]
        }),
    ]
  }

  private static let mark: JSONValue = [
    "type": "object", "required": ["mark", "data"],
    "properties": [
      "mark": .text("seal, summary, checkpoint or gap: a line without a number."),
      "data": ["description": "What the mark says."],
    ],
  ]
}
