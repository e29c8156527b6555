import ArgumentParser

/// Judges cases.
struct Run: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Judge recorded runs by eval cases, or run the agents first.",
    discussion: """
      Exits with 0 where every case passed, 1 where one failed, 2 where one could not be judged or \
      there was nothing to judge, 3 where one is inconclusive (1 outranks 2 outranks 3). With \
      --against, 1 means that something regressed, and a case that fails as it was accepted is fine.
      """
        + Example.list([
          "run EvalCases/": "judge every case of a folder",
          "run EvalCases/ -f 'refund-*' -d": "only some, and step through the first that failed",
          "run EvalCases/ -l -n 5": "run the agents, five times each, and judge that",
          "run EvalCases/ -a accepted -r junit:results.xml":
            "fail on regressions only, with a report for a build",
        ]))

  @Argument(
    help: "Case files, or folders of them. Default: the setting “paths”, else EvalCases.",
    completion: .file())
  var paths: [String] = []

  @OptionGroup var judging: JudgingOptions

  @Flag(
    help: """
      Read every log whole. Without it, the end of a log is enough where it tells all that a case \
      asks, except where CI is set.
      """)
  var noSummary = false

  @Flag(
    help: """
      Verify each log before it is judged: one that was changed is an error, even where it was sealed \
      anew. Costs several times as much.
      """)
  var verify = false

  @Option(
    help: ArgumentHelp(
      "Judge one of so many parts of the cases; `merge` puts their results together.",
      valueName: "i/n"))
  var shard: String?

  @Option(
    help: ArgumentHelp(
      """
      Judge the logs whose paths stand in this file, one a line, or come on standard input (-); \
      print one outcome a line, in their order, each at once.
      """, valueName: "file"), completion: .file())
  var filesFrom: String?

  @Flag(
    help: "Only the cases that did not pass in the last run of this folder; all where each did.")
  var lastFailed = false

  @Flag(
    name: .customLong("continue"),
    help: """
      With --live: go on with a suite that was interrupted. Runs that were finished are judged anew, and not made \
      again while agent, input and conditions are the same.
      """)
  var continues = false

  @Flag(
    help: """
      With --files-from: judge each log by the case that it was made for, rather than by every case.
      """)
  var byCaseId = false

  @Flag(
    name: .shortAndLong,
    help: """
      Judge again whenever a case file, an agent file or a log changes, until a signal comes.
      """)
  var watch = false

  @Flag(
    name: .shortAndLong,
    help: """
      Step through the run of the first case that failed, from the first event that shows why; where \
      there is no terminal, print why that event came about.
      """)
  var debug = false

  @OptionGroup var output: ResultsOutput

  @OptionGroup var handing: HandingOptions

  @OptionGroup var baselines: AgainstOptions

  @OptionGroup var history: HistoryOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  /// What is asked for.
  var request: RunRequest {
    var request = judging.request(of: paths)
    request.noSummary = noSummary
    request.verify = verify
    request.shard = shard
    request.filesFrom = filesFrom
    request.byCaseId = byCaseId
    request.watch = watch
    request.debug = debug
    request.output = output.destination
    request.otlp = handing.otlp
    request.baselines = baselines.request
    request.history = history.request
    request.lastFailed = lastFailed
    request.continues = continues
    request.take(.here)
    if request.paths.isEmpty, filesFrom == nil, FileSort(of: "EvalCases") == .folder {
      request.paths = ["EvalCases"]
    }
    return request
  }

  func validate() throws { try request.validate() }

  func run() async throws { try await request.perform() }
}

/// What verbs that judge cases have in common.
struct JudgingOptions: ParsableArguments {
  @Option(
    help: "A folder of recorded runs, for cases that name no recording.", completion: .directory)
  var runs: String?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      """
      Put the cases, which name neither a run nor an agent, on every run of these files and folders: \
      run logs, and whatever `import` reads.
      """, valueName: "path"), completion: .file())
  var on: [String] = []

  @Option(
    help: ArgumentHelp(
      "With --on: where imported runs are kept. Default: .agent-eval/imports.", valueName: "dir"),
    completion: .directory)
  var importCache: String?

  @Flag(name: .shortAndLong, help: "Run the agents that the cases name, and judge those runs.")
  var live = false

  @Option(
    name: [.customShort("n"), .long],
    help: "How often to run, with --live, cases that do not say it themselves.")
  var trials: Int?

  @Option(help: "How many of those trials have to pass; all where left out.")
  var passThreshold: Int?

  @Flag(
    help: """
      Make every trial, also those that cannot change the outcome any more: rates that are to be \
      compared with others need them.
      """)
  var allTrials = false

  @Option(
    help: ArgumentHelp(
      """
      With --live: what all runs may use together, as cost=5,minutes=20. Cases beyond it are not run, and \
      the exit code is 3.
      """, valueName: "budget"))
  var budget: String?

  @Option(name: .shortAndLong, help: "Cases to work on side by side; 0 for one a core.")
  var jobs: Int?

  @Option(
    name: .shortAndLong, help: "Only cases whose id matches this glob, or that have this tag.")
  var filter: String?

  @Option(
    name: .shortAndLong,
    help: "Where runs that are made now are recorded. Default: .agent-eval/runs.",
    completion: .file())
  var out: String?

  @Option(
    help: """
      A seed for the identifiers of runs that are made now, so that they are the same each time; scripted \
      agents then run on a fixed clock.
      """)
  var seed: Int?

  @Flag(help: "Start the programs by which cases are judged (exec).")
  var exec = false

  @Flag(
    help: """
      Ask the models by which cases are judged where no judgement of theirs is kept, and keep it; \
      --live does too.
      """)
  var judge = false

  @Option(
    help: ArgumentHelp(
      "Where judgements of models are kept, in place of what cases say.", valueName: "dir"),
    completion: .directory)
  var judgements: String?

  /// What is asked for, of these case files and folders.
  func request(of paths: [String]) -> RunRequest {
    var request = RunRequest(
      paths: paths, runs: runs, live: live, jobs: jobs, filter: filter, out: out, exec: exec)
    request.on = on
    request.importCache = importCache
    request.trials = trials
    request.passThreshold = passThreshold
    request.allTrials = allTrials
    request.budget = budget
    request.seed = seed
    request.judge = judge
    request.judgements = judgements
    return request
  }
}
