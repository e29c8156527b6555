import AgentTrace
import ArgumentParser
import EvalRunning
import TraceJudging
import TraceReporting

/// Puts the results of shards together.
struct Merge: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "merge",
    abstract: "Put the results of shards together, as if one run had judged all cases.",
    discussion: """
      Takes the JSON that `run --shard` printed, or wrote with `--report json:FILE`, of each shard, \
      in any order. Exits as `run` does; with 2 where a shard is missing, is there twice with \
      different results, or belongs to something else.
      """
        + Example.list([
          "merge shard-1.json shard-2.json -r html:report.html":
            "one report of what two machines judged"
        ]))

  @Argument(help: "The results of each shard, as JSON.", completion: .file())
  var files: [String]

  @OptionGroup var output: ResultsOutput

  @OptionGroup var history: HistoryOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws { try output.destination.checkKept(files, "one of the shards’ results") }

  func run() throws {
    let start = SuiteStart()
    let parts = try files.map { file in
      do {
        let json = try JSONValue(parsing: try InputFiles.all(of: file))
        return ShardMerge.Part(name: file, results: try EvalResults(decoding: json))
      } catch let error as InputFiles.Failure {
        throw error
      } catch {
        throw NoResults(file: file, reason: "\(error)")
      }
    }
    let merge = try ShardMerge(parts)
    for note in merge.notes { Output.error(Visible.line("agent-eval: \(note).")) }
    let isLive = parts.contains { $0.results.shard?.isLive ?? false }
    AgentEval.end(
      try output.destination.finish(merge.results) {
        try history.request.keep(merge.results, since: start, isLive: { _ in isLive })
      })
  }

  /// A file that is something else, or half of one.
  private struct NoResults: Error, CustomStringConvertible {
    var file: String
    var reason: String

    var description: String {
      "\(file) holds no results of a shard, or only a part of them: \(reason)"
    }
  }
}
