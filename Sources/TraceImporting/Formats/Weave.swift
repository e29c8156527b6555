import AgentTrace

/// Weave's calls, as it exports and answers them: `{"id","trace_id","parent_id","op_name","started_at","ended_at","inputs","output",
/// "exception","summary"}`, a line each, in a list, or under `calls`.
///
/// Of an evaluation each example is a run; what scorers did is no part of it, and left out.
enum Weave: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "calls of W&B Weave, each example of an evaluation for itself, without its scorers",
    tells: "as otlp")

  static let format = ImportFormat.weave

  private static let keys = ["calls"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isCall)
  }

  private static func isCall(_ value: JSONValue) -> Bool {
    ["id", "op_name", "trace_id"].allSatisfy { value[$0]?.stringValue != nil }
      && value["started_at"] != nil
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "calls with `op_name` and `started_at`"), at: JSONPointer())
    }
    var set = SpanSet()
    var calls: [WeaveCall] = []
    for (pointer, value) in set.values(of: document, keys: keys) {
      guard isCall(value) else {
        if !value.saysNothing { set.addUnread(value, at: pointer) }
        continue
      }
      set.look(at: value, reading: shapes, at: pointer)
      calls.append(WeaveCall(value, at: pointer))
      // Of another word nobody knows whether it is a tool's.
      if let word = calls.last?.word, WeaveCall.kinds[word] == nil {
        set.addUnread(value, at: pointer)
      }
    }
    let tree = WeaveTree(calls)
    set.leftOut = tree.scorerPlaces
    try set.add(tree.spans.takingAskedStepsAsTools)
    return set
  }

  private static let shapes: [String: SpanSet.Shape] = [
    "id": .any, "trace_id": .any, "attributes": .any, "inputs": .any, "output": .any,
    "summary": .any, "feedback": .any, "otel_dump": .any,
  ]
}

/// One call of Weave.
private struct WeaveCall {
  var place: JSONPointer
  var value: JSONValue
  let id: String
  let trace: String
  let parent: String?
  /// The name of what was called.
  let name: String

  init(_ value: JSONValue, at place: JSONPointer) {
    (self.place, self.value) = (place, value)
    id = value["id"]?.stringValue ?? ""
    trace = value["trace_id"]?.stringValue ?? ""
    parent = value["parent_id"]?.stringValue
    name = Self.name(of: value["op_name"]?.stringValue ?? "")
  }

  var key: String { TraceSpan.key(trace, id) }
  var start: UInt64 { SpanTime.nanoseconds(value["started_at"]) ?? 0 }

  /// The name in `weave:///ENTITY/PROJECT/op/NAME:VERSION`, or a name that stands alone.
  private static func name(of operation: String) -> String {
    guard operation.hasPrefix("weave:"), let last = operation.split(separator: "/").last else {
      return operation
    }
    return String(last.prefix { $0 != ":" })
  }

  /// What it was decorated as; `nil` for most.
  var word: String? { value["attributes"]?["weave"]?["kind"]?.stringValue?.lowercased() }

  static let kinds: [String: PlatformKind] = [
    "llm": .model, "tool": .tool, "agent": .agent, "search": .other,
  ]

  /// Whether it may be a call of a model: it is said to be one, gave back a reply, or took tokens. Calls above one repeat
  /// what it took, and may hand on its reply.
  var tellsOfModel: Bool {
    word == "llm" || value["summary"]?["usage"]?.saysNothing == false
      || value["output"].map(Self.isReply) ?? false
  }

  /// Whether a value is what a model's interface answers.
  private static func isReply(_ value: JSONValue) -> Bool {
    value["choices"]?[0]?["message"] != nil || value["object"] == "response"
      || value["candidates"]?[0]?["content"] != nil
      || value["role"] == "assistant" && (value["usage"] ?? value["stop_reason"]) != nil
  }

  /// Whether it is a scorer of an evaluation.
  var isScorer: Bool {
    name.hasSuffix(".score") || value["attributes"]?["_weave_eval_meta"]?["score"] == true
  }

