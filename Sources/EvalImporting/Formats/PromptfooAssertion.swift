import AgentTrace
import TraceImporting
import TraceMatching

/// An assertion of promptfoo as expectations of ours.
struct PromptfooAssertion {
  private var assertion: JSONValue
  private var template: PromptfooTest.Template
  /// Its type without `not-`.
  private var kind: String
  private var isNegated: Bool
  private var isOutputChanged: Bool

  /// - Parameter isOutputChanged: whether the output is changed before it is held against anything.
  init(_ assertion: JSONValue, _ template: PromptfooTest.Template, isOutputChanged: Bool) {
    (self.assertion, self.template) = (assertion, template)
    self.isOutputChanged = isOutputChanged
    let type = assertion["type"]?.stringValue ?? ""
    isNegated = type.hasPrefix("not-")
    kind = isNegated ? String(type.dropFirst(4)) : type
  }

  /// Adds what it asks for to a case.
  ///
  /// - Returns: why it cannot be said: empty where its type has no counterpart; `nil` where it was added.
  func add(to made: inout ImportedCase) -> String? {
    // What changes the output first, or counts for a figure alone, asks something else than its type says.
    for key in ["transform", "contextTransform"] where !(assertion[key] ?? .null).isNull {
      return "with a \(key)"
    }
    let isOfOutput = !kind.hasPrefix("trajectory:") && !["cost", "latency"].contains(kind)
    if isOutputChanged, isOfOutput { return "of an output that a transform makes" }
    if assertion["metricOnly"] == true || assertion["weight"] == 0 { return "for a figure alone" }
    guard let value = template.rendered(assertion["value"] ?? .null) else {
      return "with a template that holds more than variables"
    }
    if let text = value.stringValue, text.hasPrefix("file://") || text.hasPrefix("package:") {
      return "in another file"
    }
    guard let mappings = mappings(value) else { return "" }
    var tried = made
    for mapping in mappings {
      if let problem = tried.expect(mapping) { return problem }
    }
    made = tried
    return nil
  }

  /// What must hold, each by itself; `nil` where there is no word for it.
  private func mappings(_ value: JSONValue) -> [JSONValue]? {
    if let answer = answer(value) {
      return [["answer": isNegated ? ["$not": answer] : answer]]
    }
    switch kind {
    case "equals": return value.doubleValue == nil ? json(["$exact": value]) : nil
    case "is-json":
      if value.isNull || value == "" { return json(["$any": true]) }
      return value.objectValue == nil ? nil : json(["$schema": value])
    case "cost": return limit("cost", by: 1)
    case "latency": return limit("seconds", by: 1000)
    case "trajectory:tool-used": return toolUsed(value)
    case "trajectory:tool-args-match": return toolInput(value)
    case "trajectory:tool-sequence": return toolSequence(value)
    case "trajectory:step-count":
      return value["type"] == "tool" ? counted(value, leastByDefault: nil) : nil
    default: return nil
    }
  }

  // MARK: The answer

  /// A matcher of the answer's text.
  private func answer(_ value: JSONValue) -> JSONValue? {
    switch kind {
    case "equals":
      return value.objectValue == nil && value.arrayValue == nil && !value.isNull
        ? text(value).map(JSONValue.string) : nil
    case "contains": return text(value).map { ["$contains": .string($0)] }
    case "icontains": return text(value).map(Literally.containing(anyCase:))
    case "starts-with": return text(value).map { ["$regex": .string("^" + Literally.pattern($0))] }
    case "regex": return value.stringValue.map { ["$regex": .string($0)] }
    case "contains-any": return list(value, "$anyOf") { ["$contains": .string($0)] }
    case "contains-all": return list(value, "$allOf") { ["$contains": .string($0)] }
    case "icontains-any": return list(value, "$anyOf", Literally.containing(anyCase:))
    case "icontains-all": return list(value, "$allOf", Literally.containing(anyCase:))
    default: return nil
    }
  }

  private func json(_ matcher: JSONValue) -> [JSONValue]? {
    isNegated ? nil : [["answerJson": matcher]]
  }

  private func text(_ value: JSONValue) -> String? {
    switch value {
    case .string(let text): text.isEmpty ? nil : text
    case .number: Promptfoo.written(value)
    case .bool: "\(value)"
    default: nil
    }
  }

  private func list(
    _ value: JSONValue, _ word: String, _ matcher: (String) -> JSONValue
  ) -> JSONValue? {
    // A text is a list with commas between; one with quotes in it is read as a table's row there.
    let parts = value.stringValue.map { text in
      text.contains("\"")
        ? [] : text.split(separator: ",").map { JSONValue.string(String($0).trimmed) }
    }
    let texts = (parts ?? value.arrayValue ?? []).compactMap(text)
    guard !texts.isEmpty, texts.count == (parts ?? value.arrayValue ?? []).count else { return nil }
    return [word: .array(texts.map(matcher))]
  }

