public import AgentTrace

extension JSONValue {
  /// The value for a message: canonical JSON, cut to a few hundred bytes. Cost is bounded too.
  public var excerpt: String { Wording.of(self) }
}

/// Puts matchers and values into short words for messages.
enum Wording {
  private static let limitBytes = 200

  /// A value as JSON, cut short.
  static func of(_ value: JSONValue?) -> String {
    guard let value else { return "nothing" }
    switch value {
    case .string(let text):
      // Not encoded as a whole: it may be megabytes.
      let head = text.prefix(utf8Bytes: limitBytes)
      let json = CanonicalJSON.string(.string(head))
      return head.utf8.count < text.utf8.count ? "\(json)… (\(text.utf8.count) bytes)" : json
    case .array(let elements) where elements.count > limitBytes:
      return "an array of \(elements.count)"
    case .object(let object) where object.count > limitBytes:
      return "an object of \(object.count) keys"
    case .lost: return "a value lost from the log"
    case .cut(0, _): return "a value that is not there"
    case .cut(let bytes, _) where value.isCutFromUnknownLength:
      return "a value of which only the beginning is there (\(Figures.count(bytes, "byte")))"
    case .cut(let bytes, _): return "a value cut from \(bytes) bytes"
    case .bytes(let bytes): return "\(bytes.count) bytes that are no text"
    default: return shortened(json(value, depth: 0))
    }
  }

  /// Canonical JSON with long strings and what lies deep left out, so that its cost is bounded.
  private static func json(_ value: JSONValue, depth: Int) -> String {
    switch value {
    case .array(let elements):
      guard depth < 6 else { return "[…]" }
      var parts = elements.prefix(20).map { json($0, depth: depth + 1) }
      if elements.count > 20 { parts.append("…") }
      return "[" + parts.joined(separator: ",") + "]"
    case .object(let object):
      guard depth < 6 else { return "{…}" }
      var parts = object.prefix(20).map {
        CanonicalJSON.string(.string($0.key.prefix(utf8Bytes: 80))) + ":"
          + json($0.value, depth: depth + 1)
      }
      if object.count > 20 { parts.append("…") }
      return "{" + parts.joined(separator: ",") + "}"
    case .string(let text):
      let head = text.prefix(utf8Bytes: limitBytes)
      return CanonicalJSON.string(.string(head))
        + (head.utf8.count < text.utf8.count ? "…" : "")
    case .number(let number): return number.token.prefix(utf8Bytes: 80)
    case .null, .bool: return CanonicalJSON.string(value)
    case .lost, .cut, .bytes: return "‹\(value.typeName)›"
    }
  }

  private static func shortened(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: limitBytes)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }

  /// What a matcher asks, in words.
  static func of(_ node: MatcherNode) -> String { shortened(phrase(node, depth: 0)) }

  static func list(_ nodes: [MatcherNode]) -> String { shortened(list(nodes, depth: 0)) }

  private static func list(_ nodes: [MatcherNode], depth: Int) -> String {
    guard depth < 4 else { return "(…)" }
    var parts = nodes.prefix(10).map { phrase($0, depth: depth + 1) }
    if nodes.count > 10 { parts.append("…") }
    return "(" + parts.joined(separator: ", ") + ")"
  }

  private static func phrase(_ node: MatcherNode, depth: Int) -> String {
    switch node {
    case .scalar(let value, _): return of(value)
    case .exact(let value): return of(value)
    case .array(let nodes): return "an array of \(nodes.count)"
    case .object(let members):
      guard depth < 4 else { return "{…}" }
      var parts = members.prefix(10).map {
        CanonicalJSON.string(.string($0.key.prefix(utf8Bytes: 80))) + ": "
          + phrase($0.node, depth: depth + 1)
      }
      if members.count > 10 { parts.append("…") }
      return parts.isEmpty ? "an object" : "an object with " + parts.joined(separator: ", ")
    case .any: return "any value"
    case .absent(let isAbsent): return isAbsent ? "nothing" : "any value"
    case .not(let inner): return "not " + phrase(inner, depth: depth + 1)
    case .oneOf(let nodes): return "exactly one of " + list(nodes, depth: depth)
    case .allOf(let nodes): return "all of " + list(nodes, depth: depth)
    case .anyOf(let nodes): return "any of " + list(nodes, depth: depth)
    case .regex(let pattern): return "a text in which /\(pattern.text)/ is found"
    case .glob(let glob): return "a text like “\(glob.text)”"
    case .compare(let name, _, let bound):
      let sign =
        switch name {
        case .greater: ">"
        case .greaterOrEqual: "≥"
        case .less: "<"
        default: "≤"
        }
      return "a number \(sign) \(bound.token.prefix(utf8Bytes: 80))"
    case .approximate(_, _, let value, let tolerance):
      return "a number within \(JSONValue(tolerance)) of \(JSONValue(value))"
    case .contains(_, let element):
      return "something that contains " + phrase(element, depth: depth + 1)
    case .length(let inner): return "a length of " + phrase(inner, depth: depth + 1)
    case .type(let types):
      return "a value of type " + types.map(\.rawValue).joined(separator: " or ")
    case .schema: return "a value that the schema allows"
    case .ignoreCase(_, let text): return of(JSONValue.string(text)) + " in any case"
    case .from(let origin): return "a value from \(origin)"
    case .subsetOf: return "an object with no other keys or values than those given"
    }
  }
}
