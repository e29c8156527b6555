import AgentTrace
import ArgumentParser
import EvalRunning
import TraceReporting

/// Makes a new log of one, withheld by the rules of today.
struct Scrub: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "scrub",
    abstract: "Write a log anew with its secrets withheld by today's rules.",
    discussion: """
      For logs that were imported, or recorded before a rule was there. The old log stays as it is: delete \
      it where it may not stay. The new one is sealed, has the same events, and its first names the old \
      one's digest. Exits with 0 where a new log was written, with 2 where none was.
      """
        + Example.list([
          "scrub latest": "write the newest run without its secrets, beside it"
        ]))

  @Argument(help: .log("A closed run log (….jsonl.gz)"), completion: .file())
  var log: String

  @Option(
    help:
      "Where the new log goes: a file that ends in .jsonl.gz. Default: NAME-scrubbed.jsonl.gz beside the old one.",
    completion: .file()
  )
  var out: String?

  @Option(help: "An agent file whose redaction rules hold.", completion: .file())
  var agent: String?

  @OptionGroup var redaction: RedactionOptions

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    try out.map(OutputOption.check)
    _ = try redaction.patterns()
  }

  func run() throws {
    let scrubbed = try ScrubbedLog(of: log, to: out, by: redaction.redactor(for: agent))
    if json {
      Output.json(scrubbed.json)
    } else {
      Output.lines(scrubbed.lines.map { Visible.line($0) })
    }
  }
}

extension ScrubbedLog {
  /// The report for a person.
  fileprivate var lines: [String] {
    let values = withheld.reduce(0) { $0 + $1.values }
    return
      ["\(log): \(Figures.count(events, "event")), \(Figures.count(values, "value")) withheld"]
      + withheld.map { "  \(Figures.count($0.values, "value")) (\($0.kind))" }
      + ["from   \(fromDigest)", "log    \(output)"]
  }

  /// The report as one JSON object.
  fileprivate var json: JSONValue {
    [
      "log": .string(log), "scrubbed": .string(output), "events": JSONValue(events),
      "withheld": .object(JSONObject(withheld.map { ($0.kind, JSONValue($0.values)) })),
      "fromDigest": .string(fromDigest.hex), "sealDigest": .string(sealDigest.hex),
    ]
  }
}
