import AgentTrace
import ArgumentParser
import TraceReporting
import TraceStorage

/// Prints a run.
struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print a recorded run as a timeline.",
    discussion: "Exits with 2 after showing what is whole where the log is damaged.")

  @Argument(help: "A run log (….jsonl.gz, or ….open while it is written).")
  var log: String

  @Flag(help: "Print every line of the log as JSON, marks too, references resolved.")
  var json = false

  @Flag(help: "Go on behind damage with what can still be read.")
  var skipDamaged = false

  @Flag(help: "Go on as the log is written, until it is closed.")
  var follow = false

  func validate() throws {
    if follow, skipDamaged {
      throw ValidationError("--follow shows what is whole; it cannot go with --skip-damaged.")
    }
  }

  func run() throws {
    if follow { return try runFollowing() }
    var reader = try LogReader(path: log, options: .init(skipsDamaged: skipDamaged))
    var timeline = Timeline(painter: Screen.painter, width: Screen.width)
    do {
      while !Output.hasEnded, let line = try reader.nextLine() { print(line, &timeline) }
    } catch {
      Output.error("agent-eval: \(Visible.line("\(error)"))")
      throw ExitCode(2)
    }
    for error in reader.damage { Output.error("agent-eval: \(Visible.line("\(error)"))") }
    note(reader.ending)
    if !reader.damage.isEmpty { throw ExitCode(2) }
  }

  private func runFollowing() throws {
    var follower = try LogFollower(path: log)
    var timeline = Timeline(painter: Screen.painter, width: Screen.width)
    var isFirstWait = true
    while !Output.hasEnded {
      switch try follower.next() {
      case .line(let line): print(line, &timeline)
      case .ended: return note(follower.ending)
      case .nothingYet:
        if isFirstWait, !follower.isHeld {
          Output.error("note: no process writes this log; waiting for one that goes on with it.")
        }
        isFirstWait = false
        Output.wait(milliseconds: 50)
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
