import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

/// Credentials of every form, none of them real.
enum SeededSecret {
  private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  private static let digits = Array("0123456789")

  static func text(_ count: Int, _ generator: inout Seeded, upper: Bool = false) -> String {
    var text = ""
    for index in 0..<count {
      let pool = index % 4 == 1 ? digits : letters
      text.append(pool.randomElement(using: &generator) ?? "x")
    }
    return upper ? text.uppercased() : text
  }

  /// A secret, and a text that says it in a way that shows what it is.
  static func make(_ form: Int, _ generator: inout Seeded) -> (secret: String, said: String) {
    func word(_ count: Int) -> String { text(count, &generator) }
    switch form % 12 {
    case 0: return same("AKIA" + text(16, &generator, upper: true))
    case 1: return same("ghp_" + word(36))
    case 2: return same("sk-proj-" + word(40))
    case 3: return same("xoxb-1234-" + word(24))
    case 4: return same("AIza" + word(35))
    case 5: return same("eyJ" + word(20) + ".eyJ" + word(30) + "." + word(43))
    case 6:
      let secret = word(24)
      return (secret, "Authorization: Bearer \(secret)")
    case 7:
      let secret = word(16)
      return (secret, "postgres://app:\(secret)@db.example.org/orders")
    case 8:
      let secret = word(14)
      return (secret, "DB_PASSWORD=\(secret)")
    case 9:
      let secret = word(20)
      return (secret, "{\"client_secret\": \"\(secret)\"}")
    case 10: return same("glpat-" + word(20))
    default:
      let body = word(64)
      return (body, "-----BEGIN RSA PRIVATE KEY-----\n\(body)\n-----END RSA PRIVATE KEY-----")
    }
  }

  private static func same(_ secret: String) -> (String, String) { (secret, secret) }
}

@Suite("Redaction")
struct RedactionTests {
  @Test("credentials of every form are withheld, and what is around them stays")
  func forms() {
    var generator = Seeded(seed: 6)
    for form in 0..<TestRun.count(1_200, long: 120_000) {
      let (secret, said) = SeededSecret.make(form, &generator)
      let redactor = Redactor(RedactionSettings())
      let text = "Before: \(said), behind."
      let redacted = redactor.redacted(text)
      #expect(!redacted.contains(secret), "\(text)")
      #expect(RedactionToken.isIn(redacted))
      #expect(redacted.hasPrefix("Before: ") && redacted.hasSuffix(", behind."), "\(redacted)")
      #expect(redactor.redacted(redacted) == redacted)
      // Said again without anything that shows what it is, it is known.
      #expect(!redactor.redacted("It was \(secret) then").contains(secret))
    }
  }

  @Test(
    "words that only look like credentials stay as they are",
    arguments: [
      "", "a", "The token is spent.", "password: forgotten", "secret = yes", "tokens=1234567890",
      "sk-", "AKIA", "the basics of authentication", "Basic English grammar is simple",
      "max_tokens: 4096 in total", "https://example.org:8080/path", "mailto:someone@example.org",
      "key: value", "ssh://git@example.org/repo", "AKIAshort", "ghp_tooShort1",
      "Bearer of good news from 12 towns", "author: A. Person1234567", "monkey=banana12345",
      "-----BEGIN CERTIFICATE-----", "a:b:c:d", "12:30:45", "Order 1234 costs 19.90 EUR",
    ])
  func plainWords(text: String) {
    #expect(Redactor(RedactionSettings()).redacted(text) == text)
  }

  @Test("the value of a key that names a credential is withheld whatever it is")
  func keys() {
    let redactor = Redactor(RedactionSettings())
    let value: JSONValue = [
      "password": "x", "user": "ana", "nested": ["api_key": "hello", "list": [["Token": "abc"]]],
      "Set-Cookie": "a=b", "passwordHint": "none", "secret": ["kept": 1], "pwd": "",
    ]
    let redacted = redactor.redacted(value)
    for path in ["/password", "/nested/api_key", "/nested/list/0/Token", "/Set-Cookie"] {
      let found = JSONPointer(path).flatMap { redacted[$0]?.stringValue } ?? ""
      #expect(found.hasPrefix("«redacted:password:"), "\(path): \(found)")
    }
    #expect(redacted["user"] == "ana" && redacted["secret"] == ["kept": 1])
    #expect(redacted["pwd"] == "" && redacted["passwordHint"] == "none")
    // A short value is withheld there, but not looked for elsewhere: it would hide words.
    #expect(redactor.redacted("x hello") == "x hello")
  }

