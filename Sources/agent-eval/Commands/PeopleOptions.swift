import AgentRuntime
import ArgumentParser
import EvalLoading
import Glibc
import LiveBoundary
import TraceReporting

/// Who answers questions and approves calls.
struct PeopleOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Who answers: ask, for whoever sits at the terminal, or a file of what a person says.",
      valueName: "ask|file"), completion: .file())
  var approve: String?

  /// Puts the person of a file in the place of the agent's own; `nil` where nobody else is asked.
  ///
  /// - Throws: exits with 2 and what is wrong with the file.
  func person(
    for agent: inout AgentDefinition, _ cancellation: Cancellation
  ) throws -> (any Person)? {
    guard let approve else { return nil }
    guard approve == "ask" else {
      agent.human = try Diagnostics.unwrap(PersonLoader.load(approve))
      agent.note(.commandLine, of: "human")
      return nil
    }
    let name = getenv("USER").map { String(cString: $0) } ?? ""
    return TerminalPerson(
      name: name.isEmpty ? "person" : name, cancellation: cancellation,
      tell: { text in Output.error(Visible.lines(text).joined(separator: "\n")) })
  }
}
