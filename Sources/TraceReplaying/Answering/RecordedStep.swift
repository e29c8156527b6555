public import AgentRuntime
public import AgentTrace

/// One step of a recorded run: what its boundary was asked, and what it answered.
public struct RecordedStep: Sendable {
  /// Which step; 0 holds what came before the first.
  public let step: Int
  /// How many events stand before it in the log.
  public let start: Int
  /// Its events, in log order, up to the run's stop.
  public let events: [Event]
  /// How the recording ends behind these events; `nil` where it goes on.
  public let ending: RecordingEnd?

  private var replies: [Try: Int] = [:]
  /// What models said that played a person, in sessions before this one too: a run that goes on behind such a reply, of
  /// which nothing had come, makes of it what it says.
  private var personReplies: [Try: Event] = [:]
  private var proposals: [String: ProposedCall] = [:]
  private var attempts: [String: [Start]] = [:]
  private var results: [String: Int] = [:]
  /// The calls that are runs of other agents.
  private var children: Set<String> = []
  private var approvals: [String: Int] = [:]
  private var words: Int?
  private var notes: [String: [ToolNote]] = [:]
  private var noteTimes: [String: Int] = [:]
  /// How many starts of a call came to nothing that is known: its process died, or a person says that it
  /// has not happened. What the log holds of the call came of a later one.
  private var undone: [String: Int] = [:]
  private var startNotes: [MemoryNote] = []
  private var lists: [List] = []

  /// A list of tools that was taken in before the packet of a try.
  private struct List {
    var source: String
    var tryNumber: Int
    var index: Int
  }

  /// One start of a tool.
  private struct Start {
    var attempt: Int?
    var t: Int
    /// Whether an attempt before it left its effect unknown.
    var isEarlierEffectUnknown: Bool
  }

  private struct Try: Hashable {
    var purpose: String
    var number: Int
    var attempt: Int
  }

  /// Finds what of the events answers a request. The first of two answers to one request counts.
  ///
  /// - Parameter earlier: events of the step that sessions before this one made. They say what the
  ///   later ones are about, and answer nothing.
  init(
    step: Int, start: Int, behind earlier: [Event] = [], events: [Event], ending: RecordingEnd?
  ) {
    self.step = step
    self.start = start
    self.events = events
    self.ending = ending
    var number = 0
    var ofPerson = 0
    for (index, event) in zip((-earlier.count)..., earlier + events) {
      let callId = event.data["callId"]?.stringValue ?? ""
      switch event.type {
      case .toolsListed:
        guard index >= 0 else { continue }
        lists.append(
          List(
            source: event.data["source"]?.stringValue ?? "", tryNumber: number + 1, index: index))
      case .contextBuilt: number += 1
      case .modelResult:
        guard let purpose = event.data["purpose"]?.stringValue,
          let attempt = event.data["attempt"]?.intValue
        else { continue }
        if purpose == ModelPurpose.human.rawValue, attempt == 1 { ofPerson += 1 }
        let key = Try(
          purpose: purpose, number: Self.number(of: purpose, inTry: number, ofPerson),
          attempt: attempt)
        if index >= 0 { replies[key] = replies[key] ?? index }
        if purpose == ModelPurpose.human.rawValue {
          personReplies[key] = personReplies[key] ?? event
        }
      case .decision:
        for call in (try? DecisionPayload(decoding: event.data))?.decision.calls ?? [] {
          proposals[call.callId] = call
        }
      case .toolStarted:
        attempts[callId, default: []].append(
          Start(
            attempt: event.data["attempt"]?.intValue, t: RecordedTime.clamped(event.t),
            isEarlierEffectUnknown: event.data["earlierEffect"] == "unknown"))
        notes[callId] = nil
        if event.data["child"] != nil { children.insert(callId) }
      case .memoryRead, .memoryWritten: take(note: event)
      case .toolResult: results[callId] = results[callId] ?? index
      case .approval:
        approvals[callId] = approvals[callId] ?? index
        if results[callId] == nil, let starts = attempts[callId] { undone[callId] = starts.count }
      case .runResumed:
        for (callId, starts) in attempts where results[callId] == nil {
          undone[callId] = starts.count
        }
      case .humanReplied: words = words ?? index
      default: break
      }
    }
  }
}

extension RecordedStep {
  /// Notes of a call belong to its last start.
  private mutating func take(note event: Event) {
    guard let note = try? MemoryNote(decoding: event.data) else { return }
    if let callId = note.callId {
      notes[callId, default: []].append(
        event.type == .memoryRead ? .read(note) : .written(note))
      noteTimes[callId] = RecordedTime.clamped(event.t)
    } else if event.type == .memoryRead {
      startNotes.append(note)
    }
  }

