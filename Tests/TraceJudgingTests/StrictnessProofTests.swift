import AgentTrace
import TestSupport
import Testing
import TraceMatching

@testable import TraceJudging

/// Makes expectations, changes of them, and runs. Knows nothing of how strictness is shown.
private struct ExpectationMaker {
  var random: Seeded

  mutating func one<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }
  mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

  // MARK: Runs

  mutating func run() -> [Event] {
    let fates: [RecordedRun.Fate] = [
      .ok(["n": 1]), .ok(["n": 2]), .ok([]), .error(), .refused, .effectUnknown,
    ]
    var run = RecordedRun()
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let calls = (0..<one([1, 1, 2])).map { _ in
        let input: JSONValue = one([
          [:], ["x": 1], ["x": 2], ["x": 1, "y": 1], ["y": 2], ["x": 3, "y": 2],
        ])
        return RecordedRun.Call(one(["pay", "look", "lock"]), input, one(fates))
      }
      let caller = chance(5) ? one(["helper", "user"]) : nil
      run.decide(calls, by: caller, isOfUser: caller == "user" && !chance(3))
    }
    if !chance(5) { run.answer(one(["paid", "not paid", "7", "", "sorry, paid 7"])) }
    run.stop(one([.success, .blocked, .toolFailure]))
    return run.events
  }

  // MARK: Expectations

  mutating func matcher(depth: Int = 0) -> JSONValue {
    let simple: [JSONValue] = [
      1, 2, "paid", "7", ["$any": true], ["$gt": 1], ["$gte": 1], ["$lt": 3], ["$lte": 2],
    ]
    guard depth < 2 else { return one(simple) }
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return ["$not": matcher(depth: depth + 1)]
    case 1: return ["$anyOf": [matcher(depth: depth + 1), matcher(depth: depth + 1)]]
    case 2: return ["$allOf": [matcher(depth: depth + 1), matcher(depth: depth + 1)]]
    case 3: return ["$contains": one(["p", "pa", "paid", "7"])]
    case 4: return ["$glob": one(["p*", "pa*", "*"])]
    case 5: return ["$type": one(["number", "integer", "string"])]
    case 6: return ["$gt": one([0, 1]), "$lt": one([2, 3])]
    default: return one(simple)
    }
  }

  mutating func input() -> JSONValue {
    var object = JSONObject()
    for key in ["x", "y"] where chance(2) { object[key] = matcher(depth: 1) }
    return chance(4) ? ["$exact": one([["x": 1], ["x": 1, "y": 1], [:]])] : .object(object)
  }

  mutating func times() -> JSONValue {
    one([0, 1, 1, 2, ["min": 1], ["min": 2], ["max": 1], ["max": 2], ["min": 1, "max": 2]])
  }

  mutating func tool() -> String { one(["pay", "look", "lock", "lo*", "*", "{pay,look}"]) }

  mutating func entry(isExecuted: Bool = true) -> JSONValue {
    if chance(3) { return .string(tool()) }
    var object: JSONObject = ["tool": .string(tool())]
    if chance(2) { object["input"] = input() }
    if chance(4) { object["status"] = one(["ok", "error", ["ok", "error"]]) }
    if chance(2) { object["times"] = times() }
    if chance(6) { object["caller"] = one(["agent", "helper", "*"]) }
    if chance(6) { object["result"] = one([["n": 1], ["n": ["$gt": 1]], ["$any": true]]) }
    if object["input"] != nil, chance(5) { object["ignore"] = one([["y"], ["x", "y"], ["z"]]) }
    return .object(object)
  }

  mutating func moment() -> JSONValue {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return ["proposed": .string(tool())]
    case 1:
      return ["returned": ["tool": .string(tool()), "status": one(["ok", ["ok", "error"]])]]
    case 2: return ["answer": matcher(depth: 1)]
    default: return .string(tool())
    }
  }

  mutating func rule() -> JSONValue {
    let moments: JSONValue = chance(3) ? [moment(), moment()] : moment()
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      return chance(2)
        ? ["eventually": moments] : ["eventually": moments, "within": JSONValue(one([1, 2, 3]))]
    case 1: return ["never": moments]
    case 2: return ["never": moments, "before": moment()]
    case 3: return ["expect": moments, "after": moment()]
    case 4: return ["expect": moments, "before": moment()]
    default: return ["only": moments, "after": moment()]
    }
  }

  mutating func list(_ make: (inout Self) -> JSONValue) -> JSONValue {
    .array((0..<one([1, 1, 2, 3])).map { _ in make(&self) })
  }

  mutating func value(_ key: String) -> JSONValue {
    switch key {
    case "stopReason":
      return one(["success", ["success", "blocked"], ["blocked", "tool_failure"]])
    case "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed":
      return list { $0.entry() }
    case "order": return one(["any", "in_order", "exact"])
    case "extra": return "forbid"
    case "answer": return matcher()
    case "eachCall":
      return list { maker in
        ["tool": .string(maker.tool()), "input": maker.input()]
      }
    case "time": return list { $0.rule() }
    case "budget": return ["calls": JSONValue(one([1, 2, 3]))]
    case "noRepeatedSideEffect": return one([["pay"], ["pay", "look"], ["*"], ["lo*"]])
    case "noLoops": return JSONValue(one([2, 3]))
    default: return JSONValue(one([0, 1, 2, 3]))
    }
  }

  static let keys = [
    "stopReason", "toolsCalled", "toolsCalled", "toolsCalled", "toolsNotCalled", "toolsProposed",
    "toolsNotProposed", "maxSteps", "maxToolCalls", "answer", "eachCall", "time", "time", "budget",
    "noRepeatedSideEffect", "noLoops",
  ]

  mutating func expected() -> JSONObject {
    var object = JSONObject()
    for _ in 0..<one([1, 1, 2]) {
      let key = one(Self.keys)
      object[key] = value(key)
    }
    if object["toolsCalled"] != nil || object["toolsProposed"] != nil, chance(2) {
      object["order"] = value("order")
    }
    if object["toolsCalled"] != nil, chance(4) { object["extra"] = "forbid" }
    return object
  }

  // MARK: Changes

  /// Something that is not far from another: with a part added, dropped, exchanged or moved.
  mutating func changed(_ value: JSONValue, _ key: String, depth: Int = 0) -> JSONValue {
    switch value {
    case .array(var elements) where !elements.isEmpty:
      let place = Int.random(in: 0..<elements.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        guard case .array(let more) = self.value(key), let new = more.first else { return value }
        elements.insert(new, at: place)
      case 1 where elements.count > 1: elements.swapAt(place, (place + 1) % elements.count)
      default: elements[place] = changed(elements[place], key, depth: depth + 1)
      }
      return .array(elements)
    case .object(var object) where !object.isEmpty:
      guard let member = object.randomElement(using: &random) else { return value }
      switch (member.key, Int.random(in: 0..<4, using: &random)) {
      case ("tool", _), ("caller", _): object[member.key] = .string(tool())
      case ("times", 0): object["times"] = nil
      case ("times", _): object["times"] = times()
      case ("input", 0): object["input"] = input()
      case (_, 1) where member.key != "tool" && object.count > 1: object[member.key] = nil
      case (_, 2) where object["tool"] != nil:
        object[one(["times", "input"])] = chance(2) ? times() : input()
      default: object[member.key] = changed(member.value, member.key, depth: depth + 1)
      }
      return .object(object)
    case .string where key.hasPrefix("tools"): return entry()
    case .number(let number):
      return JSONValue(max(0, (number.intValue ?? 0) + one([-1, 1])))
    default: return depth == 0 ? self.value(key) : matcher(depth: 1)
    }
  }

  mutating func changed(_ expected: JSONObject) -> JSONObject {
    var object = expected
    guard let member = object.randomElement(using: &random) else { return object }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: object["order"] = value("order")
    case 1:
      let key = one(Self.keys)
      object[key] = value(key)
    default: object[member.key] = changed(member.value, member.key)
    }
    return object
  }

  /// A step that asks for more, whatever stands beside it; `nil` where this is no place for one.
  mutating func strengthened(_ expected: JSONObject) -> JSONObject? {
    var object = expected
    guard let member = object.randomElement(using: &random) else { return nil }
    let isOrdered = object["order"] != nil || object["extra"] != nil
    switch (member.key, member.value) {
    case ("stopReason", .array(var reasons)) where reasons.count > 1:
      reasons.removeLast()
      object["stopReason"] = .array(reasons)
    case ("maxSteps", .number(let limit)), ("maxToolCalls", .number(let limit)):
      guard let limit = limit.intValue, limit > 0 else { return nil }
      object[member.key] = JSONValue(limit - 1)
    case ("toolsNotCalled", .array(var entries)), ("toolsNotProposed", .array(var entries)):
      let place = Int.random(in: 0..<entries.count, using: &random)
      guard var ask = entries[place].objectValue else {
        entries[place] = "*"
        object[member.key] = .array(entries)
        return object
      }
      guard ask["times"] == nil else { return nil }
      if ask["input"] != nil {
        (ask["input"], ask["ignore"]) = (nil, nil)
      } else {
        ask["tool"] = "*"
      }
      entries[place] = .object(ask)
      object[member.key] = .array(entries)
    case ("toolsCalled", .array(var entries)), ("toolsProposed", .array(var entries)):
      guard !isOrdered else { return nil }
      let place = Int.random(in: 0..<entries.count, using: &random)
      var ask = entries[place].objectValue ?? ["tool": entries[place]]
      if let times = ask["times"] {
        guard let least = times["min"]?.intValue, times["max"] == nil else { return nil }
        ask["times"] = ["min": JSONValue(least + 1)]
      } else if ask["input"] == nil {
        ask["input"] = ["x": 1]
      } else if ask["status"] == nil {
        ask["status"] = "ok"
      } else {
        return nil
      }
      entries[place] = .object(ask)
      object[member.key] = .array(entries)
    case ("answer", let matcher): object["answer"] = ["$allOf": [matcher, ["$contains": "7"]]]
    case ("budget", _): object["budget"] = ["calls": 0]
    case ("noLoops", 3): object["noLoops"] = 2
    case ("time", .array(var rules)):
      guard var rule = rules[0].objectValue else { return nil }
      if let moments = rule["never"] {
        rule["never"] = .array((moments.arrayValue ?? [moments]) + [["proposed": "pay"]])
      } else if let moments = rule["eventually"]?.arrayValue, moments.count > 1 {
        rule["eventually"] = moments[0]
      } else {
        return nil
      }
      rules[0] = .object(rule)
      object["time"] = .array(rules)
    default: return nil
    }
    return object
  }
}

