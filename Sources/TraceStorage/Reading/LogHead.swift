public import AgentTrace
import Glibc

/// The beginning of a log: its first event, found by inflating no more than that line.
public struct LogHead: Sendable, Hashable {
  /// The `run_started` of the run.
  public var started: Event

  /// Reads the first line of a log. Neither a checksum nor the rest of the block is looked at; to
  /// trust what it says, read the log.
  ///
  /// - Parameters:
  ///   - path: the file itself, whether the log is closed or still `….open`.
  ///   - keys: the data that are wanted; the others may be missing in ``started``.
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
    let line = try Self.beginning(of: file, buffers.inflater, behind: 0).line
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

  /// The names of a run's tools; `nil` where its first event does not tell them all: it names none, or a list
  /// of other tools stands behind it, as behind that of every run that has sources of tools.
  static func toolNames(of file: LogFile) throws(LogError) -> [String]? {
    guard let buffers = ReadingBuffers.take() else {
      throw LogError(.system(operation: "inflate", errno: ENOMEM), path: file.path)
    }
    defer { ReadingBuffers.putBack(buffers) }
    buffers.inflater.reset()
    let (line, next) = try beginning(of: file, buffers.inflater, behind: Self.headBytes)
    let wanted = EventScan.Wanted(keys: [], list: "tools", elementKeys: ["name"])
    let event = line.withUnsafeBufferPointer { EventScan.event(of: $0, withOnly: wanted) }
    guard let event, event.seq == 0, event.type == .runStarted,
      let tools = event.data["tools"]?.arrayValue, !tools.isEmpty,
      // Of an event whose type cannot be told nothing is known.
      case .event(_, _, let type)? = next.withUnsafeBufferPointer({ LineHead(scanning: $0) }),
      type != .toolsListed
    else { return nil }
    return tools.compactMap { $0["name"]?.stringValue }
  }

  /// Enough for the number, step and type of an event.
  private static let headBytes = 80

  /// The first line of a log, and so many bytes behind it as are asked for, or as there are in its block.
  private static func beginning(
    of file: LogFile, _ inflater: Inflater, behind extra: Int
  ) throws(LogError) -> (line: [UInt8], next: [UInt8]) {
    var input = try file.read(at: 0, count: 8 * 1024)
    guard (try? MemberHeader(decoding: input)) != nil else {
      throw LogError(.badHeader, path: file.path, offset: 0, block: 0)
    }
    var text: [UInt8] = []
    var length: Int?
    var (start, offset) = (MemberHeader.length, input.count)
    while true {
      let searched = text.count
      var (read, progress) = (0, Inflater.Progress.needsInput)
      input.withUnsafeBufferPointer { input in
        text.append(addingCapacity: length == nil ? max(8 * 1024, text.count) : extra) { space in
          // The writer ends a deflate block with the line: what follows is not inflated in vain.
          let result = inflater.inflate(
            UnsafeBufferPointer(rebasing: input[start...]), into: &space, stopsAtBlocks: true)
          (read, progress) = (result.read, result.progress)
        }
      }
      start += read
      if length == nil {
        length = text.withUnsafeBufferPointer { $0.lineLength(from: searched) }.map {
          searched + $0
        }
      }
      var isOver = false
      if case .streamEnd = progress { isOver = true }
      if let length, isOver || text.count > length + extra {
        return (Array(text[..<length]), Array(text[(length + 1)...].prefix(extra)))
      }
      guard text.count < LogFormat.lineLimitBytes else {
        throw LogError(
          .lineTooLong(limitBytes: LogFormat.lineLimitBytes), path: file.path, offset: 0, block: 0)
      }
      switch progress {
      case .needsRoom, .blockEnd: continue
      case .needsInput:
        input = try file.read(at: offset, count: 64 * 1024)
        (start, offset) = (0, offset + input.count)
        if input.isEmpty {
          if let length { return (Array(text[..<length]), Array(text[(length + 1)...])) }
          throw LogError(.noTrailer, path: file.path, offset: 0, block: 0)
        }
      default: throw LogError(.badCompression, path: file.path, offset: 0, block: 0)
      }
    }
  }
}
