import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing
import TraceMatching

@Suite("Notes")
struct MemoryTests {
  private static let tools = [
    ToolRegistration(
      definition: ToolDefinition(
        name: "recall", inputSchema: MemoryAccess(.read).inputSchema, sideEffect: .read),
      implementation: .memory(MemoryAccess(.read))),
    ToolRegistration(
      definition: ToolDefinition(
        name: "keep", inputSchema: MemoryAccess(.write).inputSchema, sideEffect: .write,
        idempotent: true), implementation: .memory(MemoryAccess(.write))),
  ]

  private static func agent(_ calls: [JSONValue], actor: String? = "ana") -> AgentDefinition {
    var turns = calls.map {
      ModelScript.Turn(choices: [.init(answer: .reply(["calls": [$0]]))])
    }
    turns.append(.init(choices: [.init(answer: .reply(["text": "done"]))]))
    var agent = AgentDefinition.playing(turns, tools: tools)
    agent.policyContext = PolicyContext(actorId: actor)
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    agent.limits = Limits()
    agent.failures.maxToolErrors = 1_000_000
    return agent
  }

  private static func call(
    _ name: String, _ scope: String, _ key: String, _ value: JSONValue? = nil
  )
    -> JSONValue
  {
    var input: JSONObject = ["scope": .string(scope), "key": .string(key)]
    input["value"] = value
    return ["name": .string(name), "input": .object(input)]
  }

