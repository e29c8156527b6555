import AgentRuntime
import AgentTrace
import EvalLoading
import TraceReplaying
import TraceReporting

/// The agent that goes on from a recorded run.
enum RecordedAgent {
  /// Loads the agent file that is given, or the one below this folder that the log names; a policy file
  /// takes the place of its policy.
  ///
  /// - Parameter notesPolicy: Whether a policy that is not the recorded one is told of.
  /// - Throws: `RecordingError` and `LogError` of the log, `AgentSearchError`; exits with 2 and what is
  ///   wrong with a file.
  static func load(
    of log: String, agent: String?, policy: String?, notesPolicy: Bool = true
  ) throws -> (agent: AgentDefinition, path: String) {
    let started = try RecordedSteps(path: log).started
    let path =
      try agent
      ?? AgentSearch().path(ofAgent: started.agentName, digest: started.agentDigest)
    if agent == nil { Output.error("agent  \(Visible.line(path))") }
    var definition = try Diagnostics.unwrap(AgentLoader.load(path))
    if let policy {
      definition.policy = try Diagnostics.unwrap(PolicyLoader.load(policy))
    } else if notesPolicy, let recorded = started.policyDigest, recorded != definition.policy.digest
    {
      Output.error(
        "note: \(Visible.line(log)) was recorded with a policy file of its own; "
          + "give it with --policy, or the agent's policy rules.")
    }
    return (definition, path)
  }
}

/// How a run is made again that went on from a recorded one, as a command.
struct MakingAgain {
  /// The words of the command, the program's name aside.
  var arguments: [String]

  init(of log: String, agent: String, policy: String?) {
    arguments = ["replay", log, "--reexecute", "--agent", agent]
    if let policy { arguments += ["--policy", policy] }
  }

  /// The command as a shell takes it.
  var line: String {
    (["agent-eval"] + arguments).map(ShellWord.quote).joined(separator: " ")
  }
}
