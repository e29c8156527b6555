import AgentRuntime
import AgentTrace
import TraceMatching

/// The keys of a policy, in a file of its own or within an agent file.
enum PolicyFile {
  private static let rules = Field<Policy>(
    "rules", .list(of: rule).map(unique), \.rules, required: true,
    "The rules in order; the first that matches a call decides.")

  /// The keys of a policy file.
  static let fields: [Field<Policy>] = [
    Field("$schema", .text, required: false, "The JSON Schema of this file, for editors.") {
      _, _ in
    },
    rules,
  ]

  private static let inline = Shape<Policy>.record(Policy(), [rules])

  /// A policy where an agent file has it: a mapping, or the path of a policy file.
  static let inlineOrPath = Shape<Policy>([
    "anyOf": [Shape<String>.path.schema(), inline.schema()]
  ]) { value, reader in
    switch value {
    case .object: return inline.read(value, reader)
    case .string:
      guard let path = Shape<String>.path.read(value, reader) else { return nil }
      let loaded = PolicyLoader.read(path)
      reader.files.append(path)
      reader.attached += loaded.diagnostics
      reader.adopt(loaded.mentions)
      if loaded.diagnostics.hasErrors {
        reader.report("the policy file \(path.quoted) has errors")
        return nil
      }
      return loaded.policy
    default:
      reader.reportKind(of: value, expected: "a mapping with “rules”, or a path")
      return nil
    }
  }

  private struct Draft: Sendable {
    var id = ""
    var tools: [Glob]?
    var sideEffects: [SideEffect]?
    var actors: [Glob]?
    var routes: [Glob]?
    var verdict: VerdictStatus?
    var onDeny: Policy.Rule.OnDeny?
    var reason: String?
  }

  private static let rule = Shape<Draft>.record(
    Draft(),
    [
      Field("id", .name, \.id, required: true, "The rule's name, as verdicts bear it."),
      Field(
        "tool", .oneOrMore(of: toolGlob), \.tools,
        "Names or globs of tools; every tool where it is left out."),
      Field(
        "sideEffect", .oneOrMore(of: .word), \.sideEffects,
        "Side effects of tools; every one where it is left out."),
      Field(
        "actor", .oneOrMore(of: .glob), \.actors,
        "Actor ids or globs of them; every actor, also none, where it is left out."),
      Field(
        "route", .oneOrMore(of: .glob), \.routes,
        "Routes or globs of them; every route, also none, where it is left out."),
      Field("verdict", .word, \.verdict, required: true, "What a matching call gets."),
      Field(
        "onDeny", .word, \.onDeny,
        "What a denial does to the run: continue (the call is refused) or stop."),
      Field("reason", .text, \.reason, "Why; told to the model when the call is refused."),
    ]
  ).map { draft, reader in
    if draft.onDeny != nil, let verdict = draft.verdict, verdict != .deny {
      reader.report(
        "has no effect where the verdict is “\(verdict.rawValue)”", as: .warning,
        deeper: [.key("onDeny")])
    }
    return Policy.Rule(
      id: draft.id, tools: draft.tools, sideEffects: draft.sideEffects, actors: draft.actors,
      routes: draft.routes, verdict: draft.verdict ?? .deny, onDeny: draft.onDeny ?? .continue,
      reason: draft.reason)
  }

  /// A tool's name or a glob; remembered, so that one that fits no tool can be told.
  static let toolGlob = Shape<Glob>.glob.map { glob, reader in
    reader.mention(.rule(glob))
    return glob
  }

  @Sendable private static func unique(
    _ rules: [Policy.Rule], _ reader: FieldReader
  ) -> [Policy.Rule]? {
    var seen: [[UInt8]: Int] = [:]
    for (index, rule) in rules.enumerated() where !rule.id.isEmpty {
      let id = Array(rule.id.utf8)
      if let first = seen[id] {
        reader.report(
          "the id \(rule.id.quoted) is there already, at rule \(first + 1)",
          deeper: [.index(index), .key("id")])
      } else {
        seen[id] = index
      }
    }
    return rules
  }
}
