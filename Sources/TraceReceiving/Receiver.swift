import AgentTrace
import FilePaths
import Glibc
import Synchronization
import TraceImporting
import TraceStorage

/// Takes in what exporters post, and makes runs of it: one log a run in a folder, and beside them, hidden, the spool of
/// what came in.
///
/// What was answered with success is on the disk. A run is written when its root has ended, or when nothing more came
/// for a while, and once more when something comes behind that.
public final class Receiver: Sendable {
  /// How a receiver works.
  public struct Options: Sendable {
    /// Seconds without news behind which a run is written whose root has ended.
    public var settleSeconds = 2.0
    /// Seconds without news behind which any other is written, as open.
    public var idleSeconds = 60.0
    /// Seconds that what a written run was made of is kept, so that what comes late makes a new version of it.
    public var keepSeconds = 3_600.0
    /// The most bytes that are kept of what came in. Beyond it what was written is forgotten sooner, and where that is
    /// not enough nothing is taken.
    public var spoolLimitBytes = 1 << 30
    /// The most bytes of a body once it is unpacked.
    public var bodyLimitBytes = 64 << 20

    /// The defaults.
    public init() {}
  }

  /// What a receiver did since it began.
  public struct Counts: Sendable, Hashable {
    /// Requests that were taken.
    public var requests = 0
    /// Requests that were refused.
    public var refused = 0
    /// Spans and log records that were taken, each as often as it came.
    public var spans = 0
    /// Spans and log records that name no trace.
    public var rejected = 0
    /// Logs that were written, each version by itself.
    public var written = 0
    /// Those of them that were open.
    public var open = 0
    /// Spans and log records of traces in which no run is told.
    public var leftOver = 0

    /// Nothing yet.
    public init() {}
  }

  private let folder: String
  private let options: Options
  private let spool: Spool
  private let lock: SpoolLock
  private let gate: SpoolGate
  private let state = Mutex(State())

  private struct State {
    var counts = Counts()
    var isFull = false
    var isClosing = false
  }

  /// Where the spool is, below the folder of the runs. Its name begins with a dot, so that nobody takes it for runs.
  static let spoolFolder = ".receive"

  /// Opens the folder, which is made where it is missing, and goes on with what another receiver left there.
  ///
  /// - Throws: ``ReceiverFault`` where the folder cannot be used, or another receiver uses it.
  public init(folder: String, options: Options = Options()) throws {
    let own = folder + "/" + Self.spoolFolder
    try Self.makeFolder(own + "/drafts")
    lock = try SpoolLock(own + "/lock")
    self.folder = folder
    self.options = options
    do {
      spool = try Spool(
        path: own + "/spool.sqlite",
        times: Spool.Times(
          settle: Self.milliseconds(options.settleSeconds),
          idle: Self.milliseconds(options.idleSeconds),
          keep: Self.milliseconds(options.keepSeconds)), now: { Self.now })
    } catch {
      throw ReceiverFault(description: "\(own)/spool.sqlite: \(error)")
    }
    gate = SpoolGate(spool)
  }

  /// Makes a folder and those above it.
  ///
  /// - Throws: ``ReceiverFault`` that names the first that cannot be made: of those below it the system says only that
  ///   it is not there.
  private static func makeFolder(_ path: String) throws(ReceiverFault) {
    for index in path.indices where path[index] == "/" && index != path.startIndex {
      try makeOne(String(path[..<index]))
    }
    try makeOne(path)
  }

  private static func makeOne(_ path: String) throws(ReceiverFault) {
    guard !isFolder(path), mkdir(path, 0o777) != 0 else { return }
    let reason = errno
    // Somebody else may have been faster.
    guard !isFolder(path) else { return }
    throw ReceiverFault(
      description: "the folder \(path) cannot be made: \(String(cString: strerror(reason)))")
  }

  private static func milliseconds(_ seconds: Double) -> Int {
    Int(min(max(seconds, 0), 1e9) * 1_000)
  }

