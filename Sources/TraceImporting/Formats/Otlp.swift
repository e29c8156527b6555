import AgentTrace

/// Traces in OTLP: bodies of requests in protocol buffers, requests in JSON, one or one a line, as collectors write them,
/// and Tempo's exports.
enum Otlp: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads:
      "OTLP: bodies in protocol buffers, JSON, lines of a collector, Tempo's exports; gen_ai (every "
      + "generation), OpenInference, Traceloop, Langfuse, LangSmith, AI SDK and MLflow attributes",
    tells:
      "calls, results, errors, usage, sub-agents, as far as content was captured; ends where the root ended"
  )

  static let format = ImportFormat.otlp

  /// Where lists of spans stand that are no requests.
  private static let keys = ["spans"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) {
      OtlpReader.isRequest($0) || OtlpReader.isSpan($0)
    }
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "requests of OTLP (`resourceSpans`)")
    var set = SpanSet()
    for (pointer, value) in set.values(of: document, keys: keys) {
      if OtlpReader.isSpan(value), try OtlpReader.take(value, at: pointer, into: &set) { continue }
      guard OtlpReader.isRequest(value) else {
        if value.mayHoldSpan { set.addUnread(value, at: pointer) }
        continue
      }
      try OtlpReader.read(value, at: pointer, into: &set)
    }
    return set
  }
}

/// Reads a format whose runs are made of spans.
protocol SpanFormatAdapter: FormatAdapter {
  static var format: ImportFormat { get }

  /// All spans of a file, and the log records that belong to them.
  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet
}

extension SpanFormatAdapter {
  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    SpanFormats.runs(of: try spans(in: document), format: format)
  }
}

extension [TraceSpan] {
  /// Whether a part of what they tell of is missing: none of them is a root, one that is has not ended, or one's parent is
  /// not there. The root of a run that we exported may stand below the call that it is.
  ///
  /// - Parameter set: all spans that came with them.
  func isOpen(in set: SpanSet) -> Bool {
    let roots = filter { $0.parent == nil || $0.headsRun }
    return roots.isEmpty || roots.contains(where: \.isOpen)
      || !allSatisfy(set.holdsParent)
  }
}

extension TraceSpan {
  /// Whether it is the root of a run that we exported.
  var headsRun: Bool { attributes["agent_eval.run.id"] != nil }

  /// Whether the log of its run goes along, of which it is the root.
  var carriesLog: Bool { attributes["agent_eval.log.parts"] != nil }
}

/// What all formats of spans share.
enum SpanFormats {
  /// The runs of some spans.
  static func runs(of set: SpanSet, format: ImportFormat) -> [SourceRun] {
    let asRead = set.settled()
    let set = asRead.puttingRecordsInOrder().markingCutValues().joiningHalves()
    let contents = SpanContents()
    return runs(
      SpanRuns.runs(of: set, contents), of: set, contents, asRead: asRead, format: format)
  }

  /// The runs of spans that are sorted into runs already.
  ///
  /// - Parameters:
  ///   - set: in order, with what was cut marked.
  ///   - contents: what was read of its spans already.
  ///   - asRead: the same as it came.
  static func runs(
    _ runs: [[TraceSpan]], of set: SpanSet, _ contents: SpanContents, asRead: SpanSet,
    format: ImportFormat
  ) -> [SourceRun] {
    runs.enumerated().map { index, spans in
      SourceRun(index: runs.count == 1 ? nil : index) { () throws(ImportError) in
        // A log that goes along tells nothing of what the file holds besides.
        if spans.contains(where: \.carriesLog), set.unread.isEmpty,
          !spans.contains(where: { set.records[$0.key]?.isEmpty == false })
        {
          let keys = Set(spans.map(\.key))
          let own = asRead.spans.filter { keys.contains($0.key) }
          if let run = try CarriedRun.find(in: own) { return run }
        }
        var graph = SpanGraph.graph(
          of: spans, records: set.records, contents: contents, format: format)
        graph.unread += set.unread
        graph.leftOut = Set(asRead.leftOut)
        // What the file does not hold of a trace may be calls.
        if spans.isOpen(in: set) { graph.mayGoOn = true }
        graph.unread += spans.filter { $0["agent_eval.partial"]?.boolValue == true }.map(\.pointer)
        graph.markCallsNotRead(
          among: spans.flatMap { $0.sightings(records: set.records[$0.key] ?? []) }
            + spans.namedAsTools)
        graph.noteEarlierResponses(of: spans)
        graph.noteCallsOfClients(in: spans)
        return graph
      }
    }
  }
}
