import Glibc
import TestSupport
import Testing

@testable import TraceStorage

@Suite("The fast way to inflate")
struct WholeInflaterTests {
  /// Text that deflates to streams of many kinds of blocks.
  private static func text(_ seed: UInt64) -> [UInt8] {
    var random = Seeded(seed: seed)
    let count = Int.random(in: 0...60_000, using: &random)
    let spread = UInt8.random(in: 1...255, using: &random)
    return (0..<count).map { _ in UInt8.random(in: 0...spread, using: &random) }
  }

  private static func stream(of text: [UInt8], level: Int, seed: UInt64) throws -> [UInt8] {
    var random = Seeded(seed: seed)
    let deflater = try #require(Deflater(level: level))
    var stream: [UInt8] = []
    var rest = text[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...4_000, using: &random))
      rest = rest.dropFirst(piece.count)
      deflater.deflate(Array(piece), flush: .sync, into: &stream)
    }
    deflater.deflate([], flush: .finish, into: &stream)
    return stream
  }

  private static let isThere = WholeInflater() != nil

  @Test(
    "It reads and writes what zlib does, whatever follows the stream",
    .enabled(if: isThere, "libdeflate is not on this machine"), arguments: 0..<40 as Range<UInt64>)
  func agreesWithZlib(seed: UInt64) throws {
    let text = Self.text(seed)
    let stream = try Self.stream(of: text, level: [0, 1, 6, 9][Int(seed % 4)], seed: seed)
    let fast = try #require(WholeInflater())
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)
    defer { room.deallocate() }
    for behind in [[], [3, 0, 0, 0], Array(repeating: UInt8(0x1f), count: 300)] as [[UInt8]] {
      let result = (stream + behind).withUnsafeBufferPointer { fast.inflate($0, into: room) }
      #expect(result?.read == stream.count)
      #expect(result?.written == text.count)
      #expect(room.prefix(text.count).elementsEqual(text))
      #expect(text.withUnsafeBufferPointer { fast.crc32($0) } == CRC32.of(text))
    }
  }

  @Test(
    "A stream that is cut short or has no room is left to zlib",
    .enabled(if: isThere, "libdeflate is not on this machine"), arguments: 0..<20 as Range<UInt64>)
  func leavesTheRest(seed: UInt64) throws {
    let text = Self.text(seed) + [1]
    let stream = try Self.stream(of: text, level: 6, seed: seed)
    let fast = try #require(WholeInflater())
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)
    defer { room.deallocate() }
    let half = Array(stream.dropLast(1 + stream.count / 2))
    #expect(half.withUnsafeBufferPointer { fast.inflate($0, into: room) } == nil)
    let small = UnsafeMutableBufferPointer(rebasing: room[..<(text.count - 1)])
    #expect(stream.withUnsafeBufferPointer { fast.inflate($0, into: small) } == nil)
  }
}
