import AgentTrace
import CZlib
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

/// Makes logs that no writer would write: any lines, in members and with seals that are in order.
struct ForgedLog {
  private var blocks: BlockWriter
  private(set) var bytes: [UInt8] = []
  private var nextSeq = 0

  init() throws {
    blocks = BlockWriter(deflater: try #require(Deflater(level: 6)))
  }

  /// A block of lines; `events` of them are events.
  mutating func addBlock(_ lines: [[UInt8]], events: Int) {
    blocks.open(firstSeq: nextSeq)
    for line in lines { blocks.add(line) }
    nextSeq += events
    blocks.close(nextSeq: nextSeq)
    take()
  }

  /// Bytes that are no member.
  mutating func addStray(_ stray: [UInt8]) { bytes += stray }

  mutating func addTrailer() {
    blocks.putTrailer(nextSeq: nextSeq)
    take()
  }

  private mutating func take() {
    bytes += blocks.pending
    blocks.pending = []
  }

  func write(to path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

  /// The line of an event.
  static func line(
    _ seq: Int, _ data: String, type: String = "human_replied"
  ) -> [UInt8] {
    Array(
      "{\"seq\":\(seq),\"step\":0,\"type\":\"\(type)\",\"runId\":\"r\",\"t\":0,\"data\":\(data)}"
        .utf8)
  }
}

@Suite("A log made to harm its reader")
struct HostileLogTests {
  static let long = String(repeating: "x", count: 300)

  /// Events by their data; the last one must be refused.
  struct Forgery: Sendable, CustomTestStringConvertible {
    var name: String
    var lines: [(type: String, data: String)]
    var code: LogError.Code
    var testDescription: String { name }
  }

  /// Data of so many zeros.
  static func zeros(_ count: Int) -> String {
    "{\"x\":[" + String(repeating: "0,", count: count - 1) + "0]}"
  }

  static let forgeries: [Forgery] = [
    Forgery(
      name: "a reference to a later event",
      lines: [("human_replied", #"{"text":{"$same":"1/text"}}"#)], code: .badReference("1/text")),
    Forgery(
      name: "a reference to its own event",
      lines: [("human_replied", #"{"a":"\#(long)","text":{"$same":"0/a"}}"#)],
      code: .badReference("0/a")),
    Forgery(
      name: "a reference to nothing",
      lines: [
        ("human_replied", #"{"text":"\#(long)"}"#), ("human_replied", #"{"text":{"$same":"0/b"}}"#),
      ], code: .badReference("0/b")),
    Forgery(
      name: "a reference to a reference",
      lines: [
        ("human_replied", #"{"text":"\#(long)"}"#),
        ("human_replied", #"{"text":{"$same":"0/text"}}"#),
        ("human_replied", #"{"text":{"$same":"1/text"}}"#),
      ], code: .badReference("1/text")),
    Forgery(
      name: "a reference to a short string",
      lines: [
        ("human_replied", #"{"text":"x"}"#), ("human_replied", #"{"text":{"$same":"0/text"}}"#),
      ],
      code: .badReference("0/text")),
    Forgery(
      name: "a reference to an object",
      lines: [
        ("human_replied", #"{"text":{"a":"\#(long)"}}"#),
        ("human_replied", #"{"text":{"$same":"0/text"}}"#),
      ], code: .badReference("0/text")),
    Forgery(
      name: "a reference into a stop",
      lines: [
        ("stop", #"{"answer":"\#(long)","final":false,"reason":"blocked"}"#),
        ("human_replied", #"{"text":{"$same":"0/answer"}}"#),
      ], code: .badReference("0/answer")),
    Forgery(
      name: "a reference in a stop",
      lines: [
        ("human_replied", #"{"text":"\#(long)"}"#),
        ("stop", #"{"answer":{"$same":"0/text"},"reason":"success"}"#),
      ], code: .badReference("0/text")),
    Forgery(
      name: "a reference with a sign", lines: [("human_replied", #"{"text":{"$same":"-1/a"}}"#)],
      code: .badReference("-1/a")),
    Forgery(
      name: "a reference with a huge number",
      lines: [("human_replied", #"{"text":{"$same":"99999999999999999999999/a"}}"#)],
      code: .badReference("99999999999999999999999/a")),
    Forgery(
      name: "a reference beside another key",
      lines: [("human_replied", #"{"text":{"$same":"0/a","b":1}}"#)],
      code: .badLine("“$same” stands beside other keys")),
    Forgery(
      name: "a list outside a packet", lines: [("human_replied", #"{"text":{"$list":[]}}"#)],
      code: .badLine("“$list” stands where none may stand")),
    Forgery(
      name: "a list deep in a packet",
      lines: [("context_built", #"{"stateSummary":{"observations":{"$list":[]}}}"#)],
      code: .badLine("“$list” stands where none may stand")),
    Forgery(
      name: "items that are not there",
      lines: [("context_built", #"{"observations":{"$list":[[0,1]]}}"#)],
      code: .badReference("[0,1]")),
    Forgery(
      name: "items that come later in the same list",
      lines: [("context_built", #"{"observations":{"$list":["a",[0,2],"b"]}}"#)],
      code: .badReference("[0,2]")),
    Forgery(
      name: "a run of items beyond every number",
      lines: [("context_built", #"{"observations":{"$list":[[9223372036854775807,1]]}}"#)],
      code: .badLine("“$list” is not of its form")),
    Forgery(
      name: "a run of more items than there may be",
      lines: [("context_built", #"{"observations":{"$list":["a",[0,9223372036854775807]]}}"#)],
      code: .badLine("“$list” is not of its form")),
    Forgery(
      name: "a run of no items",
      lines: [("context_built", #"{"observations":{"$list":["a",[0,0]]}}"#)],
      code: .badLine("“$list” is not of its form")),
    Forgery(
      name: "a pair of three", lines: [("context_built", #"{"observations":{"$list":[[0,1,2]]}}"#)],
      code: .badLine("“$list” is not of its form")),
    Forgery(
      name: "text that repeats itself out of all proportion",
      lines: [
        ("human_replied", #"{"text":"\#(String(repeating: "y", count: 1 << 20))"}"#),
        (
          "human_replied",
          #"{"text":[\#(repeatElement(#"{"$same":"0/text"}"#, count: 70).joined(separator: ","))]}"#
        ),
      ], code: .expandsTooFar(limitBytes: LogFormat.expandedLimitBytes)),
    Forgery(
      name: "items that repeat themselves out of all proportion",
      lines: [
        (
          "context_built",
          #"{"observations":{"$list":["\#(String(repeating: "y", count: 1 << 20))"]}}"#
        ),
        (
          "context_built",
          #"{"observations":{"$list":[\#(repeatElement("[0,1]", count: 70).joined(separator: ","))]}}"#
        ),
      ], code: .expandsTooFar(limitBytes: LogFormat.expandedLimitBytes)),
    Forgery(
      name: "more values than a reader makes of a line",
      lines: [("human_replied", zeros(LogFormat.readValueLimit))],
      code: .tooManyValues(limit: LogFormat.readValueLimit)),
    Forgery(
      name: "empty objects without end",
      lines: [
        (
          "tidings",
          "{\"x\":[" + repeatElement("{}", count: LogFormat.readValueLimit).joined(separator: ",")
            + "]}"
        )
      ], code: .tooManyValues(limit: LogFormat.readValueLimit)),
    Forgery(
      name: "lists that double at each step",
      lines: [
        (
          "context_built",
          #"{"observations":{"$list":[\#((0..<20).map { "\"\($0)\"" }.joined(separator: ","))]}}"#
        )
      ]
        + [
          (
            "context_built",
            #"{"observations":{"$list":[\#(repeatElement("[0,20]", count: 60_000).joined(separator: ","))]}}"#
          )
        ],
      code: .expandsTooFar(limitBytes: LogFormat.expandedLimitBytes)),
    Forgery(
      name: "bytes that are no base64", lines: [("human_replied", #"{"text":{"$bytes":"a"}}"#)],
      code: .badLine("“$bytes” is not base64")),
    Forgery(
      name: "a cut without its head", lines: [("human_replied", #"{"text":{"$cut":{"bytes":1}}}"#)],
      code: .badLine("“$cut” is not of its form")),
    Forgery(
      name: "a cut of fewer bytes than none",
      lines: [("human_replied", #"{"text":{"$cut":{"bytes":-1,"head":""}}}"#)],
      code: .badLine("“$cut” is not of its form")),
    Forgery(
      name: "keys that stand twice", lines: [("human_replied", #"{"text":1,"text":2}"#)],
      code: .badJSON(.duplicateKey("text"))),
    Forgery(
      name: "half a surrogate pair", lines: [("human_replied", #"{"text":"\ud800"}"#)],
      code: .badJSON(.loneSurrogate)),
    Forgery(
      name: "a raw NUL", lines: [("human_replied", "{\"text\":\"\u{0}\"}")],
      code: .badJSON(.controlCharacter)),
    Forgery(
      name: "nesting without end",
      lines: [
        (
          "human_replied",
          "{\"text\":" + String(repeating: "[", count: 127) + String(repeating: "]", count: 127)
            + "}"
        )
      ], code: .badJSON(.tooDeep(limit: LogFormat.depthLimit))),
    Forgery(
      name: "a line beyond the limit",
      lines: [
        (
          "human_replied",
          "{\"text\":\"\(String(repeating: "z", count: LogFormat.lineLimitBytes))\"}"
        )
      ], code: .lineTooLong(limitBytes: LogFormat.lineLimitBytes)),
    Forgery(
      name: "a format of tomorrow", lines: [("run_started", #"{"formatVersion":3}"#)],
      code: .newerFormat(3)),
  ]

  @Test("is refused with a reason and its place", arguments: forgeries)
  func forged(_ forgery: Forgery) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    let lines = forgery.lines.enumerated().map {
      ForgedLog.line($0.offset, $0.element.data, type: $0.element.type)
    }
    log.addBlock(lines, events: lines.count)
    log.addTrailer()
    let path = folder.file("a.jsonl.gz")
    try log.write(to: path)
    var reader = try LogReader(path: path)
    var read = 0
    let error = #expect(throws: LogError.self) {
      while try reader.next() != nil { read += 1 }
    }
    #expect(error?.code == forgery.code)
    #expect(read == lines.count - 1)
    if error?.isDamage == true {
      #expect(error?.block == 0)
      #expect(error?.offset == 0)
      #expect(LogVerifier.verify(path: path).status == .damaged)
    } else {
      #expect(LogVerifier.verify(path: path).status == .unreadable)
    }
  }

  @Test("bytes that are not UTF-8 are refused")
  func invalidUTF8() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    var line = ForgedLog.line(0, #"{"text":"?"}"#)
    let place = try #require(line.firstIndex(of: UInt8(ascii: "?")))
    line[place] = 0xff
    log.addBlock([line], events: 1)
    log.addTrailer()
    try log.write(to: folder.file("a.jsonl.gz"))
    let error = #expect(throws: LogError.self) { try readEvents(folder.file("a.jsonl.gz")) }
    #expect(error?.code == .badJSON(.invalidUTF8))
  }

  @Test("a block that inflates without end is refused before it fills the memory")
  func bomb() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let deflater = try #require(Deflater(level: 9))
    var bytes = MemberHeader(firstSeq: 0, previousLength: 0, previousCRC: 0).encoded
    let zeros = [UInt8](repeating: 0x20, count: 1 << 20)
    for _ in 0..<40 { deflater.deflate(zeros, flush: .none, into: &bytes) }
    deflater.deflate([], flush: .finish, into: &bytes)
    try Data(bytes).write(to: URL(filePath: folder.file("a.jsonl.gz")))
    let error = #expect(throws: LogError.self) { try readEvents(folder.file("a.jsonl.gz")) }
    #expect(error?.code == .blockTooLarge(limitBytes: LogFormat.blockLimitBytes))
  }

  @Test("empty members in their thousands are passed over")
  func emptyMembers() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    log.addBlock([ForgedLog.line(0, #"{"text":"a"}"#)], events: 1)
    for _ in 0..<(isLongRun ? 100_000 : 5_000) { log.addTrailer() }
    try log.write(to: folder.file("a.jsonl.gz"))
    #expect(try readEvents(folder.file("a.jsonl.gz")).count == 1)
  }

  @Test("stray bytes are named, and what stands behind them can still be read")
  func strayBytes() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    log.addBlock([ForgedLog.line(0, #"{"text":"a"}"#)], events: 1)
    let offset = log.bytes.count
    log.addStray(Array("stray".utf8))
    log.addBlock([ForgedLog.line(1, #"{"text":"b"}"#)], events: 1)
    log.addTrailer()
    let path = folder.file("a.jsonl.gz")
    try log.write(to: path)
    let error = #expect(throws: LogError.self) { try readEvents(path) }
    #expect(error?.code == .strayBytes)
    #expect(error?.offset == offset)
    #expect(error?.intactEvents == 1)
    #expect(try readEvents(path, options: .init(skipsDamaged: true)).map(\.seq) == [0, 1])
  }

  @Test(
    "a wrong length of the text is found though its checksum is right", arguments: [0, 1, 1 << 31])
  func wrongLength(offset: UInt32) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    log.addBlock([ForgedLog.line(0, #"{"text":"a"}"#)], events: 1)
    let path = folder.file("a.jsonl.gz")
    var bytes = log.bytes
    let length = Array(bytes.suffix(4)).littleEndian(UInt32.self, at: 0)
    var wrong: [UInt8] = []
    wrong.appendLittleEndian(offset == 0 ? 0 : length &+ offset)
    bytes.replaceSubrange((bytes.count - 4)..., with: wrong)
    try Data(bytes).write(to: URL(filePath: path))
    let error = #expect(throws: LogError.self) { try readEvents(path) }
    #expect(error?.code == .badChecksum && error?.block == 0 && error?.offset == 0)
  }

  @Test("a file that is empty, or no log at all, is refused", arguments: ["", "text", "\u{1f}"])
  func noLog(content: String) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try Data(content.utf8).write(to: URL(filePath: path))
    #expect(throws: LogError.self) { try readEvents(path) }
    #expect(LogVerifier.verify(path: path).status == .unreadable)
  }

  /// Logs of all these kinds by name, each with what is wrong with it.
  private static func hostileFiles(in folder: TraceStorageTests.TemporaryFolder) throws {
    for (number, forgery) in forgeries.enumerated() {
      var log = try ForgedLog()
      let lines = forgery.lines.enumerated().map {
        ForgedLog.line($0.offset, $0.element.data, type: $0.element.type)
      }
      log.addBlock(lines, events: lines.count)
      log.addTrailer()
      try log.write(to: folder.file("forged-\(number).jsonl.gz"))
    }
    let deflater = try #require(Deflater(level: 9))
    var bomb = MemberHeader(firstSeq: 0, previousLength: 0, previousCRC: 0).encoded
    let spaces = [UInt8](repeating: 0x20, count: 1 << 20)
    for _ in 0..<1_000 { deflater.deflate(spaces, flush: .none, into: &bomb) }
    deflater.deflate([], flush: .finish, into: &bomb)
    try Data(bomb).write(to: URL(filePath: folder.file("bomb.jsonl.gz")))
    var empty = try ForgedLog()
    empty.addBlock([ForgedLog.line(0, #"{"text":"a"}"#)], events: 1)
    for _ in 0..<100_000 { empty.addTrailer() }
    try empty.write(to: folder.file("empty-members.jsonl.gz"))
    var garbage = try ForgedLog()
    for number in 0..<300 {
      garbage.addBlock([ForgedLog.line(number, #"{"text":"a"}"#)], events: 1)
      // Looks like a header each time, and never is one.
      garbage.addStray(Array(repeatElement(MemberHeader.fixedBytes, count: 20).joined()))
    }
    try garbage.write(to: folder.file("garbage.jsonl.gz"))
    try Data().write(to: URL(filePath: folder.file("zero.jsonl.gz")))
    // Of the program as users have it: what a reader may be asked for takes seconds unoptimised.
    if isLongRun {
      try costlyFiles(in: folder)
      try vastFiles(in: folder)
      try nestedFile(in: folder)
    }
  }

  /// Logs of at most a megabyte that ask for as much work as they can.
  private static func costlyFiles(in folder: TraceStorageTests.TemporaryFolder) throws {
    let count = 60_000
    let items = (0..<count).map { "\"i\($0)\"" }.joined(separator: ",")
    let scattered = (0..<count).map { "[\($0 * 7919 % count),1]" }.joined(separator: ",")
    let text = String(repeating: "x", count: 7 << 20)
    let files: [(name: String, first: String, later: Int, line: (Int) -> String)] = [
      ("same-list", items, 12_000, { _ in "[0,\(count)]" }),
      ("moving-list", items, 12_000, { "[\($0 % 2 + 1),\(count - 10)]" }),
      ("scattered-list", items, 6, { _ in scattered }),
      (
        "long-text", "\"\(text)\"", 20_000,
        { _ in
          Array(repeating: #"{"$same":"1/observations/0"}"#, count: 8).joined(separator: ",")
        }
      ),
    ]
    for file in files {
      var log = try ForgedLog()
      func packet(_ seq: Int, _ list: String, plain: Bool = false) -> [UInt8] {
        let data =
          plain ? "{\"observations\":[\(list)]}" : "{\"observations\":{\"$list\":[\(list)]}}"
        return ForgedLog.line(seq, data, type: plain ? "human_replied" : "context_built")
      }
      let isText = file.name == "long-text"
      var lines = [
        ForgedLog.line(
          0, #"{"agent":{"name":"a"},"formatVersion":2,"goal":"g"}"#, type: "run_started"),
        packet(1, file.first, plain: isText),
      ]
      for seq in 2..<(2 + file.later) {
        lines.append(packet(seq, file.line(seq), plain: isText))
        guard lines.count >= 3_000 else { continue }
        log.addBlock(lines, events: lines.count)
        lines = []
      }
      if !lines.isEmpty { log.addBlock(lines, events: lines.count) }
      log.addTrailer()
      try log.write(to: folder.file("costly-\(file.name).jsonl.gz"))
    }
  }

  /// Logs of less than a megabyte whose lines come to as much as they can.
  private static func vastFiles(in folder: TraceStorageTests.TemporaryFolder) throws {
    func list(_ item: String, _ count: Int) -> String {
      "{\"x\":[" + Array(repeating: item, count: count).joined(separator: ",") + "]}"
    }
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let lines: [(name: String, data: String, count: Int)] = [
      ("zeros", zeros(262_000), 160),
      ("deep", list(deep, 4_000), 160),
      ("escapes", "{\"x\":\"" + String(repeating: "\\n", count: 4_000_000) + "\"}", 16),
      ("text", "{\"x\":\"" + String(repeating: "a", count: 8_000_000) + "\"}", 16),
      ("digits", "{\"x\":" + String(repeating: "9", count: 8_000_000) + "}", 16),
    ]
    for (name, data, count) in lines {
      var log = try ForgedLog()
      for seq in 0..<count {
        log.addBlock([ForgedLog.line(seq, data, type: "tidings")], events: 1)
      }
      log.addTrailer()
      #expect(log.bytes.count < 1_000_000)
      try log.write(to: folder.file("vast-\(name).jsonl.gz"))
    }
  }

  /// A log of which each header begins what inflates to the end of the file.
  private static func nestedFile(in folder: TraceStorageTests.TemporaryFolder) throws {
    let bytes = try LogVolumeTests.nestedMembers(20_000, textBytes: 34 << 20)
    try Data(bytes).write(to: URL(filePath: folder.file("nested.jsonl.gz")))
  }

  @Test("is judged in bounded time and memory by every verb that reads it", .timeLimit(.minutes(5)))
  func bounds() async throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    try Self.hostileFiles(in: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names.count > 30)
    let verbs =
      ["verify", "repair --out new.jsonl.gz"]
      + (isLongRun
        ? ["show", "show --json", "show --json --skip-damaged", "replay --json --event 300"] : [])
    for name in names {
      for verb in verbs {
        // 400 MB of address space, of which the program and its libraries take about a third.
        let outcome = try await Command(
          program: "/bin/bash",
          arguments: [
            "-c", "ulimit -v 400000; exec \"$0\" \(verb) \(name) >/dev/null", Binary.path,
          ],
          folder: folder.path, timeoutSeconds: 30
        ).run(status: nil)
        #expect(!outcome.isTimedOut && (0...2).contains(outcome.status), "\(name): \(outcome)")
        #expect(outcome.status == 0 || !outcome.errors.isEmpty || verb == "verify", "\(outcome)")
        unlink(folder.file("new.jsonl.gz"))
        unlink(folder.file("new.jsonl.gz.open"))
      }
    }
  }

  @Test("once a log has asked for too much, who reads on behind it does no more of that")
  func costlyLists() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    let items = (0..<10_000).map { "\"i\($0)\"" }.joined(separator: ",")
    let again = Array(repeating: "[0,10000]", count: 90).joined(separator: ",")
    var lines = [
      ForgedLog.line(
        0, #"{"agent":{"name":"a"},"formatVersion":2,"goal":"g"}"#, type: "run_started")
    ]
    for seq in 1..<100 {
      let list = seq == 1 ? items : again
      lines.append(
        ForgedLog.line(seq, "{\"observations\":{\"$list\":[\(list)]}}", type: "context_built"))
    }
    log.addBlock(lines, events: lines.count)
    log.addTrailer()
    let path = folder.file("costly.jsonl.gz")
    try log.write(to: path)
    let reader = try LogReader(path: path)
    var (state, refused) = (AgentState(), 0)
    while try reader.cursor.advance() != nil {
      do { try reader.cursor.fold(into: &state) } catch { refused += 1 }
    }
    #expect(refused > 70)
    #expect(reader.cursor.foldedLists.work.items < 20_000_000)
    #expect(LogVerifier.verify(path: path).status == .damaged)
  }

  @Test("items that are said over and over are too many at last, for who writes and who reads")
  func saidItems() {
    var work = ReadingWork()
    work.add(said: LogFormat.listItemLimit)
    #expect(!work.isTooMuch(fileBytes: { 0 }))
    #expect(work.isTooMuch(said: 1, fileBytes: { 0 }))
    #expect(!work.isTooMuch(said: 32 * 11_000, fileBytes: { 11_000 }))
    #expect(work.isTooMuch(said: 32 * 11_000 + 1, fileBytes: { 11_000 }))
    #expect(work.mayGrow(byItems: 0, hashes: 0, said: 0, fileBytes: 0))
    #expect(!work.mayGrow(byItems: 0, hashes: 0, said: 1, fileBytes: 0))
  }

  @Test("once a log has said too much in its lists, who reads on behind it takes no more of it")
  func saidOver() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    var lines = [
      ForgedLog.line(
        0, #"{"agent":{"name":"a"},"formatVersion":2,"goal":"g"}"#, type: "run_started")
    ]
    let items = Array(repeating: "0", count: 200_000).joined(separator: ",")
    for seq in 1..<12 {
      lines.append(
        ForgedLog.line(seq, "{\"observations\":{\"$list\":[\(items)]}}", type: "context_built"))
    }
    log.addBlock(lines, events: lines.count)
    log.addTrailer()
    let path = folder.file("said.jsonl.gz")
    try log.write(to: path)
    let reader = try LogReader(path: path)
    var (state, refused) = (AgentState(), 0)
    while try reader.cursor.advance() != nil {
      do { try reader.cursor.fold(into: &state) } catch { refused += 1 }
    }
    #expect((3...6).contains(refused))
    #expect(reader.cursor.foldedLists.work.said < 1_500_000)
  }

  @Test(
    "lines that were made to fill the memory are each refused, and the others of their block are read"
  )
  func manyValues() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    var lines: [[UInt8]] = []
    // A million values take two megabytes at least; what follows is not looked at.
    let large = Self.zeros(LogFormat.readValueLimit + 1)
    for seq in 0..<60 {
      lines.append(
        seq % 2 == 0
          ? ForgedLog.line(seq, large, type: "tidings")
          : ForgedLog.line(seq, #"{"text":"a"}"#))
    }
    for start in stride(from: 0, to: 60, by: 20) {
      log.addBlock(Array(lines[start..<(start + 20)]), events: 20)
    }
    log.addTrailer()
    let path = folder.file("many.jsonl.gz")
    try log.write(to: path)
    let read = try readEvents(path, options: .init(skipsDamaged: true))
    #expect(read.map(\.seq) == Array(stride(from: 1, to: 60, by: 2)))
    let report = LogVerifier.verify(path: path)
    #expect(report.status == .damaged)
    #expect(
      report.findings.filter { $0.message.contains("more than \(LogFormat.readValueLimit) values") }
        .count
        == min(30, VerifyReport.findingLimit))
  }

  @Test("a line of an earlier writer, which had no limit of values, is read and whole")
  func earlierValues() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    let data = Self.zeros(2 * LogFormat.valueLimit)
    log.addBlock(
      [ForgedLog.line(0, data, type: "tidings"), ForgedLog.line(1, #"{"text":"a"}"#)], events: 2)
    log.addTrailer()
    let path = folder.file("earlier.jsonl.gz")
    try log.write(to: path)
    let read = try readEvents(path)
    #expect(read.count == 2 && read[0].data["x"]?.arrayValue?.count == 2 * LogFormat.valueLimit)
    let report = LogVerifier.verify(path: path)
    #expect(!report.findings.contains { $0.message.contains("values") })
  }

  @Test("values are counted in the text as they are in the value, and no sooner refused")
  func countedValues() throws {
    let texts = [
      "[]", "{}", "[ ]", "[[],[]]", "[{},{\"a\":{}}]", "[\"[,{\",\"\\\"[,\"]",
      "{\"a,b\":[1,2,[3]]}",
      "[ [ 1 , 2 ] , { \"a\" : [ ] } ]", "[\"\\\\\",0]",
    ]
    for text in texts {
      let count = CanonicalJSON.valueCount(of: try JSONValue(parsing: text))
      // Text too short for so many is not looked at.
      let padded = Array((String(repeating: " ", count: 2 * count + 2) + text).utf8)
      padded.withUnsafeBufferPointer { bytes in
        #expect(!bytes.holdsMoreValues(than: count), "\(text)")
        #expect(count == 0 || bytes.holdsMoreValues(than: count - 1), "\(text)")
        #expect(bytes.valueCount(upTo: .max) == count, "\(text)")
      }
    }
  }

  @Test("types, marks and keys of tomorrow are kept")
  func unknown() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var log = try ForgedLog()
    let line =
      #"{"seq":0,"step":0,"type":"dream","runId":"r","t":0,"data":{"b":[1,{"$$same":2}]},"mood":{"$$list":1}}"#
    let mark = #"{"mark":"omen","data":[{"$$cut":1}],"more":true}"#
    log.addBlock([Array(line.utf8), Array(mark.utf8)], events: 1)
    log.addTrailer()
    try log.write(to: folder.file("a.jsonl.gz"))
    var reader = try LogReader(path: folder.file("a.jsonl.gz"))
    let event = Event(
      seq: 0, step: 0, type: EventType(rawValue: "dream"), runId: "r",
      data: ["b": [1, ["$same": 2]]], extra: ["mood": ["$list": 1]])
    #expect(try reader.nextLine() == .event(event))
    #expect(
      try reader.nextLine()
        == .mark(Mark(name: "omen", data: [["$cut": 1]], extra: ["more": true])))
  }
}
