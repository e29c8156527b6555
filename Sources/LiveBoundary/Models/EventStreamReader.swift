/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
  /// The field `event`; empty where the event has none.
  public var name: String
  /// The lines of the field `data`, a line feed between them.
  public var data: [UInt8]
  /// The field `id` of this event or the last one that had one; empty where none did.
  public var id: String

  /// Without more, an event without a name, in a stream without ids.
  public init(name: String = "", data: [UInt8], id: String = "") {
    self.name = name
    self.data = data
    self.id = id
  }

  /// The data as text; bytes that are no UTF-8 read as U+FFFD.
  public var text: String { String(decoding: data, as: UTF8.self) }
}

/// Reads a `text/event-stream` as it comes in, cut anywhere: in a character, between CR and LF.
///
/// The rules are those of the WHATWG HTML standard, section "Server-sent events": lines end with LF, CR
/// or CRLF, a byte order mark at the start is passed over, a blank line ends an event, a line that begins
/// with a colon says nothing, and an event that no blank line ends is none, unless ``end()`` is told.
public struct EventStreamReader: Sendable {
  /// How much of a stream is taken.
  public struct Limits: Sendable, Hashable {
    /// Bytes of one line.
    public var lineBytes: Int
    /// Bytes of the data of one event.
    public var eventBytes: Int
    /// Bytes of the whole stream.
    public var totalBytes: Int

    /// In bytes: 16 MiB for a line and for an event, and 64 MiB in all, unless given.
    public init(
      lineBytes: Int = 16 << 20, eventBytes: Int = 16 << 20, totalBytes: Int = 64 << 20
    ) {
      self.lineBytes = lineBytes
      self.eventBytes = eventBytes
      self.totalBytes = totalBytes
    }
  }

  /// A stream that holds more than is taken.
  public struct TooLarge: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is too large: `a line`, `an event` or `the stream`.
    public var what: String
    /// The limit in bytes.
    public var limitBytes: Int

    public var description: String { "\(what) holds more than \(limitBytes) bytes" }
  }

  private let limits: Limits
  private var total = 0
  private var line: [UInt8] = []
  /// Whether the last byte was a CR, so that an LF behind it ends no line.
  private var isBehindReturn = false
  private var isFirstLine = true
  private var name = ""
  private var data: [UInt8]?
  private var id = ""
  /// What the server asks to be waited before the stream is opened again, where it said so.
  public private(set) var retryMilliseconds: Int?
  /// The field `id` of the last event that had one; empty where none did.
  public private(set) var lastEventID = ""
  /// Whether a line was passed over that is no field of any known name.
  public private(set) var hasUnknownLines = false

  /// A stream of which nothing has come in yet.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Takes in more of the stream.
  ///
  /// - Returns: the events that end within it.
  /// - Throws: ``TooLarge``; nothing more can be read then.
  /// - Complexity: O(*n*) in the bytes.
  public mutating func take(
    _ bytes: some Collection<UInt8>
  ) throws(TooLarge) -> [ServerSentEvent] {
    total += bytes.count
    guard total <= limits.totalBytes else {
      throw TooLarge(what: "the stream", limitBytes: limits.totalBytes)
    }
    var events: [ServerSentEvent] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      if isBehindReturn {
        isBehindReturn = false
        if rest.first == 0x0a {
          rest = rest.dropFirst()
          continue
        }
      }
      let end = rest.firstIndex { $0 == 0x0a || $0 == 0x0d }
      let piece = rest[..<(end ?? rest.endIndex)]
      guard line.count + piece.count <= limits.lineBytes else {
        throw TooLarge(what: "a line", limitBytes: limits.lineBytes)
      }
      line.append(contentsOf: piece)
      guard let end else { break }
      isBehindReturn = rest[end] == 0x0d
      rest = rest[rest.index(after: end)...]
      if let event = try endLine() { events.append(event) }
    }
    return events
  }

  /// Takes in that nothing follows, as readers do that wait for no blank line: a line that has no end counts as
  /// if it had one, and so does an event that no blank line ends.
  ///
  /// - Returns: the event that stood without its end; `nil` where none did.
  /// - Throws: ``TooLarge``; nothing more can be read then.
  public mutating func end() throws(TooLarge) -> ServerSentEvent? {
    if !line.isEmpty { _ = try endLine() }
    return endEvent()
  }

  /// Takes in the line that has just ended; the event that it ends, if it does.
  private mutating func endLine() throws(TooLarge) -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    var line = line[...]
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xef, 0xbb, 0xbf]) { line = line.dropFirst(3) }
    }
    guard !line.isEmpty else { return endEvent() }
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    let field = line[..<(colon ?? line.endIndex)]
    var value = colon.map { line[($0 + 1)...] } ?? []
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    if field.elementsEqual("data".utf8) {
      try append(value)
    } else if field.elementsEqual("event".utf8) {
      name = String(decoding: value, as: UTF8.self)
    } else if field.elementsEqual("id".utf8) {
      if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    } else if field.elementsEqual("retry".utf8), !value.isEmpty,
      value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    {
      retryMilliseconds = Int(String(decoding: value, as: UTF8.self))
    } else if colon != line.startIndex, !field.elementsEqual("retry".utf8) {
      hasUnknownLines = true
    }
    return nil
  }

  private mutating func append(_ value: ArraySlice<UInt8>) throws(TooLarge) {
    guard (data.map { $0.count + 1 } ?? 0) + value.count <= limits.eventBytes else {
      throw TooLarge(what: "an event", limitBytes: limits.eventBytes)
    }
    if data == nil {
      data = Array(value)
    } else {
      data?.append(0x0a)
      data?.append(contentsOf: value)
    }
  }

  private mutating func endEvent() -> ServerSentEvent? {
    lastEventID = id
    defer {
      name = ""
      data = nil
    }
    return data.map { ServerSentEvent(name: name, data: $0, id: id) }
  }
}
