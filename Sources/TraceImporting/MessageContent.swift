import AgentTrace

/// The content of a message: text, or a list of parts of which some are text.
struct MessageContent: Hashable {
  /// All text of it; `nil` where there is none, or it is empty. A string, or bytes where the source
  /// holds text that is no proper Unicode.
  var text: JSONValue?
  /// Its parts as a context packet holds them; parts that are no text stand as they are.
  var parts: [JSONValue]
  /// The content as it stood, unless it was plain text.
  var original: JSONValue?
  /// Where parts stand of which nobody knows what they are.
  var unread: [JSONPointer] = []

  /// Reads `content` in any of its shapes: absent, `null`, a string, a list of parts.
  ///
  /// Text parts are objects whose `type` ends in `text` and whose text stands under `text` or
  /// `content`, or plain strings; several are joined by a line feed, as AgentDojo does.
  ///
  /// - Throws: ``ImportError`` for parts that hold calls or results of another format, which would be
  ///   lost without a word.
  init(_ value: JSONValue?, at pointer: JSONPointer) throws(ImportError) {
    switch value {
    case nil:
      (text, parts, original) = (nil, [], nil)
    case .string(let string)?:
      (text, parts, original) = (nil, [], nil)
      guard !string.isEmpty else { break }
      text = .string(string)
      parts = [Self.part(.string(string))]
    case .bytes(let raw)?:
      (text, parts, original) = (.bytes(raw), [Self.part(.bytes(raw))], nil)
      // Text that is none, or an object in which a key stands twice.
      if raw.first == UInt8(ascii: "{") { unread = [pointer.appending("content")] }
    case .array(let elements)?:
      parts = []
      var texts: [JSONValue] = []
      for (index, element) in elements.enumerated() {
        if let text = try Self.text(of: element, at: pointer, index) {
          texts.append(text)
          parts.append(Self.part(text))
        } else {
          parts.append(element)
        }
        if !Self.isKnown(element) {
          unread.append(pointer.appending("content").appending(String(index)))
        }
      }
      text = Self.joined(texts)
      original = value
    case .null?:
      (text, parts, original) = (nil, [], .null)
    case .some(let other):
      (text, parts, original) = (nil, [other], other)
      if case .object = other, !other.saysNothing { unread = [pointer.appending("content")] }
    }
  }

  /// Whether a part is one of those that are known, and says nothing beside.
  private static func isKnown(_ part: JSONValue) -> Bool {
    if case .string = part { return true }
    if part.saysNothing { return true }
    guard let object = part.objectValue, let type = object["type"]?.stringValue else {
      return false
    }
    if KnownParts.texts.contains(type) {
      return object.allSatisfy { KnownParts.textKeys.cover($0.key, $0.value) }
    }
    return KnownParts.others.contains(type) && !part.mayHoldCall
  }

  private static func part(_ text: JSONValue) -> JSONValue { ["type": "text", "text": text] }

  private static func text(
    of element: JSONValue, at pointer: JSONPointer, _ index: Int
  ) throws(ImportError) -> JSONValue? {
    if case .string = element { return element }
    guard let type = element["type"]?.stringValue else { return nil }
    switch type {
    case "text", "input_text", "output_text":
      switch element["text"] ?? element["content"] {
      case .some(let text) where text.stringValue != nil || text.typeName == "bytes": return text
      default: return nil
      }
    case "tool_use", "tool_result":
      throw ImportError(
        .wrongShape(
          expected:
            "messages of the chat interface; blocks of type \(type), as Anthropic has them, "
            + "are read by `import messages`"),
        at: pointer.appending("content").appending(String(index)))
    default: return nil
    }
  }

  private static func joined(_ texts: [JSONValue]) -> JSONValue? {
    if texts.count == 1, texts[0] != "" { return texts[0] }
    let joined = texts.map { $0.stringValue ?? $0.description }.joined(separator: "\n")
    guard !joined.isEmpty else { return nil }
    return .string(joined)
  }
}
