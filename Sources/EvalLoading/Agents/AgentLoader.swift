public import AgentRuntime
import AgentTrace

/// What a file holds, and what is wrong with it.
public struct Loaded<Value: Sendable>: Sendable {
  /// `nil` where an error stands among the diagnostics.
  public var value: Value?
  /// Errors and warnings, sorted by file and line.
  public var diagnostics: [Diagnostic]
  /// The paths of the files that were read.
  public var files: [String]

  /// What was loaded; a value that comes with an error is dropped.
  init(_ value: Value?, _ diagnostics: [Diagnostic], files: [String] = []) {
    self.files = files
    self.diagnostics = diagnostics.sorted()
    self.value = diagnostics.hasErrors ? nil : value
  }
}

/// Reads agent files; Docs/agent-files.md specifies them, and Docs/command-agents.md those of commands.
public enum AgentLoader {
  /// Reads an agent file, and the policy file that it may name.
  ///
  /// - Returns: The agent, with the digest of the file's bytes and its folder; or everything that is
  ///   wrong with the file.
  public static func load(
    _ path: String, limits: SourceLimits = SourceLimits()
  ) -> Loaded<AgentDefinition> {
    load(SourceDocument(path: path, limits: limits))
  }

  /// Reads the file of an agent that others call.
  static func load(_ path: String, calledBy family: AgentFamily) -> Loaded<AgentDefinition> {
    load(SourceDocument(path: path, limits: SourceLimits()), calledBy: family)
  }

  /// Reads an agent file whose bytes are there already, for example from standard input.
  public static func load(
    _ bytes: [UInt8], path: String, limits: SourceLimits = SourceLimits()
  ) -> Loaded<AgentDefinition> {
    load(SourceDocument(bytes, path: path, limits: limits))
  }

  /// The agents among some files and folders of them, each with its path; files with mistakes are passed over, for
  /// ``FileChecker`` to tell.
  public static func all(in paths: [String]) -> [(path: String, agent: AgentDefinition)] {
    FileFinder(paths).files.compactMap { file in
      let document = SourceDocument(path: file.path, limits: SourceLimits())
      guard document.roots.lazy.compactMap({ FileKind(of: $0.value) }).first == .agent,
        let agent = load(document).value
      else { return nil }
      return (file.path, agent)
    }
  }

  static func load(
    _ document: SourceDocument, calledBy family: AgentFamily = AgentFamily()
  ) -> Loaded<AgentDefinition> {
    guard let root = document.onlyRoot else {
      return Loaded(nil, document.diagnostics + document.rootCountDiagnostics(of: "an agent"))
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: document.path))
    reader.family = family.adding(document.path)
    var agent = AgentFile.start
    if case .object(let object) = root.value, object["command"] != nil, object["model"] == nil {
      agent = CommandAgentFile.agent(object, CommandAgentFile.fileFields, reader) ?? agent
      agent.digest = document.digest
    } else if case .object(let object) = root.value {
      reader.read(object, into: &agent, AgentFile.fields)
      agent.digest = document.digest
      agent.source = object
      agent.folder = reader.folder.path
    } else {
      reader.reportKind(of: root.value, expected: "an agent, a mapping with “name” and “model”")
    }
    reader.checkMentions(
      tools: agent.tools.map(\.definition.name) + agent.sources.flatMap(\.knownNames),
      open: agent.sources.filter(\.mayHaveOthers).map(\.prefix))
    reader.checkPrompts(of: agent)
    reader.checkCost(of: agent)
    reader.addDecisions(to: &agent)
    return Loaded(
      agent,
      document.diagnostics + reader.diagnostics(path: document.path, in: root) + reader.attached,
      files: [document.path] + reader.files)
  }
}

/// Reads policy files: the rules of an agent in a file of their own.
public enum PolicyLoader {
  /// Reads a policy file.
  ///
  /// - Returns: The policy, with the digest of the file's bytes; or everything that is wrong.
  public static func load(_ path: String, limits: SourceLimits = SourceLimits()) -> Loaded<Policy> {
    let result = read(SourceDocument(path: path, limits: limits))
    return Loaded(result.policy, result.diagnostics)
  }

  /// A policy with the tools that its rules name, each with what to say if there is no such tool.
  struct Result {
    var policy: Policy?
    var diagnostics: [Diagnostic]
    var mentions: [(mention: ToolMention, place: Diagnostic)]
  }

  static func read(_ path: String) -> Result { read(SourceDocument(path: path)) }

  static func read(_ document: SourceDocument) -> Result {
    guard let root = document.onlyRoot else {
      return Result(
        policy: nil,
        diagnostics: document.diagnostics + document.rootCountDiagnostics(of: "a policy"),
        mentions: [])
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: document.path))
    var policy = Policy(digest: document.digest)
    if case .object(let object) = root.value {
      reader.read(object, into: &policy, PolicyFile.fields)
      AuthorizerFile.check(policy, reader)
      policy.source = object
    } else {
      reader.reportKind(of: root.value, expected: "a policy, a mapping with “rules”")
    }
    return Result(
      policy: policy,
      diagnostics: document.diagnostics + reader.diagnostics(path: document.path, in: root),
      mentions: reader.mentionPlaces(path: document.path, in: root))
  }
}

extension SourceDocument {
  /// The one root of a file that holds one thing.
  var onlyRoot: SourceRoot? { roots.count == 1 ? roots[0] : nil }

  /// What to say of a file that holds none or many.
  func rootCountDiagnostics(of noun: String) -> [Diagnostic] {
    if roots.count > 1 {
      let place = roots[1].tree.start
      return [
        Diagnostic(
          .error, path: path, line: place.line, column: place.column,
          message: "a second document; a file holds \(noun) and no more")
      ]
    }
    guard !diagnostics.hasErrors else { return [] }
    return [Diagnostic(.error, path: path, line: 1, message: "empty; it should hold \(noun)")]
  }
}
