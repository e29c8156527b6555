import AgentTrace
import ArgumentParser

extension ParsableCommand {
  /// Refuses an option that takes one value and is given more than once: ArgumentParser takes the last one, and what
  /// the others asked for is not done.
  ///
  /// - Throws: `ValidationError`.
  static func refuseOptionsGivenTwice(in arguments: [String]) throws {
    let given = arguments.prefix { $0 != "--" }.filter { $0.utf8.first == UInt8(ascii: "-") }
    // Laying out what the command takes costs something.
    guard given.count > 1 else { return }
    for option in try optionsWithValue(onlyOne: true) {
      let times = given.count { word in option.contains { Self.isOption($0, in: word) } }
      guard times > 1, let name = option.first else { continue }
      throw ValidationError("\(name) takes one value, and is given \(times) times.")
    }
  }

  /// The names of each option that takes a value, with their hyphens.
  ///
  /// - Parameter onlyOne: Leaves out those that may be given again.
  static func optionsWithValue(onlyOne: Bool = false) throws -> [[String]] {
    let help = try JSONValue(parsing: _dumpHelp())
    let arguments = help["command"]?["arguments"]?.arrayValue ?? []
    return arguments.filter {
      $0["kind"] == "option" && (!onlyOne || $0["isRepeating"] == false)
    }.map {
      ($0["names"]?.arrayValue ?? []).compactMap { name in
        name["name"]?.stringValue.map { (name["kind"] == "short" ? "-" : "--") + $0 }
      }
    }
  }

  /// Whether a word of the command line is an option, which may have its value behind a `=`, and short ones other short
  /// ones before it.
  private static func isOption(_ name: String, in word: String) -> Bool {
    let word = word.prefix { $0 != "=" }
    guard !name.hasPrefix("--"), !word.hasPrefix("--") else { return word == name }
    return word.dropFirst().contains(name.dropFirst())
  }
}
