import AgentTrace
import TraceJudging
import TraceMatching

/// Reads case files; Docs/eval-case-format.md specifies them.
///
/// A file holds one case or many: a mapping, a list of cases, a mapping whose only key `cases` is such
/// a list, several YAML documents of any of these, or JSONL with a case on each line. A file found in
/// a folder counts as a case file if a root of it has `caseId`, `expected` or `cases`; any other is
/// passed over with a warning. A file that an argument names itself must hold cases.
public struct CaseLoader: Sendable {
  /// The cases that are sound, and everything that is wrong with the others.
  public struct Result: Sendable {
    /// In the order of the arguments; within a folder by path; within a file as they stand.
    public var cases: [EvalCase]
    /// Errors and warnings, sorted by file and line.
    public var diagnostics: [Diagnostic]
    /// The files that the cases rest on, those with what they share among them: each path once, sorted
    /// by its bytes.
    public var files: [String]
  }

  /// Loads the cases that files and folders hold.
  ///
  /// - Parameters:
  ///   - paths: Files, and folders that are searched for `*.yaml`, `*.yml`, `*.json` and `*.jsonl`.
  ///   - areRunsElsewhere: Whether recorded runs are found by case id, so that a case without
  ///     `recording` may do without `input` as well.
  ///   - limits: What each file may hold at most; one that holds more is refused.
  public static func load(
    _ paths: [String], areRunsElsewhere: Bool = false, limits: SourceLimits = SourceLimits()
  ) -> Result {
    let finder = FileFinder(paths)
    var batch = CaseBatch(areRunsElsewhere: areRunsElsewhere, limits: limits)
    batch.diagnostics = finder.diagnostics
    for file in finder.files {
      guard let document = batch.load(file.path) else { continue }
      if !file.isNamed,
        document.roots.lazy.compactMap({ FileKind(of: $0.value) }).first == .shared
      {
        batch.diagnostics += SharedPartsFinder.unused(document)
        continue
      }
      batch.diagnostics.append(
        Diagnostic(
          file.isNamed ? .error : .warning, path: file.path,
          message: file.isNamed ? "holds no case" : "passed over: it holds no case",
          hint: file.isNamed ? "a case has at least “caseId” and “expected”" : nil))
    }
    let files = batch.files
    let cases = EvalCase.expandingRecordings(of: batch.cases) { batch.diagnostics.append($0) }
    return Result(
      cases: cases, diagnostics: (batch.diagnostics + batch.sharedDiagnostics).sorted(),
      files: files)
  }
}

extension CaseLoader {
  /// Loads the case that one line of JSONL holds. Relative paths in it start from the folder of
  /// `path`, which need not be there.
  ///
  /// - Parameters:
  ///   - bytes: The line in UTF-8.
  ///   - number: Which line it is, for messages.
  ///   - path: The file that the line is of, as messages name it.
  ///   - limits: What the line may hold at most; one that holds more is refused.
  public static func load(
    line bytes: [UInt8], number: Int, path: String, limits: SourceLimits = SourceLimits()
  ) -> Result {
    var batch = CaseBatch(areRunsElsewhere: false, limits: limits)
    batch.load(line: bytes, number: number, path: path)
    return Result(
      cases: batch.cases, diagnostics: (batch.diagnostics + batch.sharedDiagnostics).sorted(),
      files: batch.files)
  }
}

/// Cases of several files that are loaded together.
struct CaseBatch {
  private(set) var cases: [EvalCase] = []
  var diagnostics: [Diagnostic] = []
  /// Looks at the files that a case names; says what is wrong with one. Nobody looks without it.
  var follow: ((FieldReader.Reference) -> String?)?

  /// For how many cases room is made at once.
  private static let reservedLimit = 16_384

