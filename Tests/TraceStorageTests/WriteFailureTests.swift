import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TraceStorage

/// System calls that fail when they are told to, and otherwise are the real ones.
final class FaultySystem: Sendable {
  /// What becomes of the call that is meant.
  enum Fault: Sendable, CustomStringConvertible {
    /// It fails, and every later call of its kind too, as on a full disk.
    case forGood(Int32)
    /// It fails once.
    case once(Int32)
    /// It writes half of what it was given, and later calls all of it; others are left alone.
    case shortWrite
    /// It writes half, and every later write fails.
    case shortWriteThen(Int32)

    var description: String {
      switch self {
      case .forGood(let number): "\(String(cString: strerror(number))) for good"
      case .once(let number): "\(String(cString: strerror(number))) once"
      case .shortWrite: "a short write"
      case .shortWriteThen(let number): "a short write, then \(String(cString: strerror(number)))"
      }
    }
  }

  private struct State {
    var calls = 0
    var failing: String?
  }

  private let state = Mutex(State())
  private let target: Int
  private let fault: Fault

  /// The fault hits call number `target`, from 0, of all calls that are made.
  init(target: Int, fault: Fault) {
    self.target = target
    self.fault = fault
  }

  /// The kind of call that was hit; `nil` while none was.
  var hit: String? { state.withLock { $0.failing } }

  private enum Verdict {
    case real
    case fails(Int32)
    case half
  }

  private func judge(_ name: String) -> Verdict {
    state.withLock { state in
      let number = state.calls
      state.calls += 1
      if number == target { state.failing = name }
      let isFirst = number == target
      let isLater = !isFirst && state.failing == name
      switch fault {
      case .forGood(let error): return isFirst || isLater ? .fails(error) : .real
      case .once(let error): return isFirst ? .fails(error) : .real
      case .shortWrite: return isFirst && name == "write" ? .half : .real
      case .shortWriteThen(let error):
        guard name == "write" else { return .real }
        return isFirst ? .half : isLater ? .fails(error) : .real
      }
    }
  }

  private func call<T: SignedInteger>(_ name: String, _ real: () -> T) -> T {
    guard case .fails(let error) = judge(name) else { return real() }
    errno = error
    return -1
  }

  var calls: SystemCalls {
    let real = SystemCalls.real
    var calls = SystemCalls.real
    calls.open = { path, flags in self.call("open") { real.open(path, flags) } }
    // A descriptor whose close fails is closed all the same (close(2), on Linux).
    calls.close = { file in
      let result = real.close(file)
      return self.call("close") { result }
    }
    calls.access = { path in self.call("access") { real.access(path) } }
    calls.makeFolder = { path in self.call("mkdir") { real.makeFolder(path) } }
    calls.lock = { file, operation in self.call("flock") { real.lock(file, operation) } }
    calls.status = { file, status in self.call("fstat") { real.status(file, status) } }
    calls.statusOfPath = { path, status in
      self.call("fstatat") { real.statusOfPath(path, status) }
    }
    calls.read = { file, bytes, count, at in
      self.call("pread") { real.read(file, bytes, count, at) }
    }
    calls.write = { file, bytes, count in
      switch self.judge("write") {
      case .real: return real.write(file, bytes, count)
      case .half: return real.write(file, bytes, max(1, count / 2))
      case .fails(let error):
        errno = error
        return -1
      }
    }
    calls.seek = { file, offset in self.call("lseek") { real.seek(file, offset) } }
    calls.truncate = { file, length in self.call("ftruncate") { real.truncate(file, length) } }
    calls.syncData = { file in self.call("fdatasync") { real.syncData(file) } }
    calls.sync = { file in self.call("fsync") { real.sync(file) } }
    calls.rename = { old, new in self.call("renameat2") { real.rename(old, new) } }
    calls.remove = { path in self.call("unlink") { real.remove(path) } }
    return calls
  }
}

@Suite("A system call of the writer that fails")
struct WriteFailureTests {
  /// What a writer did before it was stopped.
  private struct Lived {
    var acknowledged: [Event] = []
    /// The event that was being written when its process died.
    var unacknowledged: Event?
    var error: LogError?
    /// Whether a close was acknowledged, and nothing begun since.
    var isClosed = false
  }

  /// A run that does everything a writer can do: begins in a new folder, crosses blocks and a
  /// checkpoint, pauses, is closed, goes on, dies with a torn end, goes on again and stops for good.
  private static func live(
    at path: String, _ system: SystemCalls, _ durability: LogWriter.Durability
  ) -> Lived {
    var lived = Lived()
    var options = LogWriter.Options(
      blockBytes: 700, checkpointBytes: 1800, durability: durability)
    options.system = system
    do throws(LogError) {
      do {
        let writer = try LogWriter(creating: path, options: options)
        try append(5, to: writer, &lived)
        try append(stop(lived.acknowledged.count, isFinal: false), to: writer, &lived)
        _ = try writer.close()
        lived.isClosed = true
      }
      do {
        let (writer, _) = try LogWriter.reopening(path, options: options)
        lived.isClosed = false
        try append(4, to: writer, &lived)
        // The process dies within an append: all of its line is in the file, but not of its flush.
        try append(1, to: writer, &lived)
        lived.unacknowledged = lived.acknowledged.removeLast()
      }
      tear(path + ".open")
      let (writer, reopened) = try LogWriter.reopening(path, options: options)
      if let event = lived.unacknowledged { lived.acknowledged.append(event) }
      if reopened.nextSeq != lived.acknowledged.count { Issue.record("an event is missing") }
      try append(3, to: writer, &lived)
      try append(stop(lived.acknowledged.count, isFinal: true), to: writer, &lived)
      _ = try writer.close()
      lived.isClosed = true
    } catch {
      lived.error = error
    }
    return lived
  }

