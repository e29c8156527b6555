import AgentTrace

/// Sorts spans into runs: by the conversation that they name, else by their trace. Traces become one where a model's call in
/// one was shown calls that were asked for in another.
enum SpanRuns {
  static let sessionKeys = [
    "gen_ai.conversation.id", "session.id", "langfuse.session.id", "langsmith.trace.session_id",
    "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
    "gcp.vertex.agent.session_id", "langgraph.thread_id", "ai.telemetry.metadata.sessionId",
  ]

  /// The conversation that a span names, by what is known of it under a key.
  static func session(naming value: (String) -> JSONValue?) -> String? {
    for key in sessionKeys {
      if let session = value(key)?.stringValue, !session.isEmpty { return session }
    }
    return nil
  }

  /// The runs, in the order in which they began. What no convention speaks of is left out, unless it stands above what one
  /// does.
  static func runs(of set: SpanSet, _ contents: SpanContents) -> [[TraceSpan]] {
    var groups = UnionFind()
    var bySession: [String: String] = [:]
    for span in set.spans {
      groups.add(span.trace)
      guard let session = session(naming: { span[$0] ?? span.resource[$0] }) else { continue }
      if let trace = bySession[session] {
        groups.join(trace, span.trace)
      } else {
        bySession[session] = span.trace
      }
    }
    join(set, &groups, contents)
    var members: [String: [TraceSpan]] = [:]
    for span in set.spans { members[groups.find(span.trace), default: []].append(span) }
    let runs = members.values.filter { spans in
      spans.contains { [.model, .tool, .agent, .handoff].contains($0.kind) }
    }
    return runs.flatMap { apart($0.sorted(by: isBefore)) }.sorted { left, right in
      guard let first = left.first, let second = right.first else { return right.first != nil }
      return isBefore(first, second)
    }
  }

  /// The runs of a trace that we exported: those that are calls of others carry logs of their own.
  ///
  /// - Parameter spans: by their beginnings.
  private static func apart(_ spans: [TraceSpan]) -> [[TraceSpan]] {
    guard spans.contains(where: \.carriesLog), spans.count(where: \.headsRun) > 1 else {
      return [spans]
    }
    var places: [String: Int] = [:]
    for (place, span) in spans.enumerated() { places["\(span.trace) \(span.id)"] = place }
    var heads: [Int?] = Array(repeating: nil, count: spans.count)
    for place in spans.indices {
      // Upwards to what is known already, or to the top; never longer than there are spans.
      var way: [Int] = []
      var next: Int? = place
      var head: Int?
      while let here = next, way.count < spans.count {
        if let known = heads[here] { head = known } else if spans[here].headsRun { head = here }
        if head != nil { break }
        way.append(here)
        next = spans[here].parent.flatMap { places["\(spans[here].trace) \($0)"] }
      }
      // What nothing leads up from belongs to the run at the top.
      let found = head ?? spans.firstIndex(where: \.headsRun)
      for here in way + [place] { heads[here] = found }
    }
    return Dictionary(grouping: spans.indices) { heads[$0] }.sorted { left, right in
      (left.key ?? 0) < (right.key ?? 0)
    }.map { $0.value.map { spans[$0] } }
  }

  /// By their beginnings; what ends later holds what ends earlier.
  static func isBefore(_ left: TraceSpan, _ right: TraceSpan) -> Bool {
    if left.start != right.start { return left.start < right.start }
    if left.end != right.end { return left.end > right.end }
    return left.trace != right.trace
      ? left.trace.precedesByUTF8(right.trace) : left.id.precedesByUTF8(right.id)
  }

  /// Joins traces that go on from one another.
  private static func join(
    _ set: SpanSet, _ groups: inout UnionFind, _ contents: SpanContents
  ) {
    guard Set(set.spans.map(\.trace)).count > 1 else { return }
    let links = CallLinks(of: set, contents)
    for (id, trace) in links.shown {
      if let other = links.asked[id], other != trace { groups.join(other, trace) }
    }
  }

  /// Sets that become one.
  private struct UnionFind {
    private var parents: [String: String] = [:]

    mutating func add(_ name: String) {
      if parents[name] == nil { parents[name] = name }
    }

    mutating func find(_ name: String) -> String {
      var root = name
      while let parent = parents[root], parent != root { root = parent }
      var step = name
      while let parent = parents[step], parent != root {
        parents[step] = root
        step = parent
      }
      return root
    }

    mutating func join(_ left: String, _ right: String) {
      let (first, second) = (find(left), find(right))
      if first != second { parents[second] = first }
    }
  }
}

/// The ids of calls by which traces go on from one another.
struct CallLinks {
  /// The first trace whose model asked for a call, by its id.
  private(set) var asked: [String: String] = [:]
  /// Calls that a model was shown, or a tool ran, each with its trace.
  private(set) var shown: [(id: String, trace: String)] = []

  /// - Complexity: reads what each model's span says.
  init(of set: SpanSet, _ contents: SpanContents) {
    for span in set.spans where span.kind == .model {
      let content = contents.content(of: span, records: set.records[span.id] ?? [])
      for call in (content.outputs ?? []).flatMap(\.calls) {
        if let id = call.id, !id.isEmpty { asked[id] = asked[id] ?? span.trace }
      }
      for message in content.inputs ?? [] {
        for id in message.calls.compactMap(\.id) + message.results.compactMap(\.id) {
          shown.append((id, span.trace))
        }
      }
    }
    for span in set.spans where span.kind == .tool {
      if let id = SpanTool.id(of: span) { shown.append((id, span.trace)) }
    }
  }

  /// Calls that were shown and that nothing here asked for.
  var wanted: Set<String> { Set(shown.map(\.id)).subtracting(asked.keys).subtracting([""]) }
}
