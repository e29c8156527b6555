import AgentTrace

/// Finds the call that each result of a graph belongs to: by id, else by name and arguments, else by order.
///
/// An id that several calls have decides nothing by itself: arguments and order go on from there.
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

  private var calls: [Call] = []
  /// Where calls of an id, and of a name, stand in `calls`; and what of the latter is looked at already.
  private var byID: [[UInt8]: [Int]] = [:]
  private var byName: [[UInt8]: [Int]] = [:]

  /// - Parameter graph: its items in their order.
  /// - Complexity: O(*n*) but for results that have no id, which look at the open calls of their tool.
  init(of graph: CallGraph) {
    var results: [Int] = []
    for (index, item) in graph.items.enumerated() {
      switch item {
      case .reply(let reply):
        for (number, call) in reply.calls.enumerated() {
          add(
            Call(
              place: Place(item: index, call: number), name: call.name, id: call.id,
              agent: reply.agent, input: call.input.value?.byValue))
        }
      case .result: results.append(index)
      case .message: break
      }
    }
    for pass in [Means.id, .arguments, .order] {
      for index in results where answers[index] == nil {
        guard case .result(let result) = graph.items[index] else { continue }
        if let call = find(result, pass, before: index) {
          calls[call].isTaken = true
          answers[index] = Answer(place: calls[call].place, means: pass)
        }
      }
    }
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

  private func find(_ result: GraphResult, _ means: Means, before index: Int) -> Int? {
    let tool = result.tool.flatMap { $0.isEmpty ? nil : $0 }
    let fits: (Int) -> Bool = { call in
      !calls[call].isTaken && calls[call].place.item < index
        && (tool == nil || calls[call].name.hasSameUTF8(as: tool ?? ""))
    }
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
      return open.first(where: fits) ?? open.first
    case .arguments:
      guard let tool, let input = result.input?.byValue else { return nil }
      return byName[Array(tool.utf8)]?.first { fits($0) && calls[$0].input == input }
    case .order:
      let isNamed = result.id?.isEmpty == false
      if let tool {
        return byName[Array(tool.utf8)]?.first {
          fits($0) && !(isNamed && calls[$0].id?.isEmpty == false)
        }
      }
      // Without a name, only the calls of the latest turn can be meant.
      guard let last = calls.last(where: { $0.place.item < index && $0.agent == result.agent })
      else { return nil }
      return calls.indices.first {
        fits($0) && calls[$0].place.item == last.place.item
          && !(isNamed && calls[$0].id?.isEmpty == false)
      }
    }
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