  /// Milliseconds that never run backwards, and go on while the machine sleeps.
  static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }

  /// What it did since it began.
  public var counts: Counts { state.withLock { $0.counts } }

  /// Takes nothing more from now on.
  public func stopTaking() { state.withLock { $0.isClosing = true } }

  // MARK: Requests

  /// Why a request is refused by its head alone; `nil` where its body is to be read.
  public func refusal(
    method: String, target: String, contentType: String, contentEncoding: String
  ) -> ReceivedAnswer? {
    let answer = headRefusal(
      method: method, target: target, contentType: contentType, contentEncoding: contentEncoding)
    if answer != nil { state.withLock { $0.counts.refused += 1 } }
    return answer
  }

  private func headRefusal(
    method: String, target: String, contentType: String, contentEncoding: String
  ) -> ReceivedAnswer? {
    func refused(_ status: Int, _ words: String, retry: Int? = nil) -> ReceivedAnswer {
      .refused(status, words, contentType: contentType, retrySeconds: retry)
    }
    guard let route = ReceivedRoute(method: method, target: target) else {
      return ReceivedRoute.takes(target: target)
        ? refused(405, "this path takes another method")
        : refused(404, "nothing is received here; OTLP goes to /v1/traces and /v1/logs")
    }
    if route != .langSmithInfo {
      guard route.contentTypes.contains(where: contentType.hasPrefix) else {
        return refused(
          415, "bodies here are \(route.contentTypes.joined(separator: " or "))")
      }
      guard ["", "identity", "gzip"].contains(contentEncoding) else {
        return refused(415, "bodies are packed with gzip, or not at all")
      }
    }
    let (isClosing, isFull) = state.withLock { ($0.isClosing, $0.isFull) }
    if isClosing { return refused(503, "the receiver is closing", retry: 5) }
    if isFull { return refused(429, "the spool is full", retry: 10) }
    return nil
  }

  /// Takes a request in: it is on the disk when its answer says success.
  public func take(
    method: String, target: String, contentType: String, contentEncoding: String, body: [UInt8]
  ) async -> ReceivedAnswer {
    if let answer = refusal(
      method: method, target: target, contentType: contentType, contentEncoding: contentEncoding)
    {
      return answer
    }
    guard let route = ReceivedRoute(method: method, target: target) else {
      return .refused(404, "nothing is received here", contentType: contentType)
    }
    if route == .langSmithInfo { return .taken(route, contentType) }
    let answer = await take(route, target, contentType, contentEncoding, body)
    if answer.status >= 300 { state.withLock { $0.counts.refused += 1 } }
    return answer
  }

  private func take(
    _ route: ReceivedRoute, _ target: String, _ contentType: String, _ contentEncoding: String,
    _ body: [UInt8]
  ) async -> ReceivedAnswer {
    let received: ReceivedBody
    let digests: [[UInt8]]
    do throws(ImportError) {
      let plain = try plain(body, contentEncoding)
      received = try ReceivedBody(plain, route: route, path: target, contentType: contentType)
      digests = received.pieces.map { Array(Digest(of: $0.payload).bytes.prefix(16)) }
    } catch {
      if case .tooLarge = error.code {
        return .refused(413, "\(error)", contentType: contentType)
      }
      return .refused(400, "\(error)", contentType: contentType)
    }
    if received.isLost {
      return .refused(
        400, "nothing in it names its trace and itself, so that no run can be made of it",
        contentType: contentType)
    }
    if !received.pieces.isEmpty {
      do {
        try await gate.add(Array(zip(received.pieces, digests)))
      } catch {
        return .refused(503, "\(error)", contentType: contentType, retrySeconds: 10)
      }
    }
    state.withLock { state in
      state.counts.requests += 1
      state.counts.spans += received.pieces.reduce(0) { $0 + $1.spans }
      state.counts.rejected += received.rejected
    }
    return .taken(route, contentType, rejected: received.rejected)
  }

  private func plain(_ body: [UInt8], _ encoding: String) throws(ImportError) -> [UInt8] {
    let limit = options.bodyLimitBytes
    guard encoding == "gzip" else {
      guard body.count <= limit else { throw ImportError(.tooLarge(limitBytes: limit)) }
      return body
    }
    do throws(ForeignCompression.Problem) {
      return try ForeignCompression.gunzip(body, limitBytes: limit)
    } catch {
      throw error == .tooLarge
        ? ImportError(.tooLarge(limitBytes: limit))
        : ImportError(.damagedArchive("the body is called gzip, and cannot be unpacked"))
    }
  }

  // MARK: Runs

  /// Writes runs that are due, a few at a time.
  ///
  /// - Parameter isLast: writes also those of which news may still come: nobody will be there to see them.
  /// - Returns: what became of each; none where none is due.
  /// - Throws: ``ReceiverFault`` where the spool or the folder cannot be used; they stay due.
  public func writeNext(isLast: Bool = false) async throws -> [WrittenRuns] {
    let writer = RunWriter(folder: folder, spool: spool)
    let written = try await WorkThread.run { try writer.next(at: Self.now, isLast: isLast) }
    state.withLock { state in
      for run in written {
        state.counts.written += run.logs.count
        state.counts.open += run.logs.count { $0.isOpen }
        state.counts.leftOver += run.leftOver
      }
    }
    return written
  }

  /// Logs that another receiver wrote here and did not come to judge, or to tell of.
  public func unjudged() throws -> [WrittenRuns.Log] {
    try spool.unjudged().map {
      WrittenRuns.Log(
        name: $0.name, path: RunWriter.path(of: $0.name, in: folder), version: $0.version,
        isOpen: false, counts: RunCounts())
    }
  }

  /// Notes that logs were judged, so that nobody does it again.
  ///
  /// - Parameters:
  ///   - logs: those that were judged.
  ///   - isTold: whether nobody has to be told of them; where somebody has, the next receiver judges them again unless
  ///     ``told(_:)`` is noted.
  /// - Throws: where the spool cannot be written.
  public func judged(_ logs: [WrittenRuns.Log], isTold: Bool = true) throws {
    guard !logs.isEmpty else { return }
    try spool.judged(logs.map(\.name), isTold: isTold)
  }

  /// Notes that somebody was told of a log that was judged.
  ///
  /// - Throws: where the spool cannot be written.
  public func told(_ log: WrittenRuns.Log) throws { try spool.told(log.name) }

  /// Forgets what is not needed any more, and sees whether there is room.
  public func tidy() async throws {
    let (spool, limit) = (spool, options.spoolLimitBytes)
    let isFull = try await WorkThread.run {
      try spool.forget(beyondBytes: limit)
      return try spool.usedBytes() > limit
    }
    state.withLock { $0.isFull = isFull }
  }
}

