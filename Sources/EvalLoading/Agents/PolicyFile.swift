import AgentRuntime
import AgentTrace
import TraceMatching

/// The keys of a policy, in a file of its own or within an agent file.
enum PolicyFile {
  private static let rules = Field<Policy>(
    "rules", .list(of: rule).map(unique), \.rules, required: true,
    "The rules in order; the first that matches a call decides.")
  private static let authorizers = Field<Policy>(
    "authorizers", AuthorizerFile.authorizers, \.authorizers, required: false,
    "Whom rules may ask, by their names.")

  /// The keys of a policy file.
  static let fields: [Field<Policy>] = [
    .schemaOfFile,
    rules, authorizers,
  ]

  private static let inline = Shape<Policy>.record(Policy(), [rules, authorizers]).map {
    policy, reader in
    AuthorizerFile.check(policy, reader)
    return policy
  }

  /// A policy where an agent file has it: a mapping, or the path of a policy file.
  static let inlineOrPath = Shape<Policy>([
    "anyOf": [Shape<String>.path.schema(), inline.schema()]
  ]) { value, reader in
    switch value {
    case .object(let object):
      return inline.read(value, reader).map { policy in
        var policy = policy
        policy.source = object
        return policy
      }
    case .string:
      guard let path = Shape<String>.path.read(value, reader) else { return nil }
      let loaded = PolicyLoader.read(path)
      reader.files.append(path)
      reader.attached += loaded.diagnostics
      reader.adopt(loaded.mentions)
      if loaded.diagnostics.hasErrors {
        return reader.refuse("the policy file \(path.quotedPath) has errors")
      }
      return loaded.policy
    default:
      return reader.refuseKind(of: value, expected: "a mapping with “rules”, or a path")
    }
  }

  private struct Draft: Sendable {
    var id = ""
    var tools: [Glob]?
    var sideEffects: [SideEffect]?
    var sensitivities: [Glob]?
    var actors: [Glob]?
    var tenants: [Glob]?
    var routes: [Glob]?
    var attributes: Matcher?
    var input: Matcher?
    var approved: Bool?
    var remaining: [Policy.Remaining] = []
    var calls: [Policy.PastCalls] = []
    var proposals: [Policy.PastCalls] = []
    var after: [Policy.PastCalls] = []
    var notAfter: [Policy.PastCalls] = []
    var verdict: VerdictStatus?
    var authorizer: String?
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
        "sensitivity", .oneOrMore(of: .glob), \.sensitivities,
        "Sensitivities of tools or globs of them; every tool, also one without, where it is left out."
      ),
      Field(
        "actor", .oneOrMore(of: .glob), \.actors,
        "Actor ids or globs of them; every actor, also none, where it is left out."),
      Field(
        "tenant", .oneOrMore(of: .glob), \.tenants,
        "Tenant ids or globs of them; every tenant, also none, where it is left out."),
      Field(
        "route", .oneOrMore(of: .glob), \.routes,
        "Routes or globs of them; every route, also none, where it is left out."),
      Field("attributes", .matcher, \.attributes, "A matcher on the attributes of policyContext."),
      Field(
        "input", .matcher(origins: .results), \.input,
        "A matcher on the call's input; $from speaks of earlier results."),
      Field(
        "approved", .flag, \.approved, "Whether an approval that is not used up covers the call."),
      Field("remaining", remaining, \.remaining, "What is left of the run's limits."),
      Field(
        "calls", .oneOrMore(of: PastCallsFile.executed), \.calls,
        "Earlier calls that were executed, and how many; each of the list must hold."),
      Field(
        "proposals", .oneOrMore(of: PastCallsFile.proposed), \.proposals,
        "Earlier calls that were proposed, and how many; each of the list must hold."),
      Field(
        "after", .oneOrMore(of: PastCallsFile.begun), \.after,
        "Calls of which each must have begun before."),
      Field(
        "notAfter", .oneOrMore(of: PastCallsFile.begun), \.notAfter,
        "Calls of which none may have begun before."),
      Field("verdict", .word, \.verdict, "What a matching call gets."),
      Field(
        "authorizer", .name, \.authorizer,
        "In place of a verdict: who is asked about a matching call, by its name under authorizers."),
      Field(
        "onDeny", .word, \.onDeny,
        "What a denial does to the run: continue (the call is refused) or stop."),
      Field("reason", .text, \.reason, "Why; told to the model when the call is refused."),
    ],
    constraints: ["oneOf": [["required": ["verdict"]], ["required": ["authorizer"]]]]
  ).map { draft, reader in
    switch (draft.verdict, draft.authorizer) {
    case (nil, nil): if !reader.hasErrorHere { reader.report("needs “verdict” or “authorizer”") }
    case (_?, _?): reader.report("has “verdict” and “authorizer”; one of them is allowed")
    case (_?, nil), (nil, _?): break
    }
    if draft.onDeny != nil, let verdict = draft.verdict, verdict != .deny {
      reader.report(
        "has no effect where the verdict is “\(verdict.rawValue)”", as: .warning,
        deeper: [.key("onDeny")])
    }
    if draft.approved == true, draft.verdict == .approvalRequired {
      reader.report(
        "has no effect where the verdict is “approval_required”: what is approved is allowed",
        as: .warning, deeper: [.key("approved")])
    }
    var rule = Policy.Rule(
      id: draft.id, tools: draft.tools, sideEffects: draft.sideEffects, actors: draft.actors,
      routes: draft.routes, verdict: draft.verdict ?? .deny, onDeny: draft.onDeny ?? .continue,
      reason: draft.reason)
    rule.sensitivities = draft.sensitivities
    rule.tenants = draft.tenants
    rule.attributes = draft.attributes
    rule.input = draft.input
    rule.approved = draft.approved
    rule.remaining = draft.remaining
    rule.calls = draft.calls
    rule.proposals = draft.proposals
    rule.after = draft.after
    rule.notAfter = draft.notAfter
    if let authorizer = draft.authorizer { rule.ask(authorizer) }
    return rule
  }

  private static let remaining = Shape<[Policy.Remaining]>.record(
    [],
    Policy.Resource.allCases.map { resource in
      Field(resource.rawValue, .matcher, resource.note) {
        $0.append(Policy.Remaining(resource, $1))
      }
    },
    constraints: ["minProperties": 1]
  ).map { conditions, reader in
    if conditions.isEmpty, !reader.hasErrorHere { reader.report("should not be empty") }
    return conditions
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
      if rule.id.hasPrefix(Policy.guardPrefix) {
        reader.report(
          "no rule is called so: verdicts of a run's guard bear ids that begin with “\(Policy.guardPrefix)”",
          deeper: [.index(index), .key("id")])
      }
      let id = Array(rule.id.utf8)
      if let first = seen[id] {
        reader.report(
          "the id \(rule.id.quoted) is there already, at rule \(first + 1)",
          deeper: [.index(index), .key("id")])
      } else {
        seen[id] = index
      }
    }
    // Places are those in the file only while every rule could be read.
    guard !reader.hasErrorHere else { return rules }
    for rule in PolicyCheck(Policy(rules: rules), tools: nil).unreachable {
      reader.report(rule.message, as: .warning, deeper: [.index(rule.index)])
    }
    return rules
  }
}

extension Policy.Resource {
  fileprivate var note: String {
    switch self {
    case .steps: "A matcher on the steps that are left, this one included."
    case .calls: "A matcher on the number of calls that may still be executed."
    case .tokens: "A matcher on the tokens that are left, in and out together."
    case .cost: "A matcher on the money that is left."
    case .seconds: "A matcher on the seconds of active run time that are left."
    }
  }
}
