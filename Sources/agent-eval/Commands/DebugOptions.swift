import ArgumentParser

/// Where the commands of the debugger come from.
struct DebugOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Step through the run with the commands of this file, one a line; - is standard input.",
      valueName: "file"), completion: .file())
  var commands: String?

  @Option(
    name: .customShort("c"),
    help: ArgumentHelp(
      "Step through the run with these commands: \"goto 12; why\". May be repeated.",
      valueName: "commands"))
  var text: [String] = []

  /// Whether commands are given.
  var isGiven: Bool { commands != nil || !text.isEmpty }

  func validate() throws {
    if commands != nil, !text.isEmpty {
      throw ValidationError("Give either --commands or -c.")
    }
  }
}
