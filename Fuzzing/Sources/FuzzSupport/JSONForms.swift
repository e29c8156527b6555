public import AgentTrace

extension JSONValue {
  /// A value whose objects of one key like `$bytes` or `$lost` became what plain JSON cannot hold,
  /// and whose texts `@1` became one of 300 bytes: long enough to be said once in a log.
  public var withForms: JSONValue {
    switch self {
    case .string(let text) where text.utf8.count == 2 && text.utf8.first == UInt8(ascii: "@"):
      .string(String(repeating: String(text.unicodeScalars.dropFirst()), count: 300))
    case .array(let elements): .array(elements.map(\.withForms))
    case .object(let object): form(of: object) ?? .object(object.mapValues { $0.withForms })
    default: self
    }
  }

  private func form(of object: JSONObject) -> JSONValue? {
    guard object.count == 1, let member = object.first else { return nil }
    switch (member.key, member.value) {
    case ("$bytes", .string(let text)): return .bytes(Array(text.utf8) + [0xff])
    case ("$lost", .string(let reference)): return .lost(reference)
    case ("$cut", .string(let head)): return .cut(bytes: 100_000, head: head)
    // What a line of a log refers to is not here; something of the same kind is.
    case ("$same", .string): return .string(String(repeating: "s", count: 300))
    case ("$list", .array(let items)):
      return .array(items.filter { $0.arrayValue == nil }.map(\.withForms))
    default: return nil
    }
  }

  /// Whether plain JSON can hold it.
  public var isPlainJSON: Bool {
    switch self {
    case .bytes, .cut, .lost: false
    case .array(let elements): elements.allSatisfy(\.isPlainJSON)
    case .object(let object): object.allSatisfy { $0.value.isPlainJSON }
    default: true
    }
  }
}
