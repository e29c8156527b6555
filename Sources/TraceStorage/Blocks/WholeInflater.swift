import Glibc

/// Inflates whole deflate streams with libdeflate, where the machine has it: in less than half of
/// zlib's time (https://github.com/ebiggers/libdeflate; measured in Docs/benchmarks.md).
///
/// An option and no more: whatever it cannot do, zlib does, and zlib alone says what is wrong with a
/// stream. `AGENT_EVAL_INFLATE=zlib` in the environment leaves it unused.
final class WholeInflater {
  private let decompressor: OpaquePointer
  private let functions: Functions

  /// `nil` where the library is not there, or has no memory.
  init?() {
    guard let functions = Self.functions, let decompressor = functions.allocate() else {
      return nil
    }
    self.functions = functions
    self.decompressor = decompressor
  }

  deinit { functions.free(decompressor) }

  /// Inflates the stream that `input` begins with, all of which must be there and find room.
  ///
  /// - Returns: how many bytes were read and written; `nil` where that did not go, whatever the cause.
  func inflate(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) -> (read: Int, written: Int)? {
    var (read, written) = (0, 0)
    let result = functions.decompress(
      decompressor, input.baseAddress, input.count, output.baseAddress, output.count, &read,
      &written)
    guard result == 0, read <= input.count, written <= output.count else { return nil }
    return (read, written)
  }

  /// The CRC-32 of some bytes, behind others that have the checksum given.
  func crc32(_ bytes: UnsafeBufferPointer<UInt8>, after checksum: UInt32 = 0) -> UInt32 {
    functions.crc32(checksum, bytes.baseAddress, bytes.count)
  }

  // MARK: The library

  /// `libdeflate_crc32`: goes on from a checksum over more bytes.
  typealias Checksum = @convention(c) (UInt32, UnsafeRawPointer?, Int) -> UInt32

  /// The library's checksum, where it is there.
  static var checksum: Checksum? { functions?.crc32 }

  private struct Functions {
    let allocate: @convention(c) () -> OpaquePointer?
    let free: @convention(c) (OpaquePointer?) -> Void
    /// `libdeflate_deflate_decompress_ex`: 0 where the stream ended and all of it found room.
    let decompress:
      @convention(c) (
        OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int,
        UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
      ) -> Int32
    let crc32: Checksum
  }

  private static let functions = load()

  /// Looks the library up by the name of its binary interface 0, which every release since 1.0 has.
  private static func load() -> Functions? {
    if let choice = getenv("AGENT_EVAL_INFLATE"), strcmp(choice, "zlib") == 0 { return nil }
    guard let library = dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL),
      let allocate = dlsym(library, "libdeflate_alloc_decompressor"),
      let free = dlsym(library, "libdeflate_free_decompressor"),
      let decompress = dlsym(library, "libdeflate_deflate_decompress_ex"),
      let crc32 = dlsym(library, "libdeflate_crc32")
    else { return nil }
    return Functions(
      allocate: unsafeBitCast(allocate, to: (@convention(c) () -> OpaquePointer?).self),
      free: unsafeBitCast(free, to: (@convention(c) (OpaquePointer?) -> Void).self),
      decompress: unsafeBitCast(
        decompress,
        to: (@convention(c) (
          OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int,
          UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
        ) -> Int32).self),
      crc32: unsafeBitCast(crc32, to: Checksum.self))
  }
}
