/// What models' spans say, each read once, although it is looked at to sort spans into runs and to tell a run.
final class SpanContents {
  private var read: [String: SpanContent] = [:]

  private static func key(_ span: TraceSpan) -> String { "\(span.trace) \(span.id)" }

  /// What a span says, which is kept.
  func content(of span: TraceSpan, records: [TraceSpan.Event]) -> SpanContent {
    let key = Self.key(span)
    if let content = read[key] { return content }
    let content = SpanContent(of: span, records: records)
    read[key] = content
    return content
  }

  /// What a span says, which is not needed any more.
  func take(of span: TraceSpan, records: [TraceSpan.Event]) -> SpanContent {
    read.removeValue(forKey: Self.key(span)) ?? SpanContent(of: span, records: records)
  }
}
