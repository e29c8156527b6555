import AgentTrace
import Glibc
public import TraceImporting
import TraceStorage

/// What became of one run that was due.
public struct WrittenRuns: Sendable {
  /// A log that was written.
  public struct Log: Sendable {
    /// Its name in the folder, without the ending.
    public var name: String
    /// Its path.
    public var path: String
    /// 1 for the first that was written of a run.
    public var version: Int
    /// Whether nobody knows how it ended.
    public var isOpen: Bool
    /// What stands in it.
    public var counts: RunCounts
  }

  /// Logs that are new, or hold something else than before.
  public var logs: [Log] = []
  /// Names of logs that are no more, because what stood there is part of another run now.
  public var gone: [String] = []
  /// Spans and log records of traces in which no run is told.
  public var leftOver = 0
  /// Why no log was made of something, with the path of the file where it is kept.
  public var faults: [(path: String, error: ImportError)] = []
}

/// Makes logs of the pieces of runs.
struct RunWriter: Sendable {
  let folder: String
  let spool: Spool

  static func path(of name: String, in folder: String) -> String {
    "\(folder)/\(name)\(LogFormat.suffix)"
  }

  /// Writes the run that is due first; `nil` where none is.
  func next(at moment: Int, isLast: Bool) throws -> WrittenRuns? {
    guard let due = try spool.due(at: moment, isLast: isLast) else { return nil }
    var written = WrittenRuns()
    do throws(ImportError) {
      guard let format = ImportFormat(rawValue: due.format) else {
        throw ImportError(.unknownFormat)
      }
      let runs = try ReceivedRuns(due.payloads, format: format)
      // Together with what it goes on from it is another run, which is due again.
      if try isJoined(due, runs) { return written }
      written.leftOver = runs.leftOver
      try write(runs, of: due, at: moment, &written)
    } catch {
      // What may be mended, by whoever makes room, is tried again.
      if case .unwritable = error.code { throw ReceiverFault(description: "\(error)") }
      written.faults.append((keepUnread(due), error))
      _ = try spool.close(due, changed: [], names: [], at: moment)
    }
    return written
  }

  /// Keeps what no log can be made of, as a file that `import` reads.
  ///
  /// - Returns: its path.
  private func keepUnread(_ due: Spool.Due) -> String {
    let path = "\(folder)/\(Receiver.spoolFolder)/unread/\(due.format)-\(due.run).jsonl"
    WholeFile.makeFolders(for: path)
    try? WholeFile.replace(path, with: Array(due.payloads.joined(separator: [0x0a])))
    return path
  }

  private func isJoined(_ due: Spool.Due, _ runs: ReceivedRuns) throws(ImportError) -> Bool {
    do { return try spool.join(due, asked: runs.asked, wanted: runs.wanted) } catch {
      throw ImportError(.unwritable(log: folder, "\(error)"))
    }
  }

  private func write(
    _ runs: ReceivedRuns, of due: Spool.Due, at moment: Int, _ written: inout WrittenRuns
  ) throws(ImportError) {
    var logs: [WrittenRuns.Log] = []
    var changed: [String] = []
    for (part, run) in runs.runs.enumerated() {
      do throws(ImportError) {
        let name = try claim(run, due, part)
        let path = Self.path(of: name, in: folder)
        let (counts, isChanged) = try replace(path, named: name, with: run, of: runs)
        if isChanged { changed.append(name) }
        logs.append(
          WrittenRuns.Log(
            name: name, path: path, version: due.version + 1, isOpen: run.isOpen, counts: counts))
      } catch {
        if case .unwritable = error.code { throw error }
        written.faults.append((keepUnread(due), error))
      }
    }
    do {
      let (gone, unjudged) = try spool.close(
        due, changed: changed, names: logs.map(\.name), at: moment)
      for name in gone { unlink(Self.path(of: name, in: folder)) }
      written.gone = gone
      written.logs = logs.filter { unjudged.contains($0.name) }
    } catch {
      throw ImportError(.unwritable(log: folder, "\(error)"))
    }
  }

  private func claim(
    _ run: ReceivedRuns.Run, _ due: Spool.Due, _ part: Int
  ) throws(ImportError) -> String {
    let base = Self.fileName(run.trace)
    do {
      let name = try spool.claim(
        due.run, part: part, version: due.version + 1,
        { $0 == 0 ? base : "\(base).late-\($0)" },
        isTaken: { access(Self.path(of: $0, in: folder), F_OK) == 0 })
      if let name { return name }
    } catch {
      throw ImportError(.unwritable(log: folder, "\(error)"))
    }
    throw ImportError(.unwritable(log: base, "too many logs of this name are there"))
  }

  /// A trace's id as the name of a file: whatever else it holds than letters, digits, `-` and `_` is replaced, and then
  /// a digest keeps it apart from others.
  static func fileName(_ trace: String) -> String {
    let isPlain = { (byte: UInt8) in
      (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
    if !trace.isEmpty, trace.utf8.count <= 80, trace.utf8.allSatisfy(isPlain),
      trace.utf8.first != UInt8(ascii: "-")
    {
      return trace
    }
    let kept = trace.utf8.prefix(40).map { isPlain($0) ? $0 : UInt8(ascii: "_") }
    let digest = Digest(of: Array(trace.utf8)).hex.prefix(16)
    return "t" + String(decoding: kept, as: UTF8.self) + "-" + digest
  }

  /// Writes a log in the place of the one that may be there, on the disk before its name is.
  ///
  /// - Returns: what stands in it, and whether it is another than before.
  private func replace(
    _ path: String, named name: String, with run: ReceivedRuns.Run, of runs: ReceivedRuns
  ) throws(ImportError) -> (RunCounts, isChanged: Bool) {
    let draft = "\(folder)/\(Receiver.spoolFolder)/drafts/\(name)\(LogFormat.suffix)"
    // Left by a process that was killed.
    unlink(draft)
    unlink(draft + LogFormat.openSuffix)
    let counts = try runs.write(run, to: draft, named: name)
    if let old = try? WholeFile.read(path, limitBytes: 1 << 30),
      let new = try? WholeFile.read(draft, limitBytes: 1 << 30), old == new
    {
      unlink(draft)
      return (counts, false)
    }
    guard Self.sync(draft, O_RDONLY), rename(draft, path) == 0,
      Self.sync(folder, O_RDONLY | O_DIRECTORY)
    else {
      let reason = String(cString: strerror(errno))
      unlink(draft)
      throw ImportError(.unwritable(log: path, reason))
    }
    return (counts, true)
  }

  /// Waits until a file, or a folder's names, are on the disk.
  private static func sync(_ path: String, _ flags: Int32) -> Bool {
    let file = open(path, flags | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    return fsync(file) == 0
  }
}
