#if Live
  import AgentRuntime
  import AgentTrace
  import EvalLoading
  import EvalRunning
  import LiveBoundary
  import Synchronization
  import TestSupport
  import Testing
  import TraceReplaying
  import TraceStorage

  /// One key of an agent file or its policy changed at a time: re-execution says what recording anew would.
  @Suite("One changed key")
  struct ChangedInputTests {
    private static let agents = TestRun.count(8, long: 60)
    private static let changes = TestRun.count(24, long: 60)

    @Test("re-execution differs where, and only where, recording anew does, and names the key")
    func everyKey() async throws {
      let folder = try TemporaryFolder()
      var (tried, misses, falselyFaithful): (Int, [String], [String]) = (0, [], [])
      for index in 0..<Self.agents {
        let world = try World(index)
        defer { world.stop() }
        let before = world.document
        let recorded = try #require(try await world.events(of: before), "agent \(index)")
        let log = try writeLog(recorded, to: folder.path("agent-\(index).jsonl.gz"))
        let same = try await Self.again(log, before, index)
        #expect(same?.isFaithful == true, "agent \(index): \(String(describing: same?.divergence))")
        var generator = Seeded(seed: UInt64(index))
        for change in Change.all(of: before).shuffled(using: &generator).prefix(Self.changes) {
          let after = change.applied(to: before)
          guard let anew = try await world.events(of: after) else { continue }
          guard let again = try await Self.again(log, after, index) else { continue }
          tried += 1
          let first = Self.firstDifference(recorded, anew)
          let told = "agent \(index), \(change)"
          switch (first, again.divergence) {
          case (.none, .none): break
          case (.some(let first), .none): falselyFaithful.append("\(told): event \(first)")
          case (.none, .some(let found)):
            misses.append("\(told): found at \(found.seq), and there is none")
          case (.some(let first), .some(let found)):
            let names = found.input.map { [$0.name, $0.message] } ?? []
            if !first.contains(found.seq) {
              misses.append("\(told): event \(first), found at \(found.seq)")
            } else if !found.changes.contains(where: { $0.key == change.key })
              || !names.contains(where: { change.isMeant(by: $0) })
            {
              misses.append("\(told): named \(names), of \(found.changes.map(\.key))")
            }
          }
        }
      }
      #expect(falselyFaithful == [])
      #expect(misses.count * 100 <= tried, "\(misses.count) of \(tried): \(misses.prefix(40))")
      #expect(tried > Self.agents * 20, "\(tried)")
      if TestRun.isLong { print("\(tried) changes, \(misses.count) misses: \(misses)") }
    }

    private static func again(
      _ log: String, _ document: JSONValue, _ index: Int
    ) async throws -> Reexecution? {
      guard let agent = World.agent(document) else { return nil }
      let items = await ReexecutionSuite(agents: .given([agent])).run([log])
      if let failure = items.first?.failure { Issue.record("agent \(index): \(failure)") }
      return items.first?.reexecution
    }

    // MARK: The oracle

    /// The first event in which two recordings differ, by what they say; of calls, which have no order
    /// among themselves, all events that stand together with it.
    private static func firstDifference(_ left: [Event], _ right: [Event]) -> ClosedRange<Int>? {
      let (ones, others) = (ordered(left), ordered(right))
      for index in 0..<max(ones.count, others.count) {
        guard ones.indices.contains(index), others.indices.contains(index) else {
          return index...index
        }
        let (one, other) = (ones[index], others[index])
        guard one.type != other.type || one.step != other.step || plain(one) != plain(other) else {
          continue
        }
        guard isOfCall(one) || isOfCall(other) else { return index...index }
        let end = left[index...].firstIndex { !isOfCall($0) } ?? left.count
        let start = left[..<index].lastIndex { !isOfCall($0) }.map { $0 + 1 } ?? 0
        return start...max(start, end)
      }
      return nil
    }

    private static func isOfCall(_ event: Event) -> Bool {
      event.type == .toolStarted || event.type == .toolResult
    }

    /// The events of calls that stand together, by call.
    private static func ordered(_ events: [Event]) -> [Event] {
      var result: [Event] = []
      var together: [Event] = []
      func callId(_ event: Event) -> String { event.data["callId"]?.stringValue ?? "" }
      func settle() {
        result += together.enumerated().sorted {
          (callId($0.element), $0.offset) < (callId($1.element), $1.offset)
        }.map(\.element)
        together = []
      }
      for event in events {
        if isOfCall(event) {
          together.append(event)
        } else {
          settle()
          result.append(event)
        }
      }
      settle()
      return result
    }

    /// An event without times, digests of files, and what only says which run it is.
    private static func plain(_ event: Event) -> JSONValue {
      var data = event.data
      for key in [
        "runId", "elapsedMicroseconds", "requestId", "responseDigest", "idempotencyKey",
        "stateDigest", "policyDigest", "inputs", "origins", "seed", "usage", "cost", "totals",
      ] { data[key] = nil }
      if event.type == .runStarted { data["agent"] = nil }
      if let reply = data["reply"] { data["reply"] = saying(reply) }
      return .object(data)
    }

    /// A reply by what it says: whether it was streamed, which is no part of what was asked, decides whether what
    /// goes into a call stands there as text.
    private static func saying(_ reply: JSONValue) -> JSONValue {
      guard var object = reply.objectValue, let calls = object["calls"]?.arrayValue else {
        return reply
      }
      object["calls"] = .array(
        calls.map { call in
          guard var members = call.objectValue, let text = members["arguments"]?.stringValue,
            let input = try? JSONValue(parsing: text)
          else { return call }
          members["arguments"] = nil
          members["input"] = input
          return .object(members)
        })
      return .object(object)
    }
  }

  // MARK: - Agents and their world

  /// An agent of the test's own, and the model and the person that it meets.
  private final class World: Sendable {
    let document: JSONValue
    private let provider: FakeProvider?

    init(_ index: Int) throws {
      guard index % 2 == 1 else {
        provider = nil
        document = Self.document(index, model: ["script": .array(Self.script(index))])
        return
      }
      let dialect = Dialect.allCases[index / 2 % Dialect.allCases.count]
      let counter = Counter()
      let provider = try FakeProvider { asked, reply in
        let isPerson = asked.body["model"]?.stringValue?.hasPrefix("p-") == true
        let number = isPerson ? 0 : counter.next()
        FakeProvider.send(
          isPerson ? .init("yes, go on") : Self.reply(number, index), to: asked, reply)
      }
      self.provider = provider
      self.counter.withLock { $0 = counter }
      let url = JSONValue.string(provider.baseURL(dialect))
      document = Self.document(
        index, model: ["baseUrl": url, "temperature": 0.5],
        provider: dialect.rawValue)
    }

    private let counter = Mutex<Counter?>(nil)

    private final class Counter: Sendable {
      private let count = Mutex(0)
      func next() -> Int {
        count.withLock { count in
          defer { count += 1 }
          return count
        }
      }
      func reset() { count.withLock { $0 = 0 } }
    }

    func stop() { provider?.stop() }

    static func agent(_ document: JSONValue) -> AgentDefinition? {
      AgentLoader.load(CanonicalJSON.encode(document, form: .plain), path: "agent.json").value
    }

    /// What a recording of the agent holds; `nil` where the file is none.
    func events(of document: JSONValue) async throws -> [Event]? {
      guard let agent = Self.agent(document) else { return nil }
      counter.withLock { $0?.reset() }
      let boundary = LiveBoundary.make(
        for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
      let sink = InMemoryEventSink()
      guard let runtime = try? Runtime(agent: agent, boundary: boundary) else { return nil }
      _ = try await runtime.run(goal: .string(agent.goal ?? "Go on"), into: sink)
      return sink.events
    }

    // MARK: What it does

    private static func calls(_ index: Int) -> [[(String, JSONValue)]] {
      var calls: [[(String, JSONValue)]] = [
        [("lookup", ["order": "7"]), ("flaky", [:])], [("pay", ["sum": 5])],
      ]
      if index % 3 == 0 { calls.insert([("gone", [:])], at: 1) }
      if index % 4 < 2 { calls.append([("nothing", [:])]) }
      if index % 5 == 0 { calls.append([("lookup", ["order": "8"]), ("lookup", ["order": "9"])]) }
      return calls
    }

    private static func script(_ index: Int) -> [JSONValue] {
      calls(index).map { calls in
        [
          "calls": .array(calls.map { ["tool": .string($0.0), "input": $0.1] }),
          "usage": ["inputTokens": 100, "outputTokens": 10, "cost": 0.001],
        ]
      } + [["answer": "Done."]]
    }

    private static func reply(_ number: Int, _ index: Int) -> FakeProvider.Reply {
      let calls = calls(index)
      guard calls.indices.contains(number) else { return .init("Done.") }
      return .init(
        "So.",
        calls: calls[number].enumerated().map { place, call in
          .init(call.0, CanonicalJSON.string(call.1), id: "call_\(number)_\(place)")
        })
    }

    private static func document(
      _ index: Int, model: JSONObject, provider: String? = nil
    ) -> JSONValue {
      var model = model
      model["name"] = "m-1"
      model["provider"] = provider.map(JSONValue.string)
      var document: JSONObject = [
        "name": "proof", "system": "Help whoever asks.", "goal": "See to order 7",
        "model": .object(model),
        "tools": [
          [
            "name": "lookup", "description": "Looks an order up.", "sideEffect": "read",
            "inputSchema": [
              "type": "object", "required": ["order"],
              "properties": ["order": ["type": "string"]],
            ],
            "scripted": [["ok": ["state": "sent"]]],
          ],
          [
            "name": "flaky", "description": "Works at the second try.", "sideEffect": "read",
            "onError": "retry", "retry": ["maxAttempts": 3, "backoffSeconds": 1],
            "breaker": ["failures": 2, "resetSeconds": 30], "timeoutSeconds": 20,
            "scripted": [["when": ["attempt": 1], "error": "down"], ["ok": 1]],
          ],
          [
            "name": "pay", "description": "Pays.", "sideEffect": "write", "idempotent": true,
            "sensitivity": "money", "scripted": [["ok": "paid"]],
          ],
          [
            "name": "gone", "description": "Never works.", "sideEffect": "read",
            "scripted": [["error": "never"]],
          ],
        ],
        "policy": [
          "rules": [
            ["id": "money", "tool": "pay", "verdict": "approval_required", "reason": "It costs."],
            ["id": "rest", "verdict": "allow", "reason": "Why not."],
          ]
        ],
        "policyContext": [
          "actorId": "ana", "tenantId": "shop", "route": "sales", "attributes": ["tier": "gold"],
        ],
        "limits": [
          "maxSteps": 9, "maxToolCalls": 12, "maxTokens": 100_000, "maxCost": 5,
          "timeoutSeconds": 600,
        ],
        "context": ["tokenBudget": 4000, "observationLimit": 20, "strategy": "truncate_oldest"],
        "failures": [
          "invalidDecisionRetries": 1, "modelRetries": 1, "maxDenials": 2, "maxToolErrors": 3,
        ],
        "parallelCalls": 2,
        "decisions": ["askHuman": true, "stop": ["blocked"]],
        "evidence": ["required": false],
        "memory": [["scope": "agent", "key": "likes", "value": "tea"]],
        "guard": ["maxToolCalls": 20],
      ]
      if let provider, index % 4 == 1, let url = model["baseUrl"] {
        document["human"] = [
          "system": "You are Ana.", "by": "ana",
          "model": ["provider": .string(provider), "name": "p-1", "baseUrl": url],
        ]
      } else {
        document["human"] = ["approvals": [["granted": true, "by": "ana"]]]
      }
      return .object(document)
    }
  }

  // MARK: - Changes

  /// A change of one key.
  private struct Change: CustomStringConvertible {
    /// Keys and, of lists, places.
    var path: [JSONPathStep]
    /// `nil` for taking it away.
    var value: JSONValue?
    /// The key as a divergence names it.
    var key: String

    enum JSONPathStep {
      case key(String)
      case index(Int)
    }

    var description: String {
      key + " = " + (value.map { CanonicalJSON.prefix(of: $0, limitBytes: 60) } ?? "gone")
    }

    /// Whether what a divergence names is this key: by its whole path, or by the name of what it is a part
    /// of.
    func isMeant(by name: String) -> Bool {
      let parts = key.split(separator: ".").map(String.init)
      if name.contains(key) || name == parts.last { return true }
      if parts[0] == "tools" || parts[0] == "policy" {
        return name == parts[min(2, parts.count - 1)] || name == parts[1]
      }
      return value?.stringValue == name
    }

    func applied(to document: JSONValue) -> JSONValue {
      Self.set(value, at: path[...], in: document)
    }

    private static func set(
      _ value: JSONValue?, at path: ArraySlice<JSONPathStep>, in target: JSONValue
    ) -> JSONValue {
      guard let step = path.first else { return value ?? .null }
      let isLast = path.count == 1
      switch step {
      case .key(let key):
        var object = target.objectValue ?? [:]
        object[key] =
          isLast ? value : set(value, at: path.dropFirst(), in: object[key] ?? .object([:]))
        return .object(object)
      case .index(let index):
        var items = target.arrayValue ?? []
        if isLast, value == nil {
          items.remove(at: index)
        } else if index == items.count {
          items.append(value ?? .null)
        } else {
          items[index] =
            isLast ? value ?? .null : set(value, at: path.dropFirst(), in: items[index])
        }
        return .array(items)
      }
    }

    /// Changes of every key that is there, and keys that are not there yet.
    static func all(of document: JSONValue) -> [Change] {
      guard let object = document.objectValue else { return [] }
      var changes: [Change] = []
      func add(_ path: [String], _ values: [JSONValue?], key: String? = nil) {
        for value in values {
          changes.append(
            Change(
              path: path.map { Int($0).map(JSONPathStep.index) ?? .key($0) }, value: value,
              key: key ?? path.joined(separator: ".")))
        }
      }
      for key in ["system", "goal", "parallelCalls"] {
        add([key], object[key]?.others ?? [])
      }
      for section in ["policyContext", "limits", "context", "failures", "guard"] {
        for member in object[section]?.objectValue ?? [:] {
          add([section, member.key], member.value.others + [nil])
        }
      }
      add(["context", "strategy"], ["drop_tool_output", "summarize"])
      add(["context", "tokenBudget"], [60, 150, 300])
      add(["context", "observationLimit"], [0, 1, 2])
      add(["context", "tokenEstimate"], [3, "anthropic"])
      add(["limits", "maxToolCalls"], [0, 1, 2])
      add(["limits", "maxSteps"], [1, 2])
      add(["guard", "toolsNotCalled"], [["pay"], ["gone"]])
      add(["guard", "maxToolCalls"], [0, 1])
      add(["decisions", "askHuman"], [false, nil])
      add(["decisions", "stop"], [["success"], ["success", "blocked"], nil])
      add(["decisions", "cite"], [true])
      add(["evidence", "required"], [true])
      add(["answerSchema"], [["type": "object"], ["type": "string"], true])
      addTools(object, add)
      addPolicy(object, add)
      addModel(object, add)
      add(["memory", "0", "value"], ["coffee"], key: "memory.agent/likes")
      add(["memory", "0"], [nil], key: "memory.agent/likes")
      add(
        ["memory", "1"], [["scope": "run", "key": "new", "value": 1]], key: "memory.run/new")
      add(["redaction", "keys"], [["state"]])
      return changes
    }

    private static func addTools(
      _ object: JSONObject, _ add: ([String], [JSONValue?], String?) -> Void
    ) {
      for (index, tool) in (object["tools"]?.arrayValue ?? []).enumerated() {
        let name = tool["name"]?.stringValue ?? ""
        for member in tool.objectValue ?? [:] where !["name", "scripted"].contains(member.key) {
          add(
            ["tools", "\(index)", member.key], member.value.others + [nil],
            "tools.\(name).\(member.key)")
        }
        let more: [(String, [JSONValue])] = [
          ("disclose", [[["when": ["step": 1]]], "never", "always"]),
          ("routes", [["sales"], ["other"]]),
          ("outputSchema", [["type": "string"], ["type": "object"]]),
          ("onError", ["stop", "continue"]),
          ("maxAttempts", [1, 2]), ("retry", [["maxAttempts": 1]]),
          ("breaker", [["failures": 1, "resetSeconds": 60]]), ("sensitivity", ["secret"]),
          ("idempotent", [true, false]),
        ]
        for (key, values) in more where tool[key] == nil {
          add(["tools", "\(index)", key], values, "tools.\(name).\(key)")
        }
        add(["tools", "\(index)"], [nil], "tools.\(name)")
      }
    }

    private static func addPolicy(
      _ object: JSONObject, _ add: ([String], [JSONValue?], String?) -> Void
    ) {
      for (index, rule) in (object["policy"]?["rules"]?.arrayValue ?? []).enumerated() {
        let key = "policy.rules.\(rule["id"]?.stringValue ?? "")"
        let place = ["policy", "rules", "\(index)"]
        let more: [(String, [JSONValue])] = [
          ("verdict", ["deny", "allow", "approval_required"]), ("reason", ["Another word."]),
          ("tool", ["lookup", "p*", "none"]), ("sideEffect", ["write"]), ("actor", ["bo", "ana"]),
          ("tenant", ["other"]), ("route", ["other", "sales"]), ("sensitivity", ["money", "x"]),
          ("attributes", [["tier": "iron"]]), ("input", [["sum": 5], ["sum": 6]]),
          ("onDeny", ["stop"]), ("remaining", [["calls": 1]]), ("approved", [true, false]),
          ("after", ["lookup"]), ("notAfter", ["lookup"]),
          ("calls", [["tool": "lookup", "min": 2]]),
        ]
        for (name, values) in more {
          add(place + [name], values.filter { $0 != rule[name] }, key)
        }
        add(place, [nil], key)
      }
    }

    private static func addModel(
      _ object: JSONObject, _ add: ([String], [JSONValue?], String?) -> Void
    ) {
      add(["model", "name"], ["m-2"], nil)
      guard object["model"]?["provider"] != nil else { return }
      let settings: [(String, [JSONValue?])] = [
        ("temperature", [1.5, nil]), ("topP", [0.5]), ("maxOutputTokens", [100]),
        ("toolChoice", ["auto", "required", ["tool": "pay", "steps": 1]]),
        ("parallelToolCalls", [true, false]), ("reasoning", [["effort": "high"]]),
        ("options", [["x": 1]]), ("headers", [["X-Team": "red"]]),
        ("prices", [["input": 1, "output": 1]]), ("stream", [false]),
        ("timeouts", [["totalSeconds": 50]]), ("seed", [3]), ("stop", [["END"]]),
      ]
      for (key, values) in settings { add(["model", key], values, nil) }
      guard object["human"]?["model"] != nil else { return }
      for (key, values) in settings { add(["human", "model", key], values, nil) }
      add(["human", "model", "name"], ["p-2"], nil)
      add(["human", "system"], ["You are Bo.", nil], nil)
      add(["human", "by"], ["bo"], nil)
    }
  }

  extension JSONValue {
    /// Values of the same kind that are others.
    fileprivate var others: [JSONValue?] {
      switch self {
      case .string(let text): return [.string(text + " Really."), .string("other")]
      case .bool(let flag): return [.bool(!flag)]
      case .number:
        guard let number = doubleValue else { return [] }
        return [JSONValue(Int(number) + 1), JSONValue(max(0, Int(number) - 1)), JSONValue(1)]
          .filter { $0 != self }
      case .object(let object):
        return object.flatMap { member in
          member.value.others.map { value in
            var other = object
            other[member.key] = value
            return .object(other)
          }
        }
      default: return []
      }
    }
  }
#endif
