import AgentTrace
import ArgumentParser
import Glibc
import LiveBoundary
import Synchronization
import TraceExporting
import TraceJudging
import TraceReporting
import TraceStorage

/// The option of verbs that hand runs on as they are made or judged.
struct HandingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Hand each run on to this server, as `export otlp` writes it: what is made now while it is made. Headers come from \
      OTEL_EXPORTER_OTLP_HEADERS. Whatever happens there changes nothing here.
      """, valueName: "url"))
  var otlp: String?

  func validate() throws { try Self.check(otlp) }

  static func check(_ url: String?) throws {
    if let url, HTTPAddress(url) == nil {
      throw ValidationError(
        Visible.line("--otlp takes a URL of http or https, as http://127.0.0.1:4318; not “\(url)”.")
      )
    }
  }

  /// Hands over to the build that can send, where that is asked for.
  static func require(_ url: String?) throws {
    if url != nil { try LiveBuild.require(for: "--otlp") }
  }
}

/// Hands runs on to a server of OTLP: those that are being made span by span, and what is left of each once it is over.
/// What does not go through is told once, and holds up nothing for long.
final class HandedRuns: Sendable {
  /// Seconds without any success behind which the rest is given up.
  private static let patienceSeconds = 10.0
  private static let triesEach = 3

  private let server: TraceServer
  /// Logs that are being written and that nobody reads yet.
  private let waiting = Mutex<[String]>([])
  private let following = Mutex<Task<FollowedLogs.End, Never>?>(nil)

  /// - Parameter url: with `/v1/traces`, or what that stands behind; `nil` makes none.
  init?(to url: String?) {
    guard let url else { return nil }
    server = TraceServer(url)
  }

  /// Sends the spans of a run from now on as they end, until ``hand(_:results:)``. Returns at once, whatever the server does.
  ///
  /// - Parameter log: its path, at which nothing need be yet.
  func follow(_ log: String) {
    waiting.withLock { $0.append(log) }
    following.withLock { task in
      if task == nil { task = Task { await self.keepFollowing() } }
    }
  }

  private func keepFollowing() async -> FollowedLogs.End {
    var logs = FollowedLogs(server)
    while !Task.isCancelled {
      let new = waiting.withLock { paths in
        defer { paths = [] }
        return paths
      }
      for path in new { logs.add(path) }
      await logs.sendWhatEnded()
      try? await Task.sleep(for: .milliseconds(200))
    }
    return logs.end
  }

  /// Hands on runs that are over, and those that are calls of them, with their outcomes; each log once, without the spans
  /// that were sent before.
  func hand(_ logs: [String], results: EvalResults? = nil) async {
    let task = following.withLock { $0 }
    task?.cancel()
    let before = await task?.value ?? .init()
    var exporter = Exporter(format: .otlp, output: nil, version: AgentEval.configuration.version)
    if let results, let known = try? RunResults(decoding: results.json) { exporter.results = known }
    var known = PathSet()
    let trees = logs.flatMap { (try? LogFiles.tree(ofLog: $0).map(\.path)) ?? [$0] }
    let all = trees.filter { known.insert($0) }
    let places = RunPlaces(of: all)
    var tally = before.tally
    // A server that asked to be left alone for a while is.
    if let later = before.askedUntil { try? await Task.sleep(until: later, clock: .continuous) }
    var success = ContinuousClock.now
    for log in all {
      let end = success + .seconds(Self.patienceSeconds)
      do throws(HandingFault) {
        guard .now < end else { throw HandingFault(description: "there was no time left") }
        for body in try Self.rest(of: log, exporter, before.sent[log], places) {
          tally.take(try await server.post(body, until: end, tries: Self.triesEach))
          success = .now
        }
      } catch {
        tally.lost += 1
        tally.reason = tally.reason ?? error.description
      }
    }
    tell(tally, of: all.count)
  }

  private static func rest(
    of log: String, _ exporter: Exporter, _ sent: SpanFeed.Sent?, _ places: RunPlaces
  ) throws(HandingFault) -> [[UInt8]] {
    do throws(ExportError) {
      return try exporter.rest(of: log, behind: sent ?? .init(), at: places)
    } catch {
      throw HandingFault(description: "\(error)")
    }
  }

  private func tell(_ tally: HandingTally, of count: Int) {
    if tally.lost > 0 {
      Output.error(
        Visible.line(
          "note: \(tally.lost) of \(Figures.count(count, "run")) could not be handed to \(server.name): "
            + (tally.reason ?? "")))
    }
    if tally.rejectedSpans > 0 {
      let words = tally.message.map { ": \($0.prefix(200))" } ?? ""
      Output.error(
        Visible.line(
          "note: \(server.name) took the runs but for \(Figures.count(tally.rejectedSpans, "span"))\(words)"
        ))
    }
  }
}

/// What a server did not take.
struct HandingTally {
  /// Runs of which not all was sent, and why the first of them was not.
  var lost = 0
  var reason: String?
  /// Spans that it was sent and will not have, and why, in its words.
  var rejectedSpans = 0
  var message: String?

  mutating func take(_ answer: OtlpAnswer) {
    rejectedSpans = rejectedSpans.addingReportingOverflow(answer.rejectedSpans).partialValue
    if answer.rejectedSpans > 0, !answer.message.isEmpty { message = message ?? answer.message }
  }
}
