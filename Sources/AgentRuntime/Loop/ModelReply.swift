public import AgentTrace

/// A model's reply in the one form that the loop reads.
///
/// `{"text","calls":[{"id","name","input"}],"question","stop","evidence":[…]}`, each key optional; of a
/// call, `arguments` (JSON as text) may stand in place of `input`. Calls go before a question, a
/// question before a stop, a stop before a text.
public struct ModelReply: Sendable {
  private let reply: JSONValue

  /// Nothing is read yet; see ``decision(step:tryNumber:fault:)``.
  public init(_ reply: JSONValue) { self.reply = reply }

  /// Reads the reply as a decision whose calls are numbered `<step>.<try>.<index>`.
  ///
  /// Anything that cannot be read, and any call that `fault` finds something wrong with, makes the
  /// whole decision invalid.
  public func decision(
    step: Int, tryNumber: Int, fault: (ProposedCall) -> String?
  ) -> Decision {
    guard let object = reply.objectValue else {
      return .invalid(reason: "the reply is \(reply.typeName), not an object", calls: [])
    }
    if let calls = object["calls"]?.arrayValue, !calls.isEmpty {
      return decision(calls: calls, step: step, tryNumber: tryNumber, fault: fault)
    }
    if let question = object["question"]?.stringValue { return .askHuman(question: question) }
    if let stop = object["stop"] {
      switch stop.stringValue {
      case StopReason.success.rawValue: return .stop(.success)
      case StopReason.blocked.rawValue: return .stop(.blocked)
      default:
        let word = CanonicalJSON.prefix(of: stop, limitBytes: 100)
        return .invalid(
          reason: "a model may stop with success or blocked, not with \(word)", calls: [])
      }
    }
    if let text = object["text"]?.stringValue, !text.isEmpty {
      let refs = object["evidence"]?.arrayValue?.compactMap(\.stringValue) ?? []
      return .answer(text: text, evidenceRefs: refs)
    }
    return .invalid(reason: "the reply holds neither text nor calls", calls: [])
  }

  private func decision(
    calls: [JSONValue], step: Int, tryNumber: Int, fault: (ProposedCall) -> String?
  ) -> Decision {
    var proposed: [ProposedCall] = []
    var faults: [String] = []
    for (index, call) in calls.enumerated() {
      let (input, inputFault) = Self.input(of: call)
      let proposal = ProposedCall(
        callId: "\(step).\(tryNumber).\(index)", name: call["name"]?.stringValue ?? "",
        input: input, providerCallId: call["id"]?.stringValue)
      proposed.append(proposal)
      if let found = inputFault ?? fault(proposal) { faults.append(found) }
    }
    return faults.isEmpty
      ? .tool(proposed) : .invalid(reason: faults.joined(separator: "; "), calls: proposed)
  }

  private static func input(of call: JSONValue) -> (JSONValue, fault: String?) {
    if let input = call["input"] { return (input, nil) }
    guard let text = call["arguments"]?.stringValue else { return (.object([:]), nil) }
    do {
      return (try JSONValue(parsing: text, options: .init(depthLimit: 64)), nil)
    } catch {
      return (.string(text), "the arguments are no JSON: \(error)")
    }
  }
}
