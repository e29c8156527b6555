import Glibc

/// Unpacks what other tools compressed, whole and never beyond a limit.
public enum ForeignCompression {
  /// Why bytes cannot be unpacked.
  public enum Problem: Error, Hashable, Sendable {
    /// They are no stream of that kind, or end in its middle.
    case damaged
    /// They unpack to more than the limit.
    case tooLarge
    /// The library for them is not on this machine.
    case noLibrary(String)
  }

  /// The bytes that some members of gzip hold (RFC 1952), one behind the other; checksums are compared.
  ///
  /// - Throws: ``Problem``.
  public static func gunzip(_ bytes: [UInt8], limitBytes: Int) throws(Problem) -> [UInt8] {
    var output: [UInt8] = []
    var position = 0
    repeat {
      position = try gzipBody(of: bytes, at: position)
      let start = output.count
      position += try inflate(bytes, from: position, into: &output, limitBytes: limitBytes)
      guard position + 8 <= bytes.count else { throw .damaged }
      let stored =
        UInt32(bytes[position]) | UInt32(bytes[position + 1]) << 8
        | UInt32(bytes[position + 2]) << 16 | UInt32(bytes[position + 3]) << 24
      var crc = CRC32()
      output.withUnsafeBufferPointer {
        crc.update(UnsafeBufferPointer(rebasing: $0[start...]), with: WholeInflater.checksum)
      }
      guard crc.value == stored else { throw .damaged }
      position += 8
      // Some fill up with zeros; anything else is another member, or damage.
    } while bytes[position...].contains { $0 != 0 }
    return output
  }

  /// Where a member's deflate stream begins.
  private static func gzipBody(of bytes: [UInt8], at start: Int) throws(Problem) -> Int {
    guard start + 18 <= bytes.count, bytes[start] == 0x1f, bytes[start + 1] == 0x8b,
      bytes[start + 2] == 8
    else { throw .damaged }
    let flags = bytes[start + 3]
    var position = start + 10
    if flags & 4 != 0 {
      guard position + 2 <= bytes.count else { throw .damaged }
      position += 2 + Int(bytes[position]) + Int(bytes[position + 1]) << 8
    }
    for flag in [UInt8(8), 16] where flags & flag != 0 {
      guard position < bytes.count, let end = bytes[position...].firstIndex(of: 0) else {
        throw .damaged
      }
      position = end + 1
    }
    if flags & 2 != 0 { position += 2 }
    guard position < bytes.count else { throw .damaged }
    return position
  }

  /// The bytes of a raw deflate stream (RFC 1951).
  ///
  /// - Throws: ``Problem``.
  public static func inflate(_ bytes: ArraySlice<UInt8>, limitBytes: Int) throws(Problem) -> [UInt8]
  {
    var output: [UInt8] = []
    _ = try inflate(Array(bytes), from: 0, into: &output, limitBytes: limitBytes)
    return output
  }

  /// Returns how many bytes were read.
  private static func inflate(
    _ bytes: [UInt8], from start: Int, into output: inout [UInt8], limitBytes: Int
  ) throws(Problem) -> Int {
    guard let inflater = Inflater() else { throw .damaged }
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 << 10)
    defer { room.deallocate() }
    var position = start
    while true {
      let (progress, read, written) = bytes.withUnsafeBufferPointer {
        inflater.inflate(UnsafeBufferPointer(rebasing: $0[position...]), into: room)
      }
      position += read
      guard output.count + written <= limitBytes else { throw .tooLarge }
      output.append(contentsOf: UnsafeBufferPointer(rebasing: room[..<written]))
      switch progress {
      case .streamEnd: return position - start
      case .needsRoom: continue
      case .needsInput where read == 0 && written == 0, .failed, .blockEnd: throw .damaged
      case .needsInput: if position == bytes.count, written == 0 { throw .damaged }
      }
    }
  }

  // MARK: Zstandard

  private typealias Decompress =
    @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int) -> Int
  private typealias IsError = @convention(c) (Int) -> UInt32

  /// The library's functions, looked up by the name of its binary interface 1, which every release has.
  private static let zstandard: (Decompress, IsError)? = {
    guard let library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL),
      let decompress = dlsym(library, "ZSTD_decompress"),
      let isError = dlsym(library, "ZSTD_isError")
    else { return nil }
    return (
      unsafeBitCast(decompress, to: Decompress.self), unsafeBitCast(isError, to: IsError.self)
    )
  }()

  /// The bytes of Zstandard frames (RFC 8878), with libzstd where the machine has it.
  ///
  /// - Parameters:
  ///   - bytes: the frames, packed.
  ///   - count: how many bytes they are, as whatever holds them says.
  ///   - limitBytes: how many bytes they may be at most; where `count` is more, nothing is unpacked.
  /// - Throws: ``Problem``.
  public static func unpackZstandard(
    _ bytes: ArraySlice<UInt8>, count: Int, limitBytes: Int
  ) throws(Problem) -> [UInt8] {
    guard count <= limitBytes else { throw .tooLarge }
    guard let (decompress, isError) = zstandard else {
      throw .noLibrary("libzstd.so.1 (package libzstd1)")
    }
    let output = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      let written = bytes.withUnsafeBufferPointer {
        decompress(room.baseAddress, room.count, $0.baseAddress, $0.count)
      }
      filled = isError(written) == 0 && written <= room.count ? written : 0
    }
    guard output.count == count else { throw .damaged }
    return output
  }
}
