import AgentTrace
import EvalLoading
import TestSupport
import Testing

@Suite("Documented examples")
struct DocumentationTests {
  /// The fenced blocks of a page in some language.
  private static func blocks(of page: String, in language: String) -> [String] {
    guard let text = try? Project.text("Docs/\(page)") else { return [] }
    var blocks: [String] = []
    var open: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let lines = open {
        if line == "```" {
          blocks.append(lines.joined(separator: "\n"))
          open = nil
        } else {
          open = lines + [line]
        }
      } else if line == "```\(language)" {
        open = []
      }
    }
    return blocks
  }

  /// The pages that explain keys of agent and policy files.
  private static let agentPages = [
    "agent-files.md", "redaction.md", "policies.md", "contexts.md", "models.md",
    "tool-servers.md", "http-tools.md",
  ]

  @Test("Every example of a case loads", arguments: ["yaml", "json", "jsonl"])
  func cases(language: String) throws {
    let blocks = Self.blocks(of: "eval-case-format.md", in: language)
    #expect(!blocks.isEmpty)
    for block in blocks {
      let folder = try TemporaryFolder()
      let result = CaseLoader.load([try folder.write("case.\(language)", block)])
      #expect(result.diagnostics.map(\.description) == [], "\(block)")
      #expect(!result.cases.isEmpty)
    }
  }

  @Test("Every example of agents and policies loads, fragments within a small agent")
  func agents() throws {
    let blocks = Self.agentPages.flatMap { Self.blocks(of: $0, in: "yaml") }
    #expect(blocks.count > 10)
    for block in blocks {
      let folder = try TemporaryFolder()
      if block.contains("\nrules:\n") {
        let loaded = PolicyLoader.load(try folder.write("policy.yaml", block))
        #expect(loaded.diagnostics.map(\.description) == [], "\(block)")
        continue
      }
      var text = block
      if !block.contains("\nname: ") { text += "\nname: example" }
      if !block.contains("model:\n") { text += "\nmodel: {script: [{answer: x}]}" }
      let loaded = AgentLoader.load(Array(text.utf8), path: "agent.yaml")
      let errors = loaded.diagnostics.filter { $0.severity == .error }
      #expect(errors.map(\.description) == [], "\(block)")
    }
  }

  /// Cases hold expectations as a guard does, and may hold an agent.
  @Test(
    "Every key of agent, policy and case files is explained",
    arguments: [FileSchema.agent, .policy, .case])
  func keys(schema: FileSchema) throws {
    let pages =
      Self.agentPages + [
        "command-agents.md", "expectations.md", "matchers.md", "eval-case-format.md",
        "agents-as-tools.md",
      ]
    let page = try pages.map { try Project.text("Docs/\($0)") }.joined()
    for key in Self.properties(of: schema) where key != "$schema" {
      #expect(page.contains("`\(key)`"), "\(key)")
    }
  }

  /// Every key that a schema names, but for what matchers may hold.
  private static func properties(of schema: FileSchema) -> [String] {
    var names: Set<String> = []
    var pending = [schema.json]
    while let value = pending.popLast() {
      for member in value.objectValue ?? [:] where member.key != "operators" {
        if member.key == "properties" { names.formUnion(member.value.objectValue?.keys ?? []) }
        pending.append(member.value)
      }
      pending += value.arrayValue ?? []
    }
    return names.sorted()
  }
}
