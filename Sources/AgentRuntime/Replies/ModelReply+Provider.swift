public import AgentTrace

extension ModelReply {
  /// A call that the provider ran itself, and what came of it.
  public struct RanCall: Sendable, Hashable {
    /// Numbered `<step>.<try>.p<index>`.
    public var call: ProposedCall
    /// Nobody knows what came of it where the reply does not say.
    public var result: ToolResult
  }

  /// The calls that the provider ran itself before this reply came: no policy was asked, and nobody can keep
  /// them from having happened.
  public func ran(step: Int, tryNumber: Int) -> [RanCall] {
    (reply["ran"]?.arrayValue ?? []).prefix(Self.callLimit).enumerated().map { index, ran in
      let (input, _) = ReplyArguments.input(of: ran)
      let call = ProposedCall(
        callId: "\(step).\(tryNumber).p\(index)", name: ran["name"]?.stringValue ?? "",
        input: input,
        providerCallId: ran["id"]?.stringValue, executedBy: ProposedCall.provider)
      let data = (ran["data"] ?? .null).cut(toBytes: 1 << 20)
      switch ran["status"]?.stringValue {
      case "ok"?: return RanCall(call: call, result: .ok(data: data))
      case "returned"?: return RanCall(call: call, result: .returned(data: data))
      case "error"?:
        return RanCall(call: call, result: .error(reason: data, isEffectUnknown: false))
      default:
        return RanCall(
          call: call,
          result: .error("the reply does not say what came of it", isEffectUnknown: true))
      }
    }
  }

  /// Where the reply holds what may be a call and was not read, in words; `nil` where all of it was.
  public var unread: String? {
    Self.words((reply["unread"]?.arrayValue ?? []).compactMap(\.stringValue))
  }

  /// The same for whoever only watches: somebody else may act on any choice, and find a way to run a call of
  /// which the name or the input cannot be read here.
  public var unseen: String? {
    var places = (reply["unread"]?.arrayValue ?? []).compactMap(\.stringValue)
    if let others = reply["otherChoices"]?.intValue, others > 0 {
      places.append("\(others) more \(others == 1 ? "choice" : "choices")")
    }
    for key in ["calls", "ran"] {
      let calls = reply[key]?.arrayValue ?? []
      if calls.count > Self.callLimit { places.append("\(calls.count) \(key)") }
      for (index, call) in calls.prefix(Self.callLimit).enumerated() {
        if call["name"]?.stringValue?.isEmpty ?? true {
          places.append("call \(index + 1) without a name")
        } else if key == "calls", let fault = ReplyArguments.input(of: call).fault {
          places.append("call \(index + 1): \(fault.prefix(utf8Bytes: 200))")
        }
      }
    }
    return Self.words(places)
  }

  private static func words(_ places: [String]) -> String? {
    guard !places.isEmpty else { return nil }
    let told = places.prefix(8).joined(separator: ", ").prefix(utf8Bytes: 1_000)
    return "a part of the reply could not be read, and may be a call: \(told)"
  }

  /// Whether there is a decision in it beside what the provider ran.
  public var decides: Bool {
    guard let object = reply.objectValue else { return true }
    if object["paused"] == true, object["calls"] == nil { return false }
    let keys = object.keys.filter {
      !["otherChoices", "parts", "ran", "reasoning", "unread"].contains($0)
    }
    return !keys.isEmpty || object["ran"] == nil
  }
}
