import AgentTrace
import TraceImporting
import TraceMatching

/// Eval sets of Google's Agent Development Kit (`*.test.json`, `*.evalset.json`): what an agent should
/// call, turn by turn.
///
/// Three shapes: `eval_cases` with a `conversation` of invocations each, in snake or camel case; a bare list of turns with
/// `query` and `expected_tool_use`; a list of `name` and such `data`. (google/adk-python,
/// src/google/adk/evaluation/eval_case.py, and the older forms that its sets manager migrates.)
enum AdkEvalSets: CaseAdapter {
  static let summary = FormatSummary(
    reads:
      "Eval sets of Google's Agent Development Kit, old and new, as agentevals' command takes them too.",
    tells: "A case an eval case: the tool uses of all its turns, in this order and no other.")

  /// What a user says, and what should follow.
  private struct Turn {
    var query: String
    var calls: [(tool: String, input: JSONValue)]
    var reference: String?
    /// Whether it brings questions of its own to a model that judges.
    var hasRubrics = false
  }

  static func recognizes(_ source: CaseSource) -> Bool {
    let value = source.value
    if member(value, "eval_cases") != nil { return true }
    guard let first = value.arrayValue?.first else { return false }
    return (first["query"] != nil && first["expected_tool_use"] != nil)
      || first["data"]?[0]?["query"] != nil
  }

  static func cases(in source: CaseSource) throws(ImportError) -> CaseSet {
    guard recognizes(source) else {
      throw ImportError(
        .wrongShape(expected: "eval_cases, or a list of turns with query and expected_tool_use"))
    }
    let (value, root) = (source.value, JSONPointer())
    var set = CaseSet()
    if let list = member(value, "eval_cases") {
      for (place, item) in try objects(list, at: root.appending("eval_cases")) {
        guard present(item, "conversation_scenario") == nil else {
          set.left.append("\(place): a scenario for a simulated user, which says no call")
          continue
        }
        let turns = try objects(
          present(item, "conversation") ?? [], at: place.appending("conversation"))
        add(
          member(item, "eval_id")?.stringValue, try read(turns, invocation),
          session: present(item, "session_input"), also: unasked(item), at: place, to: &set)
      }
    } else if value[0]?["data"] == nil {
      let turns = try read(try objects(value, at: root), turn)
      add(nil, turns, session: nil, at: root, to: &set)
    } else {
      for (place, item) in try objects(value, at: root) {
        let turns = try objects(present(item, "data") ?? [], at: place.appending("data"))
        add(
          item["name"]?.stringValue, try read(turns, turn),
          session: present(item, "initial_state"), at: place, to: &set)
      }
    }
    return set
  }

  private static func read<T>(
    _ elements: [(JSONPointer, JSONValue)],
    _ element: (JSONValue, JSONPointer) throws(ImportError) -> T
  ) throws(ImportError) -> [T] {
    var found: [T] = []
    for (place, value) in elements { found.append(try element(value, place)) }
    return found
  }

  /// A member of an object, in snake or camel case.
  private static func member(_ value: JSONValue, _ key: String) -> JSONValue? {
    value[key] ?? value[camelCased(key)]
  }

