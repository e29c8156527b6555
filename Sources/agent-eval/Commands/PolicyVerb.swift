import ArgumentParser

/// What a policy says, and what if another one.
struct PolicyVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Look at a policy, and ask what it would have said.",
    discussion: Example.alone([
      "policy check policies/refunds.yaml": "rules that never decide",
      "policy backtest runs/ --policy policies/refunds.yaml": "what another policy would have said",
    ]),
    subcommands: [PolicyCheckVerb.self, PolicyBacktestVerb.self])
}
