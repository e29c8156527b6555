import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("The judge against an oracle that tries everything")
struct OracleTests {
  private static let tools = ["a", "b", "c"]

  /// Every list of at most so many of the words.
  static func lists(of words: [String], upTo length: Int) -> [[String]] {
    var all: [[String]] = [[]]
    var last: [[String]] = [[]]
    for _ in 0..<length {
      last = last.flatMap { list in words.map { list + [$0] } }
      all += last
    }
    return all
  }

  /// Every way to part so many calls into decisions: the decision of each call.
  static func groupings(of count: Int) -> [[Int]] {
    guard count > 0 else { return [[]] }
    return (0..<(1 << (count - 1))).map { cuts in
      var group = 0
      return (0..<count).map { index in
        if index > 0, cuts >> (index - 1) & 1 == 1 { group += 1 }
        return group
      }
    }
  }

  static func trajectory(_ calls: [PlainOracle.Call]) -> Trajectory {
    let groups = Set(calls.map(\.group)).sorted().map { group in
      calls.filter { $0.group == group }.map {
        RecordedRun.Call($0.tool, [:], $0.ran ? .ok() : .refused)
      }
    }
    return RecordedRun.whole(groups)
  }

  private static func outcomes(
    _ judgement: Judgement, _ list: String
  ) -> [Outcome] {
    judgement.outcomes.filter { $0.expectation.hasPrefix(list) }.map(\.outcome)
  }

  private static func isPass(_ outcomes: [Outcome]) -> Bool {
    outcomes.allSatisfy { $0 == .pass }
  }

