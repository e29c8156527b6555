import AgentTrace

extension TraceSpan {
  /// What has the form of a call in the span, its events and its log records, but for what a model was shown: that came
  /// before it, and is read where it was said.
  func sightings(records: [Event]) -> [CallSightings.Sighting] {
    // One span more for the results of parallel calls together.
    if kind == .other, name.hasSuffix("(merged)") { return [] }
    var found = CallSightings.all(in: .object(said(attributes)), at: pointer, opensTexts: true)
    for event in events + records
    where !Self.shownEvents.contains(event.attributes["event.name"]?.stringValue ?? event.name) {
      found += CallSightings.all(
        in: .object(said(event.attributes)), at: pointer, opensTexts: true)
    }
    return found.map { sighting in
      var sighting = sighting
      sighting.pointer = pointer
      return sighting
    }
  }

  private func said(_ attributes: JSONObject) -> JSONObject {
    // What a tool gave back may be anything.
    let givenBack = kind == .tool ? SpanTool.outputKeys : []
    return JSONObject(
      attributes.compactMap { member in
        if givenBack.contains(member.key) || Self.shown.contains(where: member.key.hasPrefix) {
          return nil
        }
        let isGiven = kind == .tool && SpanTool.inputKeys.contains(member.key)
        return (member.key, isGiven ? SpanTool.given(member.value) : member.value)
      })
  }

  /// How attributes begin that hold what went into a span.
  private static let shown = [
    "gen_ai.input", "gen_ai.prompt", "gen_ai.request", "gen_ai.system", "gen_ai.tool.definitions",
    "input.", "llm.input", "llm.invocation_parameters", "llm.prompt", "llm.request", "llm.tools",
    "langfuse.observation.input", "langfuse.trace.input", "langsmith.inputs", "mlflow.spanInputs",
    "mlflow.chat.tools",
    "traceloop.entity.input", "ai.prompt", "ai.request",
  ]
  /// The events that tell a model what was said before.
  private static let shownEvents: Set<String> = [
    "gen_ai.assistant.message", "gen_ai.system.message", "gen_ai.tool.message",
    "gen_ai.user.message",
  ]
}
