import AgentTrace
public import TraceImporting

/// A kind of eval set that can be turned into case files. Raw values are what a user types.
///
/// A new one is a case here, its entry in `adapter`, and one file in `Formats/`.
public enum CaseFormat: String, Sendable, Hashable, CaseIterable {
  /// Eval sets of Google's Agent Development Kit, which agentevals' command takes as well.
  case adk
  /// Questions of the Berkeley Function Calling Leaderboard, and their possible answers.
  case bfcl
  /// Datasets of Inspect.
  case inspect = "inspect-dataset"
  /// Configurations of promptfoo.
  case promptfoo

  /// What reads this format.
  var adapter: any CaseAdapter.Type {
    switch self {
    case .adk: AdkEvalSets.self
    case .bfcl: Bfcl.self
    case .inspect: InspectDatasets.self
    case .promptfoo: Promptfoo.self
    }
  }

  /// What it is, and what becomes of it: for people who ask what can be imported.
  public var summary: FormatSummary { adapter.summary }

  /// The first format whose shape a source has; `nil` where it is none that is known.
  static func guess(_ source: CaseSource) -> CaseFormat? {
    allCases.first { $0.adapter.recognizes(source) }
  }
}

/// Reads one kind of eval set: a file into cases. Knows nothing of case files.
protocol CaseAdapter {
  /// What it is, and what becomes of it.
  static var summary: FormatSummary { get }

  /// Whether a file has the shape of this format, judged by a few keys.
  static func recognizes(_ source: CaseSource) -> Bool

  /// The cases of a file, in its order. What is wrong with the whole file is thrown.
  static func cases(in source: CaseSource) throws(ImportError) -> CaseSet
}

extension CaseAdapter {
  /// The members of a list, each an object, with their places.
  ///
  /// - Throws: ``ImportError`` with the place where there is no such list, or one that nobody wrote.
  static func objects(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> [(JSONPointer, JSONValue)] {
    guard let elements = value.arrayValue else {
      throw ImportError(.wrongShape(expected: "a list"), at: pointer)
    }
    guard elements.count <= CaseSet.limit else {
      throw ImportError(.wrongShape(expected: "at most \(CaseSet.limit) entries"), at: pointer)
    }
    var found: [(JSONPointer, JSONValue)] = []
    for (index, element) in elements.enumerated() {
      let place = pointer.appending(String(index))
      guard element.objectValue != nil else {
        throw ImportError(.wrongShape(expected: "an object"), at: place)
      }
      found.append((place, element))
    }
    return found
  }
}
