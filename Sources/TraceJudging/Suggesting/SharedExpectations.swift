public import AgentTrace
import TraceMatching

/// What several runs that went well have in common, as the `expected` of a case.
///
/// Each suggestion was judged on each of the runs, and each meets it. They are there to choose from: one
/// run shares everything with itself, so that the more runs are shown, the less of it is chance.
public struct SharedExpectations: Sendable {
  /// The longest text of an argument that is suggested: a longer one is prose that may be put otherwise.
  private static let textLimitBytes = 80
  /// How many tools are named as never called.
  private static let forbiddenLimit = 20

  /// The `expected` of a case; `nil` where the runs share nothing that a case could say.
  public let json: JSONValue?

  /// - Parameter runs: each a whole run, numbered from 0 without gaps; one at least.
  public init(of runs: [[Event]]) {
    let shown = runs.map(ShownRun.init)
    var expected = JSONObject()
    for candidate in Self.candidates(shown) {
      var tried = expected
      for member in candidate { tried[member.key] = member.value }
      guard let parsed = try? Expectations(parsing: .object(candidate)),
        runs.allSatisfy({
          Judge.judge($0, against: parsed).outcomes.allSatisfy { $0.outcome == .pass }
        }
        )
      else { continue }
      expected = tried
    }
    json = expected.isEmpty ? nil : .object(expected)
  }

  /// What may be expected, key by key; each has keys of its own.
  private static func candidates(_ runs: [ShownRun]) -> [JSONObject] {
    guard let first = runs.first else { return [] }
    var candidates: [JSONObject] = []
    if let stop = first.stop, runs.allSatisfy({ $0.stop == stop }) {
      candidates.append(["stopReason": .string(stop)])
    }
    candidates.append(calls(runs))
    if let refused = refused(runs) { candidates.append(["toolsProposed": refused]) }
    if let never = neverCalled(runs) { candidates.append(["toolsNotCalled": never]) }
    candidates.append(["noApprovalBypass": true])
    candidates.append(["noRepeatedSideEffect": true])
    if let asked = asked(runs) { candidates.append(["policy": ["given": asked]]) }
    candidates.append(["maxSteps": JSONValue(runs.map(\.steps).max() ?? 0)])
    candidates.append(["maxToolCalls": JSONValue(runs.map(\.executed.count).max() ?? 0)])
    if let tasks = tasks(runs) { candidates.append(["tasks": tasks]) }
    if let answer = answer(runs) { candidates.append(["answer": answer]) }
    return candidates.filter { !$0.isEmpty }
  }

  /// What became of the tasks of pipelines that are all the same.
  private static func tasks(_ runs: [ShownRun]) -> JSONValue? {
    guard let first = runs.first, first.isPipeline, !first.tasks.isEmpty,
      runs.allSatisfy({ $0.tasks == first.tasks })
    else { return nil }
    return ["status": .object(first.tasks)]
  }

  // MARK: Calls

  /// Where all runs call the same tools in the same order, that; else each tool that all of them call.
  private static func calls(_ runs: [ShownRun]) -> JSONObject {
    let names = runs.map { $0.executed.map(\.name) }
    guard let first = names.first, !first.isEmpty else {
      return names.allSatisfy(\.isEmpty) ? ["toolsNotCalled": ["*"]] : [:]
    }
    let isSame = names.allSatisfy { other in
      other.count == first.count && zip(other, first).allSatisfy { $0.hasSameUTF8(as: $1) }
    }
    if isSame, first.count <= 20 {
      let entries = first.indices.map { index in
        entry(first[index], runs.map { $0.executed[index] })
      }
      var calls: JSONObject = ["toolsCalled": .array(entries)]
      // Calls of one decision have no order among themselves.
      if entries.count > 1, runs.allSatisfy({ !$0.callsTogether && !$0.isPipeline }) {
        calls["order"] = "in_order"
      }
      return calls
    }
    var entries: [JSONValue] = []
    var seen: Set<String> = []
    for name in first where seen.insert(name).inserted {
      let calls = runs.map { $0.executed.filter { $0.name.hasSameUTF8(as: name) } }
      guard calls.allSatisfy({ !$0.isEmpty }) else { continue }
      let counts = Set(calls.map(\.count))
      var called = entry(name, calls.flatMap { $0 })
      if counts.count == 1, let count = counts.first {
        var object = called.objectValue ?? ["tool": .string(Glob.escaping(name))]
        object["times"] = JSONValue(count)
        called = .object(object)
      }
      entries.append(called)
    }
    return entries.isEmpty ? [:] : ["toolsCalled": .array(entries)]
  }

  /// A call with what all of these calls share.
  private static func entry(_ name: String, _ calls: [ShownRun.Call]) -> JSONValue {
    var object: JSONObject = ["tool": .string(Glob.escaping(name))]
    if let input = shared(calls.map(\.input)), input.objectValue?.isEmpty == false {
      object["input"] = input
    }
    if calls.allSatisfy({ $0.status == "ok" }) { object["status"] = "ok" }
    return object.count == 1 ? .string(Glob.escaping(name)) : .object(object)
  }

  /// What these values have in common, as a matcher of each; `nil` for nothing.
  private static func shared(_ values: [JSONValue]) -> JSONValue? {
    guard let first = values.first else { return nil }
    switch first {
    case .object(let object):
      var result = JSONObject()
      // A key with a meaning of its own among matchers is not worth the trouble.
      for member in object where !member.key.hasPrefix("$") {
        let members = values.compactMap { $0[member.key] }
        guard members.count == values.count, let value = shared(members) else { continue }
        result[member.key] = value
      }
      return result.isEmpty ? nil : .object(result)
    case .string(let text):
      guard text.utf8.count <= textLimitBytes, values.allSatisfy({ $0 == first }) else {
        return nil
      }
      return first
    case .number, .bool:
      guard values.allSatisfy({ $0 == first }) else { return nil }
      return first
    default: return nil
    }
  }

