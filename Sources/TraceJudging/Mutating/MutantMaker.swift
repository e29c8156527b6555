import AgentTrace
import TraceMatching

/// Makes the mutants of one recorded run, in the order of its events.
struct MutantMaker {
  /// Changed arguments of one call, at most.
  private static let argumentLimit = 32

  struct Call {
    var id: String
    var name: String
    var input: JSONValue
    /// The decision's place, and the call's in it.
    var decision: Int
    var index: Int
    /// Verdicts, approvals, starts, notes and the result.
    var events: [Int] = []
    var status: CallStatus?
    var isExecuted = false
    /// Whether the decision that holds it could not be used.
    var isInvalid = false
  }

  /// Tools that were never called and are called now, at most.
  private static let unusedLimit = 8

  let events: [Event]
  /// The definitions of its tools; empty where it does not say what it had.
  private let tools: [JSONValue]
  /// Their names.
  let toolNames: [String]
  private(set) var calls: [Call] = []
  private(set) var decisions: [Int] = []
  /// How many calls each decision holds, by its place.
  private(set) var callsByDecision: [Int: Int] = [:]

  /// What is changed depends on the run alone, not on who judges it: so every case looks at the same
  /// changes, and an expectation that is taken away takes no change with it.
  init(_ events: [Event]) {
    self.events = events
    tools = events.flatMap { event in
      [.runStarted, .toolsListed].contains(event.type)
        ? event.data["tools"]?.arrayValue ?? [] : []
    }
    toolNames = tools.compactMap { $0["name"]?.stringValue }
    gather()
  }

  private mutating func gather() {
    var places: [String: Int] = [:]
    for (index, event) in events.enumerated() {
      if event.type == .decision {
        decisions.append(index)
        let found = (try? DecisionPayload(decoding: event.data))?.decision
        var isInvalid = false
        if case .invalid? = found { isInvalid = true }
        for (place, call) in (found?.calls ?? []).enumerated() {
          places[call.callId] = calls.count
          callsByDecision[index, default: 0] += 1
          calls.append(
            Call(
              id: call.callId, name: call.name, input: call.input, decision: index, index: place,
              isInvalid: isInvalid))
        }
      } else if let callId = event.data["callId"]?.stringValue, let place = places[callId] {
        calls[place].events.append(index)
        if event.type == .toolStarted { calls[place].isExecuted = true }
        if event.type == .toolResult {
          calls[place].status = event.data["status"]?.stringValue.flatMap(
            CallStatus.init(rawValue:))
          if [.ok, .error, .returned].contains(calls[place].status) {
            calls[place].isExecuted = true
          }
        }
      }
    }
  }

  /// All of them, each kind in the order of the events.
  func mutants() -> [Mutant] {
    var mutants = calls.flatMap(changes(of:)) + swaps() + insertions() + endings() + costs()
    mutants += calls.compactMap(letThrough) + invalidCallsThatRun() + retries() + loops()
    mutants += otherCallers() + invalidDecisions() + otherEvidence() + otherApprovers()
    return mutants + otherContexts() + otherNotes() + slower() + otherTasks()
  }

  // MARK: One call

  private func changes(of call: Call) -> [Mutant] {
    var mutants: [Mutant] = []
    if call.isExecuted {
      mutants.append(dropped(call))
      mutants += [repeated(call)].compactMap { $0 }
      mutants += otherArguments(of: call)
    }
    if call.status == .ok { mutants += [failed(call)].compactMap { $0 } }
    mutants += otherVerdicts(of: call)
    mutants += [withoutApproval(call)].compactMap { $0 }
    return mutants
  }

  /// A mutant that changes nothing yet, told by the event at a place.
  func make(
    _ kind: RunMutation.Kind, at place: Int, _ words: String, tools: [String] = [],
    _ remedies: @escaping @Sendable () -> [JSONValue]
  ) -> Mutant {
    Mutant(
      mutation: RunMutation(kind: kind, seq: events[place].seq, words: words, tools: tools),
      remedies: remedies)
  }

