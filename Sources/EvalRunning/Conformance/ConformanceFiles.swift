import AgentTrace
public import TraceJudging

extension Conformance {
  /// A file of edge cases as data, for other evaluators to run; Docs/conformance.md describes it.
  public struct File: Sendable {
    /// The file's name, made of the rule's.
    public var name: String
    /// What it holds: JSON, a line for each edge case.
    public var bytes: [UInt8]
  }

  /// The edge cases that expectations decide, a file for each rule, in the order of their names.
  ///
  /// What something else decides (exit codes, files that are cut) is not among them.
  public static func files(of checks: [Check]) -> [File] {
    var rows: [String: [[UInt8]]] = [:]
    var rules: [String: String] = [:]
    for check in checks {
      guard let row = row(of: check) else { continue }
      let name = fileName(of: check.rule)
      rows[name, default: []].append(row)
      rules[name] = check.rule
    }
    return rows.map { name, rows in
      var bytes = Array("{\"schema\":\"agent-eval/conformance/1\",\"rule\":".utf8)
      CanonicalJSON.append(.string(rules[name] ?? ""), to: &bytes)
      bytes += Array(",\"rows\":[\n".utf8)
      bytes += rows.joined(separator: Array(",\n".utf8))
      bytes += Array("\n]}\n".utf8)
      return File(name: name, bytes: bytes)
    }.sorted { $0.name.precedesByUTF8($1.name) }
  }

  /// The name of a rule with what does not belong into a file's name taken out.
  private static func fileName(of rule: String) -> String {
    let words = rule.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
    return words.joined(separator: "-") + ".json"
  }

  /// The line of an edge case; `nil` where no expectation decides it.
  private static func row(of check: Check) -> [UInt8]? {
    guard let expected = check.expected else { return nil }
    var members: [(key: String, value: [UInt8])] = []
    func add(_ key: String, _ value: JSONValue) {
      members.append((key, CanonicalJSON.encode(value)))
    }
    add("title", .string(check.title))
    if let peer = check.peer { add("peer", .string(peer)) }
    if !check.events.isEmpty {
      let lines = check.events.map { $0.encodedLine() }.joined(separator: Array(",".utf8))
      members.append(("lines", Array("[".utf8) + lines + Array("]".utf8)))
      if check.isTorn { add("torn", true) }
    }
    if !check.votes.isEmpty { add("votes", JSONValue(check.votes.map(\.rawValue))) }
    add("expected", expected)
    add("outcome", .string(check.wanted))
    add("reason", .string(check.messages.joined(separator: "; ")))
    var bytes = Array("{".utf8)
    for (index, member) in members.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      CanonicalJSON.appendString(member.key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      bytes += member.value
    }
    return bytes + Array("}".utf8)
  }
}