  @Test(
    "no text that an agent reads takes the name of a tool away, nor plain words from all that follows"
  )
  func toolNames() {
    for name in ["delete_note", "x7f_delete9K", "mcp__files__rm2"] {
      let redactor = Redactor(RedactionSettings())
      redactor.keep(toolNames: [name])
      #expect(!redactor.redacted("password: \"\(name)\"").contains(name))
      #expect(redactor.redacted(.object(["name": .string(name)]))["name"] == .string(name))
    }
    let redactor = Redactor(RedactionSettings())
    _ = redactor.redacted(
      .object(["token": "identifier", "client_secret": "critical", "password": "k9aBcdEf12xQ"]))
    #expect(redactor.redacted("a critical identifier") == "a critical identifier")
    #expect(!redactor.redacted("it is k9aBcdEf12xQ").contains("k9aBcdEf12xQ"))
    // A credential by its own form is one wherever it stands.
    let token = "ghp_" + String(repeating: "a1B2c3", count: 6)
    redactor.keep(toolNames: [token])
    #expect(!redactor.redacted(token).contains(token))
  }

  @Test(
    "a recorded run that is withheld anew keeps the names of its calls, and one whose name is gone hides it"
  )
  func namesOfCalls() throws {
    let poison: JSONValue = ["text": "password: \"delete_x9\""]
    let call = ProposedCall(callId: "1.1.0", name: "delete_x9", input: [:])
    let events = [
      Event(
        seq: 0, step: 0, type: .toolResult, runId: "r",
        data: ["callId": "0.1.0", "tool": "read", "status": "ok", "data": poison]),
      Event(
        seq: 1, step: 1, type: .decision, runId: "r",
        data: DecisionPayload(.tool([call])).encoded),
    ]
    let redacted = Redactor(RedactionSettings()).redacted(events)
    #expect(redacted[1].data["calls"]?[0]?["name"] == "delete_x9")
    #expect(!CanonicalJSON.string(.object(redacted[0].data)).contains("delete_x9"))
    var trajectory = Trajectory()
    let hidden = ProposedCall(
      callId: "1.1.0", name: RedactionToken(kind: "password", hex: "ab12").description, input: [:])
    trajectory.apply(
      Event(
        seq: 0, step: 1, type: .decision, runId: "r",
        data: DecisionPayload(.tool([hidden])).encoded))
    #expect(trajectory.recorded["calls"] == "partial")
  }

  private static func packet(_ seq: Int, _ messages: [JSONValue]) -> Event {
    Event(
      seq: seq, step: seq, type: .contextBuilt, runId: "r",
      data: ["goal": "go", "evidenceRefs": ["1.1.0"], "prompt": ["messages": .array(messages)]])
  }

  @Test(
    "of a run whose context grows each message is looked through once, and as much is withheld as if each packet stood by itself"
  )
  func growingContexts() {
    let secret = "k9aBcdEf12xQ"
    func message(_ number: Int) -> JSONValue {
      // What the first ones say shows as a secret only in one of the last.
      let text = number == 39 ? "DB_PASSWORD=\(secret)" : "\(number): it says \(secret) at length"
      return ["role": "user", "content": [["type": "text", "text": .string(text)]]]
    }
    let messages = (0..<40).map(message)
    var events = (1...40).map { Self.packet($0, Array(messages.prefix($0))) }
    // One that lost its beginning, and one whose first message is a new one.
    events.append(Self.packet(41, Array(messages.dropFirst(10))))
    events.append(Self.packet(42, [message(40)] + messages.dropFirst(11)))
    func redactor() -> Redactor { Redactor(RedactionSettings(), RunSecrets(key: [1, 2, 3])) }
    var run = RunRedaction(by: redactor())
    for event in events { run.learn(event) }
    let withheld = events.map { run.redacted($0) }
    run.end()
    #expect(run.looks == 41)
    let alone = redactor()
    for event in events { _ = alone.redacted([event]) }
    let anew = events.flatMap { alone.redacted([$0]) }
    #expect(withheld == anew)
    #expect(!withheld.contains { "\(JSONValue.object($0.data))".contains(secret) })
    #expect(run.newTokens.map(\.kind) == ["password"] && run.newTokens == run.tokens)
    // Withheld again, nothing in it is new.
    var again = RunRedaction(by: redactor())
    for event in withheld { again.learn(event) }
    let same = withheld.map { again.redacted($0) }
    again.end()
    #expect(same == withheld)
    #expect(again.newTokens.isEmpty && again.tokens == run.tokens)
  }

