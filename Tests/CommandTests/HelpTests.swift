import AgentTrace
import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import agent_eval

@Suite("Help")
struct HelpTests {
  /// Every verb with its words: `policy check` too.
  static let verbs: [(words: [String], type: any ParsableCommand.Type)] = AgentEval.verbs.flatMap {
    verb in
    [([verb._verb], verb)]
      + verb.configuration.subcommands.map { ([verb._verb, $0._verb], $0) }
  }

  /// The words of a command line, as a shell reads those of examples.
  private static func words(_ line: String) -> [String] {
    var (words, word, quote): ([String], String?, Character?) = ([], nil, nil)
    for character in line {
      switch character {
      case quote: quote = nil
      case "'" where quote == nil, "\"" where quote == nil:
        quote = character
        word = word ?? ""
      case " " where quote == nil:
        if let done = word { words.append(done) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }

  @Test(
    "the completion of bash offers files or folders where a path is meant, and formats of reports"
  )
  func completion() async throws {
    let folder = try TemporaryFolder()
    try folder.write("EvalCases/one.yaml", "cases: []")
    try folder.write("Ever.jsonl.gz", "x")
    let outcome = try await shell(
      """
      "$0" --generate-completion-script bash >script && source ./script
      ask() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
        _agent-eval agent-eval "${@: -1}" "${@: -2:1}"
        printf '%s\\n' "${COMPREPLY[@]}" | sort | tr '\\n' ' '; echo
      }
      ask agent-eval run Ev
      ask agent-eval show Ev
      ask agent-eval run --runs Ev
      ask agent-eval diff one Ev
      ask agent-eval record agent.yaml goal --policy Ev
      ask agent-eval run --report js
      ask agent-eval run --filter Ev
      ask agent-eval help rec
      ask agent-eval help exit
      ask agent-eval export ot
      ask agent-eval export otlp Ev
      """, in: folder.path)
    #expect(
      outcome.lines.map { $0.split(separator: " ").joined(separator: " ") } == [
        "EvalCases Ever.jsonl.gz", "EvalCases Ever.jsonl.gz", "EvalCases",
        "EvalCases Ever.jsonl.gz",
        "EvalCases Ever.jsonl.gz", "json", "", "receive record", "exit-codes", "otlp otlp-json",
        "EvalCases Ever.jsonl.gz",
      ], "\(outcome)")
  }

  @Test(
    "the completions of zsh and fish offer verbs and topics behind help, and formats of exports")
  func completionOfOtherShells() async throws {
    let zsh = try await Binary.run(["--generate-completion-script", "zsh"]).output
    let behindHelp = try #require(zsh.range(of: "_agent-eval_help() {")).upperBound
    let place = try #require(
      zsh[behindHelp...].split(separator: "\n").first { $0.contains("verb or topic") })
    let fish = try await Binary.run(["--generate-completion-script", "fish"]).lines
    let line = try #require(fish.last { $0.contains("\"agent-eval help\" -eq 1") })
    for offered in [String(place), line] {
      for word in ["run", "policy", "exit-codes", "topics"] {
        #expect(offered.split { " ()'".contains($0) }.contains(word[...]), "\(offered)")
      }
    }
    let formats = try #require(fish.first { $0.contains("\"agent-eval export\" -eq 1") })
    #expect(formats.contains("otlp"))
  }

  @Test("every verb has examples, which are command lines of its own that it can read")
  func examples() throws {
    for (words, verb) in Self.verbs {
      let examples = agent_eval.Example.all(in: verb.configuration.discussion)
      #expect(!examples.isEmpty, "\(words)")
      for example in examples {
        let arguments = Self.words(example.line)
        #expect(Array(arguments.prefix(words.count)) == words, "\(example.line)")
        #expect(throws: Never.self, "\(example.line)") {
          _ = try AgentEval.parseAsRoot(arguments)
        }
        #expect(!example.does.isEmpty && example.does.count <= 100)
      }
    }
  }

  @Test("the first page of help names every verb under a heading, with an example for each")
  func groups() async throws {
    let help = try await Binary.run(["--help"])
    let headings = help.lines.filter { $0.hasSuffix(" SUBCOMMANDS:") }
    #expect(headings.map { $0.dropLast(13) } == ["JUDGE", "RECORD", "LOOK", "COMPARE", "MANAGE"])
    for (words, _) in Self.verbs where words.count == 1 {
      #expect(help.lines.contains { $0.hasPrefix("  \(words[0]) ") }, "\(words)")
    }
    for word in ["judge", "record", "look", "compare", "manage"] {
      #expect(help.lines.contains { $0.hasPrefix("      \(word): ") }, "\(word)")
    }
  }

  @Test("an option of one letter means one thing within a verb, and the list of them is whole")
  func shortOptions() async throws {
    let dumped = try await Binary.run(["--experimental-dump-help"]).json()
    let topic = try #require(HelpTopic.all.first { $0.name == "short-options" })
    var told = 0
    for verb in dumped["command"]?["subcommands"]?.arrayValue ?? [] {
      let name = verb["commandName"]?.stringValue ?? ""
      var seen: Set<String> = []
      for argument in verb["arguments"]?.arrayValue ?? [] {
        let names = argument["names"]?.arrayValue ?? []
        for short in names where short["kind"] == "short" {
          let letter = short["name"]?.stringValue ?? ""
          #expect(seen.insert(letter).inserted, "\(name) -\(letter)")
          guard letter != "h" else { continue }
          told += 1
          let long = names.first { $0["kind"] == "long" }?["name"]?.stringValue
          let said = long.map { "-\(letter) `--\($0)`" } ?? "-\(letter) "
          #expect(topic.text.contains(said), "\(name) \(said)")
          #expect(topic.text.contains("`\(name)`"), "\(name)")
        }
      }
    }
    #expect(told > 20)
  }

