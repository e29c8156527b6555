import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Keys of texts")
struct KeyTableTests {

  /// The polynomial one coefficient after the other, in numbers that are wide enough for anything.
  private static func plainKey(_ bytes: [UInt8], after number: UInt64, points: [UInt64]) -> TextKey
  {
    let prime: UInt128 = 1 << 61 - 1
    var coefficients = [UInt128(number)]
    for start in stride(from: 0, to: bytes.count, by: 7) {
      let piece = bytes[start..<min(start + 7, bytes.count)]
      coefficients.append(piece.reversed().reduce(0) { $0 << 8 | UInt128($1) })
    }
    coefficients.append(UInt128(bytes.count))
    let values = points.map { point in
      UInt64(coefficients.reduce(0) { ($0 + $1) * UInt128(point) % prime })
    }
    return TextKey(
      high: UInt32(values[0] >> 29),
      middle: UInt32(truncatingIfNeeded: values[0] << 3 | values[1] >> 32 & 7),
      low: UInt32(truncatingIfNeeded: values[1]))
  }

  @Test("a key is the polynomial's value, for every length and bytes of all kinds")
  func polynomial() {
    for seed in UInt64(0)..<8 {
      var generator = Seeded(seed: seed)
      let maker = TextKeyMaker(using: &generator)
      generator = Seeded(seed: seed)
      let points = (0..<2).map { _ in
        UInt64.random(in: (1 << 32)..<(1 << 61 - 1), using: &generator)
      }
      for length in Array(0..<80) + [255, 256, 1_000, 4_099] {
        for fill in 0..<3 {
          let bytes = (0..<length).map { _ in
            fill == 0 ? UInt8.max : fill == 1 ? 0 : UInt8.random(in: 0...255, using: &generator)
          }
          let number = fill == 0 ? (1 << 32) - 1 : UInt64(fill)
          let key = bytes.withUnsafeBytes { maker.key(of: $0, after: number) }
          #expect(
            key == Self.plainKey(bytes, after: number, points: points),
            "seed \(seed), \(length) bytes, fill \(fill)")
        }
      }
    }
  }

  @Test("texts that differ in one bit, in length or in zeros at their end have other keys")
  func differences() {
    let maker = TextKeyMaker()
    for length in [1, 6, 7, 8, 28, 29, 30, 57, 300] {
      let text = [UInt8](repeating: 0, count: length)
      var seen: Set<TextKey> = []
      seen.insert(text.withUnsafeBytes { maker.key(of: $0) })
      for bit in 0..<(length * 8) {
        var other = text
        other[bit / 8] ^= 1 << UInt8(bit % 8)
        seen.insert(other.withUnsafeBytes { maker.key(of: $0) })
      }
      seen.insert((text + [0]).withUnsafeBytes { maker.key(of: $0) })
      seen.insert(text.dropLast().withUnsafeBytes { maker.key(of: $0) })
      #expect(seen.count == length * 8 + 3, "\(length) bytes")
    }
  }

  @Test("a table holds what a dictionary would, first values staying")
  func table() {
    var generator = Seeded(seed: 7)
    var table = KeyTable<UInt32>(filler: 0)
    var plain: [TextKey: UInt32] = [:]
    for round in UInt32(0)..<30_000 {
      // Few different words, so that keys come again and some are all zeros.
      let key = TextKey(
        high: UInt32.random(in: 0..<4, using: &generator) << 30,
        middle: UInt32.random(in: 0..<60, using: &generator),
        low: UInt32.random(in: 0..<60, using: &generator) &* 71_582_788)
      // A table cannot tell the key of zeros from the one beside it.
      let known = key.isZero ? .one : key
      #expect(table[key] == plain[known])
      #expect(table.insert(round, for: key) == (plain[known] == nil))
      if plain[known] == nil { plain[known] = round }
      #expect(table.count == plain.count)
    }
    for (key, value) in plain { #expect(table[key] == value) }
  }

  @Test("a pointer comes back as it went in, and costs what its new parts cost")
  func paths() throws {
    let tree = PathTree(keys: TextKeyMaker())
    func node(_ parts: [String]) throws -> PathTree.Node {
      try parts.reduce(PathTree.root) { parent, part in
        try #require(tree.node(Array(part.utf8), below: parent))
      }
    }
    func pointer(_ node: PathTree.Node) -> String {
      var bytes: [UInt8] = []
      tree.append(node, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }
    let pointers = [
      [], ["a"], ["a", "b"], ["b", "a"], ["ab"], ["", ""], [""], ["a~1b", "0"],
      ["prompt", "messages", "12", "content", "0", "text"],
    ]
    for parts in pointers + pointers.reversed() {
      #expect(try pointer(node(parts)) == parts.map { "/" + $0 }.joined())
    }
    #expect(try node(["a", "b"]) == node(["a", "b"]))
  }

  @Test("a key of megabytes above thousands of long strings is not kept for each of them")
  func longKey() {
    let key = String(repeating: "k", count: 3_000_000)
    let texts = (0..<4_000).map {
      JSONValue.string("\($0) " + String(repeating: "text ", count: 60))
    }
    var deduplicator = Deduplicator()
    for seq in 0..<2 {
      let line = deduplicator.encode(
        Event(
          seq: seq, step: 0, type: .humanReplied, runId: "r",
          data: [seq == 0 ? key : "again": .array(texts)]))
      // A reference would be as long as the key, so that the texts are said again.
      let text = String(decoding: line.bytes, as: UTF8.self)
      #expect(text.contains("text text") && !text.contains("$same"))
      #expect(line.bytes.count < LogFormat.lineLimitBytes)
      deduplicator.commit(line)
    }
  }
}

extension TextKey {
  fileprivate static let one = TextKey(high: 0, middle: 0, low: 1)
  fileprivate var isZero: Bool { high == 0 && middle == 0 && low == 0 }
}
