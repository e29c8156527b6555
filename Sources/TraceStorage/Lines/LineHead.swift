public import AgentTrace

/// What a line is, found without reading what it says.
public enum LineHead: Sendable, Hashable {
  /// An event: its number, step and type.
  case event(seq: Int, step: Int, type: EventType)
  /// A mark: its name.
  case mark(String)
}

extension LineHead {
  /// What a line is, whatever its form: most are scanned, the others parsed.
  init(of line: UnsafeBufferPointer<UInt8>) throws(LineFault) {
    if let head = LineHead(scanning: line) {
      self = head
      return
    }
    switch try RawLine(parsing: line) {
    case .event(let event): self = .event(seq: event.seq, step: event.step, type: event.type)
    case .mark(let mark): self = .mark(mark.name)
    }
  }

  /// Reads the beginning of a canonical line; `nil` where it begins otherwise, which says nothing
  /// against it: then the whole line has to be read.
  init?(scanning line: UnsafeBufferPointer<UInt8>) {
    guard var scanner = LineScanner(line) else { return nil }
    if scanner.skip("{\"seq\":") {
      guard let seq = scanner.number(), scanner.skip(",\"step\":"), let step = scanner.number(),
        scanner.skip(",\"type\":\""), let type = scanner.name()
      else { return nil }
      self = .event(seq: seq, step: step, type: scanner.eventType(type))
      return
    }
    guard scanner.skip("{\"mark\":\""), let name = scanner.name() else { return nil }
    self = .mark(String(decoding: scanner.bytes(name), as: UTF8.self))
  }

  /// The `time` and `t` of an event's canonical line, without reading its data; `nil` where the line
  /// begins otherwise.
  static func times(
    scanning line: UnsafeBufferPointer<UInt8>
  ) -> (time: String?, t: Int)? {
    guard var scanner = LineScanner(line), let envelope = Envelope(&scanner) else { return nil }
    let time = envelope.time.map { String(decoding: scanner.bytes($0), as: UTF8.self) }
    return (time, envelope.t)
  }
}
