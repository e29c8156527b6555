import AgentTrace
import TraceMatching
import TraceReporting

/// A subject of `agent-eval help`.
///
/// The texts stand here alone: the documents that ``document`` names hold the same, and `HelpTests` compares them
/// (`UPDATE_TABLES=1` writes them there).
struct HelpTopic: Sendable {
  /// What is typed.
  var name: String
  /// Other words for it.
  var otherNames: [String] = []
  /// What it is about, in a few words.
  var title: String
  /// The document that holds the text, and says more.
  var document: String
  var text: String

  /// Prints what `help TOPIC` asks for, or the list of topics; returns whether that was asked for.
  static func show(_ arguments: [String]) -> Bool {
    guard arguments.first == "help", arguments.count <= 2 else { return false }
    guard let word = arguments.dropFirst().first, word != "help", !word.hasPrefix("-") else {
      return false
    }
    guard !AgentEval.verbs.contains(where: { $0._verb.hasSameUTF8(as: word) }) else { return false }
    if ["topics", "topic"].contains(word) {
      Output.lines(all.map { "\($0.name)\n    \($0.title)" })
      return true
    }
    guard let topic = all.first(where: { $0.name == word || $0.otherNames.contains(word) }) else {
      refuse(word)
    }
    Paging.begin()
    Output.lines([Screen.painter.paint(topic.title, .heading), ""])
    Output.lines(Prose.lines(topic.text, columns: Screen.width))
    Output.lines(["", "More: \(topic.document)"])
    return true
  }

  private static func refuse(_ word: String) -> Never {
    let known = AgentEval.verbs.map { $0._verb } + all.map(\.name)
    let hint =
      VerbHints.command(for: word).map { " “agent-eval \($0)” does that." }
      ?? Spelling.nearest(to: word, among: known).map { " Did you mean “\($0)”?" } ?? ""
    Output.error(
      "agent-eval: there is no verb or topic “\(Visible.line(word, width: 80))”.\(hint) The topics are "
        + "\(all.map(\.name).joined(separator: ", ")); the verbs are "
        + "\(AgentEval.verbs.map { $0._verb }.joined(separator: ", ")).")
    AgentEval.end(64)
  }
}
