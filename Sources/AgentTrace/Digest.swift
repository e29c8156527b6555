import Crypto

/// A SHA-256 digest (FIPS 180-4); written as 64 lower-case hex characters.
public struct Digest: Hashable, Sendable {
  /// The 32 bytes.
  public let bytes: [UInt8]

  /// The digest of some bytes.
  public init(of bytes: [UInt8]) { self.bytes = Array(SHA256.hash(data: bytes)) }

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
    self.bytes = bytes
  }

  init(_ hash: SHA256.Digest) { bytes = Array(hash) }

  /// 64 lower-case hex characters.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// 32 zero bytes: what stands before the first link of a chain.
  public static let zero = Digest(hex: String(repeating: "0", count: 64)) ?? Digest(of: [])

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
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
