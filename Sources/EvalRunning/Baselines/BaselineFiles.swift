import AgentTrace
public import EvalLoading
import FilePaths
import Glibc
public import TraceJudging
import TraceStorage

/// A baseline that cannot be used: it is neither as it was nor worse.
public struct BaselineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file, or the folder, as a person finds it.
  public var path: String
  /// The line at fault, from 1; `nil` where it has none.
  public var line: Int?
  /// What is wrong, and what to do.
  public var message: String

  public var description: String {
    path + (line.map { ":\($0)" } ?? "") + ": \(message)"
  }
}

/// The files that accepted cases are kept in: `accepted/<case>.txt` beside the case file.
public enum BaselineFiles {
  /// The name of the folder beside a case file.
  public static let folderName = "accepted"
  private static let suffix = ".txt"

  /// The path of the baseline of a case.
  public static func path(of evalCase: EvalCase) -> String {
    folder(besideFile: evalCase.path) + "/" + fileName(for: evalCase.caseId)
  }

  /// The folder of baselines for the cases of a file.
  static func folder(besideFile path: String) -> String {
    let folder = RunFiles.folder(ofLog: path)
    return folder == "." ? folderName : folder == "/" ? "/\(folderName)" : "\(folder)/\(folderName)"
  }

  /// The name of a case's file: case ids are data, so that it never leaves its folder, and two ids
  /// never have one name.
  static func fileName(for caseId: String) -> String { RunFiles.fileName(for: caseId) + suffix }

  // MARK: Reading

  /// Reads one baseline; `nil` where there is none.
  ///
  /// - Throws: ``BaselineError`` where there is something else than a whole baseline.
  public static func read(_ path: String) throws(BaselineError) -> AcceptedCase? {
    guard let bytes = try bytes(of: path, limit: AcceptedText.limitBytes) else { return nil }
    do throws(AcceptedTextError) { return try AcceptedText.parse(bytes) } catch {
      throw BaselineError(path: path, line: error.line, message: error.message)
    }
  }

  /// The baseline of a case from a file that should hold it; `nil` where there is none.
  static func read(_ path: String, for caseId: String) throws(BaselineError) -> AcceptedCase? {
    guard let accepted = try read(path) else { return nil }
    guard accepted.caseId.hasSameUTF8(as: caseId) else {
      throw BaselineError(
        path: path, line: 2,
        message: "the baseline of another case, “\(accepted.caseId.prefix(utf8Bytes: 200))”; "
          + "its name says it is of “\(caseId.prefix(utf8Bytes: 200))”")
    }
    return accepted
  }

  /// The bytes of a regular file; `nil` where there is none.
  static func bytes(of path: String, limit: Int) throws(BaselineError) -> [UInt8]? {
    do {
      return try WholeFile.read(path, limitBytes: limit)
    } catch {
      switch error {
      case .system(ENOENT), .system(ENOTDIR): return nil
      case .system: throw BaselineError(path: path, message: "cannot be read: \(error)")
      case .noRegularFile: throw BaselineError(path: path, message: "\(error)")
      case .tooLarge:
        throw BaselineError(path: path, line: 1, message: "larger than \(limit) bytes")
      }
    }
  }

  // MARK: Folders

  /// How deep folders are searched, and how many files of baselines are looked at.
  private static let depthLimit = 64
  private static let fileLimit = 1_000_000

  /// The paths of all baselines in folders named `accepted` below a folder, and in the folder itself if
  /// it holds some; sorted by their bytes. Hidden folders and symbolic links are passed over.
  static func all(below folder: String) throws(BaselineError) -> [String] {
    var found: [String] = []
    var pending = [(folder: folder, depth: 0, isBaselines: true)]
    while let (folder, depth, isBaselines) = pending.popLast() {
      guard let names = entryNames(in: folder) else {
        if depth == 0 {
          throw BaselineError(
            path: folder, message: "cannot be read: \(String(cString: strerror(errno)))")
        }
        continue
      }
      for name in names where !name.hasPrefix(".") {
        let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
        guard let status = linkStatus(path) else { continue }
        if status.isFolder, depth < depthLimit {
          pending.append((path, depth + 1, name == folderName))
        } else if isBaselines, name.hasSuffix(suffix), !status.isFolder {
          found.append(path)
        }
      }
      guard found.count <= fileLimit else {
        throw BaselineError(path: folder, message: "more than \(fileLimit) baselines")
      }
    }
    return found.sorted { $0.precedesByUTF8($1) }
  }

  /// The names of the baselines in one folder; none where there is no such folder.
  static func files(in folder: String) -> [String] {
    (entryNames(in: folder) ?? []).filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
      .sorted { $0.precedesByUTF8($1) }
  }

  // MARK: Writing

  /// Writes the baseline of a case, so that nobody ever reads half of it; makes its folder.
  ///
  /// - Throws: ``BaselineError`` where it cannot be written; what was there is there still.
  public static func write(_ bytes: [UInt8], to path: String) throws(BaselineError) {
    mkdir(RunFiles.folder(ofLog: path), 0o777)
    do {
      try WholeFile.replace(path, with: bytes)
    } catch {
      throw BaselineError(path: path, message: "cannot be written: \(error)")
    }
  }

  /// Removes the baseline of a case that is gone.
  public static func remove(_ path: String) throws(BaselineError) {
    guard unlink(path) == 0 else {
      throw BaselineError(
        path: path, message: "cannot be removed: \(String(cString: strerror(errno)))")
    }
  }
}
