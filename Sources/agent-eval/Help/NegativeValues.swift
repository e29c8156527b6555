import ArgumentParser

/// Numbers below zero behind options: `--jobs -1`.
///
/// ArgumentParser takes a word that begins with a hyphen for another option and says that a value is missing. As
/// `--jobs=-1` it reaches the option, which says which numbers it takes.
enum NegativeValues {
  /// The arguments with each such number joined to the option before it that takes a value.
  static func joined(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    guard arguments[..<end].contains(where: isNegativeNumber),
      let options = try? verb(of: arguments)?.optionsWithValue().joined()
    else { return arguments }
    var joined: [String] = []
    for word in arguments[..<end] {
      if isNegativeNumber(word), let last = joined.last, options.contains(last) {
        joined[joined.count - 1] = "\(last)=\(word)"
      } else {
        joined.append(word)
      }
    }
    return joined + arguments[end...]
  }

  /// A hyphen and then a digit, if behind a point: no option of a verb is called so.
  private static func isNegativeNumber(_ word: String) -> Bool {
    guard word.hasPrefix("-") else { return false }
    let digits = word.dropFirst().drop { $0 == "." }
    return digits.first.map { ("0"..."9").contains($0) } ?? false
  }

  private static func verb(of arguments: [String]) -> (any ParsableCommand.Type)? {
    guard let verb = AgentEval.verbs.first(where: { $0._verb == arguments.first }) else {
      return nil
    }
    return verb.configuration.subcommands.first { $0._verb == arguments.dropFirst().first } ?? verb
  }
}
