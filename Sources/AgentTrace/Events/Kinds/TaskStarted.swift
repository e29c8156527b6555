extension EventType {
  /// An attempt at a task of a pipeline begins; on disk before anything is done.
  public static let taskStarted = EventType(rawValue: "task_started")
}

/// The data of a `task_started` event: an attempt at a task begins. On disk before anything is done.
public struct TaskStarted: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// From 1, over the whole life of the node.
  public var attempt: Int
  /// The task that stands in for it; `nil` for itself.
  public var acting: String?
  /// `agent`, `command`, `closure` or `pipeline`.
  public var kind: String
  /// What it is given: all that it sees.
  public var input: JSONValue?
  /// Of a command, its words; `nil` for anything else.
  public var arguments: JSONValue?
  /// The events that what it is given came from, by what its input and words name.
  public var origins: JSONObject = [:]
  /// What the task does to the world outside: `read`, `draft` or `write`.
  public var sideEffect: String
  /// Whether doing it twice with the same key is as doing it once.
  public var isIdempotent = false
  /// What names the action, whatever attempt it is; `nil` for a task that only reads.
  public var idempotencyKey: String?
  /// The command that undoes it, made before it is done; `nil` where none is declared.
  public var compensate: JSONValue?
  /// The run of its own that the attempt is.
  public var run: TaskRun?

  /// What is not given can be set afterwards.
  public init(
    node: TaskNode, attempt: Int, acting: String? = nil, kind: String, input: JSONValue? = nil,
    sideEffect: String
  ) {
    self.node = node
    self.attempt = attempt
    self.acting = acting
    self.kind = kind
    self.input = input
    self.sideEffect = sideEffect
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    acting = try reader.optionalString("acting")
    kind = try reader.string("kind")
    input = object["input"]
    arguments = object["arguments"]
    origins = try reader.optionalObject("origins") ?? [:]
    sideEffect = try reader.optionalString("sideEffect") ?? SideEffect.read.rawValue
    isIdempotent = try reader.optionalBool("idempotent") ?? false
    idempotencyKey = try reader.optionalString("idempotencyKey")
    compensate = object["compensate"]
    run = try TaskRun(reader)
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("acting", acting.map(JSONValue.string)),
        ("kind", .string(kind)), ("input", input), ("arguments", arguments),
        ("origins", origins.isEmpty ? nil : .object(origins)),
        (
          "sideEffect",
          sideEffect == SideEffect.read.rawValue ? nil : .string(sideEffect)
        ),
        ("idempotent", isIdempotent ? .bool(true) : nil),
        ("idempotencyKey", idempotencyKey.map(JSONValue.string)), ("compensate", compensate),
        ("run", run?.encoded),
      ])
  }
}

extension TaskStarted: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("attempt!", .count, "From 1, over the whole life of the node."),
      DataKey("acting", .string, "The task that stands in for it."),
      DataKey("kind!", .string, "What does it: agent, command, closure or pipeline."),
      DataKey("input", .any, "All that it is given."),
      DataKey("arguments", .list(.any), "Of a command, its words."),
      DataKey("origins", .mapping, "The events that it came from, by what the input names."),
      DataKey(
        "sideEffect", .words(SideEffect.allCases.map(\.rawValue)), "What it does; read without."),
      DataKey("idempotent", .boolean, "Whether it may be made again."),
      DataKey("idempotencyKey", .string, "What names the action; absent where it only reads."),
      DataKey("compensate", .any, "The command that undoes it."),
      DataKey("run", .taskRun, "Its run."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let again = attempt > 1 ? ", attempt \(attempt)" : ""
    let other = acting.map { " by \($0)" } ?? ""
    let own = run.map { ", run \($0.runId)" } ?? ""
    return [EventLine("started", .faint, "\(node)\(other)\(again)\(own)")]
  }
}
