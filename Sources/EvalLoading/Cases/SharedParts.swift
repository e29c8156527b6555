import AgentRuntime
import AgentTrace
import FilePaths
import TraceJudging

/// What cases share: named sets of expectations, and defaults for keys that a case leaves out.
struct SharedParts: Sendable {
  /// What the keys of `defaults` are read into.
  struct Defaults: Sendable {
    var input: String?
    var agent: CaseAgent?
    var human: WrittenPerson?
    var conditions = CaseConditions()
    var isStrict: Bool?
    var judgements: String?
    var trials: Int?
    var passThreshold: Int?
    var tolerances: [ToleratedChange] = []
    var tags: [String] = []
    var skip: CaseSkip?
    var include: [SetReference] = []
  }

  /// What the keys of a file, or of the mapping around cases, are read into.
  struct Draft: Sendable {
    var isRoot = false
    var defaults = Defaults()
    var sets: [NamedSet] = []
  }

  /// Expectations by a name.
  struct NamedSet: Sendable {
    var name: String
    /// `nil` where they have mistakes.
    var expectations: Expectations?
    /// The names that stand in them as `${name}`. They stay as they are: a set is the same for all who include it.
    var placeholders: Set<String>
  }

  /// Whether nobody wrote any down.
  private(set) var isEmpty = true
  private(set) var defaults = Defaults()
  private var sets: [NamedSet] = []

  /// These parts over those of an outer folder: near ones win, tags and sets add up.
  func over(_ outer: SharedParts) -> SharedParts {
    var merged = self
    merged.defaults.input = defaults.input ?? outer.defaults.input
    merged.defaults.agent = defaults.agent ?? outer.defaults.agent
    merged.defaults.human = defaults.human ?? outer.defaults.human
    merged.defaults.conditions = defaults.conditions.over(outer.defaults.conditions)
    merged.defaults.isStrict = defaults.isStrict ?? outer.defaults.isStrict
    merged.defaults.judgements = defaults.judgements ?? outer.defaults.judgements
    // The two belong together.
    if defaults.trials == nil, defaults.passThreshold == nil {
      merged.defaults.trials = outer.defaults.trials
      merged.defaults.passThreshold = outer.defaults.passThreshold
    }
    merged.defaults.skip = defaults.skip ?? outer.defaults.skip
    merged.defaults.tags =
      outer.defaults.tags
      + defaults.tags.filter { tag in
        !outer.defaults.tags.contains { $0.hasSameUTF8(as: tag) }
      }
    merged.defaults.tolerances = outer.defaults.tolerances + defaults.tolerances
    merged.defaults.include = outer.defaults.include + defaults.include
    merged.sets += outer.sets
    merged.isEmpty = isEmpty && outer.isEmpty
    return merged
  }

  init() {}

  init(_ draft: Draft) {
    isEmpty = false
    defaults = draft.defaults
    sets = draft.sets
  }

  /// The names of all sets, the nearest first.
  var setNames: [String] { sets.map(\.name) }

  /// A set by its name: `nil` where there is none, `.some(nil)` where it has mistakes.
  func set(named name: String) -> Expectations?? {
    sets.first { $0.name.hasSameUTF8(as: name) }.map(\.expectations)
  }

  /// Which of some columns of a table a set speaks of, as though they were filled in.
  func columns(_ columns: Set<String>, inSetNamed name: String) -> [String] {
    let set = sets.first { $0.name.hasSameUTF8(as: name) }
    return set?.placeholders.intersection(columns).sorted() ?? []
  }

  // MARK: Keys

  static let draftFields: [Field<Draft>] = [
    .schemaOfFile,
    Field("root", .flag, \.isRoot, "Whether outer folders are not looked at."),
    Field("defaults", defaultsShape, \.defaults, "What cases have that say nothing else."),
    Field(
      "sets", setsShape, \.sets, "Expectations by name, for cases to include."),
  ]

