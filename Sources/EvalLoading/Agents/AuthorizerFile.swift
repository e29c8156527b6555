import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `authorizers` of a policy: whom its rules may ask, by their names.
enum AuthorizerFile {
  static let authorizers = Shape<[AuthorizerRegistration]>.members(
    [
      "type": "object", "propertyNames": ["minLength": 1],
      "additionalProperties": authorizer.schema(),
    ], expected: "a mapping from names to authorizers"
  ) { member, reader in
    guard !member.key.isEmpty else { return reader.refuse("an authorizer needs a name", at: .key) }
    return authorizer.read(member.value, reader).map {
      AuthorizerRegistration(
        member.key, $0.implementation, timeoutSeconds: $0.timeoutSeconds,
        folder: reader.folder.path)
    }
  }

  private struct Draft: Sendable {
    var rules: [ScriptedTool.Rule]?
    var command: CommandDefinition?
    var http: HTTPDefinition?
    var timeoutSeconds = AuthorizerRegistration.defaultTimeoutSeconds
    var implementation = AuthorizerRegistration.Implementation.scripted(ScriptedTool(rules: []))
  }

  private static let authorizer = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "command", CommandFile.command, \.command,
        "A program that is given the question and prints its answer."),
      Field(
        "http", HTTPFile.shape, \.http,
        "A service: the question is the body of a POST request, its reply the answer."),
      Field(
        "scripted", .list(of: ToolFile.rule, atLeast: 1), \.rules,
        "Answers written down; the first whose condition holds is given."),
      Field(
        "timeoutSeconds", .amount, \.timeoutSeconds,
        "Seconds until no answer means deny; 10 where it is left out."),
    ],
    constraints: [
      "oneOf": [["required": ["command"]], ["required": ["http"]], ["required": ["scripted"]]]
    ]
  ).map { draft, reader -> Draft? in
    let candidates: [(key: String, implementation: AuthorizerRegistration.Implementation?)] = [
      ("command", draft.command.map { .command($0) }),
      ("http", draft.http.map { .http(asking($0)) }),
      ("scripted", draft.rules.map { .scripted(ScriptedTool(rules: $0)) }),
    ]
    let given = candidates.compactMap { key, implementation in implementation.map { (key, $0) } }
    guard let (key, implementation) = given.first else {
      return reader.lacks("nobody answers; add “command”, “http” or “scripted”")
    }
    if given.count > 1 {
      return reader.refuse("has “\(key)” and “\(given[1].0)”; one of them is allowed")
    }
    var draft = draft
    draft.implementation = implementation
    return draft
  }

  /// What is asked is always the body.
  private static func asking(_ http: HTTPDefinition) -> HTTPDefinition {
    var http = http
    if http.method == .get { http.method = .post }
    http.body = .json
    return http
  }

  /// Reports rules that ask somebody who is not there, and authorizers that no rule asks.
  static func check(_ policy: Policy, _ reader: FieldReader) {
    // Places are those in the file only while every rule could be read.
    guard !reader.hasErrorHere else { return }
    let names = policy.authorizers.map(\.name)
    for (index, rule) in policy.rules.enumerated() {
      guard let name = rule.authorizer, !names.contains(where: { $0.hasSameUTF8(as: name) }) else {
        continue
      }
      reader.report(
        "there is no authorizer \(name.quoted)",
        hint: names.isEmpty
          ? "name it under “authorizers”, beside “rules”"
          : Spelling.nearest(to: name, among: names).map { "did you mean “\($0)”?" },
        deeper: [.key("rules"), .index(index), .key("authorizer")])
    }
    for name in names
    where !policy.rules.contains(where: { $0.authorizer?.hasSameUTF8(as: name) ?? false }) {
      reader.report(
        "no rule asks it", as: .warning, deeper: [.key("authorizers"), .key(name)])
    }
  }
}
