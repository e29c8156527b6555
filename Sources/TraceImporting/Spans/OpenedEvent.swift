import AgentTrace

extension TraceSpan.Event {
  /// Where some write all that the event of a message says as one text of JSON: Azure's clients and Semantic Kernel for
  /// .NET in an attribute, Semantic Kernel for Python as the text of a log record.
  static let contents = ["gen_ai.event.content", "body"]

  /// With what such a text says as attributes of their own.
  var opened: Self {
    guard name.hasPrefix("gen_ai.") else { return self }
    var event = self
    for key in Self.contents {
      guard let told = attributes[key]?.stringValue.flatMap(JSONText.parse)?.objectValue else {
        continue
      }
      event.attributes[key] = nil
      for member in told where event.attributes[member.key] == nil {
        event.attributes[member.key] = member.value
      }
    }
    return event
  }

  /// Whether such a text is cut.
  var isCut: Bool { Self.contents.contains { JSONText.lacksEnd(attributes[$0]) } }
}
