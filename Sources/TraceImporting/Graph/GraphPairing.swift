import AgentTrace

/// Finds the call that each result of a graph belongs to: by id, else by name and arguments, else by order.
///
/// An id that several calls have decides nothing by itself: arguments and order go on from there. Of the calls that are
/// left a result's is one of the latest turn of its agent where that has one. Where results that name no tool are fewer
/// than the calls of their turn, all of which have ids, nobody knows which of those has none.
struct GraphPairing {
  /// By what a result found its call.
  enum Means: String {
    case id
    case arguments
    case order
  }

  /// A call's place: its reply's item, and its number in it.
  struct Place: Hashable {
    var item: Int
    var call: Int
  }

  struct Answer {
    var place: Place
    var means: Means
  }

  /// By the item of the result.
  private(set) var answers: [Int: Answer] = [:]
  /// The calls without a result.
  private(set) var open: [Place] = []
  /// Where results stand whose call nobody can tell, and that do not name their tool; and those of another tool, or of
  /// another input, than the call that they belong to: what ran is not what was asked for.
  private(set) var unread: [JSONPointer] = []

  private struct Call {
    var place: Place
    var name: String
    var id: String?
    var agent: String?
    var input: JSONValue?
    var isTaken = false
  }

  /// The calls of one reply.
  private struct Turn {
    var item: Int
    var calls: Range<Int>
  }

  private var calls: [Call] = []
  /// Where calls of an id, and of a name, stand in `calls`.
  private var byID: [[UInt8]: [Int]] = [:]
  private var byName: [[UInt8]: [Int]] = [:]
  /// How many calls of a name, from the first, have their result.
  private var answeredByName: [[UInt8]: Int] = [:]
  /// The replies with calls of each agent.
  private var turns: [String: [Turn]] = [:]

  /// - Parameter graph: its items in their order.
  /// - Complexity: O(*n* log *n*) but for results that have no id, which look at the open calls of their tool.
  init(of graph: CallGraph) {
    var results: [Int] = []
    for (index, item) in graph.items.enumerated() {
      switch item {
      case .reply(let reply):
        let first = calls.count
        for (number, call) in reply.calls.enumerated() {
          add(
            Call(
              place: Place(item: index, call: number), name: call.name, id: call.id,
              agent: reply.agent, input: call.input.value?.byValue))
        }
        if first < calls.count {
          turns[reply.agent ?? "", default: []].append(
            Turn(item: index, calls: first..<calls.count))
        }
      case .result: results.append(index)
      case .message: break
      }
    }
    for pass in [Means.id, .arguments, .order] {
      // How many results stand behind each turn of which neither an id nor a name tells the call.
      let nameless = pass == .order ? namelessResults(among: results, of: graph) : [:]
      for index in results where answers[index] == nil {
        guard case .result(let result) = graph.items[index] else { continue }
        if result.tool?.isEmpty != false, pass == .order,
          let turn = turn(of: result.agent, before: index),
          isUnclear(turn, results: nameless[turn.item] ?? 0)
        {
          continue
        }
        if let call = find(result, pass, before: index) {
          calls[call].isTaken = true
          answers[index] = Answer(place: calls[call].place, means: pass)
        }
      }
    }
    pairStrangers(results, of: graph)
    open = calls.filter { !$0.isTaken }.map(\.place)
    for index in results where answers[index] == nil {
      guard case .result(let result) = graph.items[index] else { continue }
      if result.tool?.isEmpty != false { unread.append(result.pointer) }
    }
    for index in results {
      guard let answer = answers[index], case .result(let result) = graph.items[index],
        case .reply(let reply) = graph.items[answer.place.item]
      else { continue }
      let call = reply.calls[answer.place.call]
      if let tool = result.tool, !tool.isEmpty, !ToolWord.mayBeSame(tool, call.name) {
        unread.append(result.pointer)
      } else if let ran = result.input.flatMap(CallSightings.whole)?.byValue,
        let asked = call.input.value.flatMap(CallSightings.whole)?.byValue, ran.contradicts(asked)
      {
        unread.append(result.pointer)
      }
    }
  }

  private mutating func add(_ call: Call) {
    if let id = call.id, !id.isEmpty { byID[Array(id.utf8), default: []].append(calls.count) }
    byName[Array(call.name.utf8), default: []].append(calls.count)
    calls.append(call)
  }

