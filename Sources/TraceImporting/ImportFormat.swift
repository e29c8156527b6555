import AgentTrace

/// A kind of foreign trace that can be turned into run logs. Raw values are what a user types.
///
/// A new importer is a new case here, its entry in ``adapter``, and one file in `Formats/`.
public enum ImportFormat: String, Sendable, Hashable, CaseIterable {
  /// Message lists as chat-completion interfaces exchange them, and arrays of τ-bench results, whose
  /// trajectories are such lists.
  case openAIMessages = "openai-messages"
  /// Result files of τ²-bench.
  case tau2
  /// Recorded runs of AgentDojo.
  case agentDojo = "agentdojo"

  /// What reads this format.
  var adapter: any FormatAdapter.Type {
    switch self {
    case .openAIMessages: OpenAIMessages.self
    case .tau2: Tau2.self
    case .agentDojo: AgentDojo.self
    }
  }

  /// The order in which formats are tried when none was named: the most particular first.
  static let guessingOrder: [ImportFormat] = [.tau2, .agentDojo, .openAIMessages]

  /// The first format whose shape a file has; `nil` where it is none that is known.
  static func guess(_ document: SourceDocument) -> ImportFormat? {
    guessingOrder.first { $0.adapter.recognizes(document) }
  }
}

/// Reads one foreign format: a parsed file into its runs. Knows nothing of events or logs.
protocol FormatAdapter {
  /// Whether a file has the shape of this format, judged by a few keys.
  static func recognizes(_ document: SourceDocument) -> Bool

  /// The runs of a file, in its order. What is wrong with one run is said in its place, so that the
  /// others go on; what is wrong with the whole file is thrown.
  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun]
}
