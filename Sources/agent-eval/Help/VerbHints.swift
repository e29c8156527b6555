import ArgumentParser
import TraceMatching
import TraceReporting

/// What is said of a verb or an option that there is not: the nearest one, or what does the same here.
enum VerbHints {
  /// Words of other tools, and how that is said here.
  private static let words: KeyValuePairs<String, String> = [
    "view show cat print open read see": "show LOG",
    "test tests eval evals evaluate judge score assess grade pytest": "run CASES",
    "ls dir runs logs": "list [FOLDER]",
    "log timeline trace": "show LOG",
    "play step debug debugger dbg inspect-run rewind": "replay LOG",
    "rerun reexecute reproduce": "replay LOG --reexecute",
    "watch": "run CASES --watch",
    "tail follow": "show LOG --follow",
    "lint validate verify-case": "check FILES",
    "start new create scaffold quickstart": "init FOLDER",
    "exec launch invoke chat ask": "record AGENT GOAL",
    "capture proxy wrap": "record --proxy -- COMMAND",
    "convert load ingest": "import FILES --out FOLDER",
    "dump save to": "export FORMAT LOG",
    "snapshot baseline update-snapshots bless": "accept CASES",
    "regress regression gate": "run CASES --against accepted",
    "stats summary summarize overview profile": "inspect FOLDER",
    "find search grep filter": "list FOLDER --tool NAME, or query FOLDER 'SELECT …'",
    "sql select": "query FOLDER 'SELECT …'",
    "html page ui serve web dashboard": "show LOG --html FILE, or run CASES --report html:FILE",
    "report junit": "run CASES --report FORMAT:FILE",
    "continue go unpause": "resume LOG",
    "allow grant yes deny reject no": "approve LOG CALL --by NAME [--deny]",
    "reply respond": "answer LOG TEXT",
    "undo revert": "rollback LOG --to CHECKPOINT",
    "stop kill halt": "pause LOG",
    "branch what-if": "fork LOG --at step:N",
    "redact anonymize mask": "scrub LOG",
    "fix recover salvage": "repair LOG",
    "reindex catalogue catalog": "index FOLDER",
    "minimize shrink reduce": "promote LOG",
    "settings configure env": "config",
    "health status info": "doctor",
    "trends flaky": "history",
    "graph draw": "check PIPELINE --graph text",
    "version": "--version",
    "completion completions": "--generate-completion-script bash|zsh|fish",
    "topics topic man docs": "help",
  ]

  /// The command line that does what a word of another tool asks for.
  static func command(for word: String) -> String? {
    let word = word.lowercased()
    return words.first { $0.key.split(separator: " ").contains(word[...]) }?.value
  }

  /// What is said of a first word that is no verb.
  static func message(unknownVerb word: String) -> String {
    let verbs = AgentEval.verbs.map { $0._verb }
    var hint = ""
    if let command = command(for: word) {
      hint = " Say “agent-eval \(command)”."
    } else if let verb = Spelling.nearest(to: word, among: verbs) {
      hint = " Did you mean “\(verb)”?"
    }
    return "agent-eval: there is no verb “\(Visible.line(word, width: 80))”.\(hint) "
      + "The verbs are \(verbs.joined(separator: ", "))."
  }

  /// Options of other tools or of other verbs, by the verb that they were given to, and how that is said.
  private static let options: KeyValuePairs<String, String> = [
    "run --html": "--report html:FILE", "run --junit": "--report junit:FILE",
    "run --junitxml": "--report junit:FILE", "run --format": "--report FORMAT:FILE",
    "run --output": "--report FORMAT:FILE", "run --parallel": "--jobs N",
    "run --workers": "--jobs N", "run --concurrency": "--jobs N", "run --repeat": "--trials N",
    "run --epochs": "--trials N", "run --count": "--trials N", "run --tag": "--filter TAG",
    "run --grep": "--filter GLOB", "run --baseline": "--against accepted",
    "run --lf": "--last-failed", "run --resume": "--continue", "run --verbose": "--full",
    "run --record": "--live", "show --raw": "--json", "show --verbose": "--full",
    "show --all": "--full", "record --model": "the agent file's key “model”",
  ]

  /// What is said beneath a message of an unknown option; `nil` where nothing is known of it.
  ///
  /// ArgumentParser has named the nearest of the verb's own options already.
  static func hint(unknownOption option: String, of verb: String) -> String? {
    if let same = options.first(where: { $0.key == "\(verb) \(option)" })?.value {
      return "Say \(same)."
    }
    guard option.hasPrefix("--") else { return nil }
    let others = AgentEval.verbs.filter { $0._verb != verb && $0.has(option: option) }
      .map { $0._verb }
    guard !others.isEmpty else { return nil }
    let named = others.prefix(4).map { "agent-eval \($0)" }.joined(separator: ", ")
    return "\(option) belongs to \(named)\(others.count > 4 ? " and others" : "")."
  }

  /// Verbs that take one text, which a shell cuts into words unless it stands in quotes.
  private static let texts: KeyValuePairs<String, String> = [
    "record": #"record AGENT "GOAL""#, "answer": #"answer LOG "TEXT""#,
    "query": "query FOLDER 'SELECT …'",
  ]

  /// What is said where a verb was given more words than it takes; `nil` where nothing is known of it.
  static func hint(tooManyArgumentsOf verb: String) -> String? {
    texts.first { $0.key == verb }.map {
      "A text of several words needs quotes: agent-eval \($0.value)."
    }
  }

  /// The first option among the arguments of a verb that it does not have; ArgumentParser may complain of something
  /// else first.
  static func unknownOption(in arguments: [String]) -> String? {
    guard let name = arguments.first, let verb = AgentEval.verbs.first(where: { $0._verb == name }),
      verb.configuration.subcommands.isEmpty
    else { return nil }
    return arguments.dropFirst().prefix { $0 != "--" }.lazy
      .filter { $0.hasPrefix("--") }
      .map { String($0.prefix { $0 != "=" }) }
      .first { !verb.has(option: $0) && $0 != "--generate-completion-script" }
  }
}

extension ParsableCommand {
  /// What the command is called by: the name that it gives itself, or that of its type.
  static var _verb: String {
    configuration.commandName ?? String(describing: Self.self).lowercased()
  }

  /// Whether help lists an option. Costs laying out the help: for messages alone.
  fileprivate static func has(option: String) -> Bool {
    helpMessage().split { " ,[]\n".contains($0) }.contains(option[...])
  }
}