  private static let defaultsShape = Shape<Defaults>.record(
    Defaults(),
    [
      Field("input", .text, \.input, "What the agent is asked to do."),
      Field(
        "agent", CaseAgent.shape, \.agent,
        "The agent file, a path from this file's folder, or a command."),
      Field("human", HumanFile.writtenShape, \.human, "A person written down."),
      Field(
        "strict", .flag, \.isStrict,
        "Whether what has changed since cases were accepted fails, also where nothing is worse."),
      Field(
        "judgements", .path, \.judgements,
        "The folder of judgements of models; a path from this file's folder."),
      Field(
        "trials", .count(1...TrialFile.trialLimit), \.trials,
        "How often cases are run live that do not say it themselves."),
      Field(
        "passThreshold", .count(1...TrialFile.trialLimit), \.passThreshold,
        "How many of these trials have to pass; all of a safety case."),
      Field(
        "tolerates", .list(of: ToleranceFile.shape, atLeast: 1), \.tolerances,
        "Changes to their runs that the cases let pass on purpose, and why; they add up."),
      Field("tags", .list(of: .name), \.tags, "Words to pick cases by; they add up."),
      Field(
        "skip", CaseFile.skip, \.skip, "Why the cases are left out: a text, or reason and until."),
      Field(
        "include", .oneOrMore(of: SetReference.shape), \.include,
        "Sets of expectations that every case has as well."),
    ] + CaseConditionsFile.fields(\.conditions))

  private static let setsShape = Shape<[NamedSet]>([
    "type": "object", "minProperties": 1,
    "propertyNames": ["minLength": 1, "pattern": "^[^#]*$"],
    "additionalProperties": ["$ref": "#/$defs/expected"],
  ]) { value, reader in
    guard let object = value.objectValue, !object.isEmpty else {
      return reader.refuseKind(of: value, expected: "a mapping from names to expectations")
    }
    return object.map { member in
      reader.within(.key(member.key)) {
        if member.key.isEmpty || member.key.utf8.contains(UInt8(ascii: "#")) {
          reader.report("the name of a set is not empty and holds no “#”", at: .key)
        }
        return NamedSet(
          name: member.key, expectations: CaseFile.expectations(in: member.value, reader),
          placeholders: placeholders(in: member.value))
      }
    }
  }

  private static func placeholders(in value: JSONValue) -> Set<String> {
    let text = CanonicalJSON.string(value, form: .plain)
    guard text.utf8.contains(UInt8(ascii: "$")) else { return [] }
    return Set(
      PlaceholderText(text).pieces.compactMap { if case .name(let name) = $0 { name } else { nil } }
    )
  }
}

/// A set that a case includes: its name, perhaps behind the path of its file.
struct SetReference: Sendable {
  /// The file that holds it, seen from where this process works; `nil` for one in reach by its name.
  var file: String?
  var name: String
  /// What it means that it is not met; `nil` where the set says it.
  var severity: Severity?

  private static let text = Shape<SetReference>(["type": "string", "minLength": 1]) {
    value, reader in
    guard let text = value.stringValue, !text.isEmpty, !text.utf8.contains(0) else {
      return reader.refuseKind(of: value, expected: "the name of a set, or FILE#NAME")
    }
    guard let mark = text.utf8.lastIndex(of: UInt8(ascii: "#")) else {
      return SetReference(name: text)
    }
    let (file, name) = (String(text[..<mark]), String(text[text.index(after: mark)...]))
    return SetReference(file: file.isEmpty ? nil : reader.folder.resolve(file), name: name)
  }

  private struct Draft: Sendable {
    var reference: SetReference?
    var severity: Severity?
  }

  private static let detailed = Shape<Draft>.record(
    Draft(),
    [
      Field("set", text, \.reference, required: true, "The set's name, or FILE#NAME."),
      Field("severity", .word, \.severity, "What it means that it is not met."),
    ])

