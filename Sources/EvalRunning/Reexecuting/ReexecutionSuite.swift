public import AgentPipelines
public import AgentRuntime
public import AgentTrace
public import EvalLoading
import Synchronization
public import TraceReplaying
import TraceStorage

/// Makes many recorded runs again, each with the agent it was recorded with as it is today.
public struct ReexecutionSuite: Sendable {
  /// Which agent a run is made again with.
  public enum Agents: Sendable {
    /// These for all: of parts of a run that other files went on behind, the one that made them.
    case given([AgentDefinition])
    /// The one whose file is found by the recorded name.
    case found(AgentSearch)
  }

  /// What became of one log.
  public struct Item: Sendable {
    /// The log, as the caller named it.
    public var log: String
    /// The agent file that was found; `nil` where one was given.
    public var agentPath: String?
    /// The run made again; `nil` where it could not be.
    public var reexecution: Reexecution?
    /// The pipeline made again, of a log that is a pipeline's own; `nil` of any other.
    public var pipeline: PipelineReexecution?
    /// Why it could not be; `nil` where it could.
    public var failure: String?
    /// The case that the run was made for, where cases were given and this one is none of them: what it said
    /// is taken from the log.
    public var missingCase: String?
    /// How many runs that are parts of it were not made again, since their logs are not beside its own.
    public var missingParts = 0
  }

  private let agents: Agents
  private let cases: [EvalCase]
  private let explains: Bool
  private let change: @Sendable (inout AgentDefinition) -> Void
  private let jobs: Int
  private let loaded = LoadedAgents()
  private let pipelines: FoundPipelines

  /// - Parameters:
  ///   - cases: of a run that was made for one of them, by its `caseId`, the case as it is today: what it asks
  ///     for, its person, and its agent where agents are found.
  ///   - jobs: how many logs are worked on side by side; fewer than one count as one.
  ///   - explains: whether what has changed is put back, one thing at a time, to find what explains a
  ///     difference.
  ///   - change: says of each agent what its file does not, as `record` would: another policy, limits.
  ///   - pipeline: the file of each pipeline that is made again and is no task of another; `nil` for the one that is
  ///     found by the recorded name.
  public init(
    agents: Agents, pipeline: String? = nil, cases: [EvalCase] = [], jobs: Int = 1,
    explains: Bool = true,
    change: @escaping @Sendable (inout AgentDefinition) -> Void = { _ in }
  ) {
    self.agents = agents
    pipelines = FoundPipelines(file: pipeline)
    self.cases = cases
    self.change = change
    self.explains = explains
    self.jobs = max(1, jobs)
  }

  /// Makes each run again; what became of them stands in the order of the logs.
  ///
  /// - Parameter progress: told of each as it is done, from any task, one at a time.
  public func run(
    _ logs: [String], progress: @escaping @Sendable (Item) -> Void = { _ in }
  ) async -> [Item] {
    let logs = Self.withParts(logs)
    let slots = ResultSlots<Item>(count: logs.count)
    let list = WorkList(Array(logs.indices))
    @Sendable func work() async {
      while let index = list.take() {
        let item = await item(logs[index])
        slots.put(item, at: index) { progress(item) }
      }
    }
    let others = (1..<max(1, min(jobs, logs.count))).map { _ in Task { await work() } }
    await work()
    for other in others { await other.value }
    return slots.results.compactMap { $0 }
  }

  /// A log, and for that of a part of another run the log at the top and the tools and tasks that led to it.
  private struct Place: Sendable {
    var log: String
    var root: String?
    var names: [String] = []
    var missing = 0
  }

  /// Some logs, each followed by those of the runs that are parts of it. Those are made again with the agents that the
  /// root's agent names, and the tasks of the root's pipeline.
  private static func withParts(_ logs: [String]) -> [Place] {
    // What cannot be read is told of when it is made again.
    let trees = logs.map { (try? LogFiles.tree(ofLog: $0)) ?? [(path: $0, names: [], missing: 0)] }
    // A folder may hold a child before its parent.
    let children = PathSet(trees.flatMap { $0.dropFirst().map(\.path) })
    // Where each is said to be another's child, none is.
    let isCircle = trees.allSatisfy { children.contains($0[0].path) }
    var known = PathSet()
    var places: [Place] = []
    for tree in trees where isCircle || !children.contains(tree[0].path) {
      for (path, names, missing) in tree where known.insert(path) {
        let root = names.isEmpty ? nil : tree[0].path
        places.append(Place(log: path, root: root, names: names, missing: missing))
      }
    }
    return places
  }

