import Synchronization

/// The memory that reading a log takes: text of one block, a window of the file, zlib's state.
///
/// Kept when a reader goes away and used again by the next one: clearing fresh memory for each of
/// many small logs would cost more than reading them.
final class ReadingBuffers {
  var block: BlockText
  let window: UnsafeMutableBufferPointer<UInt8>
  let inflater: Inflater
  /// The fast way, where the machine has one.
  let wholeInflater: WholeInflater?

  static let windowBytes = 256 * 1024
  static let textBytes = 512 * 1024

  /// `nil` where zlib has no memory.
  private init?() {
    guard let inflater = Inflater() else { return nil }
    self.inflater = inflater
    wholeInflater = WholeInflater()
    block = BlockText(capacity: Self.textBytes)
    window = .allocate(capacity: Self.windowBytes)
  }

  deinit { window.deallocate() }

  var text: UnsafeMutableBufferPointer<UInt8> { block.bytes }

  /// The CRC-32 of some bytes, the fast way where the machine has one.
  func crc32(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    if let wholeInflater { return wholeInflater.crc32(bytes) }
    var check = CRC32()
    check.update(bytes)
    return check.value
  }

  /// Replaces the text's memory by a larger piece that holds the same.
  func growText(to capacity: Int) {
    let larger = BlockText(capacity: capacity)
    _ = larger.bytes.update(fromContentsOf: text)
    block = larger
  }

  // MARK: Using them again

  /// Buffers that nobody uses, one for each of a few readers side by side.
  private static let idle = Mutex<[Idle]>([])
  private static let idleLimit = 4

  /// The lock of `idle` makes this true: nobody else holds what lies there, so it may go from one thread
  /// to another.
  private struct Idle: @unchecked Sendable { let buffers: ReadingBuffers }

  /// Buffers for one reader; `nil` where there is no memory.
  static func take() -> ReadingBuffers? {
    if let idle = idle.withLock({ $0.popLast() }) { return idle.buffers }
    return ReadingBuffers()
  }

  /// Takes back what ``take()`` gave; the caller must not use it any more.
  static func putBack(_ buffers: ReadingBuffers) {
    guard buffers.text.count <= textBytes else { return }
    let returned = Idle(buffers: buffers)
    idle.withLock { if $0.count < idleLimit { $0.append(returned) } }
  }
}
