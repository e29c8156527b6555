import AgentTrace

/// Looks for a text in what events say: their words, keys and values. Of a context packet only the
/// messages count that the packet before did not hold, else every later packet would be found.
///
/// A text without capitals is found whatever the case of ASCII letters.
struct TextSearch {
  let text: String
  private let needle: [UInt8]
  private let foldsCase: Bool
  private var lastPacket: Set<JSONValue>?

  init(_ text: String) {
    self.text = text
    foldsCase = !text.utf8.contains { (0x41...0x5a).contains($0) }
    needle = Array(text.utf8)
  }

  /// The next event in a direction that holds the text; `nil` where none does.
  mutating func find(
    from seq: Int, forward: Bool, in cursor: RunCursor, isCalledOff: () -> Bool = { false }
  ) throws -> Int? {
    var search = self
    var found: Int?
    if forward {
      search.lastPacket = nil
      try cursor.scanForward(from: seq + 1) { event in
        if try search.matches(event, cursor) { found = event.seq }
        return found != nil || isCalledOff() ? .enough : .goOn
      }
    } else {
      try cursor.scanBackward(
        before: seq,
        { if try search.matches($0, cursor) { found = $0.seq } },
        endOfStretch: {
          search.lastPacket = nil
          return found != nil || isCalledOff() ? .enough : .goOn
        })
    }
    return found
  }

  private mutating func matches(_ event: Event, _ cursor: RunCursor) throws -> Bool {
    if holds(event.type.rawValue) { return true }
    guard event.type == .contextBuilt else { return holds(.object(event.data)) }
    let messages = event.data["prompt"]?["messages"]?.arrayValue ?? []
    var known = lastPacket
    if known == nil {
      let before = try cursor.lastEvent(before: event.seq, of: [.contextBuilt])
      known = Set(before?.data["prompt"]?["messages"]?.arrayValue ?? [])
    }
    lastPacket = Set(messages)
    return messages.contains { !(known?.contains($0) ?? false) && holds($0) }
  }

  private func holds(_ value: JSONValue) -> Bool {
    switch value {
    case .string(let text), .lost(let text), .cut(_, let text): return holds(text)
    case .number: return holds(CanonicalJSON.string(value))
    case .array(let elements): return elements.contains { holds($0) }
    case .object(let object): return object.contains { holds($0.key) || holds($0.value) }
    case .null, .bool, .bytes: return false
    }
  }

  private func holds(_ text: String) -> Bool {
    guard let first = needle.first else { return false }
    var text = text
    return text.withUTF8 { text in
      guard text.count >= needle.count else { return false }
      let last = text.count - needle.count
      for start in 0...last where fold(text[start]) == first {
        var offset = 1
        while offset < needle.count, fold(text[start + offset]) == needle[offset] { offset += 1 }
        if offset == needle.count { return true }
      }
      return false
    }
  }

  private func fold(_ byte: UInt8) -> UInt8 {
    foldsCase && (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
  }
}
