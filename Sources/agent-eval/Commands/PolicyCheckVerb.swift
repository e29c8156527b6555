import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import TraceDebugging
import TraceReporting
import TraceStorage

/// Says what a policy does, without a run.
struct PolicyCheckVerb: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract:
      "Find rules that never decide and rules of which order alone decides; show what each tool gets.",
    discussion: """
      FILE is a policy file or an agent file. What is found is a warning: exits with 0, with 2 where a \
      file has errors.
      """
        + Example.list([
          "policy check agents/support.yaml": "what each tool of an agent gets"
        ]))

  @Argument(help: "A policy file, or an agent file whose policy is meant.", completion: .file())
  var file: String

  @Option(
    help: "The agent file whose tools the policy is for; FILE's own where that is an agent.",
    completion: .file())
  var agent: String?

  @Option(
    help:
      "A recorded run of the agent, whose tools the policy is for: those of its servers too, which no file holds.",
    completion: .file()
  )
  var log: String?

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() throws {
    var loaded = PolicySubject.load(file, agent: agent)
    if let log { loaded.value?.tools = try Self.tools(of: log) }
    guard let subject = loaded.value else {
      Diagnostics.print(loaded.diagnostics)
      throw ExitCode(2)
    }
    let check = PolicyCheck(subject.policy, tools: subject.tools)
    let contradictions = check.contradictions()
    if json {
      var object = check.json(contradictions)
      object["file"] = .string(file)
      object["diagnostics"] = .array(loaded.diagnostics.map { .string($0.description) })
      return Output.json(.object(object))
    }
    // What the report says better is not said twice.
    let told = check.unreachable.map(\.message)
    Diagnostics.print(loaded.diagnostics.filter { !told.contains($0.message) })
    Output.lines(
      PolicyCheckReport(painter: Screen.painter, width: Screen.width)
        .lines(for: check, contradictions, namesGlobs: agent != nil))
  }
}

extension PolicyCheckVerb {
  /// The tools that a recorded run had at its end, as its log says.
  private static func tools(of log: String) throws -> [ToolDefinition] {
    var reader = try LogReader(path: log)
    var own: [ToolDefinition] = []
    var listed: [(source: String, tools: [ToolDefinition])] = []
    while let event = try reader.next() {
      switch try EventPayload(of: event) {
      case .runStarted(let started): own = started.tools
      case .toolsListed(let list) where list.error == nil:
        listed.removeAll { $0.source.hasSameUTF8(as: list.source) }
        listed.append((list.source, list.tools))
      default: break
      }
    }
    return own + listed.flatMap(\.tools)
  }
}

/// What was found of a policy, for a terminal.
private struct PolicyCheckReport {
  let painter: Painter
  let width: Int

  /// - Parameter namesGlobs: false where the agent file has said already which globs fit no tool.
  func lines(
    for check: PolicyCheck, _ contradictions: [PolicyCheck.Contradiction], namesGlobs: Bool
  ) -> [String] {
    var lines = check.unreachable.map { warning($0.message) }
    lines += (namesGlobs ? check.unusedGlobs : []).map { glob in
      warning(
        "the rule “\(glob.rule)” names “\(glob.glob)”, which fits no tool of the agent"
          + (glob.nearest.map { "; did you mean “\($0)”?" } ?? ""))
    }
    if lines.isEmpty { lines.append(painter.paint("every rule can decide", .good)) }
    for found in contradictions {
      let text =
        "only order decides between “\(found.first)” (\(found.firstVerdict.word)) and "
        + "“\(found.second)” (\(found.secondVerdict.word)), for example about"
      // Where the stricter rule stands first, nothing is allowed by mistake.
      lines.append(found.isStricterFirst ? "note: " + Visible.line(text) : warning(text))
      lines.append(Visible.line("  " + CanonicalJSON.string(.object(found.example), form: .plain)))
    }
    let table = self.table(check.tools)
    return table.isEmpty ? lines : lines + [""] + table
  }

  private func warning(_ text: String) -> String {
    painter.paint("warning", .warning) + ": " + Visible.line(text)
  }

  private func table(_ tools: [PolicyCheck.ToolRow]) -> [String] {
    var table = TextTable(headings: ["TOOL", "EFFECT", "VERDICT", "RULE", "WHEN"], keepsLast: true)
    for row in tools {
      var isFirst = true
      func append(_ verdict: String, _ rule: String, _ conditions: String) {
        table.append([
          isFirst ? row.tool.name : "", isFirst ? row.tool.sideEffect.rawValue : "",
          verdict, rule, conditions,
        ])
        isFirst = false
      }
      for rule in row.rules {
        append(
          rule.authorizer.map { "\($0) decides" } ?? rule.verdict.word, rule.rule,
          rule.conditions.joined(separator: "; "))
      }
      if let otherwise = row.otherwise {
        append(otherwise.word, "–", row.rules.isEmpty ? "" : "else")
      }
    }
    return table.lines(painter: painter, width: width)
  }
}
