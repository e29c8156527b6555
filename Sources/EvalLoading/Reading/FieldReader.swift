import AgentTrace
import TraceJudging
import TraceMatching

/// Walks over one root of a file and collects what is wrong with it.
///
/// Knows the way to the value being read, but no places: those are looked up at the end, and only
/// where there is something to tell.
final class FieldReader {
  /// One thing that is wrong, with the way to it.
  struct Finding {
    var severity: Diagnostic.Severity
    var path: [PathStep]
    var end: PathEnd
    var message: String
    var hint: String?
  }

  /// Another file that a value names.
  struct Reference {
    enum Kind: Sendable {
      case agent
      case pipeline
      case recording
    }

    var kind: Kind
    /// The way to the value that names it.
    var path: [PathStep]
    /// The file, seen from where this process works.
    var file: String
  }

  /// How many findings of one root are kept; a file with more is told to be fixed first.
  static let findingLimit = 200

  /// The way from the root to the value being read.
  private(set) var path: [PathStep] = []
  private(set) var findings: [Finding] = []
  /// Tools that the file names, with the way to each; compared with the agent's tools at the end.
  private(set) var mentions: [(path: [PathStep], mention: ToolMention)] = []
  /// Other files that the file names.
  private(set) var references: [Reference] = []
  private(set) var adopted: [(mention: ToolMention, place: Diagnostic)] = []
  /// What is wrong with other files that this one leads to.
  var attached: [Diagnostic] = []
  /// The paths of other files that were read on the way.
  var files: [String] = []
  /// The agent files that led to this one, and it itself, where it is one.
  var family = AgentFamily()
  /// The folder that relative paths in this file start from.
  let folder: SourceFolder
  /// What was read before in files of this folder.
  let known: KnownExpectations

  init(folder: SourceFolder, known: KnownExpectations = KnownExpectations()) {
    self.folder = folder
    self.known = known
  }

  /// How many errors were found, those that are no longer kept included.
  private(set) var errorCount = 0

  /// Reads something one step deeper.
  func within<T>(_ step: PathStep, _ read: () -> T) -> T {
    path.append(step)
    defer { path.removeLast() }
    return read()
  }

  /// Notes what is wrong with the value being read, or with its key.
  func report(
    _ message: String, hint: String? = nil, as severity: Diagnostic.Severity = .error,
    at end: PathEnd = .value, deeper: [PathStep] = []
  ) {
    note(
      Finding(severity: severity, path: path + deeper, end: end, message: message, hint: hint))
  }

  /// Notes what the value being read lacks, unless an error in it says so already.
  func lacks<Value>(_ message: String) -> Value? {
    if !hasErrorHere { report(message) }
    return nil
  }

  /// The same of a value that nothing can be made of.
  func refuse<Value>(
    _ message: String, hint: String? = nil, at end: PathEnd = .value, deeper: [PathStep] = []
  ) -> Value? {
    report(message, hint: hint, at: end, deeper: deeper)
    return nil
  }

  /// Notes what is wrong with a value that was read before.
  func reportAt(
    _ path: [PathStep], _ severity: Diagnostic.Severity, _ message: String, hint: String? = nil
  ) {
    note(Finding(severity: severity, path: path, end: .value, message: message, hint: hint))
  }

  private func note(_ finding: Finding) {
    if finding.severity == .error { errorCount += 1 }
    switch findings.count {
    case ..<Self.findingLimit: findings.append(finding)
    case Self.findingLimit:
      findings.append(
        Finding(
          severity: finding.severity, path: finding.path, end: finding.end,
          message: "more mistakes from here on; those above come first", hint: nil))
    default: break
    }
  }

  /// Notes that the value being read is no matcher.
  func report(_ error: MatcherError, in value: JSONValue) {
    let deeper = Array(error.pointer, in: value)
    switch error.code {
    case .unknownOperator(let name, let nearest?):
      report(
        "unknown operator \(name.quoted)", hint: "did you mean “\(nearest)”?", at: .key,
        deeper: deeper)
    case .unknownOperator, .misplaced, .mixedKeys:
      report(error.code.phrase, at: .key, deeper: deeper)
    default: report(error.code.phrase, deeper: deeper)
    }
  }

  /// Notes what is wrong with expectations.
  func report(_ errors: ExpectationErrors, in value: JSONValue) {
    for problem in errors.problems {
      report(
        problem.message, hint: problem.hint, at: problem.isKey ? .key : .value,
        deeper: Array(problem.pointer, in: value))
    }
  }

  /// Whether an error was found in the value being read, so that what follows from it need not be
  /// told as well.
  var hasErrorHere: Bool {
    findings.contains { $0.severity == .error && $0.path.starts(with: path) }
  }

  /// The files that were named since this was last asked.
  func takeReferences() -> [Reference] {
    defer { references = [] }
    return references
  }

  /// Notes that the value being read names another file.
  func refer(to file: String, _ kind: Reference.Kind) {
    references.append(Reference(kind: kind, path: path, file: file))
  }