  private let areRunsElsewhere: Bool
  private let limits: SourceLimits
  private var shared: SharedPartsFinder
  /// The columns of the table whose rows are being taken in.
  private var columns: Set<String> = []
  /// What is shared where the cases stand that are being taken in.
  private var parts = SharedParts()
  /// Where each case id stands.
  private var places: [CaseID: (path: String, line: Int)] = [:]

  init(areRunsElsewhere: Bool, limits: SourceLimits) {
    self.areRunsElsewhere = areRunsElsewhere
    self.limits = limits
    shared = SharedPartsFinder(limits: limits)
  }

  /// The files that cases were taken from and that they share, each once, sorted by bytes.
  var files: [String] {
    let paths = Set((cases.map(\.path) + shared.files).map { Array($0.utf8) })
    return paths.sorted { $0.lexicographicallyPrecedes($1) }.map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// What is wrong with files that cases share.
  var sharedDiagnostics: [Diagnostic] { shared.diagnostics }

  /// Looks at a file of defaults and sets as such.
  mutating func check(shared path: String) { _ = shared.sets(in: path) }

  /// Takes in the cases of a file that holds some.
  ///
  /// - Returns: The document where it holds none, for others to look at; `nil` where it was dealt
  ///   with, also by an error.
  mutating func load(_ path: String) -> SourceDocument? {
    if SourceDocument.Format(path: path) == .jsonLines { return loadLines(path) }
    let document = SourceDocument(path: path, limits: limits)
    guard document.roots.contains(where: { FileKind(of: $0.value) == .case }) else {
      diagnostics += document.diagnostics
      return document.diagnostics.hasErrors ? nil : document
    }
    diagnostics += document.diagnostics
    let folder = SourceFolder(ofFile: path)
    parts = shared.parts(of: folder.path)
    let known = KnownExpectations()
    for root in document.roots { take(root, path: path, FieldReader(folder: folder, known: known)) }
    return nil
  }

  /// Takes in the case on a line that is no part of a file.
  mutating func load(line bytes: [UInt8], number: Int, path: String) {
    let folder = SourceFolder(ofFile: path)
    parts = shared.parts(of: folder.path)
    do {
      let root = try SourceRoot(json: bytes, path: path, firstLine: number, limits: limits)
      let reader = FieldReader(folder: folder)
      take(root.value, TextPosition(line: number, column: 1), reader, path: path)
      diagnostics += reader.diagnostics(path: path, in: root)
    } catch {
      diagnostics.append(error)
    }
  }

  private mutating func loadLines(_ path: String) -> SourceDocument? {
    let folder = SourceFolder(ofFile: path)
    parts = shared.parts(of: folder.path)
    let known = KnownExpectations()
    let limit = diagnostics.count + FieldReader.findingLimit
    var holdsCases: Bool?
    do {
      try JSONLines.read(path, limits: limits) { line in
        if holdsCases == true, let plain = plainCase(on: line, of: path, in: folder, known) {
          cases.append(plain)
          return true
        }
        do throws(Diagnostic) {
          let root = try SourceRoot(
            json: line.bytes, path: path, firstLine: line.number, limits: limits)
          if holdsCases == nil { holdsCases = FileKind(of: root.value) == .case }
          guard holdsCases == true else { return false }
          let reader = FieldReader(folder: folder, known: known)
          let (count, found) = (cases.count, diagnostics.count)
          take(root.value, TextPosition(line: line.number, column: 1), reader, path: path)
          diagnostics += reader.diagnostics(path: path, in: root)
          if cases.count == count + 1, diagnostics.count == found {
            if count == 0 { cases.reserveCapacity(min(line.likesInFile, Self.reservedLimit)) }
            remember(cases[count].expected, of: line, in: known)
          }
        } catch {
          holdsCases = holdsCases ?? true
          diagnostics.append(error)
        }
        guard diagnostics.count > limit else { return true }
        diagnostics.append(
          Diagnostic(
            .error, path: path, line: line.number,
            message: "too many mistakes; the lines below were not read"))
        return false
      }
    } catch {
      diagnostics.append(error)
      return nil
    }
    return holdsCases == true ? nil : SourceDocument(empty: path)
  }

  /// A case that expects, word for word, what the one on the line before it does; `nil` where it is to be
  /// read the plain way.
  private mutating func plainCase(
    on line: JSONLines.Line, of path: String, in folder: SourceFolder, _ known: KnownExpectations
  ) -> EvalCase? {
    guard parts.isEmpty, follow == nil else { return nil }
    let found = line.bytes.withUnsafeBufferPointer { bytes -> EvalCase? in
      guard let plain = PlainCaseLine(bytes), let written = plain.expected,
        let expected = known.expectations(
          written: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[written])),
        let caseId = plain.caseId.flatMap({ String(validating: bytes[$0], as: UTF8.self) }),
        EvalCase.isUsable(caseId: caseId)
      else { return nil }
      var evalCase = EvalCase(
        caseId: caseId, expected: expected, path: path,
        position: TextPosition(line: line.number, column: 1))
      if let range = plain.input {
        guard let input = String(validating: bytes[range], as: UTF8.self) else { return nil }
        evalCase.input = input
      }
      if let range = plain.recording {
        guard !range.isEmpty, let file = String(validating: bytes[range], as: UTF8.self) else {
          return nil
        }
        evalCase.recording = folder.resolve(file)
      }
      return evalCase
    }
    guard let evalCase = found,
      !evalCase.input.isEmpty || evalCase.recording != nil || areRunsElsewhere
    else { return nil }
    let id = CaseID(text: evalCase.caseId)
    if let first = places.updateValue((path, line.number), forKey: id) {
      // The plain way says where the other one stands.
      places[id] = first
      return nil
    }
    return evalCase
  }

