import AgentRuntime
import AgentTrace

extension RecordedStep {
  /// What an authorizer said of a call, in the first verdict on it among the events of the log from one on; `nil`
  /// where that verdict holds no such answer, or there is none.
  ///
  /// - Parameter position: how many events of the log stand before the one to begin with.
  func authorization(ofCall callId: String, from position: Int) -> Authorization? {
    events.dropFirst(max(0, position - start)).lazy.compactMap { event in
      Self.verdict(event, on: callId)
    }.first?.authorization
  }

  /// The answer to the same question about a call, behind the event of a number.
  func authorization(of request: AuthorizationRequest, behind seq: Int) -> Authorization? {
    let digest = request.digest
    return events.lazy.filter { $0.seq > seq }.compactMap { event in
      Self.verdict(event, on: request.call.callId)?.authorization
    }.first { recorded in
      recorded.authorizer.hasSameUTF8(as: request.authorizer)
        && recorded.requestDigest.hasSameUTF8(as: digest)
    }
  }

  private static func verdict(_ event: Event, on callId: String) -> Verdict? {
    guard event.type == .policyDecision, let verdict = try? Verdict(decoding: event.data),
      verdict.callId.hasSameUTF8(as: callId)
    else { return nil }
    return verdict
  }
}