  static let shape = Shape<SetReference>(["anyOf": [text.schema(), detailed.schema()]]) {
    value, reader in
    guard case .object = value else { return text.read(value, reader) }
    guard let draft = detailed.read(value, reader), var reference = draft.reference else {
      return nil
    }
    reference.severity = draft.severity
    return reference
  }
}

/// Finds what the cases of a folder share: in its `defaults.yaml` and in those of the folders above it.
///
/// The search ends at a file that says `root: true`, at a folder that holds `.git`, and at the
/// beginning of a relative path.
struct SharedPartsFinder {
  private static let names = ["defaults.yaml", "defaults.yml", "defaults.json"]

  /// What to say of a file whose defaults hold for no case, because it is called otherwise than such files are and has no
  /// cases of its own.
  static func unused(_ document: SourceDocument) -> [Diagnostic] {
    guard let root = document.roots.first(where: { $0.value["defaults"] != nil }),
      root.value["cases"] == nil,
      let name = document.path.split(separator: "/").last.map(String.init), !names.contains(name)
    else { return [] }
    return [
      Diagnostic(
        .warning, path: document.path, key: "defaults", message: "these hold for no case",
        hint: "a folder's defaults stand in \(names.joined(separator: ", ")) or beside “cases”")
    ]
  }

  private let limits: SourceLimits
  private var byFolder: [String: SharedParts] = [:]
  private var byFile: [String: SharedParts] = [:]
  private(set) var diagnostics: [Diagnostic] = []
  /// The files that were read.
  private(set) var files: [String] = []

  init(limits: SourceLimits) { self.limits = limits }

  /// What the cases of a folder share.
  mutating func parts(of folder: String, depth: Int = 0) -> SharedParts {
    if let known = byFolder[folder] { return known }
    var parts = SharedParts()
    var isRoot = depth > 64 || fileStatus("\(folder)/.git") != nil
    let files = Self.names.map { "\(folder)/\($0)" }.filter { fileStatus($0) != nil }
    if let file = files.first {
      for other in files.dropFirst() {
        diagnostics.append(
          Diagnostic(
            .error, path: Self.plain(other), message: "stands beside \(Self.plain(file))",
            hint: "the defaults of a folder stand in one file"))
      }
      let draft = read(Self.plain(file))
      isRoot = isRoot || draft.isRoot
      parts = SharedParts(draft)
    }
    if !isRoot, let outer = Self.parent(of: folder) {
      parts = parts.over(self.parts(of: outer, depth: depth + 1))
    }
    byFolder[folder] = parts
    return parts
  }

  /// The sets of a file that a case names.
  mutating func sets(in file: String) -> SharedParts {
    if let known = byFile[file] { return known }
    let parts = SharedParts(read(file))
    byFile[file] = parts
    return parts
  }

  /// Reads what a file shares; what is wrong with it is told once.
  mutating func read(_ file: String) -> SharedParts.Draft {
    var draft = SharedParts.Draft()
    files.append(file)
    let document = SourceDocument(path: file, limits: limits)
    diagnostics += document.diagnostics
    let folder = SourceFolder(ofFile: file)
    for root in document.roots {
      let reader = FieldReader(folder: folder)
      // Cases may stand beside the sets.
      if case .object(var object) = root.value {
        object["cases"] = nil
        reader.read(object, into: &draft, SharedParts.draftFields)
      } else {
        reader.reportKind(of: root.value, expected: "a mapping with “defaults” or “sets”")
      }
      diagnostics += reader.diagnostics(path: file, in: root) + reader.attached
    }
    return draft
  }

  /// `a.yaml` for `./a.yaml`.
  private static func plain(_ path: String) -> String {
    path.hasPrefix("./") ? String(path.dropFirst(2)) : path
  }

  /// The folder around a folder, as far as its path tells; `.` is around what is relative.
  private static func parent(of folder: String) -> String? {
    guard folder != ".", folder != "/", !folder.hasSuffix("..") else { return nil }
    guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == folder.startIndex ? "/" : String(folder[..<slash])
  }
}
