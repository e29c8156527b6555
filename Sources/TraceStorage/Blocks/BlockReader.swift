import Glibc

/// A log's members, one after the other, each inflated as a whole and checked.
///
/// Holds one block of lines and a window of the file; both are used again for the next member.
final class BlockReader {
  let file: LogFile
  /// Where the next member begins.
  private(set) var offset: Int
  /// The number of the next member, from 0.
  private(set) var number: Int
  /// The lines of the current block.
  private var text: UnsafeMutableBufferPointer<UInt8> { buffers.text }
  private(set) var textCount = 0
  /// Whether links are checked against the bytes of the members before; costs a CRC-32 over the file.
  private let checksLinks: Bool
  private let limitBytes: Int

  private let buffers: ReadingBuffers
  private var inflater: Inflater { buffers.inflater }
  private var window: UnsafeMutableBufferPointer<UInt8> { buffers.window }
  private var windowStart = 0
  private var windowCount = 0
  /// Whether the file had ended behind the window when that was read.
  private var windowIsLast = false
  /// Where the file counts as ended, if that is before its last byte.
  private var end = Int.max
  /// The length of the member before, and with `checksLinks` its CRC-32; `nil` where it is unknown.
  private(set) var previousLength: Int?
  private(set) var previousCRC: UInt32?
  private var memberCRC = CRC32()
  /// Whether the last error leaves open where the next member begins.
  private(set) var isLost = false
  /// How many bytes of the file zlib has gone through for the current member.
  private var inputCount = 0

  /// One member.
  struct Block {
    enum Kind {
      case whole
      /// An empty member: the end of a log, or where one once ended.
      case trailer
      /// The file ends in it. Its text is what inflates.
      case torn
    }
    var kind: Kind
    /// Bytes from the start of the file.
    var offset: Int
    var number: Int
    /// `nil` where the file ends in it.
    var header: MemberHeader?
    /// Bytes in the file.
    var length: Int
  }

  init(
    file: LogFile, offset: Int = 0, number: Int = 0, checksLinks: Bool = false,
    limitBytes: Int = LogFormat.blockLimitBytes
  ) throws(LogError) {
    guard let buffers = ReadingBuffers.take() else {
      throw LogError(.system(operation: "inflate", errno: ENOMEM), path: file.path)
    }
    self.file = file
    self.offset = offset
    self.number = number
    self.checksLinks = checksLinks
    self.limitBytes = limitBytes
    self.buffers = buffers
    if offset == 0 { (previousLength, previousCRC) = (0, 0) }
  }

  deinit { ReadingBuffers.putBack(buffers) }

