import AgentTrace
import TraceImporting

/// A test of promptfoo, with what all tests share.
struct PromptfooTest {
  private var test: JSONValue
  private var shared: JSONValue
  private var references: Promptfoo.References
  /// Whether what an agent says is changed before it is held against any assertion.
  private var isOutputChanged: Bool

  /// - Parameter isOutputChanged: whether a provider changes what it answers.
  init(
    _ test: JSONValue, shared: JSONValue, _ references: Promptfoo.References, isOutputChanged: Bool
  ) {
    (self.test, self.shared, self.references) = (test, shared, references)
    self.isOutputChanged =
      isOutputChanged
      || [test, shared].contains { side in
        [side["options"], side["provider"]].contains { Self.hasChange(of: $0 ?? .null) }
      }
  }

  /// Whether options or a provider say to change the output.
  static func hasChange(of value: JSONValue) -> Bool {
    ["transform", "postprocess"].contains { !(value[$0] ?? .null).isNull }
  }

  /// Why no case can stand for it; `nil` where one can.
  var reasonToLeave: String? {
    for key in ["threshold", "assertScoringFunction"] {
      if let value = test[key] ?? shared[key], !value.isNull {
        return "it passes by a score (\(key)), not by its assertions"
      }
    }
    if !(test["providerOutput"] ?? shared["providerOutput"] ?? .null).isNull {
      return "what is judged stands in it (providerOutput)"
    }
    for side in [test, shared] {
      if side["$ref"] != nil { return "what it refers to is not there" }
      if side["vars"]?.stringValue != nil { return "its variables stand in another file" }
      if let list = side["assert"], !list.isNull, list.arrayValue == nil {
        return "its assertions are no list"
      }
      if !(side["options"]?["transformVars"] ?? .null).isNull {
        return "its variables are changed by a program (transformVars)"
      }
    }
    return nil
  }

  /// Each way to choose one value of each variable: a list of values is one test for each of them.
  ///
  /// - Throws: ``ImportError`` where there are more ways than somebody would have written.
  func choices(limit: Int, at place: String) throws(ImportError) -> [JSONObject] {
    var variables = shared["vars"]?.objectValue ?? [:]
    for member in test["vars"]?.objectValue ?? [:] { variables[member.key] = member.value }
    let isKept = [test, shared].contains { $0["options"]?["disableVarExpansion"] == true }
    var choices: [JSONObject] = [[:]]
    for member in variables {
      var values = [member.value]
      // One value that is an empty list is a value as any other: no choice would be no test.
      if !isKept, let list = member.value.arrayValue, !list.isEmpty,
        list.allSatisfy({ $0.stringValue != nil })
      {
        values = list
      }
      guard choices.count * values.count <= limit else {
        throw ImportError(.wrongShape(expected: "at most \(limit) choices of variables"))
      }
      guard choices.count * values.count * variables.count <= Self.valuesLimit else {
        throw ImportError(.wrongShape(expected: "at most \(Self.valuesLimit) values of variables"))
      }
      choices = choices.flatMap { choice in
        values.map { value in
          var next = choice
          next[member.key] = value
          return next
        }
      }
    }
    return choices
  }

  /// More values in all choices together than these are of no test that somebody wrote, and each is copied into its case.
  private static let valuesLimit = 100_000

  /// The case of one prompt and one choice of variables.
  func made(prompt: String?, _ variables: JSONObject) -> ImportedCase {
    let template = Template(variables: variables)
    var made = ImportedCase(input: input(prompt, template))
    made.notes["description"] = test["description"]
    made.notes["metadata"] = test["metadata"]
    if !variables.isEmpty { made.notes["vars"] = .object(variables) }
    var kept: [JSONValue] = []
    for assertion in assertions {
      let kind = assertion["type"]?.stringValue ?? "an assertion without a type"
      let problem = PromptfooAssertion(assertion, template, isOutputChanged: isOutputChanged)
        .add(to: &made)
      guard let problem else { continue }
      made.notConverted.append(problem.isEmpty ? kind : "\(kind) (\(problem))")
      kept.append(assertion)
    }
    if !kept.isEmpty { made.notes["assertions"] = .array(kept) }
    return made
  }

