import AgentTrace

/// Braintrust's rows, as its interface answers, exports and takes them: a span each, `{"id","span_id","root_span_id","span_parents",
/// "span_attributes":{"name","type"},"input","output","error","metadata","metrics"}`, in a list, a line each, or under `events`,
/// `data` or `rows`.
///
/// What scorers asked of models is no part of what was scored, and left out.
enum Braintrust: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "rows of Braintrust's logs and experiments, without its scorers",
    tells: "as otlp")

  static let format = ImportFormat.braintrust

  private static let keys = ["events", "data", "rows"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isRow)
  }

  private static func isRow(_ value: JSONValue) -> Bool {
    value["span_id"]?.stringValue != nil && value["root_span_id"]?.stringValue != nil
      && rowKeys.contains { value[$0] != nil }
  }

  /// What a row has beside its ids.
  private static let rowKeys = ["span_parents", "span_attributes", "metrics", "is_root"]

  /// A row, and where it stands.
  private struct Row {
    var place: JSONPointer
    var members: JSONObject

    var id: String { members["span_id"]?.stringValue ?? "" }
    var root: String { members["root_span_id"]?.stringValue ?? "" }
    var parent: String? { members["span_parents"]?[0]?.stringValue }
    var type: String? { members["span_attributes"]?["type"]?.stringValue }
    var key: String { TraceSpan.key(root, id) }
    var isScorer: Bool {
      type == "score" || members["span_attributes"]?["purpose"] == "scorer"
    }
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "rows with `span_id` and `root_span_id`"), at: JSONPointer())
    }
    var set = SpanSet()
    let rows = rows(of: document, into: &set)
    let scorers = belowScorers(rows)
    var spans: [TraceSpan] = []
    for (row, isScorer) in zip(rows, scorers) {
      guard !isScorer else {
        set.leftOut.append(row.place)
        continue
      }
      spans.append(span(row))
      // Of another word nobody knows whether it is a call.
      if let type = row.type, kinds[type] == nil {
        set.addUnread(.object(row.members), at: row.place)
      }
    }
    try set.add(spans.takingAskedStepsAsTools)
    return set
  }

  /// The rows, each as its last version has it.
  private static func rows(of document: SourceDocument, into set: inout SpanSet) -> [Row] {
    var rows: [Row] = []
    var latest: [String: Int] = [:]
    if case .value(let value) = document, let cursor = value["cursor"], !cursor.saysNothing {
      // It leads to the next page.
      set.addUnread(["cursor": cursor], at: JSONPointer(tokens: ["cursor"]))
    }
    for (pointer, value) in set.values(of: document, keys: keys) {
      guard let members = value.objectValue, isRow(value) else {
        if !value.saysNothing { set.addUnread(value, at: pointer) }
        continue
      }
      set.look(at: value, reading: shapes, at: pointer)
      let row = Row(place: pointer, members: members)
      guard let known = latest[row.key] else {
        latest[row.key] = rows.count
        rows.append(row)
        continue
      }
      if members["_is_merge"]?.boolValue == true {
        rows[known].members = merged(rows[known].members, members)
      } else if isOlder(rows[known].members, members) {
        rows[known] = row
      } else if !isOlder(members, rows[known].members) {
        // Two of which none is the later one.
        rows.append(row)
      }
    }
    return rows
  }

  /// What a row has: what is read of it, and what is known to hold no call that its input and output do not.
  private static let shapes: [String: SpanSet.Shape] = [
    "span_id": .any, "root_span_id": .any, "span_parents": .list, "span_attributes": .object,
    "input": .any, "output": .any, "error": .any, "metadata": .any, "metrics": .object,
    "context": .any, "expected": .any, "scores": .any, "tags": .any, "origin": .any,
    "facets": .any, "classifications": .any, "comments": .any, "audit_data": .any,
  ]

  /// A later part of a row put into it: objects become one, and of all else the later counts.
  private static func merged(_ row: JSONObject, _ part: JSONObject, depth: Int = 0) -> JSONObject {
    var row = row
    for member in part {
      if depth < SourceDocument.depthLimit, let inner = member.value.objectValue,
        let known = row[member.key]?.objectValue
      {
        row[member.key] = .object(merged(known, inner, depth: depth + 1))
      } else {
        row[member.key] = member.value
      }
    }
    return row
  }

  /// Whether a version of a row came before another, by the numbers of what wrote them. Pages overlap, and hold older
  /// versions of rows than those before them.
  private static func isOlder(_ left: JSONObject, _ right: JSONObject) -> Bool {
    guard let first = left["_xact_id"]?.stringValue, let second = right["_xact_id"]?.stringValue
    else { return false }
    return first.utf8.count != second.utf8.count
      ? first.utf8.count < second.utf8.count : first.precedesByUTF8(second)
  }

  /// How deep rows are followed upwards.
  private static let depthLimit = 200

  /// Of each row whether it is a scorer's, or stands below one that is.
  private static func belowScorers(_ rows: [Row]) -> [Bool] {
    var byKey: [String: Int] = [:]
    for (index, row) in rows.enumerated() { byKey[row.key] = index }
    return rows.map { row in
      var next: Row? = row
      for _ in 0..<depthLimit {
        guard let here = next else { return false }
        if here.isScorer { return true }
        next = here.parent.flatMap { byKey[TraceSpan.key(row.root, $0)] }.map { rows[$0] }
      }
      return false
    }
  }

  private static let kinds: [String: PlatformKind] = [
    "llm": .model, "tool": .tool, "task": .step, "function": .step, "eval": .step,
    "automation": .step, "preprocessor": .step, "score": .other, "facet": .other,
    "classifier": .other, "review": .other,
  ]

  private static func span(_ row: Row) -> TraceSpan {
    let metrics = row.members["metrics"]
    let created = SpanTime.nanoseconds(row.members["created"]) ?? 0
    let start = SpanTime.nanoseconds(metrics?["start"]) ?? created
    var span = TraceSpan(
      id: row.id, parent: row.parent, trace: row.root,
      name: row.members["span_attributes"]?["name"]?.stringValue ?? "", start: start,
      end: SpanTime.nanoseconds(metrics?["end"]) ?? start, pointer: row.place)
    span.isOpen = metrics?["start"] != nil && (metrics?["end"]?.saysNothing ?? true)
    let kind = row.type.map { kinds[$0] ?? .step } ?? .step
    span.take(kind, input: row.members["input"], output: row.members["output"])
    let metadata = row.members["metadata"]
    if kind == .model {
      span.attributes["gen_ai.request.model"] = metadata?["model"]
      span.attributes["gen_ai.request.tools"] = metadata?["tools"]
      // Rows above repeat the sums of those below.
      span.attributes["langsmith.usage_metadata"] = metrics
    }
    if let error = row.members["error"], !error.saysNothing {
      span.hasFailed = true
      span.statusMessage = (error.stringValue ?? error["message"]?.stringValue)?.firstLine
    }
    return span
  }
}
