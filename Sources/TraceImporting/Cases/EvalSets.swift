import AgentTrace

/// Eval sets of Google's Agent Development Kit (`*.test.json`, `*.evalset.json`): what an agent should
/// call, turn by turn.
///
/// Three shapes: `eval_cases` with a `conversation` of invocations each; a bare list of turns with
/// `query` and `expected_tool_use`; a list of `name` and such `data`. (google/adk-python,
/// src/google/adk/evaluation/eval_case.py, and the older forms that its sets manager migrates.)
enum EvalSets {
  /// One eval case: its name there, and its turns.
  struct Case {
    var name: String?
    var turns: [Turn] = []
    /// What stands in the source beside the turns: session input, initial state.
    var session: JSONValue?
  }

  /// What a user says, and what should follow.
  struct Turn {
    var query: String
    var calls: [(tool: String, input: JSONValue)]
    var reference: String?
  }

  /// More turns and calls than these are no eval set.
  private static let limit = 10_000

  /// Whether a file looks like an eval set.
  static func recognizes(_ value: JSONValue) -> Bool {
    if value["eval_cases"] != nil { return true }
    guard let first = value.arrayValue?.first else { return false }
    return (first["query"] != nil && first["expected_tool_use"] != nil)
      || first["data"]?[0]?["query"] != nil
  }

  /// The eval cases of a file, in its order.
  static func cases(in value: JSONValue) throws(ImportError) -> [Case] {
    guard recognizes(value) else {
      throw ImportError(
        .wrongShape(expected: "eval_cases, or a list of turns with query and expected_tool_use"))
    }
    let root = JSONPointer()
    if let list = value["eval_cases"] {
      return try read(list, at: root.appending("eval_cases"), evalCase)
    }
    guard value[0]?["data"] != nil else { return [Case(turns: try read(value, at: root, turn))] }
    return try read(value, at: root, namedData)
  }

  private static func read<T>(
    _ value: JSONValue, at pointer: JSONPointer,
    _ element: (JSONValue, JSONPointer) throws(ImportError) -> T
  ) throws(ImportError) -> [T] {
    guard let elements = value.arrayValue else {
      throw ImportError(.wrongShape(expected: "a list"), at: pointer)
    }
    guard elements.count <= limit else {
      throw ImportError(.wrongShape(expected: "at most \(limit) entries"), at: pointer)
    }
    var found: [T] = []
    for (place, value) in elements.placed(at: pointer) {
      guard value.objectValue != nil else {
        throw ImportError(.wrongShape(expected: "an object"), at: place)
      }
      found.append(try element(value, place))
    }
    return found
  }

  /// A member of an object that is there and not null.
  private static func present(_ value: JSONValue, _ key: String) -> JSONValue? {
    value[key].flatMap { $0.isNull ? nil : $0 }
  }

  // MARK: Cases

  private static func evalCase(
    _ item: JSONValue, _ pointer: JSONPointer
  ) throws(ImportError) -> Case {
    Case(
      name: item["eval_id"]?.stringValue,
      turns: try read(
        present(item, "conversation") ?? [], at: pointer.appending("conversation"), invocation),
      session: present(item, "session_input"))
  }

  private static func namedData(
    _ item: JSONValue, _ pointer: JSONPointer
  ) throws(ImportError) -> Case {
    Case(
      name: item["name"]?.stringValue,
      turns: try read(present(item, "data") ?? [], at: pointer.appending("data"), turn),
      session: present(item, "initial_state"))
  }

  // MARK: Turns

  private static func turn(_ item: JSONValue, _ pointer: JSONPointer) throws(ImportError) -> Turn {
    guard let query = item["query"]?.stringValue else {
      throw ImportError(.wrongShape(expected: "a text"), at: pointer.appending("query"))
    }
    let calls = try read(
      present(item, "expected_tool_use") ?? [], at: pointer.appending("expected_tool_use")
    ) { (use: JSONValue, place: JSONPointer) throws(ImportError) in
      try call(use, "tool_name", "tool_input", at: place)
    }
    return Turn(query: query, calls: calls, reference: item["reference"]?.stringValue)
  }

  private static func invocation(
    _ item: JSONValue, _ pointer: JSONPointer
  ) throws(ImportError) -> Turn {
    let place = pointer.appending("intermediate_data")
    let data = present(item, "intermediate_data") ?? [:]
    var calls: [(tool: String, input: JSONValue)] = []
    if let uses = present(data, "tool_uses") {
      calls = try read(uses, at: place.appending("tool_uses")) {
        (use: JSONValue, place: JSONPointer) throws(ImportError) in
        try call(use, "name", "args", at: place)
      }
    } else if let events = present(data, "invocation_events") {
      let all = try read(events, at: place.appending("invocation_events")) {
        (event: JSONValue, place: JSONPointer) throws(ImportError) in
        var calls: [(tool: String, input: JSONValue)] = []
        for (index, part) in (event["content"]?["parts"]?.arrayValue ?? []).enumerated() {
          guard let use = present(part, "function_call") else { continue }
          let tokens = ["content", "parts", String(index), "function_call"]
          calls.append(
            try call(use, "name", "args", at: JSONPointer(tokens: place.tokens + tokens)))
        }
        return calls
      }
      calls = all.flatMap { $0 }
    }
    return Turn(
      query: text(item["user_content"]) ?? "", calls: calls,
      reference: text(item["final_response"]))
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
}

extension EvalSets.Case {
  /// The case in the form of a case file: the calls of all turns, in this order and no other, as
  /// `tool_trajectory_avg_score` asks where nothing else is said.
  ///
  /// What this language has no word for is kept under `notes`: later turns' queries, reference
  /// answers (which are compared there by the words they share), session state.
  func encoded(caseId: String, source: String) -> JSONValue {
    let calls = turns.flatMap(\.calls).map { call -> JSONValue in
      ["tool": .string(Self.plain(call.tool)), "input": ["$exact": call.input]]
    }
    let told = turns.map { turn -> JSONValue in
      var object: JSONObject = [
        "query": .string(turn.query), "calls": JSONValue(turn.calls.count),
      ]
      object["reference"] = turn.reference.map(JSONValue.string)
      return .object(object)
    }
    var notes: JSONObject = ["source": .string(source), "turns": .array(told)]
    notes["evalId"] = name.map(JSONValue.string)
    notes["session"] = session
    return [
      "caseId": .string(caseId), "input": .string(turns.first?.query ?? ""), "tags": ["adk"],
      "notes": .object(notes), "expected": ["toolsCalled": .array(calls), "order": "exact"],
    ]
  }

  /// A name in which no character means something to a glob.
  private static func plain(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      if "*?[]{}\\".unicodeScalars.contains(scalar) { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
