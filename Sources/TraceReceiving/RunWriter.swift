import AgentTrace
import FilePaths
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

  /// A run that is being made.
  private struct Work {
    var made: Spool.Made
    var written = WrittenRuns()
    var runs: ReceivedRuns?
  }

  /// Writes the runs that have been due for longest; none where none is due.
  ///
  /// - Throws: where the spool or the folder cannot be written: they stay due.
  func next(at moment: Int, isLast: Bool) throws -> [WrittenRuns] {
    var works: [Work] = []
    for due in try spool.due(at: moment, isLast: isLast) { works.append(try read(due)) }
    guard !works.isEmpty else { return [] }
    let kept = try spool.join(
      works.map { ($0.made.due, $0.runs?.asked ?? [], $0.runs?.wanted ?? []) })
    // Together with what goes on from it a run is another one, which is due again.
    let joined = works.count - kept.count
    works.removeAll { !kept.contains($0.made.due.run) }
    let names = try spool.claim(works.flatMap(wishes)) { [folder] in
      access(Self.path(of: $0, in: folder), F_OK) == 0
    }
    var rest = names[...]
    for index in works.indices {
      let count = works[index].runs?.runs.count ?? 0
      try write(&works[index], named: Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    guard works.allSatisfy(\.made.changed.isEmpty) || Self.sync(folder, O_RDONLY | O_DIRECTORY)
    else { throw Self.fault(folder) }
    let closed = try spool.close(works.map(\.made), at: moment) { [folder] in
      _ = unlink(Self.path(of: $0, in: folder))
    }
    for (index, made) in closed.enumerated() {
      works[index].written.gone = made.gone
      works[index].written.logs.removeAll { !made.unjudged.contains($0.name) }
    }
    return works.map(\.written) + (joined > 0 ? [WrittenRuns()] : [])
  }

  private static func fault(_ path: String) -> ReceiverFault {
    ReceiverFault(description: "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }

  private func read(_ due: Spool.Due) throws -> Work {
    var work = Work(made: Spool.Made(due: due))
    do throws(ImportError) {
      guard let format = ImportFormat(rawValue: due.format) else {
        throw ImportError(.unknownFormat)
      }
      let runs = try ReceivedRuns(due.payloads, format: format)
      work.written.leftOver = runs.leftOver
      work.made.began = runs.runs.map(\.startedMicroseconds).max() ?? -1
      work.runs = runs
    } catch {
      work.written.faults.append((try keepUnread(due), error))
    }
    return work
  }

  /// The names that the runs of one are to have.
  private func wishes(_ work: Work) -> [Spool.Wish] {
    (work.runs?.runs ?? []).map { run in
      let base = Self.fileName(run.name)
      // What is late is so also where its other part is called after another trace.
      let first = work.made.due.isLate ? 1 : 0
      return (
        work.made.due.run, work.made.due.version + 1,
        { $0 + first == 0 ? base : "\(base).late-\($0 + first)" }
      )
    }
  }

  /// Keeps what no log can be made of, as a file that `import` reads.
  ///
  /// - Returns: its path.
  /// - Throws: where it cannot be kept: the run stays due, and nothing of it is forgotten.
  private func keepUnread(_ due: Spool.Due) throws -> String {
    let bytes = Array(due.payloads.joined(separator: [0x0a]))
    let path = Self.unreadPath(of: bytes, format: due.format, in: folder)
    WholeFile.makeFolders(for: path)
    do throws(WholeFile.Failure) { try WholeFile.replace(path, with: bytes) } catch {
      throw ReceiverFault(description: "\(path) cannot be written: \(error)")
    }
    guard Self.sync(path, O_RDONLY) else { throw Self.fault(path) }
    return path
  }

  /// Where pieces are kept. The numbers of runs are given again once runs are forgotten; what they hold is not.
  static func unreadPath(of bytes: [UInt8], format: String, in folder: String) -> String {
    let name = Digest(of: bytes).hex.prefix(16)
    return "\(folder)/\(Receiver.spoolFolder)/unread/\(format)-\(name).jsonl"
  }

  private func write(_ work: inout Work, named names: [String?]) throws {
    guard let runs = work.runs else { return }
    for (var run, name) in zip(runs.runs, names) {
      guard let name else {
        let words = "too many logs of the name \(Self.fileName(run.name)) are there"
        work.written.faults.append(
          (try keepUnread(work.made.due), ImportError(.unsupported(words))))
        continue
      }
      let path = Self.path(of: name, in: folder)
      work.made.names.append(name)
      let due = work.made.due
      // Beside a log of its trace it is what came late, whose root may be here and whose other calls are there. Of what
      // began before all that is remembered nobody knows.
      if due.isPart || name != Self.fileName(run.name)
        || run.startedMicroseconds <= due.rememberedFrom
      {
        run.isOpen = true
      }
      do throws(ImportError) {
        let (counts, isChanged) = try replace(path, named: name, with: run, of: runs)
        if isChanged { work.made.changed.append(name) }
        work.written.logs.append(
          WrittenRuns.Log(
            name: name, path: path, version: work.made.due.version + 1, isOpen: run.isOpen,
            counts: counts))
      } catch {
        // What may be mended, by whoever makes room, is tried again.
        if case .unwritable = error.code { throw ReceiverFault(description: "\(error)") }
        work.written.faults.append((try keepUnread(work.made.due), error))
      }
    }
  }

  /// A trace's id as the name of a file: whatever else it holds than letters, digits, `-` and `_` is replaced, and then
  /// a digest keeps it apart from others.
  static func fileName(_ trace: String) -> String {
    let isPlain = { (byte: UInt8) in byte.isLetterOrDigit || "-_".utf8.contains(byte) }
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
    guard Self.sync(draft, O_RDONLY), rename(draft, path) == 0 else {
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
