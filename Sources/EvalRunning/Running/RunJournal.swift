import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import Synchronization
import TraceStorage

/// The runs that a suite has made, written down as each is judged, so that a suite that was interrupted need not make
/// them again.
///
/// A line names a run's log, its last seal, and a digest of all that the run was made from: the case's input, person and
/// conditions, the agent file with the files that it leads to, seed, trial, and the program's version. Outcomes are not
/// kept: a run that is taken from here is judged anew, by the case as it is now.
public final class RunJournal: Sendable {
  private struct Entry: Sendable {
    var log: String
    var seal: String
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var digests: [String: String] = [:]
    var descriptor: Int32 = -1
    var reused = 0
  }

  /// The file.
  public let path: String
  private let seed: Int?
  private let program: String
  /// The files that cases share; a change in one of them makes every run anew.
  private let shared: [String]
  private let state = Mutex(State())

  /// The file of a suite: one for each set of paths.
  public static func path(ofSuite paths: [String]) -> String {
    let digest = Digest(of: JSONValue(paths.sorted { $0.precedesByUTF8($1) }))
    return ".agent-eval/unfinished/\(digest.hex.prefix(16)).jsonl"
  }

  /// Begins a journal, anew unless what was left behind is to be taken up.
  ///
  /// A file that cannot be written is no reason to make no runs: then nothing is kept; see ``isKept``.
  ///
  /// - Parameters:
  ///   - continues: whether runs of a suite that was interrupted are taken from the file.
  ///   - shared: the files that the cases share.
  public init(path: String, continues: Bool, seed: Int?, program: String, shared: [String]) {
    self.path = path
    self.seed = seed
    self.program = program
    self.shared = shared
    WholeFile.makeFolders(for: path)
    let entries = continues ? Self.read(path) : [:]
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (continues ? 0 : O_TRUNC)
    let file = open(path, flags, 0o666)
    state.withLock {
      $0.entries = entries
      $0.descriptor = file
    }
  }

  /// Whether runs are written down.
  public var isKept: Bool { state.withLock { $0.descriptor >= 0 } }

  /// How many runs of a suite that was interrupted are known.
  public var known: Int { state.withLock { $0.entries.count } }

  /// How many of them were not made again.
  public var reused: Int { state.withLock { $0.reused } }

  /// Ends it. The journal of a suite that came to its end is removed: it has nothing to be taken up.
  public func end(isWhole: Bool) {
    let file = state.withLock { state in
      defer { state.descriptor = -1 }
      return state.descriptor
    }
    guard file >= 0 else { return }
    close(file)
    if isWhole { unlink(path) }
  }

  // MARK: Runs

  /// The log of a run that was made from the same, closed, whole and as it was then; `nil` where there is none.
  func finishedRun(of evalCase: EvalCase, trial: Int) -> String? {
    let key = key(of: evalCase, trial: trial)
    guard let entry = state.withLock({ $0.entries[key] }), let seal = Digest(hex: entry.seal) else {
      return nil
    }
    var known: Set<String> = []
    let reports = LogVerifier.verifyTree(path: entry.log, expectedDigest: seal, knowing: &known)
    guard reports.allSatisfy({ $0.status == .whole }) else { return nil }
    state.withLock { $0.reused += 1 }
    return entry.log
  }

  /// Writes down a run that was made and judged.
  func note(_ log: String, of evalCase: EvalCase, trial: Int) {
    let report = LogVerifier.verify(path: log)
    guard report.status == .whole, let seal = report.sealDigest else { return }
    let line: JSONValue = [
      "key": .string(key(of: evalCase, trial: trial)), "caseId": .string(evalCase.caseId),
      "log": .string(log), "seal": .string(seal.hex),
    ]
    let bytes = CanonicalJSON.encode(line, form: .plain) + [UInt8(ascii: "\n")]
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      // One write for a line: a process that is killed leaves whole lines and perhaps a torn one.
      let count = bytes.withUnsafeBytes { write(state.descriptor, $0.baseAddress, $0.count) }
      if count != bytes.count {
        close(state.descriptor)
        state.descriptor = -1
      }
    }
  }

  // MARK: What a run is made from

  private func key(of evalCase: EvalCase, trial: Int) -> String {
    var files = shared
    if let agent = evalCase.agent {
      files += WatchList.files(ofAgent: agent)
    } else if let pipeline = evalCase.pipeline {
      files += WatchList.files(ofPipeline: pipeline)
    } else {
      // The agent stands in the case itself.
      files += [evalCase.path] + WatchList.files(ofWrittenAgent: evalCase)
    }
    return Digest(
      of: [
        "program": .string(program), "caseId": .string(evalCase.caseId),
        "trial": JSONValue(trial), "seed": seed.map { JSONValue($0) } ?? .null,
        "case": evalCase.runSource,
        "files": .array(files.map { [.string($0), .string(digest(of: $0))] }),
      ]
    ).hex
  }

  /// The digest of a file's bytes, looked up once; empty where it cannot be read.
  private func digest(of path: String) -> String {
    if let known = state.withLock({ $0.digests[path] }) { return known }
    let digest = (try? WholeFile.read(path, limitBytes: 1 << 30)).map { Digest(of: $0).hex } ?? ""
    state.withLock { $0.digests[path] = digest }
    return digest
  }

  // MARK: Reading

  /// The most bytes of a journal.
  private static let limitBytes = 256 << 20

  /// What is in a journal. Lines that are not of its form say nothing, as one that was torn off.
  private static func read(_ path: String) -> [String: Entry] {
    guard let bytes = try? WholeFile.read(path, limitBytes: limitBytes) else { return [:] }
    var entries: [String: Entry] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let value = try? JSONValue(parsing: Array(line), options: .init(depthLimit: 4)),
        let key = value["key"]?.stringValue, let log = value["log"]?.stringValue,
        let seal = value["seal"]?.stringValue
      else { continue }
      entries[key] = Entry(log: log, seal: seal)
    }
    return entries
  }
}
