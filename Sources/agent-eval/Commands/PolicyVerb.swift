import ArgumentParser

/// What if another policy.
struct PolicyVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Ask what another policy would have said.",
    subcommands: [PolicyBacktestVerb.self])
}