  /// Keeps what the case on a line expects, for the next one.
  private func remember(
    _ expected: Expectations, of line: JSONLines.Line, in known: KnownExpectations
  ) {
    guard parts.isEmpty else { return }
    line.bytes.withUnsafeBufferPointer { bytes in
      guard let written = PlainCaseLine(bytes)?.expected else { return }
      known.add(expected, written: Array(bytes[written]))
    }
  }

  /// Takes in the case or the cases of one root.
  private mutating func take(_ root: SourceRoot, path: String, _ reader: FieldReader) {
    switch root.value {
    case .object(let object) where FileKind.listOfCases(in: object) != nil:
      takeWrapped(object, root.tree(levels: 2), reader, path: path)
    case .object: take(root.value, root.tree(levels: 0).start, reader, path: path)
    case .array(let elements): take(elements, root.tree(levels: 1), reader, path: path)
    default: reader.reportKind(of: root.value, expected: "a case, or a list of cases")
    }
    diagnostics += reader.diagnostics(path: path, in: root)
    // A policy is met through each case that names it.
    for found in reader.attached where !diagnostics.contains(found) { diagnostics.append(found) }
  }

  /// Takes in a list of cases.
  private mutating func take(
    _ elements: [JSONValue], _ tree: PositionTree, _ reader: FieldReader, path: String
  ) {
    if elements.isEmpty { reader.report("should not be empty") }
    for (index, element) in elements.enumerated() {
      let start = tree.elements.indices.contains(index) ? tree.elements[index].start : tree.start
      reader.within(.index(index)) { take(element, start, reader, path: path) }
    }
  }

  /// Takes in a root of the form `cases: […]`, with the sets and defaults beside them.
  private mutating func takeWrapped(
    _ object: JSONObject, _ tree: PositionTree, _ reader: FieldReader, path: String
  ) {
    let outer = parts
    defer { parts = outer }
    var own = object
    for key in object.keys where !["defaults", "sets"].contains(key) { own[key] = nil }
    var draft = SharedParts.Draft()
    reader.read(own, into: &draft, SharedParts.draftFields)
    _ = reader.takeReferences()
    parts = SharedParts(draft).over(outer)
    for member in object {
      switch (member.key, member.value) {
      case ("$schema", .string), ("defaults", _), ("sets", _): break
      case ("cases", .array(let elements)):
        let list = tree.members.first { $0.name == "cases" }?.value ?? tree
        reader.within(.key("cases")) { take(elements, list, reader, path: path) }
      case ("cases", let other):
        reader.within(.key("cases")) { reader.reportKind(of: other, expected: "a list of cases") }
      default: reader.reportUnknown(member.key, known: ["cases", "defaults", "sets"])
      }
    }
  }

