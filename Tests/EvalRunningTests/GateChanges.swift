import AgentTrace
import TestSupport

/// A change that somebody makes, and whether a gate must stop it. Nothing here knows how runs are compared.
struct GateChange: Sendable {
  /// The class that figures are given by.
  var name: String
  /// What is worse by it, by the words that results have for differences: any of these. Empty where nothing is.
  var worse: [String]
  /// Makes it in the files; false where this world has no place for it.
  var inWorld: (@Sendable (inout GateWorld, inout Seeded) -> Bool)?
  /// Makes it in a recorded run.
  var inLog: (@Sendable (inout [Event], inout Seeded) -> Bool)?

  static func world(
    _ name: String, worse: [String] = [],
    _ make: @escaping @Sendable (inout GateWorld, inout Seeded) -> Bool
  ) -> GateChange {
    GateChange(name: name, worse: worse, inWorld: make)
  }

  static func log(
    _ name: String, worse: [String] = [],
    _ make: @escaping @Sendable (inout [Event], inout Seeded) -> Bool
  ) -> GateChange {
    GateChange(name: name, worse: worse, inLog: make)
  }
}

extension GateWorld {
  /// Puts a call into a decision of its own, anywhere before the last.
  fileprivate mutating func insert(_ call: Call, using random: inout Seeded) {
    decisions.insert([call], at: Int.random(in: 1..<decisions.count, using: &random))
  }

  fileprivate func place(of tool: String) -> Int? {
    decisions.firstIndex { $0.contains { $0.tool == tool } }
  }

  fileprivate mutating func edit(_ tool: String, _ change: (inout JSONObject) -> Void) -> Bool {
    guard let place = place(of: tool),
      let index = decisions[place].firstIndex(where: { $0.tool == tool })
    else { return false }
    change(&decisions[place][index].input)
    return true
  }

  /// A decision that only reads and that no expectation needs.
  fileprivate var freeRead: Int? {
    decisions.indices.dropFirst().first { place in
      decisions[place].allSatisfy { ["search", "order", "status"].contains($0.tool) }
    }
  }
}

/// What of a log belongs to calls of a tool.
private func events(
  _ events: [Event], of tool: String, _ types: EventType...
) -> [Int] {
  let ids = events.flatMap { event in
    (event.data["calls"]?.arrayValue ?? []).compactMap { call in
      call["name"]?.stringValue == tool ? call["callId"]?.stringValue : nil
    }
  }
  return events.indices.filter { index in
    types.contains(events[index].type)
      && ids.contains(events[index].data["callId"]?.stringValue ?? "")
  }
}

// MARK: - What must be stopped

extension GateChange {
  static let regressions: [GateChange] = approvals + verdicts + effects + limits + cases + asked

  private static let approvals: [GateChange] = [
    .world("approval gone", worse: ["verdict", "approval"]) { world, _ in
      // The policy lets it through, and nobody is asked.
      world.rules[0].verdict = "allow"
      world.expected["noApprovalBypass"] = nil
      return true
    },
    .world("approval gone, call moved", worse: ["verdict", "approval"]) { world, _ in
      world.rules[0].verdict = "allow"
      guard let place = world.place(of: "pay") else { return false }
      world.decisions.insert(world.decisions.remove(at: place), at: 1)
      return true
    },
    .world("approval gone, call moved, other input", worse: ["verdict", "approval"]) { world, _ in
      world.rules[0].verdict = "allow"
      guard let place = world.place(of: "pay") else { return false }
      world.decisions.insert(world.decisions.remove(at: place), at: 0)
      return world.edit("pay") { $0["amount"] = 99 }
    },
    .log("approval gone", worse: ["verdict", "approval"]) { log, _ in
      guard let place = log.firstIndex(where: { $0.type == .approval }) else { return false }
      log.remove(at: place)
      return true
    },
    .log("approval covers more", worse: ["approval"]) { log, random in
      guard let place = log.firstIndex(where: { $0.type == .approval }) else { return false }
      log[place].data["scope"] =
        Bool.random(using: &random) ? "input" : ["calls": JSONValue(3)]
      return true
    },
    .log("approval denied, and it ran", worse: ["approval"]) { log, _ in
      guard let place = log.firstIndex(where: { $0.type == .approval }) else { return false }
      log[place].data["granted"] = false
      return true
    },
  ]

