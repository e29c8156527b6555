import AgentTrace
import TraceMatching

/// One place in a run at which a moment happened, or may have.
struct Occurrence {
  /// The event that tells of it.
  var seq: Int
  /// Where it may stand. More than one place where the start of a call lies in a hole of the log, or where no
  /// decision holds the call: that was proposed and begun somewhere before the event that tells of it.
  var span: ClosedRange<Int>
  /// The steps in which it may stand.
  var steps: ClosedRange<Int>
  /// The call it belongs to, if to one.
  var call: Int?
  var sort: Moment.Sort
  /// Whether it is such a moment.
  var answer: Trilean
  /// The events that show it.
  var events: [Int]
  /// Whether there is such a place for certain: of a call, that it ran; of an answer, that it was one.
  var isThere = true

  /// Whether its place is known.
  var isPlaced: Bool { span.lowerBound == span.upperBound }
}

extension Occurrence {
  /// One at an event.
  fileprivate init(
    at seq: Int, step: Int, call: Int? = nil, sort: Moment.Sort, answer: Trilean
  ) {
    self.init(
      seq: seq, span: seq...seq, steps: step...step, call: call, sort: sort, answer: answer,
      events: [seq])
  }
}

/// Where things may have happened that the log does not show.
struct Hidden {
  var first: Int
  /// `nil` to the end.
  var last: Int?
}

extension JudgedRun {
  /// The places at which moments happen, in the order of the log.
  ///
  /// - Parameters:
  ///   - unknownCounts: whether a call of unknown effect counts as one that ran for certain.
  ///   - others: asks for the places of the same sorts at which none of the moments happens.
  func occurrences(
    of moments: [Moment], unknownCounts: Bool, others: Bool = false
  ) -> [Occurrence] {
    var found: [Occurrence] = []
    var sorts: [Moment.Sort] = []
    for moment in moments where !sorts.contains(moment.sort) { sorts.append(moment.sort) }
    for sort in sorts {
      let same = moments.filter { $0.sort == sort }
      for var occurrence in places(of: sort, same, unknownCounts) {
        if others { occurrence.answer = !occurrence.answer }
        // Whether there is such a place at all may not be known.
        if others || sort == .answer, !occurrence.isThere, occurrence.answer == .yes {
          occurrence.answer = .unknown
        }
        if occurrence.answer != .no { found.append(occurrence) }
      }
    }
    return found.sorted {
      ($0.span.lowerBound, $0.call ?? -1) < ($1.span.lowerBound, $1.call ?? -1)
    }
  }

  /// Where moments of these sorts may be hidden.
  func hidden(_ moments: [Moment]) -> [Hidden] {
    var found = view.gaps.map { Hidden(first: $0.first, last: $0.last) }
    let recorded = view.trajectory.recorded
    let lacks = moments.contains { moment in
      switch moment.sort {
      case .called, .proposed, .returned, .invalidDecision:
        recorded["model"] == "none" || view.lacksCalls
      case .answer: recorded["model"] == "none"
      case .verdict: recorded["policy"] != nil || view.lacksCalls
      case .approval: recorded["policy"] != nil || view.lacksCalls || gathered.lacksApprovals
      case .stop: recorded["stop"] != nil
      case .reply: false
      }
    }
    if lacks { found.append(Hidden(first: 0, last: nil)) }
    // A reply that went unread may have been an answer.
    if let last = view.trajectory.lastUnseen, moments.contains(where: { $0.sort == .answer }) {
      found.append(Hidden(first: 0, last: last))
    }
    if recorded["tools"] != nil { found += hiddenResults(moments) }
    return found
  }

  /// Where results came in that were not recorded, of calls that some moment may speak of.
  private func hiddenResults(_ moments: [Moment]) -> [Hidden] {
    let entries = moments.compactMap { moment -> CallEntry? in
      if case .returned(let entry) = moment { entry } else { nil }
    }
    return view.calls.compactMap { call in
      guard call.outline.resultSeq == nil,
        entries.contains(where: { view.isSuch($0, call, .proposed) != .no })
      else { return nil }
      return Hidden(first: call.outline.seq + 1, last: nil)
    }
  }

