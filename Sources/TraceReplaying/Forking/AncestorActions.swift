import AgentTrace
import TraceStorage

/// What the runs that a fork descends from did, and it has not in its own log: the world holds their effects all the
/// same.
struct AncestorActions: Sendable {
  /// Why a person is asked about an action, by its id.
  private var reasons: [String: String] = [:]
  /// Why they are asked about any, because nobody knows what some of these runs did.
  private var reasonForAll: String?

  /// Nothing is known to be done: a run that is no fork, or one in which nothing has an effect.
  init() {}

  /// What the parent of a fork did behind the last event that both share, and the runs before it.
  ///
  /// - Parameter folders: where the logs of those are looked for.
  /// - Throws: `LogError` where the parent's log cannot be opened.
  init(ofLog path: String, runId: String, behind shared: Int, in folders: [String]) throws {
    let parent = try take(path, behind: shared) { LaterAction.reason($0) }
    if parent.isWhole == false { lack(runId) }
    takeAll(from: parent.start, behind: shared, in: folders, seen: [runId])
  }

  /// What the runs did that a fork descends from, as far as their logs are found.
  init(before parent: ParentRun?, in folders: [String]) {
    takeAll(from: parent, behind: .max, in: folders, seen: [])
  }

  /// Why a person is asked before a call is made that nothing recorded answers; `nil` where it does no harm.
  func reason(toAskAbout call: ProposedCall, _ tool: ToolDefinition) -> String? {
    guard tool.sideEffect == .write || tool.agent != nil else { return nil }
    return reasons[call.actionId] ?? reasonForAll
  }

  private static let depthLimit = 64

  /// - Parameter shared: what the fork has of the run whose parent comes first.
  private mutating func takeAll(
    from first: ParentRun?, behind shared: Int, in folders: [String], seen: Set<String>
  ) {
    var (next, shared, seen) = (first, shared, seen)
    let isDirect = seen.isEmpty
    while let parent = next, parent.relation == "fork" {
      let runId = parent.runId
      let logs = LogFiles.logs(ofRun: runId, in: folders)
      guard seen.insert(runId).inserted, seen.count <= Self.depthLimit, !logs.isEmpty else {
        return lack(runId)
      }
      shared = min(shared, parent.seq)
      next = nil
      for log in logs {
        let words: (Int) -> String =
          isDirect && seen.count == 1
          ? { LaterAction.reason($0) } : { LaterAction.reason($0, of: runId) }
        let found = try? take(log, behind: shared, words)
        if found?.isWhole != true { lack(runId) }
        next = next ?? found?.start
      }
    }
  }

  private mutating func lack(_ runId: String) {
    reasonForAll = reasonForAll ?? LaterAction.reason(lacking: runId)
  }

  /// What was executed behind an event.
  ///
  /// - Returns: what the log says of its own parent, and whether it could be read to its end.
  private mutating func take(
    _ path: String, behind shared: Int, _ words: (Int) -> String
  ) throws -> (start: ParentRun?, isWhole: Bool) {
    var reader = try LogReader(path: path)
    let writes = LaterWrites(ofLog: path)
    var start: ParentRun?
    var actions: [String: String] = [:]
    do {
      while let event = try reader.next() {
        switch event.type {
        case .runStarted: start = try RunStarted(decoding: event.data).parent
        case .decision:
          actions = [:]
          for call in (try? DecisionPayload(decoding: event.data))?.decision.calls ?? [] {
            actions[call.callId] = call.actionId
          }
        case .toolStarted where event.seq > shared:
          guard let action = event.data["callId"]?.stringValue.flatMap({ actions[$0] }) else {
            continue
          }
          // A call of an agent does what its run does.
          if event.data["child"] != nil, !writes.mayHaveWritten(startedAt: event.seq) { continue }
          reasons[action] = reasons[action] ?? words(event.seq)
        default: continue
        }
      }
    } catch {
      return (start, false)
    }
    return (start, true)
  }
}
