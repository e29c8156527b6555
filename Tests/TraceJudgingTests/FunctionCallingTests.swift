import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceJudging

/// The expected calls of the Berkeley Function Calling Leaderboard (github.com/ShishirPatil/gorilla),
/// said in this language; skipped where they are not at hand.
@Suite(
  "Possible answers of BFCL",
  .enabled(if: TestRun.corpora != nil, "AGENT_EVAL_CORPORA names no folder"))
struct FunctionCallingTests {
  /// A call that is expected: for each argument the values that it may have; an empty text among
  /// them means that it may be left out.
  private struct Answer {
    var tool: String
    var arguments: [(name: String, values: [JSONValue])]

    var entry: JSONValue {
      ["tool": .string(tool), "input": Self.input(arguments)]
    }

    static func input(_ arguments: [(name: String, values: [JSONValue])]) -> JSONValue {
      let allowed = JSONObject(arguments.map { ($0.name, Self.oneOf($0.values)) })
      let needed = arguments.filter { !$0.values.contains("") }
      return [
        "$allOf": [
          ["$subsetOf": .object(allowed)],
          .object(JSONObject(needed.map { ($0.name, ["$any": true]) })),
        ]
      ]
    }

    private static func oneOf(_ values: [JSONValue]) -> JSONValue {
      [
        "$anyOf": .array(
          values.map { value in
            guard case .object(let object) = value else { return ["$exact": value] }
            return input(object.map { ($0.key, $0.value.arrayValue ?? [$0.value]) })
          })
      ]
    }

    /// The n-th input that is right: each argument takes its n-th value, or is left out.
    func right(_ number: Int) -> JSONValue { Self.right(arguments, number) }

    private static func right(
      _ arguments: [(name: String, values: [JSONValue])], _ number: Int
    ) -> JSONValue {
      var input = JSONObject()
      for (index, argument) in arguments.enumerated() where !argument.values.isEmpty {
        let value = argument.values[(number + index) % argument.values.count]
        if value == "" { continue }
        if case .object(let object) = value {
          input[argument.name] = right(
            object.map { ($0.key, $0.value.arrayValue ?? [$0.value]) }, number)
        } else {
          input[argument.name] = value
        }
      }
      return .object(input)
    }

    /// Inputs that are wrong, each in one way.
    func wrong(_ number: Int) -> [JSONValue] {
      guard case .object(let right) = right(number) else { return [] }
      var found: [JSONValue] = []
      for argument in arguments {
        var changed = right
        changed[argument.name] = ["something": "nobody would say"]
        found.append(.object(changed))
        changed[argument.name] = "nobody would say this either"
        found.append(.object(changed))
        guard !argument.values.contains("") else { continue }
        changed[argument.name] = JSONValue?.none
        found.append(.object(changed))
      }
      var extra = right
      extra["an argument that there is not"] = 1
      return found + [.object(extra)]
    }
  }

  private static func lines(_ name: String) throws -> [JSONValue] {
    let root = try #require(TestRun.corpora)
    let text = try String(contentsOfFile: "\(root)/bfcl/\(name).json", encoding: .utf8)
    return try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  private func judge(_ expected: JSONValue, _ calls: [(String, JSONValue)], together: Bool) throws
    -> CaseOutcome
  {
    let made = calls.map { RecordedRun.Call($0.0, $0.1) }
    let trajectory = RecordedRun.whole(together ? [made] : made.map { [$0] })
    return Judge.judge(trajectory, against: try Expectations(parsing: expected)).outcome
  }

  /// Judges what is right and every mutant of it; returns how many trajectories that were.
  private func check(
    _ answers: [Answer], _ order: JSONObject, isOrdered: Bool, _ id: String
  ) throws -> Int {
    var expected = order
    expected["toolsCalled"] = .array(answers.map(\.entry))
    let rule = JSONValue.object(expected)
    var count = 0
    for number in 0..<TestRun.count(1, long: 3) {
      let right = answers.map { ($0.tool, $0.right(number)) }
      func expect(_ calls: [(String, JSONValue)], _ outcome: CaseOutcome, _ what: String) throws {
        for together in isOrdered ? [false] : [false, true] {
          count += 1
          #expect(
            try judge(rule, calls, together: together) == outcome, "\(id): \(what): \(calls)")
        }
      }
      try expect(right, .pass, "as expected")
      if !isOrdered { try expect(right.reversed(), .pass, "the other way round") }
      try expect(right + [("another_tool", [:])], .fail, "another call")
      try expect(right + [right[0]], .fail, "a call twice")
      for (index, answer) in answers.enumerated() {
        var changed = right
        changed.remove(at: index)
        try expect(changed, .fail, "a call missing")
        changed = right
        changed[index].0 += "_2"
        try expect(changed, .fail, "another tool")
        for input in answer.wrong(number) {
          changed = right
          changed[index].1 = input
          try expect(changed, .fail, "another input")
        }
      }
      if isOrdered, right.count > 1, right[0].0 != right[1].0 {
        var changed = right
        changed.swapAt(0, 1)
        try expect(changed, .fail, "another order")
      }
    }
    return count
  }

