import ArgumentParser
import Glibc
import LiveBoundary
import TraceMatching
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
      """,
    version: "0.1.0",
    subcommands: [
      Init.self, Inspect.self, Run.self, Accept.self, Compare.self, Mutate.self, Promote.self,
      Merge.self, Check.self,
      Record.self,
      Resume.self, Pause.self, Rollback.self,
      Approve.self,
      AnswerVerb.self, Show.self, Replay.self,
      Fork.self, Bisect.self, Diff.self, PolicyVerb.self, Tools.self, Doctor.self,
      Verify.self, Repair.self, Scrub.self,
      Import.self, Receive.self, Export.self, Index.self, List.self, History.self, Query.self,
      Schema.self,
      ConformanceVerb.self,
    ])

  static func main() async {
    // A reader that goes away is no failure; writes then fail with EPIPE, see `Output`.
    signal(SIGPIPE, SIG_IGN)
    // Nor is a file that may not grow the end of the process: the write fails with EFBIG, and is told.
    signal(SIGXFSZ, SIG_IGN)
    SignalListener.letSignalsIn()
    // Memory is asked of the system in larger pieces; by default each thread asks page by page.
    _ = mallopt(MallocOption.topPad, 1 << 20)
    _ = mallopt(MallocOption.trimThreshold, 64 << 20)
    if let request = RunRequest(plain: CommandLine.arguments.dropFirst()) {
      do {
        try await request.perform()
        end(0)
      } catch {
        end(Run.self, with: error)
      }
    }
    let command: any ParsableCommand
    do {
      command = try parseAsRoot()
    } catch  where exitCode(for: error) == .success {
      exit(withError: error)  // Help.
    } catch {
      refuseUnknownVerb(CommandLine.arguments.dropFirst().first)
      // What is quoted there may come from anywhere: names of files from a glob, for example.
      Output.error(Visible.lines(fullMessage(for: error)).joined(separator: "\n"))
      Glibc.exit(64)
    }
    do {
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
      end(0)
    } catch {
      end(type(of: command), with: error)
    }
  }

  /// Tells what stopped a verb, and ends the process.
  private static func end(_ verb: any ParsableCommand.Type, with error: any Error) -> Never {
    if let code = error as? ExitCode { Glibc.exit(code.rawValue) }
    if exitCode(for: error) == .success { exit(withError: error) }  // Help.
    if let mistake = error as? ValidationError {
      // Found in the arguments only now, with a look at the files that they name.
      Output.error(
        "Error: \(mistake)\n  See 'agent-eval \(verb._verb) --help' for more information.")
      Glibc.exit(64)
    }
    Output.error(Visible.lines("agent-eval: \(error)").joined(separator: "\n"))
    Glibc.exit(2)
  }

  /// Ends the process with a code, or with 2 where all went well but for results that were lost.
  ///
  /// Nothing that was made is taken apart first, which for thousands of results takes a while.
  static func end(_ code: Int32) -> Never {
    if code == 0, let lost = Output.lostResults {
      Output.error(Visible.lines("agent-eval: \(lost)").joined(separator: "\n"))
      Glibc.exit(2)
    }
    Glibc.exit(code)
  }

  /// ArgumentParser calls a misspelt verb an unexpected argument; we name the nearest one.
  private static func refuseUnknownVerb(_ word: String?) {
    guard let word, !word.hasPrefix("-"), word != "help" else { return }
    let verbs = configuration.subcommands.map { $0._verb }
    guard !verbs.contains(word) else { return }
    let nearest = Spelling.nearest(to: word, among: verbs)
    let hint = nearest.map { " Did you mean “\($0)”?" } ?? ""
    Output.error(
      "agent-eval: there is no verb “\(Visible.line(word, width: 80))”.\(hint) "
        + "The verbs are \(verbs.joined(separator: ", ")).")
    Glibc.exit(64)
  }
}

extension ParsableCommand {
  /// What the command is called by: the name that it gives itself, or that of its type.
  fileprivate static var _verb: String {
    configuration.commandName ?? String(describing: Self.self).lowercased()
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
