import AgentTrace
import ArgumentParser
import TraceExporting
import TraceStorage

/// Logs that are being written, and what was sent of each. The files are the queue: no more is read of them than one request
/// holds before that has gone through, so that a server which hangs or refuses costs neither memory nor time of the runs.
struct FollowedLogs {
  /// So many events at most are looked at for one request.
  private static let eventsEach = 128
  private static let postSeconds = 5.0
  private static let longestPauseSeconds = 30.0
  /// The longest that a server is left alone because it asks for that, before and behind the end of the runs.
  private static let longestAskedSeconds = 120.0
  private static let longestAskedAtEndSeconds = 5.0

  /// What there is to know once no more is followed.
  struct End: Sendable {
    /// What the server has, by the paths of logs.
    var sent: [String: SpanFeed.Sent] = [:]
    /// Until when it wants to be left alone, where it said so and that is not long.
    var askedUntil: ContinuousClock.Instant?
    var tally = HandingTally()
  }

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
  /// Until when the server wants to be left alone.
  private var askedUntil: ContinuousClock.Instant?
  private var tally = HandingTally()

  init(_ server: TraceServer) { self.server = server }

  var end: End {
    let limit = ContinuousClock.now + .seconds(Self.longestAskedAtEndSeconds)
    return End(
      sent: Dictionary(runs.map { ($0.path, $0.feed.sent) }) { first, _ in first },
      askedUntil: askedUntil.map { min($0, limit) }, tally: tally)
  }

  /// - Parameters:
  ///   - path: of a log, at which nothing need be yet.
  ///   - place: where its spans stand.
  mutating func add(_ path: String, at place: SpanPlace? = nil) {
    guard !runs.contains(where: { $0.path == path }) else { return }
    let feed = SpanFeed(version: AgentEval.configuration.version, at: place)
    runs.append(Run(path: path, feed: feed))
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
      tally.take(
        try await server.post(batch.body, until: .now + .seconds(Self.postSeconds), tries: 1))
    } catch {
      wait(behind: error)
      // What it refuses for good does not hold up what comes behind it; it goes with the rest, in the end.
      if error.isLasting { runs[index].batch = nil }
      return false
    }
    (pause, askedUntil) = (0, nil)
    runs[index].feed.confirm(batch)
    runs[index].batch = nil
    return true
  }

  private mutating func wait(behind fault: HandingFault) {
    pause = min(max(1, pause * 2), Self.longestPauseSeconds)
    let asked = fault.retrySeconds.map { min($0, Self.longestAskedSeconds) }
    next = .now + .seconds(max(pause, asked ?? 0))
    askedUntil = asked.map { .now + .seconds($0) }
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
    for child in runs[index].feed.takeChildren() {
      if let log = RunTreeReader.log(of: child.runId, in: folder) { add(log, at: child.place) }
    }
    if runs[index].isOver { runs[index].follower = nil }
  }
}
