/// How much stands in the lines of a log: what its readers have to go through, whatever it says.
///
/// A few bytes may inflate to very many. The writer keeps count and stays below limits that grow with the file, where
/// need be by not compressing a block; who reads allows twice as much and refuses more. So whatever the writer writes
/// is read, and a log made to cost time ends soon.
struct LogVolume {
  /// Bytes of lines, each with its `\n`.
  var textBytes = 0
  /// Elements of arrays and members of objects, at any depth.
  var values = 0

  /// What a writer may write.
  struct Limits: Sendable {
    /// Bytes of lines before the size of the file counts.
    var textBytes = 32 << 20
    /// Values before the size of the file counts.
    var values = 2_000_000
    /// In so many bytes of lines readers count no values.
    var uncountedBytes = 1 << 20
    /// Bytes of lines for each byte of the file.
    static let textBytesPerFileByte = 16
    /// Values for each byte of the file. What is not compressed has half a value in a byte at most, so that it always
    /// makes more room than it takes.
    static let valuesPerFileByte = 1

    func textBytes(_ fileBytes: Int) -> Int { textBytes + fileBytes * Self.textBytesPerFileByte }
    func values(_ fileBytes: Int) -> Int { values + fileBytes * Self.valuesPerFileByte }
  }

  /// What holds for readers and writers that begin; others than these are for tests.
  @TaskLocal static var limits = Limits()

  init() {}

  /// What one line comes to, given without its `\n`.
  init(of line: UnsafeBufferPointer<UInt8>) {
    textBytes = line.count + 1
    values = line.valueCount(upTo: .max)
  }

  /// What one line comes to, given without its `\n`.
  init(of line: [UInt8]) { self = line.withUnsafeBufferPointer { LogVolume(of: $0) } }

  static func + (a: LogVolume, b: LogVolume) -> LogVolume {
    var sum = a
    sum.textBytes += b.textBytes
    sum.values += b.values
    return sum
  }

  /// Whether a writer may have written so much in a file of so many bytes.
  func isWithin(_ limits: Limits, fileBytes: Int) -> Bool {
    textBytes <= limits.textBytes(fileBytes) && values <= limits.values(fileBytes)
  }
}

/// What a reader has met of a log's volume.
///
/// It takes all text for given, and counts values only where they may be many: in blocks that inflate to more than
/// eight times their size, which those of most runs do not. What it leaves out makes it no stricter. Who reads only
/// some blocks counts those alone, and the file up to them as a whole.
struct MetVolume {
  private var met = LogVolume()
  /// Bytes of the current block's text, as far as they count in `met`.
  private var blockBytes = 0
  /// Bytes of the file up to the end of the current block.
  private var fileBytes = 0
  /// What was gone through for blocks that cannot be read.
  private var lostBytes = 0
  private let limits = LogVolume.limits
  /// Whether the values of the current block's lines are counted.
  private(set) var countsValues = false

  /// A block that holds so many times its bytes is looked into.
  private static let denseFactor = 8

  /// Takes a block in.
  ///
  /// - Returns: what is wrong with the log, if that is too much.
  mutating func begin(_ block: BlockReader.Block, textBytes: Int) -> LogError.Code? {
    blockBytes = 0
    return update(block, textBytes: textBytes)
  }

  /// Takes in that the current block has grown, or was cut, since it was begun.
  mutating func update(_ block: BlockReader.Block, textBytes: Int) -> LogError.Code? {
    met.textBytes += textBytes - blockBytes
    blockBytes = textBytes
    fileBytes = block.offset + block.length
    countsValues =
      met.textBytes > limits.uncountedBytes && textBytes / Self.denseFactor > block.length
    let limit = 2 * limits.textBytes(fileBytes)
    return met.textBytes > limit ? .tooMuchText(bytes: met.textBytes, limitBytes: limit) : nil
  }

  /// Forgets the current block, of which no line was given out.
  mutating func forgetBlock() {
    met.textBytes -= blockBytes
    blockBytes = 0
  }

  /// Takes in what was gone through for a block that cannot be read. Of headers one close behind the other each may
  /// begin what reaches to the end of the file.
  ///
  /// - Parameter fileBytes: of the whole file.
  /// - Returns: what is wrong with the log, if all of this is too much.
  mutating func lose(_ bytes: Int, fileBytes: Int) -> LogError.Code? {
    lostBytes += bytes
    let limit = 2 * limits.textBytes(fileBytes)
    return lostBytes > limit ? .tooMuchText(bytes: lostBytes, limitBytes: limit) : nil
  }

  /// Begins anew with what cannot be read: the file may have changed.
  mutating func forgetLosses() { lostBytes = 0 }

  /// Takes in a line of the current block whose values are counted.
  ///
  /// - Returns: what is wrong with the log, if that is too much.
  mutating func take(_ line: UnsafeBufferPointer<UInt8>) -> LogError.Code? {
    let count = line.valueCount(upTo: LogFormat.valueLimit + 1)
    // More than a line may hold is refused where it is read, and nothing is made of it.
    guard count <= LogFormat.valueLimit else { return nil }
    met.values += count
    let limit = 2 * limits.values(fileBytes)
    return met.values > limit ? .tooManyValuesInAll(count: met.values, limit: limit) : nil
  }
}