  private func item(_ place: Place) async -> Item {
    let log = place.log
    var item = Item(log: log)
    item.missingParts = place.missing
    do {
      if try WaitingPipeline.isPipeline(log) {
        try await makePipeline(&item, place)
        return item
      }
      if let root = place.root {
        if try WaitingPipeline.isPipeline(root) {
          if try await makeTask(&item, root, place.names) { return item }
        } else {
          item.reexecution = try await Reexecution(
            of: log, with: try childAgents(below: root, place.names, &item), restoring: nil)
          return item
        }
      }
      let steps = try RecordedSteps(path: log)
      let evalCase = steps.started.caseId.flatMap { id in
        cases.first { $0.caseId.hasSameUTF8(as: id) }
      }
      if !cases.isEmpty, evalCase == nil { item.missingCase = steps.started.caseId }
      let agents = try agents(for: steps, of: evalCase, in: log, &item)
      item.reexecution = try await Reexecution(
        of: log, with: agents, goal: evalCase.map { .string($0.input) },
        restoring: explains ? restoring(agents, of: evalCase) : nil)
    } catch {
      item.failure = "\(error)"
    }
    return item
  }

  /// A pipeline is found by its recorded name, also where agents are given: none of those is one. One that is a task is
  /// the one that the pipeline around it names.
  private func makePipeline(_ item: inout Item, _ place: Place) async throws {
    if let root = place.root, let outer = try? pipelines.definition(of: root) {
      guard case .pipeline(let inner)? = outer.definition.work(at: place.names) else {
        throw Self.noTask(item, root, place.names)
      }
      item.pipeline = try await PipelineRecording.reexecution(of: item.log, by: inner)
      return
    }
    let found = try pipelines.definition(of: item.log)
    item.agentPath = found.path
    item.pipeline = try await PipelineRecording.reexecution(of: item.log, by: found.definition)
  }

  /// Makes the run of a task again, or of an agent below it, with the agent that the pipeline names; false where that
  /// pipeline is not found, or other agents were given.
  private func makeTask(
    _ item: inout Item, _ root: String, _ names: [String]
  ) async throws -> Bool {
    guard case .found = agents, let outer = try? pipelines.definition(of: root) else {
      return false
    }
    guard case .agent(var agent, _)? = outer.definition.work(at: names) else {
      throw Self.noTask(item, root, names)
    }
    try sayAnew(&agent, of: nil, item.log)
    let agents = [agent]
    item.reexecution = try await Reexecution(
      of: item.log, with: agents, restoring: explains ? restoring(agents, of: nil) : nil)
    return true
  }

  private static func noTask(_ item: Item, _ root: String, _ names: [String]) -> Failure {
    Failure(
      description:
        "\(item.log): the pipeline of \(root) has no such run at “\(names.joined(separator: "/"))”")
  }

  private func agents(
    for steps: RecordedSteps, of evalCase: EvalCase?, in log: String, _ item: inout Item
  ) throws -> [AgentDefinition] {
    var agents: [AgentDefinition]
    switch self.agents {
    case .given(let given):
      let judge = given.last.flatMap { JudgeAgent.definition(of: steps.started, model: $0.model) }
      agents = judge.map { [$0] } ?? given
    case .found(let search):
      // A judgement says itself all that it was made by.
      if let judge = JudgeAgent.definition(of: steps.started) { return [judge] }
      do {
        item.agentPath =
          try evalCase?.agent
          ?? search.path(ofAgent: steps.started.agentName, digest: steps.lastAgentDigest())
      } catch {
        throw Failure(description: "\(log): \(error)")
      }
      agents = [try loaded.agent(item.agentPath ?? "")]
    }
    for index in agents.indices { try sayAnew(&agents[index], of: evalCase, log) }
    return agents
  }

