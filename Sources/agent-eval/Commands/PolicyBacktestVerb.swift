import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import TraceDebugging
import TraceReplaying
import TraceReporting
import TraceStorage

/// Asks a policy about recorded calls.
struct PolicyBacktestVerb: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "backtest",
    abstract: "Ask a policy about the calls of recorded runs, and say which verdicts change.",
    discussion: """
      Each recorded verdict is asked for again at the moment it was given: the same actor and route, \
      the approvals so far. Exits with 1 where something is allowed now that was denied or asked about, \
      unless --allow-widening; with 2 where a log or a file could not be read; with 3 where nobody knows whether \
      it is, unless --allow-widening; with 0 otherwise. 1 outranks 2, and 2 outranks 3.
      """
        + Example.list([
          "policy backtest runs/ --policy policies/refunds.yaml":
            "which recorded verdicts would change"
        ]))

  @Argument(help: "Run logs, or folders of them.", completion: .file())
  var runs: [String]

  @Option(help: "The policy file to ask.", completion: .file())
  var policy: String

  @Option(
    help: "An agent file whose tools are taken in place of those that the logs define.",
    completion: .file())
  var agent: String?

  @Flag(help: "Do not fail where something is allowed now that was not.")
  var allowWidening = false

  @Option(help: "How many logs are read at once; as many as there are processors unless given.")
  var jobs: Int?

  @Option(help: "How many examples of each change are told.")
  var examples = 5

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    if let jobs, jobs < 1 { throw ValidationError("--jobs takes 1 or more.") }
    guard (0...10_000).contains(examples) else {
      throw ValidationError("--examples takes 0 to 10000.")
    }
  }

  func run() async throws {
    let rules = try Diagnostics.unwrap(PolicyLoader.load(policy))
    let tools = try agent.map { try Diagnostics.unwrap(AgentLoader.load($0)).tools } ?? []
    let paths = try FoundRuns.logs(of: runs)
    guard !paths.isEmpty else {
      Output.error(
        "agent-eval: no logs below \(runs.map { Visible.line($0) }.joined(separator: ", "))")
      throw ExitCode(2)
    }
    let backtester = PolicyBacktester(
      policy: rules, tools: tools.map(\.definition), examples: examples)
    let (found, failures) = await backtester.run(
      paths, jobs: jobs ?? Screen.processorCount
    ) { Output.progress("\($0) of \(paths.count) runs") }
    Output.progress("")
    if json {
      var object = found.json.objectValue ?? [:]
      object["policyDigest"] = rules.digest.map(JSONValue.string)
      object["failures"] = .array(
        failures.map { ["log": .string($0.log), "message": .string($0.message)] })
      Output.json(.object(object))
    } else {
      let report = BacktestReport(painter: Screen.painter, width: Screen.columns)
      Output.lines(report.lines(for: found))
    }
    for failure in failures { Output.error("agent-eval: \(Visible.line(failure.message))") }
    if found.widens, !allowWidening { throw ExitCode(1) }
    if !failures.isEmpty { throw ExitCode(2) }
    if found.undecided > 0, !allowWidening { throw ExitCode(3) }
  }
}
