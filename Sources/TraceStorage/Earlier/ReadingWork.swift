/// The work that a log makes its readers do beside reading its lines: following what they refer to.
///
/// A few bytes may refer to many, and each of those again for every line. The writer keeps count of what
/// it asks for and stays below limits that grow with the file; who reads allows no less, so that whatever
/// the writer writes is read, and a log made to cost time ends soon.
struct ReadingWork {
  /// A kind of work, and how much of it a file may ask for.
  private struct Limit {
    /// What is asked of a reader before the size of the file counts.
    var free: Int
    /// What is asked for each byte of the file.
    var perFileByte: Int

    func allowed(_ fileBytes: Int) -> Int { free + fileBytes * perFileByte }
  }

  /// Bytes of text that references led to.
  private(set) var textBytes = 0
  /// Items of all lists.
  private(set) var items = 0
  /// Items that are not at the beginning which their list shares with one before: each has to be looked for
  /// by its number, and its digest hashed into that of the list.
  private(set) var hashes = 0

  /// Items that stand in lists themselves: the digest of each is taken, and kept for the packets to come.
  private(set) var said = 0

  private static let textLimit = Limit(free: 128 << 20, perFileByte: 256)
  private static let itemLimit = Limit(free: 16_000_000, perFileByte: 64)
  private static let hashLimit = Limit(free: 8_000_000, perFileByte: 16)
  // Compression makes nothing of what is said over and over, and a writer refers to what stands there already.
  private static let saidLimit = Limit(free: 1_000_000, perFileByte: 32)

  /// What so many items count for. In format 1, whose lists had one table together, hardly one went on from
  /// another: there each counts half.
  static func hashes(_ count: Int, inFormat version: Int) -> Int {
    version == 1 ? count / 2 : count
  }

  mutating func add(textBytes: Int = 0, items: Int = 0, hashes: Int = 0, said: Int = 0) {
    self.said = self.said.addingClamped(said)
    self.textBytes = self.textBytes.addingClamped(textBytes)
    self.items = self.items.addingClamped(items)
    self.hashes = self.hashes.addingClamped(hashes)
  }

  /// Whether so much more text is within the limit of a writer of a file of so many bytes.
  func mayGrow(byTextBytes bytes: Int, fileBytes: Int) -> Bool {
    textBytes.addingClamped(bytes) <= Self.textLimit.allowed(fileBytes)
  }

  /// The same of items, of those whose digests are hashed, and of those that are said.
  func mayGrow(byItems count: Int, hashes: Int, said: Int, fileBytes: Int) -> Bool {
    self.said.addingClamped(said) <= Self.saidLimit.allowed(fileBytes)
      && items.addingClamped(count) <= Self.itemLimit.allowed(fileBytes)
      && self.hashes.addingClamped(hashes) <= Self.hashLimit.allowed(fileBytes)
  }

  /// Whether no writer asks for so much. Who reads may meet the same text twice.
  ///
  /// - Parameter more: items that are said in what is being read.
  func isTooMuch(said more: Int = 0, fileBytes: () -> Int) -> Bool {
    let said = said.addingClamped(more)
    guard
      textBytes > Self.textLimit.free || items > Self.itemLimit.free
        || hashes > Self.hashLimit.free || said > Self.saidLimit.free
    else { return false }
    let fileBytes = fileBytes()
    return textBytes > 2 * Self.textLimit.allowed(fileBytes)
      || items > Self.itemLimit.allowed(fileBytes) || said > Self.saidLimit.allowed(fileBytes)
      // Who begins in the middle knows no list before.
      || hashes > Self.hashLimit.allowed(fileBytes) + LogFormat.listItemLimit
  }
}

extension Int {
  fileprivate func addingClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