  /// What a source said when it was asked at this moment, and the number of the event that holds it; `nil`
  /// where nothing is recorded. A run that starts or goes on has a list of each source before any other.
  ///
  /// - Parameter seq: only what stands behind this event.
  func offer(_ request: ToolListRequest, behind seq: Int) -> (offer: ToolOffer, seq: Int)? {
    let list = lists.first { list in
      guard list.source.hasSameUTF8(as: request.source), events[list.index].seq > seq else {
        return false
      }
      switch request.timing {
      case .session: return true
      case .packet(let tryNumber): return list.tryNumber == tryNumber
      }
    }
    guard let list, let listed = try? ToolsListed(decoding: events[list.index].data) else {
      return nil
    }
    // What came of a list follows from it again.
    var offer =
      if let error = listed.error, listed.offered.isEmpty { ToolOffer(error: error) } else {
        ToolOffer(tools: listed.offered)
      }
    offer.server = listed.server
    return (offer, events[list.index].seq)
  }

  /// The note that a store gave when the run started; `nil` where it gave none.
  func recalled(_ address: MemoryAddress) -> KeptNote? {
    let note = startNotes.first {
      $0.source == "store" && $0.scope.hasSameUTF8(as: address.scope.rawValue)
        && $0.key.hasSameUTF8(as: address.key)
    }
    guard let note, let value = note.value else { return nil }
    return KeptNote(
      address: address, value: value, tags: note.tags, expires: note.expires, keptAt: note.keptAt,
      runId: note.from?.runId ?? "", seq: note.from?.seq ?? 0)
  }
}

/// How a recording ends.
public enum RecordingEnd: Sendable, Hashable {
  /// With the run's stop.
  case stop
  /// With no stop: its writer died, or is still writing. From this byte of the file on nothing whole
  /// stands, where anything does.
  case unfinished(tornAt: Int?)
  /// With events that the log says are missing, or that damage took: from this number on.
  case missing(from: Int)
  /// With a run that was opened again: its `run_resumed` has this number.
  case resumed(Int)
}

extension RecordedStep {
  /// Which try a reply belongs to: a summary, a plan and a look back are made for the packet behind it, and a person is asked
  /// any number of times.
  private static func number(of purpose: String, inTry number: Int, _ ofPerson: Int) -> Int {
    switch ModelPurpose(rawValue: purpose) {
    case .summarize, .plan, .reflect: number + 1
    case .human: ofPerson
    default: number
    }
  }

  /// The model's reply, or why there was none, at one try of this step and one attempt of that try,
  /// both from 1; `nil` where none is recorded.
  ///
  /// - Parameters:
  ///   - purpose: what the model was called for.
  ///   - number: which try of the step; of replies in the place of a person, which question of the step.
  ///   - attempt: which attempt of that try.
  ///   - digest: of the request; a reply to another question is none. `nil` takes any.
  public func reply(
    for purpose: ModelPurpose = .decide, toTry number: Int, attempt: Int,
    withDigest digest: String? = nil
  ) -> ModelAnswer? {
    let key = Try(purpose: purpose.rawValue, number: number, attempt: attempt)
    guard let index = replies[key],
      let result = try? ModelResult(decoding: events[index].data)
    else { return nil }
    if let digest {
      guard let recorded = result.requestDigest, recorded.hasSameUTF8(as: digest) else {
        return nil
      }
    }
    return ModelAnswer(recorded: result)
  }

  /// The call that the step's decision proposed under an id; `nil` where it proposed none.
  public func call(_ callId: String) -> ProposedCall? { proposals[callId] }

  /// An event as it is recorded today: older programs named the action of an approval otherwise.
  func asToday(_ event: Event) -> Event {
    guard event.type == .approval, let approval = try? Approval(decoding: event.data),
      let call = call(approval.callId)
    else { return event }
    var today = event
    today.data["actionId"] = .string(approval.recomputed(for: call).actionId)
    return today
  }

  /// What one attempt of a call came to; `nil` where that is not recorded.
  ///
  /// Of an attempt that was followed by another one the log holds no result: it failed, or it would
  /// not have been. The time that an answer took is that from its start to its end in the log.
  public func answer(toCall callId: String, attempt: Int) -> ToolAnswer? {
    guard attempt >= 1, let starts = attempts[callId],
      var position = starts.firstIndex(where: { $0.attempt == attempt })
    else { return nil }
    if let undone = undone[callId], starts.indices.contains(undone) {
      position = max(position, undone)
    }
    let began = starts[position].t
    if starts.indices.contains(position + 1) {
      let isUnknown = starts[position + 1].isEarlierEffectUnknown
      var answer = ToolAnswer(
        result: .error(
          "an earlier attempt failed; the log does not hold why", isEffectUnknown: isUnknown),
        elapsedMicroseconds: max(0, starts[position + 1].t - began))
      // What the log says of the attempts taken together, nothing before them changes.
      answer.saysNoEffect = !isUnknown
      answer.wasTriedAgain = true
      return answer
    }
    guard let index = results[callId],
      let payload = try? ToolResultPayload(decoding: events[index].data)
    else { return nil }
    if case .refused = payload.result { return nil }
    var answer = ToolAnswer(
      result: payload.result, signal: payload.signal,
      elapsedMicroseconds: max(0, RecordedTime.clamped(events[index].t) - began))
    answer.notes = notes[callId] ?? []
    answer.child = payload.child
    if case .error(_, let isUnknown) = payload.result { answer.saysNoEffect = !isUnknown }
    // A signal that ended the run came before, or may have, and its process died before it said so.
    if case .error = payload.result, let ending {
      if ending != .stop { answer.wasTriedAgain = false }
      if let cancellation, cancellation.after < index { answer.wasTriedAgain = false }
    }
    return answer
  }

