extension EventType {
  /// Of a task that runs for each of many it is known how many.
  public static let taskExpanded = EventType(rawValue: "task_expanded")
}

/// The data of a `task_expanded` event: of a task that runs for each of many it is known how many.
public struct TaskExpanded: Sendable, Hashable {
  /// The task's id.
  public var task: String
  /// How many elements it has.
  public var elements: Int

  /// Both.
  public init(task: String, elements: Int) {
    self.task = task
    self.elements = elements
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    task = try reader.string("task")
    elements = try reader.int("elements")
    if elements < 0 { throw reader.error("elements", "a whole number from 0") }
  }

  /// The wire form.
  public var encoded: JSONObject { ["task": .string(task), "elements": JSONValue(elements)] }
}

extension TaskExpanded: EventData {
  package static var keys: [DataKey] {
    [DataKey("task!", .string, "The task."), DataKey("elements!", .count, "How many.")]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("fan-out", .faint, "\(task): \(Figures.count(elements, "element"))")]
  }
}
