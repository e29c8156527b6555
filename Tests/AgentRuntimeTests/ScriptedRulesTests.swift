import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Rules of scripted tools")
struct ScriptedRulesTests {
  private static let scalars: [JSONValue] = [
    1, 2, "a", "b", true, false, nil, "1", [], [:],
    JSONNumber(token: "1.0").map(JSONValue.number) ?? nil,
  ]

  /// Conditions of many forms, most of which ask for a value somewhere.
  private static func condition(_ random: inout Seeded) -> JSONValue? {
    let scalar = scalars.randomElement(using: &random) ?? 1
    let key = ["x", "y"].randomElement(using: &random) ?? "x"
    let object: JSONObject = [key: scalar]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return nil
    case 1: return ["input": ["$not": .object(object)]]
    case 2: return ["attempt": 2, "input": .object(object)]
    case 3: return ["input": ["$anyOf": [.object(object), ["y": 2]]]]
    case 4: return ["input": [key: ["$absent": true]]]
    case 5: return ["input": ["x": ["y": scalar]]]
    default: return ["input": .object(object)]
    }
  }

  @Test("the rule that answers is the first that fits, whatever it asks for")
  func first() async throws {
    var random = Seeded(seed: 19)
    var answered = 0
    for _ in 0..<TestRun.count(300, long: 20_000) {
      var rules: [ScriptedTool.Rule] = []
      for index in 0..<Int.random(in: 1...12, using: &random) {
        let condition = try Self.condition(&random).map { try Matcher(compiling: $0) }
        rules.append(.init(condition: condition, outcome: .ok(JSONValue(index))))
      }
      let runner = ScriptedToolRunner(
        ScriptedTool(rules: rules), wait: { _ in }, raise: { _ in })
      for _ in 0..<5 {
        var input = JSONObject()
        for key in ["x", "y"] where Bool.random(using: &random) {
          input[key] = Self.scalars.randomElement(using: &random)
          if Int.random(in: 0..<4, using: &random) == 0, let inner = input[key] {
            input[key] = ["y": inner]
          }
        }
        let attempt = Int.random(in: 1...2, using: &random)
        let view: JSONValue = [
          "input": .object(input), "attempt": JSONValue(attempt), "step": 1,
        ]
        let wanted = rules.firstIndex { $0.condition?.match(view).isMatch ?? true }
        let answer = await runner.run(
          ToolRequest(
            callId: "1.1.0", tool: ToolDefinition(name: "look"), input: .object(input),
            attempt: attempt, step: 1, idempotencyKey: "k"))
        guard let wanted else {
          guard case .error = answer.result else {
            Issue.record("\(answer.result)")
            continue
          }
          continue
        }
        answered += 1
        #expect(answer.result == .ok(data: JSONValue(wanted)), "\(view)")
      }
    }
    #expect(answered > 500)
  }
}