  /// Whether a call that had yet to begin was refused once this one had ended: then it comes where it stands.
  func keepsOthersFromBeginning(_ callId: String) -> Bool {
    guard let index = results[callId] else { return false }
    return events[(index + 1)...].contains { event in
      event.type == .toolResult && event.data["status"] == "refused"
        && event.data["callId"]?.stringValue.map { attempts[$0] == nil } ?? false
    }
  }

  /// What is recorded of a call that read or wrote notes when the recording broke off before its result;
  /// `nil` where it breaks off elsewhere.
  func unfinishedAnswer(toCall callId: String, attempt: Int) -> ToolAnswer? {
    guard let ending, ending != .stop, results[callId] == nil, let found = notes[callId],
      let time = noteTimes[callId], let start = attempts[callId]?.last, start.attempt == attempt
    else { return nil }
    var answer = ToolAnswer(
      result: .error("the log holds no result of this call"),
      elapsedMicroseconds: max(0, time - start.t))
    answer.wasTriedAgain = false
    answer.notes = found
    return answer
  }

  /// What is known of a call whose run waits: its own run stopped for it, or another call began in its place before
  /// the recording broke off. `nil` where neither was so.
  ///
  /// - Parameters:
  ///   - callId: the call.
  ///   - attempt: from 1.
  ///   - underWay: calls of agents that sessions before this one began and this one went on with.
  ///   - limit: how many calls ran side by side.
  func pausedAnswer(
    toCall callId: String, attempt: Int, underWay: [String], limit: Int
  ) -> ToolAnswer? {
    guard let ending, results[callId] == nil, children.contains(callId),
      let start = attempts[callId]?.last(where: { $0.attempt == attempt })
    else { return nil }
    let leftAt = pauses(underWay: underWay, limit: limit)[callId]
    var answer = ToolAnswer(result: .error("its run waits"))
    if ending == .stop {
      guard let last = events.last(where: { $0.type == .stop }),
        let stop = try? Stop(decoding: last.data), !stop.isFinal
      else { return nil }
      answer.pause = stop.reason
    } else if leftAt != nil {
      // What its run waits for would stand in the stop that is not there.
      answer.pause = .blocked
    } else {
      return nil
    }
    // As long as nothing tells when, behind whatever else the log answers.
    answer.elapsedMicroseconds = leftAt.map { max(0, $0 - start.t) } ?? RecordedTime.limit / 4
    return answer
  }

  /// When calls of agents had left their places to others at the latest, without a result, by their ids.
  ///
  /// The log does not say when a run that a call is came to a pause. But a call begins only where fewer run than may:
  /// one that began beyond that took the place of such a call. Which of them it was changes nothing.
  private func pauses(underWay: [String], limit: Int) -> [String: Int] {
    var running = underWay
    var times: [String: Int] = [:]
    for event in events {
      guard let callId = event.data["callId"]?.stringValue else { continue }
      switch event.type {
      case .toolResult: running.removeAll { $0 == callId }
      case .toolStarted where !running.contains(callId):
        while running.count >= limit,
          let index = running.firstIndex(where: { children.contains($0) && results[$0] == nil })
        {
          times[running.remove(at: index)] = RecordedTime.clamped(event.t)
        }
        running.append(callId)
      default: break
      }
    }
    return times
  }

  /// Why a person was asked about a call because of what a run before the fork had made or been granted; `nil` where
  /// that was not so.
  func reasonAskedAgain(ofCall callId: String) -> String? {
    for event in events where event.type == .policyDecision {
      guard let verdict = try? Verdict(decoding: event.data),
        verdict.callId.hasSameUTF8(as: callId),
        verdict.status == .approvalRequired, AskedByFork.isReason(verdict.reason)
      else { continue }
      return verdict.reason
    }
    return nil
  }

