/// The part of a log before the line that is resolved, to be read again.
protocol EarlierLines {
  /// The line of an event, read from the file and kept, valid until another line is read; `nil` where the
  /// log does not hold it.
  func line(
    ofEvent seq: Int, into store: inout LineStore
  ) throws(LogError) -> UnsafeBufferPointer<UInt8>?

  /// The last block that begins with a checkpoint at which an item had no number yet, else the first
  /// block; and how many items had one, by table (none for the first block).
  func checkpoint(
    beforeItem number: Int, ofTable table: Int
  ) throws(LogError) -> (block: Int, counts: [Int])

  /// The packets of a block; `nil` behind the last.
  func packets(
    inBlock block: Int, countingIn store: inout LineStore
  ) throws(LogError) -> [(seq: Int, line: [UInt8])]?

  /// The size of the file; 0 where the system does not say.
  var fileBytes: Int { get }
}