  @Test(
    "a message that the packet before had is withheld by the rules of the tool that it is of now")
  func rulesOfTools() throws {
    let rule = RedactionSettings.PlaceRule(
      kind: "name", side: .result, tools: [try Glob("pay")], pointer: JSONPointer(tokens: ["name"]))
    let message: JSONValue = [
      "role": "tool",
      "content": [["type": "tool_result", "callId": "1.1.0", "data": ["name": "Ana"]]],
    ]
    func decision(_ seq: Int, _ tool: String) -> Event {
      let call = ProposedCall(callId: "1.1.0", name: tool, input: [:])
      return Event(
        seq: seq, step: seq, type: .decision, runId: "r",
        data: DecisionPayload(.tool([call])).encoded)
    }
    let events = [
      decision(0, "pay"), Self.packet(1, [message]), decision(2, "look"),
      Self.packet(3, [message]),
    ]
    let withheld = Redactor(RedactionSettings(places: [rule])).redacted(events)
    let names = withheld.map {
      $0.data["prompt"]?["messages"]?[0]?["content"]?[0]?["data"]?["name"]
    }
    #expect(RedactionToken.isIn(names[1] ?? .null) && names[3] == "Ana")
  }

  @Test("the same value has the same token, another one another, and only the key says which")
  func equality() {
    let key: [UInt8] = Array("a key".utf8)
    func redactor(_ key: [UInt8]?) -> Redactor {
      Redactor(RedactionSettings(), RunSecrets(key: key))
    }
    let secret: JSONValue = ["token": "abcd1234"]
    #expect(redactor(key).redacted(secret) == redactor(key).redacted(secret))
    #expect(redactor(nil).redacted(secret) != redactor(nil).redacted(secret))
    #expect(redactor(key).redacted(["token": "abcd1235"]) != redactor(key).redacted(secret))
    #expect(redactor(key).redacted(["token": 12]) == ["token": 12])
  }

  @Test("what was withheld is put back: whole values as they were, texts within texts")
  func restoring() async throws {
    var generator = Seeded(seed: 11)
    for round in 0..<TestRun.count(300, long: 20_000) {
      let settings = RedactionSettings(
        places: [.init(kind: "card", side: .result, pointer: JSONPointer(tokens: ["*", "card"]))])
      var said: [JSONValue] = []
      for form in 0..<4 {
        said.append(.string(SeededSecret.make(round + form, &generator).said))
      }
      let value: JSONValue = [
        "a": ["card": JSONValue(round)], "b": ["card": ["n": "1"], "text": .array(said)],
      ]
      var got: JSONValue?
      let echo = ClosureTool { request in
        if request.callId == "1.1.0" { return ToolAnswer(result: .ok(data: value)) }
        got = request.input
        return ToolAnswer(result: .ok(data: .null))
      }
      let run = try await TwoCalls.run(echo, settings)
      let seen = try #require(run.result)
      #expect(RedactionToken.isIn(seen["a"]?["card"] ?? .null))
      #expect(seen["a"]?["card"] != value["a"]?["card"])
      #expect(got?["echo"] == value, "round \(round)")
    }
  }

  @Test("fifty secrets in everything that enters a run stand in none of its events")
  func fifty() async throws {
    var generator = Seeded(seed: 50)
    let pairs = (0..<50).map { SeededSecret.make($0, &generator) }
    func said(_ range: Range<Int>) -> String {
      pairs[range].map(\.said).joined(separator: " and ")
    }
    var agent = AgentDefinition.playing(
      [
        .init(choices: [.init(answer: .unreachable("refused \(said(0..<5))"))]),
        .init(choices: [
          .init(
            answer: .reply([
              "text": .string("first \(said(5..<10))"),
              "calls": [
                ["name": "look", "input": ["note": .string(said(10..<15))]],
                ["name": "fail", "input": [:]],
              ],
            ]))
        ]),
        .init(choices: [.init(answer: .reply(["question": .string("who? \(said(15..<20))")]))]),
        .init(choices: [.init(answer: .reply(["text": .string("done \(said(20..<25))")]))]),
      ],
      tools: [
        ToolRegistration(
          definition: ToolDefinition(
            name: "look", description: "uses \(pairs[25].said)", sideEffect: .read),
          implementation: .scripted(
            ScriptedTool(rules: [.init(outcome: .ok(["found": .string(said(26..<31))]))]))),
        ToolRegistration(
          definition: ToolDefinition(name: "fail", sideEffect: .read),
          implementation: .scripted(
            ScriptedTool(rules: [.init(outcome: .error("broke at \(said(31..<36))"))]))),
      ])
    agent.systemPrompt = "Know \(said(36..<40))"
    agent.memory = [MemoryNote(scope: "agent", key: "k", value: .string(said(40..<44)))]
    agent.human = ScriptedPerson(answers: [.init(text: said(44..<47), by: "ana")])
    agent.policyContext.attributes = ["note": .string(said(47..<48))]
    let run = try await agent.run(goal: .string("Do \(said(48..<50))"))
    #expect(run.stop.reason == "success")
    let text = String(
      decoding: run.events.flatMap { $0.encodedLine() }, as: UTF8.self)
    for (index, pair) in pairs.enumerated() {
      #expect(!text.contains(pair.secret), "secret \(index): \(pair.said)")
    }
    #expect(text.contains("broke at") && text.contains("who?") && text.contains("Know "))
    // The state knows no more than the events.
    let state = CanonicalJSON.string(run.state.encoded)
    #expect(pairs.allSatisfy { !state.contains($0.secret) })
  }

