/// A node of a pipeline: a task, or one element of a task that runs for each of many.
public struct TaskNode: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The task's id.
  public var task: String
  /// Which element, from 0; `nil` for a task that runs once, and for a fan-out as a whole.
  public var element: Int?

  /// The task itself unless an element is given.
  public init(_ task: String, element: Int? = nil) {
    self.task = task
    self.element = element
  }

  /// `refactor`, or `refactor[3]`.
  public var description: String { element.map { "\(task)[\($0)]" } ?? task }

  /// Reads ``description``.
  public init(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.last == UInt8(ascii: "]"),
      let open = bytes.lastIndex(of: UInt8(ascii: "[")), open > 0,
      let index = Int(String(decoding: bytes[(open + 1)..<(bytes.count - 1)], as: UTF8.self)),
      index >= 0
    else {
      self.init(text, element: nil)
      return
    }
    self.init(String(decoding: bytes[..<open], as: UTF8.self), element: index)
  }

  /// By the bytes of the id, then by element.
  public static func < (left: TaskNode, right: TaskNode) -> Bool {
    left.task.hasSameUTF8(as: right.task)
      ? (left.element ?? -1) < (right.element ?? -1)
      : left.task.utf8.lexicographicallyPrecedes(right.task.utf8)
  }

  /// Equal where the ids' bytes and the elements are.
  public static func == (left: TaskNode, right: TaskNode) -> Bool {
    left.element == right.element && left.task.hasSameUTF8(as: right.task)
  }

  init(_ reader: PayloadReader) throws(PayloadError) {
    task = try reader.string("task")
    element = try reader.optionalInt("element")
    if let element, element < 0 { throw reader.error("element", "a whole number from 0") }
  }

  var members: [(String, JSONValue?)] {
    [("task", .string(task)), ("element", element.map { JSONValue($0) })]
  }
}

/// Why an attempt at a task, or the task, failed.
public struct TaskError: Error, Sendable, Hashable {
  /// The kind: one of ``Kind``, or a word that this version does not know.
  public var kind: String
  /// In words.
  public var message: String

  /// The kinds that the runtime itself gives.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The output is not what `validate` asks for.
    case invalid
    /// The attempt took too long.
    case timeout
    /// All attempts together took too long.
    case totalTimeout = "total_timeout"
    /// The work itself failed.
    case toolFailure = "tool_failure"
    /// A model could not be reached.
    case modelFailure = "model_failure"
    /// A policy, or a person in the task's run, said no.
    case policyDenied = "policy_denied"
    /// The task's run stands still: a person has to answer it.
    case blocked
    /// The task failed too often of late and is left alone for a while.
    case breakerOpen = "breaker_open"
    /// What the pipeline may use is used up.
    case budgetExhausted = "budget_exhausted"
    /// A task that this one needs failed.
    case upstreamFailed = "upstream_failed"
    /// Elements of a fan-out failed.
    case elementFailed = "element_failed"
    /// What the task is given cannot be made of what its edges bring.
    case input
    /// A person said no.
    case denied
    /// The process ended while the attempt was under way.
    case interrupted
  }

  /// An error of a kind that the runtime knows.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind.rawValue
    self.message = message
  }

  /// An error of any kind.
  public init(kind: String, message: String) {
    self.kind = kind
    self.message = message
  }

  /// Whether it speaks of the work, not of what came before it or cut it off.
  public var countsForBreaker: Bool {
    switch Kind(rawValue: kind) {
    case .breakerOpen, .budgetExhausted, .upstreamFailed, .elementFailed, .input, .denied,
      .interrupted, .totalTimeout, .blocked:
      false
    case .invalid, .timeout, .toolFailure, .modelFailure, .policyDenied, nil: true
    }
  }

  init(_ reader: PayloadReader) throws(PayloadError) {
    kind = try reader.string("kind")
    message = try reader.text("message")
  }

  var encoded: JSONObject { ["kind": .string(kind), "message": .string(message)] }
}

/// The run of its own that an attempt at a task is.
public struct TaskRun: Sendable, Hashable {
  /// Its identifier.
  public var runId: String
  /// Its log, relative to the folder of the pipeline's; `nil` where it has none.
  public var log: String?
  /// Why it stopped; `nil` while it has not.
  public var stopReason: String?
  /// The digest of its log's last seal; `nil` while it runs.
  public var sealDigest: String?
  /// What it used, in the form of a `stop`'s `totals`; empty while it runs.
  public var totals: JSONObject = [:]

  /// A run that is about to begin.
  public init(runId: String, log: String? = nil) {
    self.runId = runId
    self.log = log
  }

  init?(_ reader: PayloadReader) throws(PayloadError) {
    guard let object = try reader.optionalObject("run") else { return nil }
    let run = PayloadReader(object, path: "run")
    runId = try run.string("runId")
    log = try run.optionalString("log")
    stopReason = try run.optionalString("stopReason")
    sealDigest = try run.optionalString("sealDigest")
    totals = try run.optionalObject("totals") ?? [:]
  }

  var encoded: JSONValue {
    .object(
      JSONObject(present: [
        ("runId", .string(runId)), ("log", log.map(JSONValue.string)),
        ("stopReason", stopReason.map(JSONValue.string)),
        ("sealDigest", sealDigest.map(JSONValue.string)),
        ("totals", totals.isEmpty ? nil : .object(totals)),
      ]))
  }
}

extension DataShape {
  /// The run of an attempt.
  package static let taskRun = DataShape.object(
    "The run of its own that an attempt is.",
    [
      DataKey("runId!", .string, "Its identifier."),
      DataKey("log", .string, "Its log, relative to the folder of the pipeline's."),
      DataKey("stopReason", .string, "Why it stopped."),
      DataKey("sealDigest", .string, "The digest of its log's last seal."),
      DataKey("totals", .totals, "What it used."),
    ])
}
