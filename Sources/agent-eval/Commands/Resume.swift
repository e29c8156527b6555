import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalRunning
import Glibc
import LiveBoundary
import TraceReplaying
import TraceReporting
import TraceStorage

/// Goes on with a run that paused or whose process died.
struct Resume: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Go on with a run that paused, or whose process died, in the same log.",
    discussion: """
      What is recorded is not made again: a call that has its result is never run twice. A call that \
      was started and has no result runs again, with the same idempotency key, where its tool only \
      reads or is idempotent; any other blocks the run until a person says what happened (see \
      "approve"). Prints the timeline of what is new and the path of the log. Exits with 0 where the \
      run stopped with success, with 1 for any other stop.
      """
        + Example.list([
          "resume latest": "go on with the newest run"
        ]))

  @Argument(help: .log("The log of a run"), completion: .file())
  var log: String

  @Option(
    help: "The agent file that goes on. Default: the one below this folder that the log names.",
    completion: .file())
  var agent: String?

  @Option(help: "A policy file in place of the agent's own policy.", completion: .file())
  var policy: String?

  @Flag(help: "Go on though the agent file or the policy is not the one from before.")
  var acceptChanges = false

  @OptionGroup var people: PeopleOptions
  @OptionGroup var memory: MemoryOption

  @OptionGroup var writing: WritingOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  /// Goes on with a pipeline.
  private func resumePipeline() async throws {
    try checkDeadlines()
    let (definition, _) = try PipelineRuns.load(of: log, file: agent)
    let recording = try await PipelineRuns.recording(writing) { means, print in
      try await PipelineRecording(
        resuming: log, with: definition, means, acceptsChanges: acceptChanges,
        observePast: print.past, observe: print.now)
    }
    try PipelineRuns.report(recording, json: writing.json)
  }

  func run() async throws {
    if (try? WaitingPipeline.isPipeline(log)) == true { return try await resumePipeline() }
    var (definition, path) = try RecordedAgent.load(
      of: log, agent: agent, policy: policy, notesPolicy: false)
    try LiveBuild.require(for: [definition])
    let secrets = try withhold(in: &definition)
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let (isFixed, json) = (writing.fixedClock, writing.json)
    try checkDeadlines()
    let person = try people.person(for: &definition, cancellation)
    let store = try memory.store(for: definition)
    let makeBoundary = RunTreeBoundaries.maker(person: person, memory: store)
    var children = RunTreeBoundaries.children(
      in: RunFiles.folder(ofLog: log), isFixed: isFixed, durability: writing.durability,
      showsEvents: !json,
      cancellation, makeBoundary)
    children.acceptsChanges = acceptChanges
    let runner = children
    var request = RunResumption.Request(
      log: log, agent: definition, acceptsChanges: acceptChanges,
      logOptions: .init(durability: writing.durability),
      clock: { elapsed -> any RunClock in
        if isFixed { return FixedClock(elapsedMicroseconds: elapsed) }
        return SystemClock(elapsedMicroseconds: elapsed, cancellation: cancellation)
      },
      boundary: { agent, clock in
        var conditions = RunConditions(
          clock: clock, identifiers: RandomRunIDs(), cancellation: cancellation, children: runner)
        conditions.secrets = secrets
        return makeBoundary(agent, conditions)
      })
    request.report = LiveView.show
    request.standsAlone = true
    request.ancestorFolders = RunLogs.knownFolders
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    let resumption = try await RunResumption(
      request, observePast: { _ = timeline.lines(for: $0) },
      observe: { event in if !json { LiveView.print(timeline.lines(for: event)) } })
    if resumption.newEvents == 0 {
      Output.error("note: the run had ended, and its log was left open; it is closed now.")
    }
    try report(resumption, MakingAgain(of: resumption.log, agent: path, policy: policy))
    if resumption.state.stop?.reason != StopReason.success.rawValue { throw ExitCode(1) }
  }

  /// Has the run keep to what those withhold that called it, though none of them goes on with it; returns what is known
  /// of secrets by that.
  private func withhold(in definition: inout AgentDefinition) throws -> RunSecrets {
    let withheld = try Withheld(fromAbove: log)
    definition.redaction = definition.redaction.adding(parent: withheld.redaction)
    return withheld.secrets
  }

  /// Refuses to go on with a clock that stands still where that would let a call run on an approval that is over.
  private func checkDeadlines() throws {
    guard writing.fixedClock else { return }
    let still = UTC.microsecondsSince1970(FixedClock(elapsedMicroseconds: 0).reading().time)
    guard
      let until = try PastDeadline.first(
        inTreeOf: log, now: Int(time(nil)) * 1_000_000, still: still)
    else { return }
    throw ValidationError(
      "an approval of this run, or of one that is a part of it, was given until \(Visible.line(until)), which is past; --fixed-clock does not see that: go on without it."
    )
  }

  private func report(_ resumption: RunResumption, _ again: MakingAgain) throws {
    guard writing.json else {
      Output.line("log    \(Visible.line(resumption.log))")
      Output.error("again  \(Visible.line(again.line))")
      return try WhatWaits.lines(of: resumption.log).forEach(Output.error)
    }
    Output.json([
      "runId": .string(resumption.state.runId), "log": .string(resumption.log),
      "stopReason": resumption.state.stop.map { .string($0.reason) } ?? .null,
      "stopDetail": resumption.state.stop?.detail.map(JSONValue.string) ?? .null,
      "newEvents": JSONValue(resumption.newEvents), "again": JSONValue(again.arguments),
      "sealDigest": .string(resumption.sealDigest.hex),
    ])
  }
}
