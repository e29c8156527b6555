import ArgumentParser

/// How what a verb prints looks.
struct ScreenOptions: ParsableArguments {
  @Option(help: "Colours: auto, always or never.")
  var color: ColorChoice?

  @Flag(help: "Cut no line, and break lines where texts do.")
  var full = false

  @Flag(help: "Print at once, whatever PAGER says.")
  var noPager = false
}

/// A verb that prints for people.
protocol Verb: ParsableCommand {
  var screen: ScreenOptions { get }
}

/// When there are colours.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
  /// On a terminal that knows them.
  case auto
  case always
  case never
}
