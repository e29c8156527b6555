import AgentTrace

/// What calls of models were shown of what had happened: calls and results that stand in no span of their own.
struct SpanHistory {
  /// Results that were shown, with the model's call that was shown them first.
  private(set) var results: [(result: GraphResult, before: Int)] = []
  /// Calls that nobody asked for where it was seen: before which model's call they stand, with their text.
  private(set) var lost: [(calls: [GraphCall], before: Int, pointer: JSONPointer)] = []
  /// Calls that no reply asked for, by the number of their execution.
  var orphans: [Int: GraphCall] = [:]
  private var asked: Set<Int> = []
  private let executions: [SpanGraph.Execution]

  init(_ executions: [SpanGraph.Execution]) { self.executions = executions }

  /// Whether some reply asked for an execution.
  func isAsked(_ execution: Int) -> Bool { asked.contains(execution) }

  private struct Known {
    var ids: Set<String> = []
    /// How often each name was asked for with some arguments.
    var forms: [String: Int] = [:]

    static func form(_ name: String, _ input: JSONValue?) -> String {
      "\(name) \((input?.byValue).map { CanonicalJSON.string($0) } ?? "")"
    }

    mutating func add(_ call: GraphCall) {
      if let id = call.id, !id.isEmpty { ids.insert(id) }
      forms[Self.form(call.name, call.input.value), default: 0] += 1
    }
  }

  /// Reads what each call was shown, and completes the replies of which nobody saw the content.
  mutating func complete(_ models: inout [SpanGraph.ModelCall]) {
    var known = Known()
    for call in models.flatMap(\.calls) { known.add(call) }
    let first = models.first?.content.inputs ?? []
    // What the first was shown already came before the run.
    for call in first.flatMap(\.calls) { known.add(call) }
    let earlier = Set(first.flatMap(\.results).compactMap(\.id))
    readCalls(&models, &known)
    match(models, lost.flatMap(\.calls))
    readResults(models, earlier)
  }

  /// The span of the first call of a model, where what it was shown ends with results of calls that the run neither asked
  /// for nor ran: it begins in the middle of a turn.
  func spanInsideTurn(_ models: [SpanGraph.ModelCall]) -> TraceSpan? {
    guard let first = models.first, let inputs = first.content.inputs else { return nil }
    let tail = inputs.reversed().prefix { !$0.results.isEmpty }
    // Some write what a tool is as if it had said something; no call leads to that.
    let hasCalls = inputs.dropLast(tail.count).last?.calls.isEmpty == false
    let results = tail.flatMap(\.results).filter { hasCalls || $0.id?.isEmpty == false }
    guard !results.isEmpty else { return nil }
    let ids = Set(executions.compactMap(\.tool.id))
    let (all, unnamed) = (executions, executions.filter { $0.tool.id == nil })
    let (names, namesOfUnnamed) = (Set(all.map(\.tool.name)), Set(unnamed.map(\.tool.name)))
    // By its id where both have one, else by the tool, as far as that is said.
    let isKnown = { (result: GraphResult) in
      guard let id = result.id else {
        return result.tool.map(names.contains) ?? !all.isEmpty
      }
      return ids.contains(id) || result.tool.map(namesOfUnnamed.contains) ?? !unnamed.isEmpty
    }
    return results.allSatisfy(isKnown) ? nil : first.span
  }

  private mutating func readCalls(_ models: inout [SpanGraph.ModelCall], _ known: inout Known) {
    for number in models.indices.dropFirst() {
      var seen: [String: Int] = [:]
      for message in models[number].content.inputs ?? [] where message.role == .assistant {
        let missing = message.calls.filter { call in
          if let id = call.id, !id.isEmpty, known.ids.contains(id) { return false }
          let form = Known.form(call.name, call.input.value)
          seen[form, default: 0] += 1
          return seen[form, default: 0] > known.forms[form, default: 0]
        }
        guard !missing.isEmpty else { continue }
        for call in missing { known.add(call) }
        let target = models.indices.last { place in
          place < number && !models[place].isTold && models[place].foundCalls.isEmpty
            && models[place].span.failure == nil
        }
        let pointer = models[number].span.pointer
        let calls = missing.map { call in
          var call = call
          call.pointer = pointer
          return call
        }
        if let target {
          models[target].foundCalls = calls
        } else {
          lost.append((calls, number, pointer))
        }
      }
    }
  }

