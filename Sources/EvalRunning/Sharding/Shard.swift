import AgentTrace

/// One of several parts that a suite is split into, so that each can be judged on a machine of its own.
///
/// A case belongs to the shard that the digest of its id says, so that every machine comes to the same
/// split without asking another, and a case that is added or moved takes no other case along.
public struct Shard: Sendable, Hashable, CustomStringConvertible {
  /// Which one it is, from 1.
  public let index: Int
  /// How many there are.
  public let count: Int

  /// The most parts that a suite is split into.
  public static let mostParts = 100_000

  /// `nil` unless the index is from 1 to the count, and the count from 1 to ``mostParts``.
  public init?(_ index: Int, of count: Int) {
    guard (1...Self.mostParts).contains(count), (1...count).contains(index) else { return nil }
    self.index = index
    self.count = count
  }

  /// Reads `i/n`, in decimal digits; `nil` for anything else.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { digits -> Int? in
      guard (1...9).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) })
      else { return nil }
      return Int(String(decoding: digits, as: UTF8.self))
    }
    guard parts.count == 2, numbers.count == 2 else { return nil }
    self.init(numbers[0], of: numbers[1])
  }

  /// The shard of `count` that a case belongs to: the first eight bytes of the SHA-256 of its id as
  /// a big-endian number, modulo the count, plus one.
  ///
  /// - Returns: A number from 1; 1 for a count below 1.
  public static func index(of caseId: String, among count: Int) -> Int {
    let head = Digest(of: Array(caseId.utf8)).bytes.prefix(8)
    let number = head.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(number % UInt64(max(1, count))) + 1
  }

  /// Whether a case belongs to this shard.
  public func holds(_ caseId: String) -> Bool { Self.index(of: caseId, among: count) == index }

  public var description: String { "\(index)/\(count)" }
}
