import AgentTrace
import TestSupport
import Testing

@Suite("Approvals that are not used up")
struct ApprovalsTests {
  private static func granted(
    _ callId: String, _ action: String = "a", _ scope: ApprovalScope? = .once, until: String? = nil
  ) -> Approval {
    Approval(
      callId: callId, actionId: action, granted: true, by: "ana", scope: scope, until: until)
  }

  /// Whose approval covers a call; `nil` where none does.
  private static func cover(
    _ approvals: Approvals, _ callId: String, _ action: String = "a", isOver: Bool = false
  ) -> String? {
    let found = approvals.finding(for: callId, actionId: action, isOver: { _ in isOver })
    if case .covered(let grant) = found { return grant.callId }
    return nil
  }

  @Test("one approval lets its own call begin once, and no other of the same action")
  func once() {
    var approvals = Approvals()
    approvals.take(Self.granted("1"))
    #expect(Self.cover(approvals, "1") == "1" && Self.cover(approvals, "2") == nil)
    #expect(Self.cover(approvals, "1", "b") == nil && approvals.actionIds == ["a"])
    approvals.begin("2")
    #expect(Self.cover(approvals, "1") == "1")
    approvals.begin("1")
    #expect(approvals.isEmpty && Self.cover(approvals, "1") == nil && approvals.actionIds == [])
    approvals.begin("1")
    approvals.end("1")
    #expect(approvals == Approvals())
  }

  @Test("one for several calls keeps a place for its own, and each that holds one takes one")
  func several() {
    var approvals = Approvals()
    approvals.take(Self.granted("1", "a", .calls(3)))
    for callId in ["2", "3"] {
      #expect(Self.cover(approvals, callId) == "1")
      approvals.hold(callId, onThatOf: "1")
    }
    #expect(Self.cover(approvals, "4") == nil, "two are held, and one is kept")
    approvals.hold("4", onThatOf: "1")
    #expect(Self.cover(approvals, "4") == nil)
    approvals.begin("2")
    approvals.end("3")
    #expect(Self.cover(approvals, "4") == "1", "3 was let through and never began")
    approvals.hold("4", onThatOf: "1")
    approvals.begin("4")
    #expect(Self.cover(approvals, "5") == nil && Self.cover(approvals, "1") == "1")
    approvals.begin("1")
    #expect(approvals.isEmpty)
  }

  @Test(
    "what was a call's own lapses with it; a denial takes back what was said of the call before")
  func lapsed() {
    for word in [true, false] {
      var approvals = Approvals()
      approvals.take(Self.granted("1", "a", .calls(2)))
      if word {
        approvals.end("1")
      } else {
        approvals.take(Approval(callId: "1", actionId: "a", granted: false, by: "bo"))
      }
      #expect(Self.cover(approvals, "2") == "1")
      approvals.hold("2", onThatOf: "1")
      #expect(Self.cover(approvals, "3") == nil)
    }
  }

  @Test(
    "for an input, and as it was before there were scopes, any number of calls is covered",
    arguments: [ApprovalScope.input, nil])
  func input(scope: ApprovalScope?) {
    var approvals = Approvals()
    for _ in 0..<3 { approvals.take(Self.granted("1", "a", scope)) }
    #expect(approvals.grants.count == 1)
    for callId in ["1", "2", "3"] {
      #expect(Self.cover(approvals, callId) == "1")
      approvals.hold(callId, onThatOf: "1")
      approvals.begin(callId)
      approvals.end(callId)
    }
    #expect(approvals.grants.first?.holders == [])
  }

  @Test("what has run out covers nothing, and is what is found where nothing else is")
  func over() {
    var approvals = Approvals()
    approvals.take(Self.granted("1", "a", .input, until: "then"))
    #expect(Self.cover(approvals, "2", isOver: true) == nil)
    let found = approvals.finding(for: "2", actionId: "a", isOver: { _ in true })
    #expect(found.recorded == ["callId": "1", "until": "then", "expired": true])
    approvals.take(Self.granted("3", "a", .calls(2)))
    #expect(Self.cover(approvals, "2", isOver: true) == "3")
    #expect(Self.cover(approvals, "2", isOver: false) == "1")
  }