@Suite("An expectation that is called at least as strict")
struct StrictnessProofTests {
  private static func isGreen(_ old: Expectations, _ new: Expectations) -> Bool {
    !AskedComparison(old.asked, new.asked).differences.contains { $0.effect == .regression }
  }

  @Test("is passed by no run that fails the one before", arguments: 0..<8)
  func sound(seed: Int) throws {
    var maker = ExpectationMaker(random: Seeded(seed: UInt64(seed)))
    var (green, red, told) = (0, 0, 0)
    for _ in 0..<TestRun.count(1_500, long: 30_000) {
      let before = maker.expected()
      var after = maker.changed(before)
      if maker.chance(4) { after = maker.changed(after) }
      guard let old = try? Expectations(parsing: .object(before)),
        let new = try? Expectations(parsing: .object(after)), before != after
      else { continue }
      guard Self.isGreen(old, new) else {
        red += 1
        continue
      }
      green += 1
      for _ in 0..<12 {
        let run = maker.run()
        guard Judge.judge(run, against: new).outcome == .pass else { continue }
        told += 1
        let outcome = Judge.judge(run, against: old).outcome
        #expect(outcome != .fail, "\(JSONValue.object(before)) → \(JSONValue.object(after))")
        if outcome == .fail { return }
      }
    }
    #expect(green > 100 && red > 100 && told > 300, "\(green) green, \(red) red, \(told) runs")
    if TestRun.isLong { print("strictness: \(green) green, \(red) red, \(told) runs held against") }
  }

