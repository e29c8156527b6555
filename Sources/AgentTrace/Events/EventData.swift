/// All that the program knows of the data of one type of event, in the file that they stand in.
///
/// Adding a type is such a file in `Kinds/`, with its name, and beside each other its row in ``EventType/kinds`` and its
/// case in ``EventPayload``. No requirement has a default, so that the compiler names whatever a new one lacks.
package protocol EventData: Sendable, Hashable {
  /// Reads the wire form; throws for the first key that is missing or of another kind.
  init(decoding object: JSONObject) throws(PayloadError)
  /// The wire form.
  var encoded: JSONObject { get }
  /// What the wire form holds, as the JSON Schema of logs says it.
  static var keys: [DataKey] { get }
  /// The lines that tell people of it; none where those of other events do.
  func lines(in event: Event) -> [EventLine]
}

/// A type of event with what is known of it.
package struct EventKind: Sendable {
  /// The name in a log.
  package var type: EventType
  /// What it states, in a sentence.
  package var summary: String
  /// What its data are.
  package var data: any EventData.Type

  init(_ type: EventType, _ data: any EventData.Type, _ summary: String) {
    self.type = type
    self.summary = summary
    self.data = data
  }
}
