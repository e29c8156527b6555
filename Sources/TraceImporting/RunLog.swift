import AgentTrace
import FilePaths
import Glibc
import TraceStorage

/// The log of one imported run.
struct RunLog {
  /// Its path, `….jsonl.gz`.
  let path: String

  /// Writes the run, or leaves a log that already holds exactly its events as it is, and counts what
  /// was written.
  ///
  /// - Throws: ``ImportError`` where another log has the name, or this one cannot be written. What was
  ///   begun is then taken away again.
  func write(_ run: any EventSource, as identity: RunIdentity) throws(ImportError) -> RunCounts {
    do {
      if let log = run.carriedLog { return try take(log) }
      guard try !isThere() else {
        try compare(run, identity)
        return try counts()
      }
      return try create(run, identity)
    } catch let error as ImportError {
      throw error
    } catch let error as LogError where error.isOfTheRun {
      throw ImportError(.unloggable(log: path, "\(error)"))
    } catch {
      throw ImportError(.unwritable(log: path, "\(error)"))
    }
  }

  private func isThere() throws -> Bool {
    if linkStatus(path) != nil { return true }
    guard errno == ENOENT else {
      throw ImportError(.unwritable(log: path, SourceFiles.systemError()))
    }
    return false
  }

  /// Writes a log that the source carries, byte for byte, once it was read to its end.
  private func take(_ bytes: [UInt8]) throws -> RunCounts {
    guard try !isThere() else {
      guard try holds(bytes) else { throw ImportError(.outputDiffers(log: path)) }
      return try counts()
    }
    try WholeFile.create(path, holding: bytes)
    do {
      // Read to its end, it has to be whole; what it says of itself `verify` looks at, as with any log.
      return try counts(ofClosed: true)
    } catch {
      unlink(path)
      throw CarriedRun.damaged
    }
  }

  /// Whether the file that is there holds just these bytes; one that is larger does not.
  private func holds(_ bytes: [UInt8]) throws -> Bool {
    do throws(WholeFile.Failure) {
      return try WholeFile.read(path, limitBytes: bytes.count) == bytes
    } catch .tooLarge, .noRegularFile {
      return false
    }
  }

  private func create(_ run: any EventSource, _ identity: RunIdentity) throws -> RunCounts {
    // It can be made again, so no disk is waited for, and nobody reads it before it is whole.
    let writer = try LogWriter(
      creating: path, options: .init(durability: .none, flushesEachEvent: false))
    var counts = RunCounts()
    do {
      try run.emitEvents(as: identity) { event in
        try writer.append(event, isEffectAhead: false)
        counts.apply(event)
      }
      _ = try writer.close()
      return counts
    } catch {
      unlink(path + LogFormat.openSuffix)
      throw error
    }
  }

  private func compare(_ run: any EventSource, _ identity: RunIdentity) throws {
    let differs = ImportError(.outputDiffers(log: path))
    do {
      var reader = try LogReader(path: path)
      try run.emitEvents(as: identity) { event in
        guard try reader.next() == event else { throw differs }
      }
      guard try reader.next() == nil, reader.ending == .closed else { throw differs }
    } catch is LogError {
      throw differs
    }
  }

  private func counts(ofClosed: Bool = false) throws -> RunCounts {
    var counts = RunCounts()
    var reader = try LogReader(path: path, options: .init(checksLinks: ofClosed))
    while let event = try reader.next() { counts.apply(event) }
    if ofClosed, reader.ending != .closed || reader.nextSeq == 0 { throw CarriedRun.damaged }
    return counts
  }
}

extension LogError {
  /// Whether the run is at fault, of which the format takes no log, and not the system.
  fileprivate var isOfTheRun: Bool {
    switch code {
    case .lineTooLong, .tooDeep, .tooManyValues, .expandsTooFar, .listTooLong, .contextsTooLong:
      true
    default: false
    }
  }
}