  /// Finds the executions that some reply asked for.
  private mutating func match(_ models: [SpanGraph.ModelCall], _ lost: [GraphCall]) {
    var open = models.flatMap { call in
      (call.calls + call.foundCalls).map { ($0, call.span.start) }
    }
    open += lost.map { ($0, 0) }
    func take(_ fits: (GraphCall, SpanTool) -> Bool) {
      for (number, execution) in executions.enumerated() where !asked.contains(number) {
        let place = open.firstIndex { call, start in
          start <= execution.span.end && fits(call, execution.tool)
        }
        guard let place else { continue }
        open.remove(at: place)
        asked.insert(number)
      }
    }
    take { call, tool in
      call.id != nil && call.id == tool.id && Self.isSame(call.input.value, tool.input)
    }
    take { call, tool in call.id != nil && call.id == tool.id }
    take { call, tool in
      call.name.hasSameUTF8(as: tool.name) && tool.input != nil
        && Self.isSame(call.input.value, tool.input)
    }
    take { call, tool in
      call.name.hasSameUTF8(as: tool.name)
        && (tool.id == nil || call.id == nil || tool.id == call.id)
    }
  }

  private static func isSame(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
    guard let left, let right else { return false }
    return left.byValue == right.byValue
  }

  /// The tools of results that name neither an id nor a tool, by the places of their messages: those of the calls right
  /// before them, in their order, where there are as many of both.
  private static func toolsOfNameless(_ shown: [ReadMessage]) -> [Int: [String]] {
    var tools: [Int: [String]] = [:]
    for (place, message) in shown.enumerated() where !message.calls.isEmpty {
      let behind = shown.indices.dropFirst(place + 1).prefix { !shown[$0].results.isEmpty }
      let results = behind.flatMap { shown[$0].results }
      guard results.count == message.calls.count,
        results.allSatisfy({ $0.tool == nil && ($0.id ?? "").isEmpty })
      else { continue }
      var names = message.calls.map(\.name)
      for index in behind {
        let count = shown[index].results.count
        tools[index] = Array(names.prefix(count))
        names.removeFirst(count)
      }
    }
    return tools
  }

  /// Results of calls whose execution no span tells.
  private mutating func readResults(_ models: [SpanGraph.ModelCall], _ earlier: Set<String>) {
    let told = Set(executions.compactMap(\.tool.id))
    let ran = Set(executions.map(\.tool.name))
    // Executions without an id are told by their tool; so many of a tool's results are known.
    var nameless: [String: Int] = [:]
    for execution in executions where execution.tool.id == nil {
      nameless[execution.tool.name, default: 0] += 1
    }
    var names: [String: String] = [:]
    for call in models.flatMap({ $0.calls + $0.foundCalls }) + lost.flatMap(\.calls) {
      if let id = call.id, !id.isEmpty { names[id] = call.name }
    }
    var counts: [String: Int] = [:]
    for (number, model) in models.enumerated().dropFirst() {
      var here: [String: Int] = [:]
      let inputs = model.content.inputs ?? []
      let named = Self.toolsOfNameless(inputs)
      for (index, message) in inputs.enumerated() {
        for (place, var result) in message.results.enumerated() {
          let name =
            result.tool ?? result.id.flatMap { names[$0] }
            ?? named[index].flatMap { $0.indices.contains(place) ? $0[place] : nil }
          if let id = result.id, !id.isEmpty {
            guard !told.contains(id), !earlier.contains(id) else { continue }
            here[id, default: 0] += 1
            // The same id twice is two results where one list has both.
            guard here[id, default: 0] > counts[id, default: 0] else { continue }
            counts[id] = here[id]
            if let name, let left = nameless[name], left > 0 {
              nameless[name] = left - 1
              continue
            }
          } else {
            guard let name, nameless[name] == nil else { continue }
            // Of one that says nothing of itself, the execution may be told by its id.
            if result.tool == nil, ran.contains(name) || result.data == .absent { continue }
            // What a tool gave back twice are two results where one list has both.
            let key = "\(name) \(result.data.logged)"
            here[key, default: 0] += 1
            guard here[key, default: 0] > counts[key, default: 0] else { continue }
            counts[key] = here[key]
          }
          result.tool = name
          result.agent = model.agent
          result.extra["source"] = "what the next call of the model was shown"
          results.append((result, number))
        }
      }
    }
  }
}
