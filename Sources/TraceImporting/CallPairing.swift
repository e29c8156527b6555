import AgentTrace

/// Finds the call that each result of a run belongs to, before its log begins.
///
/// A caller's results answer the calls of its latest decision. Where exactly one call of it has the id that a
/// result names, the id decides, since interfaces let parallel results come back in any order; then the tool
/// that a result names; then the position, as ids may be missing or repeated. A result that names a tool
/// answers no call of another by its position; where more calls with ids wait than there are results, none does.
struct CallPairing {
  /// What a result answers.
  struct Answered: Hashable {
    /// The message that holds the call.
    var message: Int
    /// The call's number in it.
    var call: Int
  }

  /// By the number of the result's message; a result that is not there answers no call that is there.
  private(set) var answers: [Int: Answered] = [:]
  /// Whether every call has a result, but those with which the run ended.
  private(set) var isWhole = true
  /// Where results stand whose call is not there and whose tool nobody names, or that may be those of
  /// another call than the one they stand behind.
  private(set) var unread: [JSONPointer] = []
  private var unreadMessages: [Int] = []

  /// - Parameter run: its messages in their order.
  init(of run: ParsedRun) {
    var turns: [(caller: String?, turn: Turn)] = []
    for (index, message) in run.messages.enumerated() {
      let place = turns.firstIndex { $0.caller == message.speaker }
      if !message.calls.isEmpty {
        let turn = Turn(message: index, message.calls)
        guard let place else {
          turns.append((message.speaker, turn))
          continue
        }
        end(turns[place].turn, run, mayBeOpen: false)
        turns[place].turn = turn
      } else if message.role == .tool, message.result != nil {
        if let place {
          turns[place].turn.results.append(index)
        } else {
          note(index, run.messages[index].result?.tool)
        }
      }
    }
    for (_, turn) in turns {
      end(turn, run, mayBeOpen: run.endsInCalls && turn.message == run.messages.count - 1)
    }
    unread = unreadMessages.sorted().map { run.messages[$0].pointer }
  }

  /// Gives the results of a turn to its calls.
  private mutating func end(_ turn: Turn, _ run: ParsedRun, mayBeOpen: Bool) {
    var turn = turn
    for pass in Turn.Pass.allCases {
      if pass == .position, turn.isUnclear(turn.results.count { answers[$0] == nil }) { continue }
      for index in turn.results where answers[index] == nil {
        guard let result = run.messages[index].result else { continue }
        guard let call = turn.take(result, pass) else { continue }
        answers[index] = Answered(message: turn.message, call: call)
        if turn.isStrange(result, to: run.messages[turn.message].calls[call]) {
          unreadMessages.append(index)
        }
      }
    }
    for index in turn.results where answers[index] == nil {
      note(index, run.messages[index].result?.tool)
    }
    if turn.open > 0, !mayBeOpen { isWhole = false }
  }

  /// Takes in a result without its call.
  private mutating func note(_ index: Int, _ tool: String?) {
    if tool?.isEmpty != false { unreadMessages.append(index) }
  }
}

/// A decision with calls, and the results up to the next one of its caller.
private struct Turn {
  /// By what a result finds its call, the surest first.
  enum Pass: CaseIterable {
    case id
    case tool
    case position
  }

  /// The message that holds the calls.
  let message: Int
  /// The messages of the results.
  var results: [Int] = []
  /// How many calls wait.
  private(set) var open: Int
  private var isTaken: [Bool]
  /// Everything before it is answered.
  private var first = 0
  /// Where a call stands by its id's UTF-8; -1 for an id that several calls have.
  private var indexByID: [[UInt8]: Int] = [:]
  /// Where the calls of a tool stand, and how many of them were looked at.
  private var indicesByTool: [[UInt8]: (indices: [Int], first: Int)] = [:]
  /// Whether every call has an id.
  private var hasIDs: Bool { idless.isEmpty }
  /// The calls that have none.
  private let idless: [Int]

  init(message: Int, _ calls: [ParsedCall]) {
    self.message = message
    open = calls.count
    isTaken = calls.map { _ in false }
    idless = calls.indices.filter { calls[$0].providerCallId?.isEmpty != false }
    for (index, call) in calls.enumerated() {
      indicesByTool[Array(call.name.utf8), default: ([], 0)].indices.append(index)
      guard let id = call.providerCallId else { continue }
      let key = Array(id.utf8)
      indexByID[key] = indexByID[key] == nil ? index : -1
    }
  }

  /// The call that a result takes; `nil` where none is left for it in this way.
  mutating func take(_ result: ParsedResult, _ pass: Pass) -> Int? {
    let tool = result.tool.flatMap { $0.isEmpty ? nil : $0 }
    switch pass {
    case .id:
      guard let id = result.providerCallId, let index = indexByID[Array(id.utf8)], index >= 0
      else { return nil }
      return take(index)
    case .tool: return tool.flatMap { takeFirst(of: Array($0.utf8)) }
    case .position:
      guard tool == nil else { return nil }
      // A call that has an id of its own is not the one whose id a result has, where that may have been lost.
      let hasID = result.providerCallId?.isEmpty == false
      return hasID && !hasIDs ? takeFirstWithoutID() : takeFirst()
    }
  }

  /// Whether so many results cannot be given out by their position: calls with ids wait, more than there are
  /// results, so that nobody knows which of them has none.
  func isUnclear(_ results: Int) -> Bool { hasIDs && open > 1 && results < open }

  /// Whether what a result says of its call, an id or a tool, is another than that call has: it may be the
  /// result of one that is not there.
  func isStrange(_ result: ParsedResult, to call: ParsedCall) -> Bool {
    if let tool = result.tool, !tool.isEmpty, !tool.hasSameUTF8(as: call.name) { return true }
    guard hasIDs, let id = result.providerCallId, !id.isEmpty else { return false }
    return call.providerCallId.map { !$0.hasSameUTF8(as: id) } ?? false
  }

  private mutating func take(_ index: Int) -> Int? {
    guard !isTaken[index] else { return nil }
    isTaken[index] = true
    open -= 1
    return index
  }

  private mutating func takeFirst() -> Int? {
    while first < isTaken.count {
      defer { first += 1 }
      if let call = take(first) { return call }
    }
    return nil
  }

  private mutating func takeFirstWithoutID() -> Int? {
    idless.first { !isTaken[$0] }.flatMap { take($0) }
  }

  private mutating func takeFirst(of tool: [UInt8]) -> Int? {
    while let (indices, first) = indicesByTool[tool], first < indices.count {
      indicesByTool[tool]?.first = first + 1
      if let call = take(indices[first]) { return call }
    }
    return nil
  }
}

extension ParsedMessage {
  /// Who makes the calls of the message, or made the one that it answers; `nil` for the agent.
  var speaker: String? { role == .user ? caller ?? "user" : caller }
}
