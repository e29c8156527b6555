import AgentTrace

/// The keys that an object of a format may have: those that its reader takes, and those that are known to
/// hold no call. Whatever else stands there may be one that goes unread.
struct KnownKeys: Sendable {
  /// What a key may hold.
  private enum Kind: Sendable {
    /// What the reader looks at, and finds fault with.
    case read
    /// A text, a number or a truth value.
    case word
    /// Anything in which nothing has the form of a call.
    case data
    /// An object, whatever stands in it: it speaks of calls and holds none, or repeats one.
    case object
  }

  private let kinds: [String: Kind]

  /// - Parameters:
  ///   - read: what the reader takes, whatever it is.
  ///   - words: a text, a number or a truth value.
  ///   - data: anything in which nothing has the form of a call.
  ///   - objects: an object, whatever stands in it.
  init(read: [String] = [], words: [String] = [], data: [String] = [], objects: [String] = []) {
    var kinds: [String: Kind] = [:]
    for (names, kind) in [(read, Kind.read), (words, .word), (data, .data), (objects, .object)] {
      for name in names { kinds[name] = kind }
    }
    self.kinds = kinds
  }

  private init(_ kinds: [String: Kind]) { self.kinds = kinds }

  /// These and others.
  static func + (left: KnownKeys, right: KnownKeys) -> KnownKeys {
    KnownKeys(left.kinds.merging(right.kinds) { first, _ in first })
  }

  /// Whether a member of an object is accounted for. What says nothing (`null`, `false`, empty) always is.
  func cover(_ key: String, _ value: JSONValue) -> Bool {
    if value.saysNothing { return true }
    guard let kind = kinds[key] else { return false }
    switch (kind, value) {
    case (.read, _), (.object, .object): return true
    case (.word, .string), (.word, .number), (.word, .bool): return true
    case (.word, _), (.object, _): return false
    case (.data, _): return !value.mayHoldCall
    }
  }
}

/// The keys of a format's messages, by the role that speaks; `role` and `content` are all messages'.
struct MessageKeys: Sendable {
  private let system: KnownKeys
  private let user: KnownKeys
  private let assistant: KnownKeys
  private let tool: KnownKeys

  init(
    system: KnownKeys = KnownKeys(), user: KnownKeys = KnownKeys(), assistant: KnownKeys,
    tool: KnownKeys
  ) {
    let all = KnownKeys(read: ["role", "content"])
    (self.system, self.user) = (system + all, user + all)
    (self.assistant, self.tool) = (assistant + all, tool + all)
  }

  subscript(role: ReadMessage.Role) -> KnownKeys {
    switch role {
    case .system, .other: system
    case .user: user
    case .assistant: assistant
    case .tool: tool
    }
  }
}

/// The parts of content that are known, by their `type`. All formats share them: they are those of the
/// interfaces that their models are asked through.
enum KnownParts {
  /// Text, under `text` or `content`.
  static let texts = ["text", "input_text", "output_text"]
  /// What a part of text may say beside its text.
  static let textKeys = KnownKeys(
    words: ["type", "text", "content", "id", "index"],
    data: ["annotations", "cache_control", "citations", "logprobs"])
  /// What is neither text nor a call, whatever its keys, as long as nothing in it has the form of one.
  static let others = [
    "audio", "document", "file", "image", "image_url", "input_audio", "input_file", "input_image",
    "reasoning", "redacted_thinking", "refusal", "summary_text", "thinking", "video", "video_url",
  ]
}

extension JSONValue {
  /// Whether there is nothing: `null`, `false`, an empty text, list or object.
  var saysNothing: Bool {
    switch self {
    case .null, .bool(false): true
    case .string(let text): text.isEmpty
    case .array(let elements): elements.isEmpty
    case .object(let object): object.isEmpty
    default: false
    }
  }

  private static let noErrors: Set<String> = ["", "0", "false", "no", "none", "null", "undefined"]

  /// Whether what stands under `error` says that there was one: a yes, words, another number than 0, or an object with
  /// something in it.
  var saysError: Bool {
    switch self {
    case .bool(let isSo): isSo
    case .string(let text): !Self.noErrors.contains(text.lowercased())
    case .object(let object): object.contains { !$0.value.saysNothing }
    default: !saysNothing && self != 0
    }
  }

  /// Whether something in it has the form of a call, in whatever spelling: a key that says so, or a name
  /// beside arguments. Of what was kept as bytes nobody knows.
  var mayHoldCall: Bool {
    switch self {
    case .bytes, .cut, .lost: return true
    case .array(let elements): return elements.contains(where: \.mayHoldCall)
    case .object(let object):
      let keys = object.filter { !$0.value.saysNothing }.map { Self.plainKey($0.key) }
      if keys.contains(where: Self.callKeys.contains) { return true }
      let isNamed = object.contains {
        Self.nameKeys.contains(Self.plainKey($0.key)) && $0.value.mayBeName
      }
      if isNamed,
        object.contains(where: { Self.inputKeys.contains(Self.plainKey($0.key)) })
      {
        return true
      }
      if let type = object["type"]?.stringValue, Self.callKeys.contains(Self.plainKey(type)) {
        return true
      }
      return object.contains { $0.value.mayHoldCall }
    default: return false
    }
  }

  /// Whether something can be a name, or hold one: counts and yes or no are none.
  private var mayBeName: Bool {
    switch self {
    case .number, .bool, .null: false
    default: !saysNothing
    }
  }

  /// Whether something of a type that is not known speaks of tools: in the name of the type, or by a key that names one.
  func speaksOfTools(type: String?) -> Bool {
    if let type = type.map(Self.plainKey), Self.toolStems.contains(where: type.contains) {
      return true
    }
    return objectValue?.contains {
      Self.toolKeys.contains(Self.plainKey($0.key)) && $0.value.stringValue?.isEmpty == false
    } ?? false
  }

  private static let toolStems = ["mcp", "tool", "functioncall"]
  private static let toolKeys: Set<String> = ["function", "functionname", "tool", "toolname"]

  /// The same, also of what stands in it as a text of JSON.
  var mayHoldCallAsText: Bool {
    if mayHoldCall { return true }
    return switch self {
    case .array(let elements): elements.contains(where: \.mayHoldCallAsText)
    case .object(let object): object.contains { $0.value.mayHoldCallAsText }
    case .string(let text): JSONText.parse(text)?.mayHoldCallAsText ?? false
    default: false
    }
  }

  /// A key in small letters, without what joins its words.
  static func plainKey(_ key: String) -> String {
    let bytes = key.utf8.prefix(64).compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "."): nil
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      default: byte
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let callKeys: Set<String> = [
    "action", "actions", "call", "calls", "customtoolcall", "functioncall", "functioncalls",
    "functionresponse", "mcpcall", "toolcall", "toolcalls", "toolresult", "tooluse",
  ]
  private static let nameKeys: Set<String> = [
    "action", "function", "functionname", "name", "recipient", "tool", "toolname",
  ]
  private static let inputKeys: Set<String> = [
    "args", "arguments", "input", "inputs", "kwargs", "parameters", "params", "toolinput",
  ]
}