  /// Whether it is an example of an evaluation, with what scored it.
  var isExample: Bool { name.hasSuffix("Evaluation.predict_and_score") }
}

/// The calls of a file as trees.
private struct WeaveTree {
  private let calls: [WeaveCall]
  /// The calls above each, the nearest first.
  private var above: [[Int]] = []
  /// The first call below each example: what is scored.
  private var scored: [Int: Int] = [:]

  /// How deep calls are followed upwards.
  private static let depthLimit = 200

  init(_ calls: [WeaveCall]) {
    self.calls = calls
    var places: [String: Int] = [:]
    for (place, call) in calls.enumerated() { places[call.key] = place }
    let parents = calls.map { call in
      call.parent.flatMap { places[TraceSpan.key(call.trace, $0)] }
    }
    for place in calls.indices {
      var way: [Int] = []
      var next = parents[place]
      while let here = next, way.count < Self.depthLimit {
        way.append(here)
        next = parents[here]
      }
      above.append(way)
      guard let parent = parents[place], calls[parent].isExample else { continue }
      if let known = scored[parent], calls[known].start <= calls[place].start { continue }
      scored[parent] = place
    }
  }

  /// What is told of runs: all but what scorers did, and evaluations themselves.
  var spans: [TraceSpan] {
    var hasModelBelow: Set<Int> = []
    for place in calls.indices where calls[place].tellsOfModel {
      hasModelBelow.formUnion(above[place])
    }
    return calls.indices.compactMap { place in
      guard !isOfScorer(place) else { return nil }
      let example = ([place] + above[place]).first { calls[$0].isExample }
      // The evaluation above its examples is a program of its own.
      let isModel = calls[place].tellsOfModel && !hasModelBelow.contains(place)
      return span(calls[place], isModel: isModel, of: example.map { calls[$0] })
    }
  }

  /// Where the calls stand that are scorers'.
  var scorerPlaces: [JSONPointer] {
    calls.indices.filter(isOfScorer).map { calls[$0].place }
  }

  /// Whether a call is a scorer's, or stands below one that is: by its name or mark, or as what an example did after what
  /// is scored.
  private func isOfScorer(_ place: Int) -> Bool {
    let way = [place] + above[place]
    if way.contains(where: { calls[$0].isScorer }) { return true }
    guard let end = way.firstIndex(where: { calls[$0].isExample }), end > 0 else { return false }
    return scored[way[end]] != way[end - 1]
  }

  private func span(_ call: WeaveCall, isModel: Bool, of example: WeaveCall?) -> TraceSpan {
    let value = call.value
    var span = TraceSpan(
      id: call.id, parent: call.isExample ? nil : call.parent, trace: example?.id ?? call.trace,
      name: call.name, start: call.start,
      end: SpanTime.nanoseconds(value["ended_at"]) ?? call.start, pointer: call.place)
    span.isOpen = value["ended_at"]?.saysNothing ?? true
    var inputs = value["inputs"]
    if var members = inputs?.objectValue {
      // The object whose method it is.
      members["self"] = nil
      inputs = .object(members)
    }
    let told = call.word.flatMap { WeaveCall.kinds[$0] }
    let kind = isModel ? .model : told == .model ? .step : told ?? .step
    span.take(kind, input: inputs, output: value["output"])
    span.attributes["session.id"] = value["thread_id"]
    if kind == .model {
      let usage = value["summary"]?["usage"]?.objectValue ?? [:]
      span.attributes["gen_ai.request.model"] =
        inputs?["model"] ?? (usage.count == 1 ? usage.keys.first.map(JSONValue.string) : nil)
      span.attributes["gen_ai.request.tools"] = inputs?["tools"]
      if usage.count == 1 { span.attributes["langsmith.usage_metadata"] = usage.first?.value }
    }
    if let exception = value["exception"]?.stringValue, !exception.isEmpty {
      span.hasFailed = true
      span.statusMessage = exception.firstLine
    }
    return span
  }
}
