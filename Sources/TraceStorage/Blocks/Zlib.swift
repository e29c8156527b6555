import CZlib

/// CRC-32 as gzip uses it (RFC 1952 §8).
struct CRC32 {
  private(set) var value: UInt32 = 0

  mutating func update(_ bytes: UnsafeBufferPointer<UInt8>) {
    value = UInt32(truncatingIfNeeded: crc32_z(uLong(value), bytes.baseAddress, bytes.count))
  }

  /// The same with a faster function where there is one.
  mutating func update(_ bytes: UnsafeBufferPointer<UInt8>, with fast: WholeInflater.Checksum?) {
    guard let fast else { return update(bytes) }
    value = fast(value, bytes.baseAddress, bytes.count)
  }

  mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { update($0) } }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var crc = CRC32()
    crc.update(bytes)
    return crc.value
  }
}

/// One raw deflate stream after another (RFC 1951): without header or checksum.
final class Deflater {
  private let stream: UnsafeMutablePointer<z_stream>
  /// Where zlib puts what comes out.
  private var room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)

  /// `nil` where zlib has no memory or does not know the level (0 to 9).
  init?(level: Int) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let result = deflateInit2_(
      stream, Int32(clamping: level), Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard result == Z_OK else {
      stream.deallocate()
      room.deallocate()
      return nil
    }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
    room.deallocate()
  }

  /// Forgets everything: the next byte begins a new stream.
  func reset() { deflateReset(stream) }

  /// Goes on behind text that was deflated before: its last 32 KiB.
  func setDictionary(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBufferPointer {
      deflateSetDictionary(stream, $0.baseAddress, uInt($0.count))
    }
  }

  /// Deflates bytes and appends what comes out, up to a byte boundary.
  func deflate(_ bytes: [UInt8], flush: Flush, into output: inout [UInt8]) {
    bytes.withUnsafeBufferPointer { input in
      // zlib only reads through this pointer.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.pointee.avail_in = uInt(input.count)
      // Room for everything at once: a flush that runs out of it would be marked twice.
      let room = Int(deflateBound(stream, uLong(input.count))) + 1024
      if room > self.room.count {
        self.room.deallocate()
        self.room = .allocate(capacity: room)
      }
      repeat {
        stream.pointee.next_out = self.room.baseAddress
        stream.pointee.avail_out = uInt(self.room.count)
        _ = CZlib.deflate(stream, flush.rawValue)
        let count = self.room.count - Int(stream.pointee.avail_out)
        output.append(contentsOf: UnsafeBufferPointer(rebasing: self.room[..<count]))
      } while stream.pointee.avail_out == 0
      stream.pointee.next_in = nil
    }
  }

  /// What stands at the end of some deflated bytes.
  enum Flush: Int32 {
    /// Nothing: more follows at once.
    case none = 0
    /// An empty stored block at a byte boundary: all so far can be inflated.
    case sync = 2
    /// The end of the stream.
    case finish = 4
  }
}

/// Inflates raw deflate streams.
final class Inflater {
  private let stream: UnsafeMutablePointer<z_stream>

  /// `nil` where zlib has no memory.
  init?() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else {
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Begins a new stream.
  func reset() { inflateReset(stream) }

  /// Where one call stopped.
  enum Progress {
    /// All input is used up.
    case needsInput
    /// All room is used up.
    case needsRoom
    /// A block of the stream ended; only with `stopsAtBlocks`. Whether at a byte boundary.
    case blockEnd(isAligned: Bool)
    case streamEnd
    case failed
  }

  /// Inflates from `input` to `output`, from their beginnings.
  ///
  /// Told that the stream will probably end, zlib keeps no window of its own where it does: for whole
  /// blocks with room for all their text. Where it does not end, nothing is lost.
  func inflate(
    _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>,
    stopsAtBlocks: Bool = false, probablyEnds: Bool = false
  ) -> (progress: Progress, read: Int, written: Int) {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    stream.pointee.avail_in = uInt(input.count)
    stream.pointee.next_out = output.baseAddress
    stream.pointee.avail_out = uInt(output.count)
    let flush = stopsAtBlocks ? Z_BLOCK : probablyEnds ? Z_FINISH : Z_NO_FLUSH
    let result = CZlib.inflate(stream, flush)
    let read = input.count - Int(stream.pointee.avail_in)
    let written = output.count - Int(stream.pointee.avail_out)
    let type = stream.pointee.data_type
    switch result {
    case Z_STREAM_END: return (.streamEnd, read, written)
    case Z_OK, Z_BUF_ERROR:
      if stopsAtBlocks, type & 128 != 0 {
        return (.blockEnd(isAligned: type & 7 == 0), read, written)
      }
      return (stream.pointee.avail_out == 0 ? .needsRoom : .needsInput, read, written)
    default: return (.failed, read, written)
    }
  }

  /// Inflates from `input` behind what is initialized, as far as there is room.
  func inflate(
    _ input: UnsafeBufferPointer<UInt8>, into output: inout OutputSpan<UInt8>,
    stopsAtBlocks: Bool = false
  ) -> (progress: Progress, read: Int, written: Int) {
    output.withUnsafeMutableBufferPointer { output, count in
      let room = UnsafeMutableBufferPointer(rebasing: output[count...])
      let result = inflate(input, into: room, stopsAtBlocks: stopsAtBlocks)
      count += result.written
      return result
    }
  }
}
