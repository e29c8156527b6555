import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("The writer of a log")
struct WriterTests {
  static func event(_ seq: Int, _ data: JSONObject = ["text": "hello"]) -> Event {
    Event(seq: seq, step: 0, type: .humanReplied, runId: "run-1", t: seq * 1_000, data: data)
  }

  @Test("a lock is given back while a child that is being started still has the descriptor")
  func lockOfChild() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz.open")
    var first: LogFile? = try LogFile.open(path, O_RDWR | O_CREAT)
    try first?.lock()
    // What a child has between fork and exec.
    let child = dup(try #require(first?.descriptor))
    defer { close(child) }
    first = nil
    let second = try LogFile.open(path, O_RDWR)
    try second.lock()
  }

  @Test("a folder that the system does not make is told as that, not as a log that is missing")
  func noFolder() throws {
    let error = #expect(throws: LogError.self) {
      try LogWriter(creating: "/proc/no-such-folder/a.jsonl.gz")
    }
    #expect(error?.description.hasPrefix("/proc/no-such-folder: cannot create: ") == true)
  }

  // Whoever may do everything is kept from no folder.
  @Test(
    "a file whose folder may not be made is told with that reason", .enabled(if: geteuid() != 0))
  func folderNotAllowed() throws {
    let folder = try TemporaryFolder()
    try #require(mkdir(folder.file("closed"), 0o555) == 0)
    let path = folder.file("closed/new/file")
    WholeFile.makeFolders(for: path)
    #expect(throws: WholeFile.Failure.system(EACCES)) { try WholeFile.create(path, holding: []) }
    #expect(throws: WholeFile.Failure.system(EACCES)) { try WholeFile.append([], to: path) }
  }

  @Test(
    "before an effect a writer sees that its log was removed, moved or replaced",
    arguments: ["removed", "moved", "replaced"])
  func noLongerAtItsPlace(how: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path)
    try writer.append(Self.event(0), isEffectAhead: true)
    if how == "removed" { unlink(path + ".open") } else { rename(path + ".open", path + ".old") }
    if how == "replaced" { try Data().write(to: URL(filePath: path + ".open")) }
    try writer.append(Self.event(1), isEffectAhead: false)
    let error = #expect(throws: LogError.self) {
      try writer.append(Self.event(2), isEffectAhead: true)
    }
    #expect(error?.code == .noLongerAtItsPlace)
    // What lies there now is somebody else's.
    #expect(FileManager.default.fileExists(atPath: path + ".open") == (how == "replaced"))
  }

  @Test("a second writer is told who holds the log")
  func twoWriters() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path)
    try writer.append(Self.event(0), isEffectAhead: true)
    let own = Int(ProcessInfo.processInfo.processIdentifier)
    for attempt in [
      { _ = try LogWriter(creating: path) }, { _ = try LogWriter.reopening(path) },
    ] {
      let error = #expect(throws: LogError.self) { try attempt() }
      #expect(error?.code == .inUse(holder: own))
      #expect(error?.description.contains("process \(own)") == true)
    }
    #expect(try readEvents(path).count == 1)
  }

  @Test("a log that is there already is never replaced")
  func existing() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let first = try LogWriter(creating: path)
    let error = try withExtendedLifetime(first) { () -> LogError? in
      try Data("mine".utf8).write(to: URL(filePath: path))
      return #expect(throws: LogError.self) { try first.close() }
    }
    #expect(error?.code == .exists)
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("mine".utf8))
    #expect(
      #expect(throws: LogError.self) { try LogWriter(creating: path) }?.code == .exists)
  }

  @Test("a log that a dead writer left is not begun anew")
  func leftOpen() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    do {
      let writer = try LogWriter(creating: path)
      try writer.append(Self.event(0), isEffectAhead: false)
    }
    let error = #expect(throws: LogError.self) { try LogWriter(creating: path) }
    #expect(error?.code == .leftOpen)
    #expect(try readEvents(path) == [Self.event(0)])
  }

  @Test("folders above a log are created, and its name must be that of a log")
  func folders() throws {
    let folder = try TemporaryFolder()
    try writeLog([Self.event(0)], to: folder.file("b/c/d.jsonl.gz"))
    #expect(try readEvents(folder.file("b/c/d.jsonl.gz")).count == 1)
    #expect(
      #expect(throws: LogError.self) { try LogWriter(creating: folder.file("a.gz")) }?.code
        == .badName)
  }

  @Test("an event that may not stand in a log is refused and changes nothing")
  func refused() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    func code(_ event: Event) -> LogError.Code? {
      #expect(throws: LogError.self) { try writer.append(event, isEffectAhead: false) }?.code
    }
    #expect(code(Self.event(1)) == .wrongNumber(expected: 0, found: 1))
    let large = JSONValue.string(String(repeating: "x", count: LogFormat.lineLimitBytes))
    #expect(
      code(Self.event(0, ["text": large])) == .lineTooLong(limitBytes: LogFormat.lineLimitBytes))
    var deep = JSONValue.array([])
    for _ in 0..<125 { deep = .array([deep]) }
    try writer.append(Self.event(0, ["text": deep]), isEffectAhead: false)
    #expect(code(Self.event(1, ["text": [deep]])) == .tooDeep(limit: LogFormat.depthLimit))
    try writer.append(Self.event(1), isEffectAhead: false)
    _ = try writer.close()
    #expect(code(Self.event(2)) == .writerStopped)
    #expect(LogVerifier.verify(path: path).status == .whole)
    #expect(try readEvents(path).count == 2)
  }

  /// So many values: pairs, each of which is one besides its own two, and what is left.
  private static func pairs(_ count: Int) -> JSONValue {
    let pair: JSONValue = ["", 1]
    let rest: JSONValue = ""
    return .array(
      Array(repeating: pair, count: count / 3) + Array(repeating: rest, count: count % 3))
  }

  @Test(
    "an event of as many values as a line may hold is written and read, and one of one more is neither"
  )
  func valueLimit() throws {
    let folder = try TemporaryFolder()
    // Six of the envelope, whose data have one; the array's own elements.
    let most = LogFormat.valueLimit - 7
    let shapes: [(String, (Int) -> JSONValue)] = [
      ("zeros", { .array(Array(repeating: 0, count: $0)) }),
      ("objects", { .array(Array(repeating: [:], count: $0)) }),
      ("pairs", Self.pairs),
    ]
    for (name, make) in shapes {
      let path = folder.file("\(name).jsonl.gz")
      let writer = try LogWriter(creating: path, options: .init(durability: .none))
      let more = Self.event(0, ["text": make(most + 1)])
      #expect(
        #expect(throws: LogError.self) { try writer.append(more, isEffectAhead: false) }?.code
          == .tooManyValues(limit: LogFormat.valueLimit), "\(name)")
      let event = Self.event(0, ["text": make(most)])
      try writer.append(event, isEffectAhead: false)
      try writer.append(Self.event(1), isEffectAhead: false)
      _ = try writer.close()
      #expect(LogVerifier.verify(path: path).status == .whole, "\(name)")
      #expect(try readEvents(path) == [event, Self.event(1)], "\(name)")
      #expect(try LogWriter.reopening(path).reopened.nextSeq == 2, "\(name)")
    }
  }

  @Test("what was appended can be read at once, while the writer goes on")
  func readable() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(blockBytes: 300))
    for seq in 0..<10 {
      try writer.append(Self.event(seq), isEffectAhead: false)
      var reader = try LogReader(path: path)
      for _ in 0...seq { #expect(try reader.next() != nil) }
      #expect(try reader.next() == nil)
      #expect(reader.ending == .unfinished)
      #expect(LogVerifier.verify(path: path).status == .torn)
    }
    _ = try writer.close()
    #expect(LogVerifier.verify(path: path).status == .whole)
  }

  @Test("a paused log goes on behind its trailer, a finished one does not")
  func reopening() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    func stop(_ seq: Int, isFinal: Bool, state: AgentState) -> Event {
      Event(
        seq: seq, step: 0, type: .stop, runId: "run-1", t: seq * 1_000,
        data: Stop(
          reason: isFinal ? .success : .blocked, isFinal: isFinal,
          stateFormat: AgentState.format, stateDigest: state.digest.hex
        ).encoded)
    }
    let first = try LogWriter(creating: path)
    let long = JSONValue.string(String(repeating: "again ", count: 60))
    try first.append(Self.event(0, ["text": long]), isEffectAhead: false)
    try first.append(stop(1, isFinal: false, state: first.state), isEffectAhead: false)
    let paused = try first.close()
    for seq in [2, 5] {
      let (writer, reopened) = try LogWriter.reopening(path)
      #expect(reopened.wasClosed)
      #expect(reopened.nextSeq == seq)
      #expect(reopened.lastEvent?.type == .stop)
      #expect(reopened.cutAt == nil)
      try writer.append(
        Event(
          seq: seq, step: 0, type: .runResumed, runId: "run-1", t: seq * 1_000,
          data: RunResumed(why: "answered").encoded), isEffectAhead: false)
      try writer.append(Self.event(seq + 1, ["text": long]), isEffectAhead: false)
      try writer.append(
        stop(seq + 2, isFinal: seq == 5, state: writer.state), isEffectAhead: false)
      let closed = try writer.close()
      #expect(LogVerifier.verify(path: path, expectedDigest: closed.sealDigest).status == .whole)
      #expect(LogVerifier.verify(path: path, expectedDigest: paused.sealDigest).status == .damaged)
    }
    #expect(#expect(throws: LogError.self) { try LogWriter.reopening(path) }?.code == .runIsOver)
    #expect(try readEvents(path).map(\.seq) == Array(0...7))
  }

  @Test("gzip reads a log, and every line is JSON")
  func zcat() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: 5, count: 40)
    try writeLog(events, to: path, options: .init(blockBytes: 5000, durability: .none))
    let outcome = try await Command(program: "/bin/zcat", arguments: [path]).run()
    var seqs: [Int] = []
    for line in outcome.lines {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      if let seq = object["seq"] as? Int {
        seqs.append(seq)
      } else {
        #expect(object["mark"] is String)
      }
    }
    #expect(seqs == Array(0..<40))
  }
}
