import AgentPipelines
import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import FilePaths
import TraceReplaying
import TraceReporting
import TraceStorage

/// The options of `replay --reexecute`.
struct ReexecutionOptions: ParsableArguments {
  @Flag(
    name: [.customShort("x"), .long],
    help: """
      Make recorded runs again with the agent and the policy of today, on recorded answers alone, and \
      report the first difference of each. Takes many logs, and folders of them.
      """)
  var reexecute = false

  @Option(
    help: """
      The agent file; else the one below the current folder that has the recorded name. May be given \
      again for a run that went on with another file: each part is made again with the file that made it.
      """, completion: .file())
  var agent: [String] = []

  @Option(help: "A policy file in place of the agent's own policy.", completion: .file())
  var policy: String?

  @Option(
    help: """
      Case files, or a folder of them: a run that was made for one of these cases is made again with what \
      the case asks for today, its person and its agent.
      """, completion: .file())
  var cases: [String] = []

  @Option(
    help: ArgumentHelp("A file of what a person says, as record takes it.", valueName: "file"),
    completion: .file())
  var approve: String?

  @Option(
    help: """
      How a difference is explained: inputs, by putting back what has changed, one thing at a time; or \
      none, by its event alone.
      """)
  var explain: Explaining?

  /// How a difference is explained.
  enum Explaining: String, ExpressibleByArgument, CaseIterable {
    case inputs
    case none
  }

  /// Whether something is said that means nothing to a run that is looked at as it was.
  var isGiven: Bool {
    !agent.isEmpty || !cases.isEmpty || policy != nil || approve != nil || explain != nil
  }
}

/// The options of `replay --reexecute` that say how it is done.
struct RemakingOptions: ParsableArguments {
  @Option(help: "How many runs are made again side by side. Default: one for each processor.")
  var jobs: Int?

  @Flag(help: "Exit with 125 instead of 2 where it could not be done, as git bisect run asks.")
  var bisect = false

  func validate() throws {
    if let jobs, jobs < 1 { throw ValidationError("--jobs takes a number from 1 on.") }
  }
}

/// Makes recorded runs again and prints what became of them.
struct ReexecutionCommand {
  var options: ReexecutionOptions
  var conditions: ConditionOptions
  var remaking: RemakingOptions
  var json: Bool

  func run(_ logs: [String]) async throws {
    do {
      let code = try await report(logs)
      if code != 0 { throw ExitCode(code) }
    } catch let code as ExitCode {
      throw code.rawValue == 2 && remaking.bisect ? ExitCode(125) : code
    } catch  where remaking.bisect {
      Output.error(Visible.lines("agent-eval: \(error)").joined(separator: "\n"))
      throw ExitCode(125)
    }
  }

  /// Returns the exit code: a difference outranks what could not be done.
  private func report(_ arguments: [String]) async throws -> Int32 {
    let logs = try arguments.flatMap { path throws(FolderError) in
      // A log that is missing is told of with the others.
      isFolder(path) ? try LogFiles.all(below: path) : [path]
    }
    guard !logs.isEmpty else {
      let places = arguments.map { Visible.line($0) }.joined(separator: ", ")
      Output.error("agent-eval: no logs below \(places)")
      return 2
    }
    if arguments.count == 1, logs == arguments, let log = logs.first,
      (try? WaitingPipeline.isPipeline(log)) == true
    {
      return try await reportPipeline(log)
    }
    // Logs of which none is there need no agent: that they are missing is all there is to say.
    let isNothingThere = logs.allSatisfy { linkStatus($0) == nil }
    let agents = isNothingThere ? .found(AgentSearch()) : try agents()
    let items = try await suite(agents: agents).run(logs) { item in
      if logs.count > 1 { Output.progress("made again: \(Visible.line(item.log, width: 60))") }
    }
    if logs.count > 1 { Output.progress("") }
    if json {
      for item in items { Output.json(item.json) }
      if items.count > 1 { Output.json(Self.summary(of: items)) }
    } else if items.count == 1 {
      tell(items[0])
    } else {
      tell(items)
    }
    if items.contains(where: { $0.isFaithful == false }) { return 1 }
    return items.contains { $0.failure != nil } ? 2 : 0
  }