  /// Says something else in an event of the run.
  func set(_ key: String, _ value: JSONValue?, at place: Int, in mutant: inout Mutant) {
    mutant.replaced[place] = events[place]
    mutant.replaced[place]?.data[key] = value
  }

  func executed(_ name: String) -> Int {
    calls.count { $0.isExecuted && $0.name.hasSameUTF8(as: name) }
  }

  func entry(_ call: Call, _ more: JSONObject = [:]) -> JSONValue {
    var entry: JSONObject = ["tool": .string(Glob.escaping(call.name))]
    for member in more { entry[member.key] = member.value }
    return .object(entry)
  }

  func called(_ call: Call, _ more: JSONObject = [:]) -> JSONValue {
    ["toolsCalled": [entry(call, more)]]
  }

  func exactly(_ input: JSONValue) -> JSONValue { ["$exact": input] }

  func like(_ call: Call) -> Int {
    calls.count {
      $0.isExecuted && $0.name.hasSameUTF8(as: call.name) && $0.input.byValue == call.input.byValue
    }
  }

  private func dropped(_ call: Call) -> Mutant {
    var mutant = make(
      .dropCall, at: call.decision, "\(call.name) is not called", tools: [call.name]
    ) {
      [
        called(call), called(call, ["times": JSONValue(executed(call.name))]),
        called(call, ["input": exactly(call.input), "times": JSONValue(like(call))]),
      ]
    }
    mutant.removed = Set(call.events)
    if callsByDecision[call.decision] == 1 {
      // Its whole step was for this call.
      mutant.removed.insert(call.decision)
      var index = call.decision - 1
      while index >= 0, events[index].step == events[call.decision].step {
        if [.contextBuilt, .modelResult].contains(events[index].type) {
          mutant.removed.insert(index)
        }
        index -= 1
      }
    } else if var list = events[call.decision].data["calls"]?.arrayValue,
      list.indices.contains(call.index)
    {
      list.remove(at: call.index)
      mutant.replaced[call.decision] = decision(call.decision, with: list)
    }
    return mutant
  }

  private func decision(_ index: Int, with calls: [JSONValue]) -> Event {
    var event = events[index]
    event.data["calls"] = .array(calls)
    return event
  }

  /// The events of a call once more, behind its result, under an id of its own.
  private func repeated(_ call: Call) -> Mutant? {
    guard let last = call.events.last, last + 1 < events.count else { return nil }
    var again = decision(call.decision, with: [.object(twin(of: call))])
    again.step = events[last].step
    let copies = call.events.map { index in
      var event = events[index]
      event.data["callId"] = .string(call.id + "+")
      return event
    }
    var mutant = make(
      .repeatCall, at: call.decision, "\(call.name) is called twice", tools: [call.name]
    ) {
      [
        called(call, ["times": JSONValue(executed(call.name))]),
        called(call, ["input": exactly(call.input), "times": JSONValue(like(call))]),
        ["maxToolCalls": JSONValue(calls.count { $0.isExecuted })],
      ]
    }
    mutant.inserted[last + 1] = [again] + copies
    return mutant
  }

  private func twin(of call: Call) -> JSONObject {
    ProposedCall(callId: call.id + "+", name: call.name, input: call.input).encoded
  }

  private func otherArguments(of call: Call) -> [Mutant] {
    var mutants: [Mutant] = []
    for (pointer, value) in Self.leaves(of: call.input).prefix(Self.argumentLimit) {
      guard let changed = Self.other(value),
        let input = Self.replacing(call.input, at: pointer.tokens[...], by: changed),
        var list = events[call.decision].data["calls"]?.arrayValue,
        list.indices.contains(call.index), var object = list[call.index].objectValue
      else { continue }
      object["input"] = input
      list[call.index] = .object(object)
      var mutant = make(
        .argument, at: call.decision,
        "\(call.name): \(pointer) is \(Self.short(changed)), not \(Self.short(value))",
        tools: [call.name]
      ) {
        [
          called(call, ["input": Self.nested(pointer.tokens[...], ["$literal": value])]),
          called(call, ["input": exactly(call.input)]),
          called(call, ["input": exactly(call.input), "times": JSONValue(like(call))]),
        ]
      }
      mutant.replaced[call.decision] = decision(call.decision, with: list)
      mutants.append(mutant)
    }
    return mutants
  }

