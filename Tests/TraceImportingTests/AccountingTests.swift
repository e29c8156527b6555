import AgentTrace
import TestSupport
import Testing
import TraceImporting
import TraceJudging

/// The property that an import hides no call: whatever is renamed or wrapped in a source, the import refuses
/// it, or what was counted still is, or nobody says anything for certain.
struct AccountingTests {
  @Test("whatever one key, role, block or call is renamed or wrapped into, no call is hidden")
  func nothingIsHidden() throws { try check(SourceMaker.make) }

  @Test("so it is with the lists of other interfaces and with trajectories")
  func nothingIsHiddenInOthers() throws {
    // A member that a change makes a call is one.
    try check(ForeignSources.make) { SourceChange.callKeys(in: $1) > SourceChange.callKeys(in: $0) }
  }

  @Test("a call whose arguments are not there is perhaps the same as any other of its tool")
  func absentArguments() throws {
    func message(_ id: String, _ call: JSONValue) -> [JSONValue] {
      [
        ["type": "ai", "content": "hm", "tool_calls": [call]],
        [
          "type": "tool", "name": "refund", "tool_call_id": .string(id), "content": "r",
          "status": "success",
        ],
      ]
    }
    let seen = message("c1", ["args": ["id": 1], "id": "c1", "name": "refund"])
    // Held in a way that nobody reads.
    let unseen = message("c0", ["custom": ["args": ["id": 1], "id": "c0", "name": "refund"]])
    for calls in [unseen + seen, seen + unseen] {
      let source = JudgedSource.list(calls)
      let run = try #require(try JudgedSource(source).run)
      for expected: JSONValue in [["noLoops": 2], ["noRepeatedSideEffect": ["refund"]]] {
        #expect(run.outcome(expected) == .unverifiable, "\(expected): \(source)")
      }
    }
    let again = message("c2", ["args": ["id": 1], "id": "c2", "name": "refund"])
    let run = try #require(try JudgedSource(JudgedSource.list(seen + again)).run)
    #expect(run.outcome(["noRepeatedSideEffect": ["refund"]]) == .fail)
  }

  private func check(
    _ make: (inout Seeded) -> JSONValue,
    skipping isSkipped: (JSONValue, JSONValue) -> Bool = { _, _ in false }
  ) throws {
    var tally = Tally()
    for seed in 0..<UInt64(TestRun.count(40, long: 1_500)) {
      var random = Seeded(seed: seed)
      let source = make(&random)
      let before = try JudgedSource(source)
      #expect(before.isImported, "seed \(seed): \(before.errors)")
      #expect(before.run?.calls == nil, "seed \(seed): \(source)")
      let all = SourceChange.all(in: source)
      // A sample of the places, each in one of its ways.
      for change in all.shuffled(using: &random).prefix(TestRun.count(6, long: 16)) {
        let changed = change.applied(to: source, &random)
        // What was none before may be made a result, of a call that was none.
        if SourceChange.results(in: changed) > SourceChange.results(in: source)
          || SourceChange.callKeys(in: changed) > SourceChange.callKeys(in: source)
        {
          continue
        }
        if isSkipped(source, changed) { continue }
        tally.take(
          before, try JudgedSource(changed),
          touchesData: !change.place.allSatisfy {
            ![
              "content", "arguments", "args", "input", "output", "response", "parts", "status",
              "results", "observation", "error",
            ].contains($0)
          }, isLeftOut: change.kind == .leaveOut,
          "seed \(seed), \(change): \(changed)")
      }
    }
    print("imports of changed sources:", tally)
    // A test of nothing would pass as well.
    #expect(tally.refused > 0 && tally.marked > 0 && tally.read > 0 && tally.passes > 0)
  }
}

/// How changed sources came out.
private struct Tally: CustomStringConvertible {
  var changes = 0
  var refused = 0
  /// `calls` is `partial`.
  var marked = 0
  /// Imported without a mark.
  var read = 0
  /// Judgements that were looked at.
  var judgements = 0
  /// Passes that stayed passes.
  var passes = 0

  var description: String {
    "\(changes) changes: \(refused) refused, \(marked) marked, \(read) read as they were; "
      + "\(judgements) judgements, \(passes) passes unchanged"
  }

