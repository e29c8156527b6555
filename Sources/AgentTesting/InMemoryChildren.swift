import AgentRuntime
import AgentTrace
import Synchronization

/// Runs the agents that others call in memory.
final class InMemoryChildren: ChildRunner {
  private let cancellation: Cancellation
  private let person: (any Person)?
  private let memory: any MemoryStore
  private let children = Mutex<[TestedRun.Child]>([])

  init(cancellation: Cancellation, person: (any Person)?, memory: any MemoryStore) {
    self.cancellation = cancellation
    self.person = person
    self.memory = memory
  }

  /// Those that ended or wait, by the identifiers of their runs: the order in which they ended is nobody's matter.
  var finished: [TestedRun.Child] {
    children.withLock { $0 }.sorted {
      ($0.events.first?.time ?? "", $0.state.runId) < ($1.events.first?.time ?? "", $1.state.runId)
    }
  }

  func boundary(
    of agent: AgentDefinition, clock: any RunClock, identifiers: any RunIDs
  ) -> AssembledBoundary {
    AssembledBoundary(
      for: agent, clock: clock, identifiers: identifiers, cancellation: cancellation,
      person: person, memory: memory, children: self,
      raise: { [cancellation] in cancellation.cancel(signal: $0) })
  }

  func run(_ request: ChildRequest) async -> ChildAnswer {
    let sink = InMemoryEventSink()
    do {
      let boundary = boundary(
        of: request.agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 0))
      let runtime = try Runtime(
        agent: request.agent, boundary: boundary, redactor: request.redactor(boundary.secrets))
      var start = Runtime.Start(goal: request.goal, runId: request.link.start.runId)
      start.parent = request.link.parent
      let state = try await runtime.run(start, into: sink)
      children.withLock {
        $0.append(TestedRun.Child(tool: request.tool, events: sink.events, state: state))
      }
      return ChildAnswer(state, answer: sink.events.last?.data["answer"]?.stringValue)
    } catch {
      return ChildAnswer(.failed("\(error)"))
    }
  }
}

extension ChildAnswer {
  fileprivate init(_ state: AgentState, answer: String?) {
    guard let stop = state.stop, let reason = StopReason(rawValue: stop.reason) else {
      self.init(.failed("the run did not stop"))
      return
    }
    guard stop.isFinal else {
      self.init(.paused(reason), elapsedMicroseconds: state.elapsedMicroseconds)
      return
    }
    let end = ChildEnd(
      runId: state.runId, reason: reason, detail: stop.detail, totals: state.totals,
      sealDigest: state.digest.hex)
    self.init(
      .ended(end, answer: answer, isEffectUnknown: false),
      elapsedMicroseconds: state.elapsedMicroseconds)
  }
}