  @Test("an order is no stricter where an entry that comes with it may take what another counts")
  func orderWithEntry() throws {
    let before: JSONValue = ["toolsCalled": [["tool": "lo*", "times": 1]]]
    func isGreen(_ entry: JSONValue) throws -> Bool {
      let after: JSONValue = [
        "order": "in_order", "toolsCalled": [entry, ["tool": "lo*", "times": 1]],
      ]
      return Self.isGreen(try Expectations(parsing: before), try Expectations(parsing: after))
    }
    #expect(try !isGreen("{pay,look}"))
    #expect(try isGreen("pay"))
  }

  @Test("nine of ten single steps to the stricter are shown to be so")
  func complete() throws {
    var maker = ExpectationMaker(random: Seeded(seed: 77))
    var (shown, all) = (0, 0)
    var missed: [String: Int] = [:]
    for _ in 0..<TestRun.count(6_000, long: 60_000) {
      let before = maker.expected()
      guard let after = maker.strengthened(before),
        let old = try? Expectations(parsing: .object(before)),
        let new = try? Expectations(parsing: .object(after))
      else { continue }
      all += 1
      if Self.isGreen(old, new) {
        shown += 1
      } else {
        for member in after where before[member.key] != member.value {
          missed[member.key, default: 0] += 1
        }
      }
    }
    #expect(all > 500 && Double(shown) >= 0.9 * Double(all), "\(shown) of \(all): \(missed)")
    if TestRun.isLong { print("strictness: \(shown) of \(all) single steps shown") }
  }
}