  /// The lines of the current block.
  var lines: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: UnsafeBufferPointer(text)[..<textCount])
  }

  /// How much was gone through for the current member, in the file and in its text, whether or not it could be read.
  var workBytes: Int { textCount + inputCount }

  /// Hands over the memory that the current block's text stands in, and reads on with another piece. The
  /// block has no text any more.
  func exchangeText(for other: BlockText?) -> BlockText {
    defer {
      buffers.block = other ?? BlockText(capacity: ReadingBuffers.textBytes)
      textCount = 0
    }
    return buffers.block
  }

  /// Goes to a member, which may follow anything.
  func seek(to offset: Int, number: Int) {
    self.offset = offset
    self.number = number
    (previousLength, previousCRC) = offset == 0 ? (0, 0) : (nil, nil)
  }

  /// Goes back to the beginning of a member that the file ended in, to read it again.
  func rewind(to block: Block) {
    offset = block.offset
    number = block.number
    forget()
  }

  /// Forgets what was seen of the file, which may have changed.
  func forget() { (windowStart, windowCount, windowIsLast, end) = (0, 0, false, .max) }

  /// The next member, or `nil` at the end of the file.
  func next() throws(LogError) -> Block? {
    (textCount, inputCount) = (0, 0)
    isLost = true
    let head = try bytes(at: offset, count: MemberHeader.length)
    if head.isEmpty {
      isLost = false
      return nil
    }
    var block = Block(kind: .torn, offset: offset, number: number, header: nil, length: head.count)
    if head.first == 0, try hideZeros(from: offset) { return try next() }
    guard head.count == MemberHeader.length else {
      guard head.prefix(16).elementsEqual(MemberHeader.fixedBytes.prefix(head.count)) else {
        throw error(.strayBytes)
      }
      finish(block)
      return block
    }
    let header: MemberHeader
    do { header = try MemberHeader(decoding: head) } catch {
      throw self.error(error == .fixedBytes && number > 0 ? .strayBytes : .badHeader)
    }
    block.header = header
    try check(header)
    try inflate(&block)
    finish(block)
    return block
  }

  /// Checks the link to the member before. What is wrong with it is said once: the member itself may
  /// be in order, and is what comes next.
  private func check(_ header: MemberHeader) throws(LogError) {
    let (length, crc) = (previousLength, previousCRC)
    guard length.map({ $0 == Int(header.previousLength) }) ?? true else {
      (previousLength, previousCRC, isLost) = (nil, nil, false)
      throw error(.badLink)
    }
    guard crc.map({ $0 == header.previousCRC }) ?? true else {
      (previousLength, previousCRC, isLost) = (nil, nil, false)
      // The header has a checksum of its own, so the member before is at fault.
      throw LogError(
        .badChecksum, path: file.path, offset: offset - (length ?? 0), block: number - 1)
    }
  }

  private func finish(_ block: Block) {
    isLost = false
    offset = block.offset + block.length
    number += 1
    guard block.kind != .torn else { return }
    previousLength = block.length
    previousCRC = checksLinks ? memberCRC.value : nil
  }

  /// Goes to the next header behind a damaged member; false where there is none.
  func resynchronize() throws(LogError) -> Bool {
    guard let next = try header(behind: offset) else { return false }
    seek(to: next, number: number + 1)
    return true
  }

  /// Where the next valid header behind a position begins.
  private func header(behind start: Int) throws(LogError) -> Int? {
    var position = start + 1
    while true {
      let piece = try bytes(at: position, count: MemberHeader.length)
      guard piece.count == MemberHeader.length else { return nil }
      if (try? MemberHeader(decoding: piece)) != nil { return position }
      var index = position + 1 - windowStart
      while index < windowCount, window[index] != MemberHeader.fixedBytes[0] { index += 1 }
      position = windowStart + index
    }
  }

  // MARK: Inflating

  private func inflate(_ block: inout Block) throws(LogError) {
    if let position = try inflateWhole(block) { return try check(&block, endOfStream: position) }
    inflater.reset()
    memberCRC = CRC32()
    var position = block.offset + MemberHeader.length
    if checksLinks { memberCRC.update(try bytes(at: block.offset, count: MemberHeader.length)) }
    reading: while true {
      let input = try available(at: position)
      guard !input.isEmpty else {
        block.length = position - block.offset
        // A damaged member may swallow those behind it.
        if try header(behind: block.offset) != nil { throw error(.badCompression) }
        return
      }
      let result = try inflate(input)
      if checksLinks { memberCRC.update(UnsafeBufferPointer(rebasing: input[..<result.read])) }
      position += result.read
      inputCount = position - block.offset
      switch result.progress {
      case .streamEnd: break reading
      case .failed:
        guard try hideZeros(from: block.offset + MemberHeader.length) else {
          throw error(.badCompression)
        }
        textCount = 0
        return try inflate(&block)
      default: continue
      }
    }
    try check(&block, endOfStream: position)
  }

  /// Inflates a member the fast way; `nil` where that does not go, and zlib has the word.
  private func inflateWhole(_ block: Block) throws(LogError) -> Int? {
    guard let fast = buffers.wholeInflater else { return nil }
    let position = block.offset + MemberHeader.length
    var input = try available(at: position)
    // Members of a log are much alike: one that seems to go on behind the window is shown whole at once.
    let expected = min((previousLength ?? 0) / 4 * 5, window.count)
    if input.count < expected, !windowIsLast { input = try showAll(from: position) }
    var result = fast.inflate(input, into: text)
    if result == nil, windowStart < position, !windowIsLast {
      input = try showAll(from: position)
      result = fast.inflate(input, into: text)
    }
    guard let result else { return nil }
    textCount = result.written
    if checksLinks {
      memberCRC = CRC32()
      memberCRC.update(try bytes(at: block.offset, count: MemberHeader.length))
      memberCRC.update(UnsafeBufferPointer(rebasing: try available(at: position)[..<result.read]))
    }
    return position + result.read
  }

  // MARK: Beginnings of a text

  /// Of how many bytes each beginning of a block's text has more than the one before it.
  static let beginningBytes = 16 * 1024

  /// The CRC-32 of each beginning of the current block's text, as far as they were kept.
  private(set) var beginnings: [UInt32] = []
  /// Whether they are kept, for ``readBeginning(ofBlockAt:number:bytes:checksum:)``.
  var keepsBeginnings = false

  /// Inflates no more than the beginning of a member's text, where somebody needs one line of a member
  /// that was read before: half of the work on average. What libdeflate leaves behind of a stream that
  /// finds no room is not promised, so the checksum of that time decides.
  ///
  /// - Parameter length: the member's, in the file, if it is known; no more than that is read of it.
  /// - Returns: false where that does not go, and the member has to be read as a whole.
  func readBeginning(
    ofBlockAt offset: Int, length: Int?, number: Int, bytes: Int, checksum: UInt32
  ) throws(LogError) -> Bool {
    // The longest match of deflate (RFC 1951, 3.2.5) may begin before the end and is not written then.
    guard let length, let fast = buffers.wholeInflater, bytes + 258 < text.count,
      (MemberHeader.length...window.count).contains(length)
    else { return false }
    seek(to: offset, number: number)
    textCount = 0
    let piece = UnsafeMutableBufferPointer(rebasing: window[..<length])
    windowCount = 0
    windowCount = try file.read(at: offset, into: piece)
    (windowStart, windowIsLast) = (offset, false)
    let input = UnsafeBufferPointer(rebasing: window[..<windowCount].dropFirst(MemberHeader.length))
    let room = UnsafeMutableBufferPointer(rebasing: text[..<(bytes + 258)])
    _ = fast.inflate(input, into: room)
    let beginning = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(room)[..<bytes])
    guard fast.crc32(beginning) == checksum else { return false }
    textCount = bytes
    return true
  }

  // MARK: Checking

  /// Compares what stands behind a member's stream with its text.
  private func check(_ block: inout Block, endOfStream position: Int) throws(LogError) {
    let check = try bytes(at: position, count: 8)
    block.length = position + check.count - block.offset
    guard check.count == 8 else { return }
    guard check.littleEndian(UInt32.self, at: 0) == textCRC,
      check.littleEndian(UInt32.self, at: 4) == UInt32(truncatingIfNeeded: textCount)
    else { throw error(.badChecksum) }
    block.kind = .whole
    if checksLinks { memberCRC.update(check) }
    guard textCount == 0 else { return }
    let body = try bytes(at: block.offset + MemberHeader.length, count: Trailer.body.count)
    guard block.length == Trailer.length, body.elementsEqual(Trailer.body) else {
      throw error(.badTrailer)
    }
    block.kind = .trailer
  }

  private var textCRC: UInt32 {
    if let fast = buffers.wholeInflater {
      return keepsBeginnings ? checksumKeepingBeginnings(fast) : fast.crc32(lines)
    }
    var crc = CRC32()
    crc.update(lines)
    return crc.value
  }

  private func checksumKeepingBeginnings(_ fast: WholeInflater) -> UInt32 {
    beginnings.removeAll(keepingCapacity: true)
    var checksum: UInt32 = 0
    var start = 0
    while textCount - start > Self.beginningBytes {
      let end = start + Self.beginningBytes
      checksum = fast.crc32(UnsafeBufferPointer(rebasing: lines[start..<end]), after: checksum)
      beginnings.append(checksum)
      start = end
    }
    return fast.crc32(UnsafeBufferPointer(rebasing: lines[start...]), after: checksum)
  }

  /// Inflates some input behind the text so far; makes room as it goes.
  private func inflate(
    _ input: UnsafeBufferPointer<UInt8>
  ) throws(LogError) -> (progress: Inflater.Progress, read: Int) {
    var read = 0
    while true {
      if textCount == text.count { try grow() }
      let result = inflater.inflate(
        UnsafeBufferPointer(rebasing: input[read...]),
        into: UnsafeMutableBufferPointer(rebasing: text[textCount...]), probablyEnds: true)
      read += result.read
      textCount += result.written
      if case .needsRoom = result.progress { continue }
      return (result.progress, read)
    }
  }

  private func grow() throws(LogError) {
    guard text.count < limitBytes else { throw error(.blockTooLarge(limitBytes: limitBytes)) }
    buffers.growText(to: min(limitBytes, text.count * 2))
  }

  // MARK: The window

  /// Moves the window so that it begins at a position, unless `count` bytes from there are in it.
  private func show(_ position: Int, count: Int) throws(LogError) {
    let windowEnd = windowStart + windowCount
    if position >= windowStart, position <= windowEnd,
      position + count <= windowEnd || windowIsLast
    {
      return
    }
    let count = try file.read(at: position, into: window)
    windowCount = max(0, min(count, end - position))
    windowStart = position
    windowIsLast = count < window.count
  }

  /// Lets an unfinished log end before the zeros at its end, if it has any from `start` on: a machine
  /// that lost power may leave a file longer than what was written to it.
  private func hideZeros(from start: Int) throws(LogError) -> Bool {
    guard file.path.hasSuffix(LogFormat.openSuffix), end == .max else { return false }
    let size = try file.size()
    var last = size
    while last > start {
      let from = max(start, last - window.count)
      let piece = try file.read(at: from, count: last - from)
      if let index = piece.lastIndex(where: { $0 != 0 }) {
        last = from + index + 1
        break
      }
      last = from
    }
    guard last < size else { return false }
    (end, windowCount, windowIsLast) = (last, 0, false)
    return true
  }

  /// Moves the window to a position, and gives what it then holds.
  private func showAll(from position: Int) throws(LogError) -> UnsafeBufferPointer<UInt8> {
    try show(position, count: window.count)
    return try available(at: position)
  }

  /// What the window holds from a position of the file on; empty only at the end of the file. Valid
  /// until the window moves.
  private func available(at position: Int) throws(LogError) -> UnsafeBufferPointer<UInt8> {
    try show(position, count: 1)
    return UnsafeBufferPointer(rebasing: window[..<windowCount][(position - windowStart)...])
  }

  /// Up to `count` bytes at a position, fewer only at the end of the file. Valid until the window
  /// moves.
  private func bytes(
    at position: Int, count: Int
  ) throws(LogError) -> UnsafeBufferPointer<UInt8> {
    try show(position, count: count)
    let start = min(position - windowStart, windowCount)
    let end = min(start + count, windowCount)
    return UnsafeBufferPointer(rebasing: window[start..<end])
  }

  private func error(_ code: LogError.Code) -> LogError {
    LogError(code, path: file.path, offset: offset, block: number)
  }
}