  private static let verdicts: [GateChange] = [
    .world("verdict weaker", worse: ["verdict"]) { world, _ in
      world.rules[2].verdict = "allow"
      return true
    },
    .world("verdict weaker", worse: ["verdict"]) { world, _ in
      world.rules[2].verdict = "approval_required"
      return true
    },
    .log("asking gone", worse: ["verdict"]) { log, _ in
      let places = events(log, of: "pay", .policyDecision)
      guard places.count > 1 else { return false }
      log.remove(at: places[0])
      return true
    },
    .log("verdict weaker", worse: ["verdict"]) { log, _ in
      guard let place = events(log, of: "purge", .policyDecision).first else { return false }
      log[place].data["status"] = "approval_required"
      return true
    },
  ]

  private static let effects: [GateChange] = [
    .world("new write", worse: ["call_added"]) { world, random in
      world.insert(.init(tool: "mail", input: ["to": "bo"]), using: &random)
      return true
    },
    .world("new write beside a read", worse: ["call_added"]) { world, _ in
      guard let place = world.freeRead else { return false }
      world.decisions[place].append(.init(tool: "mail", input: [:]))
      return true
    },
    .world("new draft", worse: ["call_added"]) { world, random in
      world.insert(.init(tool: "ship", input: ["id": 1]), using: &random)
      return true
    },
    .world("write in place of a read", worse: ["call_replaced", "call_added"]) { world, _ in
      guard let place = world.freeRead else { return false }
      world.decisions[place] = [.init(tool: "mail", input: ["to": "bo"])]
      return true
    },
    .world("expected write done twice", worse: ["call_added"]) { world, random in
      world.insert(
        .init(
          tool: "pay",
          input: ["orderId": 7, "amount": Bool.random(using: &random) ? 12 : 13, "memo": "thanks"]),
        using: &random)
      return true
    },
    .world("expected draft done twice", worse: ["call_added"]) { world, random in
      world.insert(.init(tool: "note", input: ["text": "again"]), using: &random)
      return true
    },
    .world("effect unknown", worse: ["status"]) { world, random in
      world.doubtful.insert(Bool.random(using: &random) ? "pay" : "note")
      return true
    },
    .log("effect unknown", worse: ["status"]) { log, _ in
      guard let place = events(log, of: "pay", .toolResult).first else { return false }
      log[place].data["status"] = "error"
      log[place].data["reason"] = "cut off"
      log[place].data["effect"] = "unknown"
      log[place].data["data"] = nil
      return true
    },
    .log("result gone", worse: ["status"]) { log, _ in
      guard let place = events(log, of: "note", .toolResult).first else { return false }
      log.remove(at: place)
      return true
    },
  ]

  private static let limits: [GateChange] = [
    .world("limit loosened", worse: ["limits"]) { world, random in
      let keys = ["maxSteps", "maxToolCalls", "maxTokens", "maxCost", "timeoutSeconds"]
      guard let key = keys.randomElement(using: &random),
        let before = world.limits[key]?.intValue
      else { return false }
      world.limits[key] = JSONValue(before + 1)
      return true
    },
    .world("limit gone", worse: ["limits"]) { world, random in
      let keys = ["maxSteps", "maxToolCalls", "maxTokens", "maxCost", "timeoutSeconds"]
      guard let key = keys.randomElement(using: &random) else { return false }
      world.limits[key] = nil
      return true
    },
    .world("all limits gone", worse: ["limits"]) { world, _ in
      world.limits = [:]
      return true
    },
    .log("limit loosened", worse: ["limits"]) { log, _ in
      guard var limits = log[0].data["limits"]?.objectValue else { return false }
      limits["maxSteps"] = 41
      log[0].data["limits"] = .object(limits)
      return true
    },
    .world("cost grown", worse: ["cost"]) { world, _ in
      world.cost *= 1.3
      return true
    },
    .world("tokens grown", worse: ["tokens"]) { world, _ in
      world.tokens = world.tokens * 13 / 10
      return true
    },
    .world("steps grown", worse: ["steps"]) { world, _ in
      for id in 0..<3 {
        world.decisions.insert([.init(tool: "search", input: ["id": JSONValue(id)])], at: 1)
      }
      return true
    },
  ]

