/// The data of a `task_skipped` event: whoever needs the task's output sees that it is absent.
public struct TaskSkipped: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// Why.
  public var reason: String

  /// Both.
  public init(node: TaskNode, reason: String) {
    self.node = node
    self.reason = reason
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    reason = try reader.text("reason")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: node.members + [("reason", .string(reason))])
  }
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

/// The data of a `task_answered` event: what a person said of a task that waits.
public struct TaskAnswered: Sendable, Hashable {
  /// What was said.
  public enum Word: String, Sendable, Hashable, CaseIterable {
    /// Yes: go on.
    case granted
    /// No.
    case denied
    /// An answer in words, or a value to stand for the output.
    case answered
    /// What is in doubt has happened.
    case happened
    /// What is in doubt has not happened.
    case didNotHappen = "did_not_happen"
    /// The output is to be absent.
    case skipped
  }

  /// Which task, and which element of it.
  public var node: TaskNode
  /// What was said.
  public var word: Word
  /// The answer, or the data of what happened.
  public var data: JSONValue?
  /// Who said it.
  public var by: String
  /// Why.
  public var reason: String?

  /// Data and reason can be left out.
  public init(
    node: TaskNode, word: Word, data: JSONValue? = nil, by: String, reason: String? = nil
  ) {
    self.node = node
    self.word = word
    self.data = data
    self.by = by
    self.reason = reason
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    word = try reader.enumeration("word", Word.self, "what a person said")
    data = object["data"]
    by = try reader.string("by")
    reason = try reader.optionalString("reason")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("word", .string(word.rawValue)), ("data", data), ("by", .string(by)),
        ("reason", reason.map(JSONValue.string)),
      ])
  }
}
