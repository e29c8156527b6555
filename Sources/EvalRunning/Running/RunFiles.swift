import AgentTrace
import TraceStorage

/// Where recorded runs go.
public struct RunFiles: Sendable {
  /// The folder of recorded runs unless the caller says else.
  public static let defaultFolder = ".agent-eval/runs"

  /// Given by the caller: a folder, or a file whose name ends in `.jsonl.gz`.
  private let output: String?

  /// No file is touched. Without an output, logs go below ``defaultFolder``.
  public init(output: String? = nil) { self.output = output }

  /// The path of a run's log: `OUT/<runId>.jsonl.gz`, or `OUT` itself where that names a log, or
  /// `.agent-eval/runs/<case or agent>/<runId>.jsonl.gz`.
  public func path(of name: String, runId: String) -> String {
    let file = Self.fileName(for: runId) + LogFormat.suffix
    guard let output else { return "\(Self.defaultFolder)/\(Self.fileName(for: name))/\(file)" }
    return output.hasSuffix(LogFormat.suffix) ? output : "\(output)/\(file)"
  }

  /// The folder of a run's log; see ``path(of:runId:)``.
  public func folder(of name: String) -> String { Self.folder(ofLog: path(of: name, runId: "run")) }

  /// The folder of a log, or of another file; `.` for the one where this process works.
  public static func folder(ofLog path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// A name from data as the name of one file: it never leaves its folder, is never hidden, never
  /// taken for an option and never too long. A name that had to be changed carries a piece of its
  /// digest, and so does one that looks as if it did, so that two names never become one.
  public static func fileName(for name: String) -> String {
    let safe = String(
      String.UnicodeScalarView(
        name.unicodeScalars.prefix(80).map { isSafe($0) ? $0 : "_" }))
    let isKept =
      safe.hasSameUTF8(as: name) && !hasUnwantedStart(safe) && !endsLikeDigest(safe)
    if isKept { return safe }
    let visible = hasUnwantedStart(safe) ? "_" + safe.dropFirst() : safe
    return "\(visible)-\(Digest(of: Array(name.utf8)).hex.prefix(digestLength))"
  }

  /// Hexadecimal digits of a digest in a name.
  private static let digestLength = 16

  private static func hasUnwantedStart(_ name: String) -> Bool {
    name.isEmpty || name.first == "." || name.first == "-"
  }

  private static func endsLikeDigest(_ name: String) -> Bool {
    let tail = name.utf8.suffix(digestLength + 1)
    return tail.count > digestLength && tail.first == UInt8(ascii: "-")
      && tail.dropFirst().allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }

  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
    default: false
    }
  }
}
