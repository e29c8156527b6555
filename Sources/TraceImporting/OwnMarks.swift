import AgentTrace

/// What our own exports say beside what other formats have a place for.
enum OwnMarks {
  /// Why a reply was no decision, where nothing says it.
  static let problem = "a reply that was no decision"

  /// The data that a text is the JSON of; what is no JSON stays what it is.
  static func data(in told: Told) -> Told {
    guard let text = told.value?.stringValue else { return told }
    return JSONText.any(text).map(Told.there) ?? (JSONText.isCut(text) ? .cut(text) : told)
  }

  /// What stands before the reason of a result that is none, in lists of messages.
  static func beginning(of status: String) -> String {
    switch status {
    case "refused": "Refused: "
    case "error": "Error: "
    default: ""
    }
  }
}

extension CallGraph {
  /// Takes in what became of each call. Where messages were taken out, or others put in, since it was told, nobody knows
  /// which it is told of.
  mutating func takeResults(_ marks: [JSONValue]) {
    let places = items.indices.filter { if case .result = items[$0] { true } else { false } }
    guard places.count == marks.count else { return }
    for (place, mark) in zip(places, marks) {
      guard case .result(let result) = items[place], let id = mark["id"]?.stringValue,
        result.id?.hasSameUTF8(as: id) == true
      else { return }
    }
    for (place, mark) in zip(places, marks) {
      guard case .result(var result) = items[place] else { continue }
      result.take(mark)
      items[place] = .result(result)
    }
  }

  /// Takes in which replies were no decision, and which repair one, where there are as many replies as were told.
  mutating func takeReplies(_ own: JSONValue) {
    let places = items.indices.filter { if case .reply = items[$0] { true } else { false } }
    guard places.count == own["replies"]?.intValue else { return }
    func change(_ number: JSONValue?, _ body: (inout GraphReply) -> Void) {
      guard let number = number?.intValue, places.indices.contains(number),
        case .reply(var reply) = items[places[number]]
      else { return }
      body(&reply)
      items[places[number]] = .reply(reply)
    }
    for mark in own["invalid"]?.arrayValue ?? [] {
      change(mark["reply"]) { $0.problem = mark["reason"]?.stringValue ?? OwnMarks.problem }
    }
    for number in own["repairs"]?.arrayValue ?? [] { change(number) { $0.isRepair = true } }
  }
}

extension GraphReply {
  /// Takes in what our own export says of a reply beside it.
  mutating func take(_ own: JSONValue?) {
    if own?["decision"] == "invalid" { problem = own?["reason"]?.stringValue ?? OwnMarks.problem }
    if own?["repairs"] == true { isRepair = true }
  }

  /// Takes in what the span of a model's call says of its reply, in one that we exported.
  mutating func take(_ span: TraceSpan) {
    if span.text("agent_eval.decision") == "invalid" {
      problem = span.text("agent_eval.problem") ?? OwnMarks.problem
    }
    if span.repairsReply { isRepair = true }
  }
}

extension TraceSpan {
  /// Whether our own export says that its model was asked again for a decision: nobody said what it was told then.
  var repairsReply: Bool { self["agent_eval.repairs"]?.boolValue == true }
}

extension GraphResult {
  /// Takes in what our own export says of a result in a list of messages.
  fileprivate mutating func take(_ mark: JSONValue) {
    let word = mark["status"]?.stringValue ?? ""
    let beginning = OwnMarks.beginning(of: word).utf8
    let text = data.value?.stringValue?.utf8
    // Somebody put another text there.
    guard beginning.isEmpty || text?.starts(with: beginning) == true else { return }
    switch word {
    case "ok": status = .ok
    case "returned": status = .returned
    case "refused": status = .refused
    case "error": status = .error
    default: return
    }
    isEffectUnknown = status == .error && mark["effect"] == "unknown"
    if let text, !beginning.isEmpty {
      data = .there(.string(String(decoding: text.dropFirst(beginning.count), as: UTF8.self)))
    }
    if mark["json"] == true { data = OwnMarks.data(in: data) }
  }
}
