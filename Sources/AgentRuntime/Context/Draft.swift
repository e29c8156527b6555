import AgentTrace

/// A context packet in the making: what is taken in, what is left out, and why.
struct Draft {
  private(set) var messages: [JSONValue] = []
  private(set) var included: [ContextItem] = []
  private(set) var omitted: [ContextItem] = []
  private(set) var evidenceRefs: [String] = []
  private(set) var memoryRefs: [String] = []
  /// Estimated tokens of the messages so far.
  private(set) var tokens = 0
  private let settings: ContextSettings
  private let estimate: TokenEstimate
  /// What is left out because the settings say so.
  private var dropped: [String] = []
  /// What stands at the end, and has its room already.
  private var reflection: (words: ThoughtHistory.Thought, message: JSONValue, askedBy: String)?

  init(leavingOut settings: ContextSettings, estimate: TokenEstimate) {
    self.settings = settings
    self.estimate = estimate
  }

  /// The instructions as one message: the plain ones, or every part that is to be said, filled in.
  mutating func addInstructions(
    of agent: AgentDefinition, _ values: PromptValues, _ view: DisclosureView
  ) {
    if let plain = agent.systemPrompt, take("system", "the agent's instructions") {
      append([Turn.Part.text("system", plain)])
    }
    var texts: [String] = []
    for part in agent.instructions {
      let (isSaid, reason) = part.disclosure(in: view)
      guard isSaid else {
        omit(part.ref, reason)
        continue
      }
      let (text, origins) = values.filled(part.template)
      if take(part.ref, reason + origins) { texts.append(text) }
    }
    if !texts.isEmpty { append([Turn.Part.text("system", texts.joined(separator: "\n\n"))]) }
  }

  /// Turns that show how it is done, before anything of the run.
  mutating func addExamples(_ examples: [ExampleTurn]) {
    for (index, example) in examples.enumerated()
    where take("example:\(index)", "an example of the agent file") {
      append([
        Turn.Part.text("user", example.user), Turn.Part.text("assistant", example.assistant),
      ])
    }
  }

  mutating func addGoal(_ goal: JSONValue) {
    guard take("goal", "the run's goal") else { return }
    append([Turn.Part.text("user", goal.stringValue ?? CanonicalJSON.string(goal, form: .plain))])
  }

  mutating func addTool(_ ref: String, isShown: Bool, _ reason: String) {
    if isShown { _ = take(ref, reason) } else { omit(ref, reason) }
  }

  // MARK: Thoughts

  /// What the model meant to do.
  mutating func addPlan(_ plan: ThoughtHistory.Thought, _ settings: ThoughtSettings) {
    guard take("plan:\(plan.seq)", "the plan made in step \(plan.step)\(settings.askedBy)") else {
      return
    }
    append([Turn.Part.text("system", "Your plan: \(cut(plan.text))")])
  }

  /// Keeps room for what the model said when it looked back; ``addReflection()`` puts it in.
  mutating func reserve(reflection words: ThoughtHistory.Thought, _ asked: ThoughtSettings) {
    let message = Turn.Part.text("system", "What you made of it so far: \(cut(words.text))")
    reflection = (words, message, asked.askedBy)
    if settings.reasonToLeaveOut("reflection:\(words.seq)") == nil {
      tokens += estimate.tokens(in: message)
    }
  }

  /// Puts in what room was kept for.
  mutating func addReflection() {
    guard let (words, message, askedBy) = reflection,
      take(
        "reflection:\(words.seq)",
        "what the model made of the results before step \(words.step)\(askedBy)")
    else { return }
    messages.append(message)
  }

  /// A text of the model, no longer than a quarter of the prompt.
  private func cut(_ text: String) -> String {
    text.utf8.count <= limitBytes ? text : text.prefix(utf8Bytes: max(0, limitBytes)) + "…"
  }

  // MARK: Summary

