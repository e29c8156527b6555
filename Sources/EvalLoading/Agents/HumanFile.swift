public import AgentRuntime
import AgentTrace

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
    return reader.lacks("“system” and “by” say whom a “model” plays; add it")
  }

  /// The same, with what it was read from.
  static let writtenShape = Shape<WrittenPerson>(shape.schema()) { value, reader in
    shape.read(value, reader).map { WrittenPerson(person: $0, source: value) }
  }

  private static let defaultName = "person"

  private struct TurnDraft: Sendable {
    var say: String?
    var approve: Bool?
    var by = defaultName
    var reason: String?
    var yes = YesDraft()
  }

  /// What a yes covers, as turns and approvals say it.
  private struct YesDraft: Sendable {
    var calls: Int?
    var sameInput: Bool?

    /// Reports what does not go together.
    func scope(isGranted: Bool, _ reader: FieldReader) -> ApprovalScope {
      if calls != nil || sameInput != nil, !isGranted, !reader.hasErrorHere {
        reader.report("“calls” and “sameInput” say what a yes covers; this is none")
      } else if calls != nil, sameInput != nil, !reader.hasErrorHere {
        reader.report("say one of “calls” and “sameInput”")
      }
      return sameInput == true ? .input : .calls(calls ?? 1)
    }

    /// The same for a JSON Schema.
    ///
    /// - Parameter key: what holds whether it is a yes.
    static func constraint(besides key: String) -> JSONValue {
      let no: (String) -> JSONValue = { other in
        [
          "required": [.string(key), .string(other)],
          "properties": .object(JSONObject([(key, ["const": false])])),
        ]
      }
      return ["anyOf": [["required": ["calls", "sameInput"]], no("calls"), no("sameInput")]]
    }

    static func fields<Target>(
      in yes: any WritableKeyPath<Target, YesDraft> & Sendable
    ) -> [Field<Target>] {
      [
        Field(
          "calls", .count(1...1_000_000),
          "How many calls of this tool and input a yes covers, this one first; 1 unless given."
        ) { $0[keyPath: yes].calls = $1 },
        Field(
          "sameInput", .flag,
          "Whether a yes covers each call of this tool with this input, for the rest of the run."
        ) { $0[keyPath: yes].sameInput = $1 },
      ]
    }
  }

  private static let turn = Shape<TurnDraft>.record(
    TurnDraft(),
    [
      Field("say", .text, \.say, "Words, to a question or to an answer of the agent."),
      Field("approve", .flag, \.approve, "Whether the call that waits may run."),
      Field("by", .name, \.by, "Who speaks; “person” where it is left out."),
      Field("reason", .text, \.reason, "Why the call may run, or may not."),
    ] + YesDraft.fields(in: \.yes),
    constraints: [
      "oneOf": [["required": ["say"]], ["required": ["approve"]]],
      "dependentRequired": [
        "reason": ["approve"], "calls": ["approve"], "sameInput": ["approve"],
      ],
      "not": YesDraft.constraint(besides: "approve"),
    ]
  ).map { draft, reader -> ScriptedPerson.Turn? in
    switch (draft.say, draft.approve) {
    case (let text?, nil):
      if draft.reason != nil { reader.report("“reason” stands beside “approve”") }
      _ = draft.yes.scope(isGranted: false, reader)
      return .says(text, by: draft.by)
    case (nil, let granted?):
      return .approves(
        granted, by: draft.by, reason: draft.reason,
        scope: draft.yes.scope(isGranted: granted, reader))
    default:
      return reader.lacks("needs either “say” or “approve”")
    }
  }

  private struct ApprovalDraft: Sendable {
    var rule = ScriptedPerson.ApprovalRule(granted: false, by: defaultName)
    var yes = YesDraft()
  }

  private static let approval = Shape<ApprovalDraft>.record(
    ApprovalDraft(),
    [
      Field(
        "tool", .oneOrMore(of: PolicyFile.toolGlob), \.rule.tools,
        "Names or globs of tools; every tool where it is left out."),
      Field("input", .matcher, \.rule.input, "A matcher on the call's input."),
      Field("granted", .flag, \.rule.granted, required: true, "Whether the call may run."),
      Field("by", .name, \.rule.by, "Who answers; “person” where it is left out."),
      Field("reason", .text, \.rule.reason, "Why."),
    ] + YesDraft.fields(in: \.yes),
    constraints: ["not": YesDraft.constraint(besides: "granted")]
  ).map { draft, reader in
    var rule = draft.rule
    rule.scope = draft.yes.scope(isGranted: rule.granted, reader)
    return rule
  }

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
    guard let root = document.onlyRoot else {
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

/// A person written down, and the words of the file.
struct WrittenPerson: Sendable {
  var person: ScriptedPerson
  var source: JSONValue
}
