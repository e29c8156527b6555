import AgentTrace
import CZlib

/// A frame of an `application/vnd.amazon.eventstream`: a name and a payload between two checksums.
///
/// https://smithy.io/2.0/aws/amazon-eventstream.html: the length of all and of the headers (4 bytes each, the
/// highest first), CRC-32 of these 8 bytes, headers, payload, CRC-32 of all before it.
enum EventFrame {
  /// What frames that tell an error are called here; the data of such an event is `{"message","type"}`.
  static let exceptionName = "exception"
  static let preludeBytes = 12
  static let checksumBytes = 4

  static func crc32(_ bytes: some Collection<UInt8>) -> UInt32 {
    let whole = bytes.withContiguousStorageIfAvailable(crc32(of:))
    return whole ?? Array(bytes).withUnsafeBufferPointer(crc32(of:))
  }

  private static func crc32(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    UInt32(truncatingIfNeeded: CZlib.crc32_z(0, bytes.baseAddress, bytes.count))
  }

  static func number(_ bytes: ArraySlice<UInt8>, at offset: Int) -> UInt32 {
    let start = bytes.startIndex + offset
    return bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// A frame with JSON in it.
  ///
  /// - Parameter event: its name is the type of the event; see ``exceptionName``.
  static func encoded(_ event: ServerSentEvent) -> [UInt8] {
    var headers: [(String, String)]
    var payload = event.data
    if event.name.hasSameUTF8(as: exceptionName) {
      let value = try? JSONValue(parsing: event.data)
      headers = [
        (":exception-type", value?["type"]?.stringValue ?? "internalServerException"),
        (":content-type", "application/json"), (":message-type", "exception"),
      ]
      payload = CanonicalJSON.encode(["message": value?["message"] ?? ""], form: .plain)
    } else {
      headers = [
        (":event-type", event.name), (":content-type", "application/json"),
        (":message-type", "event"),
      ]
    }
    var head: [UInt8] = []
    for (name, value) in headers {
      // A name has one byte for its length, a text two.
      let (name, value) = (name.utf8.prefix(255), value.utf8.prefix(32_767))
      head += [UInt8(name.count)] + name + [7]
      head += [UInt8(value.count >> 8), UInt8(value.count & 0xff)] + value
    }
    let length = preludeBytes + head.count + payload.count + checksumBytes
    var frame = bytes(of: UInt32(clamping: length)) + bytes(of: UInt32(head.count))
    frame += bytes(of: crc32(frame))
    frame += head + payload
    return frame + bytes(of: crc32(frame))
  }

  private static func bytes(of number: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// Whether bytes may be the beginning of such a stream rather than of a text: no frame is so long that its
  /// length begins with more.
  static func mayBegin(with byte: UInt8) -> Bool { byte <= 1 }
}

/// Reads frames as they come in, cut anywhere.
struct EventFrameReader: Sendable {
  private let limits: EventStreamReader.Limits
  private var total = 0
  private var buffer: [UInt8] = []

  init(limits: EventStreamReader.Limits) { self.limits = limits }

  /// Whether a frame has begun and not ended.
  var isWithinFrame: Bool { !buffer.isEmpty }

  /// Takes in more of the stream; the events that end within it.
  mutating func take(_ bytes: some Collection<UInt8>) throws(ReplyFault) -> [ServerSentEvent] {
    total += bytes.count
    guard total <= limits.totalBytes else {
      throw .tooLarge(
        EventStreamReader.TooLarge(what: "the stream", limitBytes: limits.totalBytes))
    }
    buffer.append(contentsOf: bytes)
    var events: [ServerSentEvent] = []
    var read = 0
    defer { if read > 0 { buffer.removeFirst(read) } }
    while buffer.count - read >= EventFrame.preludeBytes {
      let rest = buffer[read...]
      let length = Int(EventFrame.number(rest, at: 0))
      guard
        EventFrame.number(rest, at: 8) == EventFrame.crc32(rest.prefix(8)),
        length >= EventFrame.preludeBytes + EventFrame.checksumBytes
      else { throw .unknownForm("the beginning of a frame is damaged") }
      guard length <= limits.eventBytes else {
        throw .tooLarge(
          EventStreamReader.TooLarge(what: "an event", limitBytes: limits.eventBytes))
      }
      guard rest.count >= length else { break }
      events.append(try Self.event(in: rest.prefix(length)))
      read += length
    }
    return events
  }

  private static func event(in frame: ArraySlice<UInt8>) throws(ReplyFault) -> ServerSentEvent {
    let end = frame.count - EventFrame.checksumBytes
    guard EventFrame.number(frame, at: end) == EventFrame.crc32(frame.prefix(end)) else {
      throw .unknownForm("a frame is damaged")
    }
    let headCount = Int(EventFrame.number(frame, at: 4))
    guard headCount <= end - EventFrame.preludeBytes else {
      throw .unknownForm("the headers of a frame are longer than it is")
    }
    let start = frame.startIndex + EventFrame.preludeBytes
    let headers = try headers(in: frame[start..<(start + headCount)])
    let payload = Array(frame[(start + headCount)..<(frame.startIndex + end)])
    switch headers[":message-type"] {
    case "event": return ServerSentEvent(name: headers[":event-type"] ?? "", data: payload)
    case "exception":
      let said = try? JSONValue(parsing: payload, options: .init(keepsForeignText: true))
      return fault(
        said?["message"]?.stringValue ?? "an error without words", headers[":exception-type"])
    case "error":
      return fault(headers[":error-message"] ?? "an error without words", headers[":error-code"])
    case let other:
      throw .unknownForm("a frame is of the kind “\(other ?? "")”")
    }
  }

  private static func fault(_ message: String, _ type: String?) -> ServerSentEvent {
    var error: JSONObject = ["message": .string(message)]
    error["type"] = type.map(JSONValue.string)
    return ServerSentEvent(
      name: EventFrame.exceptionName, data: CanonicalJSON.encode(.object(error), form: .plain))
  }

  /// The headers that are texts; the last of a name counts.
  private static func headers(
    in bytes: ArraySlice<UInt8>
  ) throws(ReplyFault) -> [String: String] {
    var rest = bytes
    func next(_ count: Int) throws(ReplyFault) -> ArraySlice<UInt8> {
      guard rest.count >= count else { throw .unknownForm("a header of a frame has no end") }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    func length() throws(ReplyFault) -> Int {
      try next(2).reduce(0) { $0 << 8 | Int($1) }
    }
    var headers: [String: String] = [:]
    while let count = rest.first {
      rest = rest.dropFirst()
      let name = String(decoding: try next(Int(count)), as: UTF8.self)
      switch try next(1).first ?? 0 {
      case 0, 1: break
      case 2: _ = try next(1)
      case 3: _ = try next(2)
      case 4: _ = try next(4)
      case 5, 8: _ = try next(8)
      case 6: _ = try next(try length())
      case 7: headers[name] = String(decoding: try next(try length()), as: UTF8.self)
      case 9: _ = try next(16)
      case let kind: throw .unknownForm("a header of a frame is of the kind \(kind)")
      }
    }
    return headers
  }
}