  @Test("topics print their texts, by any of their names", arguments: HelpTopic.all.map(\.name))
  func topics(_ name: String) async throws {
    let topic = try #require(HelpTopic.all.first { $0.name == name })
    #expect(Project.has(topic.document))
    for word in [topic.name] + topic.otherNames {
      let printed = try await Binary.run(["help", word])
      #expect(printed.output.contains(topic.text), "\(word)")
      #expect(printed.output.hasPrefix(topic.title))
    }
  }

  @Test("documents hold the texts of topics")
  func documents() throws {
    for topic in HelpTopic.all {
      let text = try Project.text(topic.document)
      let from = try #require(
        text.range(of: "<!-- help \(topic.name) -->\n"),
        "\(topic.document) has no place for \(topic.name)"
      ).upperBound
      let to = try #require(text.range(of: "<!-- end -->", range: from..<text.endIndex)).lowerBound
      guard ProcessInfo.processInfo.environment["UPDATE_TABLES"] == nil else {
        try text.replacingCharacters(in: from..<to, with: topic.text + "\n").write(
          toFile: Project.path(topic.document), atomically: true, encoding: .utf8)
        continue
      }
      #expect(
        text[from..<to] == topic.text + "\n", "\(topic.document): UPDATE_TABLES=1 makes it anew")
    }
  }

  @Test("no topic has the name of a verb, and no name stands for two")
  func names() {
    let names = HelpTopic.all.flatMap { [$0.name] + $0.otherNames }
    let verbs = Set(AgentEval.verbs.map { $0._verb })
    #expect(Set(names).count == names.count)
    #expect(names.filter(verbs.contains).isEmpty)
  }

  @Test("help of what there is not says what there is")
  func unknown() async throws {
    for (word, says) in [
      ("lgos", "Did you mean “logs”?"), ("view", "agent-eval show LOG"),
      ("shwo", "Did you mean “show”?"), ("\u{1b}[2J", "\\u{1b}[2J"),
    ] {
      let refused = try await Binary.run(["help", word], status: 64)
      #expect(refused.errors.contains(says), "\(refused)")
      #expect(refused.output == "" && controlBytes(in: refused.errorBytes).isEmpty)
    }
    try await Binary.run(["help", "help"])
    let topics = try await Binary.run(["help", "topics"])
    #expect(HelpTopic.all.allSatisfy { topics.lines.contains($0.name) })
  }

  @Test(
    "a word of another tool is answered with the verb that does it",
    arguments: [
      ("view", "show LOG"), ("test", "run CASES"), ("eval", "run CASES"), ("judge", "run CASES"),
      ("ls", "list"), ("log", "show LOG"), ("play", "replay LOG"), ("debug", "replay LOG"),
      ("rerun", "replay LOG --reexecute"), ("watch", "run CASES --watch"), ("lint", "check FILES"),
      ("convert", "import"), ("html", "--html FILE"), ("search", "query"), ("undo", "rollback"),
      ("VIEW", "show LOG"), ("settings", "config"), ("version", "--version"),
    ])
  func otherWords(_ row: (word: String, says: String)) async throws {
    let refused = try await Binary.run([row.word, "x"], status: 64)
    #expect(refused.errors.contains(row.says), "\(refused)")
  }

  @Test("what hints name are verbs and options that there are")
  func hints() throws {
    let words =
      "view cat test ls log play rerun watch tail lint start proxy convert dump snapshot regress stats "
      + "find sql html report continue allow reply undo stop branch redact fix reindex shrink settings health flaky graph"
    for word in words.split(separator: " ").map(String.init) {
      let command = try #require(VerbHints.command(for: word), "\(word)")
      let parts = command.split { " ,[]".contains($0) }.map(String.init)
      let verb = try #require(AgentEval.verbs.first { $0._verb == parts[0] }, "\(command)")
      #expect(AgentEval.verbs.allSatisfy { $0._verb != word }, "\(word) is a verb")
      for option in parts where option.hasPrefix("--") && option.count > 2 {
        #expect(AgentEval.verbs.contains { $0.helpMessage().contains(option) }, "\(verb) \(option)")
      }
    }
  }

  @Test(
    "an option of another verb or another tool, and a text without quotes, are answered with what does it",
    arguments: [
      (["show", "--step", "2", "x"], "--step belongs to agent-eval replay"),
      (["run", "--html", "x"], "Say --report html:FILE"),
      (["run", "x", "--junit=r.xml"], "Say --report junit:FILE"),
      (["run", "x", "--workers", "4"], "Say --jobs N"),
      (["show", "x", "--verbose"], "Say --full"),
      (["list", "--stopp", "x"], "Did you mean '--stop'?"),
      (["replay", "x", "--livve"], "Unknown option '--livve'"),
      (["diff", "a", "b", "--follow"], "--follow belongs to agent-eval show"),
      (["record", "a.yaml", "Refund", "it"], #"needs quotes: agent-eval record AGENT "GOAL""#),
      (["answer", "a", "yes", "it", "is"], #"needs quotes: agent-eval answer LOG "TEXT""#),
    ])
  func options(_ row: (arguments: [String], says: String)) async throws {
    let refused = try await Binary.run(row.arguments, status: 64)
    #expect(refused.errors.contains(row.says), "\(refused)")
  }
}