  private func failed(_ call: Call) -> Mutant? {
    guard let place = call.events.last(where: { events[$0].type == .toolResult }) else {
      return nil
    }
    var event = events[place]
    event.data["status"] = "error"
    event.data["reason"] = "failed"
    event.data["data"] = nil
    var mutant = make(.failedResult, at: place, "\(call.name) fails", tools: [call.name]) {
      [
        called(call, ["status": "ok"]),
        called(call, ["status": "ok", "times": JSONValue(executedWell(call.name))]),
        called(call, ["input": exactly(call.input), "status": "ok"]),
        called(
          call,
          ["input": exactly(call.input), "status": "ok", "times": JSONValue(likeWell(call))]),
      ]
    }
    mutant.replaced[place] = event
    return mutant
  }

  private func executedWell(_ name: String) -> Int {
    calls.count { $0.status == .ok && $0.name.hasSameUTF8(as: name) }
  }

  private func likeWell(_ call: Call) -> Int {
    calls.count {
      $0.status == .ok && $0.name.hasSameUTF8(as: call.name)
        && $0.input.byValue == call.input.byValue
    }
  }

  private func otherVerdicts(of call: Call) -> [Mutant] {
    call.events.filter { events[$0].type == .policyDecision }.compactMap { place in
      guard let status = events[place].data["status"]?.stringValue else { return nil }
      let other = status == "allow" ? "deny" : "allow"
      var event = events[place]
      event.data["status"] = .string(other)
      let moment: JSONObject = [
        "verdict": .string(status), "tool": .string(Glob.escaping(call.name)),
      ]
      var mutant = make(
        .verdict, at: place, "policy says \(other) to \(call.name), not \(status)",
        tools: [call.name]
      ) {
        [
          ["noApprovalBypass": true],
          ["policy": ["given": [.object(moment)]]],
          [
            "policy": [
              "notGiven": [["verdict": .string(other), "tool": moment["tool"] ?? .null]]
            ]
          ],
        ]
      }
      mutant.replaced[place] = event
      return mutant
    }
  }

  private func withoutApproval(_ call: Call) -> Mutant? {
    guard call.isExecuted,
      let place = call.events.first(where: {
        events[$0].type == .approval && events[$0].data["granted"] == true
      })
    else { return nil }
    var mutant = make(
      .missingApproval, at: place, "\(call.name) is called without the approval", tools: [call.name]
    ) {
      [
        ["noApprovalBypass": true],
        [
          "policy": [
            "approvals": [["approval": "granted", "tool": .string(Glob.escaping(call.name))]]
          ]
        ],
      ]
    }
    mutant.removed = [place]
    return mutant
  }

  // MARK: Several calls

  /// Executed calls of decisions that follow each other, with what was called exchanged.
  private func swaps() -> [Mutant] {
    let alone = calls.filter { $0.isExecuted && callsByDecision[$0.decision] == 1 }
    return zip(alone, alone.dropFirst()).compactMap { first, second in
      guard !first.name.hasSameUTF8(as: second.name) || first.input != second.input,
        first.status == second.status
      else { return nil }
      var mutant = make(
        .swapCalls, at: first.decision, "\(second.name) comes before \(first.name)",
        tools: [first.name, second.name]
      ) {
        [
          [
            "order": "in_order", "toolsCalled": [entry(first), entry(second)],
          ],
          ["order": "in_order", "toolsCalled": .array(alone.map { entry($0) })],
          [
            "order": "in_order",
            "toolsCalled": .array(alone.map { entry($0, ["input": exactly($0.input)]) }),
          ],
        ]
      }
      exchange(first, second, in: &mutant)
      return mutant
    }
  }

