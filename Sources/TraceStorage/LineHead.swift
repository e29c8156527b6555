public import AgentTrace

/// What a line is, found without reading what it says.
public enum LineHead: Sendable, Hashable {
  /// An event: its number, step and type.
  case event(seq: Int, step: Int, type: EventType)
  /// A mark: its name.
  case mark(String)
}

extension LineHead {
  /// Reads the beginning of a canonical line; `nil` where it begins otherwise, which says nothing
  /// against it: then the whole line has to be read.
  init?(scanning line: UnsafeBufferPointer<UInt8>) {
    var scanner = Scanner(line: line)
    if scanner.skip("{\"seq\":"), let seq = scanner.number(), scanner.skip(",\"step\":"),
      let step = scanner.number(), scanner.skip(",\"type\":\""), let type = scanner.name()
    {
      self = .event(seq: seq, step: step, type: EventType(rawValue: type))
      return
    }
    scanner = Scanner(line: line)
    guard scanner.skip("{\"mark\":\""), let name = scanner.name() else { return nil }
    self = .mark(name)
  }

  /// The `time` and `t` of an event's canonical line, without reading its data; `nil` where the line
  /// begins otherwise.
  static func times(
    scanning line: UnsafeBufferPointer<UInt8>
  ) -> (time: String?, t: Int)? {
    var scanner = Scanner(line: line)
    guard scanner.skip("{\"seq\":"), scanner.number() != nil, scanner.skip(",\"step\":"),
      scanner.number() != nil, scanner.skip(",\"type\":\""), scanner.skipName(),
      scanner.skip(",\"runId\":\""), scanner.skipName()
    else { return nil }
    var time: String?
    if scanner.skip(",\"time\":\"") {
      time = scanner.name()
      if time == nil { return nil }
    }
    guard scanner.skip(",\"t\":"), let t = scanner.number() else { return nil }
    return (time, t)
  }

  private struct Scanner {
    let line: UnsafeBufferPointer<UInt8>
    var position = 0

    mutating func skip(_ text: StaticString) -> Bool {
      let count = text.utf8CodeUnitCount
      guard line.count - position >= count else { return false }
      for index in 0..<count where line[position + index] != text.utf8Start[index] { return false }
      position += count
      return true
    }

    /// Up to 15 digits, the first of them not 0 unless alone.
    mutating func number() -> Int? {
      let start = position
      var value = 0
      while position < line.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[position])
      {
        guard position - start < 15 else { return nil }
        value = value * 10 + Int(line[position] - UInt8(ascii: "0"))
        position += 1
      }
      guard position > start, position - start == 1 || line[start] != UInt8(ascii: "0") else {
        return nil
      }
      return value
    }

    /// Text up to the next quote; plain ASCII without escapes.
    mutating func name() -> String? {
      let start = position
      guard skipName() else { return nil }
      return String(decoding: line[start..<(position - 1)], as: UTF8.self)
    }

    /// Steps over what ``name()`` would read.
    mutating func skipName() -> Bool {
      while position < line.count, line[position] != UInt8(ascii: "\"") {
        guard (0x20..<0x7f).contains(line[position]), line[position] != UInt8(ascii: "\\") else {
          return false
        }
        position += 1
      }
      guard position < line.count else { return false }
      position += 1
      return true
    }
  }
}
