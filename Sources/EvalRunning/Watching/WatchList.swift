import AgentRuntime
import AgentTrace
public import EvalLoading
import FilePaths
import TraceJudging
import TraceStorage

/// The files that outcomes rest on: what they are is looked up anew each time, since files come and go.
public struct WatchList: Sendable {
  /// Files by themselves.
  private var files: Set<[UInt8]> = []
  /// Folders, and the endings of the names below them that count.
  private var folders: [(path: String, endings: [String])] = []

  private static let caseEndings = [".yaml", ".yml", ".json", ".jsonl"]
  private static let logEndings = [LogFormat.suffix, LogFormat.suffix + LogFormat.openSuffix]
  /// How deep folders are searched.
  private static let depthLimit = 64

  /// - Parameters:
  ///   - paths: Case files and folders of them.
  ///   - runsFolder: A folder of logs; `nil` where there is none.
  public init(paths: [String], runsFolder: String?) {
    for path in paths {
      add(path)
      folders.append((path, Self.caseEndings))
    }
    if let runsFolder { folders.append((runsFolder, Self.logEndings)) }
  }

  /// Adds what cases rest on: the files that they came from and may share, their recordings, their
  /// agents with what these name, and the programs that judge along.
  public mutating func add(_ loaded: CaseLoader.Result) {
    for path in loaded.files {
      add(path)
      // A file that cases share may come to be.
      add(Self.folder(of: path) + "defaults.yaml")
    }
    var agents: Set<[UInt8]> = []
    for evalCase in loaded.cases {
      if let recording = evalCase.recording {
        add(recording)
        add(recording + LogFormat.openSuffix)
      }
      for program in evalCase.expected.programs {
        add(command: program.command, in: program.folder ?? ".")
      }
      for path in evalCase.expected.judges.compactMap(JudgeLoader.path(of:))
      where agents.insert(Array(path.utf8)).inserted { add(agent: path) }
      if let agent = evalCase.agent, agents.insert(Array(agent.utf8)).inserted { add(agent: agent) }
      if let pipeline = evalCase.pipeline, agents.insert(Array(pipeline.utf8)).inserted {
        add(pipeline: pipeline)
      }
      if let command = evalCase.writtenAgent?.agent.command { add(agent: command) }
    }
  }

  /// Adds the baselines that cases are compared with.
  ///
  /// - Parameter word: `accepted` for those beside the case files, or the path of a folder.
  public mutating func add(baselines word: String, of cases: [EvalCase]) {
    guard word.hasSameUTF8(as: BaselineFiles.folderName) else {
      add(word)
      folders.append((word, [".txt"]))
      return
    }
    for evalCase in cases { add(BaselineFiles.path(of: evalCase)) }
  }

  private mutating func add(pipeline path: String) {
    add(path)
    let loaded = PipelineLoader.load(path)
    for file in loaded.files { add(file) }
    if let definition = loaded.value { add(programsOf: definition) }
  }

  private mutating func add(programsOf pipeline: PipelineDefinition) {
    for work in pipeline.works {
      switch work {
      case .command(let command): add(command: command.arguments, in: pipeline.folder)
      case .agent(let agent, _): add(programsOf: agent)
      case .pipeline(let inner): add(programsOf: inner)
      case .human: break
      }
    }
  }

  /// The files that an agent file leads to, itself among them, and those that the words of its commands name; sorted.
  static func files(ofAgent path: String) -> [String] { files { $0.add(agent: path) } }

  /// The files that a pipeline file leads to, itself among them, and those that the words of its commands name; sorted.
  static func files(ofPipeline path: String) -> [String] { files { $0.add(pipeline: path) } }

  /// The files that the words of an agent's command name which stands in a case; sorted.
  static func files(ofWrittenAgent evalCase: EvalCase) -> [String] {
    files { list in
      if let command = evalCase.writtenAgent?.agent.command { list.add(agent: command) }
    }
  }

  private static func files(_ add: (inout WatchList) -> Void) -> [String] {
    var list = WatchList(paths: [], runsFolder: nil)
    add(&list)
    return list.files.sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private mutating func add(agent path: String) {
    add(path)
    let loaded = AgentLoader.load(path)
    for file in loaded.files { add(file) }
    if let agent = loaded.value { add(programsOf: agent) }
  }

  /// Adds what the commands of an agent name, and those of the agents that it calls.
  private mutating func add(programsOf agent: AgentDefinition) {
    if let command = agent.command { add(agent: command) }
    for tool in agent.tools {
      guard case .command(let command) = tool.implementation else { continue }
      add(command: command.arguments, in: agent.folder)
    }
    for source in agent.sources {
      guard case .command(let command) = source.implementation else { continue }
      add(command: command.arguments, in: agent.folder)
    }
    for authorizer in agent.policy.authorizers {
      guard case .command(let command) = authorizer.implementation else { continue }
      add(command: command.arguments, in: authorizer.folder ?? agent.folder)
    }
    for child in agent.children { add(programsOf: child) }
  }

  /// Adds what the words of a command may name of its folder: its program, its script, its settings.
  private mutating func add(agent command: CommandAgent) {
    for word in command.arguments where PlaceholderText(word).names.isEmpty {
      add(word.utf8.first == UInt8(ascii: "/") ? word : "\(command.folder)/\(word)")
    }
  }

  /// Adds whatever the words of a command may name: its program, its script, its settings.
  private mutating func add(command: [String], in folder: String) {
    for word in command where !word.isEmpty {
      add(word.utf8.first == UInt8(ascii: "/") ? word : "\(folder)/\(word)")
    }
  }

  private mutating func add(_ path: String) { files.insert(Array(path.utf8)) }

  /// Every path to be looked at, in no order: files that are not there too.
  var paths: Set<String> {
    var paths = Set(files.map { String(decoding: $0, as: UTF8.self) })
    for folder in folders {
      Self.search(folder.path, depth: 0) { path in
        if folder.endings.contains(where: path.hasSuffix) { paths.insert(path) }
      }
    }
    return paths
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[...slash])
  }

  private static func search(_ folder: String, depth: Int, _ found: (String) -> Void) {
    guard depth < depthLimit, let names = entryNames(in: folder) else { return }
    for name in names {
      guard name.utf8.first != UInt8(ascii: ".") else { continue }
      let path = folder.utf8.last == UInt8(ascii: "/") ? folder + name : "\(folder)/\(name)"
      guard let status = linkStatus(path) else { continue }
      if status.isFolder {
        search(path, depth: depth + 1, found)
      } else {
        found(path)
      }
    }
  }
}
