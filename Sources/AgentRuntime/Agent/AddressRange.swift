/// An address of the internet protocol, or a network of them (CIDR, RFC 4632 and RFC 4291).
public struct AddressRange: Sendable, Hashable {
  /// 4 bytes, or 16.
  public let bytes: [UInt8]
  /// How many of their bits count.
  public let bits: Int

  /// Reads `192.0.2.1`, `10.0.0.0/8`, `::1` or `fd00::/8`; `nil` for anything else. An IPv4 address that is
  /// written as an IPv6 one counts as what it is.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = parts.first.flatMap({ Self.address($0) }) else { return nil }
    var bits = bytes.count * 8
    if parts.count == 2 {
      guard let given = Self.number(parts[1], radix: 10, digits: 3), given <= bits else {
        return nil
      }
      bits = given
    }
    let prefix: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]
    if bytes.count == 16, bytes.starts(with: prefix), bits >= 96 {
      self.bytes = Array(bytes.suffix(4))
      self.bits = bits - 96
    } else {
      self.bytes = bytes
      self.bits = bits
    }
  }

  /// Whether all of another range is in this one.
  public func contains(_ other: AddressRange) -> Bool {
    guard bytes.count == other.bytes.count, bits <= other.bits else { return false }
    for bit in 0..<bits {
      let mask = UInt8(0x80) >> (bit % 8)
      if bytes[bit / 8] & mask != other.bytes[bit / 8] & mask { return false }
    }
    return true
  }

  /// Whether an address is one that anybody can reach over the internet: not of this machine, of a private
  /// or shared network, of a link, of a group, or set aside (IANA special-purpose address registries).
  public var isPublic: Bool {
    // What stands inside of translated and tunnelled addresses is what is reached.
    if let inner = Self.embedded(in: bytes) { return inner.isPublic }
    return !Self.special.contains { $0.contains(self) }
  }

  private static func embedded(in bytes: [UInt8]) -> AddressRange? {
    guard bytes.count == 16 else { return nil }
    let nat: [UInt8] = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]
    if bytes.starts(with: nat) { return AddressRange(ipv4: Array(bytes.suffix(4))) }
    if bytes.starts(with: [0x20, 0x02]) { return AddressRange(ipv4: Array(bytes[2..<6])) }
    return nil
  }

  private init(ipv4 bytes: [UInt8]) {
    self.bytes = bytes
    bits = 32
  }

  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/96", "100::/64",
    "64:ff9b:1::/48", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
    "fe80::/10", "fec0::/10", "ff00::/8",
  ].compactMap { AddressRange($0) }

  // MARK: Reading

  private static func address(_ text: Substring) -> [UInt8]? {
    text.utf8.contains(UInt8(ascii: ":")) ? ipv6(text) : ipv4(text)
  }

  private static func ipv4(_ text: Substring) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      // A leading zero would be octal to some.
      guard part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"),
        let value = number(part, radix: 10, digits: 3), value < 256
      else { return nil }
      bytes.append(UInt8(value))
    }
    return bytes
  }

  private static func ipv6(_ text: Substring) -> [UInt8]? {
    let halves = text.replacing("::", with: "|").split(
      separator: "|", omittingEmptySubsequences: false)
    guard (1...2).contains(halves.count) else { return nil }
    var sides: [[UInt8]] = []
    for half in halves {
      var bytes: [UInt8] = []
      let groups = half.isEmpty ? [] : half.split(separator: ":", omittingEmptySubsequences: false)
      for (index, group) in groups.enumerated() {
        if index == groups.count - 1, group.utf8.contains(UInt8(ascii: ".")) {
          guard let inner = ipv4(group) else { return nil }
          bytes += inner
        } else {
          guard let value = number(group, radix: 16, digits: 4) else { return nil }
          bytes += [UInt8(value >> 8), UInt8(value & 0xff)]
        }
      }
      sides.append(bytes)
    }
    if halves.count == 1 { return sides[0].count == 16 ? sides[0] : nil }
    let left = 16 - sides[0].count - sides[1].count
    return left >= 2 ? sides[0] + Array(repeating: 0, count: left) + sides[1] : nil
  }

  private static func number(_ text: Substring, radix: Int, digits: Int) -> Int? {
    guard (1...digits).contains(text.utf8.count), !text.utf8.contains(UInt8(ascii: "+")),
      !text.utf8.contains(UInt8(ascii: "-"))
    else { return nil }
    return Int(text, radix: radix)
  }
}
