import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import Synchronization
import TraceStorage

/// The runs that a suite has made, written down as each is judged, so that a suite that was interrupted need not make
/// them again.
///
/// A line names the log of a run that begins; another one, of a run that was judged, its log, its last seal, and a digest
/// of all that the run was made from: the case's input, person and conditions, the agent file with the files that it leads
/// to, seed, trial, and the program's version. Outcomes are not kept: a run that is taken from here is judged anew, by the
/// case as it is now.
public final class RunJournal: Sendable {
  private struct Entry: Sendable {
    var log: String
    var seal: String
  }

  private struct State {
    var entries: [String: Entry] = [:]
    /// The logs of runs that were begun in a suite that was interrupted, and did not come to an end there.
    var halfMade: Set<String> = []
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
    let (entries, halfMade) = continues ? Self.read(path) : ([:], [])
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (continues ? 0 : O_TRUNC)
    let file = open(path, flags, 0o666)
    state.withLock {
      $0.entries = entries
      $0.halfMade = halfMade
      $0.descriptor = file
    }
  }

  /// Whether runs are written down.
  public var isKept: Bool { state.withLock { $0.descriptor >= 0 } }

  /// How many runs of a suite that was interrupted are known, half-made ones among them.
  public var known: Int { state.withLock { $0.entries.count + $0.halfMade.count } }

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
    var known = PathSet()
    let reports = LogVerifier.verifyTree(path: entry.log, expectedDigest: seal, knowing: &known)
    guard reports.allSatisfy({ $0.status == .whole }) else { return nil }
    state.withLock { $0.reused += 1 }
    return entry.log
  }

  /// Writes down that a run begins. What an interrupted suite left of it, half made, is set aside first, with the logs
  /// of the runs below it: nothing is taken away, and a run of the same name has its place.
  func begins(_ log: String) {
    if state.withLock({ $0.halfMade.remove(log) }) != nil { Self.setAside(log) }
    append(["begun": .string(log)])
  }

  /// Writes down a run that was made and judged.
  func note(_ log: String, of evalCase: EvalCase, trial: Int) {
    let report = LogVerifier.verify(path: log)
    guard report.status == .whole, let seal = report.sealDigest else { return }
    append([
      "key": .string(key(of: evalCase, trial: trial)), "caseId": .string(evalCase.caseId),
      "log": .string(log), "seal": .string(seal.hex),
    ])
  }

  private func append(_ line: JSONValue) {
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
  private static func read(_ path: String) -> ([String: Entry], halfMade: Set<String>) {
    guard let bytes = try? WholeFile.read(path, limitBytes: limitBytes) else { return ([:], []) }
    var entries: [String: Entry] = [:]
    var begun: Set<String> = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let value = try? JSONValue(parsing: Array(line), options: .init(depthLimit: 4)) else {
        continue
      }
      if let log = value["begun"]?.stringValue { begun.insert(log) }
      guard
        let key = value["key"]?.stringValue, let log = value["log"]?.stringValue,
        let seal = value["seal"]?.stringValue
      else { continue }
      entries[key] = Entry(log: log, seal: seal)
    }
    return (entries, begun.subtracting(entries.values.map(\.log)))
  }

  // MARK: What is half made

  /// The most logs of one tree that are looked at.
  private static let treeLimit = 10_000

  /// Gives a log, and those of the runs below it, other names; one that another writer holds keeps its own.
  private static func setAside(_ path: String) {
    var (pending, seen): ([String], PathSet) = ([path], [])
    while let log = pending.popLast(), seen.count < treeLimit {
      guard seen.insert(log), (try? LogFiles.holdsEvents(log)) == true else { continue }
      pending += below(log)
      giveOtherName(to: log)
    }
  }

  /// The logs of the runs that a log says it began.
  private static func below(_ log: String) -> [String] {
    guard var reader = try? LogReader(path: log) else { return [] }
    let folder = RunFiles.folder(ofLog: log)
    var found: [String] = []
    while let event = try? reader.next() {
      guard event.type == .toolStarted || event.type == .taskStarted,
        let runId = (event.data["child"] ?? event.data["run"])?["runId"]?.stringValue
      else { continue }
      found.append("\(folder)/\(RunFiles.fileName(for: runId))\(LogFormat.suffix)")
    }
    return found
  }

  private static func giveOtherName(to log: String) {
    let stem = log.dropLast(LogFormat.suffix.count)
    for ending in ["", LogFormat.openSuffix] where access(log + ending, F_OK) == 0 {
      let free = (1...1_000).lazy.map { "\(stem).interrupted-\($0)\(LogFormat.suffix)\(ending)" }
        .first { access($0, F_OK) != 0 }
      if let free { _ = rename(log + ending, free) }
    }
  }
}
