public import AgentTrace
import Glibc

/// The end of a closed log, found in one or two reads: what its summary and its last seal say.
public struct LogTail: Sendable, Hashable {
  /// How many events the log holds.
  public var events: Int
  /// The data of the summary: derived from the events, as ``LogVerifier`` can check.
  public var summary: JSONValue
  /// The `stop` of the closing block; `nil` where the run has not stopped.
  public var stop: Event?
  /// The digest of the last seal.
  public var sealDigest: Digest

  /// Reads the end of a log. The closing block's checksum and the links of trailer and closing block
  /// are checked, the chain of seals is not.
  ///
  /// - Throws: ``LogError``: `noTrailer` where the log is not closed, or what is damaged.
  public init(path: String) throws(LogError) {
    self = try Self(of: try LogFile.openForReading(path))
  }

  init(of file: LogFile) throws(LogError) {
    self = try Self.reading(file) { text, events, offset throws(LogError) in
      try Self(of: text, events: events, path: file.path, offset: offset)
    }
  }

  /// Reads what the end of a log tells of its run, making nothing of what else stands there.
  ///
  /// - Parameters:
  ///   - path: a closed log.
  ///   - wantsTools: whether the names of the run's tools are looked for as well: at the beginning of the
  ///     log, where that tells them all.
  /// - Returns: `nil` where the end, or that beginning, leaves something open that only the events can tell.
  /// - Throws: as ``init(path:)`` does; what is passed over is not checked beyond its checksum.
  public static func outline(
    path: String, wantsTools: (RunOutline) -> Bool = { _ in false }
  ) throws(LogError) -> RunOutline? {
    let file = try LogFile.openForReading(path)
    let found: RunOutline? = try reading(file) { text, events, offset throws(LogError) in
      if let outline = ClosingScan.outline(of: text) { return outline }
      let tail = try Self(of: text, events: events, path: path, offset: offset)
      return tail.stop.flatMap { RunOutline(summary: tail.summary, stop: $0) }
    }
    guard var outline = found, wantsTools(outline) else { return found }
    guard let names = try LogHead.toolNames(of: file) else { return nil }
    outline.toolNames = names
    return outline
  }

  /// Finds the closing block of a log, and what it inflates to.
  private static func reading<Found>(
    _ file: LogFile,
    _ body: (
      _ text: UnsafeBufferPointer<UInt8>, _ events: Int, _ offset: Int
    ) throws(LogError) -> Found
  ) throws(LogError) -> Found {
    let path = file.path
    guard let buffers = ReadingBuffers.take() else {
      throw LogError(.system(operation: "inflate", errno: ENOMEM), path: path)
    }
    defer { ReadingBuffers.putBack(buffers) }
    let size = try file.sizeBySeeking()
    var start = max(0, size - Self.usualBytes)
    var bytes = try Self.read(file, from: start, to: size, buffers)
    let trailer = try Self.trailer(of: bytes, at: size, path: path)
    let length = Int(trailer.previousLength)
    let offset = size - Trailer.length - length
    guard offset >= 0 else { throw LogError(.badLink, path: path, offset: size - Trailer.length) }
    if offset < start, length <= buffers.window.count {
      start = offset
      bytes = try Self.read(file, from: start, to: size - Trailer.length, buffers)
    }
    let events = Int(clamping: trailer.firstSeq)
    if offset >= start {
      let member = UnsafeBufferPointer(
        rebasing: bytes[(offset - start)..<(offset - start + length)])
      if let text = try Self.text(of: member, trailer, buffers, path: path, offset: offset) {
        return try body(text, events, offset)
      }
    }
    // A stop of many megabytes.
    let reader = try BlockReader(file: file, offset: offset)
    guard let block = try reader.next(), block.kind == .whole, block.length == length,
      CRC32.of(try file.read(at: offset, count: length)) == trailer.previousCRC
    else { throw LogError(.badLink, path: path, offset: offset) }
    return try body(reader.lines, events, offset)
  }

