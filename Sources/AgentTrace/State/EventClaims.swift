/// Holds what an event says of earlier events of its run against those.
///
/// A log says many a thing twice: an approval names the action of a call that a decision holds, words name
/// the event that they answer, a stop sums up what was used. Digests of states prove most of it at the
/// next stop or checkpoint; this names the event that does not fit, and looks at what enters no digest.
///
/// Bounded: it keeps what the current decision says. Only for runs whose events are all there: what a
/// missing event said is not known.
public struct EventClaims: Sendable {
  private let requiresAll: Bool
  private var runId: String?
  private var t = 0
  /// Whether our own runtime made the run: what other sources say is theirs.
  private var isOurs = false
  /// The tools of which the start says that they keep or look up notes, by their input's form.
  private var noteTools: Set<String> = []
  private var decision = LastDecision()
  private var replies = LastReplies()
  /// What calls of the current decision looked up, by call.
  private var looked: [String: JSONValue?] = [:]

  private struct LastDecision {
    var seq = -1
    var step = 0
    var decision: Decision?
  }

  /// The last replies by who gave them.
  private struct LastReplies {
    var ofModel: (seq: Int, step: Int)?
    var ofPerson: (seq: Int, step: Int)?
  }

  /// Nothing has happened.
  ///
  /// - Parameter requiresAll: whether what our runtime always says must be there: of a run that it made. Other
  ///   programs may leave it out.
  public init(requiresAll: Bool = false) { self.requiresAll = requiresAll }

  /// Takes in the next event; says what is wrong with what it says of earlier ones, without quoting it.
  ///
  /// Of a `context_built` only the envelope is looked at.
  ///
  /// - Parameters:
  ///   - event: the one right behind those taken in so far.
  ///   - state: what the events before it come to.
  /// - Returns: `nil` where nothing is wrong, or nothing can be said.
  public mutating func fault(in event: Event, after state: AgentState) -> String? {
    let fault = faultInEnvelope(event) ?? faultInData(event, after: state)
    t = event.t
    take(event)
    return fault
  }

  private mutating func faultInEnvelope(_ event: Event) -> String? {
    guard let runId else {
      runId = event.runId
      return nil
    }
    if !event.runId.hasSameUTF8(as: runId) { return "it names another run than the first event" }
    return event.t < t ? "its time of the run (t) lies before that of the event before it" : nil
  }

  private func faultInData(_ event: Event, after state: AgentState) -> String? {
    switch event.type {
    case .approval: faultInApproval(event, after: state)
    case .humanReplied where isOurs: faultInWords(event)
    case .decision where isOurs:
      fault(inReply: event, given: replies.ofModel, "the decision", "the last reply of a model")
    case .policyDecision where isOurs, .toolStarted where isOurs, .toolResult where isOurs:
      faultInCall(event, after: state)
    case .memoryWritten where isOurs, .memoryRead where isOurs: faultInNote(event)
    case .stop where isOurs: faultInStop(event, after: state)
    default: nil
    }
  }

