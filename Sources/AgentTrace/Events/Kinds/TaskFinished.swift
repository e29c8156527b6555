extension EventType {
  /// A task, or an element of one, has its output.
  public static let taskFinished = EventType(rawValue: "task_finished")
}

/// The data of a `task_finished` event: a task, or an element of one, has its output.
public struct TaskFinished: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// The attempt that gave the output; 0 where none did.
  public var attempt: Int
  /// The output; `nil` for a fan-out as a whole, whose elements have theirs.
  public var output: JSONValue?
  /// Where the output came from, if not from an attempt: `substitute` or `person`.
  public var via: String?
  /// Of a fan-out as a whole, how many elements it had.
  public var elements: Int?
  /// How many parts came before.
  public var parts: Int?
  /// Whether the pipeline can be rolled back to here.
  public var isCheckpoint = false
  /// How long the attempt took.
  public var elapsedMicroseconds: Int?
  /// The run of its own that the attempt was.
  public var run: TaskRun?

  /// What is not given can be set afterwards.
  public init(node: TaskNode, attempt: Int, output: JSONValue? = nil, via: String? = nil) {
    self.node = node
    self.attempt = attempt
    self.output = output
    self.via = via
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    output = object["output"]
    via = try reader.optionalString("via")
    elements = try reader.optionalInt("elements")
    parts = try reader.optionalInt("parts")
    isCheckpoint = try reader.optionalBool("checkpoint") ?? false
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    run = try TaskRun(reader)
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("output", output), ("via", via.map(JSONValue.string)),
        ("elements", elements.map { JSONValue($0) }), ("parts", parts.map { JSONValue($0) }),
        ("checkpoint", isCheckpoint ? .bool(true) : nil),
        ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }), ("run", run?.encoded),
      ])
  }
}

extension TaskFinished: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("attempt!", .count, "The attempt; 0 where none gave the output."),
      DataKey("output", .any, "The output."),
      DataKey(
        "via", .string, "Where the output came from, if not from an attempt: substitute, person."),
      DataKey("elements", .count, "Of a fan-out as a whole, how many elements it had."),
      DataKey("parts", .count, "How many parts came before."),
      DataKey("checkpoint", .boolean, "Whether the pipeline can be rolled back to here."),
      DataKey("elapsedMicroseconds", .count, "How long it took."),
      DataKey("run", .taskRun, "Its run."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    if let elements {
      return [EventLine("done", .good, "\(node): \(Figures.count(elements, "element"))")]
    }
    let way = via.map { " (\($0))" } ?? ""
    let text: EventText = output.map { "\(node)\(way): \($0)" } ?? "\(node)\(way)"
    return [EventLine("done", .good, text)]
  }
}
