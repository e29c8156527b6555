import AgentPipelines
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceJudging
import TraceReporting
import TraceStorage

/// Validates files.
struct Check: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract:
      "Check case, agent, policy and pipeline files, and say everything that is wrong at once.",
    discussion: """
      With --ready it says of each agent among the files, and of those that their cases name, what of its runtime is in place and what is \
      missing: state, tools, policy, context, memory, trace, evals and people. Cases of the agent are looked \
      for in the files named, and in --cases. Nothing is run. Exits with 0; with 1 where an agent does not \
      reach the level that --require names; with 2 where a file has mistakes.
      """
        + Example.list([
          "check EvalCases/ agents/": "every mistake in these files at once",
          "check agents/support.yaml --ready": "what is missing before the agent meets people",
          "check release.yaml --graph text": "the graph of a pipeline",
        ]))

  @Argument(help: "Files, or folders of them.", completion: .file())
  var paths: [String]

  @Flag(help: "Say how ready agents are, in place of the mistakes in files.")
  var ready = false

  @Option(help: "With --ready: further case files, or folders of them.", completion: .file())
  var cases: [String] = []

  @Option(help: "With --ready: the level that each agent has to reach: draft, guarded or ready.")
  var require: ReadinessRecord.Level?

  @Option(help: "With --ready: text, json or markdown.")
  var format = ReadinessFormat.text

  @Option(
    help: ArgumentHelp("Draw the graph of a pipeline: text, mermaid or svg.", valueName: "form"))
  var graph: GraphForm?

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    if graph != nil, ready || paths.count != 1 {
      throw ValidationError("--graph draws one pipeline file, and does not go with --ready.")
    }
    guard !ready, !cases.isEmpty || require != nil || format != .text else { return }
    throw ValidationError("--cases, --require and --format go with --ready.")
  }

  func run() throws {
    if ready { return try tellReadiness() }
    if let graph { return try draw(graph) }
    let diagnostics = FileChecker.check(paths, isLog: LogFiles.looksLikeLog)
    for diagnostic in diagnostics { Output.line(Visible.line(diagnostic.description)) }
    let errors = diagnostics.count { $0.severity == .error }
    Output.error(
      diagnostics.isEmpty
        ? "no mistakes"
        : "\(Figures.count(errors, "error")), \(Figures.count(diagnostics.count - errors, "warning"))"
    )
    if errors > 0 { throw ExitCode(2) }
  }

  /// Draws the graph of a pipeline, errors in it aside.
  private func draw(_ form: GraphForm) throws {
    let definition = try Diagnostics.unwrap(PipelineLoader.load(paths[0]))
    let picture = try GraphPicture(of: definition.spec)
    switch form {
    case .text: Output.lines(picture.text)
    case .mermaid: Output.lines(picture.mermaid)
    case .svg: Output.lines(picture.svg)
    }
  }

  private func tellReadiness() throws {
    let wrong = FileChecker.check(paths + cases, isLog: LogFiles.looksLikeLog).filter {
      $0.severity == .error
    }
    for diagnostic in wrong { Output.line(Visible.line(diagnostic.description)) }
    if !wrong.isEmpty { throw ExitCode(2) }
    let loaded = CaseLoader.load(paths + cases, areRunsElsewhere: true)
    let records = AgentLoader.all(in: paths + loaded.cases.compactMap(\.agent)).map {
      AgentReadiness($0.agent, path: $0.path, cases: loaded.cases).record
    }
    guard !records.isEmpty else {
      throw ValidationError(
        "No agent file is among \(paths.joined(separator: ", ")): an agent has “name” and “model”, or “command”."
      )
    }
    switch format {
    case .text:
      for (index, record) in records.enumerated() {
        if index > 0 { Output.line("") }
        for line in record.lines { Output.line(line) }
      }
    case .json: Output.json(.array(records.map(\.json)))
    case .markdown: for record in records { for line in record.markdown { Output.line(line) } }
    }
    if let require, records.contains(where: { !$0.level.reaches(require) }) { throw ExitCode(1) }
  }
}

/// How a graph is drawn.
enum GraphForm: String, CaseIterable, ExpressibleByArgument {
  case text, mermaid, svg
}

extension GraphPicture {
  /// The picture of a pipeline.
  fileprivate init(of spec: PipelineSpec) throws {
    let graph = try PipelineGraph(checking: spec)
    let places = Dictionary(
      spec.tasks.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    let standIns = Set(graph.standIns)
    var edges = graph.edges.map { edge in
      let source = spec.tasks[edge.from].id
      let isStream =
        switch spec.tasks[edge.to].forEach {
        case .parts(let task): task == source
        case .list(let reference): reference.task == source && reference.path.first == .each
        case nil: false
        }
      return Edge(from: edge.from, to: edge.to, isDotted: isStream)
    }
    for (place, task) in spec.tasks.enumerated() {
      for other in task.recover.compactMap(\.task) {
        if let to = places[other] { edges.append(Edge(from: place, to: to, isDotted: true)) }
      }
    }
    self.init(
      name: spec.name,
      nodes: spec.tasks.enumerated().map { place, task in
        Node(
          id: task.id,
          note: standIns.contains(place) ? "stands in, \(task.kind.rawValue)" : task.kind.rawValue,
          isMany: task.isFanOut)
      }, edges: edges)
  }
}

/// How readiness is told.
enum ReadinessFormat: String, CaseIterable, ExpressibleByArgument {
  case text, json, markdown
}

extension ReadinessRecord.Level: ExpressibleByArgument {}
