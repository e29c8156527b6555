import AgentTrace

/// The defaults of a project: what `.agent-eval.yaml` says. Every key may be left out.
public struct ProjectSettings: Sendable, Hashable {
  /// Case files and folders that are judged where none is named.
  public var paths: [String]?
  /// A folder of recorded runs, for cases that name no recording.
  public var runs: String?
  /// The folder that new runs go to, and in which runs are looked for by their identifiers.
  public var out: String?
  /// Reports, each as `format:file`.
  public var report: [String]?
  /// What results are compared with: `accepted`, or a path.
  public var against: String?
  /// How much more a run may use than the accepted one, as `--tolerance` takes it.
  public var tolerance: [String]?
  /// Whether what has changed fails as well.
  public var strict: Bool?
  /// Cases that are worked on side by side; 0 for one a core.
  public var jobs: Int?
  /// The folder in which outcomes are kept.
  public var history: String?
  /// When there are colours: `auto`, `always` or `never`.
  public var color: String?
  /// The program for long output on a terminal; `none` for none.
  public var pager: String?
  /// The line of each key, from 1.
  public var lines: [String: Int] = [:]

  /// Says nothing of anything.
  public init() {}

  /// The keys, in the order in which they are told, and what each says.
  public static var keys: [(name: String, note: String)] {
    SettingsFile.fields.filter { $0.name != "$schema" }.map { ($0.name, $0.note) }
  }
}

/// Reads the file with a project's defaults; Docs/configuration.md specifies it.
public enum SettingsLoader {
  /// The name of the file.
  public static let fileName = ".agent-eval.yaml"

  /// Reads a settings file. Paths in it start from its folder.
  ///
  /// - Returns: The settings, or everything that is wrong with the file.
  public static func load(_ path: String) -> Loaded<ProjectSettings> {
    let document = SourceDocument(path: path, limits: SourceLimits(bytes: 1 << 20))
    // A file that says nothing yet, but for words to people, leaves all as it is.
    if document.roots.isEmpty, !document.diagnostics.hasErrors {
      return Loaded(ProjectSettings(), document.diagnostics, files: [path])
    }
    guard let root = document.onlyRoot else {
      return Loaded(
        nil, document.diagnostics + document.rootCountDiagnostics(of: "settings"), files: [path])
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: path))
    var settings = ProjectSettings()
    if case .object(let object) = root.value {
      reader.read(object, into: &settings, SettingsFile.fields)
      for member in root.tree(levels: 1).members {
        settings.lines[member.name] = member.key.line
      }
    } else {
      reader.reportKind(of: root.value, expected: "settings, a mapping")
    }
    return Loaded(
      settings, document.diagnostics + reader.diagnostics(path: path, in: root), files: [path])
  }
}

/// The keys of a settings file.
enum SettingsFile {
  static let fields: [Field<ProjectSettings>] = [
    .schemaOfFile,
    Field(
      "paths", .oneOrMore(of: .path), \.paths,
      "Case files and folders that run, accept and mutate take where none is named."),
    Field(
      "runs", .path, \.runs, "A folder of recorded runs, for cases that name no recording (--runs)."
    ),
    Field(
      "out", .path, \.out,
      "The folder that new runs go to (--out), and in which latest and identifiers are looked for."),
    Field(
      "report", .oneOrMore(of: report), \.report,
      "Reports that run writes (--report), each with its file."),
    Field(
      "against", against, \.against,
      "What run compares with (--against): accepted, or a path."),
    Field(
      "tolerance", .oneOrMore(of: word), \.tolerance,
      "How much more a run may use than the accepted one, in per cent (--tolerance)."),
    Field(
      "strict", .flag, \.strict, "Whether what has changed fails as well (--strict)."),
    Field(
      "jobs", .count(0...1024), \.jobs,
      "Cases that are worked on side by side; 0 for one a core (--jobs)."),
    Field(
      "history", .path, \.history, "The folder in which run keeps outcomes (--history)."),
    Field(
      "color", .word(["auto", "always", "never"]), \.color, "When there are colours (--color)."),
    Field(
      "pager", .name, \.pager,
      "The program for long output on a terminal, in place of PAGER; none for none."),
  ]

  /// A number, or words: as a command line has them.
  private static let word = Shape<String>(["type": ["string", "number"]]) { value, reader in
    switch value {
    case .string(let text) where !text.isEmpty: return text
    case .number(let number): return number.token
    default:
      return reader.refuseKind(
        of: value, expected: "a number of per cent, or steps=, tokens= or cost= and one")
    }
  }

  /// `format:file`: without a file it would stand in the way of whatever else is printed.
  private static let report = Shape<String>([
    "type": "string", "pattern": "^[a-z]+:.+$",
  ]) { value, reader in
    guard case .string(let text) = value, let colon = text.firstIndex(of: ":"),
      text.index(after: colon) < text.endIndex, !text.hasSuffix(":-")
    else { return reader.refuse("should be FORMAT:FILE, as junit:results.xml") }
    let file = String(text[text.index(after: colon)...])
    guard !file.hasPrefix("~/") else { return reader.refuse(Shape<String>.homeless) }
    return text[...colon] + reader.folder.resolve(file)
  }

  private static let against = Shape<String>(["type": "string", "minLength": 1]) { value, reader in
    if value == "accepted" { return "accepted" }
    return Shape<String>.path.read(value, reader)
  }
}
