import AgentTrace
import TraceJudging

/// What stands under our own key for people to see.
enum OwnKey {
  static func summary(of story: RunStory, results: [RunResult]) -> JSONObject {
    var object: JSONObject = ["runId": .string(story.runId)]
    if let stop = story.stop {
      object["stop"] = .string(stop.reason.rawValue)
      object["detail"] = stop.detail.map(JSONValue.string)
    }
    if story.isPartial { object["partial"] = true }
    if story.isOpen { object["open"] = true }
    if !story.isAnswered { object["answered"] = false }
    if story.isAnswerCut { object["answerCut"] = true }
    if story.hasPaused { object["paused"] = true }
    object["caseId"] = story.start["case"]?["caseId"]
    if !results.isEmpty {
      object["outcomes"] = .array(
        results.map { ["caseId": .string($0.caseId), "outcome": .string($0.outcome.rawValue)] })
    }
    return object
  }
}

/// What lists of messages have no place for, told beside them in the order in which it stands there: what became of each
/// call, and which replies were no decision.
struct ListMarks {
  private var results: [JSONValue] = []
  private var invalid: [JSONValue] = []
  private var repairs: [JSONValue] = []
  private var replies = 0

  /// Takes in a result that a message tells.
  mutating func add(_ result: RunStory.Result) {
    var mark: JSONObject = [
      "id": .string(CallName.id(result.callId)), "status": .string(result.status),
    ]
    if result.isEffectUnknown { mark["effect"] = "unknown" }
    if result.isData { mark["json"] = true }
    results.append(.object(mark))
  }

  /// Takes in a reply that a message tells.
  mutating func add(_ turn: RunStory.Turn) {
    if let problem = turn.problem {
      invalid.append(["reply": JSONValue(replies), "reason": .string(problem)])
    }
    if turn.isRepair { repairs.append(JSONValue(replies)) }
    replies += 1
  }

  /// Puts them beside what else our own key says.
  func put(into own: inout JSONObject) {
    if !results.isEmpty { own["results"] = .array(results) }
    guard !invalid.isEmpty || !repairs.isEmpty else { return }
    own["invalid"] = .array(invalid)
    own["repairs"] = .array(repairs)
    own["replies"] = JSONValue(replies)
  }
}
