/// What a log says about itself at its end, for readers in a hurry: derived, never the truth.
public struct RunSummary: Sendable, Hashable {
  /// The most bytes of a summary's canonical form.
  public static let limitBytes = 16 * 1024
  /// More calls than this never fit, so no more are kept.
  private static let callLimit = 256

  private var outlines: [CallOutline] = []
  private var hasAllCalls = true
  /// The events that first tell of calls that no decision holds.
  private var strays: [Int] = []
  private var stop: JSONValue = .null
  private var answer: JSONValue?
  /// What `run_started` and whatever went unseen say of channels that are not whole.
  private var recorded = RecordedChannels()
  private var mayHideCalls = false
  /// Whether a tool was called of which the name is not told.
  private var mayHideTool = false
  /// Whether what some events say does not fit what others do, so that only all of them together tell.
  private var isContradicted = false
  private var contradictions = CallContradictions()
  /// Whether the run may not go on.
  private var isOver = false
  private var nextSeq = 0

  /// The summary of nothing.
  public init() {}

  /// Takes in the next event. Bounded in memory, however long the run.
  public mutating func apply(_ event: Event) {
    // Calls may be hidden where events are missing, or where a decision cannot be read.
    if event.seq != nextSeq { mayHideCalls = true }
    nextSeq = event.seq + 1
    switch event.type {
    case .runStarted:
      recorded.formUnion(RunStarted.recorded(in: event.data))
      // What the tasks of a pipeline call stands in their own logs.
      if event.beginsPipelineAlone { mayHideCalls = true }
    case .unseen: recorded.formUnion(Unseen.channels(in: event.data))
    case .decision:
      if isOver { isContradicted = true }
      guard let payload = try? DecisionPayload(decoding: event.data) else {
        mayHideCalls = true
        return
      }
      append(payload, seq: event.seq)
    case .policyDecision, .toolStarted, .toolResult:
      // What a child calls stands in its own log.
      if event.data["child"] != nil { mayHideCalls = true }
      if isOver { isContradicted = true }
      guard let callId = event.data["callId"]?.stringValue else { return }
      let note = CallNote(event, callId: callId)
      if let index = outlines.lastIndex(where: { $0.callId.hasSameUTF8(as: callId) }) {
        apply(note, at: index)
      } else if var stray = CallOutline(stray: callId, event), hasAllCalls {
        // Which tool it was nobody knows; an import says so itself.
        if stray.tool.isEmpty, recorded["calls"] == nil { mayHideTool = true }
        stray.apply(note)
        if stray.isResultUnread { isContradicted = true }
        strays.append(event.seq)
        append(stray)
      }
    case .stop:
      if isOver { isContradicted = true }
      isOver = event.data["final"] != false
      stop = .object(
        JSONObject(present: [
          ("reason", event.data["reason"]), ("detail", event.data["detail"]),
          ("final", event.data["final"]),
        ]))
      answer = event.data["answer"]
    case .runResumed:
      stop = .null
      answer = nil
      isOver = false
    default: break
    }
  }

  /// Takes in that the events up to this number are missing, as a `gap` of a repaired log says.
  public mutating func markGap(through last: Int) {
    mayHideCalls = true
    nextSeq = last + 1
  }

  private mutating func apply(_ note: CallNote, at index: Int) {
    if contradictions.fault(in: note, of: outlines[index], at: index) != nil {
      isContradicted = true
    }
    contradictions.take(note, of: outlines[index], at: index)
    outlines[index].apply(note)
    if note.type == .toolResult, outlines[index].isResultUnread { isContradicted = true }
  }

  private mutating func append(_ payload: DecisionPayload, seq: Int) {
    for call in payload.decision.calls where hasAllCalls {
      // It may be the call that something told of before, or another of its id.
      if !strays.isEmpty,
        outlines.last(where: { $0.callId.hasSameUTF8(as: call.callId) })?.isStray ?? false
      {
        isContradicted = true
      }
      var outline = CallOutline(call: call, caller: payload.caller ?? "agent", seq: seq)
      // What is derived from the source stands in no summary.
      outline.isOfSimulatedUser = payload.isOfUser
      append(outline)
    }
  }

  private mutating func append(_ outline: CallOutline) {
    outlines.append(outline)
    if outlines.count > Self.callLimit { leaveOutCalls() }
  }

  private mutating func leaveOutCalls() {
    hasAllCalls = false
    outlines = []
  }

  /// The same as writers made it that passed over calls that no decision holds; `nil` where there are none.
  public var withoutStrays: RunSummary? {
    guard !strays.isEmpty else { return nil }
    var copy = self
    copy.outlines.removeAll { strays.contains($0.seq) }
    copy.mayHideTool = false
    copy.isContradicted = false
    return copy
  }

  /// The same as writers made it that did not see what contradicts itself; `nil` where nothing does.
  public var withoutContradictions: RunSummary? {
    guard isContradicted else { return nil }
    var copy = self
    copy.isContradicted = false
    return copy
  }

  /// The data of a `summary` mark: at most ``limitBytes``, else without `calls`, then without
  /// `answer` too.
  public func encoded(totals: Totals) -> JSONValue {
    var data: JSONObject = ["totals": .object(totals.encoded), "stop": stop]
    data["answer"] = answer
    if mayHideCalls || mayHideTool || isContradicted { data["mayHideCalls"] = true }
    if !recorded.isEmpty { data["recorded"] = .object(recorded.object) }
    if hasAllCalls { data["calls"] = .array(outlines.map(\.encoded)) }
    for key in ["calls", "answer"] where CanonicalJSON.encode(.object(data)).count > Self.limitBytes
    {
      data[key] = nil
    }
    return .object(data)
  }
}