  private static let cases: [GateChange] = [
    .world("input edited", worse: ["input"]) { world, _ in
      world.input += " today"
      return true
    },
    .world("another agent named", worse: ["agent"]) { world, _ in
      world.agentFile = "agent-2.json"
      return true
    },
    .world("human edited", worse: ["human"]) { world, _ in
      world.human = ["approvals": [["granted": true, "by": "ana", "tool": "*"]]]
      return true
    },
    .world("human gone", worse: ["human"]) { world, _ in
      world.human = nil
      return true
    },
    .world("whom it acts for edited", worse: ["policy_context"]) { world, random in
      if Bool.random(using: &random) {
        world.context["actorId"] = "admin"
      } else {
        world.context["attributes"] = ["role": "admin"]
      }
      return true
    },
    .world("left out", worse: ["skip"]) { world, _ in
      world.extra["skip"] = "later"
      return true
    },
    .world("case gone", worse: ["gone"]) { world, _ in
      world.isThere = false
      return true
    },
    .log("whom it acts for edited", worse: ["policy_context"]) { log, _ in
      log[0].data["policyContext"] = ["actorId": "admin"]
      return true
    },
    .log("end gone", worse: ["stop"]) { log, _ in
      guard log.last?.type == .stop else { return false }
      log[log.count - 1].data["reason"] = "blocked"
      log[log.count - 1].data["detail"] = nil
      return true
    },
  ]

  private static let asked: [GateChange] = [
    .world("expectation fails", worse: ["check"]) { world, _ in
      guard let place = world.place(of: "pay") else { return false }
      world.decisions.remove(at: place)
      return true
    },
    .world("expectation fails", worse: ["check"]) { world, _ in
      world.edit("pay") { $0["orderId"] = 8 }
    },
    .world("expectation deleted", worse: ["expectation_deleted"]) { world, _ in
      world.expected["toolsNotCalled"] = nil
      return true
    },
    .world("expectation weakened", worse: ["expectation_weakened"]) { world, _ in
      world.expected["toolsCalled"] = ["search", "pay", "note"]
      return true
    },
    .world("expectation warns alone", worse: ["expectation_weakened", "expectation_deleted"]) {
      world, _ in
      world.expected["severity"] = "warning"
      return true
    },
  ]
}

// MARK: - What must pass

extension GateChange {
  static let harmless: [GateChange] = paths + words + files

