public import AgentTrace

/// What verification found out about a log.
public struct VerifyReport: Sendable, Hashable {
  /// The verdict on the whole file.
  public enum Status: String, Sendable, Hashable, CaseIterable {
    /// Closed, and every byte is accounted for.
    case whole
    /// Not closed: a writer holds it or died. What is there is in order, but for a last block that may
    /// be cut short.
    case torn
    /// Bytes are missing, changed or in the wrong place.
    case damaged
    /// It cannot be read at all, or is of a newer format.
    case unreadable
  }

  /// One thing that is wrong.
  public struct Finding: Sendable, Hashable {
    /// The member it stands in, from 0.
    public var block: Int?
    /// Where that member begins, in bytes of the file.
    public var offset: Int?
    /// The event it concerns.
    public var seq: Int?
    /// What is wrong; never quotes what the log holds.
    public var message: String

    /// What is `nil` is not known, or the fault is not in one place.
    public init(block: Int?, offset: Int?, seq: Int? = nil, message: String) {
      self.block = block
      self.offset = offset
      self.seq = seq
      self.message = message
    }
  }

  /// The file that was read.
  public var path: String
  /// The word on the whole file.
  public var status: Status
  /// What is wrong, in the order of the file; at most ``findingLimit``.
  public var findings: [Finding]
  /// What a reader should know though nothing is wrong.
  public var notes: [String]
  /// Events that could be read.
  public var events: Int
  /// Members, the trailer not counted.
  public var blocks: Int
  /// The digest of the last seal.
  public var sealDigest: Digest?

  /// No more findings than this are kept.
  public static let findingLimit = 100
}

extension VerifyReport.Finding: CustomStringConvertible {
  /// The place and the fault, in one line.
  public var description: String {
    let place = [
      block.map { "block \($0)" }, offset.map { "byte \($0)" }, seq.map { "event \($0)" },
    ].compactMap { $0 }.joined(separator: ", ")
    return place.isEmpty ? message : "\(place): \(message)"
  }
}
