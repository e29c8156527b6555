import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import LiveBoundary
import Synchronization
import TraceReporting

/// Looks whether what a run needs is there.
struct Doctor: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Look whether what runs need is there, and say what to do where it is not.",
    discussion: """
      Looks at the build, the clock, the sandbox, proxies and authorities; of an agent file, at the variables \
      that it names (never at their values), and asks each of its models and servers once, which may cost a \
      few tokens. Exits with 1 where a run would not go well.
      """
        + Example.list([
          "doctor": "whether what runs need is there",
          "doctor agents/support.yaml": "and what this agent needs",
        ]))

  @Argument(help: "An agent file.", completion: .file())
  var agent: String?

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() async throws {
    let definition = try agent.map { try Diagnostics.unwrap(AgentLoader.load($0)) }
    try LiveBuild.require(for: definition?.networkNeed)
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let problems = Mutex(0)
    let checkup = Checkup(until: cancellation) { finding in
      if finding.kind == .problem { problems.withLock { $0 += 1 } }
      Self.show(finding)
    }
    Self.show(
      Checkup.Finding(.fine, "program", "agent-eval \(AgentEval.configuration.version)"))
    checkup.look()
    if let definition { await checkup.look(at: definition) }
    if problems.withLock({ $0 }) > 0 { throw ExitCode(1) }
  }

  private static func show(_ finding: Checkup.Finding) {
    let (word, role): (String, Painter.Role) =
      switch finding.kind {
      case .fine: ("ok", .good)
      case .note: ("note", .warning)
      case .problem: ("PROBLEM", .bad)
      }
    func padded(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    Output.line(
      Screen.painter.paint(padded(word, 7), role) + "  " + padded(finding.subject, 8) + "  "
        + Visible.line(finding.words))
  }
}
