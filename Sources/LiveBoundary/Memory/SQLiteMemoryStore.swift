public import AgentRuntime
import AgentTrace
import CSQLite
import FilePaths
import Glibc
import SQLite
import Synchronization

/// Notes of agents and actors in one SQLite file, which several processes may use at once.
///
/// Every note is written in a transaction of its own, on the disk when ``write(_:)`` returns. The file
/// is made with the first note; reading makes none.
public final class SQLiteMemoryStore: MemoryStore {
  /// Where notes are kept unless somebody says else.
  public static let defaultPath = ".agent-eval/memory.sqlite"
  /// The format of the file, in its `user_version`.
  static let version = 2
  /// Says in the file's header whose it is: `AEmm`.
  static let application = 0x4145_6d6d
  /// How long one process waits for another that writes.
  private static let busySeconds = 30.0

  /// The file, as the caller named it.
  public let path: String
  private let connection = Mutex<Connection?>(nil)

  /// Nothing is opened yet.
  public init(path: String) { self.path = path }

  /// Opens the file where it is there, to see that it can be used.
  ///
  /// - Throws: ``MemoryStoreError``.
  public func check() throws {
    guard access(path, F_OK) == 0 else { return }
    try perform { try $0.read(Self.verify) }
  }

  public func note(at address: MemoryAddress) throws -> KeptNote? {
    guard access(path, F_OK) == 0 else { return nil }
    return try perform { connection in
      try connection.read { connection in
        var found: KeptNote?
        try Statement(
          connection,
          "SELECT \(Self.columns) FROM note WHERE scope = ? AND owner = ? AND key = ?",
          to: "read a note"
        ).rows(Self.place(of: address)) { row in
          found = try Self.note(row, address.scope, address.owner)
          return false
        }
        return found
      }
    }
  }

  /// The words are looked up in an index of SQLite (FTS5, sqlite.org/fts5.html), where it has one.
  public func notes(for search: MemorySearch) throws -> [KeptNote] {
    guard access(path, F_OK) == 0 else { return [] }
    return try perform { connection in
      try connection.read { connection in
        var sql = "SELECT \(Self.columns) FROM note WHERE scope = ? AND owner = ?"
        var values: [Value] = [.text(search.scope.rawValue), .text(search.owner)]
        // What is folded to more than a letter SQLite may fold otherwise: each note is looked at anyway.
        let plain = search.words.filter { $0.unicodeScalars.allSatisfy { !$0.isMark } }
        if !plain.isEmpty, try Self.hasIndex(connection) {
          sql += " AND id IN (SELECT rowid FROM word WHERE word MATCH ?)"
          values.append(.text(plain.map { "\"\($0)\"*" }.joined(separator: " ")))
        }
        sql += " ORDER BY coalesce(kept_at, '') DESC, key"
        var found: [KeptNote] = []
        try Statement(connection, sql, to: "look for notes").rows(values) { row in
          guard found.count < search.limit else { return false }
          let note = try Self.note(row, search.scope, search.owner)
          if search.fits(note) { found.append(note) }
          return true
        }
        return found
      }
    }
  }

  private static let columns = "key, value, tags, expires, kept_at, run, seq"

  private static func note(
    _ row: borrowing Row, _ scope: MemoryAddress.Scope, _ owner: String
  ) throws -> KeptNote {
    let tags = try JSONValue(parsing: row.text(2) ?? "[]").arrayValue ?? []
    return KeptNote(
      address: MemoryAddress(scope: scope, owner: owner, key: row.text(0) ?? ""),
      value: try JSONValue(parsing: row.text(1) ?? "null"), tags: tags.compactMap(\.stringValue),
      expires: row.text(3), keptAt: row.text(4), runId: row.text(5) ?? "", seq: row.integer(6) ?? 0)
  }

  private static func hasIndex(_ connection: Connection) throws -> Bool {
    try number(connection, "SELECT count(*) FROM sqlite_master WHERE name = 'word'") > 0
  }

  public func write(_ writing: MemoryWriting) throws {
    try makeFolder()
    try perform { connection in try connection.write { try Self.write(writing, in: $0) } }
  }

  private static func place(of address: MemoryAddress) -> [Value] {
    [.text(address.scope.rawValue), .text(address.owner), .text(address.key)]
  }

