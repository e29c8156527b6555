import AgentTrace

/// What counts when two events are compared: neither times nor latencies, what a model used, digests,
/// nor any name that only says which run it was. Numbers of earlier events count: a run that is made again
/// has them in the same places.
enum ComparedData {
  private static let never = ["elapsedMicroseconds", "requestDigest"]

  /// The data of an event without what does not count.
  static func of(_ event: Event) -> JSONObject {
    var data = event.data
    for key in never { data[key] = nil }
    switch event.type {
    case .runStarted:
      // Whose file it is and which run, not what the agent does.
      for key in [
        "agent", "policyDigest", "seed", "case", "tags", "parent", "pipelineId", "taskId",
        "origins",
        "inputs",
      ] { data[key] = nil }
    case .toolsListed: data["digest"] = nil
    case .contextBuilt: data["runId"] = nil
    case .modelResult:
      data["usage"] = nil
      data["cost"] = nil
    case .decision:
      data["calls"] = data["calls"].map(withoutProviderIDs)
    case .toolStarted: data["idempotencyKey"] = nil
    case .policyDecision:
      // Of approvals that the call rests on their number: what they name follows from it.
      if var context = data["context"]?.objectValue,
        let ids = context["approvedActionIds"]?.arrayValue
      {
        context["approvedActionIds"] = JSONValue(ids.count)
        data["context"] = .object(context)
      }
    case .stop:
      data["stateDigest"] = nil
      data["stateFormat"] = nil
      if var totals = data["totals"]?.objectValue {
        for key in ["inputTokens", "outputTokens", "cost"] { totals[key] = nil }
        data["totals"] = .object(totals)
      }
    default: break
    }
    return data
  }

  private static func withoutProviderIDs(_ calls: JSONValue) -> JSONValue {
    guard let calls = calls.arrayValue else { return calls }
    return .array(
      calls.map { call in
        guard var object = call.objectValue else { return call }
        object["providerCallId"] = nil
        return .object(object)
      })
  }

  /// An event without what the log of the recorded one does not tell, because it is older: that is no
  /// difference.
  static func asFarAsRecorded(_ now: Event, in recorded: Event) -> Event {
    guard now.type == .runStarted, recorded.type == .runStarted, recorded.data["models"] == nil
    else { return now }
    var now = now
    now.data["models"] = nil
    return now
  }

  /// Whether two events say the same.
  static func areSame(_ left: Event, _ right: Event) -> Bool {
    left.type == right.type && left.step == right.step && of(left) == of(right)
  }
}

/// The values in which two events differ.
struct DifferingFields {
  private(set) var fields: [Divergence.Field] = []
  private(set) var count = 0

  /// Of events of different types only that is said.
  init(recorded: Event, now: Event) {
    guard recorded.type == now.type else {
      note(
        JSONPointer(tokens: ["type"]), .string(recorded.type.rawValue),
        .string(now.type.rawValue))
      return
    }
    if recorded.step != now.step {
      note(JSONPointer(tokens: ["step"]), JSONValue(recorded.step), JSONValue(now.step))
    }
    let now = ComparedData.asFarAsRecorded(now, in: recorded)
    JSONDifferences.visit(
      .object(ComparedData.of(recorded)), .object(ComparedData.of(now)), pairing: .betweenSameEnds
    ) { pointer, recorded, now in
      note(pointer, recorded, now)
      return true
    }
    // Results that say the same, to questions that were not.
    if count == 0, recorded.type == .modelResult {
      note(
        JSONPointer(tokens: ["requestDigest"]), recorded.data["requestDigest"],
        now.data["requestDigest"])
    }
  }

  private mutating func note(
    _ pointer: JSONPointer, _ recorded: JSONValue?, _ now: JSONValue?
  ) {
    count += 1
    guard fields.count < Divergence.fieldLimit else { return }
    let (recorded, now) = Self.shortened(recorded, now)
    fields.append(Divergence.Field(pointer: pointer, recorded: recorded, now: now))
  }

  /// Both values, cut where they are large: texts from a little before the first difference on.
  private static func shortened(
    _ recorded: JSONValue?, _ now: JSONValue?
  ) -> (JSONValue?, JSONValue?) {
    let limit = Divergence.valueLimitBytes
    guard case .string(let left)? = recorded, case .string(let right)? = now,
      max(left.utf8.count, right.utf8.count) > limit
    else { return (recorded?.cut(toBytes: limit), now?.cut(toBytes: limit)) }
    let common = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
    func window(_ text: String) -> JSONValue {
      let start = text.prefix(utf8Bytes: max(0, common - 200)).utf8.count
      let rest = String(decoding: text.utf8.dropFirst(start), as: UTF8.self)
      return .cut(bytes: text.utf8.count, head: rest.prefix(utf8Bytes: 1024))
    }
    return (window(left), window(right))
  }
}