  /// How the model is told what it has no room for.
  static func message(of summary: ContextHistory.Summary, limitBytes: Int) -> JSONValue {
    let text =
      summary.text.utf8.count <= limitBytes
      ? summary.text : summary.text.prefix(utf8Bytes: max(0, limitBytes)) + "…"
    return Turn.Part.text("system", "Summary of what came before: \(text)")
  }

  /// Puts a summary in the place of what it tells of; says whether there is room for it beside the
  /// latest turn.
  mutating func addSummary(
    _ summary: ContextHistory.Summary, told: ArraySlice<Observation>,
    beside latest: ArraySlice<Observation>,
    budget: Int, _ cache: inout TurnCache, lookup: EventLookup
  ) -> Bool {
    let message = Self.message(of: summary, limitBytes: limitBytes)
    let turn = cache.shown(latest, leavingOut: settings, estimate, lookup: lookup)
    let cost = tokens + estimate.tokens(in: message) + turn.tokens
    guard cost <= budget else {
      omit(summary.ref, "no room for it beside the latest turn")
      return false
    }
    guard take(summary.ref, "stands for what came before, up to \(summary.through)") else {
      return false
    }
    append([message])
    for observation in told {
      if let reason = settings.reasonToLeaveOut(observation.id) {
        drop(observation.id, reason)
      } else {
        omit(observation.id, "told in \(summary.ref)")
      }
    }
    return true
  }

  /// Puts the text of a summary in, to see how much room it takes.
  mutating func addText(of summary: ContextHistory.Summary) {
    append([Self.message(of: summary, limitBytes: limitBytes)])
  }

  private var limitBytes: Int { estimate.bytes(inTokens: settings.tokenBudget / 4) }

  // MARK: Turns

  /// Takes in the newest turns that fit; the last one always, or the model would not know where it is.
  /// Only what is taken in, and the first turn that is not, is looked up.
  ///
  /// - Parameter dropsOutput: whether turns but the last one may stand without what their tools
  ///   returned, the oldest first, before whole turns are left out.
  mutating func addTurns(
    _ turns: [ArraySlice<Observation>], budget: Int, dropsOutput: Bool = false,
    _ cache: inout TurnCache, lookup: EventLookup
  ) {
    if addWhole(turns, budget: budget, &cache, lookup: lookup) { return }
    // A decision takes everything that came of it along: no result stands without its call.
    var kept: [ArraySlice<Observation>] = []
    for turn in turns {
      if let first = turn.first, first.kind == .model,
        let reason = settings.reasonToLeaveOut(first.id)
      {
        for observation in turn { drop(observation.id, reason) }
      } else {
        kept.append(turn)
      }
    }
    let taken = newest(
      of: kept, room: budget - tokens, dropsOutput: dropsOutput, &cache, lookup: lookup)
    for observation in kept.dropLast(taken.count).joined() {
      if let reason = settings.reasonToLeaveOut(observation.id) {
        drop(observation.id, reason)
      } else {
        omitted.append(cache.words(for: observation).omitted)
      }
    }
    cache.note(
      allWhole: settings.leftOut.isEmpty && taken.count == turns.count
        && taken.allSatisfy { $0.short == nil })
    for (age, taken) in taken.enumerated().reversed() { add(taken, isLatest: age == 0) }
  }

  /// Takes all turns in, if all of them fit whole, as they did in the last context; says whether.
  private mutating func addWhole(
    _ turns: [ArraySlice<Observation>], budget: Int, _ cache: inout TurnCache, lookup: EventLookup
  ) -> Bool {
    guard let latest = turns.last,
      let older = cache.together(
        turns.dropFirst().dropLast(), leavingOut: settings, estimate, lookup: lookup)
    else { return false }
    let shown = cache.shown(latest, leavingOut: settings, estimate, lookup: lookup)
    // The oldest may have lost its beginning since the last context.
    let oldest =
      turns.count > 1
      ? turns.first.map { cache.shown($0, leavingOut: settings, estimate, lookup: lookup) } : nil
    let cost = (oldest?.tokens ?? 0) + older.tokens + shown.tokens
    // The latest stands there whether or not it fits.
    guard turns.count == 1 || cost <= budget - tokens else { return false }
    if let oldest { add(Taken(whole: oldest), isLatest: false) }
    included += older.included
    messages += older.messages
    tokens += older.tokens
    evidenceRefs += older.evidenceRefs
    memoryRefs += older.memoryRefs
    add(Taken(whole: shown), isLatest: true)
    return true
  }

