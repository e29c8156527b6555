import AgentTrace
import SQLite

/// The database in which opencode keeps its sessions since version 1.2, with a row for each message and part: what a file of
/// each held before, without the ids, stands in `data`.
enum OpenCodeDatabase {
  /// Under what ``document(_:)`` has the sessions.
  static let key = "opencodeSessions"

  /// Whether a file is a database of SQLite.
  static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "SQLite format 3\0".utf8) }

  /// The sessions of a database, as `opencode export` writes each of them. It stays as it is, and so does its folder.
  ///
  /// - Throws: ``ImportError`` where it cannot be read, is another program's, or was not written to its end.
  static func document(_ path: String) throws(ImportError) -> SourceDocument {
    for ending in ["-wal", "-journal"] where !SourceFiles.head(path + ending, count: 1).isEmpty {
      throw ImportError(
        .unreadable(
          "not all of it stands in it: close opencode, or export the session; \(path)\(ending) has the rest"
        ))
    }
    do {
      let connection = try Connection(path: path, for: .readingWhatNobodyWrites, busySeconds: 0)
      return try connection.limited(to: limits) { _ in
        .value([key: .array(try sessions(in: connection))])
      }
    } catch let error as ImportError {
      throw error
    } catch {
      throw ImportError(.unreadable("\(error)"))
    }
  }

  private static let limits = ReadingLimits(
    valueBytes: 64 << 20, heapBytes: 512 << 20, seconds: 120)

  private static func sessions(in connection: Connection) throws -> [JSONValue] {
    let tables = try texts(
      connection, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    guard tables.contains("message"), tables.contains("part") else {
      throw ImportError(
        .wrongShape(expected: "a database of opencode, with the tables `message` and `part`"))
    }
    var parts: [String: [JSONValue]] = [:]
    try rows(connection, "SELECT session_id, message_id, id, data FROM part ORDER BY id") {
      let part = object($0[3], [("sessionID", $0[0]), ("messageID", $0[1]), ("id", $0[2])])
      parts[$0[1], default: []].append(part)
    }
    var order: [String] = []
    var messages: [String: [JSONValue]] = [:]
    try rows(
      connection,
      "SELECT session_id, id, data FROM message ORDER BY session_id, time_created, id"
    ) {
      if messages[$0[0]] == nil { order.append($0[0]) }
      let info = object($0[2], [("sessionID", $0[0]), ("id", $0[1])])
      let own = parts.removeValue(forKey: $0[1]) ?? []
      messages[$0[0], default: []].append(["info": info, "parts": .array(own)])
    }
    // What belongs to no message that is there: its session's, where that is known.
    for (_, lost) in parts.sorted(by: { $0.key.precedesByUTF8($1.key) }) {
      let session = lost.first?["sessionID"]?.stringValue ?? ""
      if messages[session] == nil { order.append(session) }
      messages[session, default: []].append(.array(lost))
    }
    if tables.contains("session_message") {
      // Newer versions may keep what was said elsewhere: such a session has no messages here, and is named.
      for session in try texts(
        connection, "SELECT DISTINCT session_id FROM session_message ORDER BY session_id")
      where messages[session] == nil {
        order.append(session)
        messages[session] = []
      }
    }
    return order.map { session in
      ["info": ["id": .string(session)], "messages": .array(messages[session] ?? [])]
    }
  }

  /// What a row's JSON says, with its ids; a text that is none is told as it stands.
  private static func object(_ text: String, _ ids: [(key: String, value: String)]) -> JSONValue {
    guard var object = JSONText.any(text)?.objectValue else { return .string(text) }
    for id in ids { object[id.key] = .string(id.value) }
    return .object(object)
  }

  private static func texts(_ connection: Connection, _ sql: String) throws -> [String] {
    var found: [String] = []
    try rows(connection, sql) { found.append($0[0]) }
    return found
  }

  /// Shows each row as texts; what is none is empty.
  private static func rows(
    _ connection: Connection, _ sql: String, _ body: ([String]) -> Void
  ) throws {
    var count = 0
    try Statement(connection, sql, to: "read opencode's sessions").rows([]) { row in
      count += 1
      guard count <= SourceLines.limit else {
        throw ImportError(.tooManyMessages(limit: SourceLines.limit))
      }
      body((0..<row.count).map { row.text($0) ?? "" })
      return true
    }
  }
}
