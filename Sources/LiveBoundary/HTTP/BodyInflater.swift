import CZlib

/// Inflates bodies that came compressed: `gzip` and `deflate` (RFC 9110, section 8.4.1).
enum BodyInflater {
  /// Why a body stays as it is.
  struct Fault: Error, CustomStringConvertible {
    var description: String
  }

  /// Whether a body is compressed, by what its headers say or how it begins.
  static func isCompressed(_ body: [UInt8], encoding: String?) -> Bool {
    if let encoding, encoding != "identity", !encoding.isEmpty { return true }
    return body.starts(with: [0x1f, 0x8b])
  }

  /// The body as it was; as much of it as there is where it was cut off.
  ///
  /// - Parameter limitBytes: the most bytes that come out.
  static func inflated(
    _ body: [UInt8], encoding: String?, limitBytes: Int
  ) throws(Fault) -> [UInt8] {
    switch encoding ?? "gzip" {
    case "gzip", "x-gzip", "deflate", "identity", "": break
    case let other: throw Fault(description: "it is encoded as \(other)")
    }
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // 32: gzip or zlib, by the header that is there.
    guard inflateInit2_(stream, 15 + 32, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw Fault(description: "there is no memory to inflate it") }
    defer { inflateEnd(stream) }
    var output: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 64 << 10)
    var result = Z_OK
    body.withUnsafeBufferPointer { input in
      // zlib only reads through this pointer.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.pointee.avail_in = uInt(clamping: input.count)
      while result == Z_OK, output.count <= limitBytes {
        room.withUnsafeMutableBufferPointer { space in
          stream.pointee.next_out = space.baseAddress
          stream.pointee.avail_out = uInt(space.count)
          result = inflate(stream, Z_SYNC_FLUSH)
          output.append(
            contentsOf: UnsafeBufferPointer(
              rebasing: space[..<(space.count - Int(stream.pointee.avail_out))]))
        }
        // Another member may follow on one of gzip.
        if result == Z_STREAM_END, stream.pointee.avail_in > 0, inflateReset(stream) == Z_OK {
          result = Z_OK
        }
      }
      stream.pointee.next_in = nil
    }
    guard output.count <= limitBytes else {
      throw Fault(description: "it holds more than \(limitBytes) bytes when it is inflated")
    }
    guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else {
      throw Fault(description: "it is called compressed, and is not")
    }
    return output
  }
}
