import AgentTrace

extension EventSchema {
  /// What the data of the types hold that only pipelines have.
  static let pipelineTypes: [(name: String, schema: JSONValue)] = [
    (EventType.taskStarted.rawValue, taskStarted), (EventType.taskOutput.rawValue, taskOutput),
    (EventType.taskFailed.rawValue, taskFailed), (EventType.taskFinished.rawValue, taskFinished),
    (EventType.taskSkipped.rawValue, taskSkipped),
    (EventType.taskExpanded.rawValue, taskExpanded), (EventType.taskAsked.rawValue, taskAsked),
    (EventType.taskAnswered.rawValue, taskAnswered),
    (EventType.taskResumed.rawValue, taskResumed),
    (EventType.pauseRequested.rawValue, pauseRequested),
    (EventType.rollbackStarted.rawValue, rollbackStarted),
    (EventType.compensationStarted.rawValue, compensationStarted),
    (EventType.compensationFinished.rawValue, compensationFinished),
    (EventType.rolledBack.rawValue, rolledBack),
  ]

  /// The keys that say which task, and which element of it.
  private static let node = [
    Key("task!", string, "The task."),
    Key("element", ref("count"), "Which element, of a task that runs for each of many."),
  ]

  private static let run: JSONValue = object(
    "The run of its own that an attempt is.",
    [
      Key("runId!", string, "Its identifier."),
      Key("log", string, "Its log, relative to the folder of the pipeline's."),
      Key("stopReason", string, "Why it stopped."),
      Key("sealDigest", string, "The digest of its log's last seal."),
      Key("totals", ref("totals"), "What it used."),
    ])

  private static let taskStarted: JSONValue = object(
    "An attempt at a task begins.",
    node + [
      Key("attempt!", ref("count"), "From 1, over the whole life of the node."),
      Key("acting", string, "The task that stands in for it."),
      Key("kind!", string, "What does it: agent, command, closure or pipeline."),
      Key("input", any, "All that it is given."),
      Key("arguments", list(any), "Of a command, its words."),
      Key("origins", mapping, "The events that it came from, by what the input names."),
      Key("sideEffect", words(SideEffect.allCases.map(\.rawValue)), "What it does; read without."),
      Key("idempotent", ["type": "boolean"], "Whether it may be made again."),
      Key("idempotencyKey", string, "What names the action; absent where it only reads."),
      Key("compensate", any, "The command that undoes it."), Key("run", run, "Its run."),
    ])

  private static let taskOutput: JSONValue = object(
    "A part of a task's output came before its end.",
    node + [
      Key("attempt!", ref("count"), "The attempt."), Key("part!", ref("count"), "From 0."),
      Key("value!", any, "What came."),
    ])

  private static let recovery: JSONValue = object(
    "What is done about a failure.",
    [
      Key("do!", words(TaskRecovery.Action.allCases.map(\.rawValue)), "What."),
      Key("rule", ref("count"), "The rule of the task that says so."),
      Key("waitMicroseconds", ref("count"), "How long the next attempt waits."),
      Key("task", string, "The task that stands in."), Key("value", any, "The substitute."),
      Key("feedback", ["type": "boolean"], "Whether the next attempt is told what was wrong."),
      Key("by", words(["task"]), "task where the task's own code said so."),
    ])

  private static let taskFailed: JSONValue = object(
    "An attempt failed, or a task cannot be attempted; and what is done about it.",
    node + [
      Key("attempt!", ref("count"), "The attempt; 0 where none was made."),
      Key(
        "error!",
        object(
          "",
          [
            Key(
              "kind!", string, "The kind: \(TaskError.Kind.allCases.map(\.rawValue).alternatives)."),
            Key("message!", ref("text"), "In words."),
          ]), "Why."),
      Key("effect", words(["unknown"]), "unknown where nobody can be sure what it did."),
      Key("recovery!", recovery, "What is done about it."),
      Key("elapsedMicroseconds", ref("count"), "How long it took."), Key("run", run, "Its run."),
    ])