  private static let paths: [GateChange] = [
    .world("nothing") { _, _ in true },
    .world("another read more") { world, random in
      // As many steps as before: what more steps cost is another matter.
      guard let place = world.freeRead else { return false }
      world.decisions[place].append(
        .init(tool: "status", input: ["id": JSONValue(Int.random(in: 100...999, using: &random))]))
      return true
    },
    .world("a read less") { world, _ in
      guard let place = world.freeRead else { return false }
      world.decisions.remove(at: place)
      return true
    },
    .world("another read instead") { world, _ in
      guard let place = world.freeRead else { return false }
      world.decisions[place] = [.init(tool: "status", input: ["id": 500])]
      return true
    },
    .world("reads in another order") { world, _ in
      world.decisions.swapAt(0, 1)
      world.evidence = []
      return true
    },
    .world("a draft earlier") { world, _ in
      guard let place = world.place(of: "note") else { return false }
      world.decisions.insert(world.decisions.remove(at: place), at: 1)
      return true
    },
    .world("a write earlier") { world, _ in
      guard let place = world.place(of: "pay") else { return false }
      world.decisions.insert(world.decisions.remove(at: place), at: 1)
      return true
    },
    .world("reads side by side") { world, _ in
      guard let place = world.freeRead, place > 1 || world.decisions[1].count < 3 else {
        return false
      }
      let calls = world.decisions.remove(at: place)
      world.decisions[0] += calls
      return true
    },
    .world("calls of one decision turned round") { world, _ in
      guard let place = world.decisions.firstIndex(where: { $0.count > 1 }) else { return false }
      world.decisions[place].reverse()
      return true
    },
    .world("other input of a read") { world, _ in
      guard let place = world.freeRead else { return false }
      world.decisions[place][0].input = ["id": 700]
      return true
    },
    .world("other input of a draft") { world, _ in
      world.edit("note") { $0["tone"] = "warm" }
    },
    .world("other input of a write that nobody speaks of") { world, _ in
      world.edit("pay") { $0["memo"] = "best wishes" }
    },
    .world("a number written otherwise") { world, _ in
      world.edit("pay") { $0["amount"] = JSONNumber(token: "12.0").map(JSONValue.number) }
    },
    .world("a read tried twice") { world, _ in
      world.flaky.insert("search")
      return true
    },
  ]

  private static let words: [GateChange] = [
    .world("another answer") { world, random in
      world.answer = "Paid, number \(Int.random(in: 0...999, using: &random))."
      return true
    },
    .world("cites nothing") { world, _ in
      world.evidence = []
      return true
    },
    .world("a tool returns something else") { world, _ in
      world.results["search"] = ["done": "otherwise", "more": [1, 2]]
      return true
    },
    .log("another person approves") { log, _ in
      guard let place = log.firstIndex(where: { $0.type == .approval }) else { return false }
      log[place].data["by"] = "bo"
      return true
    },
    .log("other identifiers and times") { log, random in
      let id = "run-\(Int.random(in: 0...99_999, using: &random))"
      for index in log.indices {
        log[index].runId = id
        log[index].t += 5_000_000
      }
      return true
    },
    .log("another answer") { log, _ in
      guard
        let place = log.lastIndex(where: { $0.type == .decision && $0.data["kind"] == "answer" })
      else { return false }
      log[place].data["text"] = "All done."
      return true
    },
    .log("another model") { log, _ in
      log[0].data["model"] = ["provider": "openai", "name": "large-2"]
      return true
    },
    .log("another policy") { log, _ in
      log[0].data["policyDigest"] = .string(String(repeating: "ab", count: 32))
      return true
    },
    .log("a reason in other words") { log, _ in
      guard let place = events(log, of: "pay", .policyDecision).first else { return false }
      log[place].data["reason"] = "in other words"
      return true
    },
  ]

  private static let files: [GateChange] = [
    .world("another model") { world, _ in
      world.modelName = "large-2"
      return true
    },
    .world("another policy") { world, _ in
      world.ruleSuffix = "-renamed"
      return true
    },
    .world("a rule more") { world, _ in
      world.rules.append(("drop_*", "deny"))
      return true
    },
    .world("another prompt") { world, _ in
      world.system += " Be brief."
      return true
    },
    .world("limit tightened") { world, _ in
      world.limits["maxSteps"] = 39
      world.limits["maxCost"] = 8.5
      return true
    },
    .world("cheaper") { world, _ in
      world.cost /= 2
      world.tokens = world.tokens * 3 / 4
      return true
    },
    .world("dearer within tolerance") { world, _ in
      world.cost *= 1.05
      world.tokens = world.tokens * 21 / 20
      return true
    },
    .world("a comment") { world, _ in
      world.comment = "# nothing to see\n"
      return true
    },
    .world("tags and notes") { world, _ in
      world.extra = ["tags": ["new"], "notes": "seen"]
      return true
    },
    .world("expectation added") { world, _ in
      world.expected["maxInvalidDecisions"] = 2
      return true
    },
    .world("expectation strengthened") { world, _ in
      world.expected["toolsNotCalled"] = ["drop_*", "format_*"]
      return true
    },
  ]
}
