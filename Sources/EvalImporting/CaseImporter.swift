public import AgentTrace
import FilePaths
import Glibc
public import TraceImporting
import TraceStorage

/// Turns other tools' eval sets into case files.
public struct CaseImporter: Sendable {
  /// What became of one file.
  public struct Report: Sendable, Hashable {
    /// The path of the file.
    public var source: String
    /// What it was read as; `nil` where none fits.
    public var format: CaseFormat?
    /// The case file that was written; `nil` where none was.
    public var cases: String?
    /// How many cases it holds.
    public var count = 0
    /// Entries of which no case was made: each with its place, and why.
    public var left: [String] = []
    /// What the source checks in those cases and no expectation does: kinds of checks, with how many there are.
    public var notConverted: [String: Int] = [:]
    /// Why there is none.
    public var error: ImportError?

    /// A report of a file that is not read yet, or cannot be.
    public init(source: String, format: CaseFormat? = nil, error: ImportError? = nil) {
      self.source = source
      self.format = format
      self.error = error
    }

    /// The wire form, one line of `agent-eval import --json`.
    public var json: JSONValue {
      if let error { return ["source": .string(source), "error": .string("\(error)")] }
      var object: JSONObject = [
        "source": .string(source), "cases": cases.map(JSONValue.string) ?? .null,
        "count": JSONValue(count),
      ]
      if !left.isEmpty { object["left"] = .array(left.map(JSONValue.string)) }
      if !notConverted.isEmpty {
        object["notConverted"] = .object(
          JSONObject(sortedKinds.map { ($0.key, JSONValue($0.value)) }))
      }
      return .object(object)
    }

    /// The report in a line.
    public var line: String {
      if let error { return "\(source): \(error)" }
      var line = "\(source) → \(cases ?? "")  \(Figures.count(count, "case"))"
      if let first = left.first {
        let entries = Figures.count(left.count, "entry", plural: "entries")
        line += "; \(entries) left out, the first \(first)"
      }
      if !notConverted.isEmpty {
        let kinds = sortedKinds.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        line += "; checks without a counterpart, kept in the notes alone: \(kinds)"
      }
      return line
    }

    private var sortedKinds: [(key: String, value: Int)] {
      notConverted.sorted { $0.key.precedesByUTF8($1.key) }
    }
  }

  /// What the files are; `nil` to tell it of each.
  public var format: CaseFormat?
  /// The folder for case files; made where it is missing.
  public var output: String

  /// Nothing is read or written yet.
  public init(format: CaseFormat?, output: String) {
    self.format = format
    self.output = output
  }

  /// Imports files, and the files of folders. Each becomes a file `*.cases.jsonl` below the output
  /// folder, with a case on each line; importing again gives the same bytes.
  ///
  /// A file that cannot be imported is told, and the others go on.
  public func run(paths: [String], report: (Report) -> Void) {
    for path in paths {
      let files: [SourceFiles.File]
      do throws(ImportError) {
        files = try SourceFiles.find(path, also: Self.endings)
      } catch {
        report(Report(source: path, error: error))
        continue
      }
      let isNamed = files.map(\.path) == [path]
      for file in files where isNamed || !isReadWithAnother(file) { report(imported(file)) }
    }
  }

  /// What a file that is no trace may be.
  public enum Finding: Sendable, Hashable {
    /// It has the shape of no eval set.
    case noEvalSet
    /// It is read with another one, which lies beside it.
    case readWithAnother
    /// What became of it.
    case imported(Report)
  }

  /// Imports a file that is no trace, where it is an eval set.
  ///
  /// - Parameter roots: the paths that were named: the file, or a folder above it, among others.
  public func importIfEvalSet(_ path: String, below roots: [String]) -> Finding {
    let below = roots.map { SourceFiles.joined($0, "") }.first(where: path.hasPrefix)
    let name =
      below.map { String(path.dropFirst($0.count)) } ?? SourceFiles.lastComponent(of: path)
    let file = SourceFiles.File(path: path, relativePath: name)
    guard let source = try? CaseSource(file), let format = CaseFormat.guess(source) else {
      return .noEvalSet
    }
    if below != nil, isReadWithAnother(file) { return .readWithAnother }
    return .imported(imported(file, source, as: format))
  }

  /// What names of eval sets end in, beside what those of traces do.
  private static let endings = [".yaml", ".yml", ".csv"]

