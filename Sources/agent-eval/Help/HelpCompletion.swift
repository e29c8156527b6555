/// What shells offer behind `agent-eval help`: verbs and topics.
///
/// ArgumentParser's own `help` names nothing that could stand behind it, so its part of each script gets the words here.
enum HelpCompletion {
  private static var words: [String] {
    AgentEval.verbs.map { $0._verb } + HelpTopic.all.map(\.name) + ["topics"]
  }

  /// A text that may be a script of completions, which then offers them; any other text as it is.
  static func added(to text: String) -> String {
    let list = words.joined(separator: " ")
    if text.hasPrefix("#compdef") {
      return replacing(
        "'*:subcommands:'", with: "'1:verb or topic:(\(list))'", behind: "_agent-eval_help() {",
        in: text)
    }
    if text.hasPrefix("#!/bin/bash") {
      let offering = "    __agent-eval_offer_flags_options -1\n"
      return replacing(
        offering,
        with: offering
          + "    if [[ ${positional_number} -eq 1 ]]; then\n"
          + "        COMPREPLY+=($(compgen -W '\(list)' -- \"${cur}\"))\n    fi\n",
        behind: "_agent-eval_help() {", in: text)
    }
    guard text.hasPrefix("function __agent-eval_should_offer") else { return text }
    let place = "__agent-eval_should_offer_completions_for_positional \"agent-eval help\" -eq 1"
    return text + "\ncomplete -c 'agent-eval' -n '\(place)' -fka '\(list)'"
  }

  private static func replacing(
    _ old: String, with new: String, behind start: String, in text: String
  ) -> String {
    guard let from = text.firstRange(of: start)?.upperBound,
      let place = text[from...].firstRange(of: old)
    else { return text }
    return text.replacingCharacters(at: place, with: new)
  }
}

extension String {
  fileprivate func replacingCharacters(at range: Range<Index>, with new: String) -> String {
    self[..<range.lowerBound] + new + self[range.upperBound...]
  }
}
