import AgentTrace

/// Finds the call that a result belongs to: by position, as ids may be missing or repeated.
///
/// A caller's results answer the calls of its latest decision, in order. Where an id says clearly
/// otherwise (one open call of that decision has it, and no other call does) the id decides, since
/// interfaces let parallel results come back in any order. A result that names a tool answers no call of
/// another by its position.
struct CallPairing {
  /// A call that waits for its result.
  struct OpenCall: Hashable {
    var callId: String
    var tool: String
    var step: Int
    var providerCallId: String?
  }

  /// What a result answers.
  struct Answered {
    /// `nil` where no call waits for it.
    var call: OpenCall?
    /// Whether what the result says of its call, an id or a tool, is another than that call has: it may
    /// be the result of one that is not there.
    var isDoubtful = false
  }

  private struct Turn {
    var calls: [OpenCall?]
    /// Everything before it is answered.
    var first = 0
    /// How many wait.
    var open: Int
    /// Where a call stands by its id's UTF-8; -1 for an id that several calls have.
    var indexByID: [[UInt8]: Int] = [:]
    /// Where the calls of a tool stand, and how many of them are answered or passed.
    var indicesByTool: [[UInt8]: (indices: [Int], first: Int)] = [:]
    /// Whether every call has an id.
    var hasIDs: Bool

    /// Takes one call, if it waits.
    mutating func take(_ index: Int) -> OpenCall? {
      guard let call = calls[index] else { return nil }
      calls[index] = nil
      open -= 1
      return call
    }

    mutating func takeFirst() -> OpenCall? {
      while first < calls.count {
        defer { first += 1 }
        if let call = take(first) { return call }
      }
      return nil
    }

    mutating func takeFirst(of tool: String) -> OpenCall? {
      let key = Array(tool.utf8)
      while let (indices, first) = indicesByTool[key], first < indices.count {
        indicesByTool[key]?.first = first + 1
        if let call = take(indices[first]) { return call }
      }
      return nil
    }
  }

  private var turns: [String: Turn] = [:]

  /// A new decision of a caller: results from here on are its own. `nil` is the agent.
  mutating func begin(_ calls: [OpenCall], caller: String?) {
    var turn = Turn(
      calls: calls, open: calls.count,
      hasIDs: calls.allSatisfy { $0.providerCallId?.isEmpty == false })
    for (index, call) in calls.enumerated() {
      turn.indicesByTool[Array(call.tool.utf8), default: ([], 0)].indices.append(index)
      guard let id = call.providerCallId else { continue }
      turn.indexByID[Array(id.utf8), default: index] =
        turn.indexByID[Array(id.utf8)] == nil ? index : -1
    }
    turns[caller ?? ""] = turn
  }

  /// Takes the call that a result answers.
  mutating func take(_ result: ParsedResult, caller: String?) -> Answered {
    guard var turn = turns[caller ?? ""] else { return Answered() }
    defer { turns[caller ?? ""] = turn }
    let tool = result.tool.flatMap { $0.isEmpty ? nil : $0 }
    if let id = result.providerCallId, let index = turn.indexByID[Array(id.utf8)], index >= 0,
      let call = turn.take(index)
    {
      return Answered(
        call: call, isDoubtful: tool.map { !$0.hasSameUTF8(as: call.tool) } ?? false)
    }
    let call = tool.map { turn.takeFirst(of: $0) } ?? turn.takeFirst()
    let isStranger =
      turn.hasIDs
      && result.providerCallId.map { !$0.isEmpty && turn.indexByID[Array($0.utf8)] == nil } ?? false
    return Answered(call: call, isDoubtful: call != nil && isStranger)
  }

  /// How many calls of a caller's latest decision wait.
  func open(_ caller: String?) -> Int { turns[caller ?? ""]?.open ?? 0 }
}

/// What of a run's results belongs to which call, looked at before its log begins.
struct CallAccount {
  /// Whether every call has a result, but those with which the run ended.
  private(set) var isWhole = true
  /// Where results stand whose call is not there and whose tool nobody names, or that may be those of
  /// another call than the one they stand behind.
  private(set) var unread: [JSONPointer] = []

  /// - Parameter run: its messages in their order.
  init(of run: ParsedRun) {
    var pairing = CallPairing()
    var callers: [String?] = []
    for message in run.messages {
      if !message.calls.isEmpty {
        let caller = message.speaker
        if !callers.contains(caller) { callers.append(caller) }
        if pairing.open(caller) > 0 { isWhole = false }
        pairing.begin(
          message.calls.map {
            .init(callId: "", tool: $0.name, step: 0, providerCallId: $0.providerCallId)
          }, caller: caller)
      } else if message.role == .tool, let result = message.result {
        let answered = pairing.take(result, caller: message.caller)
        if answered.isDoubtful || answered.call == nil && result.tool?.isEmpty != false {
          unread.append(message.pointer)
        }
      }
    }
    let last = run.messages.last.flatMap { $0.calls.isEmpty ? nil : $0 }
    for caller in callers where pairing.open(caller) > 0 {
      if !run.endsInCalls || last == nil || last?.speaker != caller { isWhole = false }
    }
  }
}

extension ParsedMessage {
  /// Who makes the calls of the message; `nil` for the agent.
  var speaker: String? { role == .user ? caller ?? "user" : caller }
}
