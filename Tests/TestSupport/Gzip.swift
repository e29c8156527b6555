/// Makes gzip without compressing anything.
public enum Gzip {
  /// A member of stored blocks (RFC 1951, 3.2.4; RFC 1952).
  public static func stored(_ bytes: [UInt8]) -> [UInt8] {
    func little(_ value: UInt32, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
    }
    var crc: UInt32 = .max
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
    }
    var member: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xffff)
      rest = rest.dropFirst(block.count)
      let length = UInt32(block.count)
      member += [rest.isEmpty ? 1 : 0] + little(length, 2) + little(~length, 2) + block
    } while !rest.isEmpty
    return member + little(~crc, 4) + little(UInt32(truncatingIfNeeded: bytes.count), 4)
  }
}
