import AgentTrace

/// Lines → sealed gzip members, as bytes for the file. Knows the layout and nothing of events.
///
/// Whoever calls it writes ``pending`` to the file and clears it.
struct BlockWriter {
  /// Bytes that belong behind those already in the file.
  var pending: [UInt8] = []
  /// Lines of the open block; 0 where none is open.
  private(set) var lineCount = 0
  /// Bytes of those lines.
  private(set) var lineBytes = 0
  /// The digest of the last seal.
  private(set) var lastDigest = Digest.zero

  /// Whether the open block is not compressed.
  private(set) var isStored = false

  private let deflater: Deflater
  private let checksum = WholeInflater.checksum
  /// Lines that are in no stream yet.
  private var waiting: [UInt8] = []
  /// What came out of the stream last.
  private var deflated: [UInt8] = []

  // The open member.
  private var memberCRC = CRC32()
  private var memberLength = 0
  private var textCRC = CRC32()
  private var textLength: UInt32 = 0
  private var firstSeq = 0

  // The chain.
  private var previousLength = 0
  private var previousCRC: UInt32 = 0
  private var seal = SealBuilder(previous: .zero, previousLine: [])

  /// What a block writer needs to know to go on behind what a file holds.
  struct Tail {
    var lastDigest = Digest.zero
    /// The last seal with its `\n`.
    var lastSealLine: [UInt8] = []
    /// Of the last whole member.
    var previousLength = 0
    var previousCRC: UInt32 = 0
    /// The member that goes on, if one does.
    var openMember: OpenMember?

    struct OpenMember {
      var firstSeq: Int
      /// The member's bytes in the file so far, header included.
      var bytes: [UInt8]
      /// The text that those bytes inflate to.
      var text: [UInt8]
      /// Whether what follows is not compressed.
      var isStored = false
    }
  }

  init(deflater: Deflater, tail: Tail = Tail()) {
    self.deflater = deflater
    lastDigest = tail.lastDigest
    previousLength = tail.previousLength
    previousCRC = tail.previousCRC
    seal = SealBuilder(previous: tail.lastDigest, previousLine: tail.lastSealLine)
    guard let member = tail.openMember else { return }
    firstSeq = member.firstSeq
    memberCRC.update(member.bytes)
    memberLength = member.bytes.count
    textCRC.update(member.text)
    textLength = UInt32(truncatingIfNeeded: member.text.count)
    lineBytes = member.text.count
    lineCount = member.text.count { $0 == UInt8(ascii: "\n") }
    seal.update(member.text)
    isStored = member.isStored
    deflater.reset()
    deflater.setDictionary(Array(member.text.suffix(32 * 1024)))
  }

  var isOpen: Bool { memberLength > 0 }

  /// Begins a member whose first event will have this number.
  ///
  /// - Parameter isStored: whether it is not compressed.
  mutating func open(firstSeq: Int, isStored: Bool = false) {
    deflater.reset()
    self.firstSeq = firstSeq
    self.isStored = isStored
    memberCRC = CRC32()
    memberLength = 0
    textCRC = CRC32()
    textLength = 0
    lineCount = 0
    lineBytes = 0
    put(
      MemberHeader(
        firstSeq: firstSeq, previousLength: previousLength, previousCRC: previousCRC
      ).encoded)
  }

  /// Adds a line, given without its `\n`.
  mutating func add(_ line: [UInt8]) {
    let start = waiting.count
    waiting += line
    waiting.append(UInt8(ascii: "\n"))
    waiting.withUnsafeBufferPointer { waiting in
      let added = UnsafeBufferPointer(rebasing: waiting[start...])
      textCRC.update(added, with: checksum)
      seal.update(UnsafeRawBufferPointer(added))
    }
    textLength &+= UInt32(truncatingIfNeeded: line.count + 1)
    lineBytes += line.count + 1
    lineCount += 1
  }

  /// Makes everything so far readable.
  mutating func flush() { deflate(.sync) }

  /// Ends the open member with its seal; `nextSeq` is the number behind its last event.
  ///
  /// - Returns: the bytes of the seal's line.
  @discardableResult
  mutating func close(nextSeq: Int) -> Int {
    let mark = seal.mark(first: firstSeq, last: nextSeq - 1)
    lastDigest = seal.digest
    let line = mark.encodedLine()
    add(line)
    finishMember()
    seal = SealBuilder(previous: lastDigest, previousLine: line + [UInt8(ascii: "\n")])
    return line.count + 1
  }

  /// Ends the open member, whose last line is its seal already.
  mutating func finishSealedMember(digest: Digest, sealLine: [UInt8]) {
    finishMember()
    lastDigest = digest
    seal = SealBuilder(previous: digest, previousLine: sealLine)
  }

  /// The empty member that ends a closed log.
  mutating func putTrailer(nextSeq: Int) {
    open(firstSeq: nextSeq)
    put(Trailer.body)
    endMember()
  }

  private mutating func finishMember() {
    deflate(.finish)
    var check: [UInt8] = []
    check.appendLittleEndian(textCRC.value)
    check.appendLittleEndian(textLength)
    put(check)
    endMember()
  }

  private mutating func endMember() {
    previousLength = memberLength
    previousCRC = memberCRC.value
    memberLength = 0
    lineCount = 0
    lineBytes = 0
  }

  private mutating func deflate(_ flush: Deflater.Flush) {
    deflated.removeAll(keepingCapacity: true)
    if isStored {
      StoredStream.append(waiting, flush: flush, to: &deflated)
    } else {
      deflater.deflate(waiting, flush: flush, into: &deflated)
    }
    waiting.removeAll(keepingCapacity: true)
    put(deflated)
  }

  private mutating func put(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { memberCRC.update($0, with: checksum) }
    memberLength += bytes.count
    pending += bytes
  }
}

/// The digest that seals a block, and the mark that holds it.
struct SealBuilder {
  private let previous: Digest
  private var builder = DigestBuilder()

  /// - Parameter previousLine: the seal before with its `\n`; nothing for the first.
  init(previous: Digest, previousLine: [UInt8]) {
    self.previous = previous
    builder.update(LogFormat.sealDomain)
    builder.update(Array(previous.hex.utf8))
    builder.update(previousLine)
  }

  mutating func update(_ lines: [UInt8]) { builder.update(lines) }

  mutating func update(_ lines: UnsafeRawBufferPointer) { builder.update(lines) }

  /// The digest of all lines so far.
  var digest: Digest { builder.digest() }

  /// The mark that says so.
  func mark(first: Int, last: Int) -> Mark {
    Mark(
      name: LogFormat.sealMark,
      data: [
        "first": JSONValue(first), "last": JSONValue(last), "prev": .string(previous.hex),
        "digest": .string(digest.hex),
      ])
  }
}