  /// Takes in one case, to which the reader has gone.
  private mutating func take(
    _ value: JSONValue, _ position: TextPosition, _ reader: FieldReader, path: String
  ) {
    guard case .object(let object) = value else {
      reader.reportKind(of: value, expected: "a case, a mapping with “caseId” and “expected”")
      return
    }
    guard let table = object["table"] else {
      return take(object, position, reader, path: path)
    }
    guard let table = CaseTable(table, reader) else { return }
    columns = table.columns
    table.expand(object, reader) { take($0, row: $1, position, reader, path: path) }
    columns = []
  }

  /// Takes in one case whose values all stand there.
  ///
  /// - Parameter row: what the row of its table says of its run.
  private mutating func take(
    _ object: JSONObject, row: CaseConditions = CaseConditions(), _ position: TextPosition,
    _ reader: FieldReader, path: String
  ) {
    let errorsBefore = reader.errorCount
    var draft = CaseFile.Draft()
    let includes = object["include"] != nil || !parts.defaults.include.isEmpty
    reader.read(
      object, into: &draft,
      CaseFile.fields(isRoot: reader.path.isEmpty, mayLackExpected: includes))
    if object["input"] == nil, let input = parts.defaults.input { draft.input = input }
    // What a case says is run itself stands in place of what all are run with.
    if draft.pipeline == nil { draft.agent = draft.agent ?? parts.defaults.agent }
    draft.human = draft.human ?? parts.defaults.human
    draft.conditions = row.over(draft.conditions).over(parts.defaults.conditions)
    draft.judgements = draft.judgements ?? parts.defaults.judgements
    draft.skip = draft.skip ?? parts.defaults.skip
    draft.tags = parts.defaults.tags + draft.tags
    let expected = expectations(draft, reader)
    check(draft, reader, path: path, line: position.line)
    TrialFile.fill(&draft, from: parts.defaults)
    let plan = TrialFile.plan(of: draft, reader)
    for reference in reader.takeReferences() {
      if let fault = follow?(reference) { reader.reportAt(reference.path, .error, fault) }
    }
    guard reader.errorCount == errorsBefore, let expected else { return }
    var evalCase = EvalCase(
      caseId: draft.caseId, input: draft.input, recording: draft.recording,
      human: draft.human?.person, tags: draft.tags, skip: draft.skip, expected: expected,
      path: path,
      position: position)
    switch draft.agent {
    case .file(let path)?: evalCase.agent = path
    case .written(let agent)?: evalCase.writtenAgent = agent
    case nil: break
    }
    evalCase.pipeline = draft.pipeline
    evalCase.pipelineInput = draft.pipelineInput
    evalCase.humanSource = draft.human?.source
    evalCase.conditions = draft.conditions
    evalCase.filter = draft.filter
    evalCase.isStrict = draft.isStrict ?? parts.defaults.isStrict ?? false
    evalCase.judgements = draft.judgements
    evalCase.plan = plan
    evalCase.cluster = draft.cluster
    evalCase.tolerances = parts.defaults.tolerances + draft.tolerances
    cases.append(evalCase)
  }

