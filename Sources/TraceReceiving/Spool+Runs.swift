import SQLite
import TraceImporting

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
  }

  /// The run that is to be made first; `nil` where none is.
  ///
  /// - Parameter isLast: takes also those of which news may still come.
  func due(at moment: Int, isLast: Bool) throws -> Due? {
    try write { connection in
      var due: Due?
      try Statement(
        connection,
        "SELECT id, format, news, version FROM run WHERE due <= ? ORDER BY due, id LIMIT 1",
        to: "look for runs to write"
      ).rows([.integer(isLast ? .max : moment)]) { row in
        due = Due(
          run: row.integer(0) ?? 0, format: row.text(1) ?? "", payloads: [],
          news: row.integer(2) ?? 0, version: row.integer(3) ?? 0)
        return false
      }
      guard var due else { return nil }
      try Statement(
        connection, "SELECT payload FROM piece WHERE run = ? ORDER BY id", to: "read a run"
      ).rows([.integer(due.run)]) { row in
        if case .blob(let bytes) = row.value(0) { due.payloads.append(bytes) }
        return true
      }
      return due
    }
  }

  /// Notes the ids of calls of a run, and joins it with those that it goes on from, or that go on from it.
  ///
  /// - Returns: whether it was joined with any; then it is to be made anew.
  func join(_ due: Due, asked: Set<String>, wanted: Set<String>) throws -> Bool {
    try write { connection in
      let purpose = "join runs by their calls"
      try connection.execute("DELETE FROM call WHERE run = \(due.run)", to: purpose)
      let insert = try Statement(
        connection, "INSERT OR IGNORE INTO call (name, asked, run) VALUES (?, ?, ?)", to: purpose)
      let askers = try Statement(
        connection, "SELECT run FROM call WHERE name = ? AND asked = 1", to: purpose)
      let wanters = try Statement(
        connection, "SELECT run FROM call WHERE name = ? AND asked = 0", to: purpose)
      func runs(_ statement: Statement, _ id: String) throws -> Set<Int> {
        var runs: Set<Int> = []
        try statement.rows([.text(id)]) { row in
          if let run = row.integer(0) { runs.insert(run) }
          return runs.count < 3
        }
        return runs
      }
      var others: Set<Int> = []
      for id in wanted.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
        try insert.run([.text(id), .integer(0), .integer(due.run)])
        // An id that several asked for tells nothing.
        let found = try runs(askers, id)
        if found.count == 1 { others.formUnion(found) }
      }
      for id in asked.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
        try insert.run([.text(id), .integer(1), .integer(due.run)])
        if try runs(askers, id).count == 1 { others.formUnion(try runs(wanters, id)) }
      }
      others.remove(due.run)
      for other in others.sorted() { try Self.merge(other, into: due.run, connection) }
      return !others.isEmpty
    }
  }

  /// The name that a part of a run goes by, noted as its own before anything stands under it, so that whoever goes on
  /// behind a crash knows whose it is.
  ///
  /// - Parameters:
  ///   - name: the names in the order in which they are wished for, from 0.
  ///   - isTaken: whether something stands under a name in the folder.
  /// - Returns: `nil` where 10,000 names are taken.
  func claim(
    _ run: Int, part: Int, version: Int, _ name: @Sendable (Int) -> String,
    isTaken: @Sendable (String) -> Bool
  ) throws -> String? {
    try write { connection in
      let find = try Statement(
        connection, "SELECT run FROM log WHERE name = ?", to: "name a log")
      for name in (0..<10_000).lazy.map(name) {
        var owner: Int?
        try find.rows([.text(name)]) { row in
          owner = row.integer(0)
          return false
        }
        if let owner, owner != run { continue }
        if owner == nil, isTaken(name) { continue }
        try Statement(
          connection,
          """
          INSERT INTO log (name, run, part, version) VALUES (?1, ?2, ?3, ?4)
          ON CONFLICT (name) DO UPDATE SET part = ?3, version = ?4
          """, to: "name a log"
        ).run([.text(name), .integer(run), .integer(part), .integer(version)])
        return name
      }
      return nil
    }
  }

  /// Notes that a run was made.
  ///
  /// - Parameters:
  ///   - changed: the names of its logs that were written anew, and are not judged yet.
  ///   - names: all of its logs.
  /// - Returns: names of logs that it had before and has no more, and of those that are not judged.
  func close(
    _ due: Due, changed: [String], names: [String], at moment: Int
  ) throws -> (gone: [String], unjudged: [String]) {
    try write { connection in
      let purpose = "note that a run is written"
      var gone: [String] = []
      var unjudged = changed
      try Statement(connection, "SELECT name, judged FROM log WHERE run = ?", to: purpose)
        .rows([.integer(due.run)]) { row in
          guard let name = row.text(0) else { return true }
          if !names.contains(name) {
            gone.append(name)
          } else if row.integer(1) == 0, !changed.contains(name) {
            unjudged.append(name)
          }
          return true
        }
      for name in gone {
        try Statement(connection, "DELETE FROM log WHERE name = ?", to: purpose).run([.text(name)])
      }
      for name in changed {
        try Statement(connection, "UPDATE log SET judged = 0 WHERE name = ?", to: purpose)
          .run([.text(name)])
      }
      try Statement(
        connection,
        """
        UPDATE run SET closed = ?2, version = version + ?4,
          due = CASE news WHEN ?3 THEN NULL ELSE due END WHERE id = ?1
        """, to: purpose
      ).run([
        .integer(due.run), .integer(moment), .integer(due.news), .integer(changed.isEmpty ? 0 : 1),
      ])
      return (gone, unjudged)
    }
  }

  /// Logs that were written and not judged, with their versions.
  func unjudged() throws -> [(name: String, version: Int)] {
    try write { connection in
      var found: [(name: String, version: Int)] = []
      try Statement(
        connection,
        """
        SELECT log.name, log.version FROM log JOIN run ON run.id = log.run
        WHERE judged = 0 AND closed IS NOT NULL ORDER BY log.name
        """, to: "look for runs to judge"
      ).rows([]) { row in
        if let name = row.text(0) { found.append((name, row.integer(1) ?? 1)) }
        return true
      }
      return found
    }
  }

  /// Notes that a log was judged.
  func judged(_ name: String) throws {
    try write { connection in
      try Statement(
        connection, "UPDATE log SET judged = 1 WHERE name = ?", to: "note that a run is judged"
      ).run([.text(name)])
    }
  }
}
