public import AgentTrace
import Glibc

/// The end of a closed log, found in two reads: what its summary and its last seal say.
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
    let file = try LogFile.open(path, O_RDONLY)
    let size = try file.size()
    let windowStart = max(0, size - Self.windowBytes)
    let window = try file.read(at: windowStart, count: size - windowStart)
    let trailer = try Self.trailer(of: window, at: size, path: path)
    let offset = size - Trailer.length - Int(trailer.previousLength)
    guard offset >= 0 else { throw LogError(.badLink, path: path, offset: size - Trailer.length) }
    let reader = try BlockReader(file: file, offset: offset)
    guard let block = try reader.next(), block.kind == .whole,
      block.length == Int(trailer.previousLength)
    else { throw LogError(.badLink, path: path, offset: offset) }
    let member =
      offset >= windowStart
      ? Array(window[(offset - windowStart)..<(offset - windowStart + block.length)])
      : try file.read(at: offset, count: block.length)
    guard CRC32.of(member) == trailer.previousCRC else {
      throw LogError(.badLink, path: path, offset: offset)
    }
    events = Int(clamping: trailer.firstSeq)
    (stop, summary, sealDigest) = try Self.lines(of: reader.lines, path: path, offset: offset)
  }

  /// Enough for the trailer and nearly every closing block.
  private static let windowBytes = 16 * 1024

  private static func trailer(
    of window: [UInt8], at size: Int, path: String
  ) throws(LogError) -> MemberHeader {
    let bytes = window.suffix(Trailer.length)
    guard bytes.count == Trailer.length, bytes.suffix(Trailer.body.count) == Trailer.body[...],
      let header = try? MemberHeader(decoding: bytes)
    else { throw LogError(.noTrailer, path: path, offset: size) }
    return header
  }

  private static func lines(
    of text: UnsafeBufferPointer<UInt8>, path: String, offset: Int
  ) throws(LogError) -> (stop: Event?, summary: JSONValue, seal: Digest) {
    var stop: Event?
    var summary: JSONValue?
    var digest: Digest?
    do throws(LineFault) {
      let holdsForms = text.mayHoldForms
      for line in text.split(separator: 0x0a) {
        switch try RawLine(parsing: UnsafeBufferPointer(rebasing: line)) {
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
    return (stop, summary, digest)
  }
}