  /// The files of a folder that may be eval sets though no trace is called so: promptfoo's configuration, by the
  /// names under which it looks for it, and tables with the columns of a dataset. None of a file.
  ///
  /// - Complexity: walks through the folder, and reads the first bytes of each table.
  public static func candidates(below path: String) -> [String] {
    guard isFolder(path), let files = try? SourceFiles.find(path, also: endings) else { return [] }
    return files.map(\.path).filter { file in
      let name = SourceFiles.lastComponent(of: file)
      return ["promptfooconfig.yaml", "promptfooconfig.yml"].contains(name)
        || name.lowercased().hasSuffix(".csv") && hasColumnsOfDataset(file)
    }
  }

  private static func hasColumnsOfDataset(_ path: String) -> Bool {
    let head = SourceFiles.head(path, count: 4096)
    guard let line = head.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }).first,
      let columns = try? CommaSeparated.records(of: line).first
    else { return false }
    return columns.contains("input") && columns.contains("target")
  }

  /// Possible answers are read with their questions, where those are there.
  private func isReadWithAnother(_ file: SourceFiles.File) -> Bool {
    let folder = CaseSource.folder(of: file.path)
    guard folder.hasSuffix("possible_answer/") else { return false }
    let name = SourceFiles.lastComponent(of: file.path)
    return fileStatus(folder.dropLast("possible_answer/".count) + name) != nil
  }

  private func imported(_ file: SourceFiles.File) -> Report {
    let source: CaseSource
    do throws(ImportError) {
      source = try CaseSource(file)
    } catch {
      return Report(source: file.path, format: format, error: error)
    }
    guard let format = format ?? CaseFormat.guess(source) else {
      return Report(source: file.path, error: ImportError(.unknownFormat))
    }
    return imported(file, source, as: format)
  }

  private func imported(
    _ file: SourceFiles.File, _ source: CaseSource, as format: CaseFormat
  ) -> Report {
    var told = Report(source: file.path, format: format)
    do throws(ImportError) {
      let set = try format.adapter.cases(in: source)
      told.left = set.left
      guard !set.cases.isEmpty else {
        throw ImportError(
          set.left.first.map { .noCases($0) } ?? .wrongShape(expected: "at least one eval case"))
      }
      (told.cases, told.count) = (try write(set.cases, of: file, as: format), set.cases.count)
      for kind in set.cases.flatMap(\.notConverted) { told.notConverted[kind, default: 0] += 1 }
    } catch {
      told.error = error
    }
    return told
  }

  private func write(
    _ cases: [ImportedCase], of file: SourceFiles.File, as format: CaseFormat
  ) throws(ImportError) -> String {
    var lines: [UInt8] = []
    for (index, made) in cases.enumerated() {
      let caseId = Self.caseId(file.relativePath, cases.count > 1 ? index + 1 : nil)
      let value = made.encoded(caseId: caseId, source: file.relativePath, format: format)
      lines += CanonicalJSON.encode(value, form: .plain)
      lines.append(UInt8(ascii: "\n"))
    }
    let folder = OutputFolder(path: output)
    let place = folder.caseFile(ofFile: file.relativePath)
    try folder.makeFolders(for: place)
    try write(lines, to: place)
    return place
  }

  /// The name of a case: the file's path without its ending, and a number where it holds several.
  private static func caseId(_ file: String, _ number: Int?) -> String {
    let ending = [".json", ".jsonl", ".yaml", ".yml", ".csv"].first { file.hasSuffix($0) }
    let stem = String(file.dropLast(ending?.count ?? 0))
    let name = String(
      String.UnicodeScalarView(
        stem.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "_" : $0 }))
    let id = name + (number.map { "-\($0)" } ?? "")
    if id.utf8.count <= 200, name.hasSameUTF8(as: stem) { return id }
    let digest = Digest(of: Array("\(stem) \(number ?? 0)".utf8)).hex.prefix(16)
    return "\(id.prefix(utf8Bytes: 180))-\(digest)"
  }

  private func write(_ bytes: [UInt8], to path: String) throws(ImportError) {
    do {
      try WholeFile.create(path, holding: bytes)
    } catch .system(EEXIST) {
      guard try SourceFiles.read(path) == bytes else {
        throw ImportError(.outputDiffers(log: path))
      }
    } catch {
      throw ImportError(.unwritable(log: path, "\(error)"))
    }
  }
}
