import AgentRuntime
import ArgumentParser
import FilePaths
import Glibc
import LiveBoundary
import TraceReporting

/// The build with the HTTP stack, for what reaches over the network.
///
/// Why: Docs/decisions/0013-two-builds.md
enum LiveBuild {
  /// The variable in which `bin/agent-eval` says where it is.
  static let scriptVariable = "AGENT_EVAL_SCRIPT"

  /// Where this build lacks what the agents need, hands the command over to the one that has it.
  ///
  /// To be called before anything was written, run or read from standard input: the other build begins
  /// the command anew in this process's place. Returns where this build can do it itself.
  ///
  /// - Throws: exit code 2, behind words that say what needs the stack and how it is built, where
  ///   `bin/agent-eval` did not start this process.
  static func require(for agents: some Sequence<AgentDefinition>) throws {
    try require(for: agents.lazy.compactMap(\.networkNeed).first)
    if let fault = agents.lazy.compactMap(LiveBoundary.fault(of:)).first {
      Output.error(Visible.line("agent-eval: \(fault)."))
      throw ExitCode(2)
    }
  }

  /// The same for what is named.
  ///
  /// - Parameter need: for example `the tool “search”`; `nil` where nothing needs the network.
  static func require(for need: String?) throws {
    guard let need, !LiveBoundary.hasHTTP else { return }
    if let script = getenv(scriptVariable).map({ String(cString: $0) }), !script.isEmpty,
      getenv("AGENT_EVAL_BUILD") == nil
    {
      setenv("AGENT_EVAL_BUILD", "live", 1)
      var arguments = [script] + CommandLine.pathArguments.dropFirst()
      arguments.withUTF8Pointers { _ = execv(script, $0) }
      let reason = String(cString: strerror(errno))
      Output.error(Visible.line("agent-eval: \(script) cannot be started: \(reason)."))
      throw ExitCode(2)
    }
    Output.error(
      Visible.line(
        "agent-eval: \(need) needs the network, and this build has no HTTP stack. "
          + "Call bin/agent-eval, which builds what it needs, or build with "
          + "`swift build -c release --traits Live`."))
    throw ExitCode(2)
  }
}

extension [String] {
  /// The texts as C has them, with a null pointer at the end.
  fileprivate mutating func withUTF8Pointers(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Void
  ) {
    let pointers = map { $0.withPath { strdup($0) } }
    defer { for pointer in pointers { free(pointer) } }
    (pointers + [nil]).withUnsafeBufferPointer { buffer in
      if let base = buffer.baseAddress { body(base) }
    }
  }
}
