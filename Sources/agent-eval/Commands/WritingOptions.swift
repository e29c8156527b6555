import ArgumentParser
import TraceStorage

/// How a log is written and what is printed of it, where a run begins or goes on.
struct WritingOptions: ParsableArguments {
  @Flag(
    help: "Let time stand still but for scripted delays, so that the log is the same each time.")
  var fixedClock = false

  @Option(help: "What a log survives: none, process or sync.")
  var durability = LogWriter.Durability.process

  @Flag(help: "Print one JSON object at the end instead of the timeline.")
  var json = false
}
