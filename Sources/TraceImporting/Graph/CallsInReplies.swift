import AgentTrace

extension CallsInTexts {
  /// The calls that what a model said is or ends with: all its text, or one of its parts.
  fileprivate static func calls(of reply: GraphReply) -> [CallSightings.Call] {
    var texts = [reply.text.value?.stringValue].compactMap(\.self)
    if reply.parts.count > 1 {
      texts += reply.parts.compactMap { $0["type"] == "text" ? $0["text"]?.stringValue : nil }
    }
    for text in texts {
      let said = calls(in: text)
      if !said.isEmpty { return said }
    }
    var thoughts: [String] = []
    for part in reply.parts where isThought(part) { take(part, into: &thoughts) }
    for piece in reply.raw.arrayValue ?? [reply.raw] {
      for holder in [piece, piece["additional_kwargs"] ?? .null] {
        for key in memberKeys { take(holder[key] ?? .null, into: &thoughts) }
      }
    }
    for thought in thoughts {
      let begun = calls(inThought: thought)
      if !begun.isEmpty { return begun }
    }
    return []
  }

  /// The members of a message, or of what a provider adds to it, that hold what a model only thought.
  private static let memberKeys = [
    "reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "thinking",
    "thoughts",
  ]
  /// Where the texts of thoughts stand in their parts.
  private static let thoughtKeys = [
    "thinking", "reasoning", "reasoningText", "text", "content", "summary",
  ]

  /// Whether a part is what a model only thought.
  private static func isThought(_ part: JSONValue) -> Bool {
    if part["thought"]?.boolValue == true || part["reasoningContent"] != nil { return true }
    guard let type = (part["type"] ?? part["part_kind"])?.stringValue else { return false }
    return type.hasPrefix("thinking") || type.hasPrefix("reasoning")
  }

  /// Takes the texts of what a model thought, however they are wrapped.
  private static func take(_ value: JSONValue, into thoughts: inout [String], depth: Int = 0) {
    guard depth < 5 else { return }
    switch value {
    case .string(let text): thoughts.append(text)
    case .array(let elements):
      for element in elements { take(element, into: &thoughts, depth: depth + 1) }
    case .object(let object):
      for key in thoughtKeys + ["reasoningContent"] {
        take(object[key] ?? .null, into: &thoughts, depth: depth + 1)
      }
    default: break
    }
  }
}

extension CallGraph {
  /// Marks the replies whose text is a call, or ends with one, that was read nowhere in the run, and takes back that it
  /// ended well where the last is such a reply.
  mutating func markCallsInTexts() {
    guard mayCallInTexts else { return }
    var read: ReadCalls?
    for index in items.indices {
      guard case .reply(var reply) = items[index] else { continue }
      var calls = CallsInTexts.calls(of: reply)
      if calls.isEmpty, items.indices.contains(index + 1),
        case .message(let message) = items[index + 1], message.role == .user
      {
        calls = ProgramCalls.calls(answeredBy: message)
      }
      guard !calls.isEmpty else { continue }
      let known = read ?? ReadCalls(self)
      read = known
      guard let pointer = reply.pointers.first, !calls.allSatisfy(known.hold) else { continue }
      reply.unread.append(pointer)
      items[index] = .reply(reply)
      // What may be a call is no answer by its form.
      if index == items.indices.last, ending?.isByForm == true { ending = nil }
    }
  }
}