  /// - Parameters:
  ///   - touchesData: whether what tools were given and gave back may be other data than before, on which loops
  ///     and repeated writes rest.
  ///   - isLeftOut: whether a message is gone: of a call that nothing answered nothing is left then.
  mutating func take(
    _ before: JudgedSource, _ after: JudgedSource, touchesData: Bool, isLeftOut: Bool,
    _ what: String
  ) {
    changes += 1
    guard let old = before.run, let new = after.run else {
      refused += 1
      #expect(!after.errors.isEmpty, "\(what)")
      return
    }
    if new.calls == nil { read += 1 } else { marked += 1 }
    for (index, expectation) in JudgedSource.expectations.enumerated()
    where !touchesData
      || expectation.0["noLoops"] == nil && expectation.0["noRepeatedSideEffect"] == nil
    {
      for (was, isNow) in [
        (old.body[index], new.body[index]), (old.summary[index], new.summary[index]),
      ] {
        guard let was, let isNow else { continue }
        judgements += 1
        if was == .pass, isNow == .pass { passes += 1 }
        let isRight =
          was == .pass
          ? isNow == .pass || isNow == .unverifiable : isLeftOut || isNow != .pass
        #expect(isRight, "\(expectation.0) was \(was), is \(isNow): \(what)")
      }
    }
    // Each call is counted, or not known to be missing.
    for (tool, count) in old.executed {
      let now = new.outcome(["toolsCalled": [["tool": .string(tool), "times": JSONValue(count)]]])
      #expect(now == .pass || now == .unverifiable, "\(tool) ×\(count) is \(now): \(what)")
    }
  }
}

/// A source, imported and judged.
private struct JudgedSource {
  static let tools = ["search", "refund", "delete_all", "toggle", "never_there"]

  static let expectations: [(JSONValue, Expectations)] = {
    var texts: [JSONValue] = [
      ["toolsNotCalled": ["*"]], ["toolsNotProposed": ["*"]],
      ["toolsCalled": [], "order": "exact"], ["noLoops": 2], ["maxRetries": 3],
      ["noRepeatedSideEffect": ["refund", "delete_all"]], ["budget": ["calls": 2]],
      ["toolsCalled": [["tool": "search", "times": ["min": 0]]], "extra": "forbid"],
      ["toolsCalled": [["tool": "search", "times": 1]], "order": "in_order"],
      ["time": [["never": "refund", "after": "search"]]],
      ["time": [["only": "search"]]],
    ]
    texts += (0...4).map { ["maxToolCalls": JSONValue($0)] }
    for tool in tools {
      let name = JSONValue.string(tool)
      texts += [
        ["toolsNotCalled": [name]], ["toolsNotProposed": [name]],
        ["toolsNotCalled": [["tool": name, "caller": "*"]]],
        ["toolsNotCalled": [["tool": name, "times": ["min": 2]]]],
        ["toolsCalled": [["tool": name, "times": ["max": 1]]]],
        ["time": [["never": name]]], ["time": [["never": ["returned": name]]]],
        ["eachCall": [["tool": name, "status": "refused"]]],
        ["budget": ["tools": [tool: ["calls": 1]]]],
      ]
    }
    return texts.compactMap { text in
      (try? Expectations(parsing: text)).map { (text, $0) }
    }
  }()

  struct Run {
    var events: [Event]
    /// The channel.
    var calls: JSONValue?
    var body: [Outcome?]
    /// The same from the summary alone, where that is enough.
    var summary: [Outcome?]
    /// Calls of the agent that ran for certain, by tool.
    var executed: [(String, Int)]

    func outcome(_ expected: JSONValue) -> Outcome {
      guard let expectations = try? Expectations(parsing: expected) else { return .fail }
      return Judge.judge(events, against: expectations).outcomes[0].outcome
    }
  }

  /// Messages of a conversation in LangChain's form, around some of them.
  static func list(_ messages: [JSONValue]) -> JSONValue {
    .array(
      [["type": "human", "content": "help"]] + messages + [["type": "ai", "content": "done"]])
  }

  var run: Run?
  var errors: [String]
  var isImported: Bool { run != nil }

