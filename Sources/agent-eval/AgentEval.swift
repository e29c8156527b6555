import ArgumentParser
import FilePaths
import Glibc
import LiveBoundary
import TraceReporting

/// Replay and evaluate LLM agents from their traces.
@main
struct AgentEval: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent-eval",
    abstract: "Replay and evaluate LLM agents from their traces.",
    discussion: """
      Exit codes: 0 fine, 1 a case failed (or a run did not succeed, a log is damaged), \
      2 it could not be done, 3 inconclusive, 64 wrong usage.

      `agent-eval help VERB` says more of a verb, `agent-eval help TOPIC` of \
      \(HelpTopic.all.map(\.name).joined(separator: ", ")).
      """
        + Example.list([
          "run EvalCases/": "judge: every case of a folder",
          "record agents/support.yaml \"Refund order 1234\"":
            "record: run an agent and keep its log",
          "show latest": "look: at the newest run",
          "diff good.jsonl.gz latest": "compare: it with a good one",
          "verify .agent-eval/runs": "manage: are the logs whole?",
        ]),
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(
        name: "Judge",
        subcommands: [
          Init.self, Run.self, Check.self, Accept.self, Promote.self, Mutate.self, Merge.self,
        ]),
      CommandGroup(
        name: "Record",
        subcommands: [
          Record.self, Import.self, Receive.self, Approve.self, AnswerVerb.self, Resume.self,
          Pause.self,
          Rollback.self, Tools.self, Doctor.self,
        ]),
      CommandGroup(
        name: "Look",
        subcommands: [Show.self, Replay.self, Inspect.self, List.self, Query.self, History.self]),
      CommandGroup(
        name: "Compare",
        subcommands: [Diff.self, Compare.self, Fork.self, Bisect.self, PolicyVerb.self]),
      CommandGroup(
        name: "Manage",
        subcommands: [
          Verify.self, Repair.self, Scrub.self, Export.self, Index.self, ConfigVerb.self,
          Schema.self, ConformanceVerb.self,
        ]),
    ])

  /// Every verb, in the order of help.
  static var verbs: [any ParsableCommand.Type] {
    configuration.groupedSubcommands.flatMap(\.subcommands)
  }

  static func main() async {
    // A reader that goes away is no failure; writes then fail with EPIPE, see `Output`.
    signal(SIGPIPE, SIG_IGN)
    // Nor is a file that may not grow the end of the process: the write fails with EFBIG, and is told.
    signal(SIGXFSZ, SIG_IGN)
    SignalListener.letSignalsIn()
    // Memory is asked of the system in larger pieces; by default each thread asks page by page.
    _ = mallopt(MallocOption.topPad, 1 << 20)
    _ = mallopt(MallocOption.trimThreshold, 64 << 20)
    let arguments = NegativeValues.joined(
      RunLogs.spellingOut(Array(CommandLine.pathArguments.dropFirst())))
    HyphenatedNames.refuse(in: arguments)
    Settings.require(for: arguments.first)
    if let request = RunRequest(plain: arguments) {
      do {
        try await request.perform()
        end(0)
      } catch {
        end(Run.self, with: error)
      }
    }
    if HelpTopic.show(arguments) { end(0) }
    var command: any ParsableCommand
    do {
      command = try parseAsRoot(arguments)
    } catch {
      Screen.giveHelpRoom()
      if exitCode(for: error) == .success { show(error) }
      refuseUnknownVerb(arguments.first)
      // What is quoted there may come from anywhere: names of files from a glob, for example.
      Output.error(words(for: error, arguments).joined(separator: "\n"))
      Glibc.exit(64)
    }
    do {
      try type(of: command).refuseOptionsGivenTwice(in: arguments)
      if let verb = command as? any Verb { Screen.choose(verb.screen) }
      command = try NamedFiles.found(for: command)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      end(0)
    } catch {
      end(type(of: command), with: error)
    }
  }

  /// Tells what stopped a verb, and ends the process.
  private static func end(_ verb: any ParsableCommand.Type, with error: any Error) -> Never {
    Paging.end()
    if let code = error as? ExitCode { end(code.rawValue) }
    Screen.giveHelpRoom()
    if exitCode(for: error) == .success { show(error) }
    tellLostResults()
    if let mistake = error as? ValidationError {
      // Found in the arguments only now, with a look at the files that they name.
      Output.error(
        "Error: \(mistake)\n  See 'agent-eval \(verb._verb) --help' for more information.")
      Glibc.exit(64)
    }
    Output.error(Visible.lines("agent-eval: \(error)").joined(separator: "\n"))
    Glibc.exit(2)
  }

  /// Prints help, the version or a script of completions, which ArgumentParser throws, and ends the process.
  private static func show(_ asked: any Error) -> Never {
    let text = HelpCompletion.added(to: fullMessage(for: asked))
    // None of it is from a trace, and a script has to stay what it is.
    if !text.isEmpty { Output.raw(Array((text + "\n").utf8)) }
    end(0)
  }

  /// Says that results were lost; returns whether they were.
  @discardableResult
  private static func tellLostResults() -> Bool {
    guard let lost = Output.lostResults else { return false }
    Output.error(Visible.lines("agent-eval: \(lost)").joined(separator: "\n"))
    return true
  }

  /// Ends the process with a code, or with 2 where nothing graver happened than that results were lost; that is said
  /// whatever the code is.
  ///
  /// Nothing that was made is taken apart first, which for thousands of results takes a while.
  static func end(_ code: Int32) -> Never {
    Paging.end()
    // That a case failed is graver, that one is inconclusive is not.
    Glibc.exit(tellLostResults() && (code == 0 || code == 3) ? 2 : code)
  }

  /// ArgumentParser calls a misspelt verb an unexpected argument; we say which verb does it.
  private static func refuseUnknownVerb(_ word: String?) {
    guard let word, !word.hasPrefix("-"), word != "help" else { return }
    guard !verbs.contains(where: { $0._verb == word }) else { return }
    Output.error(VerbHints.message(unknownVerb: word))
    Glibc.exit(64)
  }

  /// What ArgumentParser says of wrong arguments, with what we know of an option that is none of the verb's.
  private static func words(for error: any Error, _ arguments: [String]) -> [String] {
    var lines = Visible.lines(fullMessage(for: error))
    guard let verb = arguments.first else { return lines }
    let hint =
      if let option = VerbHints.unknownOption(in: arguments) {
        VerbHints.hint(unknownOption: option, of: verb)
      } else if lines.first?.contains("nexpected argument") == true {
        VerbHints.hint(tooManyArgumentsOf: verb)
      } else {
        String?.none
      }
    if let hint { lines.insert("  " + Visible.line(hint), at: 1) }
    return lines
  }
}

/// What `mallopt(3)` of glibc calls them; `malloc.h` is in no module of Swift's.
private enum MallocOption {
  /// `M_TRIM_THRESHOLD`: bytes that may lie free at the top before they are given back.
  static let trimThreshold: Int32 = -1
  /// `M_TOP_PAD`: bytes asked for beyond what is needed now.
  static let topPad: Int32 = -2
}

@_silgen_name("mallopt") private func mallopt(_ name: Int32, _ value: Int32) -> Int32

extension CommandLine {
  /// The arguments, in which paths that are no UTF-8 keep their bytes.
  static var pathArguments: [String] {
    (0..<Int(argc)).compactMap { index in unsafeArgv[index].map { String(path: $0) } }
  }
}
