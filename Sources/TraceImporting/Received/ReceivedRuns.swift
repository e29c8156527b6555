import AgentTrace
import Glibc

/// The runs of pieces that belong together, read by the stage that imports read files with.
public struct ReceivedRuns {
  /// A run that can be written.
  public struct Run: Sendable {
    /// The trace that its first span is of.
    public var trace: String
    /// What its log is called: the trace, and where the run is a call of another in it, the span at its root.
    public var name: String
    /// Whether no root of it has ended, or only a part of it is here, so that nobody knows what else it did.
    public var isOpen: Bool
    /// When its first span began, in microseconds since 1970.
    public var startedMicroseconds: Int
    fileprivate var index: Int
  }

  /// What the pieces come to.
  public private(set) var runs: [Run] = []
  /// Spans and log records that stand in no run.
  public private(set) var leftOver = 0
  /// The ids of calls that a model asked for in them.
  public private(set) var asked: Set<String> = []
  /// The ids of calls that are spoken of in them and that were asked for elsewhere.
  public private(set) var wanted: Set<String> = []

  private let source: [SourceRun]

  /// Reads pieces, in the order in which they came in.
  ///
  /// - Throws: ``ImportError`` where they are too much for one run, or no pieces of the format.
  /// - Complexity: O(*n*) in their bytes, which it holds in memory about ten times over.
  public init(
    _ payloads: [[UInt8]], format: ImportFormat
  ) throws(ImportError) {
    guard let adapter = format.adapter as? any SpanFormatAdapter.Type else {
      throw ImportError(.unknownFormat)
    }
    var parts: [SourceDocument.Part] = []
    for (index, payload) in payloads.enumerated() {
      parts.append(
        SourceDocument.Part(name: String(index), content: .value(try Self.value(of: payload))))
    }
    var set = try adapter.spans(in: .parts(parts))
    set.namePlacesByIDs()
    let asRead = set.settled()
    set = asRead.puttingRecordsInOrder().markingCutValues().joiningHalves()
    let contents = SpanContents()
    let links = CallLinks(of: set, contents)
    (asked, wanted) = (Set(links.asked.keys), links.wanted)
    let spans = SpanRuns.runs(of: set, contents)
    source = SpanFormats.runs(spans, of: set, contents, asRead: asRead, format: format)
    let keys = Set(set.spans.map(\.key))
    runs = spans.enumerated().map { index, spans in
      let trace = spans.first?.trace ?? ""
      let root = spans.first(where: \.headsRun)
      let isCall = root?.parent != nil
      return Run(
        trace: trace, name: isCall ? "\(trace)-\(root?.id ?? "")" : trace,
        isOpen: spans.isOpen(in: set),
        startedMicroseconds: Int(clamping: (spans.first?.start ?? 0) / 1_000), index: index)
    }
    let inRuns = spans.reduce(0) { $0 + $1.count }
    let orphans = set.records.filter { !keys.contains($0.key) }.values.reduce(0) { $0 + $1.count }
    leftOver = set.spans.count - inRuns + orphans
  }

  /// Writes a run as a log, under an id that its name alone decides.
  ///
  /// - Parameters:
  ///   - run: one of ``runs``.
  ///   - path: of the log, which is not there yet.
  ///   - name: what the run is called; no other run of the folder is called so.
  /// - Throws: ``ImportError`` where the run cannot be read, or the log not be written.
  public func write(_ run: Run, to path: String, named name: String) throws(ImportError)
    -> RunCounts
  {
    var content = try source[run.index].content.get()
    if run.isOpen, var graph = content as? CallGraph {
      graph.labels["state"] = "open"
      graph.mayGoOn = true
      graph.ending = nil
      content = graph
    }
    return try RunLog(path: path).write(content, as: RunIdentity(received: name))
  }

  /// How deep pieces may nest: values of the protocol nest four levels for one of theirs.
  private static let depthLimit = 300

  private static func value(of payload: [UInt8]) throws(ImportError) -> JSONValue {
    do throws(JSONError) {
      let value = try JSONValue(parsing: payload, options: .init(depthLimit: depthLimit))
      return payload.mayHoldForms ? value.withoutForms : value
    } catch {
      throw ImportError(.notJSON(error, line: nil))
    }
  }
}

extension [UInt8] {
  /// Whether a key that begins with `$` may stand in them.
  fileprivate var mayHoldForms: Bool {
    withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return false }
      var start = 0
      while let found = memchr(base + start, 0x24, bytes.count - start) {
        let place = base.distance(to: UnsafeRawPointer(found))
        if place > 0, bytes[place - 1] == UInt8(ascii: "\"") { return true }
        start = place + 1
      }
      return false
    }
  }
}

extension JSONValue {
  /// The value that was written in the form of a log: texts that are none, and keys that were escaped.
  fileprivate var withoutForms: JSONValue {
    switch self {
    case .array(let elements): return .array(elements.map(\.withoutForms))
    case .object(let object):
      if object.count == 1, let member = object.first, member.key == "$bytes",
        let text = member.value.stringValue, let bytes = Base64.decode(text)
      {
        return .bytes(bytes)
      }
      return .object(
        JSONObject(object.map { ($0.key.unescapingReservedKey, $0.value.withoutForms) }))
    default: return self
    }
  }
}