  /// The agents that a child may be, as those of the root name them.
  private func childAgents(
    below root: String, _ tools: [String], _ item: inout Item
  ) throws -> [AgentDefinition] {
    let steps = try RecordedSteps(path: root)
    let evalCase = steps.started.caseId.flatMap { id in
      cases.first { $0.caseId.hasSameUTF8(as: id) }
    }
    let children = try agents(for: steps, of: evalCase, in: root, &item)
      .compactMap { $0.agent(calledBy: tools) }
    guard !children.isEmpty else {
      throw Failure(
        description:
          "\(item.log): the agent of \(root) calls none by “\(tools.joined(separator: "/"))”")
    }
    return children
  }

  /// Says of an agent what its file does not: what the case says, then what was asked for.
  private func sayAnew(
    _ agent: inout AgentDefinition, of evalCase: EvalCase?, _ log: String
  ) throws {
    if let human = evalCase?.human {
      agent.human = human
      agent.note(.evalCase, of: "human")
    }
    do {
      try evalCase?.conditions.apply(to: &agent)
    } catch {
      throw Failure(description: "\(log): \(error)")
    }
    change(&agent)
  }

  /// Puts inputs of these agents back, and says anew what their files do not say.
  private func restoring(
    _ agents: [AgentDefinition], of evalCase: EvalCase?
  ) -> Reexecution.Restoring {
    { index, changes in
      let places = changes.map {
        AgentLoader.Restored(path: $0.path, value: $0.recorded, position: $0.position)
      }
      guard var agent = AgentLoader.load(agents[index], restoring: places) else { return nil }
      let isPolicyGiven = !changes.contains { $0.path.first == "policy" }
      let policy = agent.policy
      // What cannot be said of it is no agent.
      do { try sayAnew(&agent, of: evalCase, "") } catch { return nil }
      if !isPolicyGiven { agent.policy = policy }
      return agent
    }
  }

  /// A failure in words.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }
}

extension ReexecutionSuite.Failure {
  /// Of a file, its errors.
  fileprivate init(_ diagnostics: [Diagnostic]) {
    description = diagnostics.filter { $0.severity == .error }.map(\.description)
      .joined(separator: "\n")
  }
}

/// The pipelines of logs, read once each: of the file that is given, or the one below this folder that the log names.
/// The folder is looked through once, and only where a log needs that.
private final class FoundPipelines: Sendable {
  typealias Found = (path: String, definition: PipelineDefinition)

  private struct Known {
    var search: AgentSearch?
    var definitions: [String: Loaded<PipelineDefinition>] = [:]
  }

  private let file: String?
  private let known = Mutex(Known())

  init(file: String?) { self.file = file }

  func definition(of log: String) throws -> Found {
    let path: String
    do {
      path = try file ?? WaitingPipeline.definitionFile(of: log, among: search)
    } catch {
      throw ReexecutionSuite.Failure(description: "\(log): \(error)")
    }
    let loaded = known.withLock { known in
      let loaded = known.definitions[path] ?? PipelineLoader.load(path)
      known.definitions[path] = loaded
      return loaded
    }
    guard let definition = loaded.value else { throw ReexecutionSuite.Failure(loaded.diagnostics) }
    return (path, definition)
  }

  private var search: AgentSearch {
    known.withLock { known in
      let search = known.search ?? AgentSearch(pipelines: true)
      known.search = search
      return search
    }
  }
}

extension PipelineDefinition {
  /// What does the task that some names lead to, through the pipelines that are tasks and the agents that these call;
  /// `nil` where they lead to none.
  ///
  /// - Parameter names: tasks with their elements, then tools.
  func work(at names: some Collection<String>) -> Work? {
    guard let name = names.first,
      let task = name.split(separator: "[", maxSplits: 1).first.map(String.init),
      let place = spec.tasks.firstIndex(where: { $0.id.hasSameUTF8(as: task) }),
      works.indices.contains(place)
    else { return nil }
    let rest = names.dropFirst()
    guard !rest.isEmpty else { return works[place] }
    switch works[place] {
    case .pipeline(let inner): return inner.work(at: Array(rest))
    case .agent(let agent, _): return agent.agent(calledBy: rest).map { .agent($0, nil) }
    case .command, .human: return nil
    }
  }
}