  @Test("a call whose value went with the process that held it is refused, and never begins")
  func gone() async throws {
    let token = RedactionToken(kind: "password", hex: "00ff").description
    let agent = AgentDefinition.replying(
      ["calls": [["name": "take", "input": ["password": .string(token)]]]], answer("so be it"),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(name: "take", sideEffect: .read),
          implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok(1))])))
      ])
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    #expect(run.events.allSatisfy { $0.type != .toolStarted })
    let reason = run.events.first { $0.type == .toolResult }?.data["reason"]?.stringValue ?? ""
    #expect(reason.contains(token) && Redactor.isGoneReason(reason))
  }

  @Test(
    "patterns and places of the agent file withhold what they find, and what is too much to search")
  func ownRules() throws {
    let redactor = Redactor(
      RedactionSettings(
        findsCredentials: false,
        patterns: [
          .init(kind: "order", pattern: try Pattern("ORD-[0-9]+")),
          .init(kind: "name", pattern: try Pattern("(?i)ana( [a-z]+)?")),
        ]))
    let text = redactor.redacted("Ana Smith has ORD-77 and ORD-78; password=abc12345")
    #expect(text.hasPrefix("«redacted:name:") && text.hasSuffix("; password=abc12345"))
    #expect(RedactionToken.ranges(in: Array(text.utf8)).count == 3)
    #expect(!text.contains("ORD-77") && !text.contains("Smith"))
  }

  @Test("hostile values are redacted without a crash, and twice is the same as once")
  func hostile() {
    var generator = Seeded(seed: 3)
    let pieces = [
      "«redacted:", "»", "«redacted:a:b»", "password", "=", ":", "\"", "Bearer ", "eyJ", "://", "@",
      "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "sk-", "\u{0}", "é", "AKIA", "\\",
      "a1b2c3d4e5f6",
    ]
    for _ in 0..<TestRun.count(3_000, long: 300_000) {
      let count = Int.random(in: 0...30, using: &generator)
      let text = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
      let redactor = Redactor(RedactionSettings())
      let once = redactor.redacted(text)
      #expect(redactor.redacted(once) == once, "\(text.debugDescription)")
    }
  }
}

/// A tool made of a closure, called one call at a time.
private struct ClosureTool: Tool {
  let body: @Sendable (ToolRequest) async -> ToolAnswer

  init(_ body: @escaping (ToolRequest) async -> ToolAnswer) {
    nonisolated(unsafe) let body = body
    self.body = { await body($0) }
  }

  func run(_ request: ToolRequest) async -> ToolAnswer { await body(request) }
}

/// A run that looks, and gives what it saw to the next call.
private enum TwoCalls {
  static func run(
    _ tool: some Tool, _ settings: RedactionSettings
  ) async throws -> (events: [Event], result: JSONValue?) {
    var agent = AgentDefinition.replying(
      ["calls": [["name": "echo", "input": [:]]]],
      ["calls": [["name": "echo", "input": ["echo": "${last.data}"]]]], answer("done"),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(name: "echo", sideEffect: .read),
          implementation: .scripted(ScriptedTool(rules: [])))
      ])
    agent.redaction = settings
    let sink = InMemoryEventSink()
    guard case .scripted(let script) = agent.model.implementation else { return ([], nil) }
    let boundary = AssembledBoundary(
      clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), model: ScriptedModel(script),
      tools: ["echo": tool], person: nil)
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "echo", runId: boundary.makeRunID()), into: sink)
    let result = sink.events.first { $0.type == .toolResult }
    return (sink.events, result?.data["data"])
  }
}
