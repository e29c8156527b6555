import AgentTrace
import TraceImporting

/// Configurations of promptfoo: tests with variables and assertions, each put into each prompt.
///
/// Assertions that this language has words for become expectations, each by itself; the others are named, and kept in the
/// notes. A test that passes by a score and not by its assertions is left out, as is one with no assertion that has a counterpart.
/// (promptfoo/promptfoo, src/types/index.ts, src/assertions/.)
enum Promptfoo: CaseAdapter {
  static let summary = FormatSummary(
    reads: "Configurations of promptfoo (promptfooconfig.yaml), with tests in files beside them.",
    tells:
      "A case for each test, prompt and choice of variables. Assertions of models and programs are kept as notes."
  )

  static func recognizes(_ source: CaseSource) -> Bool {
    let value = source.value
    return (value["tests"] ?? value["scenarios"]) != nil
      && (value["prompts"] != nil || value["providers"] != nil)
  }

  /// More cases than these come of no configuration that somebody wrote.
  private static let casesLimit = 10_000

  static func cases(in source: CaseSource) throws(ImportError) -> CaseSet {
    guard recognizes(source) else {
      throw ImportError(.wrongShape(expected: "tests or scenarios, and prompts or providers"))
    }
    var set = CaseSet()
    let references = References(root: source.value)
    let shared = references.resolved(source.value["defaultTest"] ?? [:])
    if shared.stringValue != nil {
      throw ImportError(
        .unsupported("a defaultTest in another file"), at: JSONPointer(tokens: ["defaultTest"]))
    }
    let (prompts, unread) = prompts(of: source.value["prompts"])
    set.left += unread
    let isOutputChanged = hasChangingProvider(source.value["providers"] ?? .null)
    let listed = try tests(source.value["tests"] ?? [], at: "/tests", of: source, references)
    for (place, test) in listed + (try scenarios(of: source, references)) {
      let test = PromptfooTest(
        references.resolved(test), shared: shared, references, isOutputChanged: isOutputChanged)
      if let reason = test.reasonToLeave {
        set.left.append("\(place): \(reason)")
        continue
      }
      let meant = prompts.filter(test.isMeant)
      if meant.isEmpty {
        set.left.append("\(place): none of the prompts that are read is one that it names")
      }
      for prompt in meant {
        for variables in try test.choices(limit: casesLimit, at: place) {
          add(test.made(prompt: prompt.text, variables), at: place, to: &set)
          guard set.cases.count + set.left.count <= casesLimit else {
            throw ImportError(.wrongShape(expected: "at most \(casesLimit) cases"))
          }
        }
      }
    }
    return set
  }

  private static func add(_ made: ImportedCase, at place: String, to set: inout CaseSet) {
    if made.expected.isEmpty {
      let kinds = made.notConverted.joined(separator: ", ")
      set.left.append(
        "\(place): none of its assertions has a counterpart\(kinds.isEmpty ? "" : " (\(kinds))")")
    } else {
      set.cases.append(made)
    }
  }

  /// The prompts that are texts, and what is said of the others; one that is not known where there is none, so that
  /// tests are not lost with their prompts.
  private static func prompts(of value: JSONValue?) -> (known: [Prompt], unread: [String]) {
    let all = value?.arrayValue ?? value.map { [$0] } ?? []
    var known: [Prompt] = []
    var unread: [String] = []
    for (index, prompt) in all.enumerated() {
      let text = prompt.stringValue ?? prompt["raw"]?.stringValue
      if let text, !text.hasPrefix("file://") {
        known.append(Prompt(text: text, label: prompt["label"]?.stringValue ?? text))
      } else {
        let place = value?.arrayValue == nil ? "/prompts" : "/prompts/\(index)"
        unread.append("\(place): a prompt in another file is not read")
      }
    }
    // Prompts in files differ in nothing that is known here: where there are no others, each test is a case without one.
    return known.isEmpty ? ([Prompt()], []) : (known, unread)
  }

  /// A prompt, and what tests call it by; without either where it stands in another file.
  struct Prompt {
    var text: String?
    var label: String?
  }

  /// Whether a provider changes what it answers before anything is held against it: `{id, transform}`, or such below its id.
  private static func hasChangingProvider(_ value: JSONValue) -> Bool {
    (value.arrayValue ?? [value]).contains { provider in
      PromptfooTest.hasChange(of: provider)
        || (provider.objectValue ?? [:]).contains { PromptfooTest.hasChange(of: $0.value) }
    }
  }

