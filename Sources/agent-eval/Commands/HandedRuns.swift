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
  private let following = Mutex<Task<[String: SpanFeed.Sent], Never>?>(nil)

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

  private func keepFollowing() async -> [String: SpanFeed.Sent] {
    var logs = FollowedLogs(server)
    while !Task.isCancelled {
      let new = waiting.withLock { paths in
        defer { paths = [] }
        return paths
      }
      logs.add(new)
      await logs.sendWhatEnded()
      try? await Task.sleep(for: .milliseconds(200))
    }
    return logs.sent
  }

  /// Hands on runs that are over, and those that are calls of them, with their outcomes; each log once, without the spans
  /// that were sent before.
  func hand(_ logs: [String], results: EvalResults? = nil) async {
    let task = following.withLock { $0 }
    task?.cancel()
    let sent = await task?.value ?? [:]
    var exporter = Exporter(format: .otlp, output: nil, version: AgentEval.configuration.version)
    if let results, let known = try? RunResults(decoding: results.json) { exporter.results = known }
    var (known, lost, reason): (Set<String>, Int, String?) = ([], 0, nil)
    var success = ContinuousClock.now
    for root in logs {
      for log in (try? LogFiles.tree(ofLog: root).map(\.path)) ?? [root] {
        guard known.insert(log).inserted else { continue }
        let end = success + .seconds(Self.patienceSeconds)
        do throws(HandingFault) {
          guard .now < end else { throw HandingFault(description: "there was no time left") }
          let body = try Self.body(of: log, exporter, behind: sent[log] ?? .init())
          try await server.post(body, until: end, tries: Self.triesEach)
          success = .now
        } catch {
          lost += 1
          reason = reason ?? error.description
        }
      }
    }
    guard lost > 0 else { return }
    Output.error(
      Visible.line(
        "note: \(lost) of \(Figures.count(known.count, "run")) could not be handed to \(server.url): "
          + (reason ?? "")))
  }

  private static func body(
    of log: String, _ exporter: Exporter, behind sent: SpanFeed.Sent
  ) throws(HandingFault) -> [UInt8] {
    do throws(ExportError) { return try exporter.rest(of: log, behind: sent) } catch {
      throw HandingFault(description: "\(error)")
    }
  }
}

/// Logs that are being written, and what was sent of each. The files are the queue: no more is read of them than one request
/// holds before that has gone through, so that a server which hangs or refuses costs neither memory nor time of the runs.
private struct FollowedLogs {
  /// So many events at most are looked at for one request.
  private static let eventsEach = 128
  private static let postSeconds = 5.0
  private static let longestPauseSeconds = 30.0

  private struct Run {
    var path: String
    /// `nil` until its log is there.
    var follower: LogFollower?
    var feed: SpanFeed
    /// What was not taken yet.
    var batch: SpanFeed.Batch?
    var isOver = false
  }

  private let server: TraceServer
  private var runs: [Run] = []
  private var pause = 0.0
  private var next = ContinuousClock.now

  init(_ server: TraceServer) { self.server = server }

  var sent: [String: SpanFeed.Sent] {
    Dictionary(runs.map { ($0.path, $0.feed.sent) }) { first, _ in first }
  }

  mutating func add(_ paths: [String]) {
    for path in paths where !runs.contains(where: { $0.path == path }) {
      runs.append(Run(path: path, feed: SpanFeed(version: AgentEval.configuration.version)))
    }
  }

  /// Sends what has ended since, of one run after the other; of one that calls others, of those too.
  mutating func sendWhatEnded() async {
    var index = 0
    while index < runs.count {
      while !Task.isCancelled, next <= .now, await send(of: index) {}
      index += 1
    }
  }

  /// Sends the next request of a run; false where there is none, or it did not go through.
  private mutating func send(of index: Int) async -> Bool {
    if runs[index].batch == nil { read(index) }
    guard let batch = runs[index].batch else { return false }
    do throws(HandingFault) {
      try await server.post(batch.body, until: .now + .seconds(Self.postSeconds), tries: 1)
    } catch {
      pause = min(max(1, pause * 2), Self.longestPauseSeconds)
      next = .now + .seconds(pause)
      return false
    }
    pause = 0
    runs[index].feed.confirm(batch)
    runs[index].batch = nil
    return true
  }

  /// Reads on in a run's log until there is enough for a request.
  private mutating func read(_ index: Int) {
    guard !runs[index].isOver else { return }
    // It may be that the run has not begun.
    if runs[index].follower == nil {
      runs[index].follower = try? LogFollower(path: runs[index].path)
    }
    guard runs[index].follower != nil else { return }
    do throws(LogError) {
      reading: for _ in 0..<Self.eventsEach {
        switch try runs[index].follower?.next() {
        case .line(.event(let event)): runs[index].feed.take(event)
        case .line(.mark): continue
        case .nothingYet, nil: break reading
        case .ended:
          runs[index].isOver = true
          break reading
        }
      }
    } catch {
      // What cannot be followed is handed on once it is over.
      runs[index].isOver = true
    }
    runs[index].batch = runs[index].feed.ended()
    let folder = RunTreeReader.folder(ofLog: runs[index].path)
    add(runs[index].feed.takeChildren().compactMap { RunTreeReader.log(of: $0, in: folder) })
    if runs[index].isOver { runs[index].follower = nil }
  }
}
