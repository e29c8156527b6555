import SQLite

/// Which cases the runs of a folder were made for, as far as its index knows and still speaks of the
/// files that are there. Only looks: the index is neither made nor refreshed.
public struct IndexedCases: Sendable {
  private let folder: String
  private let known: [ExactText: RunIndex.Known]

  /// `nil` where the folder has no index that can be read.
  public init?(folder: String) {
    guard let connection = IndexFile.openForReading("\(folder)/\(IndexFile.name)"),
      let known = try? connection.read(RunIndex.stamps)
    else { return nil }
    self.folder = folder
    self.known = known
  }

  /// What a log's first event says of its case.
  public enum Answer: Sendable, Hashable {
    /// It was made for this case.
    case caseId(String)
    /// It names no case.
    case noCase
    /// It is a call of another run, or a task of a pipeline.
    case part
  }

  /// What is known of a log; `nil` where the log has to be read.
  ///
  /// - Parameter path: as `LogFiles` gives it for the folder.
  public func answer(for path: String) -> Answer? {
    let relative = String(decoding: path.utf8.dropFirst(folder.utf8.count + 1), as: UTF8.self)
    guard let row = known[ExactText(relative)], row.hasStart,
      let stamp = try? FileStamp(path: path), stamp == row.stamp
    else { return nil }
    guard let caseId = row.caseId else { return row.isPart ? .part : .noCase }
    // A name this long may have been cut.
    return caseId.utf8.count < IndexText.headBytes ? .caseId(caseId) : nil
  }
}