  init(_ source: JSONValue) throws {
    let file = try ImportedFile(CanonicalJSON.string(source, form: .plain))
    errors = file.errors
    guard file.errors.isEmpty, let events = file.logs.first else { return }
    var summary = RunSummary()
    for event in events { summary.apply(event) }
    let outline = events.last { $0.type == .stop }
      .flatMap { RunOutline(summary: summary.encoded(totals: Totals()), stop: $0) }
    let trajectory = Trajectory(of: events)
    var counts: [(String, Int)] = []
    for tool in Self.tools {
      let count = trajectory.calls.count {
        $0.tool == tool && $0.isExecuted && $0.caller == "agent"
      }
      if count > 0 { counts.append((tool, count)) }
    }
    run = Run(
      events: events, calls: events.first?.data["recorded"]?["calls"],
      body: Self.expectations.map {
        Judge.judge(events, against: $0.1).outcomes.map(\.outcome).max(by: Self.isBetter)
      },
      summary: Self.expectations.map { _, expectations in
        guard let outline, expectations.isAnsweredBySummary else { return nil }
        return Judge.judge(Trajectory(outline), against: expectations).outcomes.map(\.outcome)
          .max(by: Self.isBetter)
      }, executed: counts)
  }

  /// Of several outcomes the worst counts.
  private static func isBetter(_ left: Outcome, _ right: Outcome) -> Bool {
    let order: [Outcome] = [.pass, .notExercised, .unverifiable, .fail]
    return order.firstIndex(of: left) ?? 0 < order.firstIndex(of: right) ?? 0
  }
}

// MARK: - Sources

