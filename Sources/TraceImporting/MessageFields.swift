import AgentTrace

/// The members of one foreign message or run, with errors that say where it stands.
struct MessageFields {
  let object: JSONObject
  let pointer: JSONPointer

  init(_ value: JSONValue, at pointer: JSONPointer) throws(ImportError) {
    guard let object = value.objectValue else {
      let expected =
        value.typeName == "bytes"
        ? "an object in which each key stands once" : "an object, not \(value.typeName)"
      throw ImportError(.wrongShape(expected: expected), at: pointer)
    }
    self.object = object
    self.pointer = pointer
  }

  /// The member, unless it is absent or `null`.
  subscript(key: String) -> JSONValue? {
    guard let value = object[key], !value.isNull else { return nil }
    return value
  }

  /// The elements of a list; none where it is absent or `null`.
  func list(_ key: String) throws(ImportError) -> [JSONValue] {
    guard let value = self[key] else { return [] }
    guard let elements = value.arrayValue else {
      throw ImportError(
        .wrongShape(expected: "a list, not \(value.typeName)"), at: pointer.appending(key))
    }
    return elements
  }

  /// The same with the place of each.
  func elements(_ key: String) throws(ImportError) -> [(JSONPointer, JSONValue)] {
    try list(key).placed(at: pointer.appending(key))
  }

  /// The members but some.
  func without(_ known: [String]) -> JSONObject {
    var rest = object
    for key in known { rest[key] = nil }
    return rest
  }

  /// Where members stand that a format does not know.
  func unread(but known: KnownKeys) -> [JSONPointer] {
    object.compactMap { known.cover($0.key, $0.value) ? nil : pointer.appending($0.key) }
  }

  /// Reads what messages of every format share: role, content, and the members that have no meaning
  /// here. `taken` are those that the format's own reader takes; content that is more than text is
  /// kept as it stood. `known` are all that the format has, beside role and content.
  func message(taking taken: [String], known: MessageKeys) throws(ImportError) -> ReadMessage {
    guard let roleName = self["role"]?.stringValue else {
      throw ImportError(.wrongShape(expected: "a message with a role"), at: pointer)
    }
    let content = try MessageContent(object["content"], at: pointer)
    var message = ReadMessage(
      role: Self.role(roleName), roleName: roleName, pointer: pointer, raw: .object(object))
    message.take(content)
    message.extra = without(["role", "content"] + taken)
    message.extra["content"] = content.original
    if message.role == .other { message.unread.append(pointer.appending("role")) }
    message.unread += unread(but: known[message.role])
    // What a tool gave back is data, whatever its form.
    if message.role != .tool { message.unread += content.unread }
    return message
  }

  private static func role(_ name: String) -> ReadMessage.Role {
    switch name {
    case "system", "developer": .system
    case "user": .user
    case "assistant": .assistant
    case "tool", "function": .tool
    default: .other
    }
  }

  /// Reads every element of a list as a message.
  ///
  /// - Throws: ``ImportError`` where there is none, or more than a log of one run is meant for.
  static func messages(
    _ elements: [JSONValue], at pointer: JSONPointer,
    reading read: (MessageFields) throws(ImportError) -> ReadMessage
  ) throws(ImportError) -> [ReadMessage] {
    guard !elements.isEmpty else { throw ImportError(.noMessages, at: pointer) }
    guard elements.count <= ImportLimits.messageLimit else {
      throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit), at: pointer)
    }
    var messages: [ReadMessage] = []
    for (place, element) in elements.placed(at: pointer) {
      messages.append(try read(try MessageFields(element, at: place)))
    }
    return messages
  }
}

extension ReadMessage {
  /// Takes in the content of a message of the chat interface.
  mutating func take(_ content: MessageContent) {
    texts = content.text.map { [$0] } ?? []
    parts = content.parts
  }

  /// Adds a call from its parts as they stood, and the places in it where its name, its arguments or another call may
  /// stand.
  ///
  /// - Parameter isText: whether arguments that are text are just that.
  mutating func addCall(
    name: JSONValue?, arguments: JSONValue?, id: JSONValue?, isText: Bool = false,
    of fields: MessageFields, known: KnownKeys
  ) {
    var call = GraphCall(
      name: name?.stringValue ?? "", input: .there(arguments ?? .null), id: id?.stringValue)
    if call.name.isEmpty {
      call.problem = "a call without a name"
    } else if !isText, arguments ?? .null == .null {
      call.problem = "a call of \(call.name) without arguments"
    }
    if !isText { call.readArguments() }
    calls.append(call)
    let unread = fields.unread(but: known)
    self.unread += unread
    let lacksPart = call.name.isEmpty || arguments == nil
    if lacksPart, unread.isEmpty { self.unread.append(fields.pointer) }
  }
}

extension [JSONValue] {
  /// Each with its place, where that of the list is `pointer`.
  func placed(at pointer: JSONPointer) -> [(JSONPointer, JSONValue)] {
    enumerated().map { (pointer.appending(String($0)), $1) }
  }
}

extension JSONValue {
  /// The elements of a member that is a list, each with its place; none of any other.
  func elements(_ key: String, at pointer: JSONPointer) -> [(JSONPointer, JSONValue)] {
    (self[key]?.arrayValue ?? []).placed(at: pointer.appending(key))
  }
}

extension JSONObject {
  /// The elements of a member that is a list, each with its place; none of any other.
  func elements(_ key: String, at pointer: JSONPointer) -> [(JSONPointer, JSONValue)] {
    (self[key]?.arrayValue ?? []).placed(at: pointer.appending(key))
  }
}
