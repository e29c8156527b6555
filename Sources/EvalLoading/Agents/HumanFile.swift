public import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `human` of agent and case files, and a file of its own: a person written down.
enum HumanFile {
  static let fields: [Field<ScriptedPerson>] = [
    Field(
      "turns", .list(of: turn), \.turns,
      "What the person says in order: their words one after the other, and their approvals."),
    Field(
      "approvals", .list(of: approval), \.approvals,
      "What the person says when a call waits for approval; the first rule that fits answers."),
    Field(
      "answers", .list(of: answer), \.answers,
      "What the person says to a question; the first rule that fits answers."),
    Field(
      "model", ModelFile.shape,
      "A model that plays the person where nothing else is written down."
    ) { person, model in
      person.model = SimulatedPerson(
        model: model, systemPrompt: person.model?.systemPrompt,
        name: person.model?.name ?? defaultName)
    },
    Field("system", .text, "Whom the model is to play.") { person, text in
      var model = person.model ?? SimulatedPerson(model: ModelFile.start, name: defaultName)
      model.systemPrompt = text
      person.model = model
    },
    Field("by", .name, "What logs call the person that the model plays.") { person, name in
      var model = person.model ?? SimulatedPerson(model: ModelFile.start, name: defaultName)
      model.name = name
      person.model = model
    },
  ]

  static let shape = Shape<ScriptedPerson>.record(
    ScriptedPerson(), fields,
    constraints: ["dependentRequired": ["system": ["model"], "by": ["model"]]]
  ).map { person, reader in
    guard let model = person.model, case .scripted(let script) = model.model.implementation,
      script.turns.isEmpty
    else { return person }
    if !reader.hasErrorHere { reader.report("“system” and “by” say whom a “model” plays; add it") }
    return nil
  }

  private static let defaultName = "person"

  private struct TurnDraft: Sendable {
    var say: String?
    var approve: Bool?
    var by = defaultName
    var reason: String?
  }

  private static let turn = Shape<TurnDraft>.record(
    TurnDraft(),
    [
      Field("say", .text, \.say, "Words, to a question or to an answer of the agent."),
      Field("approve", .flag, \.approve, "Whether the call that waits may run."),
      Field("by", .name, \.by, "Who speaks; “person” where it is left out."),
      Field("reason", .text, \.reason, "Why the call may run, or may not."),
    ],
    constraints: [
      "oneOf": [["required": ["say"]], ["required": ["approve"]]],
      "dependentRequired": ["reason": ["approve"]],
    ]
  ).map { draft, reader -> ScriptedPerson.Turn? in
    switch (draft.say, draft.approve) {
    case (let text?, nil):
      if draft.reason != nil { reader.report("“reason” stands beside “approve”") }
      return .says(text, by: draft.by)
    case (nil, let granted?): return .approves(granted, by: draft.by, reason: draft.reason)
    default:
      if !reader.hasErrorHere { reader.report("needs either “say” or “approve”") }
      return nil
    }
  }

  private static let approval = Shape<ScriptedPerson.ApprovalRule>.record(
    ScriptedPerson.ApprovalRule(granted: false, by: defaultName),
    [
      Field(
        "tool", .oneOrMore(of: PolicyFile.toolGlob), \.tools,
        "Names or globs of tools; every tool where it is left out."),
      Field("input", .matcher, \.input, "A matcher on the call's input."),
      Field("granted", .flag, \.granted, required: true, "Whether the call may run."),
      Field("by", .name, \.by, "Who answers; “person” where it is left out."),
      Field("reason", .text, \.reason, "Why."),
    ])

  private static let answer = Shape<ScriptedPerson.AnswerRule>.record(
    ScriptedPerson.AnswerRule(text: "", by: defaultName),
    [
      Field("question", .matcher, \.question, "A matcher on the question's text."),
      Field("text", .text, \.text, required: true, "What the person says."),
      Field("by", .name, \.by, "Who answers; “person” where it is left out."),
    ])
}

/// Reads a person written down in a file of their own: what `human` holds in an agent file.
public enum PersonLoader {
  /// Reads the file.
  ///
  /// - Returns: The person; or everything that is wrong with the file.
  public static func load(
    _ path: String, limits: SourceLimits = SourceLimits()
  ) -> Loaded<ScriptedPerson> {
    let document = SourceDocument(path: path, limits: limits)
    guard let root = document.onlyRoot(of: "a person") else {
      return Loaded(nil, document.diagnostics + document.rootCountDiagnostics(of: "a person"))
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: document.path))
    var person: ScriptedPerson?
    if case .object = root.value {
      person = HumanFile.shape.read(root.value, reader)
    } else {
      reader.reportKind(
        of: root.value, expected: "a person, a mapping with “turns”, “approvals” or “answers”")
    }
    return Loaded(
      person, document.diagnostics + reader.diagnostics(path: document.path, in: root),
      files: [document.path])
  }
}
