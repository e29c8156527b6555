import AgentTrace

/// Tests of promptfoo in a table: a row is a test, a column a variable, or, where its name begins with two underscores, what
/// the test asks for or is to be known by. (promptfoo/promptfoo, src/csv.ts.)
enum PromptfooTable {
  /// The tests as they would stand in a configuration, in the order of the rows.
  static func tests(_ rows: [JSONValue], columns: [String]) -> [JSONValue] {
    var seen: Set<String> = []
    // Of columns of one name the last counts, and the rows hold no other.
    let columns = columns.filter { seen.insert($0).inserted }
    return rows.map { test($0, columns) }
  }

  private static func test(_ row: JSONValue, _ columns: [String]) -> JSONValue {
    var test = JSONObject()
    var (variables, options, metadata) = (JSONObject(), JSONObject(), JSONObject())
    var assertions: [JSONObject] = []
    var thresholds: [(index: Int, value: JSONValue)] = []
    for column in columns {
      let (name, cell) = (column.trimmed, row[column]?.stringValue ?? "")
      switch name {
      case "__prefix": options["prefix"] = .string(cell)
      case "__suffix": options["suffix"] = .string(cell)
      case "__description" where !cell.isEmpty: test["description"] = .string(cell)
      case "__providerOutput" where !cell.isEmpty: test["providerOutput"] = .string(cell)
      case "__threshold" where !cell.isEmpty && Double(cell.trimmed) != 0:
        test["threshold"] = .string(cell)
      case "__description", "__providerOutput", "__threshold", "__metric", "__metadata": break
      case _ where name.hasPrefix("__expected"):
        if !cell.trimmed.isEmpty { assertions.append(assertion(cell.trimmed)) }
      case _ where name.hasPrefix("__metadata:"):
        if !cell.trimmed.isEmpty { metadata[String(name.dropFirst(11))] = .string(cell) }
      case _ where name.hasPrefix("__config:"):
        let number = name.dropFirst(9).filter(\.isNumber)
        if let value = Double(cell.trimmed) {
          thresholds.append(((Int(number) ?? 1) - 1, JSONValue(value)))
        }
      default: variables[name] = .string(cell)
      }
    }
    for (index, value) in thresholds where assertions.indices.contains(index) {
      assertions[index]["threshold"] = value
    }
    if !options.isEmpty { test["options"] = .object(options) }
    if !metadata.isEmpty { test["metadata"] = .object(metadata) }
    test["vars"] = .object(variables)
    test["assert"] = .array(assertions.map(JSONValue.object))
    return .object(test)
  }

  // MARK: What a cell asks for

  /// An assertion in one text: `contains: Paris`, `not-regex: x+`, `similar(0.8): a city`; else the very text is asked for.
  private static func assertion(_ text: String) -> JSONObject {
    for (head, type) in programs where text.hasPrefix(head) {
      return ["type": .string(type), "value": .string(String(text.dropFirst(head.count)).trimmed)]
    }
    if text.hasPrefix("file://"), let type = scriptType(text) {
      return ["type": .string(type), "value": .string(String(text.dropFirst(7)))]
    }
    guard let (type, threshold, value) = parts(of: text) else {
      return ["type": "equals", "value": .string(text)]
    }
    let kind = type.hasPrefix("not-") ? String(type.dropFirst(4)) : type
    var assertion: JSONObject = ["type": .string(type)]
    if let value {
      if ["contains-all", "contains-any", "icontains-all", "icontains-any"].contains(kind) {
        let values = value.split(separator: ",", omittingEmptySubsequences: false)
        assertion["value"] = .array(values.map { .string(String($0).trimmed) })
      } else {
        assertion["value"] = .string(value.trimmed)
      }
    }
    if let threshold { assertion["threshold"] = JSONValue(threshold) }
    if ["cost", "latency"].contains(kind) {
      assertion["threshold"] = assertion["threshold"] ?? JSONValue(0.75)
    }
    return assertion
  }

  /// What says in one word that a program or a model judges, and what that is called elsewhere.
  private static let programs = [
    ("javascript:", "javascript"), ("fn:", "javascript"), ("eval:", "javascript"),
    ("python:", "python"), ("grade:", "llm-rubric"), ("llm-rubric:", "llm-rubric"),
  ]

  private static func scriptType(_ text: String) -> String? {
    if text.hasSuffix(".py") || text.contains(".py:") { return "python" }
    let endings = [".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"]
    return endings.contains { text.hasSuffix($0) || text.contains($0 + ":") } ? "javascript" : nil
  }

  /// The type, the number in parentheses, and what stands behind the colon; `nil` where the text begins with no type.
  private static func parts(
    of text: String
  ) -> (type: String, threshold: Double?, value: String?)? {
    let isNegated = text.hasPrefix("not-")
    let rest = isNegated ? text.dropFirst(4) : text[...]
    for type in types where rest.hasPrefix(type) {
      guard let (threshold, value) = parameters(rest.dropFirst(type.count)) else { continue }
      return ((isNegated ? "not-" : "") + type, threshold, value)
    }
    // What is written as a type and is none that is known is one of a newer version rather than a text that is asked for.
    guard let colon = rest.firstIndex(of: ":") else { return nil }
    let name = rest[..<colon]
    let isName = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "-")
    }
    guard isName, name.contains("-"), !name.hasPrefix("-"), !name.hasSuffix("-") else { return nil }
    return ((isNegated ? "not-" : "") + name, nil, String(rest[colon...].dropFirst()))
  }

  private static func parameters(_ tail: Substring) -> (threshold: Double?, value: String?)? {
    var tail = tail
    var threshold: Double?
    if tail.first == "(" {
      guard let close = tail.firstIndex(of: ")"), let number = Double(tail[..<close].dropFirst())
      else { return nil }
      threshold = number
      tail = tail[close...].dropFirst()
    }
    if tail.isEmpty { return (threshold, nil) }
    return tail.first == ":" ? (threshold, String(tail.dropFirst())) : nil
  }

  /// The types that an assertion may have; of two of which one begins with the other the longer one first. (src/types/index.ts.)
  private static let types = [
    "agent-rubric", "answer-relevance", "bleu", "classifier", "contains", "contains-all",
    "contains-any", "contains-html", "contains-json", "contains-sql", "contains-xml",
    "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "cost",
    "equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains",
    "icontains-all", "icontains-any", "is-html", "is-json", "is-refusal", "is-sql",
    "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call",
    "is-xml", "javascript", "latency", "levenshtein", "llm-rubric", "meteor",
    "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity",
    "perplexity-score", "pi", "python", "regex", "rouge-n", "ruby", "search-rubric", "similar",
    "similar:cosine", "similar:dot", "similar:euclidean", "skill-used", "starts-with",
    "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration",
    "trajectory:goal-success", "trajectory:step-count", "trajectory:tool-args-match",
    "trajectory:tool-sequence", "trajectory:tool-used", "webhook", "word-count",
  ].sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
}

extension String {
  /// Without blanks and ends of lines at its ends.
  var trimmed: String {
    guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(self[...last].drop(while: \.isWhitespace))
  }
}
