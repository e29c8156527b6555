import AgentTrace
import Testing
import TraceJudging

/// What a person says in an import: nobody knows who it was, nor whether the first words are a reply.
struct ImportedReplyTests {
  private static func outcome(_ rule: JSONValue, isImported: Bool) throws -> Outcome? {
    func said(_ text: String, step: Int) -> Event {
      var data = HumanReplied(text: .string(text), by: "user").encoded
      if isImported { data["source"] = ["pointers": ["/messages/0"]] }
      return Event(seq: 0, step: step, type: .humanReplied, runId: "run", data: data)
    }
    var run = RecordedRun()
    run.answer("done")
    run.stop()
    var events = run.events
    events.insert(said("Delete it", step: 0), at: 1)
    events.insert(said("yes", step: 1), at: events.count - 1)
    for index in events.indices { events[index].seq = index }
    let expectations = try Expectations(parsing: ["time": [rule]])
    return Judge.judge(events, against: expectations).outcomes.first?.outcome
  }

  @Test("what stands before anything the agent did is neither surely a reply nor surely none")
  func request() throws {
    let rule: JSONValue = ["never": ["reply": ["$contains": "Delete"]]]
    #expect(try Self.outcome(rule, isImported: true) == .unverifiable)
    #expect(try Self.outcome(rule, isImported: false) == .fail)
    let later: JSONValue = ["eventually": ["reply": ["$contains": "yes"]]]
    #expect(try Self.outcome(later, isImported: true) == .pass)
  }

  @Test("who said it is not known, whatever name a rule asks for")
  func speaker() throws {
    let rule: JSONValue = ["never": ["reply": ["$contains": "yes"], "by": "ana"]]
    #expect(try Self.outcome(rule, isImported: true) == .unverifiable)
    #expect(try Self.outcome(rule, isImported: false) == .pass)
    let other: JSONValue = ["never": ["reply": ["$contains": "no"], "by": "ana"]]
    #expect(try Self.outcome(other, isImported: true) == .pass)
  }
}
