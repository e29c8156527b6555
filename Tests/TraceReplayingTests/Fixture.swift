import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceStorage

/// A recorded fixture with the agent it was made by.
struct Fixture: CustomTestStringConvertible, Sendable {
  var name: String
  var path: String

  /// Every recorded run under `Fixtures/runs`.
  static let all = Project.files(below: "Fixtures/runs", ending: ".jsonl.gz").map { file in
    Fixture(
      name: String(file.split(separator: "/")[2].dropLast(".jsonl.gz".count)),
      path: Project.path(file))
  }

  var testDescription: String { name }

  func events() throws -> [Event] { try readLog(path) }

  /// The agent whose file has the digest that the log names.
  func agent() throws -> AgentDefinition {
    let digest = try events().first?.data["agent"]?["digest"]?.stringValue
    for file in Project.files(below: "Fixtures/agents") {
      if let agent = AgentLoader.load(Project.path(file)).value, agent.digest == digest {
        return agent
      }
    }
    throw NoAgent(name: name)
  }

  struct NoAgent: Error {
    var name: String
  }
}

extension AgentState {
  init(after events: some Sequence<Event>) {
    self.init()
    for event in events { apply(event) }
  }
}
