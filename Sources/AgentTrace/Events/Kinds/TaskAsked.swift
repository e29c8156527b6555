extension EventType {
  /// A task waits for a person.
  public static let taskAsked = EventType(rawValue: "task_asked")
}

/// The data of a `task_asked` event: a task waits for a person.
public struct TaskAsked: Sendable, Hashable {
  /// Why a person is asked.
  public enum Why: String, Sendable, Hashable, CaseIterable {
    /// The task is a person's.
    case human
    /// The task failed, and says that a person is to be asked then.
    case failed
    /// An attempt that may have changed something was cut off: did it happen?
    case doubt
    /// What the task writes was done once and undone: may it be done again?
    case again
    /// The run that the attempt is waits for a person: what is said stands in that run's log.
    case run
  }

  /// Which task, and which element of it.
  public var node: TaskNode
  /// Why.
  public var why: Why
  /// The question, in words.
  public var question: String
  /// What the person is shown beside it.
  public var show: JSONValue?
  /// The attempt whose run waits; `nil` where none does.
  public var attempt: Int?

  /// What is shown can be left out.
  public init(node: TaskNode, why: Why, question: String, show: JSONValue? = nil) {
    self.node = node
    self.why = why
    self.question = question
    self.show = show
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    why = try reader.enumeration("why", Why.self, "why a person is asked")
    question = try reader.text("question")
    show = object["show"]
    attempt = try reader.optionalInt("attempt")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("why", .string(why.rawValue)), ("question", .string(question)), ("show", show),
        ("attempt", attempt.map { JSONValue($0) }),
      ])
  }
}

extension TaskAsked: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("why!", .words(TaskAsked.Why.allCases.map(\.rawValue)), "Why."),
      DataKey("question!", .text, "The question."),
      DataKey("show", .any, "What is shown beside it."),
      DataKey("attempt", .count, "The attempt whose own run waits."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let asked = EventLine("asks", .heading, "\(node): \(question)", isWhole: true)
    return [asked] + (show.map { [EventLine("shows", .faint, "\($0)")] } ?? [])
  }
}