  /// Tools that all runs proposed and none executed.
  private static func refused(_ runs: [ShownRun]) -> JSONValue? {
    guard let first = runs.first else { return nil }
    var seen: Set<String> = []
    let names = first.refused.filter { name in
      seen.insert(name).inserted
        && runs.allSatisfy { run in
          run.refused.contains { $0.hasSameUTF8(as: name) }
            && !run.executed.contains { $0.name.hasSameUTF8(as: name) }
        }
    }
    guard !names.isEmpty else { return nil }
    return .array(names.map { .string(Glob.escaping($0)) })
  }

  /// Tools that write, that all runs have and none executed.
  private static func neverCalled(_ runs: [ShownRun]) -> JSONValue? {
    guard let first = runs.first else { return nil }
    let names = first.writers.filter { name in
      runs.allSatisfy { run in
        run.writers.contains { $0.hasSameUTF8(as: name) }
          && !run.executed.contains { $0.name.hasSameUTF8(as: name) }
      }
    }
    guard !names.isEmpty else { return nil }
    return .array(names.prefix(forbiddenLimit).map { .string(Glob.escaping($0)) })
  }

  /// What policy asked a person for in all runs.
  private static func asked(_ runs: [ShownRun]) -> JSONValue? {
    guard let first = runs.first else { return nil }
    var seen: Set<String> = []
    let names = first.asked.filter { name in
      seen.insert(name).inserted
        && runs.allSatisfy { $0.asked.contains { $0.hasSameUTF8(as: name) } }
    }
    guard !names.isEmpty else { return nil }
    return .array(
      names.map { ["verdict": "approval_required", "tool": .string(Glob.escaping($0))] })
  }

  // MARK: The answer

  /// The whole answer where it is short and all give the same; else the longest word with a digit in it
  /// that all of them say: a number or a name is seldom put otherwise.
  private static func answer(_ runs: [ShownRun]) -> JSONValue? {
    let answers = runs.compactMap(\.answer)
    guard answers.count == runs.count, let first = answers.first else { return nil }
    if runs.count > 1, first.utf8.count <= textLimitBytes,
      answers.allSatisfy({ $0.hasSameUTF8(as: first) })
    {
      return .string(first)
    }
    let words = first.split(whereSeparator: \.isWhitespace).map { word in
      String(word.trimming { !$0.isLetter && !$0.isNumber })
    }
    let shared = words.filter { word in
      word.utf8.count >= 3 && word.utf8.count <= textLimitBytes
        && word.contains(where: \.isNumber) && answers.allSatisfy { $0.contains(word) }
    }
    let longest = shared.max { $0.utf8.count < $1.utf8.count }
    return longest.map { ["$contains": .string($0)] }
  }
}

extension Substring {
  fileprivate func trimming(_ isLeftOut: (Character) -> Bool) -> Substring {
    var text = self
    while let last = text.last, isLeftOut(last) { text.removeLast() }
    return text.drop(while: isLeftOut)
  }
}

/// Of a run, what suggestions are made from.
private struct ShownRun {
  struct Call {
    var name: String
    var input: JSONValue
    var status: String?
  }

  var executed: [Call] = []
  var refused: [String] = []
  var asked: [String] = []
  var writers: [String] = []
  var steps = 0
  var stop: String?
  var answer: String?
  /// Whether a decision has several calls.
  var callsTogether = false
  /// Whether it is a pipeline's: what its tasks did may have gone side by side.
  var isPipeline = false
  /// What became of each of its tasks.
  var tasks = JSONObject()

  init(_ events: [Event]) {
    var trajectory = Trajectory()
    for event in events {
      trajectory.apply(event)
      if event.type == .runStarted { take(event.data["tools"]) }
      if event.type == .toolsListed { take(event.data["tools"]) }
    }
    var groups: [Int: Int] = [:]
    for call in trajectory.calls where !call.outline.isOfSimulatedUser {
      groups[call.group, default: 0] += 1
      if call.isExecuted {
        executed.append(
          Call(name: call.tool, input: call.input ?? .null, status: call.status?.rawValue))
      } else {
        refused.append(call.tool)
      }
      if call.outline.verdict == .approvalRequired { asked.append(call.tool) }
    }
    callsTogether = groups.values.contains { $0 > 1 }
    isPipeline = trajectory.isPipeline
    if isPipeline { tasks = Self.tasks(of: events) }
    steps = trajectory.steps
    stop = trajectory.stop?.reason.rawValue
    answer = trajectory.answer?.text
  }

  private static func tasks(of events: [Event]) -> JSONObject {
    var gathered = TaskFacts(keepsOutputs: false)
    for event in events { gathered.apply(event) }
    let whole = gathered.nodes.filter { $0.key.element == nil }.sorted { $0.key < $1.key }
    return JSONObject(
      whole.map { ($0.key.description, JSONValue.string($0.value.status.rawValue)) })
  }

  private mutating func take(_ tools: JSONValue?) {
    for tool in tools?.arrayValue ?? [] where tool["sideEffect"] == "write" {
      if let name = tool["name"]?.stringValue { writers.append(name) }
    }
  }
}
