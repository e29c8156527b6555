import ArgumentParser

@main
struct AgentEval: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent-eval", abstract: "Replay and evaluate LLM agents from their traces.")
}
