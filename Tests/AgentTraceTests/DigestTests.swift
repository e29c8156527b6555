import CSHA256
import Foundation
import TestSupport
import Testing

@testable import AgentTrace

@Suite("Digests")
struct DigestTests {
  /// What FIPS 180-4 and its examples by NIST say: a text, how often it stands, its digest.
  private static let examples: [(text: String, times: Int, digest: String)] = [
    ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
    ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
  ]

  private static func digest(_ bytes: [UInt8], by way: sha256_way) -> Digest {
    var digest = [UInt8](repeating: 0, count: 32)
    bytes.withUnsafeBytes { bytes in
      digest.withUnsafeMutableBytes { digest in
        guard let start = digest.baseAddress else { return }
        sha256_of_by(way, bytes.baseAddress, bytes.count, start)
      }
    }
    return Digest(hex: digest.map { String(format: "%02x", $0) }.joined()) ?? .zero
  }

  @Test(
    "the standard's examples come out, by the processor's instructions and as it is written down")
  func standard() {
    for (text, times, digest) in Self.examples {
      let bytes = Array(String(repeating: text, count: times).utf8)
      #expect(Digest(of: bytes).hex == digest)
      #expect(Self.digest(bytes, by: SHA256_FASTEST).hex == digest)
      #expect(Self.digest(bytes, by: SHA256_PLAIN).hex == digest)
    }
  }

  @Test("both ways say the same of bytes of every length and beginning, in one piece and in many")
  func pieces() {
    var random = Seeded(seed: 256)
    let lengths =
      Array(0...300)
      + (0..<TestRun.count(50, long: 2_000)).map { _ in
        Int.random(in: 301...100_000, using: &random)
      }
    for length in lengths {
      let all = (0..<(length + 8)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let start = Int.random(in: 0...8, using: &random)
      let bytes = Array(all[start..<(start + length)])
      let whole = Digest(of: bytes)
      #expect(Self.digest(bytes, by: SHA256_PLAIN) == whole, "\(length)")
      // Where they lie in memory decides nothing.
      let inPlace = all.withUnsafeBytes {
        Digest(of: UnsafeRawBufferPointer(rebasing: $0[start..<(start + length)]))
      }
      #expect(inPlace == whole)
      var builder = DigestBuilder()
      var position = 0
      while position < length {
        let piece = min(length - position, Int.random(in: 0...200, using: &random))
        builder.update(Array(bytes[position..<(position + piece)]))
        position += piece
        // Whoever asks on the way, or goes on from a copy, changes nothing.
        if piece % 5 == 0 {
          #expect(builder.digest() == Digest(of: Array(bytes[..<position])))
          var other = builder
          other.update([1, 2, 3])
        }
      }
      #expect(builder.digest() == whole, "\(length)")
    }
  }

  @Test("a program that others wrote says the same of a large file")
  func another() async throws {
    let folder = try TemporaryFolder()
    var random = Seeded(seed: 7)
    let bytes = (0..<3_000_017).map { _ in UInt8.random(in: 0...255, using: &random) }
    try folder.write("bytes", bytes)
    let told = try await Command(
      program: "/usr/bin/sha256sum", arguments: ["bytes"], folder: folder.path
    ).run()
    #expect(told.output.prefix(64) == Digest(of: bytes).hex)
  }

  @Test("HMACs of RFC 4231 come out, with keys longer than a block, too")
  func authenticating() {
    let examples: [(key: [UInt8], text: [UInt8], code: String)] = [
      (
        [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131),
        Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ]
    for (key, text, code) in examples {
      #expect(Digest(authenticating: text, key: key).hex == code)
    }
  }

  @Test("digests of digests are those of their bytes, one behind the other")
  func chain() {
    let digests = (0..<10).map { Digest(of: [UInt8($0)]) }
    #expect(Digest(of: digests[...]) == Digest(of: digests.flatMap(\.bytes)))
    #expect(Digest(of: digests[3], digests[4]) == Digest(of: digests[3].bytes + digests[4].bytes))
    #expect(Digest(hex: digests[5].hex) == digests[5])
    #expect(Digest(hex: String(digests[5].hex.dropLast())) == nil)
    #expect(
      Digest(hex: digests[5].hex.uppercased()) == nil || digests[5].hex.allSatisfy(\.isNumber))
  }
}
