import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import TraceMatching
import TraceReporting

/// What holds where the command line says nothing: variables of the environment, then the project's
/// `.agent-eval.yaml`.
struct Settings: Sendable {
  /// Where a value comes from.
  enum Source: Sendable, Hashable {
    case variable(String)
    case file(String, line: Int)

    /// As messages name it.
    var place: String {
      switch self {
      case .variable(let name): name
      case .file(let path, let line): "\(path):\(line)"
      }
    }
  }

  /// The values, those of the environment over those of the file.
  private var values: ProjectSettings
  /// Where each value that is there comes from, by its key.
  private(set) var sources: [String: Source] = [:]
  /// The file that was found.
  private(set) var file: String?
  /// What is wrong with it, or with a variable.
  private(set) var faults: [Diagnostic] = []
  /// What the environment says of colours: it stands before the conventions of other programs, the file behind.
  private(set) var colorOfEnvironment: ColorChoice?

  var paths: [String]? { values.paths }
  var runs: String? { values.runs }
  var out: String? { values.out }
  var report: [String]? { values.report }
  var against: String? { values.against }
  var tolerance: [String]? { values.tolerance }
  var strict: Bool? { values.strict }
  var jobs: Int? { values.jobs }
  var history: String? { values.history }
  var color: ColorChoice? { values.color.flatMap(ColorChoice.init(rawValue:)) }
  var pager: String? { values.pager }

  /// What holds here. Read once, at the first use; cost: a few system calls, and reading the file where there is one.
  static let here = Settings(
    file: SettingsFolder.file(), names: variableNames, variable: { Screen.variable($0) })

  /// Tells what is wrong with the settings, and ends the process with 2 where that is an error, but for verbs that do
  /// not rest on them.
  static func require(for verb: String?) {
    guard let verb, !verb.hasPrefix("-"), !["help", "config", "init", "schema"].contains(verb)
    else { return }
    Diagnostics.print(here.faults)
    guard here.faults.hasErrors else { return }
    Output.error(
      "agent-eval: the settings above hold for every verb; agent-eval config shows them.")
    exit(2)
  }

  /// How the names of variables for settings begin.
  private static let variablePrefix = "AGENT_EVAL_"

  /// The variables whose names begin as those of settings do: most often there is none.
  private static var variableNames: [String] {
    var names: [String] = []
    var entry = environ
    while let text = entry.pointee {
      if strncmp(text, variablePrefix, variablePrefix.utf8.count) == 0 {
        names.append(String(String(cString: text).prefix { $0 != "=" }))
      }
      entry += 1
    }
    return names
  }

  /// - Parameter names: the variables that begin as those of settings do; where there is none, none is looked at.
  init(file: String?, names: [String], variable: (String) -> String?) {
    self.file = file
    values = ProjectSettings()
    for name in SettingsFolder.unread() {
      faults.append(
        Diagnostic(
          .error, path: name, message: "settings of this name are not read",
          hint: "rename it to \(SettingsLoader.fileName)"))
    }
    if let file {
      let loaded = SettingsLoader.load(file)
      faults += loaded.diagnostics
      if let found = loaded.value {
        values = found
        for (key, line) in found.lines where key != "$schema" {
          sources[key] = .file(file, line: line)
        }
      }
    }
    if !names.isEmpty { takeVariables(variable) }
    tellSlips(names)
    checkWords()
  }

  /// Tells of variables that are likely meant for a setting, and are read by nobody: a build that compares with nothing
  /// is green for a slip. Other names that begin so are others' business; `bin/agent-eval` itself sets one.
  private mutating func tellSlips(_ names: [String]) {
    let keys = ProjectSettings.keys.map { $0.name.uppercased() }
    for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    where name != LiveBuild.scriptVariable {
      let key = String(name.dropFirst(Self.variablePrefix.count))
      guard !keys.contains(key), let nearest = Spelling.nearest(to: key, among: keys) else {
        continue
      }
      faults.append(
        Diagnostic(
          .warning, path: name, message: "no setting is read from this variable",
          hint: "did you mean “\(Self.variablePrefix)\(nearest)”?"))
    }
  }

