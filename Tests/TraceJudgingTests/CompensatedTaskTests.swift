import AgentTrace
import Testing

@testable import TraceJudging

@Suite("Tasks of a pipeline that compensates")
struct CompensatedTaskTests {
  private static func facts(of changes: [PipelineEvent]) -> TaskFacts {
    var facts = TaskFacts(keepsOutputs: true)
    var start = RunStarted(agentName: "p", goal: "p")
    start.pipelineId = "p"
    start.inputs = [
      "pipeline": [
        "tasks": [
          ["id": "list", "kind": "command"], ["id": "w", "kind": "command"],
          ["id": "last", "kind": "command"],
        ]
      ]
    ]
    let payloads = [EventPayload.runStarted(start)] + changes.map { .pipeline($0) }
    for (seq, payload) in payloads.enumerated() {
      facts.apply(
        Event(
          seq: seq, step: seq == 0 ? 0 : 1, type: payload.type, runId: "r", t: seq,
          data: payload.encoded))
    }
    return facts
  }

  private static func started(_ id: String) -> PipelineEvent {
    .started(TaskStarted(node: TaskNode(id), attempt: 1, kind: "command", sideEffect: "write"))
  }

  private static func finished(_ id: String) -> PipelineEvent {
    .finished(TaskFinished(node: TaskNode(id), attempt: 1, output: "out"))
  }

  private static func undone(_ id: String, of seq: Int) -> PipelineEvent {
    .compensationFinished(CompensationFinished(node: TaskNode(id), of: seq, attempt: 1))
  }

  private static func end(_ recovery: TaskRecovery.Action) -> [PipelineEvent] {
    [
      started("list"), finished("list"), started("w"), finished("w"), started("last"),
      .failed(
        TaskFailed(
          node: TaskNode("last"), attempt: 1, error: TaskError(.toolFailure, "no"),
          recovery: TaskRecovery(recovery))),
    ]
  }

  private static func rollback(undoing ids: [String]) -> [PipelineEvent] {
    let start = RollbackStarted(
      checkpoint: nil, toSeq: 0, by: nil, reason: nil, compensations: ids.count, left: [],
      leftCount: 0)
    return [.rollbackStarted(start)] + ids.map { undone($0, of: 3) } + [
      .rolledBack(
        RolledBack(checkpoint: nil, toSeq: 0, tasks: [], compensated: ids.count, left: 0))
    ]
  }

  @Test("a start that says which attempt it is tells of those before it")
  func attempts() {
    let later = TaskStarted(
      node: TaskNode("w"), attempt: 5, kind: "command", sideEffect: "write")
    let facts = Self.facts(of: [.started(later), Self.finished("w"), Self.started("w")])
    #expect(facts.nodes[TaskNode("w")]?.attempts == 6)
  }

  @Test("what a rule has undone is undone, with no output; what failed and did nothing has failed")
  func undone() {
    let facts = Self.facts(of: Self.end(.compensate) + Self.rollback(undoing: ["w"]))
    #expect(facts.nodes[TaskNode("list")]?.status == .undone)
    #expect(facts.nodes[TaskNode("w")]?.status == .undone)
    #expect(facts.nodes[TaskNode("w")]?.output == nil)
    #expect(facts.nodes[TaskNode("w")]?.compensations == 1)
    #expect(facts.nodes[TaskNode("last")]?.status == .failed)
  }

  @Test("what failed and was undone is undone, and nothing is before all is")
  func failedAndUndone() {
    let whole = Self.end(.compensate) + Self.rollback(undoing: ["last", "w"])
    #expect(Self.facts(of: whole).nodes[TaskNode("last")]?.status == .undone)
    let open = Self.facts(of: Array(whole.dropLast()))
    #expect(open.nodes[TaskNode("w")]?.status == .finished)
    #expect(open.nodes[TaskNode("last")]?.status == .failed)
  }
}
