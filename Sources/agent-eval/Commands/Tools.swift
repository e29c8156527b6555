import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import LiveBoundary
import TraceReporting

/// Asks the servers of an agent file which tools they have.
struct Tools: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract:
      "Ask an agent's servers which tools they have, and show what a run would take of them.",
    discussion: """
      Starts the servers of the agent file's mcpServers, asks each for its list, and ends them. What a run \
      would be told of each tool is shown, with the digest that the agent file may ask for. Exits with 2 \
      where a server gives no list that is of use.
      """
        + Example.list([
          "tools agents/support.yaml": "what the servers of an agent offer"
        ]))

  @Argument(help: "The agent file.", completion: .file())
  var agent: String

  @Flag(help: "Print one line of JSON for each server: what a run would record.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() async throws {
    let definition = try Diagnostics.unwrap(AgentLoader.load(agent))
    try LiveBuild.require(for: [definition])
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    if definition.sources.isEmpty { Output.error("\(Visible.line(agent)): no mcpServers") }
    var names = definition.tools.map(\.definition.name)
    var hasFailed = false
    for registration in definition.sources {
      let source = LiveBoundary.source(
        for: registration, folder: definition.folder, clock: SystemClock(),
        cancellation: cancellation)
      let offer = await source?.list() ?? ToolOffer(error: "nobody here can ask it")
      await source?.close()
      let listed = registration.listed(offer, besides: names)
      names += listed.tools.map(\.name)
      hasFailed = hasFailed || listed.error != nil
      if json { Output.json(.object(listed.encoded)) } else { show(listed) }
    }
    if hasFailed { throw ExitCode(2) }
  }

  private func show(_ listed: ToolsListed) {
    let painter = Screen.painter
    let server = ["name", "version", "protocol"].compactMap { listed.server[$0]?.stringValue }
      .filter { !$0.isEmpty }
    Output.line(
      Visible.line("\(listed.source)\(server.isEmpty ? "" : ": " + server.joined(separator: " "))"))
    if !listed.offered.isEmpty { Output.line("  digest \(listed.digest)") }
    if let error = listed.error {
      Output.line("  " + painter.paint("error", .bad) + ": " + Visible.line(error))
    }
    var table = TextTable(headings: ["  TOOL", "EFFECT", "AGAIN", "DESCRIPTION"], keepsLast: true)
    for tool in listed.tools {
      table.append([
        "  \(tool.name)", tool.sideEffect.rawValue, tool.isSafeTwice ? "yes" : "no",
        tool.description,
      ])
    }
    if !listed.tools.isEmpty {
      Output.lines(table.lines(painter: painter, width: Screen.width))
    }
    for tool in listed.withheld {
      Output.line(
        "  " + painter.paint("withheld", .warning) + ": "
          + Visible.line("\(tool.name): \(tool.reason)"))
    }
  }
}
