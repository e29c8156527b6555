import AgentTrace
import FilePaths
import Glibc
import TraceStorage

/// Foreign traces as logs in a folder that is kept, so that each source is read once: its entry is named after the
/// bytes of its files, what they are called, and the version of the program, so that nothing in it ever grows stale.
///
/// An entry is a folder with the logs, and `runs.json`, which says what became of each run. It is there only once it
/// is whole. The folder can be taken away at any time.
public struct ImportCache: Sendable {
  /// One run of a source.
  public struct Run: Sendable, Hashable {
    /// The path that was named, joined with the place below it.
    public var source: String
    /// The source below the path that was named, with its ending, and the number of the run where it holds many.
    public var name: String
    /// The path of its log, or why there is none.
    public var log: Result<String, Fault>
  }

  /// Why there is no log of a run, in words.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public var description: String
  }

  /// Where entries are kept, unless somebody says else.
  public static let defaultFolder = ".agent-eval/imports"

  private let folder: String
  private let version: String

  /// Touches no file before `runs(below:found:)`.
  ///
  /// - Parameters:
  ///   - folder: where entries are kept; it need not be there yet.
  ///   - version: that of the program: another may read a source otherwise.
  public init(folder: String, version: String) {
    self.folder = folder
    self.version = version
  }

  /// The runs of all sources below a path, in the order of their names' UTF-8; one source is held in memory at a time.
  ///
  /// - Parameters:
  ///   - path: one source, or a folder that is searched for them.
  ///   - isTaken: whether a file is somebody else's business.
  ///   - found: told of each run.
  public func runs(
    below path: String, isTaken: (String) -> Bool = { _ in false }, found: (Run) -> Void
  ) {
    let files: [SourceFiles.File]
    do throws(ImportError) {
      files = try SourceFiles.find(path).filter { !isTaken($0.path) }
    } catch {
      // That nothing below a folder is a trace is for whoever looks at all that is there.
      if error.code == .nothingToImport { return }
      let name = path.split(separator: "/").last.map(String.init) ?? path
      return found(
        Run(source: path, name: name, log: .failure(Fault(description: "\(error)"))))
    }
    var groups = SourceGroup.groups(of: files, below: path)
    BatchFiles.join(&groups)
    for group in groups where !group.files.isEmpty {
      do throws(Fault) {
        for run in try runs(of: group) { found(run) }
      } catch {
        found(Run(source: group.path, name: group.name, log: .failure(error)))
      }
    }
  }

  private func runs(of group: SourceGroup) throws(Fault) -> [Run] {
    let key: String
    do throws(ImportError) {
      key = try group.key(version: version)
    } catch {
      throw Fault(description: "\(error)")
    }
    let entry = "\(folder)/\(key)"
    if let told = try read(entry) { return told.map { run(of: group, $0, in: entry) } }
    let draft = "\(folder)/.\(key).\(getpid())"
    WholeFile.makeFolders(for: draft + "/")
    let made = try make(group, in: draft)
    if rename(draft, entry) != 0 {
      let reason = errno
      remove(draft)
      // Somebody else was faster.
      guard reason == EEXIST || reason == ENOTEMPTY, let told = try read(entry) else {
        throw Fault(
          description: "\(entry) cannot be written: \(String(cString: strerror(reason)))")
      }
      return told.map { run(of: group, $0, in: entry) }
    }
    return made.map { run(of: group, $0, in: entry) }
  }

  /// What became of one run, as an entry says it.
  private struct Told {
    var index: Int?
    /// The log's path below the entry.
    var log: String?
    var error: String?

    var json: JSONValue {
      .object(
        JSONObject([
          ("index", index.map { JSONValue($0) } ?? .null),
          ("log", log.map(JSONValue.string) ?? .null),
          ("error", error.map(JSONValue.string) ?? .null),
        ]))
    }

    init(index: Int?, log: String?, error: String?) {
      self.index = index
      self.log = log
      self.error = error
    }

    /// `nil` for anything else; no path that leads out of the entry is one.
    init?(_ json: JSONValue) {
      index = json["index"]?.intValue
      log = json["log"]?.stringValue
      error = json["error"]?.stringValue
      guard (log == nil) != (error == nil) else { return nil }
      if let log, log.hasPrefix("/") || log.split(separator: "/").contains("..") { return nil }
    }
  }

  private func run(of group: SourceGroup, _ told: Told, in entry: String) -> Run {
    Run(
      source: group.path, name: told.index.map { "\(group.name)#\($0)" } ?? group.name,
      log: told.log.map { .success("\(entry)/\($0)") }
        ?? .failure(Fault(description: told.error ?? "")))
  }

  private static let listName = "runs.json"

  /// What an entry says; `nil` where there is none.
  private func read(_ entry: String) throws(Fault) -> [Told]? {
    guard fileStatus(entry) != nil else { return nil }
    guard
      let bytes = try? WholeFile.read("\(entry)/\(Self.listName)", limitBytes: 1 << 30),
      let list = try? JSONValue(parsing: bytes).arrayValue
    else { throw Self.damaged(entry) }
    var told: [Told] = []
    for value in list {
      guard let one = Told(value) else { throw Self.damaged(entry) }
      told.append(one)
    }
    return told
  }

  private static func damaged(_ entry: String) -> Fault {
    Fault(description: "what is kept of it is damaged; remove \(entry), and it is read again")
  }

  private func make(_ group: SourceGroup, in draft: String) throws(Fault) -> [Told] {
    var made: [Told] = []
    var passing: ImportError?
    Importer(format: nil, output: draft).importGroup(group) { report in
      switch report.outcome {
      case .imported(let log, _):
        made.append(
          Told(index: report.index, log: String(log.dropFirst(draft.count + 1)), error: nil))
      case .failed(let error):
        if error.isOfTheSystem { passing = passing ?? error }
        made.append(Told(index: report.index, log: nil, error: "\(error)"))
      }
    }
    if let passing {
      // A disk is not full for ever: kept, it would be told of this source as long as the folder is there.
      remove(draft)
      guard case .unwritable(_, let reason) = passing.code else {
        throw Fault(description: "\(passing)")
      }
      throw unkept(reason)
    }
    do throws(WholeFile.Failure) {
      try WholeFile.create(
        "\(draft)/\(Self.listName)",
        holding: CanonicalJSON.encode(.array(made.map(\.json)), form: .plain))
    } catch {
      remove(draft)
      throw unkept("\(error)")
    }
    return made
  }

  /// Why a source is not read though nothing is wrong with it: what was read cannot be kept.
  private func unkept(_ reason: String) -> Fault {
    let cause = reason.hasPrefix(folder) ? reason : "\(folder): \(reason)"
    return Fault(
      description:
        "read, but cannot be kept as a log (name another folder with --import-cache): \(cause)")
  }

  /// Takes a draft away that nobody needs, with folders of logs that were never written.
  private func remove(_ path: String) {
    for name in entryNames(in: path) ?? [] where name != "." && name != ".." {
      let below = "\(path)/\(name)"
      if linkStatus(below)?.isFolder == true { remove(below) } else { unlink(below) }
    }
    rmdir(path)
  }
}

extension ImportError {
  /// Whether the system is at fault, which may do another time what it does not do now, and not the source.
  fileprivate var isOfTheSystem: Bool {
    switch code {
    case .unreadable, .unwritable: true
    default: false
    }
  }
}

extension SourceGroup {
  /// What an entry of a cache is named after.
  ///
  /// - Throws: ``ImportError`` where a file cannot be read.
  func key(version: String) throws(ImportError) -> String {
    var digest = DigestBuilder()
    digest.update(CanonicalJSON.encode([.string(version), .string(name)]))
    for file in files {
      digest.update(CanonicalJSON.encode(.string(file.relativePath)))
      digest.update(Array(Digest(of: try SourceFiles.read(file.path)).bytes))
      let headers = SourceFiles.stem(of: file.path) + SourceFiles.headersEnding
      if headers != file.path, let bytes = try? SourceFiles.read(headers) {
        digest.update(Array(Digest(of: bytes).bytes))
      }
    }
    return String(digest.digest().hex.prefix(40))
  }
}
