extension UnsafeBufferPointer<UInt8> {
  /// The first index from `start` on at which a byte stands that JSON text escapes: `"`, `\\` or one
  /// below 0x20; the count where there is none.
  ///
  /// Looks at 16 bytes at once, then at 32: most strings are short. Every machine that this builds for
  /// compares 16 bytes in one instruction.
  @_spi(Scanning) public func plainEnd(from start: Int) -> Int {
    var seen: UInt64 = 0
    return plainEnd(from: start, seen: &seen)
  }

  /// The same, which takes note of what it looks at.
  ///
  /// - Parameter seen: gets the high bit of some byte where a byte up to the index is 0x80 or above, and
  ///   perhaps where one of the 32 behind it is: ``isASCII(seen:)``.
  @_spi(Scanning) public func plainEnd(from start: Int, seen: inout UInt64) -> Int {
    guard let base = baseAddress else { return start }
    let raw = UnsafeRawPointer(base)
    var index = start
    var all = SIMD16<UInt8>()
    defer { seen |= Self.bits(all) }
    func piece(at index: Int) -> SIMD16<UInt8> {
      raw.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
    }
    if index &+ 16 <= count {
      let first = piece(at: index)
      all = first
      if let offset = Self.firstByte(of: Self.escapes(first)) { return index &+ offset }
      index &+= 16
    }
    while index &+ 32 <= count {
      let (low, high) = (piece(at: index), piece(at: index &+ 16))
      all |= low | high
      let (inLow, inHigh) = (Self.escapes(low), Self.escapes(high))
      guard Self.bits(inLow | inHigh) == 0 else {
        return index &+ (Self.firstByte(of: inLow) ?? 16 &+ (Self.firstByte(of: inHigh) ?? 0))
      }
      index &+= 32
    }
    if index &+ 16 <= count {
      let next = piece(at: index)
      all |= next
      if let offset = Self.firstByte(of: Self.escapes(next)) { return index &+ offset }
      index &+= 16
    }
    var last: UInt8 = 0
    while index < count, !Self.isEscaped(base[index]) {
      last |= base[index]
      index &+= 1
    }
    seen |= UInt64(last)
    return index
  }

  /// Whether ``plainEnd(from:seen:)`` has met no byte of 0x80 or above.
  @_spi(Scanning) public static func isASCII(seen: UInt64) -> Bool {
    seen & 0x8080_8080_8080_8080 == 0
  }

  /// Whether no byte is 0x80 or above.
  @_spi(Scanning) public var isASCII: Bool {
    let raw = UnsafeRawBufferPointer(self)
    var index = 0
    var seen: UInt64 = 0
    while index + 8 <= count {
      seen |= raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < count {
      seen |= UInt64(self[index])
      index += 1
    }
    return Self.isASCII(seen: seen)
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// 0xff for each byte that has to be escaped, 0 for the others.
  ///
  /// The operands are vectors all: comparing one with a single byte is not one instruction but a loop over
  /// its bytes (Swift 6.3).
  @inline(__always) private static func escapes(_ bytes: SIMD16<UInt8>) -> SIMD16<UInt8> {
    let quote = SIMD16<UInt8>(repeating: UInt8(ascii: "\""))
    let backslash = SIMD16<UInt8>(repeating: UInt8(ascii: "\\"))
    let space = SIMD16<UInt8>(repeating: 0x20)
    let found = (bytes .== quote) .| (bytes .== backslash) .| (bytes .< space)
    return unsafeBitCast(found, to: SIMD16<UInt8>.self)
  }

  /// The place of the first byte that is not 0, of which all bits are set.
  @inline(__always) private static func firstByte(of bytes: SIMD16<UInt8>) -> Int? {
    let words = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
    let (low, high) = (UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1]))
    if low != 0 { return low.trailingZeroBitCount >> 3 }
    return high != 0 ? 8 &+ high.trailingZeroBitCount >> 3 : nil
  }

  /// The bits of both halves.
  @inline(__always) private static func bits(_ bytes: SIMD16<UInt8>) -> UInt64 {
    let words = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
    return words[0] | words[1]
  }
}
