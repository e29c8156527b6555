import AgentTrace

/// Which of a file's lines belong to which session.
///
/// A line goes on where its parent stands, whatever session it names: a session that was resumed may have another name
/// from then on. A line without a parent in the file belongs to the session that it names.
struct ClaudeSessions {
  private var names: [String: Int] = [:]
  private var byUUID: [String: Int] = [:]

  /// How many sessions there are; at least one.
  var count: Int { max(names.count, 1) }

  /// - Parameter files: those of sessions, not of their sub-agents.
  init(_ files: [SourceLines]) {
    for lines in files {
      for (_, line) in lines.values where line["message"] != nil {
        let session = inherited(line) ?? named(line) ?? 0
        if let uuid = line["uuid"]?.stringValue, byUUID[uuid] == nil { byUUID[uuid] = session }
      }
    }
  }

  /// The lines of each session. What names none belongs to the first; so does what could not be read.
  func sorted(_ lines: SourceLines) -> [SourceLines] {
    guard count > 1 else { return [lines] }
    var rest = lines
    rest.values = []
    var sessions = [rest]
    rest.unread = []
    sessions += Array(repeating: rest, count: count - 1)
    for entry in lines.values {
      let own = Self.name(of: entry.value).flatMap { names[$0] }
      sessions[inherited(entry.value) ?? own ?? 0].values.append(entry)
    }
    return sessions
  }

  private func inherited(_ line: JSONValue) -> Int? {
    line["parentUuid"]?.stringValue.flatMap { byUUID[$0] }
  }

  private mutating func named(_ line: JSONValue) -> Int? {
    guard let name = Self.name(of: line) else { return nil }
    if let known = names[name] { return known }
    // Each is a log of its own, and there are not so many in a file.
    guard names.count < Self.limit else { return nil }
    names[name] = names.count
    return names.count - 1
  }

  private static func name(of line: JSONValue) -> String? {
    (line["sessionId"] ?? line["session_id"])?.stringValue
  }

  private static let limit = 1_000
}
