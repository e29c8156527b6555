import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import Glibc
import LiveBoundary
import TraceReplaying
import TraceReporting

/// Writes to the log of a paused run what a person says about one of its calls.
struct Approve: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Say whether a call that waits for a person may run.",
    discussion: """
      Writes the word to the log of a paused run; "resume" goes on with it. A yes lets this one call \
      run, and is used up when it begins: where the same is proposed again, it is asked about again, and \
      other calls that wait go on waiting. It covers more where you say so: --for 3, this call and the \
      next two of the same tool and input; --same-input, each of them for the rest of the run. With \
      --until TIME it runs out. For a call that was started and left without a result, say what \
      happened: --happened, with the data that came of it, or --did-not-happen, so that it may run \
      again, or --deny to leave it as it is.
      """
        + Example.list([
          "approve latest issue_refund --by ana": "let the one call of this tool run",
          "approve latest issue_refund --by ana --deny": "or not",
        ]))

  @Argument(help: .log("The log of a run"), completion: .file())
  var log: String

  @Argument(
    help:
      "The call's id, or the name of a tool of which one call waits; of a pipeline the task, where several calls of its run wait as TASK/CALL or TASK/TOOL."
  )
  var call: String

  @Option(name: .shortAndLong, help: "Who says it.")
  var by: String

  @Flag(help: "The call may not run.")
  var deny = false

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "How many calls of this tool and input may run, this one first; 1 unless given.",
      valueName: "calls"))
  var count: Int?

  @Flag(help: "Calls of this tool with this input may run for the rest of the run.")
  var sameInput = false

  @Option(
    help: ArgumentHelp(
      "When the approval runs out, such as 2026-12-24T18:00:00Z, by the clock of the machine that goes on.",
      valueName: "time"))
  var until: String?

  @Flag(help: "The call that was started has happened.")
  var happened = false

  @Flag(help: "The call that was started has not happened, and may run.")
  var didNotHappen = false

  @Option(help: "What came of the call that happened: JSON, or a file of it behind @.")
  var data: String?

  @Option(help: "Why.")
  var reason: String?

  @Flag(help: "Write no time of today, so that the log is the same each time.")
  var fixedClock = false

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard [deny, happened, didNotHappen].count(where: { $0 }) <= 1 else {
      throw ValidationError("Say one of --deny, --happened and --did-not-happen.")
    }
    if data != nil, !happened { throw ValidationError("--data goes with --happened.") }
    if reason != nil, happened { throw ValidationError("--reason does not go with --happened.") }
    if deny || happened || didNotHappen, count != nil || sameInput || until != nil {
      throw ValidationError("--for, --same-input and --until go with an approval alone.")
    }
    if count != nil, sameInput { throw ValidationError("Say one of --for and --same-input.") }
    if let count, !(1...Self.countLimit).contains(count) {
      throw ValidationError("--for takes a number from 1 to \(Self.countLimit).")
    }
    if let until { try check(until: until) }
    if by.isEmpty { throw ValidationError("Say who it is: --by NAME.") }
  }

  /// Nothing can run on an approval that is over, and it cannot be given again.
  private func check(until text: String) throws {
    guard let end = UTC.microsecondsSince1970(text) else {
      throw ValidationError("--until is no time such as 2026-12-24T18:00:00Z: \(text)")
    }
    guard fixedClock || end > Int(time(nil)) * 1_000_000 else {
      throw ValidationError("--until is past by the clock of this machine: \(text)")
    }
  }

  func run() throws {
    if (try? WaitingPipeline.isPipeline(log)) == true {
      let (pipeline, name) = try WaitingPipeline(log: log).addressed(by: call)
      guard let place = try pipeline.run(of: name ?? call) else {
        return try approveTask(pipeline, name)
      }
      return try Spoken.reportTask(try say(to: place.tree, of: place.call), in: log, json: json)
    }
    try Spoken.report(try say(to: WaitingTree(path: log), of: call), in: log, json: json)
  }

  /// Says a word about a call of a tree of runs.
  private func say(to tree: WaitingTree, of call: String) throws -> Event {
    let word: SpokenWord
    switch (deny, happened, didNotHappen) {
    case (true, _, _): word = .denied
    case (_, true, _): word = .happened(try dataOfCall())
    case (_, _, true): word = .didNotHappen
    default: word = .granted
    }
    let waiting = try tree.run(of: call)
    let withheld = try Withheld(to: waiting.run.path, below: log)
    return try waiting.run.record(
      word, about: waiting.call, by: by, reason: reason,
      scope: sameInput ? .input : .calls(count ?? 1),
      until: until.flatMap(UTC.microsecondsSince1970).map(UTC.text(microsecondsSince1970:)),
      secrets: withheld.secrets, redaction: withheld.redaction,
      at: Spoken.moment(isFixed: fixedClock))
  }

  /// Says a word about a task of a pipeline.
  private func approveTask(_ pipeline: WaitingPipeline, _ name: String?) throws {
    guard count == nil, !sameInput, until == nil else {
      throw ValidationError("--for, --same-input and --until are for calls, not for tasks.")
    }
    let word: TaskAnswered.Word =
      deny ? .denied : happened ? .happened : didNotHappen ? .didNotHappen : .granted
    var said: JSONValue?
    if happened { said = try dataOfCall() }
    let withheld = try Withheld(to: pipeline.log, below: log)
    let event = try pipeline.record(
      word, about: name, data: said, by: by, reason: reason, secrets: withheld.secrets,
      redaction: withheld.redaction, at: Spoken.moment(isFixed: fixedClock))
    try Spoken.reportTask(event, in: log, json: json)
  }

  private static let countLimit = 1_000_000

  private func dataOfCall() throws -> JSONValue {
    guard let data else { return .null }
    if data.hasPrefix("@") { return try EditFile.read(String(data.dropFirst())) { $0 } }
    do { return try JSONValue(parsing: data, options: .init(depthLimit: 64)) } catch {
      throw ValidationError("--data is no JSON: \(error)")
    }
  }
}