  private static let taskFinished: JSONValue = object(
    "A task, or an element of one, has its output.",
    node + [
      Key("attempt!", ref("count"), "The attempt; 0 where none gave the output."),
      Key("output", any, "The output."),
      Key("via", string, "Where the output came from, if not from an attempt: substitute, person."),
      Key("elements", ref("count"), "Of a fan-out as a whole, how many elements it had."),
      Key("parts", ref("count"), "How many parts came before."),
      Key("checkpoint", ["type": "boolean"], "Whether the pipeline can be rolled back to here."),
      Key("elapsedMicroseconds", ref("count"), "How long it took."), Key("run", run, "Its run."),
    ])

  private static let taskSkipped: JSONValue = object(
    "A task's output is absent.", node + [Key("reason!", ref("text"), "Why.")])

  private static let taskExpanded: JSONValue = object(
    "Of a task that runs for each of many it is known how many.",
    [Key("task!", string, "The task."), Key("elements!", ref("count"), "How many.")])

  private static let taskAsked: JSONValue = object(
    "A task waits for a person.",
    node + [
      Key("why!", words(TaskAsked.Why.allCases.map(\.rawValue)), "Why."),
      Key("question!", ref("text"), "The question."), Key("show", any, "What is shown beside it."),
      Key("attempt", ref("count"), "The attempt whose own run waits."),
    ])

  private static let taskResumed: JSONValue = object(
    "The run that an attempt is goes on in its own log.",
    node + [
      Key("attempt!", ref("count"), "The attempt."), Key("runId!", string, "The run."),
    ])

  private static let taskAnswered: JSONValue = object(
    "What a person said of a task that waits.",
    node + [
      Key("word!", words(TaskAnswered.Word.allCases.map(\.rawValue)), "What."),
      Key("data", any, "The answer, or what came of what happened."),
      Key("by!", string, "Who."), Key("reason", string, "Why."),
    ])

  private static let pauseRequested: JSONValue = object(
    "Of a pipeline it is wished that it pauses.",
    [Key("by!", string, "The name of a signal, or pause for a word of another process.")])

  private static let rollbackStarted: JSONValue = object(
    "A pipeline goes back to a checkpoint.",
    [
      Key("checkpoint", string, "The task whose end it is; the beginning without it."),
      Key("toSeq!", ref("count"), "The last event that stays."), Key("by", string, "Who."),
      Key("reason", string, "Why."),
      Key("compensations!", ref("count"), "How many effects are to be undone."),
      Key("left", list(string), "Effects that are left as they are."),
      Key("leftCount", ref("count"), "How many, where that is more."),
    ])

  private static let compensationStarted: JSONValue = object(
    "An effect is about to be undone.",
    node + [
      Key("of!", ref("count"), "The event with which the attempt began."),
      Key("attempt!", ref("count"), "From 1."),
      Key("idempotencyKey!", string, "What names the undoing."),
      Key("command", any, "What is run."),
    ])

  private static let compensationFinished: JSONValue = object(
    "What came of undoing an effect.",
    node + [
      Key("of!", ref("count"), "The event with which the attempt began."),
      Key("attempt!", ref("count"), "From 1; 0 where a person did it."),
      Key("status!", words(["ok", "error"]), "Whether it is undone."),
      Key("error", ref("text"), "Why it is not."), Key("by", string, "The person."),
    ])

  private static let rolledBack: JSONValue = object(
    "What stands behind a checkpoint is undone, and runs anew.",
    [
      Key("checkpoint", string, "The task whose end it is; the beginning without it."),
      Key("toSeq!", ref("count"), "The last event that stays."),
      Key(
        "tasks!",
        list(
          object(
            "",
            [
              Key("task!", string, "The task."), Key("elements", ref("count"), "How many."),
              Key("finished", list(list(integer)), "First and last of each run that stays."),
              Key("skipped", list(list(integer)), "Likewise."),
              Key("failed", list(list(integer)), "Likewise."),
            ])), "What runs anew, and what stays of it."),
      Key("compensated!", ref("count"), "How many effects were undone."),
      Key("left!", ref("count"), "How many were left."),
    ])
}