  /// Whether a person was asked about a call that stood open where a fork begins: their word, or the stop
  /// that waits for it, comes before anything else of the call.
  func wasHeldAgain(_ callId: String) -> Bool {
    for event in events {
      if event.type == .stop { return event.data["reason"] == "approval_required" }
      guard event.data["callId"]?.stringValue?.hasSameUTF8(as: callId) ?? false else { continue }
      return event.type == .approval
    }
    return false
  }

  /// Why a call was refused because a value that it needs was gone; `nil` where it was not.
  func refusal(ofCall callId: String) -> String? {
    guard attempts[callId] == nil, let index = results[callId],
      case .refused(let reason)? = try? ToolResultPayload(decoding: events[index].data).result,
      Redactor.isGoneReason(reason)
    else { return nil }
    return reason
  }

  /// What a person said to a call that waited; `nil` where nobody answered, or that is not recorded, or
  /// where a model did in their place.
  public func approval(ofCall callId: String) -> ApprovalAnswer? {
    guard let index = approvals[callId], let approval = try? Approval(decoding: events[index].data),
      approval.modelResult == nil
    else { return nil }
    return ApprovalAnswer(recorded: approval)
  }

  /// What a person said to the step's question or answer; `nil` where nobody spoke, that is not recorded,
  /// what was said is lost, or a model spoke in their place.
  public var personAnswer: PersonAnswer? {
    guard let words, let reply = try? HumanReplied(decoding: events[words].data),
      let text = reply.text.stringValue, reply.modelResult == nil
    else { return nil }
    return PersonAnswer(text: text, by: reply.by ?? "")
  }

  /// Whether a person spoke, no model in their place, whatever is left of it.
  var holdsWords: Bool { words.map { events[$0].data["modelResult"] == nil } ?? false }

  /// The person that a model played when the step asked them for the n-th time, from 1; `nil` where none
  /// was asked then.
  func simulatedPerson(question: Int) -> SimulatedPerson? {
    let tries = personReplies.filter { $0.key.number == question }
    guard let last = tries.max(by: { $0.key.attempt < $1.key.attempt })?.value else { return nil }
    let model = last.data["model"]?.stringValue ?? ""
    let spoken = events.first {
      $0.seq > last.seq && $0.data["modelResult"] == JSONValue(last.seq)
    }
    var person = SimulatedPerson(
      model: ModelDefinition(
        provider: "recorded", name: model, implementation: .scripted(ModelScript(turns: []))),
      name: spoken?.data["by"]?.stringValue ?? "")
    if let spoken, spoken.type == .approval {
      person.approvalScope = spoken.data["scope"].flatMap(ApprovalScope.init)
    }
    return person
  }

  /// The signal that ended the run in this step; `nil` for any other end.
  var signal: String? {
    guard case .stop? = ending, let last = events.last, last.type == .stop,
      let stop = try? Stop(decoding: last.data), stop.reason == .cancelled
    else { return nil }
    let prefix = StopDetail.signal("")
    let detail = stop.detail ?? ""
    return detail.hasPrefix(prefix) ? String(detail.dropFirst(prefix.count)) : detail
  }

  /// The signal that ended the run in this step, or may have come in before its process died: a run that
  /// breaks off here had heard one or not. All that would tell is a call that failed and was not tried
  /// again.
  var possibleSignal: String? {
    switch ending {
    case nil: nil
    case .stop?: signal
    case .unfinished?, .missing?, .resumed?:
      events.contains { $0.type == .toolResult && $0.data["status"] == "error" } ? "unknown" : nil
    }
  }

  /// The signal that ended the run in this step, and the position among its events of the last one
  /// that the run would not have made after it; -1 where it made none such. `nil` for any other end.
  var cancellation: (signal: String, after: Int)? {
    signal.map { ($0, events.lastIndex(where: Self.isBeforeSignal) ?? -1) }
  }

  /// How many events of the step no run makes any more once it has seen a signal.
  var eventsBeforeSignal: Int { events.count(where: Self.isBeforeSignal) }

  /// Whether a run that makes this event has seen no signal so far.
  ///
  /// It looks for one before each step and each approval, behind the results of a decision's calls before others
  /// begin, and before anything is tried again. So a signal may come in as soon as the last such event is made: whatever
  /// the recorded run made from there on, it makes also with the signal there.
  static func isBeforeSignal(_ event: Event) -> Bool {
    switch event.type {
    // Verdicts stand before whatever a signal could change: behind a person's word one was looked for.
    case .toolsListed, .contextBuilt, .approval, .policyDecision, .toolStarted: true
    case .modelResult:
      // A person is asked about calls once no signal was seen behind the others.
      event.data["attempt"]?.intValue ?? 1 > 1
        || event.data["purpose"]?.stringValue == ModelPurpose.human.rawValue
    default: false
    }
  }
}

/// Times as a log may claim them, within what can be added without a thought.
enum RecordedTime {
  static let limit = 1 << 60

  static func clamped(_ t: Int) -> Int { min(max(0, t), limit) }
}