  /// Takes over the tools that another file names on behalf of this one.
  func adopt(_ mentions: [(mention: ToolMention, place: Diagnostic)]) { adopted += mentions }

  /// Notes that the value being read names a tool, or some tools.
  func mention(_ mention: ToolMention) { mentions.append((path, mention)) }

  /// Notes that the value being read is of the wrong kind.
  func reportKind(of value: JSONValue, expected: String) {
    report("should be \(expected), not \(value.phrase)")
  }

  /// The same, where nothing can be made of it.
  func refuseKind<Value>(of value: JSONValue, expected: String) -> Value? {
    reportKind(of: value, expected: expected)
    return nil
  }

  /// The findings with their places in the file.
  func diagnostics(path file: String, in root: SourceRoot) -> [Diagnostic] {
    guard !findings.isEmpty else { return [] }
    let tree = root.tree
    return findings.map { finding in
      let place = tree.position(of: finding.path, end: finding.end)
      return Diagnostic(
        finding.severity, path: file, line: place.line, column: place.column,
        key: finding.path.dotted, message: finding.message, hint: finding.hint)
    }
  }
}

/// A tool named somewhere else than in the list of tools.
enum ToolMention: Sendable {
  /// By a model's script.
  case call(String)
  /// By a rule, for one tool or many.
  case rule(Glob)
  /// By a guard, which may speak of tools of the agents below.
  case guarded(Glob)
}

/// A key of a mapping: its name, its kind, and where its value goes.
struct Field<Target>: Sendable {
  let name: String
  let isRequired: Bool
  /// What the key says, in a sentence; editors show it.
  let note: String
  let schema: @Sendable () -> JSONValue
  let read: @Sendable (JSONValue, inout Target, FieldReader) -> Void

  /// The key of a whole file that names its schema; nothing is read from it.
  static var schemaOfFile: Field {
    Field("$schema", .text, "The JSON Schema of this file, for editors.") { _, _ in }
  }

  /// A key whose value goes to a property as it is.
  init<Value>(
    _ name: String, _ shape: Shape<Value>,
    _ property: any WritableKeyPath<Target, Value> & Sendable,
    required isRequired: Bool = false, _ note: String
  ) {
    self.init(name, shape, required: isRequired, note) { $0[keyPath: property] = $1 }
  }

  /// A key whose value goes to a property that may be absent.
  init<Value>(
    _ name: String, _ shape: Shape<Value>,
    _ property: any WritableKeyPath<Target, Value?> & Sendable,
    required isRequired: Bool = false, _ note: String
  ) {
    self.init(name, shape, required: isRequired, note) { $0[keyPath: property] = $1 }
  }

  /// A key whose value is put in its place by a closure.
  init<Value>(
    _ name: String, _ shape: Shape<Value>, required isRequired: Bool = false, _ note: String,
    set: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    self.name = name
    self.isRequired = isRequired
    self.note = note
    schema = shape.schema
    read = { value, target, reader in
      if let result = shape.read(value, reader) { set(&target, result) }
    }
  }
}

extension FieldReader {
  /// Reads a mapping key by key. Keys that the table lacks, required keys that the mapping lacks and
  /// values of the wrong kind are reported; the rest is read all the same.
  func read<Target>(_ object: JSONObject, into target: inout Target, _ fields: [Field<Target>]) {
    var found = 0
    var meant: [String] = []
    for member in object {
      // By index, because copying a field costs more than comparing its name.
      guard let index = fields.indices.first(where: { fields[$0].name.hasSameUTF8(as: member.key) })
      else {
        let missing = fields.lazy.filter { $0.isRequired && object[$0.name] == nil }.map(\.name)
        if let nearest = reportUnknown(
          member.key, known: fields.map(\.name), missing: Array(missing))
        {
          meant.append(nearest)
        }
        continue
      }
      if fields[index].isRequired { found += 1 }
      path.append(.key(member.key))
      fields[index].read(member.value, &target, self)
      path.removeLast()
    }
    guard found < fields.count(where: \.isRequired) else { return }
    // A key that is there with a slip in it need not be told as missing too.
    for field in fields
    where field.isRequired && object[field.name] == nil && !meant.contains(field.name) {
      report("the key “\(field.name)” is missing")
    }
  }

  /// Reports a key that nobody knows, and returns the one that was likely meant: the nearest that somebody does, or one
  /// that is missing and ends so, as `caseId` does for `id`.
  @discardableResult
  func reportUnknown(_ key: String, known: [String], missing: [String] = []) -> String? {
    let nearest =
      Spelling.nearest(to: key, among: known)
      ?? missing.first { key.utf8.count > 1 && $0.lowercased().hasSuffix(key.lowercased()) }
    report(
      "unknown key \(key.quoted)",
      hint: nearest.map { "did you mean “\($0)”?" }
        ?? "known here: \(known.joined(separator: ", "))",
      at: .key, deeper: [.key(key)])
    return nearest
  }
}
