import AgentRuntime
import AgentTrace
import TestSupport
import Testing

@Suite("Reading a model's reply")
struct ModelReplyTests {
  private static let registry = try? ToolRegistry([
    .tool("look", .read), .tool("pay", .write),
    ToolRegistration(
      definition: ToolDefinition(name: "free", sideEffect: .read),
      implementation: .scripted(ScriptedTool(rules: []))),
  ])

  private static func read(_ reply: JSONValue) -> Decision {
    ModelReply(reply).decision(step: 1, tryNumber: 2) {
      registry?.fault(in: $0, disclosed: ["look", "pay", "free"])
    }
  }

  /// A reply, and what its decision's kind and reason say.
  struct Row: Sendable, CustomTestStringConvertible {
    var reply: String
    var kind: String
    var says: String

    init(_ reply: String, _ kind: String, _ says: String = "") {
      (self.reply, self.kind, self.says) = (reply, kind, says)
    }

    var testDescription: String { reply }
  }

  @Test(
    "each reply is the decision that it says, or an invalid one with the reason",
    arguments: [
      Row("{}", "invalid", "neither text nor calls"),
      Row("null", "invalid", "the reply is null, not an object"),
      Row("[]", "invalid", "not an object"), Row("\"hello\"", "invalid", "not an object"),
      Row("17", "invalid", "not an object"),
      Row(#"{"text":""}"#, "invalid", "neither text nor calls"),
      Row(#"{"text":" \n\t"}"#, "invalid", "neither text nor calls"),
      Row(#"{"text":null,"calls":null}"#, "invalid", "neither text nor calls"),
      Row(#"{"text":{"a":1}}"#, "invalid", "“text” is"),
      Row(#"{"text":"done"}"#, "answer"),
      Row(#"{"text":"done","evidence":[1,"1.1.0",null]}"#, "answer"),
      Row(#"{"question":"who?","text":"x"}"#, "ask_human"),
      Row(#"{"question":""}"#, "invalid", "the question is empty"),
      Row(#"{"question":["who?"]}"#, "invalid", "“question” is"),
      Row(#"{"stop":"blocked"}"#, "stop"), Row(#"{"stop":"success"}"#, "stop"),
      Row(#"{"stop":"budget_exhausted"}"#, "invalid", "success or blocked, not with"),
      Row(#"{"stop":{}}"#, "invalid", "success or blocked, not with {}"),
      Row(#"{"refusal":"I cannot help with that."}"#, "stop"),
      Row(#"{"refusal":"no","calls":[{"name":"look"}]}"#, "invalid", "refused"),
      Row(#"{"refusal":true}"#, "stop"),
      Row(#"{"refusal":null,"text":"done"}"#, "answer"),
      Row(#"{"refusal":"","text":"done"}"#, "answer"),
      Row(#"{"calls":{}}"#, "invalid", "“calls” is"),
      Row(#"{"calls":"look"}"#, "invalid", "“calls” is"),
      Row(#"{"calls":[],"text":"done"}"#, "answer"),
      Row(#"{"calls":["look"]}"#, "invalid", "call 1 is"),
      Row(#"{"calls":[{}]}"#, "invalid", "call 1 names no tool"),
      Row(#"{"calls":[{"name":7}]}"#, "invalid", "the name of call 1 is"),
      Row(#"{"calls":[{"name":""}]}"#, "invalid", "call 1 has an empty name"),
      Row(#"{"calls":[{"name":"lok"}]}"#, "invalid", "unknown tool “lok”; did it mean “look”?"),
      Row(#"{"calls":[{"name":"zzzzzzzz"}]}"#, "invalid", "unknown tool “zzzzzzzz”"),
      Row(#"{"calls":[{"name":"look","input":{"n":1}}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look"}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look","arguments":"{\"n\":1}"}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look","arguments":{"n":1}}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look","arguments":""}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look","arguments":null}]}"#, "tool"),
      Row(
        #"{"calls":[{"name":"look","arguments":"{n:1}"}]}"#, "invalid", "the arguments are no JSON"),
      Row(#"{"calls":[{"name":"look","arguments":"{\"n\":1} and more"}]}"#, "invalid", "no JSON"),
      Row(
        #"{"calls":[{"name":"look","arguments":"[1]"}]}"#, "invalid",
        "the arguments of look should be an object"),
      Row(
        #"{"calls":[{"name":"free","input":[1]}]}"#, "invalid",
        "the input of free should be an object"),
      Row(#"{"calls":[{"name":"free","input":null}]}"#, "invalid", "should be an object, not null"),
      Row(#"{"calls":[{"name":"free","arguments":7}]}"#, "invalid", "should be an object"),
      Row(#"{"calls":[{"name":"look","input":{"n":"one"}}]}"#, "invalid", "input of look/n"),
      Row(#"{"calls":[{"name":"look","input":{"m":1}}]}"#, "invalid", "input of look"),
      Row(#"{"calls":[{"id":"a","name":"look"},{"id":"a","name":"look"}]}"#, "tool"),
      Row(#"{"calls":[{"id":7,"name":"look"}]}"#, "tool"),
      Row(#"{"calls":[{"name":"look"},{"name":"nothing"}]}"#, "invalid", "unknown tool"),
    ])
  func table(row: Row) throws {
    let decision = Self.read(try JSONValue(parsing: row.reply))
    #expect(decision.kind == row.kind, "\(decision)")
    if case .invalid(let reason, _) = decision {
      #expect(!row.says.isEmpty && reason.contains(row.says), "\(reason)")
    }
  }

  @Test(
    "too many calls, and more than a call may carry, are invalid, and what is kept of them is bounded"
  )
  func sizes() {
    let call: JSONValue = ["name": "look", "input": ["n": 1]]
    let many = Self.read(["calls": .array(Array(repeating: call, count: 10_000))])
    guard case .invalid(let reason, let kept) = many else {
      Issue.record("\(many.kind)")
      return
    }
    #expect(reason.contains("10000 calls at once; 128 are allowed"))
    #expect(kept.count == ModelReply.callLimit)
    let large = JSONValue.string(String(repeating: "x", count: ModelReply.inputLimitBytes + 9))
    for call: JSONObject in [
      ["name": "free", "input": ["a": large]], ["name": "free", "arguments": large],
      ["name": "free", "input": .cut(bytes: 9, head: "{")],
      ["name": "free", "input": ["a": .lost("x")]],
    ] {
      guard case .invalid(let reason, let calls) = Self.read(["calls": [.object(call)]]) else {
        Issue.record("valid")
        continue
      }
      #expect(reason.contains("holds more than 512 KiB or too many values, or is not whole"))
      #expect(CanonicalJSON.encode(calls[0].input).count < 8_192)
    }
    let zeros = "{\"a\":[" + String(repeating: "0,", count: 60_000) + "0]}"
    let calls = JSONValue.array(
      Array(repeating: ["name": "free", "arguments": .string(zeros)], count: 4))
    guard case .invalid(let sum, let cut) = Self.read(["calls": calls]) else {
      Issue.record("valid")
      return
    }
    #expect(sum.contains("the inputs of all calls hold too many values together"))
    #expect(cut.reduce(0) { $0 + CanonicalJSON.valueCount(of: $1.input) } < JSONValue.countLimit)
    guard case .invalid(let why, _) = Self.read(.cut(bytes: 3 << 20, head: "{")) else { return }
    #expect(why.contains("too large or nests too deep"))
    let name = JSONValue.string(String(repeating: "n", count: 2_000))
    guard case .invalid(let fault, let named) = Self.read(["calls": [["name": name, "id": "i"]]])
    else { return }
    #expect(fault.contains("the name of call 1 has more than 1024 bytes"))
    #expect(named.first?.name.utf8.count == 1_024)
    // However much is wrong, the reason stays short.
    let wrong: JSONValue = ["name": .string(String(repeating: "w", count: 5_000))]
    guard
      case .invalid(let long, _) = Self.read(["calls": .array(Array(repeating: wrong, count: 100))])
    else { return }
    #expect(long.utf8.count <= 2_000 && long.contains("and 92 more mistakes"))
  }

  @Test("any JSON value is read as a decision, and every invalid one says why")
  func anything() {
    var random = SeededGenerator(seed: 8)
    let keys = [
      "text", "calls", "question", "stop", "refusal", "evidence", "name", "input", "arguments",
      "id",
      "n", "",
    ]
    func value(_ depth: Int) -> JSONValue {
      switch Int.random(in: 0...(depth > 0 ? 13 : 9), using: &random) {
      case 0: return .null
      case 1: return .bool(Bool.random(using: &random))
      case 2: return JSONValue(Int.random(in: -3...9, using: &random))
      case 3: return .string(keys.randomElement(using: &random) ?? "")
      case 4:
        return .string(
          ["look", "pay", "free", "success", "{\"n\":1}", "{", "\u{0}"].randomElement(
            using: &random) ?? "")
      case 5: return .bytes([0xff, 0x00])
      case 6: return .lost("sha")
      case 7: return .cut(bytes: 7, head: "{\"")
      case 8: return JSONValue(1e300)
      case 9: return "look"
      case 10, 11:
        return .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1) })
      default:
        var object: JSONObject = [:]
        for _ in 0..<Int.random(in: 0...4, using: &random) {
          object[keys.randomElement(using: &random) ?? ""] = value(depth - 1)
        }
        return .object(object)
      }
    }
    var kinds: [String: Int] = [:]
    for _ in 0..<TestRun.count(40_000, long: 2_000_000) {
      var reply = value(4)
      if Bool.random(using: &random) {
        reply =
          [
            ["calls": [["name": "look", "input": value(3)], value(3)]],
            ["stop": ["success", "blocked", value(1)].randomElement(using: &random) ?? .null],
          ].randomElement(using: &random) ?? .null
      }
      let decision = Self.read(reply)
      kinds[decision.kind, default: 0] += 1
      switch decision {
      case .invalid(let reason, let calls):
        #expect(!reason.isEmpty && reason.utf8.count <= 2_000)
        #expect(calls.indices.allSatisfy { calls[$0].callId == "1.2.\($0)" })
      case .tool(let calls):
        #expect(!calls.isEmpty && calls.allSatisfy { $0.input.objectValue != nil })
      case .answer(let text, _): #expect(!text.isEmpty)
      case .askHuman(let text): #expect(!text.isEmpty)
      case .stop(let reason, _): #expect([.success, .blocked].contains(reason))
      }
    }
    #expect(Set(kinds.keys) == ["invalid", "tool", "answer", "ask_human", "stop"])
  }

  @Test("each repair try is recorded with the reason of the one before it in its prompt")
  func repairs() async throws {
    var agent = AgentDefinition.replying(
      ["incomplete": "length"], ["calls": [["name": "look", "arguments": "{"]]], answer("done"))
    agent.failures.invalidDecisionRetries = 2
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    let decisions = run.events.filter { $0.type == .decision }
    #expect(decisions.map { $0.data["kind"] } == ["invalid", "invalid", "answer"])
    let reason = "the reply is not whole, it was ended early (length)"
    #expect(decisions[0].data["reason"]?.stringValue?.hasPrefix(reason) == true)
    let packets = run.events.filter { $0.type == .contextBuilt }
    #expect(JSONValue.object(packets[1].data).description.contains(reason))
    #expect(JSONValue.object(packets[2].data).description.contains("the arguments are no JSON"))
  }
}