  private mutating func takeVariables(_ variable: (String) -> String?) {
    for (key, _) in ProjectSettings.keys {
      let name = Self.variableName(of: key)
      guard let text = variable(name) else { continue }
      guard take(text, for: key) else {
        faults.append(
          Diagnostic(.error, path: name, message: "“\(text)” is no value of \(key)"))
        continue
      }
      sources[key] = .variable(name)
    }
  }

  /// Holds words against what the options take that they stand for.
  private mutating func checkWords() {
    if let words = values.tolerance, (try? AgainstRequest.parsed(tolerance: words)) == nil {
      report(
        "tolerance", words.joined(separator: " "),
        "a number of per cent, or steps=, tokens= or cost= and a number")
    }
    for text in values.report ?? [] {
      let format = String(text.prefix { $0 != ":" })
      guard ReportFormat(rawValue: format) == nil else { continue }
      report("report", format, ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))
    }
  }

  private mutating func report(_ key: String, _ value: String, _ expected: String) {
    var fault = Diagnostic(
      .error, path: "", key: key, message: "“\(value)” is no value of \(key)",
      hint: "it takes \(expected)")
    switch sources[key] {
    case .file(let path, let line)?: (fault.path, fault.line) = (path, line)
    case .variable(let name)?: fault.path = name
    case nil: break
    }
    faults.append(fault)
  }

  /// `AGENT_EVAL_OUT` for `out`.
  static func variableName(of key: String) -> String { variablePrefix + key.uppercased() }

  /// Takes a value of the environment in; returns whether it is one. Lists stand a line each.
  private mutating func take(_ text: String, for key: String) -> Bool {
    let list = text.split(separator: "\n").map(String.init).filter { !$0.isEmpty }
    switch key {
    case "paths": values.paths = list
    case "runs": values.runs = text
    case "out": values.out = text
    case "report": values.report = list
    case "against": values.against = text
    case "tolerance": values.tolerance = list
    case "strict":
      guard let flag = ["true": true, "1": true, "false": false, "0": false][text] else {
        return false
      }
      values.strict = flag
    case "jobs":
      guard let number = Int(text), (0...1024).contains(number) else { return false }
      values.jobs = number
    case "history": values.history = text
    case "color":
      guard let choice = ColorChoice(rawValue: text) else { return false }
      colorOfEnvironment = choice
      values.color = text
    case "pager": values.pager = text
    default: return false
    }
    return true
  }

  /// The value of a key as it is told; `nil` where nothing is said of it.
  func value(of key: String) -> JSONValue? {
    switch key {
    case "paths": values.paths.map { JSONValue($0) }
    case "runs": values.runs.map(JSONValue.string)
    case "out": values.out.map(JSONValue.string)
    case "report": values.report.map { JSONValue($0) }
    case "against": values.against.map(JSONValue.string)
    case "tolerance": values.tolerance.map { JSONValue($0) }
    case "strict": values.strict.map(JSONValue.bool)
    case "jobs": values.jobs.map { JSONValue($0) }
    case "history": values.history.map(JSONValue.string)
    case "color": values.color.map(JSONValue.string)
    case "pager": values.pager.map(JSONValue.string)
    default: nil
    }
  }
}

/// Where the settings of a project stand.
enum SettingsFolder {
  /// How many folders upwards are looked at.
  private static let limit = 64

  /// The file in this folder or in one above it, up to the one that holds the repository; `nil` where there is none.
  static func file() -> String? {
    folders().lazy.map { $0 + SettingsLoader.fileName }.first { access($0, F_OK) == 0 }
  }

  /// The files there under names under which people may keep settings that nobody reads.
  static func unread() -> [String] {
    folders().flatMap { [$0 + ".agent-eval.yml", $0 + ".agent-eval.json"] }.filter {
      access($0, F_OK) == 0
    }
  }

  /// This folder and those above it, up to the one that holds the repository (`.git`), as far as their paths' beginnings.
  /// Outside of a repository only this folder counts: what stands above it may be anybody's.
  private static func folders() -> [String] {
    var folder = ""
    var folders = [folder]
    while folders.count <= limit {
      if access(folder + ".git", F_OK) == 0 { return folders }
      if folders.count > 1, isSameFile(folder, folder + "..") { break }
      folder += "../"
      folders.append(folder)
    }
    return [""]
  }
}
