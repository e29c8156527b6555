import AgentTrace

/// What counts when two events are compared: neither times nor latencies, what a model used, digests,
/// nor any kind of number or name that only says which run it was.
enum ComparedData {
  private static let never = ["elapsedMicroseconds", "requestDigest", "modelResult", "replyTo"]

  /// The data of an event without what does not count.
  static func of(_ event: Event) -> JSONObject {
    var data = event.data
    for key in never { data[key] = nil }
    switch event.type {
    case .runStarted:
      // Whose file it is and which run, not what the agent does.
      for key in [
        "agent", "policyDigest", "seed", "case", "tags", "parent", "pipelineId", "taskId",
      ] { data[key] = nil }
    case .toolsListed: data["digest"] = nil
    case .contextBuilt: data["runId"] = nil
    case .modelResult:
      data["usage"] = nil
      data["cost"] = nil
    case .decision:
      data["calls"] = data["calls"].map(withoutProviderIDs)
    case .toolStarted: data["idempotencyKey"] = nil
    case .approval: data["actionId"] = nil
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

  /// Whether two events say the same.
  static func areSame(_ left: Event, _ right: Event) -> Bool {
    left.type == right.type && left.step == right.step && of(left) == of(right)
  }
}

/// The values in which two events differ.
struct DifferingFields {
  private(set) var fields: [Divergence.Field] = []
  private(set) var count = 0

  init() {}

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
    compare(
      .object(ComparedData.of(recorded)), .object(ComparedData.of(now)), at: JSONPointer())
  }

  private mutating func note(
    _ pointer: JSONPointer, _ recorded: JSONValue?, _ now: JSONValue?
  ) {
    count += 1
    guard fields.count < Divergence.fieldLimit else { return }
    let (recorded, now) = Self.shortened(recorded, now)
    fields.append(Divergence.Field(pointer: pointer, recorded: recorded, now: now))
  }

  private mutating func compare(
    _ recorded: JSONValue?, _ now: JSONValue?, at pointer: JSONPointer
  ) {
    switch (recorded, now) {
    case (.object(let left)?, .object(let right)?): compare(left, right, at: pointer)
    case (.array(let left)?, .array(let right)?): compare(left, right, at: pointer)
    default: if recorded != now { note(pointer, recorded, now) }
    }
  }

  private mutating func compare(
    _ left: JSONObject, _ right: JSONObject, at pointer: JSONPointer
  ) {
    var (i, j) = (left.startIndex, right.startIndex)
    while i < left.endIndex || j < right.endIndex {
      if j == right.endIndex
        || (i < left.endIndex && left[i].key.precedesByUTF8(right[j].key))
      {
        note(pointer.appending(left[i].key), left[i].value, nil)
        i += 1
      } else if i == left.endIndex || right[j].key.precedesByUTF8(left[i].key) {
        note(pointer.appending(right[j].key), nil, right[j].value)
        j += 1
      } else {
        compare(left[i].value, right[j].value, at: pointer.appending(left[i].key))
        i += 1
        j += 1
      }
    }
  }

  /// Elements that stand the same at both ends are passed over, so that one that was put in between
  /// does not make all behind it differ.
  private mutating func compare(
    _ left: [JSONValue], _ right: [JSONValue], at pointer: JSONPointer
  ) {
    var first = 0
    while first < min(left.count, right.count), left[first] == right[first] { first += 1 }
    var (leftEnd, rightEnd) = (left.count, right.count)
    while leftEnd > first, rightEnd > first, left.count != right.count,
      left[leftEnd - 1] == right[rightEnd - 1]
    {
      leftEnd -= 1
      rightEnd -= 1
    }
    for index in first..<max(first, leftEnd, rightEnd) {
      compare(
        index < leftEnd ? Optional(left[index]) : .none,
        index < rightEnd ? Optional(right[index]) : .none, at: pointer.appending("\(index)"))
    }
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
