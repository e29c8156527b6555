import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Lines of earlier blocks, read again")
struct EarlierLinesTests {
  /// A log of several blocks of 200 KB, read to its end.
  private static func log(in folder: TemporaryFolder) throws -> (
    path: String, reader: LogReader, lines: [[UInt8]]
  ) {
    var random = Seeded(seed: 71)
    let path = folder.file("a.jsonl.gz")
    var events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r",
        data: RunStarted(agentName: "a", goal: "g").encoded)
    ]
    while events.count < 400 {
      let text = (0..<Int.random(in: 10...700, using: &random))
        .map { _ in String(UInt16.random(in: 0...999, using: &random)) }.joined(separator: " ")
      events.append(
        Event(
          seq: events.count, step: 1, type: .humanReplied, runId: "r", data: ["text": .string(text)]
        ))
    }
    try writeLog(events, to: path, options: .init(blockBytes: 200_000, durability: .none))
    var reader = try LogReader(path: path, options: .init(cacheBytes: 0))
    var lines: [[UInt8]] = []
    while let head = try reader.advance() {
      if case .event = head { lines.append(Array(reader.cursor.bytes)) }
    }
    try #require(lines.count == events.count && reader.cursor.index.count > 3)
    return (path, reader, lines)
  }

  private static let isFast = WholeInflater() != nil

  @Test(
    "each is the same as at first, in whatever order, and no more is inflated than stands before it"
  )
  func exact() throws {
    let folder = try TemporaryFolder()
    let (_, reader, lines) = try Self.log(in: folder)
    var random = Seeded(seed: 72)
    var store = LineStore(limitBytes: 0)
    let places = (0..<600).map { _ in Int.random(in: lines.indices, using: &random) }
    for seq in places {
      let line = try #require(try reader.cursor.line(ofEvent: seq, into: &store))
      #expect(line.elementsEqual(lines[seq]), "event \(seq)")
    }
    // Whole blocks, each time another, would be 200,000 bytes each.
    if Self.isFast { #expect(store.rereadBytes < places.count * 140_000, "\(store.rereadBytes)") }
    #expect(try reader.cursor.line(ofEvent: lines.count, into: &store) == nil)
  }

  @Test("a block that was changed meanwhile gives the lines that it had, or an error")
  func changed() throws {
    let folder = try TemporaryFolder()
    let (path, reader, lines) = try Self.log(in: folder)
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    let bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let ends = reader.cursor.index.map(\.offset)
    var random = Seeded(seed: 73)
    var (refused, read) = (0, 0)
    for _ in 0..<300 {
      let place = Int.random(in: 40..<ends[2], using: &random)
      let seq = Int.random(in: 0..<reader.cursor.index[2].firstSeq, using: &random)
      pwrite(
        file.fileDescriptor, [bytes[place] ^ 1 << UInt8.random(in: 0..<8, using: &random)], 1,
        off_t(place))
      defer { pwrite(file.fileDescriptor, [bytes[place]], 1, off_t(place)) }
      // Nothing of an earlier time may be used.
      reader.cursor.rereader = nil
      reader.cursor.openBlock = nil
      var store = LineStore(limitBytes: 0)
      do throws(LogError) {
        let line = try reader.cursor.line(ofEvent: seq, into: &store)
        #expect(line?.elementsEqual(lines[seq]) == true, "byte \(place), event \(seq)")
        read += 1
      } catch {
        #expect(error.isDamage, "\(error)")
        refused += 1
      }
    }
    #expect(refused > 50 && read > 50)
  }

  @Test("lines that are kept are the same, whether their block was handed over or copied")
  func kept() throws {
    let folder = try TemporaryFolder()
    let (path, _, lines) = try Self.log(in: folder)
    for limit in [0, 300_000, 10_000_000] {
      let cursor = try LogReader(path: path).cursor
      var store = LineStore(limitBytes: limit)
      var keptBytes = 0
      let blocks = try BlockReader(file: cursor.blocks.file)
      var seq = 0
      while let next = try blocks.next(), next.kind == .whole {
        var places: [LineStore.Place] = []
        var start = 0
        while let length = blocks.lines.lineLength(from: start) {
          let line = UnsafeBufferPointer(rebasing: blocks.lines[start..<(start + length)])
          if case .event? = try? LineHead(of: line) {
            places.append(LineStore.Place(seq: seq, range: start..<(start + length)))
            seq += 1
          }
          start += length + 1
        }
        keptBytes += blocks.textCount
        store.keepLines(of: blocks, places: places)
      }
      let found = lines.indices.filter { seq in
        guard let line = store.line(seq: seq) else { return false }
        #expect(line.elementsEqual(lines[seq]), "event \(seq), limit \(limit)")
        return true
      }
      #expect(!found.isEmpty && found == Array(found[0]..<lines.count), "limit \(limit)")
      if limit > keptBytes { #expect(found.count == lines.count) }
    }
  }
}