  private static func write(_ writing: MemoryWriting, in connection: Connection) throws {
    let last = try connection.value(
      "SELECT seq FROM written WHERE run = ?", [.text(writing.runId)], to: "see what is written")
    if let last = last?.integer, last >= writing.seq { return }
    let place = place(of: writing.address)
    if let value = writing.value {
      if try isFull(place, in: connection) {
        try forgetRunOut(writing, in: connection)
        guard try !isFull(place, in: connection) else { throw MemoryFault.full }
      }
      try keep(value, of: writing, at: place, in: connection)
    } else {
      try remove(place, from: connection)
    }
    try Statement(
      connection,
      """
      INSERT INTO written (run, seq) VALUES (?, ?)
      ON CONFLICT (run) DO UPDATE SET seq = excluded.seq
      """, to: "keep what is written"
    ).run([.text(writing.runId), .integer(writing.seq)])
  }

  private static func keep(
    _ value: JSONValue, of writing: MemoryWriting, at place: [Value], in connection: Connection
  ) throws {
    try forgetWords(of: place, in: connection)
    try Statement(
      connection,
      """
      INSERT INTO note (scope, owner, key, value, tags, expires, kept_at, run, seq)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (scope, owner, key) DO UPDATE SET
        value = excluded.value, tags = excluded.tags, expires = excluded.expires,
        kept_at = excluded.kept_at, run = excluded.run, seq = excluded.seq
      """, to: "write a note"
    ).run(
      place + [
        .text(CanonicalJSON.string(value)), .text(CanonicalJSON.string(JSONValue(writing.tags))),
        writing.expires.map(Value.text) ?? .null, writing.time.map(Value.text) ?? .null,
        .text(writing.runId), .integer(writing.seq),
      ])
    guard try hasIndex(connection) else { return }
    try Statement(
      connection,
      """
      INSERT INTO word (rowid, text)
      SELECT id, ? FROM note WHERE scope = ? AND owner = ? AND key = ?
      """, to: "keep the words of a note"
    ).run([.text(MemorySearch.text(key: writing.address.key, value: value))] + place)
  }

  private static func remove(_ place: [Value], from connection: Connection) throws {
    try forgetWords(of: place, in: connection)
    try Statement(
      connection, "DELETE FROM note WHERE scope = ? AND owner = ? AND key = ?",
      to: "remove a note"
    ).run(place)
  }

  private static func forgetWords(of place: [Value], in connection: Connection) throws {
    guard try hasIndex(connection) else { return }
    try Statement(
      connection,
      "DELETE FROM word WHERE rowid = (SELECT id FROM note WHERE scope = ? AND owner = ? AND key = ?)",
      to: "forget the words of a note"
    ).run(place)
  }

  /// Whether an owner has as many notes as are kept, besides the one of a key.
  private static func isFull(_ place: [Value], in connection: Connection) throws -> Bool {
    let others = try connection.value(
      "SELECT count(*) FROM note WHERE scope = ? AND owner = ? AND key <> ?", place,
      to: "count notes")
    return others?.integer ?? 0 >= MemoryLimits.notes
  }

  /// Takes an owner's notes away whose time is over: they take nobody's place.
  private static func forgetRunOut(_ writing: MemoryWriting, in connection: Connection) throws {
    let (scope, owner) = (writing.address.scope, writing.address.owner)
    var over: [String] = []
    try Statement(
      connection,
      "SELECT \(columns) FROM note WHERE scope = ? AND owner = ? AND expires IS NOT NULL",
      to: "see which notes have run out"
    ).rows([.text(scope.rawValue), .text(owner)]) { row in
      let note = try note(row, scope, owner)
      if note.hasRunOut(at: writing.time) { over.append(note.address.key) }
      return true
    }
    for key in over {
      try remove(
        place(of: MemoryAddress(scope: scope, owner: owner, key: key)), from: connection)
    }
  }

  // MARK: The file

  private func perform<Result: Sendable>(
    _ work: @Sendable (Connection) throws -> Result
  ) throws -> Result {
    do {
      return try connection.withLock { kept in
        let connection = try kept ?? Self.open(path)
        kept = connection
        return try work(connection)
      }
    } catch let error as MemoryFault where error == MemoryFault.full {
      throw error
    } catch let error as MemoryStoreError {
      throw error
    } catch let error as SQLiteError {
      throw MemoryStoreError(path: path, reason: Self.reason(error))
    } catch {
      throw MemoryStoreError(path: path, reason: "\(error)")
    }
  }

  private static func reason(_ error: SQLiteError) -> String {
    switch error.primaryCode {
    case SQLITE_NOTADB: "it is no SQLite file"
    case SQLITE_CORRUPT: "it is damaged"
    case SQLITE_BUSY, SQLITE_LOCKED: "another process holds it"
    default: "\(error)"
    }
  }

