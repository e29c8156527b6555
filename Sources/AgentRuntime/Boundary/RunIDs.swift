import AgentTrace
import Synchronization

/// Gives runs their identifiers.
public protocol RunIDs: Sendable {
  /// A UUID in its usual text form.
  func next() -> String
}

/// Identifiers from a seed: the same seed gives the same row of them. UUIDv8 (RFC 9562 §5.8).
public final class SeededRunIDs: RunIDs {
  private let generator: Mutex<SeededGenerator>

  /// Any number will do, negative ones too.
  public init(seed: Int) {
    generator = Mutex(SeededGenerator(seed: UInt64(bitPattern: Int64(seed))))
  }

  public func next() -> String {
    generator.withLock { UUIDText.make(high: $0.next(), low: $0.next(), version: 8) }
  }
}

/// Random identifiers. UUIDv4 (RFC 9562 §5.4).
public struct RandomRunIDs: RunIDs {
  /// Takes its randomness from the system.
  public init() {}

  public func next() -> String {
    UUIDText.make(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max), version: 4)
  }
}

enum UUIDText {
  /// 128 bits as a UUID with its version and variant set.
  static func make(high: UInt64, low: UInt64, version: UInt64) -> String {
    let high = high & ~0xf000 | version << 12
    let low = low & ~(0b11 << 62) | 0b10 << 62
    let digits = hex(high) + hex(low)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text += "-" }
      text.append(digit)
    }
    return text
  }

  private static func hex(_ value: UInt64) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