  /// Every place of a sort that could be one of the moments, with whether it is.
  private func places(
    of sort: Moment.Sort, _ moments: [Moment], _ unknownCounts: Bool
  ) -> [Occurrence] {
    switch sort {
    case .called, .proposed, .returned:
      return view.calls.indices.compactMap { call(sort, $0, moments, unknownCounts) }
    case .verdict:
      return gathered.verdicts.map { verdict in
        let call = callIndex(verdict.callId)
        return Occurrence(
          at: verdict.seq, step: verdict.step, call: call, sort: sort,
          answer: any(moments) { self.answer(verdict, call, $0) })
      }
    case .approval:
      let ofCalls = gathered.approvals.map { approval in
        let call = callIndex(approval.callId)
        return Occurrence(
          at: approval.seq, step: approval.step, call: call, sort: sort,
          answer: any(moments) { self.answer(approval, call, $0) })
      }
      let ofTasks = gathered.taskApprovals.map { approval in
        Occurrence(
          at: approval.seq, step: approval.step, sort: sort,
          answer: any(moments) { Trilean(Self.isSuch(approval, $0)) })
      }
      return ofCalls + ofTasks
    case .reply:
      return gathered.replies.map { reply in
        var place = said(reply, sort, moments)
        // Before its agent did anything, an import has what the run was asked for, unless its source left out what that
        // replies to.
        if reply.isImported, reply.step == 0, place.answer == .yes { place.answer = .unknown }
        return place
      }
    case .answer:
      return gathered.answers.filter { $0.by == nil }.map { said($0, sort, moments) }
        + possibleAnswers(sort, moments)
    case .stop:
      return gathered.stops.map { stop in
        Occurrence(
          at: stop.seq, step: stop.step, sort: sort,
          answer: any(moments) {
            if case .stop(let reasons) = $0 {
              reasons.contains(stop.reason) ? .yes : .no
            } else {
              .no
            }
          })
      }
    case .invalidDecision:
      return gathered.invalidDecisions.map {
        Occurrence(at: $0.seq, step: $0.step, sort: sort, answer: .yes)
      }
    }
  }

  private func any(_ moments: [Moment], _ answer: (Moment) -> Trilean) -> Trilean {
    var found = Trilean.no
    for moment in moments {
      switch answer(moment) {
      case .yes: return .yes
      case .unknown: found = .unknown
      case .no: break
      }
    }
    return found
  }

  // MARK: Calls

  private func call(
    _ sort: Moment.Sort, _ index: Int, _ moments: [Moment], _ unknownCounts: Bool
  ) -> Occurrence? {
    let call = view.calls[index]
    let outline = call.outline
    switch sort {
    case .called: guard view.executed(call) != .no else { return nil }
    case .returned: guard outline.resultSeq != nil else { return nil }
    default: break
    }
    // Calls by a simulated user are of this sort only where a moment speaks of them.
    let entries = moments.compactMap(\.entry)
    guard entries.contains(where: { $0.speaks(of: call) }) else { return nil }
    let answer = any(moments) { moment in
      guard let entry = moment.entry else { return .no }
      return view.isSuch(
        entry, call, sort == .called ? .executed : .proposed, unknownCounts: unknownCounts)
    }
    let span = span(of: sort, outline)
    let seq =
      switch sort {
      case .called: outline.startedSeq ?? outline.seq
      case .returned: outline.resultSeq ?? outline.seq
      default: outline.seq
      }
    // What no decision holds may have been begun in any step before.
    let firstStep = outline.isStray && span.lowerBound < span.upperBound ? 0 : call.step
    return Occurrence(
      seq: seq, span: span, steps: min(firstStep, call.step)...call.step, call: index, sort: sort,
      answer: answer, events: sort == .called && seq != outline.seq ? [outline.seq, seq] : [seq],
      isThere: sort != .called || view.executed(call) == .yes)
  }

  /// Where a moment of a call may stand.
  private func span(of sort: Moment.Sort, _ outline: CallOutline) -> ClosedRange<Int> {
    if sort == .returned, let seq = outline.resultSeq { return seq...seq }
    if sort == .called, let seq = outline.startedSeq { return seq...seq }
    // It was proposed, and begun, before what tells of it.
    if outline.isStray { return 0...max(0, outline.seq - 1) }
    if sort == .called, let hole = view.hiddenStart(of: outline) { return hole }
    return outline.seq...outline.seq
  }

  private func callIndex(_ callId: String) -> Int? { callIndices[callId] }

  /// Whether the call of a verdict or an approval is as an entry says.
  private func fits(_ entry: CallEntry?, _ call: Int?) -> Trilean {
    guard let entry else { return .yes }
    guard let call else { return .unknown }
    return view.isSuch(entry, view.calls[call], .proposed)
  }

