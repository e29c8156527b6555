import SQLite

extension Spool {
  /// The pieces of a run that is to be made.
  struct Due: Sendable {
    var run: Int
    var format: String
    /// In the order in which they came in.
    var payloads: [[UInt8]]
    /// Counts what came in; tells whether anything did meanwhile.
    var news: Int
    /// How often it was made before.
    var version: Int
    /// Whether it was too large for one run, or came late, so that what came before or behind it is in another.
    var isPart: Bool
    /// Whether it goes on from a run that is forgotten.
    var isLate: Bool
    /// When the last of those runs had begun that nobody remembers any more, in microseconds since 1970; -1 for none.
    var rememberedFrom: Int
  }

  /// Runs that are to be made, those first that have waited longest: a few, and few bytes unless one has many.
  ///
  /// - Parameter isLast: takes also those of which news may still come.
  func due(at moment: Int, isLast: Bool) throws -> [Due] {
    try write { connection in
      var found: [Due] = []
      var bytes = 0
      try Statement(
        connection,
        """
        SELECT id, format, news, version, bytes,
          EXISTS (SELECT 1 FROM key WHERE key.run = run.id AND key.name GLOB 'part *'),
          EXISTS (SELECT 1 FROM key WHERE key.run = run.id AND key.name GLOB 'part * late'),
          coalesce((SELECT began FROM latest WHERE name = 'dropped'), -1)
        FROM run WHERE due <= ? ORDER BY due, id LIMIT 32
        """, to: "look for runs to write"
      ).rows([.integer(isLast ? .max : moment)]) { row in
        bytes += row.integer(4) ?? 0
        guard found.isEmpty || bytes <= 8 << 20 else { return false }
        found.append(
          Due(
            run: row.integer(0) ?? 0, format: row.text(1) ?? "", payloads: [],
            news: row.integer(2) ?? 0, version: row.integer(3) ?? 0,
            isPart: row.integer(5) == 1, isLate: row.integer(6) == 1,
            rememberedFrom: row.integer(7) ?? -1))
        return true
      }
      guard !found.isEmpty else { return [] }
      let pieces = try Statement(
        connection, "SELECT payload FROM piece WHERE run = ? ORDER BY id", to: "read a run")
      for index in found.indices {
        try pieces.rows([.integer(found[index].run)]) { row in
          if case .blob(let bytes) = row.value(0) { found[index].payloads.append(bytes) }
          return true
        }
      }
      return found
    }
  }

  /// The calls that some runs speak of, of each those that it asked for and those that others did.
  typealias Calls = (due: Due, asked: Set<String>, wanted: Set<String>)

  /// Notes the ids of calls of runs, and joins those that go on from one another.
  ///
  /// - Returns: the numbers of runs that are what they were; the others are to be made anew, or are no more.
  func join(_ runs: [Calls]) throws -> Set<Int> {
    try write { connection in
      var kept = Set(runs.map(\.due.run))
      for run in runs where kept.contains(run.due.run) {
        let others = try join(run, connection)
        if !others.isEmpty { kept.subtract(others.union([run.due.run])) }
      }
      return kept
    }
  }

