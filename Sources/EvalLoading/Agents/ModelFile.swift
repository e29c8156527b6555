import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `model` of an agent file: a script of decisions, or a model that a provider serves.
enum ModelFile {
  static var start: ModelDefinition {
    ModelDefinition(
      provider: "scripted", name: "script", implementation: .scripted(ModelScript(turns: [])))
  }

  private struct Draft: Sendable {
    var provider = "scripted"
    var name = "script"
    var turns: [ModelScript.Turn] = []
    var summaries: [ModelScript.Turn] = []
    var plans: [ModelScript.Turn] = []
    var reflections: [ModelScript.Turn] = []
  }

  /// Which of the two it is, `provider` says.
  static let shape = Shape<ModelDefinition>([
    "anyOf": [scripted.schema(), ProviderFile.shape.schema()]
  ]) { value, reader in
    if let provider = value["provider"]?.stringValue,
      ProviderFile.providers.contains(where: { $0.hasSameUTF8(as: provider) })
    {
      return ProviderFile.shape.read(value, reader)
    }
    return scripted.read(value, reader)
  }

  private static let scripted = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "provider", provider, \.provider,
        "Who serves the model: “scripted”, which is what is meant without it, or a provider."),
      Field("name", .name, \.name, "The model's name, as logs bear it."),
      Field(
        "script", .list(of: turn, atLeast: 1), \.turns, required: true,
        "The decisions, in the order they are made."),
      Field(
        "summaries", .list(of: summary), \.summaries,
        "The summaries, in the order they are made; for context.strategy: summarize."),
      Field(
        "plans", .list(of: summary), \.plans, "What it plans, in the order it is asked; for plan."),
      Field(
        "reflections", .list(of: summary), \.reflections,
        "What it makes of results, in the order it is asked; for reflect."),
    ]
  ).map { draft, _ in
    var script = ModelScript(turns: draft.turns, summaries: draft.summaries)
    (script.plans, script.reflections) = (draft.plans, draft.reflections)
    return ModelDefinition(
      provider: draft.provider, name: draft.name, implementation: .scripted(script))
  }

  private static let provider = Shape<String>(["const": "scripted", "type": "string"]) {
    value, reader in
    let known = ["scripted"] + ProviderFile.providers
    switch value {
    case "scripted": return "scripted"
    case .string(let text):
      let nearest = Spelling.nearest(to: text, among: known)
      reader.report(
        "should be \(known.alternatives), not \(text.quoted)",
        hint: nearest.map { "did you mean “\($0)”?" }
          ?? "most other servers speak as openai does: use that, with their baseUrl")
    default: reader.reportKind(of: value, expected: known.alternatives)
    }
    return nil
  }

  // MARK: Turns

  private struct TurnDraft: Sendable {
    var choice = ChoiceDraft()
    var choices: [ModelScript.Choice]?
    var repeats = 1
  }

  private static let turn = Shape<TurnDraft>.record(
    TurnDraft(),
    choiceFields(\TurnDraft.choice) + [
      Field(
        "choose", .list(of: choice, atLeast: 1), \.choices,
        "Choices; the first whose condition holds is made."),
      Field(
        "repeat", .count(1...1_000_000), \.repeats, "How many tries in a row the turn serves."),
    ],
    constraints: ["allOf": .array([oneDecision(or: "choose")] + companions)]
  ).map { draft, reader in
    guard let choices = draft.choices else {
      return draft.choice.finished(reader, or: ["choose"]).map {
        ModelScript.Turn(choices: [$0], repeats: draft.repeats)
      }
    }
    if !draft.choice.given.isEmpty {
      return reader.refuse(
        "“choose” stands beside “\(draft.choice.given[0])”; a turn has one of them")
    }
    return ModelScript.Turn(choices: choices, repeats: draft.repeats)
  }

  private static let choice = Shape<ChoiceDraft>.record(
    ChoiceDraft(), choiceFields(\ChoiceDraft.self),
    constraints: ["allOf": .array([oneDecision(or: nil)] + companions)]
  ).map { draft, reader in draft.finished(reader, or: []) }

  /// What a script may look at.
  private static let shown = [
    "step", "try", "number", "goal", "results", "last", "replies", "heard",
  ]

  /// The keys of a choice, read into a part of the target.
  private static func choiceFields<Target>(
    _ part: any WritableKeyPath<Target, ChoiceDraft> & Sendable
  ) -> [Field<Target>] {
    [
      Field(
        "when", .matcher(on: shown),
        "A matcher on what the model was shown: \(shown.joined(separator: ", "))."
      ) {
        $0[keyPath: part].condition = $1
        $0[keyPath: part].note("when")
      },
      Field("call", call, "One tool call.") {
        $0[keyPath: part].calls = [$1]
        $0[keyPath: part].decide("call")
      },
      Field("calls", .list(of: call, atLeast: 1), "Tool calls made side by side.") {
        $0[keyPath: part].calls = $1
        $0[keyPath: part].decide("calls")
      },
      Field("say", .text, "What the model says beside its calls.") {
        $0[keyPath: part].say = $1
        $0[keyPath: part].note("say")
      },
      Field("answer", .text, "The final answer; ${…} is filled in from what the model was shown.") {
        $0[keyPath: part].reply = ["text": .string($1)]
        $0[keyPath: part].decide("answer")
      },
      Field("evidence", .list(of: .text), "The call ids that the answer rests on.") {
        $0[keyPath: part].evidence = $1
        $0[keyPath: part].note("evidence")
      },
      Field("ask", .text, "A question to a person.") {
        $0[keyPath: part].reply = ["question": .string($1)]
        $0[keyPath: part].decide("ask")
      },
      Field(
        "stop", .text,
        "Why the model stops: success or blocked. Any other word is an invalid decision at run time."
      ) {
        $0[keyPath: part].reply = ["stop": .string($1)]
        $0[keyPath: part].decide("stop")
      },
      Field("reply", .any, "The reply exactly as a model would send it.") {
        $0[keyPath: part].reply = $1
        $0[keyPath: part].decide("reply")
      },
      Field("unreachable", unreachable, "The try fails: true, or what is said of the failure.") {
        $0[keyPath: part].unreachable = $1
        $0[keyPath: part].decide("unreachable")
      },
      Field("usage", usage, "What the try is said to cost.") {
        $0[keyPath: part].usage = $1
        $0[keyPath: part].note("usage")
      },
    ]
  }

  /// A choice as its keys say it.
  struct ChoiceDraft: Sendable {
    var condition: Matcher?
    var calls: [JSONValue] = []
    var say: String?
    var evidence: [String]?
    var reply: JSONValue?
    var unreachable: String?
    var usage: ModelScript.Usage?
    /// The keys that decide something; one is allowed.
    private(set) var decisions: [String] = []
    /// All keys of the choice.
    private(set) var given: [String] = []

    mutating func note(_ key: String) { given.append(key) }

    mutating func decide(_ key: String) {
      decisions.append(key)
      given.append(key)
    }

    static let decisionKeys = ["call", "calls", "answer", "ask", "stop", "reply", "unreachable"]

    /// The choice, if its keys go together.
    func finished(_ reader: FieldReader, or others: [String]) -> ModelScript.Choice? {
      guard let decision = decisions.first, decisions.count == 1 else {
        if decisions.isEmpty {
          let known = (Self.decisionKeys + others).alternatives
          if !reader.hasErrorHere { reader.report("decides nothing; add one of \(known)") }
        } else {
          reader.report("has “\(decisions[0])” and “\(decisions[1])”; one of them is allowed")
        }
        return nil
      }
      var reply = reply ?? .null
      if decision == "call" || decision == "calls" {
        reply = ["calls": .array(calls)]
        if let say { reply = ["calls": .array(calls), "text": .string(say)] }
      } else if say != nil {
        reader.report("“say” stands beside calls; here is “\(decision)”")
      }
      if let evidence {
        if decision == "answer", let text = reply["text"] {
          reply = ["text": text, "evidence": JSONValue(evidence)]
        } else {
          reader.report("“evidence” stands beside an answer; here is “\(decision)”")
        }
      }
      return ModelScript.Choice(
        condition: condition, answer: unreachable.map { .unreachable($0) } ?? .reply(reply),
        usage: usage)
    }
  }

  // MARK: Summaries

  private struct SummaryDraft: Sendable {
    var condition: Matcher?
    var text: String?
    var unreachable: String?
    var usage: ModelScript.Usage?
    var repeats = 1
  }

  private static let detailedSummary = Shape<SummaryDraft>.record(
    SummaryDraft(),
    [
      Field("text", .text, \.text, "The summary; ${…} is filled in from what the model was shown."),
      Field(
        "unreachable", unreachable, \.unreachable, "The try fails: true, or what is said of it."),
      Field(
        "when", .matcher(on: shown), \.condition, "A matcher on what the model was shown."),
      Field("usage", usage, \.usage, "What the try is said to cost."),
      Field(
        "repeat", .count(1...1_000_000), \.repeats, "How many tries in a row it serves."),
    ],
    constraints: ["oneOf": [["required": ["text"]], ["required": ["unreachable"]]]])

  /// A summary as text alone, or with what goes with it.
  private static let summary = Shape<ModelScript.Turn>([
    "anyOf": [["type": "string"], detailedSummary.schema()]
  ]) { value, reader in
    if case .string(let text) = value {
      return ModelScript.Turn(choices: [.init(answer: .reply(["text": .string(text)]))])
    }
    guard let draft = detailedSummary.read(value, reader) else { return nil }
    let answer: ModelScript.Answer
    switch (draft.text, draft.unreachable) {
    case (let text?, nil): answer = .reply(["text": .string(text)])
    case (nil, let error?): answer = .unreachable(error)
    default:
      return reader.lacks("needs either “text” or “unreachable”")
    }
    return ModelScript.Turn(
      choices: [.init(condition: draft.condition, answer: answer, usage: draft.usage)],
      repeats: draft.repeats)
  }

  // MARK: Parts of a choice

  private struct CallDraft: Sendable {
    var tool = ""
    var input: JSONValue = [:]
    var id: String?
  }

  private static let call = Shape<CallDraft>.record(
    CallDraft(),
    [
      Field("tool", toolName, \.tool, required: true, "The tool's name."),
      Field("input", .any, \.input, "The input; an empty mapping where it is left out."),
      Field("id", .name, \.id, "The model's own id of the call."),
    ],
    expected: "a mapping with “tool” and “input”"
  ).map { draft, _ in
    var call: JSONObject = ["name": .string(draft.tool), "input": draft.input]
    call["id"] = draft.id.map(JSONValue.string)
    return JSONValue.object(call)
  }

  private static let toolName = Shape<String>.name.map { name, reader in
    reader.mention(.call(name))
    return name
  }

  private static let unreachable = Shape<String>([
    "anyOf": [["const": true], ["type": "string", "minLength": 1]]
  ]) { value, reader in
    switch value {
    case .bool(true): return "the model is out of reach"
    case .string(let text) where !text.isEmpty: return text
    default:
      return reader.refuseKind(of: value, expected: "true or a text")
    }
  }

  private static let usage = Shape<ModelScript.Usage>.record(
    ModelScript.Usage(),
    [
      Field("inputTokens", .count, \.inputTokens, "Tokens that went in."),
      Field("outputTokens", .count, \.outputTokens, "Tokens that came out."),
      Field("cost", .amount, \.cost, "Money, in the currency of the model's prices."),
    ])

  // MARK: What the schema says beside the keys

  /// Exactly one key that decides; or `choose`, and no key of a choice.
  private static func oneDecision(or other: String?) -> JSONValue {
    let keys = ChoiceDraft.decisionKeys + (other.map { [$0] } ?? [])
    var conditions: [JSONValue] = [
      ["oneOf": .array(keys.map { ["required": [.string($0)]] })]
    ]
    if let other {
      let beside = ["when", "say", "evidence", "usage"]
      conditions.append([
        "if": ["required": [.string(other)]],
        "then": ["not": ["anyOf": .array(beside.map { ["required": [.string($0)]] })]],
      ])
    }
    return ["allOf": .array(conditions)]
  }

  /// `say` stands beside calls, `evidence` beside an answer.
  private static let companions: [JSONValue] = [
    [
      "if": ["required": ["say"]],
      "then": ["anyOf": [["required": ["call"]], ["required": ["calls"]]]],
    ],
    ["if": ["required": ["evidence"]], "then": ["required": ["answer"]]],
  ]
}