  private static func run(
    _ agent: AgentDefinition, on store: any MemoryStore, named id: String = "run"
  ) async throws -> [Event] {
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), memory: store)
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "x", runId: id), into: sink)
    return sink.events
  }

  @Test("whatever is read and written over several runs, notes are what a dictionary would hold")
  func oracle() async throws {
    for seed in 0..<UInt64(TestRun.count(20, long: 1_000)) {
      var random = Seeded(seed: seed)
      let store = InMemoryStore()
      var kept: [String: JSONValue] = [:]
      for number in 0..<4 {
        var calls: [JSONValue] = []
        var expected: [JSONValue?] = []
        kept = kept.filter { !$0.key.hasPrefix("run/") }
        for _ in 0..<Int.random(in: 1...20, using: &random) {
          let scope = ["run", "agent", "actor"].randomElement(using: &random) ?? ""
          let key = "k\(Int.random(in: 0...3, using: &random))"
          switch Int.random(in: 0..<5, using: &random) {
          case 0..<2:
            calls.append(Self.call("recall", scope, key))
            expected.append(kept["\(scope)/\(key)"] ?? nil)
          case 2:
            calls.append(Self.call("keep", scope, key))
            expected.append(nil)
            kept["\(scope)/\(key)"] = nil
          default:
            let value: JSONValue = [JSONValue(Int.random(in: 0...99, using: &random)), .null]
            calls.append(Self.call("keep", scope, key, value))
            expected.append(nil)
            kept["\(scope)/\(key)"] = value
          }
        }
        let events = try await Self.run(Self.agent(calls), on: store, named: "run \(number)")
        let results = events.filter { $0.type == .toolResult }
        #expect(results.count == calls.count)
        for (index, result) in results.enumerated() where calls[index]["name"] == "recall" {
          #expect(
            result.data["data"]?["value"] == expected[index],
            "seed \(seed), run \(number), \(index)")
          #expect(result.data["data"]?["found"] == .bool(expected[index] != nil))
        }
        // Every read and write is an event of its call, before its result.
        for (index, event) in events.enumerated() where event.data["scope"] != nil {
          #expect(events[index + 1].type == .toolResult)
          #expect(events[index + 1].data["callId"] == event.data["callId"])
        }
      }
    }
  }

  @Test("a note is in the log before the store is told of it")
  func order() async throws {
    let sink = LastEvent()
    let store = WatchedStore { sink.type }
    let agent = Self.agent([Self.call("keep", "actor", "a", 1), Self.call("keep", "run", "b", 1)])
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), memory: store)
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "x", runId: "r"), into: sink)
    // What only the run keeps, no store is told of.
    #expect(store.seen == ["memory_written"])
  }

  @Test(
    "a note that cannot be kept is an error that says why",
    arguments: [
      ("actor", "k", JSONValue.string("x"), "the run acts for no actor"),
      ("agent", "k", .string(String(repeating: "x", count: 70_000)), "larger than 65536 bytes"),
      ("agent", String(repeating: "é", count: 300), .null, "1 to 512 bytes"),
    ])
  func faults(scope: String, key: String, value: JSONValue, reason: String) async throws {
    let store = InMemoryStore()
    let events = try await Self.run(
      Self.agent([Self.call("keep", scope, key, value)], actor: nil), on: store)
    let result = try #require(events.last { $0.type == .toolResult })
    #expect(result.data["status"] == "error")
    #expect(result.data["reason"]?.stringValue?.contains(reason) == true, "\(result.data)")
    #expect(!events.contains { $0.type == .memoryWritten })
  }

  @Test("a thousand notes of one owner are kept, and no more; one that goes makes room")
  func full() async throws {
    for scope in ["run", "agent"] {
      var calls = (0...MemoryLimits.notes).map { Self.call("keep", scope, "k\($0)", 1) }
      calls.append(Self.call("keep", scope, "k5"))
      calls.append(Self.call("keep", scope, "more", 1))
      var agent = Self.agent([])
      agent.model = ModelDefinition(
        provider: "scripted", name: "all",
        implementation: .scripted(
          ModelScript(
            turns: stride(from: 0, to: calls.count, by: 50).map { start in
              .init(
                choices: [
                  .init(
                    answer: .reply([
                      "calls": .array(Array(calls[start..<min(start + 50, calls.count)]))
                    ]))
                ])
            } + [.init(choices: [.init(answer: .reply(["text": "done"]))])])))
      agent.parallelCalls = 1
      let events = try await Self.run(agent, on: InMemoryStore())
      let statuses = events.filter { $0.type == .toolResult }.map { $0.data["status"] }
      #expect(statuses.prefix(MemoryLimits.notes).allSatisfy { $0 == "ok" })
      #expect(Array(statuses.suffix(3)) == ["error", "ok", "ok"], "\(scope)")
    }
  }

  @Test("what a store has of the agent file's notes is read in their place, and says so")
  func start() async throws {
    var agent = Self.agent([Self.call("recall", "run", "mood")])
    agent.memory = [
      MemoryNote(scope: "actor", key: "language", value: "German"),
      MemoryNote(scope: "agent", key: "tone", value: "kind"),
      MemoryNote(scope: "run", key: "mood", value: "good"),
    ]
    let store = InMemoryStore()
    try store.write(
      MemoryWriting(
        address: MemoryAddress(scope: .actor, owner: "[null,\"ana\"]", key: "language"),
        value: "Basque", runId: "earlier", seq: 3))
    let events = try await Self.run(agent, on: store)
    let notes = events.filter { $0.type == .memoryRead && $0.step == 0 }
    #expect(notes.map { $0.data["value"] } == ["Basque", "kind", "good"])
    #expect(notes.map { $0.data["source"] } == ["store", nil, nil])
    #expect(events.last { $0.type == .toolResult }?.data["data"]?["value"] == "good")
    // Another actor has other notes.
    agent.policyContext.actorId = "bo"
    let other = try await Self.run(agent, on: store)
    #expect(other.first { $0.type == .memoryRead }?.data["value"] == "German")
  }

  @Test(
    "a tool that looks a note up finds what the start of a run would: the store's, else the file's")
  func lookedUp() async throws {
    for scope in ["run", "agent", "actor"] {
      let store = InMemoryStore()
      var agent = Self.agent([
        Self.call("recall", scope, "tone"), Self.call("keep", scope, "tone", "gruff"),
        Self.call("recall", scope, "tone"), Self.call("recall", scope, "other"),
      ])
      agent.memory = [
        MemoryNote(scope: scope, key: "tone", value: "kind"),
        MemoryNote(scope: scope == "run" ? "agent" : "run", key: "other", value: "elsewhere"),
      ]
      for (number, first) in ["kind", scope == "run" ? "kind" : "gruff"].enumerated() {
        let events = try await Self.run(agent, on: store, named: "run \(number)")
        let shown = try #require(
          events.first { $0.type == .memoryRead && $0.data["key"] == "tone" }?.data["value"])
        #expect(shown.stringValue == first)
        let found = events.filter { $0.type == .toolResult }.map { $0.data["data"] }
        #expect(found.count == 4)
        #expect(found[0]?["value"] == shown && found[0]?["found"] == true, "\(scope)")
        #expect(found[2]?["value"] == "gruff", "\(scope)")
        #expect(found[3] == ["found": false], "\(scope)")
      }
      // What is taken away from the store is what the file says again, there as here.
      agent.model =
        Self.agent([
          Self.call("keep", scope, "tone"), Self.call("recall", scope, "tone"),
        ]).model
      let events = try await Self.run(agent, on: store, named: "last")
      let found = events.last { $0.type == .toolResult }?.data["data"]
      #expect(found == (scope == "run" ? ["found": false] : ["found": true, "value": "kind"]))
    }
  }

  @Test("a run that ended between an event and its store makes up for it, once, when it goes on")
  func unconfirmed() async throws {
    let agent = Self.agent([Self.call("keep", "actor", "a", 1), Self.call("recall", "actor", "a")])
    let whole = try await Self.run(agent, on: InMemoryStore())
    let written = try #require(whole.firstIndex { $0.type == .memoryWritten })
    let address = MemoryAddress(scope: .actor, owner: "[null,\"ana\"]", key: "a")
    for behind in [written, written + 1] {
      let store = InMemoryStore()
      // Behind the result it is known that the store was told.
      if behind > written {
        var told = MemoryWriting(
          address: address, value: 1, runId: whole[0].runId, seq: whole[written].seq)
        told.time = whole[written].time
        try store.write(told)
      }
      var past = RunPast(for: agent)
      for event in whole[...behind] { try past.take(event) }
      let boundary = AssembledBoundary(
        for: agent, clock: FixedClock(elapsedMicroseconds: 1_000_000),
        identifiers: SeededRunIDs(seed: 1), memory: store)
      let sink = InMemoryEventSink()
      let state = try await Runtime(agent: agent, boundary: boundary).goOn(
        from: past, into: sink)
      #expect(state.digest == AgentState(after: whole).digest)
      #expect(store.note(at: address)?.value == 1)
      #expect(!sink.events.contains { $0.type == .memoryWritten })
      // Somebody else wrote meanwhile: the same event does not come twice.
      try store.write(MemoryWriting(address: address, value: 7, runId: "other", seq: 9))
      try store.write(MemoryWriting(address: address, value: 1, runId: "run", seq: written))
      if behind == written { #expect(store.note(at: address)?.value == 7) }
    }
  }
}

/// Keeps the type of the last event.
private final class LastEvent: EventSink, Sendable {
  private let last = Mutex("nothing")
  var type: String { last.withLock { $0 } }
  func append(_ event: Event, isEffectAhead: Bool) {
    last.withLock { $0 = event.type.rawValue }
  }
}

/// Says what is the case when it is told of a note.
private final class WatchedStore: MemoryStore {
  private let look: @Sendable () -> String
  private let log = Mutex<[String]>([])

  init(_ look: @escaping @Sendable () -> String) { self.look = look }

  var seen: [String] { log.withLock { $0 } }
  func note(at address: MemoryAddress) -> KeptNote? { nil }
  func notes(for search: MemorySearch) -> [KeptNote] { [] }
  func write(_ writing: MemoryWriting) { log.withLock { $0.append(look()) } }
}
