import AgentTrace
public import EvalLoading
import Glibc
public import TraceJudging
import TraceStorage

/// A folder that keeps a file for each run of a suite.
public struct HistoryFolder: Sendable {
  /// Where a history is kept unless somebody says where.
  public static let defaultPath = ".agent-eval/history"

  /// The folder.
  public let path: String

  /// Nothing is touched.
  public init(_ path: String) { self.path = path }

  /// A record that could not be kept.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// The file.
    public var path: String
    /// Why.
    public var reason: String
    public var description: String {
      "the history cannot be written: \(path): \(reason); the results are told all the same"
    }
  }

  /// Writes a record to a file of its own, in one piece: nobody ever reads half of one, and no two
  /// processes write to one. Makes the folder where it is missing.
  ///
  /// - Returns: the file's path. Its name is the time, the beginning of the commit and 16 random digits,
  ///   so that names sort by time.
  public func keep(_ record: SuiteRecord) throws(Failure) -> String {
    var generator = SystemRandomNumberGenerator()
    let digits = String(generator.next() as UInt64, radix: 16)
    let random = String(repeating: "0", count: 16 - digits.utf8.count) + digits
    let file = "\(path)/\(Self.stem(of: record))-\(random)\(SuiteRecord.fileSuffix)"
    WholeFile.makeFolders(for: file)
    do {
      try WholeFile.replace(
        file, with: CanonicalJSON.encode(record.json, form: .plain) + [UInt8(ascii: "\n")])
    } catch {
      throw Failure(path: file, reason: "\(error)")
    }
    return file
  }

  /// What names begin with. Whatever a commit is said to be, only letters and digits of it get there.
  private static func stem(of record: SuiteRecord) -> String {
    func plain(_ text: String) -> String {
      String(decoding: text.utf8.filter(isPlain), as: UTF8.self)
    }
    let commit = plain(record.commit ?? "").prefix(12)
    return plain(record.startedAt) + "-" + (commit.isEmpty ? "unknown" : String(commit))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: false
    }
  }
}

extension CaseRecord {
  /// A digest of what a case asks: its input, its plan and its expectations, those of its sets too.
  public static func asked(of evalCase: EvalCase) -> String {
    Digest(
      of: [
        "input": .string(evalCase.input), "plan": evalCase.plan?.json ?? .null,
        "expected": .array(
          evalCase.expected.asked.map {
            [.string($0.fullName), .string($0.severity.rawValue), .string($0.text)]
          }),
      ]
    ).hex
  }
}
