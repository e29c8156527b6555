@_spi(Scanning) import AgentTrace
import Glibc

/// Steps over the bytes of one line as this project writes it, making no value of what it passes.
///
/// Nothing that it refuses is thereby wrong: such a line has to be read the plain way.
struct LineScanner {
  let line: UnsafeBufferPointer<UInt8>
  private let start: UnsafePointer<UInt8>
  private(set) var position = 0

  /// `nil` for an empty line, and for a place behind its end.
  init?(_ line: UnsafeBufferPointer<UInt8>, from position: Int = 0) {
    guard let start = line.baseAddress, (0..<line.count).contains(position) else { return nil }
    self.line = line
    self.start = start
    self.position = position
  }

  var isAtEnd: Bool { position == line.count }

  /// The byte that comes next; 0 behind the last, which stands in no line as this project writes it.
  var byte: UInt8 { position < line.count ? start[position] : 0 }

  /// Whether an object is next that may stand for something else.
  var isAtForm: Bool { isNext("{\"$") }

  func isNext(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    return line.count - position >= count && memcmp(start + position, text.utf8Start, count) == 0
  }

  mutating func skip(_ text: StaticString) -> Bool {
    guard isNext(text) else { return false }
    position += text.utf8CodeUnitCount
    return true
  }

  mutating func skip(_ byte: UInt8) -> Bool {
    guard self.byte == byte else { return false }
    position += 1
    return true
  }

  /// Steps over a byte; 0, and nothing stepped over, behind the last.
  mutating func next() -> UInt8 {
    guard position < line.count else { return 0 }
    defer { position += 1 }
    return start[position]
  }

  /// Steps over digits, and says how many there were.
  mutating func skipDigits() -> Int {
    let first = position
    while position < line.count, start[position] &- 0x30 < 10 { position += 1 }
    return position - first
  }

  /// Steps over what stands in a string as it is, up to a quote, a backslash or a control character.
  ///
  /// - Parameter seen: see `plainEnd(from:seen:)`.
  mutating func skipPlain(seen: inout UInt64) {
    position = line.plainEnd(from: position, seen: &seen)
  }

  /// Up to 15 digits, the first of them not 0 unless alone.
  mutating func number() -> Int? {
    let first = position
    var value = 0
    while position < line.count, case let digit = start[position] &- 0x30, digit < 10 {
      guard position - first < 15 else { return nil }
      value = value &* 10 &+ Int(digit)
      position += 1
    }
    guard position > first, position - first == 1 || start[first] != 0x30 else { return nil }
    return value
  }

  /// Steps over a string without escapes, whose opening quote was stepped over.
  mutating func plainText() -> Range<Int>? {
    let first = position
    while position < line.count, case let byte = start[position], byte >= 0x20,
      byte != UInt8(ascii: "\\")
    {
      position += 1
      if byte == UInt8(ascii: "\"") { return first..<(position - 1) }
    }
    return nil
  }

  /// The same; `nil` also where a byte is no printable ASCII.
  mutating func name() -> Range<Int>? {
    let first = position
    while position < line.count, case let byte = start[position], byte >= 0x20, byte < 0x7f,
      byte != UInt8(ascii: "\\")
    {
      position += 1
      if byte == UInt8(ascii: "\"") { return first..<(position - 1) }
    }
    return nil
  }

  /// Steps over a string of printable ASCII without escapes, quotes and all; the range is within.
  mutating func quotedName() -> Range<Int>? { skip(UInt8(ascii: "\"")) ? name() : nil }