  /// What a case expects by itself and by the sets that it includes; `nil` where that has mistakes.
  private mutating func expectations(
    _ draft: CaseFile.Draft, _ reader: FieldReader
  ) -> Expectations? {
    let includes = parts.defaults.include + draft.include
    guard !includes.isEmpty else { return draft.expected }
    var whole = draft.expected ?? Expectations()
    var isSound = true
    for reference in includes {
      let source = reference.file.map { shared.sets(in: $0) } ?? parts
      guard let set = source.set(named: reference.name) else {
        let nearest = Spelling.nearest(to: reference.name, among: source.setNames)
        let place = reference.file.map { " in \($0)" } ?? ""
        reader.report(
          "there is no set \(reference.name.quoted)\(place)",
          hint: nearest.map { "did you mean “\($0)”?" }
            ?? "write it under “sets”, beside the cases or in a defaults.yaml",
          deeper: [.key("include")])
        isSound = false
        continue
      }
      guard let set else {
        isSound = false  // Its mistakes are told where it stands.
        continue
      }
      if let column = source.columns(columns, inSetNamed: reference.name).first {
        reader.report(
          "the set \(reference.name.quoted) speaks of ${\(column)}, which is not filled in there",
          hint: "write that expectation in the case itself", deeper: [.key("include")])
        isSound = false
      }
      whole.include(set, as: reference.name, reference.severity)
    }
    return isSound ? whole : nil
  }

  /// What no single key can tell.
  private mutating func check(
    _ draft: CaseFile.Draft, _ reader: FieldReader, path: String, line: Int
  ) {
    if !draft.caseId.isEmpty {
      if let first = places.updateValue((path, line), forKey: CaseID(text: draft.caseId)) {
        places[CaseID(text: draft.caseId)] = first
        reader.report(
          "the case id \(draft.caseId.quoted) is there already, at \(first.path):\(first.line)",
          deeper: [.key("caseId")])
      }
    }
    checkPipeline(draft, reader)
    let hasAgent = draft.agent != nil || draft.pipeline != nil
    if draft.filter != nil, draft.recording != nil || hasAgent {
      reader.report(
        "“where” chooses among the runs of `agent-eval run --on`; a case with a recording or an agent has its own",
        deeper: [.key("where")])
    }
    if draft.filter != nil, !areRunsElsewhere, draft.recording == nil, !hasAgent {
      return reader.report(
        "“where” chooses among runs that are given with `agent-eval run --on`",
        deeper: [.key("where")])
    }
    guard draft.input.isEmpty, draft.recording == nil, draft.pipeline == nil else { return }
    if draft.agent != nil {
      reader.report("“input” is missing or empty", hint: "it says what the agent is asked to do")
    } else if !areRunsElsewhere {
      reader.report(
        "the case names no run to judge",
        hint:
          "add a “recording”, or an “agent” and its “input”, or give recorded runs with --on PATH")
    }
  }

  /// What a case of a pipeline may say, and one of an agent may not, and the other way round.
  private func checkPipeline(_ draft: CaseFile.Draft, _ reader: FieldReader) {
    guard draft.pipeline != nil else {
      if draft.pipelineInput != nil, draft.recording == nil {
        reader.report(
          "an input that is no text is what a pipeline is given, and the case names none",
          hint: "pipeline: FILE", deeper: [.key("input")])
      }
      return
    }
    if draft.agent != nil {
      reader.report(
        "a case runs an agent or a pipeline, not both", deeper: [.key("pipeline")])
    }
    var others = draft.conditions.source.keys.filter { $0 != "seed" }
    if draft.human != nil { others.append("human") }
    for key in others {
      reader.report(
        "\(key.quoted) has no effect on a pipeline, whose agents say it in their own files",
        hint: "leave it out of the case, its table and the defaults in whose reach it stands",
        deeper: [.key(key)])
    }
  }
}

/// The id of a case. Ids that are equal to Swift may differ in their bytes.
private struct CaseID: Hashable {
  var text: String

  static func == (left: CaseID, right: CaseID) -> Bool { left.text.hasSameUTF8(as: right.text) }

  // Texts of the same bytes have the same hash.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