  private func limit(_ word: String, by divisor: Double) -> [JSONValue]? {
    guard !isNegated, let threshold = assertion["threshold"]?.doubleValue else { return nil }
    return [["budget": [word: JSONValue(threshold / divisor)]]]
  }

  // MARK: Calls

  private func toolUsed(_ value: JSONValue) -> [JSONValue]? {
    if value.objectValue != nil { return counted(value, leastByDefault: 1) }
    let names = value.stringValue.map { [JSONValue.string($0)] } ?? value.arrayValue ?? []
    let tools = names.compactMap(\.stringValue)
    guard !tools.isEmpty, tools.count == names.count else { return nil }
    if isNegated { return [["toolsNotCalled": .array(tools.map { .string(glob($0)) })]] }
    // One call may be what several of them ask for.
    return tools.map { ["toolsCalled": [.string(glob($0))]] }
  }

  private func counted(_ value: JSONValue, leastByDefault: Int?) -> [JSONValue]? {
    let name = value["pattern"]?.stringValue ?? value["name"]?.stringValue
    guard ["tool", nil].contains(value["type"]?.stringValue) else { return nil }
    guard let name = name ?? (kind == "trajectory:step-count" ? "*" : nil) else { return nil }
    var times = JSONObject()
    // A least number that is none, as a text, may ask for more than nothing said.
    let written = value["min"].flatMap { $0.isNull ? nil : $0 }
    if let written, written.intValue == nil { return nil }
    if let least = written?.intValue ?? leastByDefault, least > 0 {
      times["min"] = JSONValue(least)
    }
    times["max"] = value["max"]
    guard !times.isEmpty else { return nil }
    let entry: JSONValue = ["tool": .string(glob(name)), "times": .object(times)]
    return [[isNegated ? "toolsNotCalled" : "toolsCalled": [entry]]]
  }

  private func toolInput(_ value: JSONValue) -> [JSONValue]? {
    guard let name = value["pattern"]?.stringValue ?? value["name"]?.stringValue,
      ["tool", nil].contains(value["type"]?.stringValue),
      let arguments = value["args"] ?? value["arguments"],
      ["partial", "exact", nil].contains(value["mode"]?.stringValue)
    else { return nil }
    var entry: JSONObject = ["tool": .string(glob(name))]
    let ignored = (value["ignore"]?.arrayValue ?? value["ignore"].map { [$0] } ?? [])
      .compactMap(\.stringValue)
    if !ignored.isEmpty { entry["ignore"] = .array(ignored.map(JSONValue.string)) }
    entry["defaults"] = value["defaults"]
    var asked = arguments
    if case .object(var object) = arguments {
      for name in ignored { object[name] = JSONValue?.none }
      asked = .object(object)
    }
    entry["input"] = value["mode"] == "exact" ? ["$exact": asked] : partial(asked)
    return [[isNegated ? "toolsNotCalled" : "toolsCalled": [.object(entry)]]]
  }

  /// A matcher that lets objects have further keys, at every depth.
  private func partial(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let object):
      // A key that begins with a dollar is no operator there.
      if object.contains(where: { $0.key.hasPrefix("$") }) { return ["$literal": value] }
      return .object(JSONObject(object.map { ($0.key, partial($0.value)) }))
    case .array(let elements): return .array(elements.map(partial))
    default: return value
    }
  }

  private func toolSequence(_ value: JSONValue) -> [JSONValue]? {
    let steps = value.arrayValue ?? value["steps"]?.arrayValue ?? []
    let mode = value.arrayValue == nil ? value["mode"]?.stringValue ?? "in_order" : "in_order"
    let tools = steps.compactMap { step -> String? in
      guard ["tool", nil].contains(step["type"]?.stringValue) else { return nil }
      return step.stringValue ?? step["pattern"]?.stringValue ?? step["name"]?.stringValue
    }
    guard !isNegated, !tools.isEmpty, tools.count == steps.count,
      ["in_order", "exact"].contains(mode)
    else { return nil }
    return [
      ["toolsCalled": .array(tools.map { .string(glob($0)) }), "order": .string(mode)]
    ]
  }

  /// A glob of theirs: `*` and `?` alone, in whatever case. Where a call is forbidden its case must not let it pass; where one
  /// is asked for, it has the name that was written.
  private func glob(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      let (lower, upper) = (scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping)
      if isNegated, lower != upper, lower.unicodeScalars.count == 1, upper.unicodeScalars.count == 1
      {
        text += "[\(lower)\(upper)]"
      } else if "*?".unicodeScalars.contains(scalar) {
        text.unicodeScalars.append(scalar)
      } else {
        text += Glob.escaping(String(scalar))
      }
    }
    return text
  }
}
