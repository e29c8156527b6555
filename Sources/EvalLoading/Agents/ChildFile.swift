import AgentRuntime
import AgentTrace
import FilePaths
import Glibc

/// Tools of an agent file that are agents themselves.
enum ChildFile {
  private struct Draft: Sendable {
    var path = ""
    var name: String?
    var description = ""
    var isHandoff = false
    var inputSchema: JSONValue?
    var outputSchema: JSONValue?
    var sideEffect = SideEffect.read
    var sensitivity: String?
    var timeoutSeconds: Double?
    var handling = ToolChoice.Handling()
  }

  static let shape = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "agent", .path, \.path, required: true,
        "The file of the agent that a call runs, with a log, a policy and a context of its own."),
      Field("name", .name, \.name, "What the model calls it by; the agent's name where left out."),
      Field("description", .text, \.description, "What the model is told about it."),
      Field(
        "handoff", .flag, \.isHandoff,
        "Whether its answer is this agent's own, which then stops: the conversation is handed over."
      ),
      Field(
        "inputSchema", .jsonSchema, \.inputSchema,
        "The JSON Schema of what it is told; one text, “task”, where it is left out."),
      Field("outputSchema", .jsonSchema, \.outputSchema, "The JSON Schema of its answer."),
      Field(
        "sideEffect", .word, \.sideEffect,
        "What calling it does to the world by itself; read where it is left out, because what its run does is ruled on there."
      ),
      Field("sensitivity", .name, \.sensitivity, "A word of yours, for the log."),
      Field(
        "timeoutSeconds", .amount, \.timeoutSeconds, "Seconds of run time that a call may take."),
    ] + ToolFile.handling(\.handling)
  ).map(finished)

  @Sendable private static func finished(
    _ draft: Draft, _ reader: FieldReader
  ) -> ToolRegistration? {
    guard let agent = agent(at: draft.path, reader) else { return nil }
    var tool = SubAgent(agent, isHandoff: draft.isHandoff).registration(
      name: draft.name, description: draft.description,
      inputSchema: draft.inputSchema ?? SubAgent.inputSchema)
    tool.definition.outputSchema = draft.outputSchema
    tool.definition.sideEffect = draft.sideEffect
    tool.definition.sensitivity = draft.sensitivity
    tool.definition.timeoutSeconds = draft.timeoutSeconds
    let handling = draft.handling
    (tool.onError, tool.maxAttempts) = (handling.onError, handling.maxAttempts)
    (tool.retry, tool.breaker) = (handling.retry, handling.breaker)
    (tool.routes, tool.disclose) = (handling.routes, handling.disclose)
    for (key, isGiven) in [("onError", tool.onError == .retry), ("retry", tool.retry != nil)]
    where isGiven {
      reader.report(
        "“retry” has no effect on an agent: another attempt would be another run; leave that to the model",
        as: .warning, deeper: [.key(key)])
    }
    return tool
  }

  /// The agent of another file; what is wrong with that file is told with what is wrong with this one.
  private static func agent(at path: String, _ reader: FieldReader) -> AgentDefinition? {
    let key = [PathStep.key("agent")]
    guard !path.isEmpty else { return nil }
    guard !reader.family.holds(path) else {
      return reader.refuse(
        "the agent \(path.quotedPath) would call itself",
        hint: "an agent is no tool of its own, also not by way of others",
        deeper: key)
    }
    guard let family = reader.family.child() else {
      return reader.refuse(
        "agents lead to more than \(AgentFamily.fileLimit) files, or are nested deeper than \(AgentFamily.depthLimit)",
        deeper: key)
    }
    let loaded = AgentLoader.load(path, calledBy: family)
    reader.files += loaded.files
    reader.attached += loaded.diagnostics
    guard let agent = loaded.value else {
      return reader.refuse("the agent file \(path.quotedPath) has errors", deeper: key)
    }
    guard agent.command == nil else {
      return reader.refuse(
        "the agent \(path.quotedPath) is a command, which no other agent can call",
        hint: "make it a tool with “command”", deeper: key)
    }
    return agent
  }
}

/// The agent files that led to one, each calling the next.
struct AgentFamily {
  /// How deep files may lead to one another, and how many all together.
  static let depthLimit = 16
  static let fileLimit = 256

  /// Shared by all that one file leads to.
  private final class Count {
    var files = 1
  }

  private var paths: [String] = []
  private let count = Count()

  /// Whether a file is among them, under whatever name.
  func holds(_ path: String) -> Bool {
    let identity = FileIdentity(path)
    return paths.contains { other in
      other.hasSameUTF8(as: path) || identity != nil && FileIdentity(other) == identity
    }
  }

  /// The family of a file that the last of them leads to; `nil` where there are too many.
  func child() -> AgentFamily? {
    guard paths.count < Self.depthLimit else { return nil }
    count.files += 1
    return count.files <= Self.fileLimit ? self : nil
  }

  /// The same with a file more.
  func adding(_ path: String) -> AgentFamily {
    var family = self
    family.paths.append(path)
    return family
  }

  private struct FileIdentity: Equatable {
    let device: UInt64
    let inode: UInt64

    /// `nil` where there is no such file.
    init?(_ path: String) {
      guard let status = fileStatus(path) else { return nil }
      (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
  }
}
