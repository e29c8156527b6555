import AgentTrace

extension TraceSpan {
  /// One for each call of a model that the records of a span tell: some instrumentations write every call of an agent on
  /// one span, each over the one before.
  func split(by records: [Event]) -> [(TraceSpan, [Event])] {
    var answers: Set<JSONValue> = []
    let calls = records.filter { record in
      guard let answer = record.attributes["gen_ai.output.messages"], !answer.saysNothing else {
        return false
      }
      return answers.insert(answer).inserted
    }.sorted { $0.time < $1.time }
    guard calls.count > 1 else { return [(self, records)] }
    return calls.enumerated().map { index, record in
      var span = self
      span.attributes = record.attributes
      span.attributes["gen_ai.operation.name"] = span["gen_ai.operation.name"] ?? "chat"
      span.events = []
      // When a later one began nobody says; what happened before it was over did not come of it.
      span.start = index == 0 ? start : max(start, record.time)
      span.end = max(span.start, index == calls.count - 1 ? end : record.time)
      return (span, [])
    }
  }

  /// Whether what it gave back says that a graph waits for somebody, and is to go on from there.
  var isInterrupted: Bool {
    SpanContent.outputKeys.contains { key in
      guard let value = self[key], value.objectValue != nil || value.stringValue != nil else {
        return false
      }
      let told = value.stringValue.map { $0.contains("__interrupt__") ? JSONText.parse($0) : nil }
      return (told ?? value)?["__interrupt__"]?.saysNothing == false
    }
  }

  /// Whether something in a span of no known convention has the form of a call.
  var mayHideCall: Bool {
    attributes.contains { member in
      if member.value.mayHoldCall { return true }
      guard let text = member.value.stringValue, let parsed = JSONText.parse(text) else {
        return false
      }
      return parsed.mayHoldCall
    }
  }
}