  private static func camelCased(_ key: String) -> String {
    let words = key.split(separator: "_")
    return words.prefix(1).joined()
      + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// A member of an object that is there and not null.
  private static func present(_ value: JSONValue, _ key: String) -> JSONValue? {
    member(value, key).flatMap { $0.isNull ? nil : $0 }
  }

  // MARK: Turns

  private static func turn(_ item: JSONValue, _ pointer: JSONPointer) throws(ImportError) -> Turn {
    guard let query = item["query"]?.stringValue else {
      throw ImportError(.wrongShape(expected: "a text"), at: pointer.appending("query"))
    }
    let place = pointer.appending("expected_tool_use")
    let calls = try calls(
      present(item, "expected_tool_use") ?? [], "tool_name", "tool_input", at: place)
    return Turn(query: query, calls: calls, reference: item["reference"]?.stringValue)
  }

  private static func invocation(
    _ item: JSONValue, _ pointer: JSONPointer
  ) throws(ImportError) -> Turn {
    let place = pointer.appending("intermediate_data")
    let data = present(item, "intermediate_data") ?? [:]
    var found: [(tool: String, input: JSONValue)] = []
    if let uses = present(data, "tool_uses") {
      found = try calls(uses, "name", "args", at: place.appending("tool_uses"))
    } else if let events = present(data, "invocation_events") {
      for (place, event) in try objects(events, at: place.appending("invocation_events")) {
        for (index, part) in (event["content"]?["parts"]?.arrayValue ?? []).enumerated() {
          guard let use = present(part, "function_call") else { continue }
          let tokens = ["content", "parts", String(index), "function_call"]
          found.append(
            try call(use, "name", "args", at: JSONPointer(tokens: place.tokens + tokens)))
        }
      }
    }
    return Turn(
      query: text(member(item, "user_content")) ?? "", calls: found,
      reference: text(member(item, "final_response")), hasRubrics: hasRubrics(item))
  }

  private static func calls(
    _ uses: JSONValue, _ nameKey: String, _ inputKey: String, at pointer: JSONPointer
  ) throws(ImportError) -> [(tool: String, input: JSONValue)] {
    try read(try objects(uses, at: pointer)) {
      (use: JSONValue, place: JSONPointer) throws(ImportError) in
      try call(use, nameKey, inputKey, at: place)
    }
  }

  private static func call(
    _ use: JSONValue, _ nameKey: String, _ inputKey: String, at pointer: JSONPointer
  ) throws(ImportError) -> (tool: String, input: JSONValue) {
    guard let name = use[nameKey]?.stringValue, !name.isEmpty else {
      throw ImportError(
        .wrongShape(expected: "the name of a tool"), at: pointer.appending(nameKey))
    }
    return (name, present(use, inputKey) ?? [:])
  }

  /// The texts of a content's parts, one behind the other; `nil` where it has none.
  private static func text(_ content: JSONValue?) -> String? {
    let texts = (content?["parts"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
    return texts.isEmpty ? nil : texts.joined(separator: "\n")
  }

  // MARK: Cases

  private static func hasRubrics(_ item: JSONValue) -> Bool {
    present(item, "rubrics").map { $0 != [] } ?? false
  }

  /// What an eval case asks for beside its turns, and no expectation does.
  private static func unasked(_ item: JSONValue) -> JSONObject {
    var object = JSONObject()
    if hasRubrics(item) { object["rubrics"] = present(item, "rubrics") }
    if let state = present(item, "final_session_state"), state != [:] {
      object["final_session_state"] = state
    }
    return object
  }

  /// The calls of all turns, in this order and no other, as `tool_trajectory_avg_score` asks where nothing else is said.
  ///
  /// What this language has no word for is kept under `notes`: later turns' queries, reference answers (which are compared
  /// there by the words they share), session state.
  private static func add(
    _ name: String?, _ turns: [Turn], session: JSONValue?, also unasked: JSONObject = [:],
    at place: JSONPointer, to set: inout CaseSet
  ) {
    guard !turns.isEmpty else {
      set.left.append("\(place): no turn, so that nothing is asked")
      return
    }
    var made = ImportedCase(input: turns.first?.query ?? "")
    made.notes["turns"] = .array(
      turns.map { turn in
        var object: JSONObject = [
          "query": .string(turn.query), "calls": JSONValue(turn.calls.count),
        ]
        object["reference"] = turn.reference.map(JSONValue.string)
        return .object(object)
      })
    made.notes["evalId"] = name.map(JSONValue.string)
    made.notes["session"] = session
    for member in unasked { made.notes[member.key] = member.value }
    made.notConverted = unasked.map(\.key)
    if turns.contains(where: \.hasRubrics), unasked["rubrics"] == nil {
      made.notConverted.append("rubrics")
    }
    if turns.contains(where: { $0.reference?.isEmpty == false }) {
      made.notConverted.append("reference answers")
    }
    let calls = turns.flatMap(\.calls).map { call -> JSONValue in
      ["tool": .string(Glob.escaping(call.tool)), "input": ["$exact": call.input]]
    }
    if let problem = made.expect(["toolsCalled": .array(calls), "order": "exact"]) {
      set.left.append("\(place): \(problem)")
    } else {
      set.cases.append(made)
    }
  }
}