  private mutating func add(_ taken: Taken, isLatest: Bool) {
    let turn = taken.turn
    if !isLatest, taken.short == nil, settings.leftOut.isEmpty {
      included += taken.whole.included
    } else {
      for observation in turn.shown {
        let isShort = turn.lacksOutput && observation.hasOutput
        _ = take(
          observation.id,
          isShort
            ? "without its output, which does not fit the token budget"
            : isLatest ? "the latest turn" : "fits the token budget")
      }
    }
    messages += turn.shownMessages
    tokens += taken.cost
    evidenceRefs += turn.evidenceRefs
    memoryRefs += turn.memoryRefs
  }

  /// A turn that is taken in.
  private struct Taken {
    let whole: TurnCache.Shown
    /// Without what its tools returned, where it stands so.
    var short: TurnCache.Shown?
    var turn: Turn { (short ?? whole).turn }
    var cost: Int { (short ?? whole).tokens }
  }

  /// The newest turns that fit, newest first.
  private func newest(
    of turns: [ArraySlice<Observation>], room: Int, dropsOutput: Bool, _ cache: inout TurnCache,
    lookup: EventLookup
  ) -> [Taken] {
    var taken: [Taken] = []
    var rest = room
    for observations in turns.reversed() {
      let shown = cache.shown(observations, leavingOut: settings, estimate, lookup: lookup)
      var next = Taken(whole: shown)
      if dropsOutput, !taken.isEmpty {
        next.short = cache.short(shown, of: observations, leavingOut: settings, estimate)
      }
      guard taken.isEmpty || next.cost <= rest else { break }
      rest -= next.cost
      taken.append(next)
    }
    // What there is room for comes back, the newest first.
    for index in taken.indices where taken[index].short != nil {
      let more = taken[index].whole.tokens - taken[index].cost
      guard more <= rest else { break }
      rest -= more
      taken[index].short = nil
    }
    return taken
  }

  /// The newest observations as a packet lists them.
  func list(
    _ observations: ArraySlice<Observation>, limit: Int, _ cache: inout TurnCache
  ) -> [JSONValue] {
    var listed: [JSONValue] = []
    for observation in observations.suffix(max(0, limit)) where isShown(observation.id) {
      listed.append(cache.words(for: observation).listed)
    }
    return listed
  }

  /// Whether an observation may be listed: what is older than the prompt reaches may, what is to be
  /// left out with its whole turn may not.
  private func isShown(_ ref: String) -> Bool {
    settings.leftOut.isEmpty || !dropped.contains { $0.hasSameUTF8(as: ref) }
  }

  /// Takes an item in, unless it is to be left out; says whether.
  private mutating func take(_ ref: String, _ reason: String) -> Bool {
    if let reason = settings.reasonToLeaveOut(ref) {
      drop(ref, reason)
      return false
    }
    included.append(ContextItem(ref: ref, reason: reason))
    return true
  }

  private mutating func drop(_ ref: String, _ reason: String) {
    dropped.append(ref)
    omit(ref, reason)
  }

  private mutating func omit(_ ref: String, _ reason: String) {
    omitted.append(ContextItem(ref: ref, reason: reason))
  }

  private mutating func append(_ added: [JSONValue]) {
    messages += added
    tokens += estimate.tokens(in: added)
  }
}
