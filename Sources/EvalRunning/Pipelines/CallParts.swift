import AgentTrace
import Synchronization
import TraceStorage

/// Gives what an agent's run calls a tool with as parts of a task's output, while it runs: the input of each call that
/// went well, in the order in which the run's log has their results.
///
/// That order is the log's alone, so a run that goes on in its log gives the same parts from the first one on.
final class CallParts: Sendable {
  private let tool: String
  private let inputs = Mutex<[String: JSONValue]>([:])
  private let found: AsyncStream<JSONValue>.Continuation
  private let giving: Task<Void, Never>

  /// - Parameter emit: records a part; `false` where nobody waits for more.
  init(of tool: String, emit: @escaping @Sendable (JSONValue) async -> Bool) {
    self.tool = tool
    let (parts, found) = AsyncStream<JSONValue>.makeStream()
    self.found = found
    giving = Task {
      var isWanted = true
      for await part in parts where isWanted { isWanted = await emit(part) }
    }
  }

  /// Takes in the next event of the run.
  func take(_ event: Event) {
    guard event.type == .decision || event.type == .toolResult,
      let payload = try? EventPayload(of: event)
    else { return }
    switch payload {
    case .decision(let made):
      inputs.withLock { inputs in
        for call in made.decision.calls where call.name.hasSameUTF8(as: tool) {
          inputs[call.callId] = call.input
        }
      }
    case .toolResult(let end):
      let input = inputs.withLock { $0.removeValue(forKey: end.callId) }
      guard let input, case .ok = end.result else { return }
      found.yield(input)
    default: return
    }
  }

  /// Takes in what the run did before it goes on.
  ///
  /// - Throws: where its log cannot be read.
  func take(logAt path: String) throws {
    var reader = try LogReader(path: path)
    while let event = try reader.next() { take(event) }
  }

  /// Waits until every part is recorded. Has to be called once the run has ended, however it did.
  func end() async {
    found.finish()
    await giving.value
  }
}
