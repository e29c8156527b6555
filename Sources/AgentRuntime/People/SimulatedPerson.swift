public import AgentTrace

/// A person that a model plays: it is asked what they would say, with the conversation as they saw it.
public struct SimulatedPerson: Sendable {
  /// The model that plays them.
  public var model: ModelDefinition
  /// Whom it is to play; `nil` for somebody of whom nothing is known.
  public var systemPrompt: String?
  /// What logs call the person.
  public var name: String
  /// What a yes of theirs covers; `nil` as logs of before there was such a word have it.
  public var approvalScope: ApprovalScope? = .once

  /// Logs call the person `person`, unless a name is given.
  public init(model: ModelDefinition, systemPrompt: String? = nil, name: String = "person") {
    self.model = model
    self.systemPrompt = systemPrompt
    self.name = name
  }
}

/// What a model that plays a person is given.
///
/// Pure, like a context packet: the state and the events that it names are all it looks at. The person
/// began with the goal, hears the agent's questions and answers, and sees neither calls nor results.
struct PersonTranscript {
  /// The person's own words with the role `assistant`, what they hear with the role `user`.
  let messages: [JSONValue]

  /// - Parameter request: the call that the person is asked about; `nil` where the agent has spoken.
  init(
    _ person: SimulatedPerson, state: AgentState, about request: ApprovalRequest?,
    lookup: EventLookup
  ) {
    var messages: [JSONValue] = []
    if let systemPrompt = person.systemPrompt {
      messages.append(Turn.Part.text("system", systemPrompt))
    }
    messages.append(
      Turn.Part.text(
        "assistant", state.goal.stringValue ?? CanonicalJSON.string(state.goal, form: .plain)))
    for observation in state.observations.recent {
      guard let event = lookup(observation.seq) else { continue }
      switch event.type {
      case .decision:
        guard let text = Self.text(of: event) else { continue }
        messages.append(Turn.Part.text("user", text))
      case .humanReplied:
        guard let text = event.data["text"]?.stringValue else { continue }
        messages.append(Turn.Part.text("assistant", text))
      default: continue
      }
    }
    if let request { messages.append(Turn.Part.text("user", Self.text(of: request))) }
    self.messages = messages
  }

  private static func text(of event: Event) -> String? {
    switch try? DecisionPayload(decoding: event.data).decision {
    case .answer(let text, _)?, .askHuman(let text)?: text
    default: nil
    }
  }

  private static func text(of request: ApprovalRequest) -> String {
    "May I call \(request.call.name) with "
      + "\(CanonicalJSON.string(request.call.input, form: .plain))? "
      + "(\(request.reason)) Begin your reply with yes or no."
  }
}
