import AgentTrace
import ArgumentParser
import EvalLoading
import TraceReporting

/// Shows what holds, and why.
struct ConfigVerb: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Show the defaults that hold here, and where each comes from.",
    discussion: """
      Each stands in \(SettingsLoader.fileName), in this folder or above it up to the repository's root, or in a \
      variable of the environment, which outranks the file; options outrank both. Exits with 2 where the file or a \
      variable has a mistake.
      """
        + Example.list([
          "config": "what holds here",
          "config --json": "the same for programs",
        ]))

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() throws {
    let settings = Settings.here
    Diagnostics.print(settings.faults)
    if json {
      Output.json([
        "file": settings.file.map(JSONValue.string) ?? .null,
        "settings": .array(ProjectSettings.keys.map { Self.json(of: $0.name, settings) }),
      ])
    } else {
      var table = TextTable(headings: ["KEY", "VALUE", "FROM", "VARIABLE"])
      for (key, _) in ProjectSettings.keys {
        table.append([
          key, settings.value(of: key).map(Self.text) ?? "–",
          settings.sources[key]?.place ?? "default", Settings.variableName(of: key),
        ])
      }
      Output.lines(
        table.lines(painter: Screen.painter, width: Screen.width)
          .map { Visible.cut($0, width: Screen.width) })
      Output.error(
        settings.file.map { "file   \(Visible.line($0))" }
          ?? "note: no \(SettingsLoader.fileName) here or above, up to the repository's root.")
    }
    if settings.faults.hasErrors { throw ExitCode(2) }
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .array(let elements): elements.map(text).joined(separator: " ")
    case .string(let text): text
    default: value.description
    }
  }

  private static func json(of key: String, _ settings: Settings) -> JSONValue {
    var entry: JSONObject = [
      "key": .string(key), "value": settings.value(of: key) ?? .null,
      "variable": .string(Settings.variableName(of: key)),
    ]
    switch settings.sources[key] {
    case .variable?: entry["source"] = "environment"
    case .file(let path, let line)?:
      entry["source"] = "file"
      entry["path"] = .string(path)
      entry["line"] = JSONValue(line)
    case nil: entry["source"] = "default"
    }
    return .object(entry)
  }
}