/// Writes to the log of a paused run what a person answers.
struct AnswerVerb: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Answer the question that a paused run waits for.",
    discussion: "Writes the answer to the log; \"resume\" goes on with it."
      + Example.list([
        "answer latest \"Tomorrow, at nine\"": "answer what the newest run asks"
      ]))

  @Argument(help: .log("The log of a run"), completion: .file())
  var log: String

  @Argument(help: "The answer.")
  var text: String

  @Option(help: "Of a pipeline, the task that asks, where several do.")
  var task: String?

  @Option(help: "Of a tree of runs, the call whose agent asks, where several do.")
  var call: String?

  @Option(name: .shortAndLong, help: "Who answers.")
  var by = "person"

  @Flag(help: "Write no time of today, so that the log is the same each time.")
  var fixedClock = false

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() throws {
    if (try? WaitingPipeline.isPipeline(log)) == true {
      let (pipeline, task) = try WaitingPipeline(log: log).addressed(by: task)
      if let run = try pipeline.asking(task: task, call: call) {
        let event = try say(to: run)
        return try Spoken.reportTask(event, in: log, json: json)
      }
      guard call == nil else { throw ValidationError("That task is no agent's: leave --call out.") }
      let withheld = try Withheld(to: pipeline.log, below: log)
      let event = try pipeline.record(
        .answered, about: task, data: .string(text), by: by, secrets: withheld.secrets,
        redaction: withheld.redaction, at: Spoken.moment(isFixed: fixedClock))
      return try Spoken.reportTask(event, in: log, json: json)
    }
    guard task == nil else { throw ValidationError("--task is for pipelines.") }
    let event = try say(to: WaitingTree(path: log).asking(call: call))
    try Spoken.report(event, in: log, json: json)
  }

  /// Answers the question of a run.
  private func say(to run: WaitingRun) throws -> Event {
    let withheld = try Withheld(to: run.path, below: log)
    return try run.record(
      answer: text, by: by, secrets: withheld.secrets, redaction: withheld.redaction,
      at: Spoken.moment(isFixed: fixedClock))
  }
}

/// What both verbs share.
private enum Spoken {
  /// The time of a word: no active run time passes while a run stands still.
  static func moment(isFixed: Bool) -> (Int) -> ClockReading {
    { elapsed in
      isFixed
        ? FixedClock(elapsedMicroseconds: elapsed).reading()
        : SystemClock(elapsedMicroseconds: elapsed).reading()
    }
  }

  /// What was said of a task, and what still waits.
  static func reportTask(_ event: Event, in log: String, json: Bool) throws {
    let open = try WaitingPipeline(log: log).open()
    guard !json else {
      return Output.json([
        "log": .string(log), "seq": JSONValue(event.seq), "type": .string(event.type.rawValue),
        "data": .object(event.data), "waiting": JSONValue(open.map(\.name)),
      ])
    }
    var timeline = Timeline(
      painter: Screen.painter, width: Screen.width, isFull: Screen.isFull, headsSteps: false)
    Output.lines(timeline.lines(for: event))
    for one in open {
      Output.line("waits  \(Visible.line("\(one.name): \(one.words)"))")
    }
    if let other = open.first {
      Output.lines(PipelineRuns.hints(for: other, in: log))
    } else {
      Output.line("next   agent-eval resume \(ShellWord.path(log))")
    }
  }

  /// What was written, and what still waits.
  static func report(_ event: Event, in log: String, json: Bool) throws {
    guard !json else {
      let waiting = try WaitingTree(path: log).calls
      return Output.json([
        "log": .string(log), "seq": JSONValue(event.seq), "type": .string(event.type.rawValue),
        "data": .object(event.data),
        "waiting": .array(
          waiting.map {
            [
              "callId": .string($0.call.callId), "tool": .string($0.call.name),
              "input": $0.call.input, "reason": .string($0.reason.rawValue),
            ]
          }),
      ])
    }
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    Output.lines(timeline.lines(for: event))
    Output.lines(try WhatWaits.lines(of: log))
  }
}