  private func answer(
    _ verdict: GatheredFacts.VerdictFact, _ call: Int?, _ moment: Moment
  ) -> Trilean {
    guard case .verdict(let asked) = moment else { return .no }
    guard let status = verdict.status, asked.statuses.contains(status) else { return .no }
    if let rule = asked.rule, !(verdict.rule.map { rule.matches($0) } ?? false) { return .no }
    var answer = fits(asked.call, call)
    if let reason = asked.reason {
      answer = .both(answer, Trilean(reason.matches(verdict.reason)))
    }
    return answer
  }

  private func answer(
    _ approval: GatheredFacts.ApprovalFact, _ call: Int?, _ moment: Moment
  ) -> Trilean {
    guard case .approval(let asked) = moment,
      asked.isGranted.map({ $0 == approval.isGranted }) ?? true,
      asked.by?.matches(approval.by) ?? true
    else { return .no }
    return fits(asked.call, call)
  }

  /// A word on a task is on no call: what names a tool or an input does not speak of it, and the caller is the task.
  private static func isSuch(_ approval: GatheredFacts.TaskApproval, _ moment: Moment) -> Bool {
    guard case .approval(let asked) = moment,
      asked.isGranted.map({ $0 == approval.isGranted }) ?? true,
      asked.by?.matches(approval.by) ?? true
    else { return false }
    guard let call = asked.call else { return true }
    return call.tool.text == "*" && call.input == nil
      && call.pattern?.matches(approval.task) ?? true
  }

  private func said(
    _ said: GatheredFacts.Said, _ sort: Moment.Sort, _ moments: [Moment]
  ) -> Occurrence {
    Occurrence(
      at: said.seq, step: said.step, sort: sort,
      answer: any(moments) { moment in
        switch moment {
        case .reply(let text, let by):
          let isSuch = Trilean(text.matches(said.value))
          guard by.map({ by in said.by.map { by.matches($0) } ?? false }) ?? true else {
            return said.isImported ? Trilean.both(isSuch, .unknown) : .no
          }
          return isSuch
        case .answer(let matcher): return Trilean(matcher.matches(said.value))
        default: return .no
        }
      })
  }

  /// What was said to a person in a run that somebody saw go by: only its place says there that it asks, and an answer
  /// that the person replied to looks the same.
  private func possibleAnswers(_ sort: Moment.Sort, _ moments: [Moment]) -> [Occurrence] {
    guard view.trajectory.recorded["model"] != nil else { return [] }
    return gathered.questions.filter { $0.by == "agent" }.map { question in
      var place = said(question, sort, moments)
      place.isThere = false
      return place
    }
  }

  // MARK: Order

  /// Whether one place comes before another. Calls of one decision have no order among themselves,
  /// nor have their results, nor their verdicts.
  func isBefore(_ left: Occurrence, _ right: Occurrence) -> Trilean {
    let areWithoutOrder =
      left.sort.isOfCall && right.sort.isOfCall || left.sort == .verdict && right.sort == .verdict
    if let a = left.call, let b = right.call, a != b, areWithoutOrder,
      view.calls[a].outline.isStray, view.calls[b].outline.isStray
    {
      // One decision that is not seen may hold both.
      return left.span.lowerBound >= right.span.upperBound ? .no : .unknown
    }
    if let a = left.call, let b = right.call, view.calls[a].group == view.calls[b].group {
      if a == b {
        // What of a call is not seen has its place among the rest of it all the same. Only that it is proposed
        // before it begins is told of no call that shows no start.
        if !(left.isPlaced && right.isPlaced), let one = left.sort.placeInCall,
          let other = right.sort.placeInCall, one != other,
          Set([left.sort, right.sort]) != [.proposed, .called]
        {
          return Trilean(one < other)
        }
      } else if areWithoutOrder {
        return .no
      }
    }
    if left.span.upperBound < right.span.lowerBound { return .yes }
    return left.span.lowerBound >= right.span.upperBound ? .no : .unknown
  }
}

extension Moment {
  fileprivate var entry: CallEntry? {
    switch self {
    case .called(let entry), .proposed(let entry), .returned(let entry): entry
    default: nil
    }
  }
}

extension Moment.Sort {
  var isOfCall: Bool { self == .called || self == .proposed || self == .returned }

  /// The order in which the moments of one call come.
  fileprivate var placeInCall: Int? {
    [.proposed, .verdict, .called, .returned].firstIndex(of: self)
  }
}
