import Crypto

/// A SHA-256 digest (FIPS 180-4); written as 64 lower-case hex characters.
public struct Digest: Hashable, Sendable {
  /// The 32 bytes as four words in the machine's order: a run has one or two digests an event, and none
  /// of them is worth memory of its own.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// The 32 bytes.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Appends the 32 bytes.
  func append(to bytes: inout [UInt8]) { withUnsafeBytes { bytes.append(contentsOf: $0) } }

  private func withUnsafeBytes<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
    Swift.withUnsafeBytes(of: words, body)
  }

  /// - Parameter bytes: 32 of them; fewer leave zeros behind.
  private init(copying bytes: UnsafeRawBufferPointer) {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    Swift.withUnsafeMutableBytes(of: &words) { words in
      words.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(words.count)))
    }
    self.words = words
  }

  /// The digest of some bytes.
  public init(of bytes: [UInt8]) { self.init(SHA256.hash(data: bytes)) }

  /// The digest of bytes that stay where they are.
  public init(of bytes: UnsafeRawBufferPointer) {
    var hasher = SHA256()
    hasher.update(bufferPointer: bytes)
    self.init(hasher.finalize())
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
    self = Swift.withUnsafeBytes(of: both) { bytes in
      var hasher = SHA256()
      hasher.update(bufferPointer: bytes)
      return Digest(hasher.finalize())
    }
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
    self = bytes.withUnsafeBytes { Digest(copying: $0) }
  }

  /// The HMAC of some bytes under a key (RFC 2104, with SHA-256).
  public init(authenticating bytes: [UInt8], key: [UInt8]) {
    let code = HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key))
    self = code.withUnsafeBytes { Digest(copying: $0) }
  }

  init(_ hash: SHA256.Digest) { self = hash.withUnsafeBytes { Digest(copying: $0) } }

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
  private var hasher = SHA256()

  /// A digest of nothing yet.
  public init() {}

  /// Takes in some bytes.
  public mutating func update(_ bytes: [UInt8]) { hasher.update(data: bytes) }

  /// Takes in bytes that stay where they are.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    hasher.update(bufferPointer: bytes)
  }

  /// The digest of all bytes taken in so far; more may follow.
  public func digest() -> Digest { Digest(hasher.finalize()) }
}
