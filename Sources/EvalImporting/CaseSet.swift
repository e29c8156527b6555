import AgentTrace
import TraceJudging

/// What became of an eval set.
struct CaseSet {
  /// More entries than these are no eval set.
  static let limit = 100_000

  /// In the order of the source.
  var cases: [ImportedCase] = []
  /// Entries of which no case could be made: their place, and why.
  var left: [String] = []
}

/// A case that was made of an entry of an eval set.
struct ImportedCase {
  /// What the agent is asked.
  var input = ""
  /// What must be seen to have happened: one mapping of expectations, or several that must all hold.
  var expected: [JSONValue] = []
  /// What the source says beside that, for people.
  var notes: JSONObject = [:]
  /// What the source checks and this language has no word for: its kinds, each with why, where there is more to say.
  var notConverted: [String] = []

  /// Adds expectations, where they are such: what they are made of is the source's, and may be a pattern that is none here.
  ///
  /// - Returns: why they are none; `nil` where they were added.
  mutating func expect(_ mapping: JSONValue) -> String? {
    do {
      _ = try Expectations(parsing: mapping)
    } catch {
      return error.problems.first.map { "\($0)" } ?? "no expectation"
    }
    expected.append(mapping)
    return nil
  }

  /// The case in the form of a case file.
  func encoded(caseId: String, source: String, format: CaseFormat) -> JSONValue {
    var notes = notes
    notes["source"] = .string(source)
    if !notConverted.isEmpty {
      notes["notConverted"] = .array(notConverted.map(JSONValue.string))
    }
    return [
      "caseId": .string(caseId), "input": .string(input), "tags": [.string(format.rawValue)],
      "notes": .object(notes),
      "expected": expected.count == 1 ? expected[0] : .array(expected),
    ]
  }
}

/// Texts of others, in matchers that mean just them.
enum Literally {
  /// A pattern that finds this text alone.
  static func pattern(_ text: String) -> String {
    var pattern = ""
    for scalar in text.unicodeScalars {
      if #"\^$.|?*+()[]{}"#.unicodeScalars.contains(scalar) { pattern += "\\" }
      pattern.unicodeScalars.append(scalar)
    }
    return pattern
  }

  /// A matcher of a text in which this one stands, in whatever case.
  static func containing(anyCase text: String) -> JSONValue {
    ["$regex": .string("(?i)" + pattern(text))]
  }
}