/// Makes sources of each format, with calls in all forms that are read.
private enum SourceMaker {
  static func make(_ random: inout Seeded) -> JSONValue {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return .array(chat(&random))
    case 1:
      return ["id": "r1", "model": "m", "messages": .array(chat(&random))]
    case 2:
      return [
        [
          "task_id": 3, "reward": 1.0, "trial": 0, "traj": .array(chat(&random)),
          "info": ["task": ["actions": [["name": "refund", "kwargs": ["id": 1]]]]],
        ]
      ]
    case 3: return tau2(&random)
    default: return agentDojo(&random)
    }
  }

  private static func tool(_ random: inout Seeded) -> String {
    ["search", "search", "refund", "delete_all"].randomElement(using: &random) ?? "search"
  }

  private static func isSo(_ random: inout Seeded) -> Bool { Bool.random(using: &random) }

  private static func text(_ text: String, under key: String = "text", _ random: inout Seeded)
    -> JSONValue
  {
    isSo(&random) ? .string(text) : [["type": "text", key: .string(text)]]
  }

  // MARK: Chat

  private static func chat(_ random: inout Seeded) -> [JSONValue] {
    var messages: [JSONValue] = []
    if isSo(&random) { messages.append(["role": "system", "content": "Be kind."]) }
    messages.append(["role": "user", "content": text("help", &random), "name": "ada"])
    for turn in 0..<Int.random(in: 0...3, using: &random) {
      messages += chatTurn(turn, &random)
    }
    if isSo(&random) { messages.append(["role": "assistant", "content": text("done", &random)]) }
    return messages
  }

  private static func chatTurn(_ turn: Int, _ random: inout Seeded) -> [JSONValue] {
    if Int.random(in: 0..<5, using: &random) == 0 {
      let name = JSONValue.string(tool(&random))
      return [
        [
          "role": "assistant", "content": .null,
          "function_call": ["name": name, "arguments": "{\"id\":1}"],
        ],
        ["role": "function", "name": name, "content": "r"],
      ]
    }
    var calls: [JSONValue] = []
    var results: [JSONValue] = []
    for index in 0..<Int.random(in: 1...2, using: &random) {
      let id = JSONValue.string("c\(turn)\(index)")
      let name = JSONValue.string(tool(&random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: calls.append(["id": id, "name": name, "args": ["id": 1], "type": "tool_call"])
      case 1:
        calls.append(["id": id, "type": "custom", "custom": ["name": name, "input": "now"]])
      default:
        calls.append([
          "id": id, "type": "function", "function": ["name": name, "arguments": "{\"id\":2}"],
        ])
      }
      var result: JSONObject = ["role": "tool", "tool_call_id": id, "content": text("r", &random)]
      if isSo(&random) { result["name"] = name }
      results.append(.object(result))
    }
    // Interfaces let parallel results come back in any order, and a history may be cut short.
    if isSo(&random) { results.reverse() }
    if Int.random(in: 0..<6, using: &random) == 0 { results.removeLast() }
    return [["role": "assistant", "content": .null, "tool_calls": .array(calls)]] + results
  }

  // MARK: Benchmarks

  private static func tau2(_ random: inout Seeded) -> JSONValue {
    var messages: [JSONValue] = [
      [
        "role": "user", "content": "help", "turn_idx": 0, "cost": 0.1,
        "timestamp": "2025-01-01T00:00:00",
      ]
    ]
    for turn in 0..<Int.random(in: 0...3, using: &random) {
      let isUser = Int.random(in: 0..<3, using: &random) == 0
      let caller: JSONValue = isUser ? "user" : "assistant"
      let id = JSONValue.string("c\(turn)")
      messages.append([
        "role": caller, "content": .null, "turn_idx": JSONValue(turn),
        "tool_calls": [
          [
            "id": id, "name": .string(isUser ? "toggle" : tool(&random)), "requestor": caller,
            "arguments": ["id": 3],
          ]
        ], "usage": ["prompt_tokens": 3, "completion_tokens": 1],
      ])
      messages.append([
        "role": "tool", "id": id, "content": "r", "requestor": caller,
        "error": .bool(isSo(&random)), "turn_idx": JSONValue(turn),
      ])
    }
    messages.append([
      "role": "assistant", "content": "done", "errors": ["e"],
      "raw_data": ["message": ["tool_calls": .null], "index": 0],
    ])
    let run: JSONValue = [
      "id": "s", "task_id": "t", "trial": 0, "seed": 7, "termination_reason": "user_stop",
      "reward_info": ["reward": 1.0, "action_checks": [["action": ["name": "refund"]]]],
      "messages": .array(messages),
    ]
    guard isSo(&random) else { return run }
    return [
      "timestamp": "now", "info": ["agent_info": ["llm": "m"]], "tasks": [["id": "t"]],
      "simulations": [run],
    ]
  }

  private static func agentDojo(_ random: inout Seeded) -> JSONValue {
    var messages: [JSONValue] = [
      ["role": "user", "content": text("help", under: "content", &random)]
    ]
    for turn in 0..<Int.random(in: 0...3, using: &random) {
      let call: JSONValue = [
        "function": .string(tool(&random)), "args": ["id": 4],
        "id": isSo(&random) ? .string("c\(turn)") : .null,
      ]
      messages.append(["role": "assistant", "content": .null, "tool_calls": [call]])
      messages.append([
        "role": "tool", "content": text("r", under: "content", &random), "tool_call": call,
        "tool_call_id": call["id"] ?? .null, "error": isSo(&random) ? .null : "ValueError",
      ])
    }
    messages.append(["role": "assistant", "content": text("done", under: "content", &random)])
    return [
      "suite_name": "s", "pipeline_name": "p", "user_task_id": "u", "injections": ["v": "x"],
      "error": .null, "utility": true, "duration": 1.5, "messages": .array(messages),
    ]
  }
}

// MARK: - Changes

/// One thing of a source that is renamed or wrapped.
private struct SourceChange: CustomStringConvertible {
  enum Kind: Hashable {
    /// A key, to one that other tools write or that means something else here.
    case renameKey
    /// A role, or the type of a part or of a call.
    case renameWord
    case wrapInObject
    case wrapInList
    /// A message that is left out: a call that loses its result, or a result its call.
    case leaveOut
  }

  var kind: Kind
  /// Where the member or the element stands.
  var place: [String]

  var description: String { "\(kind) at /\(place.joined(separator: "/"))" }

  static let foreignKeys = [
    "toolCalls", "tool_uses", "additional_kwargs", "functionCall", "parts", "kwargs", "toolCallId",
    "args", "arguments", "name", "tool", "function", "input", "id", "type", "metadata",
    "annotations", "usage", "raw_data", "reasoning", "turn_idx", "extra", "custom",
    "function_call", "tool_calls", "messages", "content", "index", "tool_call",
  ]

  static let foreignWords = [
    "ai", "model", "human", "user", "assistant", "tool", "system", "function", "toolUse",
    "tool-call",
    "mcp_call", "functionCall", "custom", "text", "image", "refusal", "Assistant",
  ]

