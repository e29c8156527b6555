public import AgentRuntime
public import AgentTrace
import FilePaths
import Glibc
public import TraceStorage

/// A log that was made from another one, with everything withheld that the rules of today find.
public struct ScrubbedLog: Sendable {
  /// The log that was read. It stays as it is.
  public var log: String
  /// The log that was written.
  public var output: String
  /// How many events both hold.
  public var events: Int
  /// Values that are withheld now and were not before, each counted once, by their kind.
  public var withheld: [(kind: String, values: Int)]
  /// The digest of the old log's last seal, which the first event of the new one names.
  public var fromDigest: Digest
  /// The digest of the new log's last seal.
  public var sealDigest: Digest

  /// The key in `run_started` under which the old log stands: `log`, its name, and `digest`, that of its last seal.
  public static let key = RunStarted.scrubbedFromKey

  /// Reads a log twice, to learn what is to be withheld and to withhold it everywhere, and writes a new one.
  ///
  /// Only a closed log without gaps is read: what is missing could be anything. Digests in `stop` are those of the
  /// new run; digests of requests stay those of what was sent.
  ///
  /// - Parameters:
  ///   - path: the log.
  ///   - output: the plain name of the new log; without one `NAME-scrubbed.jsonl.gz` beside the old one, with a number
  ///     where that is taken. Nothing is ever replaced.
  /// - Throws: ``PromotionError`` where the log is damaged, unfinished or lacks events, or the new one cannot be
  ///   written; then nothing is left of it.
  /// - Complexity: reads the log three times, the first to verify it, and looks through each item of a context once each
  ///   time, however often it is said; memory is that of two contexts and 64 MiB of texts.
  public init(
    of path: String, to output: String?, by redactor: Redactor, options: LogWriter.Options = .init()
  ) throws(PromotionError) {
    let verified = LogVerifier.verify(path: path)
    guard verified.status == .whole, let digest = verified.sealDigest else {
      let reason = verified.findings.first.map { ": \($0.message)" } ?? ""
      // Of what cannot be read at all nothing ends, and nothing is repaired.
      let advice = verified.status == .unreadable ? "" : "; let the run end (resume), or repair it"
      throw PromotionError(path, "the log is \(verified.status.rawValue)\(reason)\(advice)")
    }
    var run = RunRedaction(by: redactor)
    defer { run.end() }
    try Self.forEachEvent(of: path) { (event) throws(PromotionError) in run.learn(event) }
    let writer = try Self.create(output, beside: path, options)
    do throws(PromotionError) {
      try Self.forEachEvent(of: path) { (event) throws(PromotionError) in
        let scrubbed = Self.finished(run.redacted(event), writer.state, path, digest)
        do { try writer.append(scrubbed, isEffectAhead: false) } catch {
          throw PromotionError(writer.path, "cannot be written: \(error)")
        }
      }
      let closed: LogWriter.ClosedLog
      do { closed = try writer.close() } catch {
        throw PromotionError(writer.path, "cannot be written: \(error)")
      }
      log = path
      self.output = closed.path
      events = closed.events
      fromDigest = digest
      sealDigest = closed.sealDigest
    } catch {
      unlink(writer.path + LogFormat.openSuffix)
      throw error
    }
    withheld = RunRedaction.byKind(run.newTokens)
  }

  /// An event of the new log: the first names the old one, and a stop has the digest of the state that it ends.
  private static func finished(
    _ event: Event, _ state: AgentState, _ path: String, _ digest: Digest
  ) -> Event {
    var event = event
    switch event.type {
    case .runStarted:
      let name = path.split(separator: "/").last.map(String.init) ?? path
      event.data[key] = ["log": .string(name), "digest": .string(digest.hex)]
      event.data["formatVersion"] = JSONValue(RunStarted.currentFormatVersion)
    case .stop where event.data["stateDigest"] != nil:
      event.data["stateDigest"] = .string(state.digest.hex)
      if event.data["stateFormat"] != nil {
        event.data["stateFormat"] = JSONValue(AgentState.format)
      }
    default: break
    }
    return event
  }

  private static func forEachEvent(
    of path: String, _ body: (Event) throws(PromotionError) -> Void
  ) throws(PromotionError) {
    var expected = 0
    var reader: LogReader
    do { reader = try LogReader(path: path) } catch { throw PromotionError(path, "\(error)") }
    while true {
      let next: Event?
      do { next = try reader.next() } catch { throw PromotionError(path, "\(error)") }
      guard let event = next else { break }
      guard event.seq == expected else {
        throw PromotionError(
          path,
          "events \(expected) to \(event.seq - 1) are missing: only a whole log is scrubbed")
      }
      expected += 1
      try body(event)
    }
    guard reader.ending == .closed else {
      throw PromotionError(
        path, "the log was never closed: let the run end (resume), or repair the log")
    }
  }

  private static func create(
    _ output: String?, beside path: String, _ options: LogWriter.Options
  ) throws(PromotionError) -> LogWriter {
    let stem =
      path.hasSuffix(LogFormat.suffix) ? String(path.dropLast(LogFormat.suffix.count)) : path
    var number = 1
    while true {
      let name = output ?? "\(stem)-scrubbed\(number == 1 ? "" : "-\(number)")\(LogFormat.suffix)"
      do {
        return try LogWriter(creating: name, options: options)
      } catch {
        let isTaken =
          switch error.code {
          case .exists, .leftOpen, .inUse: true
          default: false
          }
        guard isTaken, output == nil, number < 1_000 else {
          throw PromotionError(name, "cannot be written: \(error)")
        }
        number += 1
      }
    }
  }
}
