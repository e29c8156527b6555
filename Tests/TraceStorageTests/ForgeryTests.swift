import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

/// A log taken apart, to be put together otherwise by somebody who knows the format.
struct Workshop {
  /// A block: its lines without the seal, and the seal.
  struct Block {
    var firstSeq: Int
    var lines: [[UInt8]]
    var seal: [UInt8]
  }

  var blocks: [Block] = []
  var nextSeq = 0

  init() {}

  init(_ path: String) throws {
    let reader = try BlockReader(file: LogFile.open(path, O_RDONLY))
    while let block = try reader.next() {
      var lines = reader.lines.split(separator: 0x0a).map { Array($0) }
      let firstSeq = Int(block.header?.firstSeq ?? 0)
      nextSeq = firstSeq
      if let seal = lines.popLast() {
        blocks.append(Block(firstSeq: firstSeq, lines: lines, seal: seal))
      }
    }
  }

  /// Which lines are events, as places in ``blocks``.
  var events: [(block: Int, line: Int)] {
    blocks.indices.flatMap { block in
      blocks[block].lines.indices.filter {
        blocks[block].lines[$0].starts(with: Array("{\"seq\"".utf8))
      }.map { (block, $0) }
    }
  }

  subscript(place: (block: Int, line: Int)) -> [UInt8] {
    get { blocks[place.block].lines[place.line] }
    set { blocks[place.block].lines[place.line] = newValue }
  }

  mutating func remove(_ place: (block: Int, line: Int)) {
    blocks[place.block].lines.remove(at: place.line)
  }

  /// Puts the members together with links and checksums that are in order; with new seals too, or
  /// with those that the blocks had.
  func write(to path: String, sealing: Bool, hasTrailer: Bool = true) throws {
    var writer = BlockWriter(deflater: try #require(Deflater(level: 6)))
    for (number, block) in blocks.enumerated() {
      writer.open(firstSeq: block.firstSeq)
      for line in block.lines { writer.add(line) }
      if sealing {
        writer.close(nextSeq: number + 1 < blocks.count ? blocks[number + 1].firstSeq : nextSeq)
      } else {
        writer.add(block.seal)
        writer.finishSealedMember(digest: .zero, sealLine: block.seal + [0x0a])
      }
    }
    if hasTrailer { writer.putTrailer(nextSeq: nextSeq) }
    try Data(writer.pending).write(to: URL(filePath: path))
  }
}

@Suite("A log that was altered by somebody who knows the format")
struct ForgeryTests {
  private static func run(_ runId: String, text: String) -> [Event] {
    var events = DamageTests.smallRun()
    for index in events.indices { events[index].runId = runId }
    events[3].data["goal"] = .string(text)
    var state = AgentState()
    for event in events.dropLast() { state.apply(event) }
    events[events.count - 1].data["stateDigest"] = .string(state.digest.hex)
    return events
  }

  private static let options = LogWriter.Options(
    blockBytes: 500, checkpointBytes: 2200, durability: .none)

  private struct Ground {
    let folder: TemporaryFolder
    let path: String
    let log: Workshop
    let other: Workshop
    let digest: Digest

    init() throws {
      folder = try TemporaryFolder()
      path = folder.file("forged.jsonl.gz")
      let own = folder.file("own.jsonl.gz")
      digest = try writeLog(
        ForgeryTests.run("run-1", text: "north"), to: own, options: ForgeryTests.options
      ).sealDigest
      try writeLog(
        ForgeryTests.run("run-1", text: "south"), to: folder.file("other.jsonl.gz"),
        options: ForgeryTests.options)
      log = try Workshop(own)
      other = try Workshop(folder.file("other.jsonl.gz"))
      try log.write(to: path, sealing: false)
      #expect(LogVerifier.verify(path: path, expectedDigest: digest).status == .whole)
    }

    /// What verification says of a forgery.
    func status(_ forged: Workshop, sealing: Bool, trailer: Bool = true) throws
      -> VerifyReport.Status
    {
      try forged.write(to: path, sealing: sealing, hasTrailer: trailer)
      return LogVerifier.verify(path: path).status
    }
  }

