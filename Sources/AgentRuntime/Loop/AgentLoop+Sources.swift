import AgentTrace

extension AgentLoop {
  /// Asks the sources that were not asked since the run started or went on. Where one gives no list that
  /// is of use, the run stops before anything else is done: whoever goes on with it asks again.
  mutating func askSources(step: Int) async throws -> Halt? {
    let due = agent.sources.filter { !recorder.record.contextHistory.listed.wasAsked($0.name) }
    guard !due.isEmpty else { return nil }
    if let signal = boundary.cancellation.signal { return Self.cancelled(by: signal) }
    let boundary = boundary
    // Side by side, for starting a program takes its time; recorded in the order of the agent file.
    let offers = await withTaskGroup(of: (Int, ToolOffer?).self) { group in
      for (index, source) in due.enumerated() {
        group.addTask {
          let request = ToolListRequest(source: source.name, step: step, timing: .session)
          return (index, await boundary.tools(request))
        }
      }
      var offers: [Int: ToolOffer] = [:]
      for await (index, offer) in group { offers[index] = offer }
      return offers
    }
    // Whoever hears the signal may have nothing to say any more.
    if let signal = boundary.cancellation.signal { return Self.cancelled(by: signal) }
    for (index, source) in due.enumerated() {
      let offer = offers[index] ?? ToolOffer(error: "nobody here can ask it")
      if let halt = try take(offer, of: source, .session, step: step) { return halt }
    }
    return nil
  }

  /// Takes in what sources say of themselves, or have to say after something happened to them. A list that
  /// is as it was is no news.
  mutating func takeNewLists(step: Int, tryNumber: Int) async throws -> Halt? {
    for source in agent.sources {
      let request = ToolListRequest(
        source: source.name, step: step, timing: .packet(tryNumber: tryNumber))
      // Without a list the tools stay what they were: calls of them say what is wrong.
      guard let offer = await boundary.tools(request), offer.error == nil else { continue }
      let offered = source.chosen(offer.tools)
      let last = recorder.record.contextHistory.listed[source.name]?.offered ?? []
      guard OfferedTool.digest(of: offered) != OfferedTool.digest(of: last) else { continue }
      if let halt = try take(offer, of: source, request.timing, step: step) { return halt }
    }
    return nil
  }

  /// Records a list and what comes of it.
  private mutating func take(
    _ offer: ToolOffer, of source: SourceRegistration, _ timing: ToolListRequest.Timing, step: Int
  ) throws -> Halt? {
    let listed = source.listed(
      offer, first: recorder.record.contextHistory.listed[source.name]?.first,
      besides: otherNames(than: source), isSession: timing == .session)
    try recorder.append(.toolsListed(listed), step: step)
    useListedTools()
    guard listed.error != nil else { return nil }
    return Halt(
      reason: .toolFailure, detail: StopDetail.source(source.name), isFinal: false)
  }

  /// The names that a source can no longer give to its tools: those of the agent file, and those that
  /// other sources have given.
  private func otherNames(than source: SourceRegistration) -> [String] {
    let others = agent.sources.filter { !$0.name.hasSameUTF8(as: source.name) }
    return
      (agent.tools + recorder.record.contextHistory.listed.registrations(of: others))
      .map(\.definition.name)
  }

  /// Why a call that was allowed cannot be made any more: its tool came from a source that no longer
  /// offers it, or not as it was. `nil` where it can.
  func reasonNotOffered(_ call: ProposedCall) -> String? {
    guard !agent.sources.isEmpty, registry[call.name] == nil else { return nil }
    return "the tool \(call.name.prefix(utf8Bytes: 128)) is not, or no longer, offered as it was"
  }
}
