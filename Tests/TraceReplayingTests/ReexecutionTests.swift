import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Re-execution")
struct ReexecutionTests {
  private static let pairs = TestRun.count(200, long: 1_000)

  private static func reexecute(
    _ events: [Event], with agent: AgentDefinition, in folder: TemporaryFolder, named name: String,
    closes: Bool = true
  ) async throws -> Reexecution {
    let path = try writeLog(events, in: folder, named: name, closes: closes)
    return try await Reexecution(of: path, with: agent)
  }

  @Test("every recorded fixture is faithful, however it ended", arguments: Fixture.all)
  func fixtures(fixture: Fixture) async throws {
    let reexecution = try await Reexecution(of: fixture.path, with: try fixture.agent())
    #expect(reexecution.divergence == nil)
    #expect(reexecution.made == (try fixture.events().count))
    #expect(reexecution.ending == .stop)
  }

  @Test(
    "a run cut off anywhere is made again as far as it goes", arguments: Fixture.all)
  func torn(fixture: Fixture) async throws {
    let folder = try TemporaryFolder()
    let (events, agent) = (try fixture.events(), try fixture.agent())
    let cuts = Array(1..<events.count)
    var generator = Seeded(seed: UInt64(events.count))
    for count in cuts.shuffled(using: &generator).prefix(TestRun.count(8, long: 100)) {
      let reexecution = try await Self.reexecute(
        Array(events.prefix(count)), with: agent, in: folder, named: "cut-\(count)", closes: false)
      #expect(reexecution.divergence == nil, "\(count) events")
      #expect(reexecution.made == count)
      let isPaused = events[..<count].last { $0.type == .stop || $0.type == .contextBuilt }
      #expect(
        reexecution.ending == .unfinished(tornAt: nil)
          || (reexecution.ending == .stop && isPaused?.type == .stop))
    }
  }

  @Test("one injected change of a known cause is named with its cause, its place and its input")
  func knownChanges() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 5)
    var count = 0
    var counts: [String: Int] = [:]
    for seed in 0..<(20 * Self.pairs) {
      if count == Self.pairs { break }
      let kind = KnownChange.Kind.allCases[seed % KnownChange.Kind.allCases.count]
      let run = try await RandomRun(seed: seed)
      guard let change = KnownChange(kind, in: run, &generator) else { continue }
      let found = try await Self.reexecute(
        change.events, with: change.agent, in: folder, named: "changed-\(seed)"
      ).divergence
      let isRight = found?.cause.rawValue == change.cause && found?.input?.name == change.input
      if !isRight {
        Issue.record("\(kind) of seed \(seed): \(found.map { "\($0)" } ?? "faithful")")
        return
      }
      count += 1
      counts[change.cause, default: 0] += 1
    }
    #expect(counts.values.reduce(0, +) == Self.pairs)
    #expect(Set(counts.keys) == Set(Divergence.Cause.allCases.map(\.rawValue)))
  }

  @Test("runs that differ in the order of parallel calls, in ids and times are faithful")
  func disguises() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 6)
    var reordered = 0
    // Most random runs fail, and few of those can have had another order.
    for seed in 0..<(12 * Self.pairs) {
      if seed >= Self.pairs, reordered > Self.pairs / 4 { break }
      let run = try await RandomRun(seed: 1_000_000 + seed)
      let events = run.events.disguised(&generator).withStateDigests
      if events.map(\.type) != run.events.map(\.type)
        || events.map({ $0.data["callId"] }) != run.events.map({ $0.data["callId"] })
      {
        reordered += 1
      }
      let found = try await Self.reexecute(
        events, with: run.agent, in: folder, named: "disguised-\(seed)")
      if found.divergence != nil || found.made != events.count {
        Issue.record("seed \(seed): \(found.divergence.map { "\($0)" } ?? "\(found.made) made")")
        return
      }
    }
    #expect(reordered > Self.pairs / 4)
  }

  @Test("waits, breakers and limits on time come out as they did")
  func timed() async throws {
    let folder = try TemporaryFolder()
    var seen: [String: Int] = [:]
    for seed in 0..<Self.pairs {
      let run = try await RandomRun(seed: 2_000_000 + seed, isTimed: true)
      let found = try await Self.reexecute(
        run.events, with: run.agent, in: folder, named: "timed-\(seed)")
      if found.divergence != nil || found.made != run.events.count {
        Issue.record("seed \(seed): \(found.divergence.map { "\($0)" } ?? "\(found.made) made")")
        return
      }
      for event in run.events {
        if event.type == .breakerChanged {
          seen[event.data["state"]?.stringValue ?? "", default: 0] += 1
        }
        if event.type == .stop { seen[event.data["detail"]?.stringValue ?? "", default: 0] += 1 }
        if event.data["attempt"] == 3 { seen["third", default: 0] += 1 }
      }
    }
    for word in ["open", "half_open", "closed", "timeout", "third"] {
      #expect(seen[word, default: 0] > 0, "\(word) of \(seen)")
    }
  }

  // MARK: What agent files say that no event holds

  /// A fixture's agent with a change that only shows in what becomes of its run.
  struct Setting: CustomTestStringConvertible, Sendable {
    var fixture: String
    var cause: Divergence.Cause
    var input: String
    var change: @Sendable (inout AgentDefinition) -> Void
    var testDescription: String { "\(input) on \(fixture)" }
  }

  @Test(
    "a setting of the agent file is named where it changes what becomes of a run",
    arguments: [
      Setting(fixture: "tool-failure", cause: .context, input: "failures.maxToolErrors") {
        $0.failures.maxToolErrors = 2
      },
      Setting(fixture: "tool-failure", cause: .context, input: "failures.maxToolErrors") {
        $0.failures.maxToolErrors = 4
      },
      Setting(fixture: "tool-failure", cause: .tool, input: "fetch_page") {
        for index in $0.tools.indices { $0.tools[index].onError = .stop }
      },
      Setting(fixture: "retry-helps", cause: .tool, input: "fetch_mirror") {
        for index in $0.tools.indices { $0.tools[index].onError = .continue }
      },
      Setting(fixture: "guest-insists", cause: .context, input: "failures.maxDenials") {
        $0.failures.maxDenials = 2
      },
      Setting(fixture: "guest-insists", cause: .context, input: "failures.maxDenials") {
        $0.failures.maxDenials = 9
      },
      Setting(fixture: "delete-stops-run", cause: .policy, input: "never-delete") {
        for index in $0.policy.rules.indices { $0.policy.rules[index].onDeny = .continue }
      },
      Setting(fixture: "guest-insists", cause: .policy, input: "no-refunds-for-guests") {
        for index in $0.policy.rules.indices { $0.policy.rules[index].onDeny = .stop }
      },
      Setting(
        fixture: "invalid-decision", cause: .context, input: "failures.invalidDecisionRetries"
      ) {
        $0.failures.invalidDecisionRetries = 1
      },
      Setting(
        fixture: "invalid-decision", cause: .context, input: "failures.invalidDecisionRetries"
      ) {
        $0.failures.invalidDecisionRetries = 3
      },
      Setting(fixture: "model-failure", cause: .context, input: "failures.modelRetries") {
        $0.failures.modelRetries = 1
      },
      Setting(fixture: "model-failure", cause: .context, input: "failures.modelRetries") {
        $0.failures.modelRetries = 3
      },
      Setting(fixture: "memory-allergies", cause: .context, input: "actor/language") {
        $0.memory[0].value = "none"
      },
      Setting(fixture: "memory-allergies", cause: .context, input: "actor/language") {
        $0.memory.removeFirst()
      },
      Setting(fixture: "hundred-steps", cause: .context, input: "context.tokenBudget") {
        $0.context.tokenBudget += 1
      },
      Setting(fixture: "hundred-steps", cause: .context, input: "context.observationLimit") {
        $0.context.observationLimit = 3
      },
      Setting(fixture: "route-billing", cause: .context, input: "find_product") {
        $0.tools[1].routes = nil
      },
      Setting(fixture: "route-billing", cause: .context, input: "policyContext.route") {
        $0.policyContext.route = "sales"
      },
    ])
  func settings(setting: Setting) async throws {
    let fixture = try #require(Fixture.all.first { $0.name == setting.fixture })
    var agent = try fixture.agent()
    setting.change(&agent)
    agent.digest = "another file"
    let found = try await Reexecution(of: fixture.path, with: agent).divergence
    #expect(found?.cause == setting.cause, "\(String(describing: found))")
    #expect(found?.input?.name == setting.input, "\(String(describing: found))")
    #expect(found?.input?.message.isEmpty == false)
  }

  @Test("the same agent with another policy differs by policy alone")
  func policyAlone() async throws {
    let fixture = try #require(Fixture.all.first { $0.name == "refund-drafted" })
    var agent = try fixture.agent()
    agent.policy = Policy(
      rules: [.init(id: "nothing", verdict: .deny, onDeny: .stop)], digest: "a policy file")
    let found = try #require(try await Reexecution(of: fixture.path, with: agent).divergence)
    #expect(found.cause == .policy && found.input?.name == "nothing" && found.step == 1)
  }

  // MARK: Damage

  @Test(
    "a log that was tampered with, whatever its events say, is told of without a crash",
    arguments: Fixture.all.filter { $0.name != "hundred-steps" })
  func tampered(fixture: Fixture) async throws {
    let folder = try TemporaryFolder()
    let (events, agent) = (try fixture.events(), try fixture.agent())
    var generator = Seeded(seed: UInt64(fixture.name.utf8.count))
    for round in 0..<TestRun.count(6, long: 80) {
      var changed = events
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let index = Int.random(in: 1..<changed.count, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: changed.remove(at: index)
        case 1: changed.insert(changed[index], at: index)
        case 2: changed[index].step = Int.random(in: 0...9, using: &generator)
        case 3: changed[index].t = Int.random(in: 0...(1 << 53), using: &generator)
        case 4:
          let keys = changed[index].data.keys
          changed[index].data[keys.randomElement(using: &generator) ?? ""] = .array([])
        default: changed.swapAt(index, Int.random(in: 1..<changed.count, using: &generator))
        }
        if changed.count < 2 { break }
      }
      let name = "tampered-\(round)"
      do {
        let found = try await Self.reexecute(
          changed.renumbered, with: agent, in: folder, named: name)
        #expect(found.made <= changed.count)
        if let divergence = found.divergence {
          #expect([.code, .tool].contains(divergence.cause))
          #expect(divergence.seq <= changed.count)
        }
      } catch let error as LogError {
        // Made again as it was, and not what the log says of itself.
        #expect(error.isDamage && "\(error)".contains(": event "), "\(error)")
      } catch let error as RecordingError {
        // Words that are gone, or an event that a session behind it would have to be told of.
        let words = ["what a person said", "should be", "is missing"]
        #expect(words.contains { "\(error)".contains($0) }, "\(error)")
      }
    }
  }

  @Test("texts that differ far behind their beginning are shown where they differ")
  func longTexts() async throws {
    let folder = try TemporaryFolder()
    let fixture = try #require(Fixture.all.first { $0.name == "refund-drafted" })
    var agent = try fixture.agent()
    let long = String(repeating: "é long ", count: 40_000)
    var events = try fixture.events()
    let index = try #require(events.firstIndex { $0.type == .contextBuilt })
    events[index].data["prompt"] = [
      "messages": [
        ["role": "system", "content": [["type": "text", "text": .string(long + "then")]]]
      ]
    ]
    agent.systemPrompt = long + "now"
    agent.digest = "another file"
    let found = try #require(
      try await Self.reexecute(events, with: agent, in: folder, named: "long").divergence)
    let field = try #require(
      found.fields.first { "\($0.pointer)" == "/prompt/messages/0/content/0/text" })
    guard case .cut(_, let then)? = field.recorded, case .cut(_, let now)? = field.now else {
      Issue.record("not cut")
      return
    }
    #expect(then.hasSuffix("then") && now.hasSuffix("now") && then.utf8.count < 1_025)
    #expect(CanonicalJSON.encode(found.json).count < 200_000)
  }

  @Test("a person's words that are cut in the log cannot be said again, which is an error")
  func lostWords() async throws {
    let folder = try TemporaryFolder()
    let fixture = try #require(Fixture.all.first { $0.name == "question-answered" })
    var events = try fixture.events()
    let index = try #require(events.firstIndex { $0.type == .humanReplied })
    events[index].data["text"] = .cut(bytes: 5, head: "x")
    do {
      _ = try await Self.reexecute(
        events, with: try fixture.agent(), in: folder, named: "words")
      Issue.record("no error")
    } catch {
      #expect("\(error)".contains("what a person said there is not whole"))
    }
  }
}