  /// The latest reply with calls of an agent that stands before an item.
  private func turn(of agent: String?, before index: Int) -> Turn? {
    guard let turns = turns[agent ?? ""] else { return nil }
    var (low, high) = (0, turns.count)
    while low < high {
      let middle = (low + high) / 2
      if turns[middle].item < index { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? turns[low - 1] : nil
  }

  /// Of results that have no call yet and name no tool, how many stand behind each turn, by its item.
  private func namelessResults(among results: [Int], of graph: CallGraph) -> [Int: Int] {
    var counts: [Int: Int] = [:]
    for index in results where answers[index] == nil {
      guard case .result(let result) = graph.items[index], result.tool?.isEmpty != false,
        let turn = turn(of: result.agent, before: index)
      else { continue }
      counts[turn.item, default: 0] += 1
    }
    return counts
  }

  /// Whether so many results cannot be given out by their order.
  private func isUnclear(_ turn: Turn, results: Int) -> Bool {
    let open = turn.calls.count { !calls[$0].isTaken }
    return open > 1 && results < open && turn.calls.allSatisfy { calls[$0].id?.isEmpty == false }
  }

  /// Gives results whose ids no call of their turn has to the calls that are left of it, where they are as many: ids
  /// may have been written otherwise. They may be those of others all the same, and are marked.
  private mutating func pairStrangers(_ results: [Int], of graph: CallGraph) {
    var strangers: [(turn: Turn, results: [Int])] = []
    for index in results where answers[index] == nil {
      guard case .result(let result) = graph.items[index],
        let turn = turn(of: result.agent, before: index)
      else { continue }
      if strangers.last?.turn.item == turn.item {
        strangers[strangers.count - 1].results.append(index)
      } else {
        strangers.append((turn, [index]))
      }
    }
    for (turn, results) in strangers {
      let left = turn.calls.filter { !calls[$0].isTaken }
      guard left.count == results.count else { continue }
      for (call, index) in zip(left, results) {
        guard case .result(let result) = graph.items[index] else { continue }
        if let tool = result.tool, !tool.isEmpty, !calls[call].name.hasSameUTF8(as: tool) {
          continue
        }
        calls[call].isTaken = true
        answers[index] = Answer(place: calls[call].place, means: .order)
        unread.append(result.pointer)
      }
    }
  }

  private mutating func find(_ result: GraphResult, _ means: Means, before index: Int) -> Int? {
    let tool = result.tool.flatMap { $0.isEmpty ? nil : $0 }
    let calls = calls
    let fits: (Int) -> Bool = { call in
      !calls[call].isTaken && calls[call].place.item < index
        && (tool == nil || calls[call].name.hasSameUTF8(as: tool ?? ""))
    }
    let latest = turn(of: result.agent, before: index)
    switch means {
    case .id:
      guard let id = result.id, !id.isEmpty, let found = byID[Array(id.utf8)] else { return nil }
      let open = found.filter { !calls[$0].isTaken && calls[$0].place.item < index }
      if open.count <= 1 { return open.first }
      // The same id several times: the arguments decide, then the order.
      if let input = result.input?.byValue,
        let call = open.first(where: { calls[$0].input == input })
      {
        return call
      }
      return open.first { latest?.calls.contains($0) == true && fits($0) }
        ?? open.first(where: fits) ?? open.first
    case .arguments:
      guard let tool, let input = result.input?.byValue else { return nil }
      return openCalls(of: tool).first { fits($0) && calls[$0].input == input }
    case .order:
      let isNamed = result.id?.isEmpty == false
      let isMeant: (Int) -> Bool = { fits($0) && !(isNamed && calls[$0].id?.isEmpty == false) }
      if let call = latest?.calls.first(where: isMeant) { return call }
      // Without a name, only the calls of the latest turn can be meant.
      return tool.flatMap { openCalls(of: $0).first(where: isMeant) }
    }
  }

  /// The calls of a name from the first on that has no result yet.
  private mutating func openCalls(of name: String) -> ArraySlice<Int> {
    let key = Array(name.utf8)
    guard let found = byName[key] else { return [] }
    var first = answeredByName[key] ?? 0
    while first < found.count, calls[found[first]].isTaken { first += 1 }
    answeredByName[key] = first
    return found[first...]
  }
}

extension JSONValue {
  /// Whether another object says something else under the same key. What runs a tool may wrap its arguments, and add some.
  fileprivate func contradicts(_ other: JSONValue) -> Bool {
    guard let object = objectValue, let others = other.objectValue else { return false }
    return others.contains { member in
      object[member.key].map { $0.byValue != member.value.byValue } ?? false
    }
  }
}