  @Test(
    "calls in any order, each with its own arguments, and no other",
    arguments: ["simple_python", "parallel_multiple", "live_parallel_multiple"])
  func anyOrder(category: String) throws {
    let rows = try Self.lines("possible_answer/BFCL_v4_\(category)")
    #expect(rows.count >= 12)
    var count = 0
    for row in rows {
      let answers = (row["ground_truth"]?.arrayValue ?? []).flatMap { call in
        (call.objectValue ?? [:]).map { member in
          Answer(
            tool: member.key,
            arguments: (member.value.objectValue ?? [:]).map {
              ($0.key, $0.value.arrayValue ?? [$0.value])
            })
        }
      }
      #expect(!answers.isEmpty)
      count += try check(
        answers, ["extra": "forbid"], isOrdered: false, row["id"]?.stringValue ?? "")
    }
    print("BFCL \(category): \(rows.count) answers, \(count) trajectories")
  }

  @Test("turns of several calls, in order, and no other")
  func inOrder() throws {
    let rows = try Self.lines("possible_answer/BFCL_v4_multi_turn_base")
    var count = 0
    for row in rows {
      let texts = (row["ground_truth"]?.arrayValue ?? []).flatMap { $0.arrayValue ?? [] }
        .compactMap(\.stringValue)
      let answers = try texts.map { text in
        var reader = PythonCall(text)
        let call = reader.call()
        let (tool, arguments) = try #require(call, "\(text)")
        return Answer(tool: tool, arguments: arguments.map { ($0.0, [$0.1]) })
      }
      #expect(!answers.isEmpty)
      count += try check(
        answers, ["order": "exact"], isOrdered: true, row["id"]?.stringValue ?? "")
    }
    print("BFCL multi_turn_base: \(rows.count) answers, \(count) trajectories")
  }

  @Test("where no function is of use, none is called")
  func irrelevance() throws {
    let rule: JSONValue = ["toolsCalled": [], "order": "exact"]
    for row in try Self.lines("BFCL_v4_irrelevance") {
      #expect(try judge(rule, [], together: true) == .pass)
      for function in row["function"]?.arrayValue ?? [] {
        let name = try #require(function["name"]?.stringValue)
        #expect(try judge(rule, [(name, [:])], together: true) == .fail)
      }
    }
  }
}

/// Reads a call as Python writes it, with literals alone: `mv(source='a', count=[1, 2.5])`.
private struct PythonCall {
  private var rest: Substring

  init(_ text: String) { rest = text[...] }

  mutating func call() -> (String, [(String, JSONValue)])? {
    guard let name = word(), take("(") else { return nil }
    var arguments: [(String, JSONValue)] = []
    while !take(")") {
      let before = rest
      var key = "\(arguments.count)"
      if let name = word(), take("=") { key = name } else { rest = before }
      guard let value = value() else { return nil }
      arguments.append((key, value))
      if !take(","), rest.first != ")" { return nil }
    }
    return rest.isEmpty ? (name, arguments) : nil
  }

  private mutating func skip() { rest = rest.drop { $0 == " " } }

  private mutating func take(_ text: String) -> Bool {
    skip()
    guard rest.hasPrefix(text) else { return false }
    rest = rest.dropFirst(text.count)
    return true
  }

  private mutating func word() -> String? {
    skip()
    let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
    guard let first = word.first, first.isLetter || first == "_" else { return nil }
    rest = rest.dropFirst(word.count)
    return String(word)
  }

  private mutating func value() -> JSONValue? {
    skip()
    guard let first = rest.first else { return nil }
    if first == "'" || first == "\"" { return text(first) }
    if take("[") {
      var elements: [JSONValue] = []
      while !take("]") {
        guard let value = value() else { return nil }
        elements.append(value)
        _ = take(",")
      }
      return .array(elements)
    }
    if take("{") {
      var object = JSONObject()
      while !take("}") {
        guard case .string(let key)? = value(), take(":"), let value = value() else { return nil }
        object[key] = value
        _ = take(",")
      }
      return .object(object)
    }
    if let word = word() { return ["True": true, "False": false, "None": nil][word] ?? nil }
    let number = rest.prefix { $0.isNumber || "+-.eE".contains($0) }
    rest = rest.dropFirst(number.count)
    return try? JSONValue(parsing: String(number))
  }

  private mutating func text(_ quote: Character) -> JSONValue? {
    rest = rest.dropFirst()
    var result = ""
    while let next = rest.popFirst() {
      if next == quote { return .string(result) }
      guard next == "\\", let escaped = rest.popFirst() else {
        result.append(next)
        continue
      }
      result.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
    }
    return nil
  }
}