  private static func append(
    _ count: Int, to writer: LogWriter, _ lived: inout Lived
  ) throws(LogError) {
    for _ in 0..<count {
      let seq = lived.acknowledged.count
      let text = String(repeating: "what was said \(seq % 4) times ", count: 12)
      let event =
        seq == 0
        ? Event(
          seq: 0, step: 0, type: .runStarted, runId: "run-1",
          data: RunStarted(
            agentName: "a", goal: .string(text), limits: Limits(), policyContext: PolicyContext()
          ).encoded) : WriterTests.event(seq, ["text": .string(text)])
      try append(event, to: writer, &lived)
    }
  }

  private static func append(
    _ event: Event, to writer: LogWriter, _ lived: inout Lived
  ) throws(LogError) {
    do throws(LogError) {
      try writer.append(event, isEffectAhead: event.seq % 3 == 0)
    } catch {
      // Whatever failed, nothing is appended behind it.
      let later = #expect(throws: LogError.self) {
        try writer.append(event, isEffectAhead: false)
      }
      #expect(later?.code == .writerStopped)
      #expect(#expect(throws: LogError.self) { try writer.close() }?.code == .writerStopped)
      throw error
    }
    lived.acknowledged.append(event)
  }

  private static func stop(_ seq: Int, isFinal: Bool) -> Event {
    Event(
      seq: seq, step: 0, type: .stop, runId: "run-1", t: seq * 1_000,
      data: Stop(reason: isFinal ? .success : .blocked, isFinal: isFinal).encoded)
  }

  private static func tear(_ path: String) {
    guard let file = FileHandle(forWritingAtPath: path), let size = try? file.seekToEnd() else {
      return
    }
    try? file.truncate(atOffset: size - 2)
  }

  /// Holds what a stopped writer left behind against what it had acknowledged.
  private static func check(_ lived: Lived, at path: String, _ what: String) throws {
    let readable = LogFormat.plainName(path)
    guard
      FileManager.default.fileExists(atPath: readable)
        || FileManager.default.fileExists(atPath: readable + ".open")
    else {
      #expect(lived.acknowledged.isEmpty, "\(what): the log is gone")
      // Nothing stands in the way of the next try.
      _ = try LogWriter(creating: path).close()
      return
    }
    let events = try readEvents(path, options: .init(checksLinks: true))
    #expect(events.starts(with: lived.acknowledged), "\(what): an acknowledged event is lost")
    #expect(events.count <= lived.acknowledged.count + 1, "\(what)")
    let report = LogVerifier.verify(path: path)
    #expect(report.findings.isEmpty, "\(what): \(report.findings)")
    if FileManager.default.fileExists(atPath: readable) {
      // Under its plain name a log is whole; and then nothing was under way but its name.
      #expect(report.status == .whole && report.path == readable, "\(what): \(report)")
    }
    if events.isEmpty {
      #expect(throws: LogError.self, "\(what)") { try LogRepair.repair(path) }
    } else {
      let repaired = try LogRepair.repair(path)
      #expect(repaired.gaps.isEmpty && repaired.events == events.count, "\(what)")
    }
    guard events.last?.type != .stop || lived.acknowledged.isEmpty else { return }
    // Another process goes on as if nothing had been.
    let (writer, reopened) = try LogWriter.reopening(path)
    #expect(reopened.nextSeq == events.count)
    try writer.append(WriterTests.event(events.count), isEffectAhead: true)
    _ = try writer.close()
    #expect(LogVerifier.verify(path: path).status == .whole, "\(what)")
    #expect(try readEvents(path).count == events.count + 1)
  }

  /// Lives the run once for each of its calls, which then meets a fault; returns by kind of call how
  /// many did.
  private static func failEachCall(
    _ fault: FaultySystem.Fault, _ durability: LogWriter.Durability,
    _ judge: (Lived, _ call: String, _ path: String, _ what: String) throws -> Void
  ) throws -> [String: Int] {
    var hits: [String: Int] = [:]
    for target in 0... {
      let folder = try TraceStorageTests.TemporaryFolder()
      let path = folder.file("new/folder/a.jsonl.gz")
      let system = FaultySystem(target: target, fault: fault)
      let lived = live(at: path, system.calls, durability)
      guard let call = system.hit else {
        #expect(lived.error == nil && lived.isClosed)
        break
      }
      hits[call, default: 0] += 1
      try judge(lived, call, path, "call \(target), \(call): \(fault)")
    }
    return hits
  }

  private static let kinds: Set = [
    "open", "close", "access", "mkdir", "flock", "fstat", "fstatat", "pread", "write", "lseek",
    "ftruncate", "fdatasync", "fsync", "renameat2",
  ]

  @Test(
    "stops the run with a clear error, and what was acknowledged is readable",
    arguments: isLongRun ? LogWriter.Durability.allCases : [.sync],
    isLongRun ? [EIO, ENOSPC, EDQUOT, EACCES, EFBIG, ENOLCK] : [ENOSPC])
  func everyCall(durability: LogWriter.Durability, error: Int32) throws {
    var total = 0
    for fault in [FaultySystem.Fault.forGood(error), .once(error)] {
      let hits = try Self.failEachCall(fault, durability) { lived, call, path, what in
        let isIdle = call == "close" || (call == "flock" && lived.error == nil)
        if isIdle {
          // Closing a descriptor and letting a lock go have nothing to say any more.
          #expect(lived.error == nil, "\(what)")
        } else {
          let failure = try #require(lived.error, "\(what): went on")
          guard case .system(let operation, let number) = failure.code else {
            Issue.record("\(what): \(failure)")
            return
          }
          #expect(number == error && !operation.isEmpty, "\(what): \(failure)")
          #expect(failure.description.contains(String(cString: strerror(error))))
          #expect(failure.path.hasPrefix(path.replacing("/new/folder/a.jsonl.gz", with: "")))
        }
        try Self.check(lived, at: path, what)
      }
      total += hits.values.reduce(0, +)
      let expected =
        durability == .none ? Self.kinds.subtracting(["fdatasync", "fsync"]) : Self.kinds
      #expect(Set(hits.keys) == expected)
    }
    #expect(total > 100)
    if isLongRun { print("proof: \(total) calls failed with errno \(error), \(durability)") }
  }

  @Test(
    "is made again where a signal interrupted it, and goes on where a write was short",
    arguments: isLongRun ? LogWriter.Durability.allCases : [.process])
  func harmless(durability: LogWriter.Durability) throws {
    var total = 0
    for fault in [FaultySystem.Fault.once(EINTR), .shortWrite] {
      let hits = try Self.failEachCall(fault, durability) { lived, call, path, what in
        #expect(lived.error == nil && lived.isClosed, "\(what): \(String(describing: lived.error))")
        try Self.check(lived, at: path, what)
      }
      total += hits.values.reduce(0, +)
    }
    #expect(total > 100)
    if isLongRun { print("proof: \(total) calls interrupted or short, \(durability)") }
  }

  @Test(
    "leaves no log behind where it was the first, and nothing in the way of the next try",
    arguments: [
      FaultySystem.Fault.forGood(ENOSPC), .once(EIO), .shortWriteThen(ENOSPC),
    ])
  func firstWrite(fault: FaultySystem.Fault) throws {
    for durability in LogWriter.Durability.allCases {
      _ = try Self.failEachCall(fault, durability) { lived, call, path, what in
        guard lived.acknowledged.isEmpty, ["write", "fdatasync", "fsync"].contains(call) else {
          return
        }
        guard lived.error != nil else { return }
        #expect(!FileManager.default.fileExists(atPath: path + ".open"), "\(what)")
        #expect(!FileManager.default.fileExists(atPath: path), "\(what)")
        let writer = try LogWriter(creating: path)
        try writer.append(WriterTests.event(0), isEffectAhead: true)
        _ = try writer.close()
      }
    }
  }

  @Test(
    "may leave half an event behind, which the next writer cuts off",
    arguments: isLongRun ? LogWriter.Durability.allCases : [.none])
  func tornWrite(durability: LogWriter.Durability) throws {
    let hits = try Self.failEachCall(.shortWriteThen(ENOSPC), durability) {
      lived, call, path, what in
      guard call == "write" else { return }
      #expect(lived.error?.code == .system(operation: "write", errno: ENOSPC), "\(what)")
      try Self.check(lived, at: path, what)
    }
    #expect(hits["write"] ?? 0 >= 15)
  }

  @Test("a lock that is taken is told with its holder, whenever it is met")
  func lockTaken() throws {
    let hits = try Self.failEachCall(.once(EWOULDBLOCK), .process) { lived, call, path, what in
      guard call == "flock", let error = lived.error else { return }
      guard case .inUse = error.code else {
        Issue.record("\(what): \(error)")
        return
      }
      #expect(error.description.contains("writing this log"))
      if lived.acknowledged.isEmpty { try FileManager.default.removeItem(atPath: path + ".open") }
      try Self.check(lived, at: path, what)
    }
    #expect(hits["flock"] ?? 0 >= 3)
  }

  @Test("a name that is taken when the log is closed, or opened again, is told and not replaced")
  func nameTaken() throws {
    let hits = try Self.failEachCall(.forGood(EEXIST), .process) { lived, call, path, what in
      guard call == "renameat2" else { return }
      #expect(lived.error?.code == .exists, "\(what)")
      try Self.check(lived, at: path, what)
    }
    #expect(hits["renameat2"] == 3)
  }
}
