import CSHA256

/// A SHA-256 digest (FIPS 180-4); written as 64 lower-case hex characters.
///
/// Made by C of our own: Docs/decisions/0032-sha-256-is-our-own.md.
public struct Digest: Hashable, Sendable {
  /// The 32 bytes as four words in the machine's order: a run has one or two digests an event, and none
  /// of them is worth memory of its own.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// The 32 bytes.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Appends the 32 bytes.
  func append(to bytes: inout [UInt8]) { withUnsafeBytes { bytes.append(contentsOf: $0) } }

  fileprivate func withUnsafeBytes<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
    Swift.withUnsafeBytes(of: words, body)
  }

  /// - Parameter write: Told where to write the 32 bytes; what it leaves is zeros.
  fileprivate init(writtenBy write: (UnsafeMutableRawBufferPointer) -> Void) {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    Swift.withUnsafeMutableBytes(of: &words, write)
    self.words = words
  }

  /// The digest of some bytes.
  public init(of bytes: [UInt8]) { self = bytes.withUnsafeBytes { Digest(of: $0) } }

  /// The digest of bytes that stay where they are.
  public init(of bytes: UnsafeRawBufferPointer) {
    self.init { place in
      guard let start = place.baseAddress else { return }
      sha256_of(bytes.baseAddress, bytes.count, start)
    }
  }

  /// The digest of the bytes of some digests, one behind the other.
  init(of digests: ArraySlice<Digest>) {
    self = digests.withUnsafeBytes { Digest(of: $0) }
  }

  /// The last of the 32 bytes.
  var lastByte: UInt8 { withUnsafeBytes { $0[$0.count - 1] } }

  /// The digest of two digests' bytes, one behind the other: a link of a chain.
  init(of first: Digest, _ second: Digest) {
    let both = (first.words, second.words)
    self = Swift.withUnsafeBytes(of: both) { Digest(of: $0) }
  }

  /// The digest of a value's canonical bytes.
  public init(of value: JSONValue) { self.init(of: CanonicalJSON.encode(value)) }

  /// Reads 64 lower-case hex characters; `nil` for anything else.
  public init?(hex: String) {
    let digits = Array(hex.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init { $0.copyBytes(from: bytes) }
  }

  /// The HMAC of some bytes under a key (RFC 2104, with SHA-256).
  public init(authenticating bytes: [UInt8], key: [UInt8]) {
    // As long as a block of the hash.
    var block = key.count > 64 ? Digest(of: key).bytes : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    let inner = Digest(of: block.map { $0 ^ 0x36 } + bytes)
    self.init(of: block.map { $0 ^ 0x5c } + inner.bytes)
  }

  /// 64 lower-case hex characters.
  public var hex: String {
    withUnsafeBytes { bytes in
      String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
        for (index, byte) in bytes.enumerated() {
          text[2 * index] = Self.digit(byte >> 4)
          text[2 * index + 1] = Self.digit(byte & 15)
        }
        return 2 * bytes.count
      }
    }
  }

  /// 32 zero bytes: what stands before the first link of a chain.
  public static let zero = Digest(hex: String(repeating: "0", count: 64)) ?? Digest(of: [])

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension Digest {
  /// Whether all 32 bytes are equal.
  public static func == (left: Digest, right: Digest) -> Bool { left.words == right.words }

  /// Feeds the 32 bytes.
  public func hash(into hasher: inout Hasher) { withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension Digest: CustomStringConvertible {
  public var description: String { hex }
}

/// A digest that grows as bytes come in; for chains over more than fits in memory.
public struct DigestBuilder {
  private var state = sha256_begin()

  /// A digest of nothing yet.
  public init() {}

  /// Takes in some bytes.
  public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// Takes in bytes that stay where they are.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    sha256_update(&state, bytes.baseAddress, bytes.count)
  }

  /// Takes in the 32 bytes of a digest.
  public mutating func update(_ digest: Digest) { digest.withUnsafeBytes { update($0) } }

  /// The digest of all bytes taken in so far; more may follow.
  public func digest() -> Digest {
    withUnsafePointer(to: state) { state in
      Digest { place in
        guard let start = place.baseAddress else { return }
        sha256_digest(state, start)
      }
    }
  }
}
