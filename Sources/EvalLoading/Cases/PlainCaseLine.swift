import Glibc

/// A line of JSONL with what cases on recorded runs mostly have: an id, an input, a recording and
/// expectations, in any order, each text without an escape.
///
/// It only says where things stand. Whoever finds anything else, or anything wrong, reads the line the
/// plain way, which alone knows what is wrong; `PlainCaseLineTests` holds both against each other.
struct PlainCaseLine {
  private(set) var caseId: Range<Int>?
  private(set) var input: Range<Int>?
  private(set) var recording: Range<Int>?
  private(set) var expected: Range<Int>?

  /// `nil` where the line is of another form.
  init?(_ bytes: UnsafeBufferPointer<UInt8>) {
    var scan = Scan(bytes: bytes)
    guard scan.skip("{") else { return nil }
    repeat {
      guard let key = scan.text(), scan.skip(":") else { return nil }
      let name = UnsafeBufferPointer(rebasing: bytes[key])
      let isNew =
        switch name.count {
        case 5 where name.elementsEqual("input".utf8): Self.put(scan.text(), in: &input)
        case 6 where name.elementsEqual("caseId".utf8): Self.put(scan.text(), in: &caseId)
        case 8 where name.elementsEqual("expected".utf8): Self.put(scan.object(), in: &expected)
        case 9 where name.elementsEqual("recording".utf8): Self.put(scan.text(), in: &recording)
        default: false
        }
      guard isNew else { return nil }
    } while scan.skip(",")
    guard scan.skip("}"), scan.isAtEnd, caseId != nil, expected != nil else { return nil }
  }

  private static func put(_ range: Range<Int>?, in place: inout Range<Int>?) -> Bool {
    guard let range, place == nil else { return false }
    place = range
    return true
  }
}

/// A place in a line of JSON.
private struct Scan {
  let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private mutating func skipSpace() {
    while position < bytes.count, [0x20, 0x09, 0x0d].contains(bytes[position]) { position += 1 }
  }

  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return position == bytes.count
    }
  }

  mutating func skip(_ sign: Unicode.Scalar) -> Bool {
    skipSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: sign) else { return false }
    position += 1
    return true
  }

  /// The range between two quotes; `nil` where there is no text, or it holds escapes or control
  /// characters.
  mutating func text() -> Range<Int>? {
    guard skip("\"") else { return nil }
    let start = position
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return start..<(position - 1)
      }
      if byte < 0x20 || byte == UInt8(ascii: "\\") { return nil }
      position += 1
    }
    return nil
  }

  /// The range of a mapping with its brackets. What stands between them is counted, not checked.
  mutating func object() -> Range<Int>? {
    guard skip("{") else { return nil }
    let start = position - 1
    var depth = 1
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        guard text() != nil else { return nil }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return start..<position }
    }
    return nil
  }
}
