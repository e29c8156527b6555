public import AgentTrace
import Glibc
import TraceStorage

/// Turns other tools' eval sets into case files.
public struct CaseImporter: Sendable {
  /// What eval sets can be read.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// Eval sets of Google's Agent Development Kit.
    case adk
  }

  /// What became of one file.
  public struct Report: Sendable, Hashable {
    /// The path of the file.
    public var source: String
    /// The case file that was written; `nil` where none was.
    public var cases: String?
    /// How many cases it holds.
    public var count = 0
    /// Why there is none.
    public var error: ImportError?

    /// The wire form, one line of `agent-eval import adk --json`.
    public var json: JSONValue {
      if let error { return ["source": .string(source), "error": .string("\(error)")] }
      return [
        "source": .string(source), "cases": cases.map(JSONValue.string) ?? .null,
        "count": JSONValue(count),
      ]
    }

    /// The report in a line.
    public var line: String {
      if let error { return "\(source): \(error)" }
      return "\(source) → \(cases ?? "")  \(Figures.count(count, "case"))"
    }
  }

  /// What the files are.
  public var format: Format
  /// The folder for case files; made where it is missing.
  public var output: String

  /// Nothing is read or written yet.
  public init(format: Format, output: String) {
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
        files = try SourceFiles.find(path)
      } catch {
        report(Report(source: path, error: error))
        continue
      }
      for file in files {
        var told = Report(source: file.path)
        do throws(ImportError) {
          (told.cases, told.count) = try importFile(file)
        } catch {
          told.error = error
        }
        report(told)
      }
    }
  }

  private func importFile(_ file: SourceFiles.File) throws(ImportError) -> (String, Int) {
    let bytes = try SourceFiles.read(file.path)
    guard case .value(let value) = try SourceDocument(parsing: bytes, name: file.relativePath)
    else { throw ImportError(.wrongShape(expected: "one JSON value")) }
    let cases = try EvalSets.cases(in: value)
    guard !cases.isEmpty else { throw ImportError(.wrongShape(expected: "at least one eval case")) }
    var lines: [UInt8] = []
    for (index, evalCase) in cases.enumerated() {
      let caseId = Self.caseId(file.relativePath, cases.count > 1 ? index + 1 : nil)
      lines += CanonicalJSON.encode(
        evalCase.encoded(caseId: caseId, source: file.relativePath), form: .plain)
      lines.append(UInt8(ascii: "\n"))
    }
    let folder = OutputFolder(path: output)
    let place = folder.caseFile(ofFile: file.relativePath)
    try folder.makeFolders(for: place)
    try write(lines, to: place)
    return (place, cases.count)
  }

  /// The name of a case: the file's path without its ending, and a number where it holds several.
  private static func caseId(_ file: String, _ number: Int?) -> String {
    let stem = file.hasSuffix(".json") ? String(file.dropLast(5)) : file
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