  /// What says of itself that it is a tool's, or a call.
  static func results(in value: JSONValue) -> Int {
    switch value {
    case .object(let object):
      let words: [JSONValue] = ["tool", "function", "mcp_call", "functionCall", "tool-call"]
      let isOne = [object["role"], object["type"]].contains { $0.map(words.contains) ?? false }
      return object.reduce(isOne ? 1 : 0) { $0 + results(in: $1.value) }
    case .array(let elements): return elements.reduce(0) { $0 + results(in: $1) }
    default: return 0
    }
  }

  /// Members that are calls, or lists of them, by their keys.
  static func callKeys(in value: JSONValue) -> Int {
    let keys: Set<String> = [
      "functionCall", "function_call", "tool_calls", "toolCalls", "tool_call", "toolUse",
    ]
    switch value {
    case .object(let object):
      return object.reduce(0) { $0 + (keys.contains($1.key) ? 1 : 0) + callKeys(in: $1.value) }
    case .array(let elements): return elements.reduce(0) { $0 + callKeys(in: $1) }
    default: return 0
    }
  }

  /// All that can be changed. What a tool was given, and what it gave back, is its own.
  static func all(in source: JSONValue) -> [SourceChange] { all(in: source, at: []) }

  private static let ownData: Set<String> = [
    "arguments", "args", "injections", "info", "response", "reward_info", "raw_data", "usage",
    "tasks", "input",
  ]

  private static func all(in value: JSONValue, at place: [String]) -> [SourceChange] {
    switch value {
    case .object(let object):
      return object.flatMap { member -> [SourceChange] in
        let inner = place + [member.key]
        var found = [
          SourceChange(kind: .renameKey, place: inner), .init(kind: .wrapInObject, place: inner),
          .init(kind: .wrapInList, place: inner),
        ]
        if member.key == "role" || member.key == "type" {
          found.append(SourceChange(kind: .renameWord, place: inner))
        }
        return found + (ownData.contains(member.key) ? [] : all(in: member.value, at: inner))
      }
    case .array(let elements):
      return elements.enumerated().flatMap { index, element -> [SourceChange] in
        let inner = place + [String(index)]
        var found: [SourceChange] = [
          .init(kind: .wrapInObject, place: inner), .init(kind: .wrapInList, place: inner),
        ]
        // A call goes unseen where nothing is left of it; a result of a tool that is named does not.
        if element["tool_calls"] != nil, place.last != "tool_calls",
          element["function_name"] == nil,
          element["step_id"] == nil
        {
          found.append(.init(kind: .leaveOut, place: inner))
        }
        return found + all(in: element, at: inner)
      }
    default: return []
    }
  }

  func applied(to source: JSONValue, _ random: inout Seeded) -> JSONValue {
    let key = Self.foreignKeys.randomElement(using: &random) ?? ""
    let word = Self.foreignWords.randomElement(using: &random) ?? ""
    return Self.change(source, place[...]) { container, last in
      switch container {
      case .object(var object):
        guard let value = object[last] else { return container }
        switch kind {
        case .renameKey:
          guard object[key] == nil else { return container }
          object[last] = nil
          object[key] = value
        case .renameWord: object[last] = .string(word)
        case .wrapInObject: object[last] = .object([key: value])
        case .wrapInList: object[last] = [value]
        case .leaveOut: break
        }
        return .object(object)
      case .array(var elements):
        guard let index = Int(last), elements.indices.contains(index) else { return container }
        switch kind {
        case .wrapInObject: elements[index] = .object([key: elements[index]])
        case .wrapInList: elements[index] = [elements[index]]
        case .leaveOut: elements.remove(at: index)
        case .renameKey, .renameWord: break
        }
        return .array(elements)
      default: return container
      }
    }
  }

  private static func change(
    _ value: JSONValue, _ place: ArraySlice<String>, _ edit: (JSONValue, String) -> JSONValue
  ) -> JSONValue {
    guard let first = place.first else { return value }
    if place.count == 1 { return edit(value, first) }
    switch value {
    case .object(var object):
      object[first] = object[first].map { change($0, place.dropFirst(), edit) }
      return .object(object)
    case .array(var elements):
      if let index = Int(first) {
        elements[index] = change(elements[index], place.dropFirst(), edit)
      }
      return .array(elements)
    default: return value
    }
  }
}
