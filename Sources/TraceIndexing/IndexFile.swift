import AgentTrace
import CSQLite
import FilePaths
import Glibc
import SQLite

/// The database of an index: opened, made where it is missing, replaced where it is none of ours.
enum IndexFile {
  /// The name of an index in the folder of its logs. Hidden, so that it is never taken for a log.
  static let name = ".index.sqlite"
  /// Where a file goes that stood in the way of an index.
  static let replacedSuffix = ".replaced"
  /// How long one process waits for another that writes.
  private static let busySeconds = 60.0

  struct Opened {
    var connection: Connection
    /// Why the file that was there had to go; `nil` where none had to.
    var replaced: String?
  }

  /// What is wrong with a file that is no index.
  struct NotAnIndex: Error {
    var reason: String
  }

  /// Opens the index at a path for writing.
  static func open(_ path: String) throws(IndexError) -> Opened {
    var replaced: String?
    var fault: SQLiteError?
    // More than one round only where other processes replace it at the same moment.
    for _ in 0..<8 {
      // What is found bad is this file, not one that another process puts in its place meanwhile.
      let identity = FileIdentity(path)
      do {
        try refuseOddFile(path)
        return Opened(connection: try openChecked(path), replaced: replaced)
      } catch let fault as NotAnIndex {
        replaced = fault.reason
        try setAside(path, identity)
      } catch let error as IndexError {
        throw error
      } catch let error as SQLiteError where mayHaveMoved(error) {
        // Whoever moves it may be at it still.
        fault = error
        usleep(50_000)
      } catch let error as SQLiteError {
        throw IndexError(error, path: path)
      } catch {
        throw IndexError(.database("\(error)"), path: path)
      }
    }
    if let fault { throw IndexError(fault, path: path) }
    throw IndexError(.busy, path: path)
  }

  /// An index in memory, for folders that cannot be written to.
  static func inMemory() throws -> Connection {
    let connection = try connect(nil, for: .writing)
    try connection.write { try create(in: $0) }
    return connection
  }

  /// An index that is there, for reading only; `nil` where there is none of ours.
  static func openForReading(_ path: String) -> Connection? {
    guard (try? refuseOddFile(path)) != nil, access(path, R_OK) == 0,
      let connection = try? connect(path, for: .reading),
      (try? connection.read({ try isOurs($0) && IndexPages.areWhole($0) })) == true
    else { return nil }
    return connection
  }

  private static func connect(
    _ path: String?, for access: Connection.Access
  ) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: path, for: access, busySeconds: busySeconds)
    // Nothing in a file that somebody else may have made is to be run (sqlite.org/security.html).
    try connection.execute(
      "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON", to: "make it safe to open")
    IndexPages.keepSums(connection)
    return connection
  }

  private static func openChecked(_ path: String) throws -> Connection {
    do {
      let connection = try connect(path, for: .writing)
      // Two processes that find nothing both come here; the second finds the tables of the first.
      if try !connection.read({ try isOurs($0) }) {
        try connection.write { if try !isOurs($0) { try create(in: $0) } }
      }
      guard try connection.read({ try isOurs($0) && IndexPages.areWhole($0) }) else {
        throw NotAnIndex(reason: "it was damaged")
      }
      return connection
    } catch let error as SQLiteError where isDamage(error, of: path) {
      throw NotAnIndex(reason: "it was damaged, or no database")
    }
  }

  /// Whether the file is at fault, rather than the system: our statements fit our tables.
  static func isDamage(_ error: SQLiteError, of path: String) -> Bool {
    switch error.primaryCode {
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR: true
    // A row that is there and cannot be found.
    case SQLITE_CONSTRAINT: true
    // A header that says so, of a file that can be written to.
    case SQLITE_READONLY: !hasMoved(error) && access(path, W_OK) == 0
    default: false
    }
  }

  /// Whether the file was moved or removed while it was open: another process found it damaged, or a
  /// person deleted it (https://sqlite.org/rescode.html#readonly_dbmoved).
  static func hasMoved(_ error: SQLiteError) -> Bool {
    // SQLITE_READONLY_DBMOVED, a macro of macros that Swift does not see.
    error.code == SQLITE_READONLY | (4 << 8)
  }

  /// Whether the file may have lost its journal to another process that moves it aside: that is an error of
  /// reading or writing, as a failing disk is, which fails again.
  static func mayHaveMoved(_ error: SQLiteError) -> Bool { error.primaryCode == SQLITE_IOERR }

  // MARK: The tables

  /// Whether a database is an index of this version; false where it is empty.
  ///
  /// - Throws: ``NotAnIndex`` where it is something else.
  private static func isOurs(_ connection: Connection) throws -> Bool {
    let purpose = "see whose it is"
    let id = try connection.value("PRAGMA application_id", to: purpose)?.integer ?? 0
    let version = try connection.value("PRAGMA user_version", to: purpose)?.integer ?? 0
    var tables: [String] = []
    try Statement(
      connection, "SELECT coalesce(sql, name) FROM sqlite_master ORDER BY rootpage, name",
      to: purpose
    ).rows([]) { row in
      tables.append(row.text(0) ?? "")
      return true
    }
    if id == 0, version == 0, tables.isEmpty { return false }
    guard id == IndexSchema.applicationID else {
      throw NotAnIndex(reason: "it was not an index of agent-eval")
    }
    guard version == IndexSchema.version else {
      throw NotAnIndex(reason: "another version of agent-eval made it")
    }
    guard tables.count == IndexSchema.statements.count,
      zip(tables, IndexSchema.statements).allSatisfy({ $0.hasSameUTF8(as: $1) })
    else { throw NotAnIndex(reason: "somebody changed its tables") }
    return true
  }

  private static func create(in connection: Connection) throws(SQLiteError) {
    let purpose = "make its tables"
    for statement in IndexSchema.statements { try connection.execute(statement, to: purpose) }
    try connection.execute(
      """
      PRAGMA application_id = \(IndexSchema.applicationID);
      PRAGMA user_version = \(IndexSchema.version)
      """, to: purpose)
  }

  // MARK: What is in the way

  private static func refuseOddFile(_ path: String) throws(NotAnIndex) {
    guard let info = linkStatus(path) else { return }
    guard info.isFile else { throw NotAnIndex(reason: "it was not a file") }
  }

  /// Which file a path leads to; links are not followed.
  struct FileIdentity: Equatable {
    var device: dev_t
    var inode: ino_t

    /// `nil` where nothing is there.
    init?(_ path: String) {
      guard let info = linkStatus(path) else { return nil }
      (device, inode) = (info.st_dev, info.st_ino)
    }
  }

  /// Moves a file that is no index aside, so that nothing of anybody's is lost.
  ///
  /// Under a lock on that very file: of several processes that find it bad, one moves it, and none
  /// moves the index that another has made in its place.
  static func setAside(_ path: String, _ identity: FileIdentity?) throws(IndexError) {
    let descriptor = FilePaths.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    if descriptor >= 0 { while flock(descriptor, LOCK_EX) != 0, errno == EINTR {} }
    guard let identity, FileIdentity(path) == identity else { return }
    // A journal beside a new database would be played into it.
    for suffix in ["-journal", "-wal", "-shm"] { unlink(path + suffix) }
    guard rename(path, path + replacedSuffix) == 0 || errno == ENOENT else {
      throw IndexError(.inTheWay(errno: errno), path: path)
    }
  }
}