/// Why a receiver cannot go on, in words.
public struct ReceiverFault: Error, CustomStringConvertible {
  /// In words.
  public var description: String
}

/// Keeps two receivers from one folder.
private final class SpoolLock: Sendable {
  private let file: Int32

  init(_ path: String) throws(ReceiverFault) {
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
    guard file >= 0 else {
      throw ReceiverFault(
        description: "\(path) cannot be made: \(String(cString: strerror(errno)))")
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      throw ReceiverFault(
        description: "another receiver writes there already; name another folder")
    }
  }

  deinit { close(file) }
}

/// Lets pieces into the spool: all that came in while the disk was waited for go in together.
private actor SpoolGate {
  private let spool: Spool
  private var waiting:
    [(pieces: [(ReceivedPiece, digest: [UInt8])], done: CheckedContinuation<Void, any Error>)] = []
  private var isWriting = false

  init(_ spool: Spool) { self.spool = spool }

  func add(_ pieces: [(ReceivedPiece, digest: [UInt8])]) async throws {
    try await withCheckedThrowingContinuation { done in
      waiting.append((pieces, done))
      guard !isWriting else { return }
      isWriting = true
      Task { await write() }
    }
  }

  private func write() async {
    while !waiting.isEmpty {
      let batch = waiting
      waiting = []
      let result = Result { try spool.add(batch.flatMap(\.pieces)) }
      for entry in batch { entry.done.resume(with: result) }
      // Whoever came meanwhile stands before this actor.
      await Task.yield()
    }
    isWriting = false
  }
}
