import AgentTrace

/// What the line of a packet still has room for. A line holds 8 MiB and ``JSONValue/countLimit`` values; what is beside
/// the latest turn has the rest of them.
///
/// Follows from what is shown alone, so that a packet that is made again is the same.
struct LineRoom {
  /// What is no longer than this is shown whole.
  static let leastBytes = 512
  private static let lineBytes = 15 << 19

  private var bytes = lineBytes
  private var values = JSONValue.countLimit - (1 << 15)
  /// What came so short before the packet is within reach of it: its long texts are referred to where they stand.
  private var nearBytes = 7 << 19

  /// Whether some messages may be more than there is room for.
  ///
  /// - Complexity: O(*n*) in their bytes.
  static func mayLack(_ messages: [JSONValue]) -> Bool {
    let whole = JSONValue.array(messages)
    let (bytes, values) = (CanonicalJSON.byteCount(of: whole), LineRoom().values)
    // Each value takes two bytes at least.
    return bytes > lineBytes || (bytes / 2 > values && CanonicalJSON.valueCount(of: whole) > values)
  }

  /// Takes in what is shown whole whatever room there is.
  mutating func add(_ message: JSONValue) {
    bytes -= CanonicalJSON.byteCount(of: message)
    values -= CanonicalJSON.valueCount(of: message)
  }

  /// Takes in the message of a result; whether there was room for it. The latest comes first.
  mutating func takes(result: JSONValue) -> Bool {
    let whole = CanonicalJSON.byteCount(of: result)
    nearBytes -= whole
    let said = whole - (nearBytes >= 0 ? Self.longTextBytes(in: result) : 0)
    let count = CanonicalJSON.valueCount(of: result)
    guard whole <= Self.leastBytes || said <= bytes && count <= values else { return false }
    bytes -= said
    values -= count
    return true
  }

  /// How many bytes of text are said once in a log.
  private static func longTextBytes(in value: JSONValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count < 256 ? 0 : text.utf8.count
    case .array(let elements): elements.reduce(0) { $0 + longTextBytes(in: $1) }
    case .object(let object): object.reduce(0) { $0 + longTextBytes(in: $1.value) }
    default: 0
    }
  }
}