  private func exchange(_ first: Call, _ second: Call, in mutant: inout Mutant) {
    func place(_ call: Call, at other: Call) {
      let moved = ProposedCall(callId: other.id, name: call.name, input: call.input)
      mutant.replaced[other.decision] = decision(other.decision, with: [.object(moved.encoded)])
      let result = call.events.last { events[$0].type == .toolResult }
      for index in other.events {
        var event = events[index]
        if event.data["tool"] != nil { event.data["tool"] = .string(call.name) }
        if event.type == .toolResult, let result {
          for key in ["status", "data", "reason"] { event.data[key] = events[result].data[key] }
        }
        mutant.replaced[index] = event
      }
    }
    place(first, at: second)
    place(second, at: first)
  }

  /// A call of a tool that the run never called, behind each call that was made; at the last of these
  /// places one of each such tool.
  private func insertions() -> [Mutant] {
    let names = unusedTools
    let executed = Set(calls.filter(\.isExecuted).compactMap(\.events.last)).sorted()
    let last = events.lastIndex { $0.type == .stop } ?? events.count
    // A run without calls has one place: before its end.
    let places = executed.isEmpty ? [last] : executed.map { min($0 + 1, last) }
    return places.enumerated().flatMap { number, place -> [Mutant] in
      guard place < events.count else { return [] }
      return names.prefix(number == places.count - 1 ? names.count : 1).map { name in
        let call = ProposedCall(callId: "mutant.\(number)", name: name, input: [:])
        var mutant = make(.forbiddenCall, at: place, "\(name) is called", tools: [name]) {
          [
            ["toolsNotCalled": [.string(Glob.escaping(name))]],
            ["maxToolCalls": JSONValue(calls.count { $0.isExecuted })],
          ]
        }
        mutant.inserted[place] = made(call, like: events[max(0, place - 1)])
        return mutant
      }
    }
  }

  /// Tools of the run that it never called, those that write first. Where all were called there is none;
  /// where the run does not say what it had, any name is one.
  private var unusedTools: [String] {
    guard !tools.isEmpty else { return ["another_tool"] }
    var seen = Set(calls.lazy.filter { !$0.isInvalid }.map { Array($0.name.utf8) })
    let unused = tools.filter { tool in
      guard let name = tool["name"]?.stringValue else { return false }
      return seen.insert(Array(name.utf8)).inserted
    }
    let writing = unused.filter { $0["sideEffect"] == "write" }
    let others = unused.filter { $0["sideEffect"] != "write" }
    return (writing + others).compactMap { $0["name"]?.stringValue }.prefix(Self.unusedLimit).map {
      $0
    }
  }

  private func made(_ call: ProposedCall, like neighbour: Event) -> [Event] {
    func event(_ type: EventType, _ data: JSONObject) -> Event {
      Event(
        seq: neighbour.seq, step: max(1, neighbour.step), type: type, runId: neighbour.runId,
        time: neighbour.time, t: neighbour.t, data: data)
    }
    let id = JSONValue.string(call.callId)
    return [
      event(.decision, DecisionPayload(.tool([call])).encoded),
      event(
        .policyDecision,
        ["callId": id, "tool": .string(call.name), "status": "allow", "reason": "no rule matches"]),
      event(
        .toolStarted,
        [
          "callId": id, "tool": .string(call.name), "attempt": 1,
          "idempotencyKey": .string("\(neighbour.runId)/\(call.callId)"),
        ]),
      event(.toolResult, ["callId": id, "tool": .string(call.name), "status": "ok", "data": [:]]),
    ]
  }

  // MARK: The end