  private static func open(_ path: String) throws -> Connection {
    let connection = try Connection(path: path, for: .writing, busySeconds: busySeconds)
    // Nothing in a file that somebody else may have made is to be run (sqlite.org/security.html).
    try connection.execute(
      "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL",
      to: "make it safe to open")
    try connection.write(prepare)
    try connection.execute("PRAGMA journal_mode = WAL", to: "write ahead of it")
    return connection
  }

  /// Makes the tables of a new file, or sees whether those of an old one are ours.
  private static func prepare(_ connection: Connection) throws {
    let count = try number(connection, "SELECT count(*) FROM sqlite_master")
    if count == 0, try number(connection, "PRAGMA user_version") == 0 {
      try connection.execute(
        """
        \(noteTable);
        CREATE TABLE written (run TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID, STRICT;
        PRAGMA application_id = \(application);
        PRAGMA user_version = \(version)
        """, to: "make its tables")
      makeIndex(connection)
      return
    }
    if try number(connection, "PRAGMA application_id") == application,
      try number(connection, "PRAGMA user_version") == 1
    {
      try takeOver(connection)
    }
    try verify(connection)
  }

  private static let noteTable = """
    CREATE TABLE note (
      id INTEGER PRIMARY KEY, scope TEXT NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL,
      value TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]', expires TEXT, kept_at TEXT,
      run TEXT NOT NULL DEFAULT '', seq INTEGER NOT NULL DEFAULT 0,
      UNIQUE (scope, owner, key)) STRICT
    """

  /// Notes are found without it too, only slower: it is left out where SQLite was built without FTS5.
  private static func makeIndex(_ connection: Connection) {
    try? connection.execute(
      "CREATE VIRTUAL TABLE word USING fts5 (text, tokenize = 'unicode61 remove_diacritics 0')",
      to: "make an index of words")
  }

  /// Makes a file of the format before this one into this one: its notes had no tags, no end and no origin.
  private static func takeOver(_ connection: Connection) throws {
    try connection.execute(
      """
      ALTER TABLE note RENAME TO earlier;
      \(noteTable);
      INSERT INTO note (scope, owner, key, value) SELECT scope, owner, key, value FROM earlier;
      DROP TABLE earlier;
      PRAGMA user_version = \(version)
      """, to: "take its notes over")
    makeIndex(connection)
    guard try hasIndex(connection) else { return }
    var texts: [(id: Int, text: String)] = []
    try Statement(connection, "SELECT id, key, value FROM note", to: "read its notes").rows([]) {
      row in
      guard let id = row.integer(0), let key = row.text(1), let text = row.text(2) else {
        return true
      }
      texts.append((id, MemorySearch.text(key: key, value: try JSONValue(parsing: text))))
      return true
    }
    let insert = "INSERT INTO word (rowid, text) VALUES (?, ?)"
    for (id, text) in texts {
      try Statement(connection, insert, to: "keep the words of a note").run([
        .integer(id), .text(text),
      ])
    }
  }

  private static func number(_ connection: Connection, _ sql: String) throws -> Int {
    try connection.value(sql, to: "see whose it is")?.integer ?? 0
  }

  private static func verify(_ connection: Connection) throws {
    let user = try number(connection, "PRAGMA user_version")
    guard try number(connection, "PRAGMA application_id") == application else {
      throw MemoryFault("it is a SQLite file of another program")
    }
    guard user == version else {
      throw MemoryFault("its format is \(user), and this program knows \(version)")
    }
    // Reads the first page of each table: gross damage shows here, before a run relies on it.
    for table in ["note", "written"] {
      _ = try connection.value("SELECT * FROM \(table) LIMIT 1", to: "look into it")
    }
  }

  private func makeFolder() throws {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
    let parts = path[..<slash].split(separator: "/", omittingEmptySubsequences: true)
    var folder = path.utf8.first == UInt8(ascii: "/") ? "/" : ""
    for part in parts {
      folder += part
      if mkdir(folder, 0o777) != 0, errno != EEXIST {
        throw MemoryStoreError(
          path: path, reason: "its folder cannot be made: \(String(cString: strerror(errno)))")
      }
      folder += "/"
    }
  }
}

extension Unicode.Scalar {
  /// Whether it only changes the letter before it.
  fileprivate var isMark: Bool {
    [.nonspacingMark, .spacingMark, .enclosingMark].contains(properties.generalCategory)
  }
}

/// Why a memory store cannot be used. Nothing in it was changed.
public struct MemoryStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file, as the caller named it.
  public var path: String
  /// What is wrong, in words.
  public var reason: String

  public var description: String {
    "\(path): no memory store that can be used: \(reason). Nothing was changed. Move it away, or name "
      + "another file with --memory."
  }
}