extension PipelineDivergence {
  /// The first difference as one JSON object: what a program may read.
  public var json: JSONValue {
    ["seq": JSONValue(seq), "cause": .string(cause), "message": .string("\(self)")]
  }
}

/// Agent files that were read, each once.
private final class LoadedAgents: Sendable {
  private let agents = Mutex<[String: Loaded<AgentDefinition>]>([:])

  func agent(_ path: String) throws -> AgentDefinition {
    let loaded = agents.withLock { agents in
      let loaded = agents[path] ?? AgentLoader.load(path)
      agents[path] = loaded
      return loaded
    }
    guard let agent = loaded.value else { throw ReexecutionSuite.Failure(loaded.diagnostics) }
    return agent
  }
}

extension ReexecutionSuite.Item {
  /// `faithful`, `diverged` or `failed`.
  public var result: String {
    guard let isFaithful else { return "failed" }
    return isFaithful ? "faithful" : "diverged"
  }

  /// Whether what was made is what is recorded; `nil` where nothing could be made.
  public var isFaithful: Bool? {
    pipeline.map { $0.divergence == nil } ?? reexecution?.isFaithful
  }

  /// How many events were made.
  public var made: Int { pipeline?.events ?? reexecution?.made ?? 0 }

  /// What is to be said of a run that was not made again to its end, in one sentence.
  public var note: String? {
    let left = missingParts == 0 ? [] : [Self.note(missingParts: missingParts)]
    guard let reexecution else { return left.first }
    let sentences =
      left
      + (missingCase.map {
        ["The case “\($0)” is none of those given; what it said is taken from the log."]
      } ?? []) + reexecution.takenOver.map(\.note)
      + [reexecution.isFaithful ? Self.note(of: reexecution.ending) : nil].compactMap { $0 }
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  private static func note(missingParts count: Int) -> String {
    count == 1
      ? "One run that is a part of it was not made again: its log is not beside this one."
      : "\(count) runs that are parts of it were not made again: their logs are not beside this one."
  }

  private static func note(of ending: RecordingEnd) -> String? {
    switch ending {
    case .stop, .resumed: return nil
    case .unfinished(let offset):
      return "The log "
        + (offset.map { "is torn at byte \($0)" } ?? "has no stop, its run is unfinished")
        + "; the run was made again as far as it goes."
    case .missing(let seq):
      return "Events are missing from event \(seq) on; the run was made again up to there."
    }
  }

  /// The item as one JSON object: what a program may read.
  public var json: JSONValue {
    var object: JSONObject = ["log": .string(log), "result": .string(result)]
    object["agentFile"] = agentPath.map(JSONValue.string)
    object["failure"] = failure.map(JSONValue.string)
    object["note"] = note.map(JSONValue.string)
    if missingParts > 0 { object["notMadeAgain"] = JSONValue(missingParts) }
    if let reexecution {
      object["runId"] = .string(reexecution.runId)
      object["agent"] = .string(reexecution.agentName)
      object["eventsMade"] = JSONValue(reexecution.made)
      object["divergence"] = reexecution.divergence?.json
    }
    if let pipeline {
      object["eventsMade"] = JSONValue(pipeline.events)
      object["divergence"] = pipeline.divergence?.json
    }
    return .object(object)
  }
}

extension Reexecution.TakenOver {
  /// What is to be said of it, in one sentence.
  fileprivate var note: String {
    let files = [("agent file", agentDigest), ("policy", policyDigest)].compactMap { name, digest in
      digest.map { "\(name) \($0.prefix(12))…" }
    }
    return "Events \(events.lowerBound) to \(events.upperBound) were made with other files"
      + (files.isEmpty ? "" : " (" + files.joined(separator: ", ") + ")")
      + " and taken as the log has them."
  }
}
