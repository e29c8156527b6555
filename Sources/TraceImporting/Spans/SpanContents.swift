/// What models' spans say, each read once, although it is looked at to sort spans into runs and to tell a run.
final class SpanContents {
  private var read: [String: SpanContent] = [:]

  /// What a span says, which is kept.
  func content(of span: TraceSpan, records: [TraceSpan.Event]) -> SpanContent {
    let key = span.key
    if let content = read[key] { return content }
    let content = SpanContent(of: span, records: records)
    read[key] = content
    return content
  }

  /// What a span says, which is not needed any more.
  func take(of span: TraceSpan, records: [TraceSpan.Event]) -> SpanContent {
    read.removeValue(forKey: span.key) ?? SpanContent(of: span, records: records)
  }
}