  /// A number as JavaScript writes it, `1` for `1.0`; `nil` for one that it writes with an exponent or not exactly.
  static func written(_ value: JSONValue) -> String? {
    guard let number = value.doubleValue, number.magnitude < 1e15 else { return nil }
    if number.rounded() == number { return "\(Int(number))" }
    return number.magnitude < 1e-4 ? nil : "\(number)"
  }

  /// Tests with their places: those that stand in a list, and those of files beside the configuration.
  private static func tests(
    _ value: JSONValue, at base: String, of source: CaseSource, _ references: References
  ) throws(ImportError) -> [(place: String, test: JSONValue)] {
    let value = references.resolved(value)
    let list = value.arrayValue ?? [value]
    var found: [(String, JSONValue)] = []
    for (index, test) in list.enumerated() {
      let place = "\(base)/\(index)"
      guard let name = test.stringValue ?? test["path"]?.stringValue else {
        guard test.objectValue != nil else {
          throw ImportError(
            .wrongShape(expected: "a test, or the name of a file"), at: pointer(place))
        }
        found.append((place, test))
        continue
      }
      let file = name.hasPrefix("file://") ? String(name.dropFirst(7)) : name
      let isRead = [".yaml", ".yml", ".json", ".jsonl", ".csv"].contains(
        where: file.lowercased().hasSuffix)
      guard isRead, !file.contains("*"), let tests = try source.beside(file) else {
        throw ImportError(.unsupported("tests of \(file)"), at: pointer(place))
      }
      let read =
        tests.columns.isEmpty
        ? tests.value
        : .array(PromptfooTable.tests(tests.value.arrayValue ?? [], columns: tests.columns))
      for (place, test) in try objects(read.arrayValue == nil ? [read] : read, at: JSONPointer()) {
        found.append(("\(file)\(place)", test))
      }
    }
    return found
  }

  /// The tests of scenarios: each with each configuration of its scenario, whose variables and assertions it adds to.
  private static func scenarios(
    of source: CaseSource, _ references: References
  ) throws(ImportError) -> [(place: String, test: JSONValue)] {
    guard let value = source.value["scenarios"], !value.isNull else { return [] }
    var found: [(String, JSONValue)] = []
    for (place, scenario) in try objects(value, at: JSONPointer(tokens: ["scenarios"])) {
      let scenario = references.resolved(scenario)
      let configurations = try objects(
        scenario["config"] ?? [], at: JSONPointer(tokens: place.tokens + ["config"]))
      let tests = try tests(
        scenario["tests"] ?? [[:]], at: "\(place)/tests", of: source, references)
      guard found.count + configurations.count * tests.count <= casesLimit else {
        throw ImportError(.wrongShape(expected: "at most \(casesLimit) cases"), at: place)
      }
      for (configured, configuration) in configurations {
        for (named, test) in tests {
          let merged = merged(references.resolved(configuration), references.resolved(test))
          found.append(("\(named) with \(configured)", merged))
        }
      }
    }
    return found
  }

  /// A test with what it does not say itself from a configuration.
  private static func merged(_ configuration: JSONValue, _ test: JSONValue) -> JSONValue {
    var object = configuration.objectValue ?? [:]
    for member in test.objectValue ?? [:] { object[member.key] = member.value }
    for key in ["vars", "options", "metadata"] {
      guard case .object(var members)? = configuration[key] else { continue }
      // What is no object is told of by whoever reads the test.
      guard let own = (test[key] ?? [:]).objectValue else { continue }
      for member in own { members[member.key] = member.value }
      object[key] = .object(members)
    }
    if let first = configuration["assert"]?.arrayValue, let own = (test["assert"] ?? []).arrayValue
    {
      object["assert"] = .array(first + own)
    }
    return .object(object)
  }

  private static func pointer(_ place: String) -> JSONPointer {
    JSONPointer(tokens: place.split(separator: "/").map(String.init))
  }

  /// Values that stand in one place and are named in others, as `$ref: '#/assertionTemplates/polite'`.
  struct References {
    var root: JSONValue

    /// The value that is meant: itself, or what it names; keys beside the name count for more.
    func resolved(_ value: JSONValue) -> JSONValue {
      guard let name = value["$ref"]?.stringValue, name.hasPrefix("#/") else { return value }
      var target: JSONValue? = root
      for key in name.dropFirst(2).split(separator: "/") { target = target?[String(key)] }
      guard case .object(var object)? = target else { return value }
      for member in value.objectValue ?? [:] where member.key != "$ref" {
        object[member.key] = member.value
      }
      return .object(object)
    }
  }
}
