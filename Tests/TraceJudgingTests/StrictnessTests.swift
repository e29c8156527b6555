import AgentTrace
import Testing
import TraceMatching

@testable import TraceJudging

@Suite("Whether an expectation asks for less")
struct StrictnessTests {
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) | (state << 31)
    }
  }

  private static func asked(
    _ name: String, _ value: JSONValue, _ severity: Severity = .error
  ) -> AskedExpectation {
    AskedExpectation(
      part: "", name: name, severity: severity, text: AcceptedText.expectation(value))
  }

  @Test(
    "what is looser is told, and the other way round it is stricter",
    arguments: [
      ("stopReason", "success", ["success", "blocked"]), ("maxSteps", 3, 4),
      ("order", "exact", "any"),
      ("order", "exact", "in_order"), ("extra", "forbid", "allow"), ("maxRetries", 0, 9),
      ("budget.cost", 0.5, 0.51), ("noApprovalBypass", true, false),
      ("toolsCalled[0]", ["tool": "a", "input": ["x": 1]], "a"),
      ("toolsCalled[0]", "abc", "ab*"), ("toolsCalled[0]", "ab*", "a*"),
      ("toolsCalled[0]", "a", "*"),
      (
        "toolsCalled[0]", ["tool": "a", "times": 1], ["tool": "a", "times": ["min": 1, "max": 2]]
      ),
      ("toolsCalled[0]", ["tool": "a", "times": 1], "a"),
      ("toolsCalled[0]", "a", ["tool": "a", "times": ["min": 0]]),
      (
        "toolsProposed[2]", ["tool": "a", "status": "ok"],
        ["tool": "a", "status": ["ok", "error"]]
      ),
      (
        "toolsCalled[0]", ["tool": "a", "input": ["z": 1], "ignore": ["x"]],
        ["tool": "a", "input": ["z": 1], "ignore": ["x", "y"]]
      ),
      (
        "toolsNotCalled[0]", ["tool": "a", "times": ["min": 2]],
        ["tool": "a", "times": ["min": 3]]
      ),
      ("toolsCalled[0]", ["tool": "a", "caller": "clerk"], "a"),
      ("evidence.min", 2, 1), ("evidence.cites[0]", ["tool": "a", "input": ["x": 1]], "a"),
      ("noLoops", 2, 3), ("noRepeatedSideEffect", ["pay", "mail"], ["pay"]),
      ("noRepeatedSideEffect", ["*"], ["pay", "mail"]),
      ("eachCall[0]", ["tool": "a", "status": "ok"], ["tool": "a", "status": ["ok", "error"]]),
      ("eachCall[0]", ["tool": "*", "status": "ok"], ["tool": "a", "status": "ok"]),
      (
        "context[0]", ["neverContains": ["a", "b"], "maxTokens": 5],
        ["neverContains": ["a"], "maxTokens": 9]
      ),
      ("answer", ["$gt": 3], ["$gte": 3]), ("answer", ["$lt": 3], ["$lte": 3]),
      ("answer", ["$gt": 3], ["$type": "number"]), ("answer", "a", ["$anyOf": ["a", "b"]]),
      ("answer", ["$anyOf": ["a", "b"]], ["$anyOf": ["c", "b", "a"]]),
      ("answer", ["$anyOf": ["a", ["$gt": 3]]], ["$anyOf": [["$contains": "a"], ["$gt": 2]]]),
      ("answer", ["$allOf": [["$regex": "a"], ["$regex": "b"]]], ["$regex": "b"]),
      ("answer", ["$not": ["$anyOf": ["a", "b"]]], ["$not": "a"]),
      ("answer", ["$gt": 5], ["$not": ["$lt": 3]]), ("answer", ["$glob": "ab*"], ["$glob": "a*"]),
      (
        "answer", ["$approx": ["value": 1, "tolerance": 1]],
        ["$approx": ["value": 1, "tolerance": 2]]
      ),
      ("answerJson", ["a": ["$exact": ["b": 1]]], ["a": ["b": 1]]),
      ("answerJson", [1, ["$gt": 2]], [1, ["$gt": 1]]),
      (
        "answerJson", ["$schema": ["type": "integer", "minimum": 3, "required": ["a", "b"]]],
        ["$schema": ["type": "number", "minimum": 2, "required": ["b"]]]
      ),
      (
        "time[0]", ["never": ["proposed": "*"], "before": ["approval": "granted"]],
        ["never": ["proposed": "a"], "before": ["approval": "any"]]
      ),
      ("time[0]", ["never": ["a", "b"]], ["never": "a"]),
      ("time[0]", ["eventually": "a"], ["eventually": ["a", "b"]]),
      ("time[0]", ["only": "a", "after": "*"], ["only": ["a", "b"], "after": "c"]),
      ("toolsNotCalled[0]", "*", "delete_*"),
      ("toolsNotCalled[0]", "a", ["tool": "a", "input": ["x": 1]]),
      ("answer", "yes", ["$contains": "y"]), ("answer", ["$contains": "yes"], ["$contains": "y"]),
      ("answer", "yes", ["$any": true]), ("answer", "yes", ["$regex": "^y"]),
      ("answerJson", ["a": 1, "b": 2], ["a": 1]),
      ("answerJson", ["a": ["$gt": 3]], ["a": ["$gt": 2]]),
      ("answerJson", ["$exact": ["a": 1]], ["a": 1]),
      ("answer", ["$oneOf": ["a"]], ["$oneOf": ["a", "b"]]),
      ("state /totals/steps", 3, ["$lte": 3]), ("state /totals/steps", ["$lt": 3], ["$lt": 4]),
      ("policy.given[0]", ["verdict": "deny", "rule": "r"], ["verdict": "deny"]),
      ("policy.notGiven[0]", ["verdict": ["deny", "allow"]], ["verdict": "deny"]),
      ("time[0]", ["expect": "a", "before": "b", "within": 1], ["expect": "a", "before": "b"]),
      (
        "time[0]", ["expect": "a", "after": "b", "within": 1],
        ["expect": "a", "after": "b", "within": 2]
      ),
    ] as [(String, JSONValue, JSONValue)])
  func looser(name: String, old: JSONValue, new: JSONValue) {
    let (before, after) = (Self.asked(name, old), Self.asked(name, new))
    #expect(Strictness(of: before, to: after) == .looser)
    #expect(Strictness(of: after, to: before) == .stricter)
    #expect(Strictness(of: before, to: before) == .same)
    #expect(Strictness(of: before, to: Self.asked(name, new, .warning)) == .looser)
    #expect(Strictness(of: after, to: Self.asked(name, old, .warning)) == .unknown)
  }

  @Test(
    "what cannot be shown is not said",
    arguments: [
      ("stopReason", "success", "blocked"), ("toolsCalled[0]", "a", "b"), ("answer", "a", "b"),
      ("answer", ["$regex": "a"], ["$regex": "b"]), ("time[0]", ["never": "a"], ["never": "b"]),
      ("toolsCalled[0]", ["tool": "a", "times": 1], ["tool": "a", "times": 2]),
      ("toolsCalled[0]", ["tool": "a", "input": ["x": 1]], ["tool": "*", "input": ["x": 2]]),
      ("toolsCalled[0]", ["tool": "a", "caller": "user"], "a"),
      ("exec", ["command": ["a"]], ["command": ["b"]]),
      ("context[0]", ["contains": "a"], ["contains": "b"]),
      ("answer", ["$oneOf": [["$regex": "a"]]], ["$oneOf": [["$regex": "a"], ["$regex": "b"]]]),
      ("answer", ["$not": "a"], ["$not": "b"]),
      ("answer", ["$anyOf": ["a", "b"]], ["$anyOf": ["a", "c"]]),
      ("answerJson", ["$contains": "ab"], ["$contains": "a"]),
      // Fewer conditions, but a bound: what does not match is no longer counted.
      (
        "toolsCalled[0]", ["tool": "pay", "times": 1],
        ["tool": "pay", "input": ["x": 1], "times": 1]
      ),
      ("answerJson", ["$schema": ["minimum": 1]], ["$schema": ["maximum": 1]]),
      (
        "answerJson", ["$schema": ["properties": ["a": true], "additionalProperties": false]],
        ["$schema": ["properties": ["a": true, "b": true], "additionalProperties": false]]
      ),
    ] as [(String, JSONValue, JSONValue)])
  func unknown(name: String, old: JSONValue, new: JSONValue) {
    #expect(Strictness(of: Self.asked(name, old), to: Self.asked(name, new)) == .unknown)
  }

  // MARK: Against trying it

  private static let values: [JSONValue] = [
    .null, true, false, 0, 1, 1.0, 2, 3.5, -1, "", "a", "ab", "abc", "b", [], [1], ["a", "b"], [:],
    ["a": 1], ["a": 1, "b": 2], ["a": "ab", "b": ["a": 1]], ["a": ["a": 1, "b": "a"]], ["b": .null],
  ]

  /// A matcher that may mean anything.
  private static func matcher(_ random: inout Numbers, depth: Int = 0) -> JSONValue {
    func inner() -> JSONValue { matcher(&random, depth: depth + 1) }
    let simple: [JSONValue] = [1, 1.0, 2, "a", "ab", true, .null]
    guard depth < 3 else { return simple.randomElement(using: &random) ?? 1 }
    let number = JSONValue(Int.random(in: 0...3, using: &random))
    switch Int.random(in: 0..<20, using: &random) {
    case 0: return ["$any": true]
    case 1: return ["$not": inner()]
    case 2:
      return ["$anyOf": .array((0...Int.random(in: 0...2, using: &random)).map { _ in inner() })]
    case 3:
      return ["$allOf": .array((0...Int.random(in: 0...2, using: &random)).map { _ in inner() })]
    case 4:
      return [
        "$oneOf": .array(
          (0...Int.random(in: 0...2, using: &random)).map { _ in
            simple.randomElement(using: &random) ?? 1
          })
      ]
    case 5: return ["$gt": number]
    case 6: return ["$lte": number]
    case 7: return ["$gte": number, "$lt": 3]
    case 8: return ["$contains": ["a", "ab", "b"].randomElement(using: &random) ?? "a"]
    case 9: return ["$length": inner()]
    case 10: return ["$exact": values.randomElement(using: &random) ?? 1]
    case 11: return ["$glob": ["a*", "ab*", "*", "a?"].randomElement(using: &random) ?? "*"]
    case 12: return ["$regex": ["^a", "b", "c$"].randomElement(using: &random) ?? "a"]
    case 13:
      return [
        "$type": .array([["string", "number"].randomElement(using: &random) ?? "null", "object"])
      ]
    case 14...17:
      var object = JSONObject()
      for key in ["a", "b"] where Bool.random(using: &random) {
        object[key] = Int.random(in: 0..<6, using: &random) == 0 ? ["$absent": true] : inner()
      }
      return .object(object)
    default: return simple.randomElement(using: &random) ?? 1
    }
  }

  /// A matcher near another: the same, or with one thing about it changed.
  private static func near(_ matcher: JSONValue, _ random: inout Numbers) -> JSONValue {
    guard case .object(var object) = matcher, let member = object.randomElement(using: &random),
      Int.random(in: 0..<3, using: &random) > 0
    else { return Self.matcher(&random, depth: 1) }
    if Bool.random(using: &random), object.count > 1 {
      object[member.key] = nil
    } else if case .array(var list) = member.value, member.key.hasPrefix("$") {
      if Bool.random(using: &random) || list.isEmpty {
        list.append(Self.matcher(&random, depth: 2))
      } else {
        list.removeLast()
      }
      object[member.key] = .array(list)
    } else {
      object[member.key] = near(member.value, &random)
    }
    return .object(object)
  }

  @Test("of 100,000 pairs of matchers, none that is called looser refuses what the old one took")
  func sound() throws {
    var random = Numbers(state: 7)
    var counts: [Strictness: Int] = [:]
    for _ in 0..<100_000 {
      let old = Self.matcher(&random)
      let new = Bool.random(using: &random) ? Self.near(old, &random) : Self.matcher(&random)
      guard let before = try? Matcher(compiling: old), let after = try? Matcher(compiling: new)
      else {
        continue
      }
      let strictness = Strictness.matcher(old, new)
      counts[strictness, default: 0] += 1
      let opposites: [Strictness: Strictness] = [.looser: .stricter, .stricter: .looser]
      #expect(
        Strictness.matcher(new, old) == opposites[strictness, default: strictness],
        "\(old) → \(new)")
      guard strictness != .unknown else { continue }
      for value in Self.values {
        let (was, now) = (before.matches(value) == true, after.matches(value) == true)
        switch strictness {
        case .same: #expect(was == now, "\(old) → \(new) on \(value)")
        case .looser: #expect(!was || now, "\(old) → \(new) on \(value)")
        case .stricter: #expect(was || !now, "\(old) → \(new) on \(value)")
        case .unknown: break
        }
      }
    }
    #expect(counts[.looser, default: 0] > 5_000 && counts[.stricter, default: 0] > 5_000)
    #expect(counts[.unknown, default: 0] > 5_000 && counts[.same, default: 0] > 1_000)
  }
}