  private mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted: takeStart(event.data)
    case .modelResult where event.data["reply"] != nil:
      switch event.data["purpose"]?.stringValue {
      case "human": replies.ofPerson = (event.seq, event.step)
      case "summarize", "plan", "reflect": break
      default: replies.ofModel = (event.seq, event.step)
      }
    case .decision:
      decision = LastDecision(
        seq: event.seq, step: event.step,
        decision: (try? DecisionPayload(decoding: event.data))?.decision)
      looked = [:]
    case .memoryRead:
      if let callId = event.data["callId"]?.stringValue {
        looked[callId] = .some(event.data["value"])
      }
    default: break
    }
  }

  private mutating func takeStart(_ data: JSONObject) {
    isOurs = data["source"] == nil && RunStarted.recorded(in: data).isEmpty
    for tool in data["tools"]?.arrayValue ?? [] {
      guard let schema = tool["inputSchema"], Self.isOfNotes(schema),
        let name = tool["name"]?.stringValue
      else { continue }
      noteTools.insert(name)
    }
  }

  /// Whether inputs of this form say which note is meant, and nothing else.
  private static func isOfNotes(_ schema: JSONValue) -> Bool {
    guard let properties = schema["properties"]?.objectValue else { return false }
    return properties["key"] != nil && properties["scope"]?["enum"] != nil
      && properties.keys.allSatisfy { ["key", "scope", "value"].contains($0) }
      && schema["additionalProperties"] == false && schema["required"] == ["scope", "key"]
  }

  // MARK: People

  private func faultInApproval(_ event: Event, after state: AgentState) -> String? {
    guard let approval = try? Approval(decoding: event.data) else { return nil }
    guard let call = state.pending.call(approval.callId) else {
      return isOurs ? "the approval is of a call that does not wait" : nil
    }
    guard
      approval.actionId.hasSameUTF8(as: call.actionId)
        || call.older.id?.hasSameUTF8(as: approval.actionId) ?? false
    else { return "the approval names another action (actionId) than that of its call" }
    guard isOurs, approval.modelResult != nil else { return nil }
    return fault(inReply: event, given: replies.ofPerson, "the approval", "what a model last said")
  }

  private func faultInWords(_ event: Event) -> String? {
    guard event.data["replyTo"] != nil || requiresAll else { return nil }
    guard let asked = decision.decision, event.data["replyTo"]?.intValue == decision.seq else {
      return "the words name another event (replyTo) than the decision that asked for them"
    }
    switch asked {
    case .answer, .askHuman: break
    default: return "the words answer (replyTo) a decision that asks nobody anything"
    }
    guard event.data["modelResult"] != nil else { return nil }
    return fault(inReply: event, given: replies.ofPerson, "the words", "what a model last said")
  }

  private func fault(
    inReply event: Event, given reply: (seq: Int, step: Int)?, _ what: String, _ meant: String
  ) -> String? {
    guard event.data["modelResult"] != nil || requiresAll else { return nil }
    guard let reply, reply.step == event.step, event.data["modelResult"]?.intValue == reply.seq
    else { return "\(what) names another event (modelResult) than \(meant) in its step" }
    return nil
  }

  // MARK: Calls

  /// A call that no decision holds is told of elsewhere.
  private func faultInCall(_ event: Event, after state: AgentState) -> String? {
    guard let callId = event.data["callId"]?.stringValue,
      let call = state.pending.call(callId)
    else { return nil }
    guard event.data["tool"]?.stringValue?.hasSameUTF8(as: call.tool) ?? true else {
      return "it names another tool than its call"
    }
    guard event.type == .toolResult, event.data["status"] == "ok", noteTools.contains(call.tool),
      let found = looked[callId], let data = event.data["data"], !RedactionToken.isIn(data)
    else { return nil }
    return data["value"] == found && data["found"] == .bool(found != nil)
      ? nil : "the result is not the note that the call looked up"
  }

  private func faultInNote(_ event: Event) -> String? {
    guard let callId = event.data["callId"]?.stringValue,
      let call = decision.decision?.calls.first(where: { $0.callId.hasSameUTF8(as: callId) }),
      noteTools.contains(call.name)
    else { return nil }
    guard !RedactionToken.isIn(call.input), !RedactionToken.isIn(.object(event.data)) else {
      return nil
    }
    let isWritten = event.type == .memoryWritten
    let isSame =
      event.data["scope"] == call.input["scope"] && event.data["key"] == call.input["key"]
      && (!isWritten || event.data["value"] == call.input["value"])
    let verb = isWritten ? "keeps" : "looks up"
    return isSame ? nil : "the note is not the one that its call \(verb)"
  }

  // MARK: The end

  private func faultInStop(_ event: Event, after state: AgentState) -> String? {
    if requiresAll {
      guard event.data["stateDigest"] != nil, event.data["stateFormat"] != nil else {
        return "the stop gives no digest of the run's state"
      }
    }
    if let totals = event.data["totals"], totals != .object(state.totals.encoded) {
      return "the totals of the stop are not what the events before it come to"
    }
    guard case .answer(let text, let refs)? = decision.decision, let answer = event.data["answer"]
    else { return nil }
    guard answer == .string(text) else { return "the stop gives another answer than the decision" }
    let given = event.data["evidenceRefs"]?.arrayValue ?? []
    return given == refs.map(JSONValue.string)
      ? nil : "the stop gives other evidence (evidenceRefs) than the decision"
  }
}
