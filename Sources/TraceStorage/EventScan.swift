import AgentTrace
import Glibc

/// Finds a few of an event's data without reading the others: no value is made of what nobody asks
/// for.
///
/// Only lines as this project writes them are taken apart this way; of any other the answer is `nil`,
/// and the plain way has to be gone. `EventScanTests` holds both against each other.
struct EventScan {
  /// Which data are wanted.
  struct Wanted {
    var keys: [StaticString]
    /// A list of objects, and which of their members are wanted.
    var list: StaticString?
    var elementKeys: [StaticString] = []
  }

  private let line: UnsafeBufferPointer<UInt8>
  private let start: UnsafePointer<UInt8>
  private var position = 0

  private init?(_ line: UnsafeBufferPointer<UInt8>) {
    guard let start = line.baseAddress else { return nil }
    self.line = line
    self.start = start
  }

  /// The event of a line, without its time, with only those data that have some of these keys.
  ///
  /// - Parameter runId: used again, where the line's is the same.
  static func event(
    of line: UnsafeBufferPointer<UInt8>, withOnly wanted: Wanted, runId: String = ""
  ) -> Event? {
    guard var scan = EventScan(line) else { return nil }
    return scan.event(withOnly: wanted, runId: runId)
  }

  private mutating func event(withOnly wanted: Wanted, runId: String) -> Event? {
    guard skip("{\"seq\":"), let seq = number(), skip(",\"step\":"), let step = number(),
      skip(",\"type\":\""), let type = name(), skip(",\"runId\":\""), let run = plainText(),
      skipTime(), skip(",\"t\":"), let t = number(), skip(",\"data\":{"),
      let data = members(wanted), position == line.count - 1, skip("}")
    else { return nil }
    var id = runId
    let isSame = id.withUTF8 { known in
      known.count == run.count
        && memcmp(known.baseAddress ?? start, start + run.lowerBound, run.count) == 0
    }
    if !isSame {
      guard let text = String(validating: line[run], as: UTF8.self) else { return nil }
      id = text
    }
    return Event(
      seq: seq, step: step, type: EventType(rawValue: type), runId: id, t: t, data: data)
  }

  // MARK: Data

  /// The members asked for, up to the end of the object; the position is behind its brace.
  private mutating func members(_ wanted: Wanted) -> JSONObject? {
    var found = JSONObject()
    if skip("}") { return found }
    var lastKey = 0..<0
    repeat {
      guard skip("\""), let key = plainText(), skip(":") else { return nil }
      // Keys of canonical data grow; a key that stands twice is the plain reader's to refuse.
      guard lastKey.isEmpty || precedes(lastKey, key) else { return nil }
      lastKey = key
      if let list = wanted.list, isText(list, at: key), position < line.count,
        line[position] == UInt8(ascii: "[")
      {
        guard let elements = elements(wanted.elementKeys) else { return nil }
        found[Self.string(list)] = .array(elements)
        continue
      }
      let value = position
      guard skipValue() else { return nil }
      if let name = wanted.keys.first(where: { isText($0, at: key) }) {
        let bytes = UnsafeBufferPointer(rebasing: line[value..<position])
        guard !bytes.mayHoldForms,
          let parsed = try? JSONValue(
            parsing: bytes, options: .init(depthLimit: LogFormat.depthLimit - 2))
        else { return nil }
        found[Self.string(name)] = parsed
      } else if line[key.lowerBound] == UInt8(ascii: "$") {
        return nil
      }
    } while skip(",")
    return skip("}") ? found : nil
  }

  /// The elements of a list of objects, which begins here; `nil` where one is something else.
  private mutating func elements(_ keys: [StaticString]) -> [JSONValue]? {
    guard skip("[") else { return nil }
    if skip("]") { return [] }
    var elements: [JSONValue] = []
    repeat {
      guard skip("{"), let members = members(Wanted(keys: keys)) else { return nil }
      elements.append(.object(members))
    } while skip(",")
    return skip("]") ? elements : nil
  }

  private static func string(_ text: StaticString) -> String {
    text.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
  }

  private func isText(_ text: StaticString, at range: Range<Int>) -> Bool {
    text.utf8CodeUnitCount == range.count
      && memcmp(text.utf8Start, start + range.lowerBound, range.count) == 0
  }

  private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    let order = memcmp(
      start + left.lowerBound, start + right.lowerBound, min(left.count, right.count))
    return order != 0 ? order < 0 : left.count < right.count
  }

  // MARK: Stepping

  private mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard line.count - position >= count, memcmp(start + position, text.utf8Start, count) == 0
    else { return false }
    position += count
    return true
  }

  private mutating func skipTime() -> Bool {
    guard skip(",\"time\":\"") else { return true }
    return plainText() != nil
  }

  /// Steps over a string that holds no escapes, whose opening quote was stepped over.
  private mutating func plainText() -> Range<Int>? {
    let first = position
    while position < line.count, line[position] >= 0x20, line[position] != UInt8(ascii: "\\") {
      position += 1
      if line[position - 1] == UInt8(ascii: "\"") { return first..<(position - 1) }
    }
    return nil
  }

  private mutating func name() -> String? {
    guard let range = plainText() else { return nil }
    return String(validating: line[range], as: UTF8.self)
  }

  /// Up to 15 digits, the first of them not 0 unless alone.
  private mutating func number() -> Int? {
    let first = position
    var value = 0
    while position < line.count, (0x30...0x39).contains(line[position]) {
      guard position - first < 15 else { return nil }
      value = value * 10 + Int(line[position] - 0x30)
      position += 1
    }
    guard position > first, position - first == 1 || line[first] != 0x30 else { return nil }
    return value
  }

  /// Steps over a value by its quotes and brackets alone.
  private mutating func skipValue() -> Bool {
    var depth = 0
    while position < line.count {
      switch line[position] {
      case UInt8(ascii: "\""):
        guard skipString() else { return false }
        if depth == 0 { return true }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // Behind a number, a word or nothing: the end of the object around it.
        if depth == 0 { return true }
        depth -= 1
        if depth == 0 {
          position += 1
          return true
        }
      case UInt8(ascii: ",") where depth == 0: return true
      default: break
      }
      position += 1
    }
    return false
  }

  /// Steps over a string, whose opening quote is here.
  private mutating func skipString() -> Bool {
    position += 1
    let first = position
    while let found = memchr(start + position, 0x22, line.count - position) {
      let quote = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(found))
      position = quote + 1
      var before = quote
      while before > first, line[before - 1] == UInt8(ascii: "\\") { before -= 1 }
      if (quote - before) % 2 == 0 { return true }
    }
    return false
  }
}
