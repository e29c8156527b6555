import AgentTrace
import ArgumentParser
import TraceReporting
import TraceStorage

/// Makes a new log of what is whole in a damaged one.
struct Repair: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Write what is whole in a log to a new one.",
    discussion: """
      The old log stays as it is. Events keep their numbers; the new log says which are missing and \
      why, and `verify` accepts exactly those gaps. Exits with 0 where a new log was written that \
      verifies, with 1 where what was written does not, with 2 where nothing could be read or written.
      """
        + Example.list([
          "repair runs/x.jsonl.gz.open": "save what is whole in a log whose writer died"
        ]))

  @Argument(
    help: "A run log (….jsonl.gz, or ….open where a writer left it behind).", completion: .file())
  var log: String

  @Option(
    help:
      "Where the new log goes: a file that ends in .jsonl.gz. Default: NAME-repaired.jsonl.gz beside the old one.",
    completion: .file()
  )
  var out: String?

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws { try out.map(OutputOption.check) }

  func run() throws {
    let report = try LogRepair.repair(log, to: out)
    if json {
      Output.json(report.json)
    } else {
      Output.lines(report.lines.map { Visible.line($0) })
    }
    // What was read decides what is written, and nobody knows what that may be.
    let verified = LogVerifier.verify(path: report.output, expectedDigest: report.sealDigest)
    guard verified.findings.isEmpty else {
      for finding in verified.findings.prefix(10) {
        Output.error(Visible.line("agent-eval: \(report.output): \(finding)"))
      }
      throw ExitCode(1)
    }
  }
}

extension RepairReport {
  /// The report for a person: what was kept, what is missing, and where the new log is.
  var lines: [String] {
    var lines = ["\(path): \(Figures.count(events, "event")) kept, \(missingEvents) missing"]
    lines += gaps.map { gap in
      let events =
        gap.first == gap.last ? "event \(gap.first)" : "events \(gap.first) to \(gap.last)"
      return "  missing \(events): \(gap.reason)"
    }
    if gaps.isEmpty { lines += damage.prefix(10).map { "  mended: \($0)" } }
    if lostValues > 0 {
      lines.append("  \(Figures.count(lostValues, "value")) lost that only missing events had said")
    }
    if case .torn(let offset)? = ending {
      lines.append("  note: the torn end from byte \(offset) on was left out")
    }
    if mayLackEnd { lines.append("  note: nobody knows how many events are missing at the end") }
    return lines + ["log    \(output)"]
  }

  /// The report as one JSON object.
  var json: JSONValue {
    var torn: JSONValue = .null
    if case .torn(let offset)? = ending { torn = JSONValue(offset) }
    return [
      "log": .string(path), "repaired": .string(output), "events": JSONValue(events),
      "missingEvents": JSONValue(missingEvents),
      "gaps": .array(
        gaps.map {
          [
            "first": JSONValue($0.first), "last": JSONValue($0.last), "reason": .string($0.reason),
          ]
        }), "lostValues": JSONValue(lostValues), "tornAt": torn, "mayLackEnd": .bool(mayLackEnd),
      "isClosed": .bool(isClosed), "sealDigest": .string(sealDigest.hex),
      "damage": .array(damage.map { .string("\($0)") }),
    ]
  }
}