  /// Enough for the trailer and nearly every closing block of a small log, whose pages are what a read costs:
  /// of 434 recorded runs of benchmarks, both take 485 to 1,298 bytes.
  private static let usualBytes = 2 * 1024

  private static func read(
    _ file: LogFile, from start: Int, to end: Int, _ buffers: ReadingBuffers
  ) throws(LogError) -> UnsafeBufferPointer<UInt8> {
    let room = UnsafeMutableBufferPointer(
      rebasing: buffers.window[..<min(end - start, buffers.window.count)])
    let count = try file.read(at: start, into: room)
    return UnsafeBufferPointer(rebasing: room[..<count])
  }

  private static func trailer(
    of window: UnsafeBufferPointer<UInt8>, at size: Int, path: String
  ) throws(LogError) -> MemberHeader {
    let bytes = UnsafeBufferPointer(rebasing: window.suffix(Trailer.length))
    guard bytes.count == Trailer.length,
      bytes[MemberHeader.length...].elementsEqual(Trailer.body),
      let header = try? MemberHeader(decoding: bytes)
    else { throw LogError(.noTrailer, path: path, offset: size) }
    return header
  }

  /// What a closing block inflates to, its checksums compared; `nil` where there is no room for it.
  private static func text(
    of member: UnsafeBufferPointer<UInt8>, _ trailer: MemberHeader, _ buffers: ReadingBuffers,
    path: String, offset: Int
  ) throws(LogError) -> UnsafeBufferPointer<UInt8>? {
    guard buffers.crc32(of: member) == trailer.previousCRC,
      (try? MemberHeader(decoding: member)) != nil
    else {
      throw LogError(.badLink, path: path, offset: offset)
    }
    let body = UnsafeBufferPointer(rebasing: member[MemberHeader.length...])
    var (read, written) = (0, 0)
    if let result = buffers.wholeInflater?.inflate(body, into: buffers.text) {
      (read, written) = result
    } else {
      buffers.inflater.reset()
      let result = buffers.inflater.inflate(body, into: buffers.text, probablyEnds: true)
      if case .needsRoom = result.progress { return nil }
      guard case .streamEnd = result.progress else {
        throw LogError(.badChecksum, path: path, offset: offset)
      }
      (read, written) = (result.read, result.written)
    }
    let text = UnsafeBufferPointer(rebasing: buffers.text[..<written])
    guard read + 8 == body.count,
      body.littleEndian(UInt32.self, at: read) == buffers.crc32(of: text),
      body.littleEndian(UInt32.self, at: read + 4) == UInt32(truncatingIfNeeded: written)
    else { throw LogError(.badChecksum, path: path, offset: offset) }
    return text
  }

  /// Reads the lines of a closing block one by one.
  init(
    of text: UnsafeBufferPointer<UInt8>, events: Int, path: String, offset: Int
  ) throws(LogError) {
    var stop: Event?
    var summary: JSONValue?
    var digest: Digest?
    do throws(LineFault) {
      let holdsForms = text.mayHoldForms
      var start = 0
      while start < text.count {
        let end = start + (text.lineLength(from: start) ?? text.count - start)
        let line = UnsafeBufferPointer(rebasing: text[start..<end])
        start = end + 1
        switch try RawLine(parsing: line) {
        case .event(var event):
          if holdsForms {
            event.data = try event.data.unescaped { _, value throws(LineFault) in
              try value.withoutForms()
            }
          }
          if event.type == .stop { stop = event }
        case .mark(let mark) where mark.name == LogFormat.summaryMark:
          summary = holdsForms ? try mark.data.withoutForms() : mark.data
        case .mark(let mark) where mark.name == LogFormat.sealMark:
          digest = mark.data["digest"]?.stringValue.flatMap(Digest.init(hex:))
        case .mark: break
        }
      }
    } catch {
      throw LogError(error.error(path: path).code, path: path, offset: offset)
    }
    guard let summary, let digest else {
      throw LogError(.badLine("the closing block lacks its summary"), path: path, offset: offset)
    }
    (self.events, self.stop, self.summary, sealDigest) = (events, stop, summary, digest)
  }
}
