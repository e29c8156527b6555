import AgentTrace
import Synchronization
import TestSupport
import Testing
import TraceJudging

@Suite("Words about time against an oracle that looks at every pair")
struct TimeOracleTests {
  private static let tools = ["a", "b", "c"]

  /// Every rule on three tools, with each `within` that can matter.
  static let rules: [PlainTimeOracle.Rule] = tools.flatMap { tool in
    var rules: [PlainTimeOracle.Rule] = ["eventually", "never", "only"].map {
      .init(claim: $0, tool: tool)
    }
    for within in 0...3 { rules.append(.init(claim: "eventually", tool: tool, within: within)) }
    for other in tools {
      for claim in ["never", "only"] {
        for relation in ["before", "until", "after"] {
          rules.append(.init(claim: claim, tool: tool, relation: relation, other: other))
        }
        for within in 1...2 {
          rules.append(
            .init(claim: claim, tool: tool, relation: "after", other: other, within: within))
        }
      }
      for relation in ["before", "after"] {
        for within in [nil, 0, 1, 2] as [Int?] {
          rules.append(
            .init(claim: "expect", tool: tool, relation: relation, other: other, within: within))
        }
      }
    }
    return rules
  }

  static func wire(_ rule: PlainTimeOracle.Rule) -> JSONValue {
    var object: JSONObject = [rule.claim: .string(rule.tool)]
    if let relation = rule.relation { object[relation] = .string(rule.other) }
    object["within"] = rule.within.map { JSONValue($0) }
    return .object(object)
  }

  private static func expectations() throws -> Expectations {
    try Expectations(parsing: ["time": .array(rules.map(wire))])
  }

  private static func compare(
    _ calls: [PlainTimeOracle.Call], _ expectations: Expectations
  ) {
    let events = RecordedRun.events(
      Set(calls.map(\.group)).sorted().map { group in
        calls.filter { $0.group == group }.map {
          RecordedRun.Call($0.tool, [:], $0.ran ? .ok() : .refused)
        }
      })
    var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
    for event in events {
      trajectory.apply(event)
      gathered.apply(event)
    }
    let outcomes = Judge.judge(trajectory, gathered, against: expectations).outcomes
    #expect(outcomes.count == rules.count)
    for (rule, outcome) in zip(rules, outcomes)
    where outcome.outcome.rawValue != PlainTimeOracle.outcome(rule, calls) {
      Issue.record(
        "\(wire(rule)) on \(calls.map { "\($0.group)\($0.tool)\($0.ran ? "" : "!")" }): \(outcome)")
    }
    for outcome in outcomes where outcome.outcome == .fail {
      #expect(!outcome.events.isEmpty, "every failure has evidence")
    }
  }

  @Test(
    "all traces of up to six calls of three tools, in all decisions",
    arguments: 0...TestRun.count(3, long: 6))
  func traces(length: Int) throws {
    let expectations = try Self.expectations()
    var pairs = 0
    for tools in OracleTests.lists(of: Self.tools, upTo: length) where tools.count == length {
      for groups in OracleTests.groupings(of: length) {
        Self.compare(
          zip(tools, groups).map { PlainTimeOracle.Call(tool: $0, group: $1) }, expectations)
        pairs += Self.rules.count
      }
    }
    print("words about time, traces of \(length) calls: \(pairs) pairs")
  }

  @Test("longer traces, with calls that were refused", arguments: 0..<20)
  func samples(seed: Int) throws {
    let expectations = try Self.expectations()
    var generator = Seeded(seed: UInt64(seed))
    for _ in 0..<TestRun.count(4, long: 200) {
      var group = 0
      let calls = (0..<Int(generator.next() % 10)).map { index in
        if index > 0 { group += Int(generator.next() % 2) }
        return PlainTimeOracle.Call(
          tool: Self.tools[Int(generator.next() % 3)], ran: generator.next() % 4 > 0, group: group)
      }
      Self.compare(calls, expectations)
    }
  }
}
