import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

/// A log whose lines somebody changes who knows the format: links, checksums and seals are made anew.
struct ForgedLog {
  private struct Block {
    var firstSeq: Int
    var lines: [[UInt8]]
  }

  /// A value in an event.
  struct Place {
    fileprivate var block: Int
    fileprivate var line: Int
    /// The event it stands in.
    var seq: Int
    var type: EventType
    /// Keys from the line on: `data` first for data.
    var path: [String]
    var value: JSONValue
  }

  private var blocks: [Block] = []
  private var nextSeq = 0

  init(_ path: String) throws {
    let reader = try BlockReader(file: LogFile.open(path, O_RDONLY))
    while let block = try reader.next() {
      let lines = reader.lines.split(separator: 0x0a).map { Array($0) }
      nextSeq = Int(block.header?.firstSeq ?? 0)
      // The last line is the seal.
      if !lines.isEmpty { blocks.append(Block(firstSeq: nextSeq, lines: lines.dropLast())) }
    }
  }

  /// Every scalar of every event, but for what no reader can hold against anything: the time of day, and
  /// how long something took.
  func places() throws -> [Place] {
    var places: [Place] = []
    for (number, block) in blocks.enumerated() {
      for (index, line) in block.lines.enumerated() {
        let object = try #require(
          JSONValue(parsing: String(decoding: line, as: UTF8.self)).objectValue)
        guard let seq = object["seq"]?.intValue, let type = object["type"]?.stringValue else {
          continue
        }
        for (path, value) in JSONValue.object(object).scalars() {
          guard let first = path.first, !["seq", "time"].contains(first), !path.contains("$list"),
            path.last != "elapsedMicroseconds", path.last != "$same"
          else { continue }
          places.append(
            Place(
              block: number, line: index, seq: seq, type: EventType(rawValue: type), path: path,
              value: value))
        }
      }
    }
    return places
  }

  /// Puts another value in a place; `nil` takes the key away.
  mutating func put(_ value: JSONValue?, at place: Place) throws {
    let line = String(decoding: blocks[place.block].lines[place.line], as: UTF8.self)
    let object = try #require(
      try JSONValue(parsing: line).replacing(place.path[...], by: value)?.objectValue)
    var bytes: [UInt8] = []
    for key in ["seq", "step", "type", "runId", "time", "t", "data"] {
      guard let value = object[key] else { continue }
      bytes += bytes.isEmpty ? Array("{".utf8) : Array(",".utf8)
      bytes += Array("\"\(key)\":".utf8) + CanonicalJSON.encode(value)
    }
    blocks[place.block].lines[place.line] = bytes + Array("}".utf8)
  }

  func write(to path: String) throws {
    var writer = BlockWriter(deflater: try #require(Deflater(level: 6)))
    for (number, block) in blocks.enumerated() {
      writer.open(firstSeq: block.firstSeq)
      for line in block.lines { writer.add(line) }
      writer.close(nextSeq: number + 1 < blocks.count ? blocks[number + 1].firstSeq : nextSeq)
    }
    writer.putTrailer(nextSeq: nextSeq)
    try Data(writer.pending).write(to: URL(filePath: path))
  }
}

extension JSONValue {
  fileprivate func scalars(at path: [String] = []) -> [(path: [String], value: JSONValue)] {
    switch self {
    case .object(let object): object.flatMap { $0.value.scalars(at: path + [$0.key]) }
    case .array(let items): items.enumerated().flatMap { $1.scalars(at: path + [String($0)]) }
    default: [(path, self)]
    }
  }

  /// `nil` where nothing is left.
  fileprivate func replacing(_ path: ArraySlice<String>, by value: JSONValue?) -> JSONValue? {
    guard let key = path.first else { return value }
    switch self {
    case .object(var object):
      object[key] = object[key]?.replacing(path.dropFirst(), by: value)
      return .object(object)
    case .array(var items):
      guard let index = Int(key), items.indices.contains(index) else { return self }
      if let other = items[index].replacing(path.dropFirst(), by: value) {
        items[index] = other
      } else {
        items.remove(at: index)
      }
      return .array(items)
    default: return self
    }
  }
}