  @Test("an event deleted, put in twice, moved, exchanged or changed is found, new seals or not")
  func events() throws {
    let ground = try Ground()
    let places = ground.log.events
    try #require(places.count == 8 && ground.other.events.count == 8)
    var count = 0
    for sealing in [false, true] {
      for index in places.indices {
        func check(_ what: String, _ change: (inout Workshop) -> Void) throws {
          var forged = ground.log
          change(&forged)
          let status = try ground.status(forged, sealing: sealing)
          let known = LogVerifier.verify(path: ground.path, expectedDigest: ground.digest).status
          #expect(
            status == .damaged && known == .damaged,
            "event \(index) \(what), \(sealing ? "sealed anew" : "old seals")")
          count += 1
        }
        let place = places[index]
        try check("deleted") { $0.remove(place) }
        try check("put in twice") {
          $0.blocks[place.block].lines.insert($0[place], at: place.line)
        }
        let next = places[(index + 1) % places.count]
        try check("moved") { forged in
          (forged[place], forged[next]) = (forged[next], forged[place])
        }
        try check("changed") { forged in
          // The same number and form, another fact.
          forged[place].replace(Array("\"run-1\"".utf8), with: Array("\"run-2\"".utf8))
          forged[place].replace(Array("\"step\":".utf8), with: Array("\"step\":1".utf8))
        }
        if ground.other[place] != ground.log[place] {
          try check("exchanged with another log's") { $0[place] = ground.other[place] }
        }
      }
    }
    #expect(count >= 2 * 8 * 4 + 2)
  }

  @Test("a block removed, doubled, moved or taken from another log is found, links mended or not")
  func blocks() throws {
    let ground = try Ground()
    let count = ground.log.blocks.count
    try #require(count >= 4)
    for sealing in [false, true] {
      for index in 0..<count {
        func check(_ what: String, _ change: (inout Workshop) -> Void) throws {
          var forged = ground.log
          change(&forged)
          #expect(
            try ground.status(forged, sealing: sealing) == .damaged,
            "block \(index) \(what), \(sealing ? "sealed anew" : "old seals")")
        }
        try check("removed") { $0.blocks.remove(at: index) }
        try check("doubled") { $0.blocks.insert($0.blocks[index], at: index) }
        try check("moved") { $0.blocks.swapAt(index, (index + 1) % count) }
        if ground.other.blocks[index].lines != ground.log.blocks[index].lines {
          try check("from another log") { $0.blocks[index] = ground.other.blocks[index] }
        }
      }
    }
  }

  @Test("a tail cut at a block's end is damage under the plain name, and else known by the digest")
  func tails() throws {
    let ground = try Ground()
    for count in 0..<ground.log.blocks.count {
      var forged = ground.log
      forged.blocks.removeSubrange(count...)
      forged.nextSeq = ground.log.blocks[count].firstSeq
      for sealing in [false, true] {
        let plain = try ground.status(forged, sealing: sealing, trailer: false)
        #expect(plain == (count == 0 ? .unreadable : .damaged))
      }
      // As a writer that died leaves it, it looks unfinished.
      let open = ground.folder.file("cut\(count).jsonl.gz.open")
      try forged.write(to: open, sealing: false, hasTrailer: false)
      #expect(LogVerifier.verify(path: open).status == .torn)
      #expect(
        LogVerifier.verify(path: open, expectedDigest: ground.digest).status
          == (count == 0 ? .unreadable : .damaged))
      // With a trailer behind it, it lacks its summary.
      let status = try ground.status(forged, sealing: false)
      #expect(status != .whole && status != .torn, "\(count) blocks and a trailer: \(status)")
    }
  }

  @Test("a run written anew is whole: only who knows the digest sees that it is another")
  func writtenAnew() throws {
    let ground = try Ground()
    let path = ground.folder.file("other.jsonl.gz")
    #expect(LogVerifier.verify(path: path).status == .whole)
    let report = LogVerifier.verify(path: path, expectedDigest: ground.digest)
    #expect(report.status == .damaged)
    #expect(report.findings.contains { $0.message.contains("written anew") })
  }
}

extension [UInt8] {
  /// Replaces the first occurrence of some bytes.
  fileprivate mutating func replace(_ old: [UInt8], with new: [UInt8]) {
    guard let range = firstRange(of: old) else { return }
    replaceSubrange(range, with: new)
  }
}
