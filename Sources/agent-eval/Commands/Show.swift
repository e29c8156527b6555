import AgentTrace
import ArgumentParser
import TraceReporting
import TraceStorage

/// Prints a run.
struct Show: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print a recorded run as a timeline.",
    discussion: "Exits with 2 after showing what is whole where the log is damaged."
      + Example.list([
        "show latest": "the newest run",
        "show latest --follow": "while it is lived",
        "show last-failed --html failed.html": "a page of the run that failed",
      ]))

  @Argument(
    help: .log("A run log (….jsonl.gz, or ….open while it is written)"), completion: .file())
  var log: String

  @Flag(help: "Print every line of the log as JSON, marks too, references resolved.")
  var json = false

  @Flag(help: "Go on behind damage with what can still be read.")
  var skipDamaged = false

  @Flag(name: .shortAndLong, help: "Go on as the log is written, until it is closed.")
  var follow = false

  @Flag(
    name: .shortAndLong,
    help: """
      With the runs of the agents that it called, as one row: the numbers are those that outcomes name of a run \
      with children.
      """)
  var tree = false

  @Option(
    help: """
      Write the run as one HTML page that needs nothing else to this file; one that is there is \
      replaced.
      """, completion: .file())
  var html: String?

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    if html != nil, json || follow || skipDamaged || tree {
      throw ValidationError("--html writes a page; it goes with no other option.")
    }
    if let html, html.isEmpty || html.contains(LogFormat.suffix) {
      throw ValidationError("--html takes the path of the page, which is no log.")
    }
    try html.map(OutputOption.checkMeaning)
    try html.map(OutputOption.checkReplaced)
    if tree, follow || skipDamaged {
      throw ValidationError("--tree goes with neither --follow nor --skip-damaged.")
    }
    if follow, skipDamaged {
      throw ValidationError("--follow shows what is whole; it cannot go with --skip-damaged.")
    }
  }

  func run() throws {
    if let html {
      var pages = RunPages(log: log, page: html)
      return try pages.write(note: note)
    }
    if follow { return try runFollowing() }
    Paging.begin()
    if tree { return try showTree() }
    var reader = try LogReader(path: log, options: .init(skipsDamaged: skipDamaged))
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    do {
      try print(&reader, &timeline)
    } catch {
      Output.error("agent-eval: \(Visible.line("\(error)"))")
      throw ExitCode(2)
    }
    for error in reader.damage { Output.error("agent-eval: \(Visible.line("\(error)"))") }
    note(reader.ending)
    if !json, reader.damage.isEmpty, case .closed? = reader.ending { noteWaiting() }
    if !reader.damage.isEmpty { throw ExitCode(2) }
  }

  private func showTree() throws {
    var reader = try RunTreeReader(path: log)
    var timelines: [String: Timeline] = [:]
    do {
      while !Output.hasEnded, let entry = try reader.next() {
        var event = entry.original ?? entry.event
        event.seq = entry.event.seq
        let caller = entry.member.caller
        guard !json else {
          event.extra["tree"] = .object(
            JSONObject(present: [
              ("seq", JSONValue(event.seq)), ("caller", caller.map(JSONValue.string)),
            ]))
          if let own = entry.original?.seq { event.seq = own }
          Output.jsonLine(event.encodedLine())
          continue
        }
        var timeline =
          timelines[event.runId]
          ?? Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
        let lines = timeline.lines(for: event)
        // A run that may go on is told on by the same.
        let isOver = event.type == .stop && event.data["final"]?.boolValue ?? true
        timelines[event.runId] = isOver ? nil : timeline
        Output.lines(lines.map { line in (caller.map { Visible.line($0) + " │ " } ?? "") + line })
      }
    } catch {
      Output.error("agent-eval: \(Visible.line("\(error)"))")
      throw ExitCode(2)
    }
    if let ending = reader.ending {
      note(ending)
      if !json, case .closed = ending { noteWaiting() }
    }
  }

  /// Says what a run of ours that stands still waits for; what is no such run waits for nothing here.
  private func noteWaiting() {
    for line in (try? WhatWaits.lines(of: log)) ?? [] { Output.error(line) }
  }

  private func runFollowing() throws {
    var follower = try LogFollower(path: log)
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    var waits = 0
    while !Output.hasEnded {
      switch try follower.next() {
      case .line(let line): print(line, &timeline)
      case .ended: return note(follower.ending)
      case .nothingYet:
        waits += 1
        // At the second wait: at the first, its writer may just have closed it.
        if waits == 2, !follower.isHeld {
          Output.error("note: no process writes this log; waiting for one that goes on with it.")
        }
        Output.wait(milliseconds: 50)
      }
    }
  }

  private func print(_ reader: inout LogReader, _ timeline: inout Timeline) throws {
    if json {
      while !Output.hasEnded, let line = try reader.nextLine() { print(line, &timeline) }
      return
    }
    while !Output.hasEnded, let next = try reader.nextOverview() {
      switch next {
      case .context(let context): Output.lines(timeline.lines(for: context))
      case .line(let line): print(line, &timeline)
      }
    }
  }

  private func print(_ line: LogLine, _ timeline: inout Timeline) {
    switch line {
    case .event(let event) where json: Output.jsonLine(event.encodedLine())
    case .mark(let mark) where json: Output.jsonLine(mark.encodedLine())
    case .event(let event): Output.lines(timeline.lines(for: event))
    case .mark(let mark):
      if mark.name == "gap" {
        Output.line("       gap    \(Visible.line(mark.data.description))")
      }
    }
  }

  private func note(_ ending: LogReader.Ending?) {
    switch ending {
    case .unfinished:
      Output.error("note: the log is unfinished: a writer holds it or left it behind.")
    case .torn(let offset):
      Output.error("note: the log is unfinished and its end is torn at byte \(offset).")
    case .closed, nil: break
    }
  }
}
