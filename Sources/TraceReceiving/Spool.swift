import AgentTrace
import SQLite
import Synchronization
import TraceImporting

/// What was accepted and is not forgotten yet, in one SQLite file: pieces of bodies, and which of them belong together.
///
/// A piece is on the disk when ``add(_:)`` returns. Runs are made from pieces; nothing else is the truth about them.
///
/// Why: Docs/decisions/0027-a-spool-is-the-truth-of-what-came-in.md
final class Spool: Sendable {
  /// The format of the file, in its `user_version`.
  private static let version = 1
  /// Says in the file's header whose it is: `AErv`.
  private static let application = 0x4145_7276

  /// When runs are made.
  struct Times: Sendable {
    /// Milliseconds without news of a run whose root has ended.
    var settle: Int
    /// Milliseconds without news of any other.
    var idle: Int
    /// Milliseconds that pieces are kept behind the writing of their run.
    var keep: Int
  }

  /// The most bytes of one run; what comes then is another one.
  static let runLimitBytes = 32 << 20

  /// The most keys of forgotten runs that are remembered.
  private static let pastLimit = 1_000_000

  private let connection: Mutex<Connection>
  private let times: Times
  private let now: @Sendable () -> Int

  /// Opens the file, or makes it. What was under way goes on: its times begin anew.
  ///
  /// - Parameter now: milliseconds that never run backwards.
  /// - Throws: an error in words where the file cannot be used.
  init(path: String, times: Times, now: @escaping @Sendable () -> Int) throws {
    let connection = try Connection(path: path, for: .writing, busySeconds: 10)
    try connection.execute(
      """
      PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;
      PRAGMA auto_vacuum = INCREMENTAL
      """, to: "make it safe to open")
    try connection.write(Self.prepare)
    // Spools of before have none: what they forgot is not known.
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS past (
        id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, began INTEGER NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS latest (
        name TEXT PRIMARY KEY, began INTEGER NOT NULL) WITHOUT ROWID, STRICT
      """, to: "remember what is forgotten")
    try connection.execute("PRAGMA journal_mode = WAL", to: "write ahead of it")
    let start = now()
    try connection.write { connection in
      try connection.execute(
        """
        UPDATE run SET due = \(start) + CASE ended WHEN 1 THEN \(times.settle) ELSE \(times.idle) END
          WHERE due IS NOT NULL;
        UPDATE run SET closed = \(start) WHERE closed IS NOT NULL
        """, to: "go on with what is there")
    }
    self.connection = Mutex(connection)
    self.times = times
    self.now = now
  }

  private static func prepare(_ connection: Connection) throws {
    let tables = try connection.value("SELECT count(*) FROM sqlite_master", to: "see whose it is")
    guard tables?.integer == 0 else {
      guard
        try connection.value("PRAGMA application_id", to: "see whose it is")?.integer
          == application,
        try connection.value("PRAGMA user_version", to: "see whose it is")?.integer == version
      else { throw SpoolFault(description: "it is a file of another program, or another version") }
      return
    }
    try connection.execute(
      """
      CREATE TABLE run (
        id INTEGER PRIMARY KEY, format TEXT NOT NULL, due INTEGER, closed INTEGER,
        ended INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
        news INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0) STRICT;
      CREATE INDEX run_due ON run (due) WHERE due IS NOT NULL;
      CREATE INDEX run_closed ON run (closed) WHERE due IS NULL;
      CREATE TABLE piece (
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL)
        STRICT;
      CREATE UNIQUE INDEX piece_run ON piece (run, digest);
      CREATE TABLE key (name TEXT PRIMARY KEY, run INTEGER NOT NULL) WITHOUT ROWID, STRICT;
      CREATE INDEX key_run ON key (run);
      CREATE TABLE call (
        name TEXT NOT NULL, asked INTEGER NOT NULL, run INTEGER NOT NULL,
        PRIMARY KEY (name, asked, run)) WITHOUT ROWID, STRICT;
      CREATE INDEX call_run ON call (run);
      CREATE TABLE log (
        name TEXT PRIMARY KEY, run INTEGER NOT NULL,
        version INTEGER NOT NULL DEFAULT 0, judged INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID, STRICT;
      CREATE INDEX log_run ON log (run);
      PRAGMA application_id = \(application);
      PRAGMA user_version = \(version)
      """, to: "make its tables")
  }

  /// Does some reading and writing as a whole, or none of it.
  func write<Result: Sendable>(
    _ body: @Sendable (Connection) throws -> Result
  ) throws -> Result {
    try connection.withLock { try $0.write(body) }
  }

  /// Tidies the file up as far as that goes at once.
  func vacuum() throws {
    try connection.withLock { connection in
      try connection.execute("PRAGMA incremental_vacuum(2000)", to: "give room back")
    }
  }

  // MARK: Coming in

  /// Keeps pieces; on the disk when this returns. What is there already changes nothing.
  func add(_ pieces: [(ReceivedPiece, digest: [UInt8])]) throws {
    let moment = now()
    try write { connection in
      let statements = try Statements(connection)
      for (piece, digest) in pieces { try add(piece, digest, at: moment, statements, connection) }
    }
  }

  /// Prepared once for many pieces.
  private struct Statements {
    let find: Statement
    let past: Statement
    let name: Statement
    let make: Statement
    let keep: Statement
    let news: Statement

    init(_ connection: Connection) throws {
      let purpose = "keep what came in"
      find = try Statement(connection, "SELECT run FROM key WHERE name = ?", to: purpose)
      past = try Statement(connection, "SELECT 1 FROM past WHERE name = ?", to: purpose)
      name = try Statement(
        connection,
        """
        INSERT INTO key (name, run) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET run = excluded.run WHERE key.run < 0
        """, to: purpose)
      make = try Statement(
        connection, "INSERT INTO run (format) VALUES (?) RETURNING id", to: purpose)
      keep = try Statement(
        connection,
        "INSERT OR IGNORE INTO piece (run, digest, payload) VALUES (?, ?, ?) RETURNING id",
        to: purpose)
      news = try Statement(
        connection,
        """
        UPDATE run SET bytes = bytes + ?2, ended = max(ended, ?3), news = news + 1,
          due = ?4 + CASE max(ended, ?3) WHEN 1 THEN ?5 ELSE ?6 END
        WHERE id = ?1 RETURNING bytes
        """, to: purpose)
    }
  }

  private func add(
    _ piece: ReceivedPiece, _ digest: [UInt8], at moment: Int, _ statements: Statements,
    _ connection: Connection
  ) throws {
    var runs: Set<Int> = []
    var (goesOn, isLate) = (false, false)
    for key in piece.keys {
      var isKnown = false
      try statements.find.rows([.text(key)]) { row in
        guard let run = row.integer(0) else { return false }
        isKnown = true
        if run > 0 { runs.insert(run) } else { goesOn = true }
        return false
      }
      guard !isKnown else { continue }
      try statements.past.rows([.blob(Self.pastName(key))]) { _ in
        isLate = true
        return false
      }
    }
    var run = runs.min()
    if run == nil {
      try statements.make.rows([.text(piece.format.rawValue)]) { row in
        run = row.integer(0)
        return true
      }
    }
    guard let run else { throw SpoolFault(description: "a run has no number") }
    for other in runs.sorted() where other != run {
      try Self.merge(other, into: run, connection)
    }
    for key in piece.keys { try statements.name.run([.text(key), .integer(run)]) }
    if goesOn { try statements.name.run([.text("part \(run)"), .integer(run)]) }
    // So is what goes on from a run that is forgotten: what was written of that says the rest.
    if isLate { try statements.name.run([.text("part \(run) late"), .integer(run)]) }
    var isNew = false
    try statements.keep.rows([.integer(run), .blob(digest), .blob(piece.payload)]) { _ in
      isNew = true
      return true
    }
    // An exporter that missed the answer sends everything again.
    guard isNew else { return }
    var bytes = 0
    try statements.news.rows([
      .integer(run), .integer(piece.payload.count), .integer(piece.endsRun ? 1 : 0),
      .integer(moment), .integer(times.settle), .integer(times.idle),
    ]) { row in
      bytes = row.integer(0) ?? 0
      return true
    }
    if bytes > Self.runLimitBytes {
      // Made as it is; what comes from now on is a run of its own. Both are parts, which a key `part` says: a number
      // below 0 is that of a run that was ended so.
      try connection.execute(
        """
        UPDATE key SET run = -\(run) WHERE run = \(run) AND name NOT GLOB 'part *';
        INSERT OR IGNORE INTO key (name, run) VALUES ('part \(run)', \(run));
        UPDATE run SET due = \(moment) WHERE id = \(run)
        """, to: "end a run that is too large")
    }
  }

  /// Makes two runs one.
  static func merge(_ other: Int, into run: Int, _ connection: Connection) throws {
    try connection.execute(
      """
      UPDATE OR IGNORE piece SET run = \(run) WHERE run = \(other);
      DELETE FROM piece WHERE run = \(other);
      UPDATE key SET run = \(run) WHERE run = \(other);
      UPDATE key SET run = -\(run) WHERE run = -\(other);
      UPDATE OR IGNORE call SET run = \(run) WHERE run = \(other);
      DELETE FROM call WHERE run = \(other);
      UPDATE log SET run = \(run) WHERE run = \(other);
      UPDATE run SET
        ended = max(ended, (SELECT ended FROM run WHERE id = \(other))),
        bytes = bytes + (SELECT bytes FROM run WHERE id = \(other)),
        version = max(version, (SELECT version FROM run WHERE id = \(other))),
        due = max(coalesce(due, 0), coalesce((SELECT due FROM run WHERE id = \(other)), 0)),
        news = news + 1
        WHERE id = \(run);
      DELETE FROM run WHERE id = \(other)
      """, to: "join two runs")
  }

  // MARK: Room

  /// Bytes that the pieces take, and all beside them.
  func usedBytes() throws -> Int {
    try connection.withLock { connection in
      func number(_ pragma: String) throws -> Int {
        try connection.value("PRAGMA \(pragma)", to: "see how large it is")?.integer ?? 0
      }
      return try (number("page_count") - number("freelist_count")) * number("page_size")
    }
  }

  /// Forgets pieces whose runs were written long enough ago; where more than a limit is used, also younger ones, the
  /// oldest first.
  func forget(beyondBytes limit: Int) throws {
    let isFull = try usedBytes() > limit
    let moment = isFull ? Int.max : now() - times.keep
    // Of a small spool the smaller part.
    let most = min(Self.pastLimit, limit >> 10)
    try write { connection in
      try connection.execute(
        """
        CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY);
        DELETE FROM gone;
        INSERT INTO gone SELECT id FROM run WHERE due IS NULL AND closed <= \(moment)
          AND id NOT IN (SELECT run FROM log WHERE judged <> 1)
          ORDER BY closed LIMIT 200
        """, to: "forget what was written")
      try Self.rememberKeys(most: most, connection)
      try connection.execute(
        """
        DELETE FROM piece WHERE run IN gone;
        DELETE FROM key WHERE run IN (SELECT id FROM gone UNION ALL SELECT -id FROM gone);
        DELETE FROM call WHERE run IN gone;
        DELETE FROM log WHERE run IN gone;
        DELETE FROM run WHERE id IN gone
        """, to: "forget what was written")
    }
    try vacuum()
  }

  /// A key as it is remembered once its run is forgotten: short, whatever a sender calls its conversations.
  private static func pastName(_ key: String) -> [UInt8] {
    Array(Digest(of: Array(key.utf8)).bytes.prefix(16))
  }

  /// Remembers the keys of the runs in `gone`, so that what comes of them still is known to be late. Of the oldest that
  /// are too many only the time is kept by which the last of their runs had begun.
  private static func rememberKeys(most: Int, _ connection: Connection) throws {
    let purpose = "remember what is forgotten"
    var names: [[UInt8]] = []
    try Statement(
      connection,
      """
      SELECT name FROM key WHERE name NOT GLOB 'part *'
        AND run IN (SELECT id FROM gone UNION ALL SELECT -id FROM gone) ORDER BY name
      """, to: purpose
    ).rows([]) { row in
      if let name = row.text(0) { names.append(pastName(name)) }
      return true
    }
    let keep = try Statement(
      connection,
      """
      INSERT OR REPLACE INTO past (name, began)
        VALUES (?, coalesce((SELECT began FROM latest WHERE name = 'written'), -1))
      """, to: purpose)
    for name in names { try keep.run([.blob(name)]) }
    try connection.execute(
      """
      INSERT INTO latest (name, began)
        SELECT 'dropped', max(began) FROM past
          WHERE id <= (SELECT max(id) FROM past) - \(most) HAVING count(*) > 0
        ON CONFLICT (name) DO UPDATE SET began = max(began, excluded.began);
      DELETE FROM past WHERE id <= (SELECT max(id) FROM past) - \(most)
      """, to: purpose)
  }
}

/// Why a spool cannot be used, in words.
struct SpoolFault: Error, CustomStringConvertible {
  var description: String
}
