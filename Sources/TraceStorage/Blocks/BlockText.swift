/// The memory that holds the text of one block. It goes from the reader to what keeps lines and back, so
/// that the text itself is never copied.
final class BlockText {
  let bytes: UnsafeMutableBufferPointer<UInt8>

  init(capacity: Int) { bytes = .allocate(capacity: capacity) }

  /// A copy of some text.
  init(copying text: UnsafeBufferPointer<UInt8>) {
    bytes = .allocate(capacity: text.count)
    _ = bytes.update(fromContentsOf: text)
  }

  deinit { bytes.deallocate() }
}