  private func endings() -> [Mutant] {
    var mutants: [Mutant] = []
    if let place = events.lastIndex(where: { $0.type == .stop }),
      let reason = events[place].data["reason"]?.stringValue
    {
      let other = reason == "success" ? "tool_failure" : "success"
      var event = events[place]
      event.data["reason"] = .string(other)
      event.data["detail"] = nil
      var mutant = make(.stopReason, at: place, "the run stops as \(other), not \(reason)") {
        [["stopReason": .string(reason)]]
      }
      mutant.replaced[place] = event
      mutants.append(mutant)
    }
    if let place = decisions.last(where: { isAnswer(events[$0].data) }),
      let text = events[place].data["text"]?.stringValue
    {
      let other = "I have done something else."
      var mutant = make(.answer, at: place, "the answer is “\(other)”") {
        [["answer": ["$literal": .string(text)]]]
      }
      set("text", .string(other), at: place, in: &mutant)
      if let stop = events.lastIndex(where: { $0.type == .stop }),
        events[stop].data["answer"] != nil
      {
        set("answer", .string(other), at: stop, in: &mutant)
      }
      mutants.append(mutant)
    }
    return mutants
  }

  private func costs() -> [Mutant] {
    let places = events.indices.filter { events[$0].type == .modelResult }
    var (tokens, cost) = (0, 0.0)
    var replaced: [Int: Event] = [:]
    for place in places {
      var event = events[place]
      if let known = event.data["cost"]?.doubleValue, known > 0 {
        cost += known
        event.data["cost"] = JSONValue(known * 100)
      }
      if var usage = event.data["usage"]?.objectValue {
        for key in ["inputTokens", "outputTokens"] {
          guard let count = usage[key]?.intValue, count > 0, count < 1 << 40 else { continue }
          tokens += count
          usage[key] = JSONValue(count * 100)
        }
        event.data["usage"] = .object(usage)
      }
      if event.data != events[place].data { replaced[place] = event }
    }
    guard let first = replaced.keys.min() else { return [] }
    var mutant = make(.cost, at: first, "the models' calls cost a hundred times as much") {
      [cost, tokens] in
      [
        ["budget": ["cost": JSONValue(cost * 2)]], ["budget": ["tokens": JSONValue(tokens * 2)]],
      ]
    }
    mutant.replaced = replaced
    return [mutant]
  }

  // MARK: Values

  /// The scalars of an input, with the way to each; arrays are passed through by their elements.
  static func leaves(of value: JSONValue) -> [(JSONPointer, JSONValue)] {
    var found: [(JSONPointer, JSONValue)] = []
    // Inputs nest 64 levels deep at most.
    func visit(_ value: JSONValue, _ pointer: JSONPointer) {
      guard found.count < argumentLimit else { return }
      switch value {
      case .object(let object):
        for member in object { visit(member.value, pointer.appending(member.key)) }
      case .array(let elements):
        for (index, element) in elements.enumerated() {
          visit(element, pointer.appending(String(index)))
        }
      default: found.append((pointer, value))
      }
    }
    visit(value, JSONPointer())
    return found
  }

  static func other(_ value: JSONValue) -> JSONValue? {
    switch value {
    case .string(let text): .string(text + " (changed)")
    case .number: value.doubleValue.map { JSONValue($0 + 1) }
    case .bool(let flag): .bool(!flag)
    case .null: .string("changed")
    default: nil
    }
  }

  static func replacing(
    _ value: JSONValue, at path: ArraySlice<String>, by new: JSONValue
  ) -> JSONValue? {
    guard let key = path.first else { return new }
    switch value {
    case .object(var object):
      guard let member = object[key] else { return nil }
      object[key] = replacing(member, at: path.dropFirst(), by: new)
      return .object(object)
    case .array(var elements):
      guard let index = Int(key), elements.indices.contains(index),
        let element = replacing(elements[index], at: path.dropFirst(), by: new)
      else { return nil }
      elements[index] = element
      return .array(elements)
    default: return nil
    }
  }

  /// A matcher that asks for a value at a place, and nothing else.
  static func nested(_ path: ArraySlice<String>, _ matcher: JSONValue) -> JSONValue {
    guard let key = path.first else { return matcher }
    let rest = nested(path.dropFirst(), matcher)
    return Int(key) == nil ? .object(JSONObject([(key, rest)])) : ["$contains": rest]
  }

  static func short(_ value: JSONValue) -> String {
    CanonicalJSON.prefix(of: value, limitBytes: 60)
  }
}
