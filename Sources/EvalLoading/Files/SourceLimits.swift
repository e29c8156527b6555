/// What a file may hold at most. Everything a person writes is far below; a file that was made to
/// exhaust the reader is refused with a message.
public struct SourceLimits: Sendable, Hashable {
  /// Bytes of a YAML or JSON file, or of one line of a JSONL file.
  public var bytes: Int
  /// How deep values may nest, aliases included.
  public var depth: Int
  /// Values in all of a file, those that aliases repeat included.
  public var values: Int
  /// Bytes of text in all of a file, those that aliases repeat included.
  public var textBytes: Int

  /// 16 MiB, 128 levels, a million values and 64 MiB of text, unless given.
  public init(
    bytes: Int = 16 << 20, depth: Int = 128, values: Int = 1_000_000, textBytes: Int = 64 << 20
  ) {
    self.bytes = bytes
    self.depth = depth
    self.values = values
    self.textBytes = textBytes
  }
}