  /// Notes the calls of one, and joins the runs that it goes on from, or that go on from it.
  private func join(_ calls: Calls, _ connection: Connection) throws -> Set<Int> {
    let (run, purpose) = (calls.due.run, "join runs by their calls")
    let insert = try Statement(
      connection, "INSERT OR IGNORE INTO call (name, asked, run) VALUES (?, ?, ?)", to: purpose)
    let find = try Statement(
      connection, "SELECT run FROM call WHERE name = ? AND asked = ? LIMIT 3", to: purpose)
    func runs(asked: Int, _ id: String) throws -> Set<Int> {
      var runs: Set<Int> = []
      try find.rows([.text(id), .integer(asked)]) { row in
        if let run = row.integer(0) { runs.insert(run) }
        return true
      }
      return runs
    }
    try Statement(connection, "DELETE FROM call WHERE run = ?", to: purpose).run([.integer(run)])
    var others: Set<Int> = []
    for id in calls.wanted.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      try insert.run([.text(id), .integer(0), .integer(run)])
      // An id that several asked for tells nothing: some servers count their calls from 0.
      let askers = try runs(asked: 1, id)
      if askers.count == 1 { others.formUnion(askers) }
    }
    for id in calls.asked.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      try insert.run([.text(id), .integer(1), .integer(run)])
      if try runs(asked: 1, id).count == 1 { others.formUnion(try runs(asked: 0, id)) }
    }
    others.remove(run)
    for other in others.sorted() { try Self.merge(other, into: run, connection) }
    return others
  }

  /// What is to be named: a part of a run, and the names that are wished for, from 0.
  typealias Wish = (run: Int, version: Int, name: @Sendable (Int) -> String)

  /// The names that parts of runs go by, noted as their own before anything stands under them, so that whoever goes on
  /// behind a crash knows whose it is.
  ///
  /// - Parameter isTaken: whether something stands under a name in the folder.
  /// - Returns: in the order of the wishes; `nil` where 10,000 names are taken.
  func claim(_ wishes: [Wish], isTaken: @Sendable (String) -> Bool) throws -> [String?] {
    try write { connection in
      let find = try Statement(connection, "SELECT run FROM log WHERE name = ?", to: "name a log")
      let note = try Statement(
        connection,
        """
        INSERT INTO log (name, run, version) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET version = ?3
        """, to: "name a log")
      return try wishes.map { wish in
        for name in (0..<10_000).lazy.map(wish.name) {
          var owner: Int?
          try find.rows([.text(name)]) { row in
            owner = row.integer(0)
            return false
          }
          if let owner, owner != wish.run { continue }
          if owner == nil, isTaken(name) { continue }
          try note.run([.text(name), .integer(wish.run), .integer(wish.version)])
          return name
        }
        return nil
      }
    }
  }

  /// A run that was made.
  struct Made: Sendable {
    var due: Due
    /// When the last of its runs began, in microseconds since 1970; -1 where it has none.
    var began = -1
    /// The names of its logs that were written anew, and are not judged yet.
    var changed: [String] = []
    /// All of its logs.
    var names: [String] = []
    /// Names of logs that it had before, and has no more.
    var gone: [String] = []
    /// Names of its logs that are to be judged.
    var unjudged: [String] = []
  }

  /// Notes that runs were made, and says what became of logs that they had before.
  ///
  /// - Parameter takeAway: takes away the log of a name. It does so before that is noted: of what is left when the
  ///   process ends between the two nobody would know whose it was.
  func close(
    _ runs: [Made], at moment: Int, takeAway: @Sendable (String) -> Void
  ) throws -> [Made] {
    try write { connection in
      let purpose = "note that a run is written"
      let find = try Statement(
        connection, "SELECT name, judged FROM log WHERE run = ?", to: purpose)
      let remove = try Statement(connection, "DELETE FROM log WHERE name = ?", to: purpose)
      let change = try Statement(
        connection, "UPDATE log SET judged = 0 WHERE name = ?", to: purpose)
      let close = try Statement(
        connection,
        """
        UPDATE run SET closed = ?2, version = version + ?4,
          due = CASE news WHEN ?3 THEN NULL ELSE due END WHERE id = ?1
        """, to: purpose)
      let began = try Statement(
        connection,
        """
        INSERT INTO latest (name, began) VALUES ('written', ?)
        ON CONFLICT (name) DO UPDATE SET began = max(began, excluded.began)
        """, to: purpose)
      try began.run([.integer(runs.map(\.began).max() ?? -1)])
      return try runs.map { run in
        var run = run
        run.unjudged = run.changed
        try find.rows([.integer(run.due.run)]) { row in
          guard let name = row.text(0) else { return true }
          if !run.names.contains(name) {
            run.gone.append(name)
          } else if row.integer(1) == 0, !run.changed.contains(name) {
            run.unjudged.append(name)
          }
          return true
        }
        for name in run.gone {
          takeAway(name)
          try remove.run([.text(name)])
        }
        for name in run.changed { try change.run([.text(name)]) }
        try close.run([
          .integer(run.due.run), .integer(moment), .integer(run.due.news),
          .integer(run.changed.isEmpty ? 0 : 1),
        ])
        return run
      }
    }
  }

  /// Logs that were written and not judged, or that failed and nobody was told of, with their versions.
  func unjudged() throws -> [(name: String, version: Int)] {
    try write { connection in
      var found: [(name: String, version: Int)] = []
      try Statement(
        connection,
        """
        SELECT log.name, log.version FROM log JOIN run ON run.id = log.run
        WHERE judged <> 1 AND closed IS NOT NULL ORDER BY log.name
        """, to: "look for runs to judge"
      ).rows([]) { row in
        if let name = row.text(0) { found.append((name, row.integer(1) ?? 1)) }
        return true
      }
      return found
    }
  }

  /// Notes that logs were judged.
  ///
  /// - Parameter isTold: whether nobody is to be told of them, or was.
  func judged(_ names: [String], isTold: Bool) throws {
    try write { connection in
      let note = try Statement(
        connection, "UPDATE log SET judged = ? WHERE name = ?", to: "note that a run is judged")
      for name in names { try note.run([.integer(isTold ? 1 : 2), .text(name)]) }
    }
  }

  /// Notes that somebody was told of a log that was judged. One that was written anew since is not judged.
  func told(_ name: String) throws {
    try write { connection in
      try Statement(
        connection, "UPDATE log SET judged = 1 WHERE name = ? AND judged = 2",
        to: "note that a run is told of"
      ).run([.text(name)])
    }
  }
}
