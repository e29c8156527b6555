import AgentTrace

/// The calls that the replies of one process held, to find those that requests tell of and no reply held: whoever
/// made them was asked past the proxy.
///
/// Clients give calls ids of their own, and shorten the inputs of old ones: a call is known by either. What a
/// conversation begins with was before, and is known from then on.
struct HeldCalls {
  /// How many there are of one tool and input.
  private var counts: [Digest: Int] = [:]
  private var ids: Set<Digest> = []
  private var tools: Set<String> = []

  /// Takes in one that a reply held.
  mutating func add(id: String, name: String, input: JSONValue) {
    counts[Self.fingerprint(name, input.byValue), default: 0] += 1
    learn(id, name)
  }

  private mutating func learn(_ id: String, _ name: String) {
    tools.insert(name)
    if !id.isEmpty { ids.insert(Self.fingerprint(name, .string(id))) }
  }

  private static func fingerprint(_ name: String, _ what: JSONValue) -> Digest {
    Digest(of: .array([.string(name), what]))
  }

  /// The tools of calls that messages tell of and that no reply held, each once; each such call is told of once.
  ///
  /// - Parameter isFirst: whether a conversation begins with them, or a reply to it has not been taken in yet.
  mutating func unheld(in messages: [JSONValue], isFirst: Bool) -> [String] {
    var (found, seen): ([String], [Digest: Int]) = ([], [:])
    for message in messages where message["role"] == "assistant" {
      for part in message["content"]?.arrayValue ?? [] where part["type"] == "tool_call" {
        let (id, name) = (part["callId"]?.stringValue ?? "", part["name"]?.stringValue ?? "")
        let fingerprint = Self.fingerprint(name, (part["input"] ?? .null).byValue)
        let (count, held) = (seen[fingerprint, default: 0] + 1, counts[fingerprint] ?? 0)
        seen[fingerprint] = count
        if count <= held { continue }
        let isKnown =
          id.isEmpty
          ? held == 0 && tools.contains(name) : ids.contains(Self.fingerprint(name, .string(id)))
        if isKnown { continue }
        if !isFirst, !found.contains(where: name.hasSameUTF8(as:)) { found.append(name) }
        counts[fingerprint] = count
        learn(id, name)
      }
    }
    return found
  }
}