  /// Steps over a value by its quotes and brackets alone.
  mutating func skipValue() -> Bool {
    var depth = 0
    while position < line.count {
      switch start[position] {
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

  /// Steps over an object member by member; `body` gets each key and steps over its value.
  ///
  /// Keys of canonical data grow: one that stands twice, or is out of its place, is refused.
  mutating func members(_ body: (inout LineScanner, _ key: Range<Int>) -> Bool) -> Bool {
    guard skip(UInt8(ascii: "{")) else { return false }
    if skip(UInt8(ascii: "}")) { return true }
    var lastKey: Range<Int>?
    repeat {
      guard skip(UInt8(ascii: "\"")), let key = plainText(), skip(UInt8(ascii: ":")),
        lastKey.map({ precedes($0, key) }) ?? true, body(&self, key)
      else { return false }
      lastKey = key
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "}"))
  }

  /// Steps over a list element by element; `body` steps over each.
  mutating func elements(_ body: (inout LineScanner) -> Bool) -> Bool {
    guard skip(UInt8(ascii: "[")) else { return false }
    if skip(UInt8(ascii: "]")) { return true }
    repeat {
      guard body(&self) else { return false }
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "]"))
  }

  /// Steps over a string, whose opening quote is here.
  private mutating func skipString() -> Bool {
    position += 1
    let first = position
    while let found = memchr(start + position, 0x22, line.count - position) {
      let quote = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(found))
      position = quote + 1
      var before = quote
      while before > first, start[before - 1] == UInt8(ascii: "\\") { before -= 1 }
      if (quote - before) % 2 == 0 { return true }
    }
    return false
  }

  // MARK: What was stepped over

  func isText(_ text: StaticString, at range: Range<Int>) -> Bool {
    text.utf8CodeUnitCount == range.count
      && memcmp(text.utf8Start, start + range.lowerBound, range.count) == 0
  }

  /// Whether one range stands before another by its bytes.
  func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    let order = memcmp(
      start + left.lowerBound, start + right.lowerBound, min(left.count, right.count))
    return order != 0 ? order < 0 : left.count < right.count
  }

  /// A text that ``name()`` stepped over.
  func text(_ range: Range<Int>) -> String { String(decoding: bytes(range), as: UTF8.self) }

  /// The type of an event, made anew only where it is none of the usual ones.
  func eventType(_ range: Range<Int>) -> EventType {
    switch bytes(range) {
    case "context_built": .contextBuilt
    case "model_result": .modelResult
    case "decision": .decision
    case "policy_decision": .policyDecision
    case "tool_started": .toolStarted
    case "tool_result": .toolResult
    case "stop": .stop
    default: EventType(rawValue: text(range))
    }
  }

  func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: line[range])
  }

  /// A text; the known one where it is the same, which spares making another.
  func text(_ range: Range<Int>, known: String) -> String? {
    var known = known
    let isSame = known.withUTF8 { known in
      known.count == range.count
        && memcmp(known.baseAddress ?? start, start + range.lowerBound, range.count) == 0
    }
    return isSame ? known : String(validating: line[range], as: UTF8.self)
  }
}

/// Whether some bytes are a text, for `switch`.
func ~= (text: StaticString, bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  guard text.utf8CodeUnitCount == bytes.count, let start = bytes.baseAddress else { return false }
  return memcmp(text.utf8Start, start, bytes.count) == 0
}

/// The envelope of an event's line, found without reading its data.
struct Envelope {
  var seq: Int
  var step: Int
  var type: EventType
  var runId: Range<Int>
  var time: Range<Int>?
  var t: Int

  /// Reads up to `"data":`, behind which the scanner then is; `nil` where the line begins otherwise
  /// than this project writes it.
  init?(_ scanner: inout LineScanner) {
    guard scanner.skip("{\"seq\":"), let seq = scanner.number(), scanner.skip(",\"step\":"),
      let step = scanner.number(), scanner.skip(",\"type\":\""), let type = scanner.name(),
      scanner.skip(",\"runId\":\""), let runId = scanner.name()
    else { return nil }
    if scanner.skip(",\"time\":\"") {
      guard let time = scanner.name() else { return nil }
      self.time = time
    }
    guard scanner.skip(",\"t\":"), let t = scanner.number(), scanner.skip(",\"data\":") else {
      return nil
    }
    (self.seq, self.step, self.runId, self.t) = (seq, step, runId, t)
    self.type = scanner.eventType(type)
  }
}
