import AgentTrace
import TraceImporting

/// Datasets of Inspect: samples with `input` and `target`, in JSON, JSON Lines or CSV.
///
/// A dataset says what an answer should hold, not how it is held against that: that is a scorer's, in the code of a
/// task. What is asked for here is what its `includes` asks for where nothing else is said: one of the targets stands in
/// the answer, in whatever case. (UKGovernmentBEIS/inspect_ai, src/inspect_ai/dataset/_util.py, scorer/_match.py.)
enum InspectDatasets: CaseAdapter {
  static let summary = FormatSummary(
    reads: "Datasets of Inspect: samples with input and target, in JSON, JSON Lines or CSV.",
    tells: "A case a sample: the answer holds one of its targets, in whatever case.")

  static func recognizes(_ source: CaseSource) -> Bool {
    guard let samples = source.rows.arrayValue, !samples.isEmpty else { return false }
    // A sample may lack its target, and is left out then; all of them do not.
    guard samples.contains(where: { $0["target"] != nil }) else { return false }
    return samples.allSatisfy { sample in
      guard let input = sample["input"] else { return false }
      return input.stringValue != nil || input[0]?["role"] != nil
    }
  }

  static func cases(in source: CaseSource) throws(ImportError) -> CaseSet {
    var set = CaseSet()
    for (place, sample) in try objects(source.rows, at: JSONPointer()) {
      guard !isOfChoices(sample) else {
        set.left.append(
          "\(place): its target is the letter of a choice, which stands in any answer")
        continue
      }
      let targets = targets(of: sample)
      guard !targets.isEmpty else {
        set.left.append("\(place): no target, so that nothing is asked of the answer")
        continue
      }
      var made = ImportedCase(input: input(of: sample["input"] ?? .null))
      let matchers = targets.map(Literally.containing(anyCase:))
      let answer = matchers.count == 1 ? matchers[0] : ["$anyOf": .array(matchers)]
      if let problem = made.expect(["answer": answer]) {
        set.left.append("\(place): \(problem)")
        continue
      }
      var rest = sample.objectValue ?? [:]
      rest["input"] = sample["input"]?.arrayValue.map(JSONValue.array)
      made.notes["sample"] = .object(rest)
      set.cases.append(made)
    }
    return set
  }

  /// Whether what is asked for is a choice among several, by its letter.
  private static func isOfChoices(_ sample: JSONValue) -> Bool {
    switch sample["choices"] ?? .null {
    case .null: false
    case .array(let choices): !choices.isEmpty
    default: true
    }
  }

  /// The targets that say something: an empty one stands in every answer.
  private static func targets(of sample: JSONValue) -> [String] {
    let target = sample["target"] ?? .null
    return (target.arrayValue ?? [target]).compactMap { value in
      switch value {
      case .null: nil
      case .string(let text): text.isEmpty ? nil : text
      default: "\(value)"
      }
    }
  }

  /// What is asked: the text, or what the user says last.
  private static func input(of value: JSONValue) -> String {
    if let text = value.stringValue { return text }
    let last = value.arrayValue?.last { $0["role"] == "user" }
    guard let content = last?["content"] else { return "" }
    if let text = content.stringValue { return text }
    return (content.arrayValue ?? []).compactMap { $0["text"]?.stringValue }.joined(separator: "\n")
  }
}