  @Test("whatever happens, no more calls begin on approvals than were granted, and none is lost")
  func counted() {
    var generator = Seeded(seed: 7)
    for _ in 0..<2_000 {
      var approvals = Approvals()
      var room = 0
      var begun = 0
      for number in 0..<Int.random(in: 1...12, using: &generator) {
        let callId = "\(number)"
        switch Int.random(in: 0...3, using: &generator) {
        case 0:
          let count = Int.random(in: 1...3, using: &generator)
          approvals.take(Self.granted(callId, "a", .calls(count)))
          room += count
          if Bool.random(using: &generator) {
            approvals.begin(callId)
            begun += 1
          } else {
            approvals.end(callId)
            room -= 1
          }
        default:
          let isCovered = Self.cover(approvals, callId) != nil
          #expect(isCovered == (begun < room))
          guard let owner = Self.cover(approvals, callId) else { continue }
          approvals.hold(callId, onThatOf: owner)
          if Bool.random(using: &generator) {
            approvals.begin(callId)
            begun += 1
          }
          approvals.end(callId)
        }
      }
      #expect(approvals.isEmpty == (begun == room) && begun <= room)
    }
  }

  // MARK: In the state

  private static func run(order: [Int]) -> [Event] {
    var events: [Event] = []
    func add(_ payload: EventPayload, step: Int = 1) {
      events.append(
        Event(
          seq: events.count, step: step, type: payload.type, runId: "r", t: 0,
          data: payload.encoded))
    }
    let calls = (0..<4).map { ProposedCall(callId: "1.1.\($0)", name: "pay", input: ["n": 1]) }
    add(.runStarted(RunStarted(agentName: "a", goal: "g")), step: 0)
    add(.decision(DecisionPayload(.tool(calls))))
    add(
      .approval(
        Approval(
          callId: "1.1.0", actionId: calls[0].actionId, granted: true, by: "ana",
          scope: .calls(3))))
    for call in calls[1...2] {
      add(
        .policyDecision(
          Verdict(
            callId: call.callId, tool: "pay", status: .allow, reason: "",
            context: [
              "approvedActionIds": [.string(call.actionId)], "approval": ["callId": "1.1.0"],
            ])))
    }
    for index in order {
      if index != 2 {
        add(
          .toolStarted(
            ToolStartedPayload(
              callId: calls[index].callId, tool: "pay", attempt: 1, idempotencyKey: "")))
      }
      add(
        .toolResult(
          ToolResultPayload(
            callId: calls[index].callId, tool: "pay",
            result: index == 2 ? .refused(reason: "limit") : .ok(data: 1))))
    }
    return events
  }

  @Test(
    "the calls of a decision spend in whatever order they begin and end",
    arguments: [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]])
  func order(order: [Int]) throws {
    func state(_ order: [Int]) -> AgentState {
      var state = AgentState()
      for event in Self.run(order: order) { state.apply(event) }
      return state
    }
    let state = state(order)
    #expect(state.digest == self.state([0, 1, 2, 3]).digest)
    // Three may begin: 0 and 1 did, 2 was let through and refused.
    #expect(state.approvals.grants.map(\.left) == [1] && state.approvedActionIds.count == 1)
    #expect(state.approvals.grants.first?.holders == [])
    let decoded = try AgentState(decoding: try #require(state.encoded.objectValue))
    #expect(decoded == state)
  }

  private func state(_ order: [Int]) -> AgentState {
    var state = AgentState()
    for event in Self.run(order: order) { state.apply(event) }
    return state
  }

  // MARK: Very many

  @Test("very many approvals and holders cost no more each than a few")
  func many() {
    let begun = ContinuousClock.now
    var approvals = Approvals()
    for index in 0..<80_000 { approvals.take(Self.granted("\(index)", "\(index)", .input)) }
    #expect(approvals.grants.count == Approvals.limit)
    #expect(approvals.grants.first?.callId == "70000" && approvals.grants.last?.callId == "79999")
    approvals = Approvals()
    approvals.take(Self.granted("0", "a", .calls(40_000)))
    for index in 1..<40_000 { approvals.hold("\(index)", onThatOf: "0") }
    approvals.hold("late", onThatOf: "0")
    for index in (2..<40_000).reversed() { approvals.begin("\(index)") }
    #expect(approvals.grants.first?.holders == ["0", "1"] && approvals.grants.first?.left == 2)
    #expect(begun.duration(to: .now) < .seconds(20))
  }

  // MARK: Wire form

  @Test("an approval is read as it was written, and one whose scope is none is refused")
  func wire() throws {
    for scope in [ApprovalScope.once, .calls(7), .input, nil] {
      for until in ["2026-12-24T18:00:00.000000Z", nil] {
        let approval = Self.granted("1", "a", scope, until: until)
        #expect(try Approval(decoding: approval.encoded) == approval)
      }
    }
    for scope in [["calls": 0], ["calls": -1], ["calls": "2"], [:], "run", 3] as [JSONValue] {
      var data = Self.granted("1").encoded
      data["scope"] = scope
      #expect(throws: PayloadError.self) { try Approval(decoding: data) }
    }
    // Of before there was the word.
    #expect(Self.granted("1", "a", nil).encoded["scope"] == nil)
    #expect(Self.granted("1").encoded["scope"] == ["calls": 1])
  }
}
