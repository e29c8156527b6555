public import AgentTrace
import Glibc

/// The beginning of a log: its first event, found by inflating no more than that line.
public struct LogHead: Sendable, Hashable {
  /// The `run_started` of the run.
  public var started: Event

  /// Reads the first line of a log. Neither a checksum nor the rest of the block is looked at; to
  /// trust what it says, read the log.
  ///
  /// - Parameter keys: the data that are wanted; the others may be missing in ``started``.
  /// - Throws: ``LogError`` where the file does not begin with a whole line of a `run_started`.
  /// - Complexity: O(*n*) in the bytes of that line, 8 MiB at most.
  public init(path: String, withOnly keys: [StaticString]) throws(LogError) {
    try self.init(of: try LogFile.openForReading(path), withOnly: keys)
  }

  init(of file: LogFile, withOnly keys: [StaticString]) throws(LogError) {
    let path = file.path
    guard let buffers = ReadingBuffers.take() else {
      throw LogError(.system(operation: "inflate", errno: ENOMEM), path: path)
    }
    defer { ReadingBuffers.putBack(buffers) }
    buffers.inflater.reset()
    let line = try Self.firstLine(of: file, buffers.inflater)
    do throws(LineFault) {
      started = try line.withUnsafeBufferPointer { line throws(LineFault) in
        try Self.event(parsing: line, withOnly: keys)
      }
    } catch {
      throw LogError(error.error(path: path).code, path: path, offset: 0, block: 0)
    }
  }

  /// The first event has nothing before it, so no reference can stand in it.
  private static func event(
    parsing line: UnsafeBufferPointer<UInt8>, withOnly keys: [StaticString]
  ) throws(LineFault) -> Event {
    let wanted = EventScan.Wanted(keys: keys + ["formatVersion"])
    if let times = LineHead.times(scanning: line),
      var event = EventScan.event(of: line, withOnly: wanted), event.seq == 0,
      event.type == .runStarted
    {
      event.time = times.time
      return try Resolver.inThisFormat(event)
    }
    guard case .event(var event) = try RawLine(parsing: line), event.seq == 0,
      event.type == .runStarted
    else { throw .line("the first line is not the start of a run") }
    event = try Resolver.inThisFormat(event)
    event.data = try event.data.unescaped { _, value throws(LineFault) in
      try value.withoutForms()
    }
    return event
  }

  private static func firstLine(
    of file: LogFile, _ inflater: Inflater
  ) throws(LogError) -> [UInt8] {
    var input = try file.read(at: 0, count: 8 * 1024)
    guard (try? MemberHeader(decoding: input)) != nil else {
      throw LogError(.badHeader, path: file.path, offset: 0, block: 0)
    }
    var text: [UInt8] = []
    var (start, offset) = (MemberHeader.length, input.count)
    while true {
      let searched = text.count
      var (read, progress) = (0, Inflater.Progress.needsInput)
      input.withUnsafeBufferPointer { input in
        text.append(addingCapacity: max(8 * 1024, text.count)) { space in
          // The writer ends a deflate block with the line: what follows is not inflated in vain.
          let result = inflater.inflate(
            UnsafeBufferPointer(rebasing: input[start...]), into: &space, stopsAtBlocks: true)
          (read, progress) = (result.read, result.progress)
        }
      }
      if let length = text.withUnsafeBufferPointer({ $0.lineLength(from: searched) }) {
        text.removeLast(text.count - searched - length)
        return text
      }
      guard text.count < LogFormat.lineLimitBytes else {
        throw LogError(
          .lineTooLong(limitBytes: LogFormat.lineLimitBytes), path: file.path, offset: 0, block: 0)
      }
      start += read
      switch progress {
      case .needsRoom, .blockEnd: continue
      case .needsInput:
        input = try file.read(at: offset, count: 64 * 1024)
        (start, offset) = (0, offset + input.count)
        if input.isEmpty { throw LogError(.noTrailer, path: file.path, offset: 0, block: 0) }
      default: throw LogError(.badCompression, path: file.path, offset: 0, block: 0)
      }
    }
  }
}