  /// Judges all four lists in all three orders and compares each with the oracle.
  private static func compare(_ words: [String], _ calls: [PlainOracle.Call], _ run: Trajectory) {
    let entries = words.map { PlainOracle.Entry(tool: $0) }
    let executed = calls.filter(\.ran)
    for order in Expectations.Order.allCases {
      var expected: JSONObject = ["order": .string(order.rawValue)]
      for list in ["toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed"]
      where !words.isEmpty || (list == "toolsCalled" && order == .exact) {
        expected[list] = JSONValue(words)
      }
      guard let expectations = try? Expectations(parsing: .object(expected)) else {
        #expect(words.isEmpty && order != .exact, "an empty list means something only when exact")
        continue
      }
      let judgement = Judge.judge(run, against: expectations)
      let (called, proposed): (Bool, Bool) =
        switch order {
        case .any: (PlainOracle.anyOrder(entries, executed), PlainOracle.anyOrder(entries, calls))
        case .inOrder: (PlainOracle.inOrder(entries, executed), PlainOracle.inOrder(entries, calls))
        case .exact: (PlainOracle.exact(entries, executed), PlainOracle.inOrder(entries, calls))
        }
      let text = "\(words) \(order) on \(calls.map { "\($0.group)\($0.tool)\($0.ran ? "" : "!")" })"
      #expect(isPass(outcomes(judgement, "toolsCalled")) == called, "called \(text)")
      if !words.isEmpty {
        #expect(isPass(outcomes(judgement, "toolsProposed")) == proposed, "proposed \(text)")
      }
      #expect(
        outcomes(judgement, "toolsNotCalled")
          == entries.map { PlainOracle.any($0, executed) ? .fail : .pass }, "not called \(text)")
      #expect(
        outcomes(judgement, "toolsNotProposed")
          == entries.map { PlainOracle.any($0, calls) ? .fail : .pass }, "not proposed \(text)")
      #expect(!judgement.outcomes.contains { $0.outcome == .unverifiable }, "whole log: \(text)")
      #expect(
        judgement.outcomes.allSatisfy { $0.outcome != .fail || !$0.events.isEmpty },
        "every failure has evidence: \(text)")
    }
  }

  @Test(
    "all traces of up to six calls of three tools, in all decisions",
    arguments: 0...TestRun.count(4, long: 6))
  func traces(length: Int) {
    let longest = TestRun.count(length == 4 ? 1 : 2, long: length > 4 ? 2 : 3)
    var pairs = 0
    defer { print("lists of calls, traces of \(length) calls: \(pairs) pairs") }
    let words = Self.lists(of: Self.tools + ["*"], upTo: longest)
    for tools in Self.lists(of: Self.tools, upTo: length) where tools.count == length {
      for groups in Self.groupings(of: length) {
        let calls = zip(tools, groups).map { PlainOracle.Call(tool: $0, group: $1) }
        let run = Self.trajectory(calls)
        for list in words { Self.compare(list, calls, run) }
        // Four lists in three orders each.
        pairs += words.count * 12
      }
    }
  }

  @Test("all traces of up to three calls, each executed or refused", arguments: 1...3)
  func refusals(length: Int) {
    let words = Self.lists(of: ["a", "b", "*"], upTo: 2)
    for tools in Self.lists(of: ["a", "b"], upTo: length) where tools.count == length {
      for groups in Self.groupings(of: length) {
        for refused in 0..<(1 << length) {
          let calls = (0..<length).map {
            PlainOracle.Call(tool: tools[$0], ran: refused >> $0 & 1 == 0, group: groups[$0])
          }
          let run = Self.trajectory(calls)
          for list in words { Self.compare(list, calls, run) }
        }
      }
    }
  }

  @Test("numbers of times in all orders", arguments: 0..<60)
  func times(seed: Int) throws {
    var generator = Seeded(seed: UInt64(seed))
    for _ in 0..<20 {
      let count = Int(generator.next() % 6)
      var group = 0
      let calls = (0..<count).map { _ in
        group += Int(generator.next() % 2)
        return PlainOracle.Call(tool: Self.tools[Int(generator.next() % 3)], group: group)
      }
      let entries = (0..<Int(1 + generator.next() % 3)).map { _ in
        let tool = (Self.tools + ["*"])[Int(generator.next() % 4)]
        guard generator.next() % 3 > 0 else { return PlainOracle.Entry(tool: tool) }
        let minimum = Int(generator.next() % 3)
        let maximum = generator.next() % 3 == 0 ? nil : minimum + Int(generator.next() % 2)
        return PlainOracle.Entry(tool: tool, minimum: minimum, maximum: maximum, hasTimes: true)
      }
      let run = Self.trajectory(calls)
      let list = JSONValue.array(
        entries.map { entry in
          guard entry.hasTimes else { return .string(entry.tool) }
          if entry.minimum == entry.maximum, generator.next() % 2 == 0 {
            return ["tool": .string(entry.tool), "times": JSONValue(entry.minimum)]
          }
          var times: JSONObject = ["min": JSONValue(entry.minimum)]
          times["max"] = entry.maximum.map { JSONValue($0) }
          return ["tool": .string(entry.tool), "times": .object(times)]
        })
      let counted = PlainOracle.counted(entries, calls)
      let inOrder = PlainOracle.sharedInOrder(entries, calls)
      let known = calls.allSatisfy { call in entries.contains { $0.takes(call) } }
      for (key, order, expected) in [
        ("toolsCalled", "any", counted), ("toolsCalled", "in_order", inOrder),
        ("toolsCalled", "exact", PlainOracle.exact(entries, calls)),
        ("toolsProposed", "any", counted), ("toolsProposed", "in_order", inOrder),
        ("toolsProposed", "exact", inOrder && known),
      ] {
        // An entry that any number of calls meets is refused where nothing gives it a meaning.
        let isOpen = entries.contains { $0.hasTimes && $0.minimum == 0 && $0.maximum == nil }
        let hasBound = entries.contains { $0.hasTimes && $0.maximum != nil }
        if isOpen, order == "any" || (order == "in_order" && !hasBound) { continue }
        let expectations = try Expectations(parsing: .object([key: list, "order": .string(order)]))
        let judgement = Judge.judge(run, against: expectations)
        let outcome = judgement.outcome
        #expect(
          (outcome == .pass) == expected,
          "\(key) \(list) \(order) on \(calls.map { "\($0.group)\($0.tool)" })")
        #expect(judgement.outcomes.allSatisfy { $0.outcome != .fail || !$0.events.isEmpty })
        #expect(outcome != .inconclusive)
      }
    }
  }
}
