extension CanonicalJSON {
  /// How many bytes a value has in the form of a log: what ``encode(_:form:)`` would make, without making it.
  ///
  /// - Complexity: O(*n*) in those bytes, many of which are looked at at once.
  public static func byteCount(of value: JSONValue) -> Int {
    switch value {
    case .null: 4
    case .bool(let value): value ? 4 : 5
    case .number(let number): number.token.utf8.count
    case .string(let text): byteCount(of: text)
    case .array(let elements): 2 + max(0, elements.count - 1) + elements.sum(byteCount)
    case .object(let object): byteCount(of: object)
    case .bytes(let raw): (raw.count + 2) / 3 * 4 + 13
    case .cut(let count, let head): 27 + JSONNumber(count).token.utf8.count + byteCount(of: head)
    case .lost(let reference): 10 + byteCount(of: reference)
    }
  }

  /// How many elements of arrays and members of objects stand in a value's form of a log, at any depth together.
  ///
  /// - Complexity: O(*n*) in those values.
  public static func valueCount(of value: JSONValue) -> Int {
    switch value {
    case .array(let elements): elements.count + elements.sum(valueCount)
    case .object(let object): object.count + object.members.sum { valueCount(of: $0.value) }
    case .bytes, .lost: 1
    case .cut: 3
    case .null, .bool, .number, .string: 0
    }
  }

  private static func byteCount(of object: JSONObject) -> Int {
    2 + max(0, object.count - 1)
      + object.members.sum { member in
        (isReserved(member.key) ? 2 : 1) + byteCount(of: member.key) + byteCount(of: member.value)
      }
  }

  private static func byteCount(of text: String) -> Int {
    func count(_ utf8: UnsafeBufferPointer<UInt8>) -> Int {
      var (count, index) = (utf8.count + 2, utf8.plainEnd(from: 0))
      while index < utf8.count {
        count += utf8[index].escapeBytes
        index = utf8.plainEnd(from: index + 1)
      }
      return count
    }
    if let count = text.utf8.withContiguousStorageIfAvailable(count) { return count }
    var text = text
    return text.withUTF8(count)
  }
}

extension UInt8 {
  /// How many bytes more than one its escape has.
  fileprivate var escapeBytes: Int {
    switch self {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0a, 0x0c, 0x0d: 1
    default: 5
    }
  }
}

extension Array {
  fileprivate func sum(_ count: (Element) -> Int) -> Int { reduce(0) { $0 + count($1) } }
}