  /// What the agent is asked: the prompt with the variables in it, else the only variable that is a text.
  private func input(_ prompt: String?, _ template: Template) -> String {
    if let prompt, let text = template.rendered(option("prefix") + prompt + option("suffix")) {
      return text
    }
    let texts = template.variables.compactMap { member in
      member.value.stringValue.flatMap { _ in template.rendered("{{\(member.key)}}") }
    }
    return texts.count == 1 ? texts[0] : ""
  }

  private func option(_ name: String) -> String {
    (test["options"]?[name] ?? shared["options"]?[name])?.stringValue ?? ""
  }

  /// Which of the prompts it is put into: all of them, or those that it names, also by the beginnings of their labels.
  func isMeant(for prompt: Promptfoo.Prompt) -> Bool {
    guard let names = (test["prompts"] ?? shared["prompts"])?.arrayValue,
      let label = prompt.label
    else { return true }
    return names.compactMap(\.stringValue).contains { name in
      name == label || label.hasPrefix(name + ":")
        || name.hasSuffix("*") && label.hasPrefix(name.dropLast())
    }
  }

  /// Its own, and those of all tests; those of a set that must all hold stand for themselves.
  private var assertions: [JSONValue] {
    let isAlone = test["options"]?["disableDefaultAsserts"] == true
    let all =
      (isAlone ? [] : shared["assert"]?.arrayValue ?? []) + (test["assert"]?.arrayValue ?? [])
    return all.map(references.resolved).flatMap { assertion -> [JSONValue] in
      guard assertion["type"] == "assert-set", (assertion["threshold"] ?? .null).isNull,
        assertion["weight"] != 0,
        let members = assertion["assert"]?.arrayValue
      else { return [assertion] }
      return members.map(references.resolved)
    }
  }

  /// Texts in which variables stand between double braces.
  struct Template {
    var variables: JSONObject

    /// The text with its variables; `nil` where more stands there than the name of one.
    func rendered(_ text: String) -> String? {
      var result = ""
      var rest = text[...]
      while let open = rest.firstRange(of: "{{") {
        result += rest[..<open.lowerBound]
        rest = rest[open.upperBound...]
        guard let close = rest.firstRange(of: "}}"),
          let value = value(of: rest[..<close.lowerBound])
        else { return nil }
        result += value
        rest = rest[close.upperBound...]
      }
      guard !text.utf8.contains(UInt8(ascii: "{")) || !(text.contains("{%") || text.contains("{#"))
      else { return nil }
      return result + rest
    }

    /// What is put in for a name; `nil` where nobody knows it here: what stands in another file, or holds a template itself.
    private func value(of name: Substring) -> String? {
      let name = name.filter { $0 != " " }
      switch variables[String(name)] {
      case .string(let text)?:
        let isElsewhere = ["file://", "package:"].contains(where: text.hasPrefix)
        let isTemplate = ["{{", "{%", "{#"].contains(where: text.contains)
        return isElsewhere || isTemplate ? nil : text
      case .number(let number)?: return Promptfoo.written(.number(number))
      case .bool(let flag)?: return flag ? "true" : "false"
      default: return nil
      }
    }

    /// The value with the variables in all its texts; `nil` where one cannot be put in.
    func rendered(_ value: JSONValue) -> JSONValue? {
      switch value {
      case .string(let text): return rendered(text).map(JSONValue.string)
      case .array(let elements):
        let all = elements.compactMap { rendered($0) }
        return all.count == elements.count ? .array(all) : nil
      case .object(let members):
        var object = JSONObject()
        for member in members {
          guard let value = rendered(member.value) else { return nil }
          object[member.key] = value
        }
        return .object(object)
      default: return value
      }
    }
  }
}