  private func agents() throws -> ReexecutionSuite.Agents {
    if options.agent.isEmpty { return .found(AgentSearch()) }
    if let pipeline = options.agent.first(where: PipelineLoader.isPipeline) {
      let file = Visible.line(pipeline)
      throw ValidationError(
        "\(file) is a pipeline: it goes with --agent for the log of one of its runs, given alone")
    }
    return .given(try options.agent.map { try Diagnostics.unwrap(AgentLoader.load($0)) })
  }

  private func cases() throws -> [EvalCase] {
    guard !options.cases.isEmpty else { return [] }
    let loaded = CaseLoader.load(options.cases, areRunsElsewhere: true)
    Diagnostics.print(loaded.diagnostics)
    guard !loaded.diagnostics.hasErrors else { throw ExitCode(2) }
    return loaded.cases
  }

  /// Makes a pipeline again, and the runs of its tasks that lie beside it: one answer for all of them.
  private func reportPipeline(_ log: String) async throws -> Int32 {
    let items = try await suite(agents: .found(AgentSearch()), pipeline: options.agent.first)
      .run([log])
    guard let root = items.first else { return 2 }
    let parts = items.dropFirst()
    let missing = items.reduce(0) { $0 + $1.missingParts }
    let isFailed = items.contains { $0.failure != nil }
    let isDiverged = items.contains { $0.isFaithful == false }
    if json {
      var object = root.json.objectValue ?? [:]
      object["result"] = .string(isDiverged ? "diverged" : isFailed ? "failed" : "faithful")
      object["divergence"] = object["divergence"] ?? .null
      if !parts.isEmpty { object["runs"] = .array(parts.map(\.json)) }
      if missing > 0 { object["notMadeAgain"] = JSONValue(missing) }
      object["note"] = nil
      Output.json(.object(object))
    } else {
      tell(pipeline: root, parts, missing: missing)
    }
    return isDiverged ? 1 : isFailed ? 2 : 0
  }

  private func tell(
    pipeline root: ReexecutionSuite.Item, _ parts: ArraySlice<ReexecutionSuite.Item>, missing: Int
  ) {
    let log = Visible.line(root.log)
    if let failure = root.failure {
      Output.error(Visible.lines("agent-eval: \(failure)").joined(separator: "\n"))
    } else if let divergence = root.pipeline?.divergence {
      Output.line("diverged  \(log)")
      Output.line("          \(Visible.line("\(divergence)"))")
    } else {
      let alike = parts.count { $0.isFaithful == true }
      Output.line(
        "faithful  \(log), \(Figures.count(root.made, "event"))"
          + (alike > 0 ? "; with it \(Figures.count(alike, "run")) below it" : ""))
    }
    for part in parts where part.isFaithful != true { tell(part) }
    if missing > 0 {
      Output.line(
        "note      \(Figures.count(missing, "run")) below it not made again: no log of theirs is there"
      )
    }
  }

  private func suite(
    agents: ReexecutionSuite.Agents, pipeline: String? = nil
  ) throws -> ReexecutionSuite {
    let policy = try options.policy.map { try Diagnostics.unwrap(PolicyLoader.load($0)) }
    let person = try options.approve.map { try Diagnostics.unwrap(PersonLoader.load($0)) }
    let conditions = conditions
    return ReexecutionSuite(
      agents: agents, pipeline: pipeline, cases: try cases(),
      jobs: remaking.jobs ?? Screen.processorCount,
      explains: options.explain != ReexecutionOptions.Explaining.none,
      change: { agent in
        if let policy { agent.policy = policy }
        if let person {
          agent.human = person
          agent.note(.commandLine, of: "human")
        }
        conditions.apply(to: &agent)
      })
  }

