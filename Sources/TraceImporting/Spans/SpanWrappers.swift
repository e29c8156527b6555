import AgentTrace

/// Spans of no known convention that go around calls of models and tell again what these asked for and were shown, as
/// Mirascope's do.
struct SpanWrappers {
  /// The calls that the models' calls below a span tell, by its key.
  private var told: [String: Set<CallSightings.Call>] = [:]

  init(of models: [SpanGraph.ModelCall], among spans: [TraceSpan], in tree: SpanTree) {
    let keys = Set(spans.map(\.key))
    guard !keys.isEmpty else { return }
    for model in models {
      let around = tree.keysAbove(model.span).intersection(keys)
      guard !around.isEmpty else { continue }
      let calls = (model.calls + (model.content.inputs ?? []).flatMap(\.calls)).map {
        CallSightings.Call(name: $0.name, input: $0.input.value?.byValue)
      }
      for key in around { told[key, default: []].formUnion(calls) }
    }
  }

  /// Whether all that has the form of a call in a span is one that a model's call below it tells, with its arguments.
  func tellAgain(_ span: TraceSpan) -> Bool {
    guard let calls = told[span.key] else { return false }
    let found = CallSightings.all(in: .object(span.attributes), at: span.pointer, opensTexts: true)
    return !found.isEmpty
      && found.allSatisfy { sighting in
        guard let input = sighting.call.input else { return false }
        return calls.contains(
          CallSightings.Call(name: sighting.call.name, input: input.byValue))
      }
  }
}
