import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import Synchronization
import TraceJudging

/// What did not pass in the last run of a suite in this folder: a small file, written anew at the end of each.
struct LastRun: Sendable {
  /// A case that did not pass.
  struct Failed: Sendable {
    var caseId: String
    /// The log that shows it; `nil` where no run was judged.
    var log: String?
    /// Whether nothing failed either: something could not be verified, or was not run.
    var isOpen = false
  }

  var failed: [Failed] = []

  static let path = ".agent-eval/last-run.json"
  private static let schema = "agent-eval/last-run/1"
  /// Failed cases that are kept; more make the file unusable for `--last-failed`, which is told.
  private static let limit = 100_000

  /// A file that is there and no such file.
  struct Unreadable: Error, CustomStringConvertible {
    var reason: String
    var description: String { "\(LastRun.path): \(reason); agent-eval run writes it anew" }
  }

  /// What was kept; `nil` where nothing was.
  static func read() throws -> LastRun? {
    guard access(path, F_OK) == 0 else { return nil }
    let bytes = try InputFiles.all(of: path, limitBytes: 64 << 20)
    guard let value = try? JSONValue(parsing: bytes, options: .init(depthLimit: 8)),
      value["schema"]?.stringValue == schema, let entries = value["failed"]?.arrayValue
    else { throw Unreadable(reason: "not what agent-eval writes") }
    guard value["isWhole"] == true else {
      throw Unreadable(reason: "too many cases failed to name them")
    }
    return LastRun(
      failed: entries.compactMap { entry in
        entry["caseId"]?.stringValue.map {
          Failed(
            caseId: $0, log: entry["log"]?.stringValue, isOpen: entry["inconclusive"] == true)
        }
      })
  }

  /// Takes in results as they come, from any task.
  final class Collector: Sendable {
    private let isPart: Bool
    private let state = Mutex((failed: [Failed](), judged: Set<[UInt8]>()))

    /// - Parameter isPart: whether only some of the cases are judged.
    init(isPart: Bool) { self.isPart = isPart }

    func take(_ result: CaseResult) {
      // Where results are compared with what was accepted, what has become worse has failed as well.
      let said = [result.outcome, result.standing]
      let isListed = said.contains { $0 != .pass }
      guard isPart || isListed else { return }
      let log = (result.trials.first { $0.outcome == .fail } ?? result.trials.first)?.log
      state.withLock { state in
        if isPart { state.judged.insert(Array(result.caseId.utf8)) }
        guard isListed else { return }
        let isOpen = !said.contains { $0 == .fail || $0 == .error }
        state.failed.append(Failed(caseId: result.caseId, log: log, isOpen: isOpen))
      }
    }

    /// Keeps what did not pass, in the order of the cases. Cases that were loaded and not judged now stay as they were.
    ///
    /// A folder that cannot be written to is no reason to end otherwise: then what was kept is removed where that
    /// goes, so that it is never taken for this run's.
    func keep(among loaded: [EvalCase]) {
      var (failed, judged) = state.withLock { $0 }
      if isPart, let before = try? LastRun.read() {
        failed += before.failed.filter { !judged.contains(Array($0.caseId.utf8)) }
      }
      if failed.isEmpty, access(LastRun.path, F_OK) != 0 { return }
      var logs: [[UInt8]: Failed] = [:]
      for one in failed { logs[Array(one.caseId.utf8)] = one }
      let ordered = loaded.compactMap { logs.removeValue(forKey: Array($0.caseId.utf8)) }
      do {
        let bytes = LastRun(failed: ordered).encoded
        // Most often nothing is new: a file that is written costs more than judging some cases.
        if try InputFiles.all(of: LastRun.path, limitBytes: bytes.count) == bytes { return }
      } catch {
        // It is not there, longer, or cannot be read: it is written.
      }
      do {
        try ReportFiles.write(LastRun(failed: ordered).encoded, to: LastRun.path)
      } catch {
        unlink(LastRun.path)
      }
    }
  }

  private var encoded: [UInt8] {
    let value: JSONValue = [
      "schema": .string(Self.schema), "isWhole": .bool(failed.count <= Self.limit),
      "failed": .array(
        failed.prefix(Self.limit).map {
          var entry: JSONObject = [
            "caseId": .string($0.caseId), "log": $0.log.map(JSONValue.string) ?? .null,
          ]
          if $0.isOpen { entry["inconclusive"] = true }
          return .object(entry)
        }),
    ]
    return CanonicalJSON.encode(value, form: .plain)
  }
}