  // MARK: Telling

  private func tell(_ item: ReexecutionSuite.Item) {
    if let failure = item.failure {
      return Output.error(Visible.lines("agent-eval: \(failure)").joined(separator: "\n"))
    }
    if let path = item.agentPath { Output.error("agent  \(Visible.line(path))") }
    let report = DivergenceReport(painter: Screen.painter, width: Screen.width)
    if let finding = Self.finding(of: item) {
      Output.lines(report.lines(finding))
      if let note = item.note { Output.line("  " + Visible.line(note)) }
      return
    }
    let made = item.made
    Output.line(
      Screen.painter.paint("faithful", .good)
        + "  \(Visible.line(item.log)): \(Figures.count(made, "event")) made again")
    if let note = item.note { Output.line("  " + Visible.line(note)) }
  }

  private func tell(_ items: [ReexecutionSuite.Item]) {
    let report = DivergenceReport(painter: Screen.painter, width: Screen.width)
    let findings = items.compactMap(Self.finding)
    for item in items {
      if let failure = item.failure {
        Output.error(Visible.lines("agent-eval: \(failure)").joined(separator: "\n"))
      } else if let finding = Self.finding(of: item) {
        Output.line(report.line(finding))
      } else if let note = item.note {
        Output.line("note      \(Visible.line(item.log))  " + Visible.line(note))
      }
    }
    if !findings.isEmpty { Output.line("") }
    let causes = Divergence.Cause.allCases.map(\.rawValue)
    Output.lines(
      report.table(
        findings, causes: causes + (findings.contains { $0.cause == "task" } ? ["task"] : [])))
    if !findings.isEmpty { Output.line("") }
    let failed = items.count { $0.failure != nil }
    Output.line(
      "\(Figures.count(items.count, "run")): \(items.count - findings.count - failed) faithful, "
        + "\(findings.count) diverged, \(failed) could not be made again")
  }

  private static func finding(of item: ReexecutionSuite.Item) -> DivergenceReport.Finding? {
    if let divergence = item.pipeline?.divergence {
      return DivergenceReport.Finding(
        log: item.log, cause: divergence.cause, step: 0, seq: divergence.seq, recorded: nil,
        now: nil, input: nil, explanation: "\(divergence)", fields: [], fieldCount: 0, changes: [])
    }
    guard let divergence = item.reexecution?.divergence else { return nil }
    return DivergenceReport.Finding(
      log: item.log, cause: divergence.cause.rawValue, step: divergence.step, seq: divergence.seq,
      recorded: divergence.recorded?.words, now: divergence.now?.words,
      input: divergence.input.map { "\($0.kind.rawValue) \($0.name)" },
      explanation: divergence.input?.message,
      fields: divergence.fields.map { ($0.pointer.description, $0.recorded, $0.now) },
      fieldCount: divergence.fieldCount, changes: divergence.changes.map(\.key))
  }

  private static func summary(of items: [ReexecutionSuite.Item]) -> JSONValue {
    let causes = items.compactMap {
      $0.pipeline?.divergence?.cause ?? $0.reexecution?.divergence?.cause.rawValue
    }
    // A pipeline has a cause of its own, told where there is one.
    let known = Divergence.Cause.allCases.map(\.rawValue)
    let counts = (known + (causes.contains("task") ? ["task"] : [])).map { cause in
      (cause, JSONValue(causes.count { $0 == cause }))
    }
    return [
      "summary": [
        "runs": JSONValue(items.count),
        "faithful": JSONValue(items.count { $0.isFaithful == true }),
        "diverged": .object(JSONObject(counts)),
        "failed": JSONValue(items.count { $0.failure != nil }),
      ]
    ]
  }
}

extension Divergence.Happening {
  /// The event in a few words.
  fileprivate var words: String {
    [type.rawValue, callId, tool, word].compactMap { $0 }.joined(separator: " ")
  }
}
