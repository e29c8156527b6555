import AgentRuntime
import AgentTrace
import TraceStorage

/// Which events a fork shares with its parent, and what comes in place of the next one.
struct ForkPlan {
  /// The last event that both share.
  var shared: Int
  /// How the parent was started.
  var started: RunStarted
  /// The result that takes the place of the call's own; `nil` without such an edit.
  var editedResult: EditedResult?
  /// The packet that the edited decision answers, where it stands in the log already.
  var packet: ContextPacket?
  /// Refs of what the packets up to there hold or leave out.
  var refs: [String]
  /// What the parent did behind the fork, and the runs before it.
  var laterActions: AncestorActions
  /// What the making of contexts needs of the events up to there.
  var history: ContextHistory
  /// The agent files and policies that what both share was made with, by their digests.
  var files: [SharedFiles]

  /// An agent file and a policy that a part of a run was made with.
  struct SharedFiles: Hashable {
    var agentDigest: String?
    var policyDigest: String?
  }

  /// A result of the parent, with another in its place.
  struct EditedResult {
    var event: Event
  }
}

extension ForkPlan {
  /// Reads the parent and finds the place.
  ///
  /// - Parameters:
  ///   - runId: the parent's.
  ///   - folders: where the logs of runs before the parent are; `nil` where it does not matter what was done there, nor
  ///     in the rest of the parent's log.
  /// - Throws: ``ForkError``, or `LogError` where the log is damaged before the place.
  init(
    of path: String, runId: String, at point: ForkPoint, _ edits: ForkEdits, started: RunStarted,
    laterActionsIn folders: [String]?
  ) throws {
    if case .step(let number) = point {
      if number < 1 { throw ForkError(code: .nothingBefore, path: path) }
      if edits.result != nil { throw ForkError(code: .resultNeedsEvent, path: path) }
    }
    var scan = Scan(path: path, point: point, edits: edits)
    var reader = try LogReader(path: path)
    while !scan.isDone, let event = try reader.next() { try scan.take(event) }
    if !scan.isDone { try scan.end(reader.ending) }
    shared = scan.shared
    packet = scan.sharedPacket
    refs = scan.refs
    editedResult = scan.editedResult
    history = scan.history
    self.started = started
    files =
      [SharedFiles(agentDigest: started.agentDigest, policyDigest: started.policyDigest)]
      + scan.files
    laterActions = AncestorActions()
    guard let folders else { return }
    laterActions = try AncestorActions(ofLog: path, runId: runId, behind: shared, in: folders)
  }
}

/// Looks for the place of a fork, event by event.
private struct Scan {
  let path: String
  let point: ForkPoint
  let edits: ForkEdits
  var isDone = false
  var shared = -1
  var sharedPacket: ContextPacket?
  var editedResult: ForkPlan.EditedResult?
  var refs: [String] = ["system", "goal"]

  private var nextSeq = 0
  private var lastStep = 0
  private var packet: (seq: Int, packet: ContextPacket)?
  private var startedCalls: [String] = []
  /// The call whose result is awaited, where the event named its start.
  private var awaited: String?
  private var state = AgentState()
  private(set) var history = ContextHistory()
  /// Those that went on where the run was resumed with others.
  private(set) var files: [ForkPlan.SharedFiles] = []

  init(path: String, point: ForkPoint, edits: ForkEdits) {
    self.path = path
    self.point = point
    self.edits = edits
  }

  mutating func take(_ event: Event) throws {
    guard event.seq == nextSeq else { throw error(.missing(from: nextSeq)) }
    nextSeq += 1
    if case .step(let number) = point, event.step >= number, event.type != .stop {
      guard event.step == number else {
        throw error(.noSuchStep(number, last: lastStep))
      }
      return finish(sharing: event.seq - 1)
    }
    lastStep = max(lastStep, event.step)
    if edits.result != nil, try takeForResult(event) { return }
    try note(event)
    guard case .event(event.seq) = point, edits.result == nil else { return }
    if edits.reply == nil {
      if event.type == .stop { throw error(.stopped(event.seq)) }
      return finish(sharing: event.seq)
    }
    guard let packet,
      event.type == .contextBuilt || event.type == .modelResult
        || event.type == .decision
    else { throw error(.noDecision(event.seq)) }
    sharedPacket = packet.packet
    finish(sharing: packet.seq)
  }

  /// - Returns: whether the event is the result that is replaced.
  private mutating func takeForResult(_ event: Event) throws -> Bool {
    guard case .event(let seq) = point else { return false }
    let callId = event.data["callId"]?.stringValue ?? ""
    if event.type == .toolResult, event.seq == seq || awaited.map(callId.hasSameUTF8) ?? false {
      guard startedCalls.contains(callId), let edited = edits.result else {
        throw error(.noResult(seq, type: event.type.rawValue))
      }
      var payload = try read(event, ToolResultPayload.init(decoding:))
      payload.result = edited
      payload.signal = nil
      var event = event
      event.data = payload.encoded
      editedResult = ForkPlan.EditedResult(event: event)
      finish(sharing: event.seq - 1)
      return true
    }
    if event.type == .toolStarted {
      startedCalls.append(callId)
      if event.seq == seq { awaited = callId }
    } else if event.type == .decision {
      startedCalls = []
    }
    if event.seq == seq, event.type != .toolStarted {
      throw error(.noResult(seq, type: event.type.rawValue))
    }
    return false
  }

  private mutating func note(_ event: Event) throws {
    if event.type == .contextBuilt {
      let packet = try read(event, ContextPacket.init(decoding:))
      self.packet = (event.seq, packet)
    }
    history.take(event)
    if event.type == .runResumed {
      let resumed = try read(event, RunResumed.init(decoding:))
      if resumed.changesFiles {
        files.append(
          .init(agentDigest: resumed.agentDigest, policyDigest: resumed.policyDigest))
      }
    }
    if !edits.droppedRefs.isEmpty { state.apply(event) }
  }

  private func read<Payload>(
    _ event: Event, _ decode: (JSONObject) throws(PayloadError) -> Payload
  ) throws -> Payload {
    do { return try decode(event.data) } catch {
      throw self.error(.unreadable(seq: event.seq, type: event.type.rawValue, error))
    }
  }

  private mutating func finish(sharing seq: Int) {
    shared = seq
    isDone = true
    let items = packet.map { $0.packet.included + $0.packet.omittedRefs } ?? []
    var known = Set(refs.map { Array($0.utf8) })
    for ref in items.map(\.ref) + state.observations.recent.map(\.id)
    where known.insert(Array(ref.utf8)).inserted {
      refs.append(ref)
    }
  }

  /// The log ended before the place was found.
  func end(_ ending: LogReader.Ending?) throws {
    var tornAt: Int?
    if case .torn(let offset)? = ending { tornAt = offset }
    switch point {
    case .step(let number): throw error(.noSuchStep(number, last: lastStep))
    case .event(let seq):
      guard seq >= nextSeq else { throw error(.noResult(seq, type: "tool_started")) }
      throw error(.noSuchEvent(seq, last: nextSeq - 1, tornAt: tornAt))
    }
  }

  private func error(_ code: ForkError.Code) -> ForkError { ForkError(code: code, path: path) }
}
