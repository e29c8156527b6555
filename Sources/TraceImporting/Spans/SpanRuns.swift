import AgentTrace

/// Sorts spans into runs: by the conversation that they name, else by their trace. Traces become one where a model's call in
/// one was shown calls that were asked for in another alone, unless they name different conversations: many servers count
/// their calls from 0, so that an id alone says little.
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
    var named: Set<String> = []
    var lists: [String: String] = [:]
    for span in set.spans {
      groups.add(span.trace)
      lists[span.trace] = span.list
      guard let session = session(naming: { span[$0] ?? span.resource[$0] }) else { continue }
      named.insert(span.trace)
      // What its file tells apart is so also where a conversation was made unknown.
      let key = TraceSpan.key(span.list, session)
      if let trace = bySession[key] {
        groups.join(trace, span.trace)
      } else {
        bySession[key] = span.trace
      }
    }
    join(set, &groups, named: named, lists, contents)
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
    for (place, span) in spans.enumerated() { places[span.key] = place }
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
        next = spans[here].parent.flatMap { places[TraceSpan.key(spans[here].trace, $0)] }
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
  ///
  /// - Parameters:
  ///   - named: the traces that name a conversation.
  ///   - lists: what their file calls the lists that they stand in.
  private static func join(
    _ set: SpanSet, _ groups: inout UnionFind, named: Set<String>, _ lists: [String: String],
    _ contents: SpanContents
  ) {
    guard Set(set.spans.map(\.trace)).count > 1 else { return }
    var named = Set(named.map { groups.find($0) })
    let links = CallLinks(of: set, contents)
    for (trace, other) in links.toldTwice { connect(trace, other) }
    // In an order that is that of no file.
    for (asking, shown) in links.joints(by: { groups.find($0) }) { connect(asking, shown) }

    func connect(_ asking: String, _ shown: String) {
      let (first, second) = (groups.find(asking), groups.find(shown))
      let areNamed = (named.contains(first), named.contains(second))
      guard first != second, !(areNamed.0 && areNamed.1), lists[asking] == lists[shown] else {
        return
      }
      groups.join(first, second)
      if areNamed.0 || areNamed.1 { named.insert(groups.find(first)) }
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
  /// A call as a trace tells it.
  struct Telling {
    var trace: String
    /// What is known of the call beside its id.
    var name: String?
    var input: JSONValue?
  }

  /// Where models asked for calls, by the calls' ids.
  private(set) var asked: [String: [Telling]] = [:]
  /// Where models were shown calls, or tools ran them, in traces that did not ask for them; by the calls' ids.
  private(set) var shown: [String: [Telling]] = [:]
  /// The models' calls that told of a response, by its id.
  private var responses: [String: [Response]] = [:]

  /// A response as a span tells it.
  private struct Response {
    var span: TraceSpan
    var calls: Set<String>

    /// Whether another instrumentation tells of it in a trace of its own: a response is given once, and at one time.
    func isToldAgain(by other: Response) -> Bool {
      span.trace != other.span.trace && span.scope != other.span.scope
        && span.start <= other.span.end && other.span.start <= span.end
        && (calls == other.calls || calls.isEmpty || other.calls.isEmpty)
    }
  }

  /// The traces in which several instrumentations tell of the same response, in an order that is that of no file.
  var toldTwice: [(String, String)] {
    var pairs: Set<[String]> = []
    for tellings in responses.values where tellings.count <= Self.mostTellers {
      for (number, first) in tellings.enumerated() {
        for second in tellings.dropFirst(number + 1) where first.isToldAgain(by: second) {
          pairs.insert(
            first.span.trace.precedesByUTF8(second.span.trace)
              ? [first.span.trace, second.span.trace] : [second.span.trace, first.span.trace])
        }
      }
    }
    return pairs.map { ($0[0], $0[1]) }.sorted { left, right in
      left.0 != right.0 ? left.0.precedesByUTF8(right.0) : left.1.precedesByUTF8(right.1)
    }
  }

  /// How many may tell of one response; what more tell is an id that a server gives to all.
  private static let mostTellers = 8

  /// - Complexity: reads what each model's span says.
  init(of set: SpanSet, _ contents: SpanContents) {
    let models = set.spans.filter { $0.kind == .model }
    let said = { (span: TraceSpan) in
      contents.content(of: span, records: set.records[span.key] ?? [])
    }
    var own: Set<[String]> = []
    for span in models {
      let content = said(span)
      let calls = (content.outputs ?? []).flatMap(\.calls)
      if let id = content.responseId, !id.isEmpty {
        responses[id, default: []].append(
          Response(span: span, calls: Set(calls.compactMap(\.id))))
      }
      for call in calls {
        guard let id = call.id, !id.isEmpty else { continue }
        own.insert([span.trace, id])
        asked[id, default: []].append(Self.telling(call, in: span.trace))
      }
    }
    func show(_ id: String?, _ telling: Telling) {
      guard let id, !id.isEmpty, !own.contains([telling.trace, id]) else { return }
      shown[id, default: []].append(telling)
    }
    for span in models {
      for message in said(span).inputs ?? [] {
        for call in message.calls { show(call.id, Self.telling(call, in: span.trace)) }
        for result in message.results {
          show(result.id, Telling(trace: span.trace, name: result.tool))
        }
      }
    }
    for span in set.spans where span.kind == .tool {
      show(SpanTool.id(of: span), Telling(trace: span.trace))
    }
  }

  private static func telling(_ call: GraphCall, in trace: String) -> Telling {
    Telling(
      trace: trace, name: call.name,
      input: call.input.value.flatMap(CallSightings.whole)?.byValue)
  }

  /// Calls that were shown and that nothing here asked for.
  var wanted: Set<String> { Set(shown.keys).subtracting(asked.keys) }

  /// The traces that go on from one another: one that asked for a call, and one that was shown it. Where several asked for
  /// calls of the id that may be that one, nobody knows from which it goes on.
  ///
  /// - Parameter group: the traces that belong together already, by one of them.
  func joints(by group: (String) -> String) -> [(asking: String, shown: String)] {
    var joints: [(asking: String, shown: String)] = []
    for (id, tellings) in shown {
      guard let asking = asked[id] else { continue }
      let groups = Set(asking.map { group($0.trace) })
      for (trace, told) in Dictionary(grouping: tellings, by: \.trace)
      where !groups.contains(group(trace)) {
        let known = told.filter { $0.name?.isEmpty == false }
        let fitting = asking.filter { asked in
          known.isEmpty || known.contains { Self.mayBeSame(asked, $0) }
        }
        let origins = Set(fitting.map { group($0.trace) })
        if origins.count == 1, let origin = origins.first { joints.append((origin, trace)) }
      }
    }
    return joints.sorted { left, right in
      left.asking != right.asking
        ? left.asking.precedesByUTF8(right.asking) : left.shown.precedesByUTF8(right.shown)
    }
  }

  private static func mayBeSame(_ left: Telling, _ right: Telling) -> Bool {
    if let name = left.name, let other = right.name, !ToolWord.mayBeSame(name, other) {
      return false
    }
    guard let input = left.input, let other = right.input else { return true }
    return input == other
  }
}
