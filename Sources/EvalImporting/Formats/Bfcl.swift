import AgentTrace
import TraceImporting
import TraceMatching

/// The Berkeley Function Calling Leaderboard: questions with the functions that are offered, and in a file of the same
/// name below `possible_answer` the calls that are right, each argument with the values that it may have.
///
/// (ShishirPatil/gorilla, berkeley-function-call-leaderboard, eval_checker/ast_eval/ast_checker.py.) As there, an empty
/// text among the values lets an argument be left out, texts are compared without their case, and a dot in a function's name
/// may be an underscore. Blanks and punctuation in texts, which are passed over there, count here. What is judged there by
/// the state of simulated systems, or by an answer, has no calls to ask for.
enum Bfcl: CaseAdapter {
  static let summary = FormatSummary(
    reads:
      "The Berkeley Function Calling Leaderboard: questions, and below possible_answer the calls that are right.",
    tells:
      "A case a question: these calls and no other, in any order. Those of several turns are judged by states, and left out."
  )

  static func recognizes(_ source: CaseSource) -> Bool {
    guard let first = source.rows[0] else { return false }
    return first["id"]?.stringValue != nil
      && (first["ground_truth"] != nil || first["question"]?[0]?[0]?["role"] != nil)
  }

  static func cases(in source: CaseSource) throws(ImportError) -> CaseSet {
    var answers: [String: JSONValue] = [:]
    let isQuestions = source.rows[0]?["question"] != nil
    let name = SourceFiles.lastComponent(of: source.name)
    if isQuestions, let file = try source.beside("possible_answer/\(name)") {
      for (_, row) in try objects(file.rows, at: JSONPointer()) {
        if let id = row["id"]?.stringValue { answers[id] = row["ground_truth"] }
      }
    }
    var set = CaseSet()
    for (place, row) in try objects(source.rows, at: JSONPointer()) {
      guard let id = row["id"]?.stringValue else {
        throw ImportError(.wrongShape(expected: "a text"), at: place.appending("id"))
      }
      var made = ImportedCase(input: question(row["question"]), notes: ["id": .string(id)])
      made.notes["function"] = row["function"]
      let problem =
        expectations(id, row["ground_truth"] ?? answers[id], of: row).map { made.expect($0) }
        ?? "its possible answer is missing, or is judged there by more than its calls"
      if let problem {
        set.left.append("\(place) (\(id)): \(problem)")
      } else {
        set.cases.append(made)
      }
    }
    return set
  }

  /// What the user says in the first turn.
  private static func question(_ value: JSONValue?) -> String {
    let messages = value?[0]?.arrayValue ?? []
    return messages.filter { $0["role"] == "user" }.compactMap { $0["content"]?.stringValue }
      .joined(separator: "\n")
  }

  private static func expectations(
    _ id: String, _ truth: JSONValue?, of row: JSONValue
  ) -> JSONValue? {
    if id.hasPrefix("irrelevance") || id.hasPrefix("live_irrelevance") {
      return ["toolsCalled": [], "order": "exact"]
    }
    if id.hasPrefix("live_relevance") {
      let names = (row["function"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
      guard !names.isEmpty else { return nil }
      return ["toolsCalled": ["*"]]
    }
    guard let calls = truth?.arrayValue, !calls.isEmpty else { return nil }
    var entries: [JSONValue] = []
    for call in calls {
      guard let members = call.objectValue, members.count == 1, let member = members.first,
        let arguments = member.value.objectValue
      else { return nil }
      entries.append(["tool": .string(tool(member.key)), "input": input(arguments)])
    }
    return ["toolsCalled": .array(entries), "extra": "forbid"]
  }

  /// The name, in which interfaces that take no dots have underscores.
  private static func tool(_ name: String) -> String {
    name.split(separator: ".", omittingEmptySubsequences: false)
      .map { Glob.escaping(String($0)) }.joined(separator: "[._]")
  }

  /// An object with these keys and no other, each with one of its values; those that may be empty may be missing.
  private static func input(_ arguments: JSONObject) -> JSONValue {
    var (allowed, needed) = (JSONObject(), JSONObject())
    for argument in arguments {
      let values = argument.value.arrayValue ?? [argument.value]
      allowed[argument.key] = ["$anyOf": .array(values.map(matcher))]
      if !values.contains("") { needed[argument.key] = ["$any": true] }
    }
    return ["$allOf": [["$subsetOf": .object(allowed)], .object(needed)]]
  }

  private static func matcher(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): ["$ignoreCase": .string(text)]
    case .object(let object): input(object)
    case .array(let elements): .array(elements.map(matcher))
    default: ["$exact": value]
    }
  }
}
