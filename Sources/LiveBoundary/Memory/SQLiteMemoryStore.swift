public import AgentRuntime
public import AgentTrace
import GRDB
import Glibc
import Synchronization

/// Notes of agents and actors in one SQLite file, which several processes may use at once.
///
/// Every note is written in a transaction of its own, on the disk when ``write(_:)`` returns. The file
/// is made with the first note; reading makes none.
public final class SQLiteMemoryStore: MemoryStore {
  /// Where notes are kept unless somebody says else.
  public static let defaultPath = ".agent-eval/memory.sqlite"
  /// The format of the file, in its `user_version`.
  static let version = 1
  /// Says in the file's header whose it is: `AEmm`.
  static let application = 0x4145_6d6d
  /// How long one process waits for another that writes.
  private static let busySeconds = 30.0

  /// The file, as the caller named it.
  public let path: String
  private let queue = Mutex<DatabaseQueue?>(nil)

  /// Nothing is opened yet.
  public init(path: String) { self.path = path }

  /// Opens the file where it is there, to see that it can be used.
  ///
  /// - Throws: ``MemoryStoreError``.
  public func check() throws {
    guard access(path, F_OK) == 0 else { return }
    try perform { try $0.read { try Self.verify($0) } }
  }

  public func value(at address: MemoryAddress) throws -> JSONValue? {
    guard access(path, F_OK) == 0 else { return nil }
    return try perform { queue in
      let text = try queue.read { db in
        try String.fetchOne(
          db, sql: "SELECT value FROM note WHERE scope = ? AND owner = ? AND key = ?",
          arguments: [address.scope.rawValue, address.owner, address.key])
      }
      return try text.map { try JSONValue(parsing: $0) }
    }
  }

  public func write(_ writing: MemoryWriting) throws {
    try makeFolder()
    try perform { queue in
      try queue.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try Self.write(writing, in: db)
          return .commit
        }
      }
    }
  }

  private static func write(_ writing: MemoryWriting, in db: Database) throws {
    let last = try Int.fetchOne(
      db, sql: "SELECT seq FROM written WHERE run = ?", arguments: [writing.runId])
    if let last, last >= writing.seq { return }
    let address = writing.address
    let place: StatementArguments = [address.scope.rawValue, address.owner, address.key]
    if let value = writing.value {
      let others = try Int.fetchOne(
        db, sql: "SELECT count(*) FROM note WHERE scope = ? AND owner = ? AND key <> ?",
        arguments: place)
      guard others ?? 0 < MemoryLimits.notes else { throw MemoryFault.full }
      try db.execute(
        sql: """
          INSERT INTO note (scope, owner, key, value) VALUES (?, ?, ?, ?)
          ON CONFLICT (scope, owner, key) DO UPDATE SET value = excluded.value
          """, arguments: place + [CanonicalJSON.string(value)])
    } else {
      try db.execute(
        sql: "DELETE FROM note WHERE scope = ? AND owner = ? AND key = ?", arguments: place)
    }
    try db.execute(
      sql: """
        INSERT INTO written (run, seq) VALUES (?, ?)
        ON CONFLICT (run) DO UPDATE SET seq = excluded.seq
        """, arguments: [writing.runId, writing.seq])
  }

  // MARK: The file

  private func perform<Result>(_ work: (DatabaseQueue) throws -> Result) throws -> Result {
    do {
      return try work(try opened())
    } catch let error as MemoryFault where error == MemoryFault.full {
      throw error
    } catch let error as MemoryStoreError {
      throw error
    } catch let error as DatabaseError {
      throw MemoryStoreError(path: path, reason: Self.reason(error))
    } catch {
      throw MemoryStoreError(path: path, reason: "\(error)")
    }
  }

  private static func reason(_ error: DatabaseError) -> String {
    switch error.resultCode {
    case .SQLITE_NOTADB: "it is no SQLite file"
    case .SQLITE_CORRUPT: "it is damaged"
    case .SQLITE_BUSY, .SQLITE_LOCKED: "another process holds it"
    default: error.message ?? "SQLite says \(error.resultCode)"
    }
  }

  private func opened() throws -> DatabaseQueue {
    try queue.withLock { queue in
      if let queue { return queue }
      var configuration = Configuration()
      configuration.busyMode = .timeout(Self.busySeconds)
      configuration.prepareDatabase { db in
        // Nothing in a file that somebody else may have made is to be run (sqlite.org/security.html).
        try db.execute(
          sql: """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL
            """)
      }
      let made = try DatabaseQueue(path: path, configuration: configuration)
      try made.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try Self.prepare(db)
          return .commit
        }
        _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      }
      queue = made
      return made
    }
  }

  /// Makes the tables of a new file, or sees whether those of an old one are ours.
  private static func prepare(_ db: Database) throws {
    let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    let user = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    if count == 0, user == 0 {
      try db.execute(
        sql: """
          CREATE TABLE note (
            scope TEXT NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (scope, owner, key)) WITHOUT ROWID, STRICT;
          CREATE TABLE written (run TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID, STRICT;
          PRAGMA application_id = \(application);
          PRAGMA user_version = \(version)
          """)
      return
    }
    try verify(db)
  }

  private static func verify(_ db: Database) throws {
    let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    let user = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    guard application == Self.application else {
      throw MemoryFault("it is a SQLite file of another program")
    }
    guard user == version else {
      throw MemoryFault("its format is \(user), and this program knows \(version)")
    }
    // Reads the first page of each table: gross damage shows here, before a run relies on it.
    _ = try Row.fetchOne(db, sql: "SELECT * FROM note LIMIT 1")
    _ = try Row.fetchOne(db, sql: "SELECT * FROM written LIMIT 1")
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
