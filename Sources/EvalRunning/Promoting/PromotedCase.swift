import AgentTrace
import TraceJudging

/// The text of a case file that was made from a run.
struct PromotedCase {
  var caseId: String
  /// Beside the case file.
  var recording: String
  var agent: String?
  var promotion: Promotion

  var text: String {
    var lines = comments.map { "# \($0)" }
    lines.append("caseId: \(Self.scalar(.string(caseId)))")
    if let input = Self.input(of: promotion.events) {
      lines.append("input: \(Self.flow(input))")
    }
    lines.append("recording: \(Self.scalar(.string(recording)))")
    if let agent { lines.append("agent: \(Self.scalar(.string(agent)))") }
    lines.append("tags: [promoted]")
    lines.append("expected:")
    lines += Self.block(promotion.expected)
    return lines.joined(separator: "\n") + "\n"
  }

  /// Where it comes from, for whoever finds it in a year.
  private var comments: [String] {
    let run = "run \(Self.quoted(promotion.runId))"
    guard !promotion.failures.isEmpty else {
      return [
        promotion.runs == 1
          ? "What \(run) did. Leave out what is chance."
          : "What \(promotion.runs) runs share; the recording is \(run). Leave out what is chance."
      ]
    }
    var lines = ["How \(run) failed:"]
    lines += promotion.failures.prefix(10).map { "  \(Self.quoted($0.message))" }
    let (events, calls) = (promotion.eventCounts, promotion.callCounts)
    if events.after < events.before {
      lines.append(
        "Shortened from \(Figures.count(events.before, "event")) and \(Figures.count(calls.before, "call")) "
          + "to \(events.after) and \(calls.after)."
      )
    }
    return lines
  }

  private static func input(of events: [Event]) -> JSONValue? {
    let data = events.first?.data
    if events.first?.beginsPipeline ?? false, let input = data?["input"] {
      // What is given to a pipeline may be anything.
      return input.objectValue != nil || input.arrayValue != nil || input.stringValue != nil
        ? input : .string(CanonicalJSON.string(input))
    }
    return (data?["input"]?.stringValue ?? data?["goal"]?.stringValue).map(JSONValue.string)
  }

  // MARK: YAML

  /// A mapping or a list, indented below its key, in the order of the documents; what is deeper stands in
  /// one line.
  private static func block(_ value: JSONValue) -> [String] {
    switch value {
    case .object(let object):
      return members(of: object, first: Expectations.keyNames).flatMap { key, value -> [String] in
        guard case .array(let elements) = value, !elements.isEmpty else {
          return ["  \(scalar(.string(key))): \(flow(value))"]
        }
        return ["  \(scalar(.string(key))):"] + elements.map { "    - \(flow($0))" }
      }
    case .array(let elements): return elements.map { "  - \(flow($0))" }
    default: return ["  \(flow(value))"]
    }
  }

  /// A value in one line.
  static func flow(_ value: JSONValue) -> String {
    switch value {
    case .object(let object):
      let members = members(of: object, first: ["tool", "input", "status", "result", "times"])
      return "{" + members.map { "\(scalar(.string($0))): \(flow($1))" }.joined(separator: ", ")
        + "}"
    case .array(let elements): return "[" + elements.map(flow).joined(separator: ", ") + "]"
    default: return scalar(value)
    }
  }

  private static func members(
    of object: JSONObject, first names: [String]
  ) -> [(key: String, value: JSONValue)] {
    let known = names.compactMap { name in object[name].map { (key: name, value: $0) } }
    let others = object.filter { member in !names.contains { $0.hasSameUTF8(as: member.key) } }
    return known + others.map { (key: $0.key, value: $0.value) }
  }

  /// A plain word as it is, anything else as JSON, which YAML is a superset of.
  static func scalar(_ value: JSONValue) -> String {
    guard case .string(let text) = value else { return json(value) }
    return isPlain(text) ? text : quoted(text)
  }

  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.utf8.first, isLetter(first), text.utf8.count <= 200 else {
      return false
    }
    let isSafe = text.utf8.allSatisfy { byte in
      isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        || byte == UInt8(ascii: "/")
    }
    // Words that are something else than texts in one version of YAML or another.
    return isSafe
      && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased())
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func quoted(_ text: String) -> String { json(.string(text)) }

  /// JSON that a reader of YAML takes for the same: what YAML does not count as printable is escaped.
  private static func json(_ value: JSONValue) -> String {
    var text = ""
    for scalar in CanonicalJSON.string(value, form: .plain).unicodeScalars {
      switch scalar.value {
      case 0x7f...0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
        let hex = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
