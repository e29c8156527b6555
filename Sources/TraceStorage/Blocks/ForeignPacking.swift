/// Packs what other tools unpack: the counterpart of ``ForeignCompression``.
public enum ForeignPacking {
  /// The bytes as one raw deflate stream (RFC 1951); the same bytes give the same stream with the same zlib.
  ///
  /// - Returns: `nil` where zlib has no memory.
  public static func deflate(_ bytes: [UInt8], level: Int = 6) -> [UInt8]? {
    guard let deflater = Deflater(level: min(max(level, 0), 9)) else { return nil }
    var output: [UInt8] = []
    deflater.deflate(bytes, flush: .finish, into: &output)
    return output
  }

  /// The CRC-32 of some bytes (RFC 1952 §8), as archives hold it.
  public static func checksum(of bytes: [UInt8]) -> UInt32 { CRC32.of(bytes) }
}
