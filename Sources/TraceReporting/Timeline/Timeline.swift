public import AgentTrace

/// A run as lines that a person takes in at a glance, one event after the other; also while it runs.
///
/// Each line: the event's number, what happened in one word, and what it was about. Starts of tools
/// and replies of models are told by the lines that follow from them.
public struct Timeline {
  private let painter: Painter
  private let width: Int
  private let headsSteps: Bool
  private let isFull: Bool
  private var step = -1
  /// Where a pipeline stands; `nil` for any other run. A pipeline has no steps.
  private var pipeline: PipelineState?
  private let labelWidth = 9

  /// - Parameters:
  ///   - width: characters of a line at most, no less than 40; ``Visible/unlimited`` to cut nothing.
  ///   - isFull: whether texts break lines where they do, and large values stand on lines of their own.
  ///   - headsSteps: whether a line of its own stands above each step.
  public init(
    painter: Painter, width: Int = 120, isFull: Bool = false, headsSteps: Bool = true
  ) {
    self.painter = painter
    self.width = max(40, width)
    self.isFull = isFull
    self.headsSteps = headsSteps
  }

  /// The lines that tell of the next event; often one, sometimes none.
  public mutating func lines(for event: Event) -> [String] {
    if event.beginsPipeline { pipeline = PipelineState() }
    pipeline?.apply(event)
    var told = tell(event)
    if event.type == .stop, let pipeline { told.append(Self.used(by: pipeline)) }
    return lines(told, seq: event.seq, step: event.step, isStop: event.type == .stop)
  }

  /// The lines that tell of the next event, where that is a context.
  public mutating func lines(for context: ContextOutline) -> [String] {
    lines([tell(context)], seq: context.seq, step: context.step, isStop: false)
  }

  private mutating func lines(
    _ told: [Entry], seq: Int, step: Int, isStop: Bool
  ) -> [String] {
    guard !told.isEmpty else { return [] }
    var lines: [String] = []
    if headsSteps, pipeline == nil, step != self.step, step > 0, !isStop {
      lines.append(painter.paint("step \(step)", .heading))
    }
    self.step = step
    for (index, entry) in told.enumerated() {
      guard entry.isTold || isFull else {
        lines.append(line(index == 0 ? seq : nil, entry))
        continue
      }
      if isFull {
        lines += fullLines(index == 0 ? seq : nil, entry)
        continue
      }
      for (number, piece) in wrapped(entry.text).enumerated() {
        let label = number == 0 ? entry.label : ""
        lines.append(
          line(index + number == 0 ? seq : nil, Entry(label, entry.role, piece)))
      }
    }
    return lines
  }

  /// What one line says. The texts are as the trace has them: nothing is made visible yet.
  public struct Entry: Sendable {
    /// What happened, in one word of ours.
    public var label: String
    /// What the label is.
    public var role: Painter.Role
    /// What it was about.
    public var text: String
    /// Stands at the end, however long the text.
    public var tail = ""
    /// Whether what no line has room for stands on further lines: an error is told to its end.
    public var isTold = false

    /// Text and tail are made visible where the entry is laid out; the label is not.
    public init(_ label: String, _ role: Painter.Role, _ text: String, tail: String = "") {
      self.label = label
      self.role = role
      self.text = text
      self.tail = tail
    }
  }

  /// An entry on the lines that its text has, what stands at its end on the first.
  private func fullLines(_ seq: Int?, _ entry: Entry) -> [String] {
    let texts = entry.text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    return texts.enumerated().map { number, text in
      var one = Entry(number == 0 ? entry.label : "", entry.role, String(text))
      if number == 0 { one.tail = entry.tail }
      return line(number == 0 ? seq : nil, one)
    }
  }

  private func line(_ seq: Int?, _ entry: Entry) -> String {
    let number = Self.padded(seq.map(String.init) ?? "", 5)
    let label = entry.label + String(repeating: " ", count: max(0, labelWidth - entry.label.count))
    var room = width - number.count - 2 - labelWidth - 2
    // Call ids come from the trace like everything else: made safe, and never all of the line.
    let tailRoom = width == Visible.unlimited ? room : min(40, room - 12)
    var tail = ""
    if !entry.tail.isEmpty, tailRoom > 1 {
      tail = "  " + Visible.line(entry.tail, width: tailRoom)
      room -= tail.count
    }
    return painter.paint(number, .faint) + "  " + painter.paint(label, entry.role) + "  "
      + Visible.line(entry.text, width: room) + painter.paint(tail, .faint)
  }

  /// A text in pieces that a line has room for, broken between words where it can be.
  private func wrapped(_ text: String) -> [String] {
    let room = width - 5 - 2 - labelWidth - 2
    var pieces: [String] = []
    var left = Visible.line(text)[...]
    while let end = left.index(left.startIndex, offsetBy: room, limitedBy: left.endIndex),
      end < left.endIndex
    {
      var piece = left[..<end]
      if let space = piece.lastIndex(of: " "), space > piece.startIndex { piece = piece[..<space] }
      pieces.append(String(piece))
      left = left[piece.endIndex...].drop { $0 == " " }
    }
    return pieces + [String(left)]
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  // MARK: What each event says

  /// What an event says, line by line; nothing where other lines tell of it.
  public static func entries(for event: Event) -> [Entry] {
    Timeline(painter: Painter(isColoured: false)).tell(event)
  }

  /// Nothing where other lines tell of the event. The texts are as the trace has them.
  func tell(_ event: Event) -> [Entry] {
    if let outline = ContextOutline(counting: event) { return [tell(outline)] }
    guard let payload = try? EventPayload(of: event) else {
      return [Entry("unclear", .warning, "\(event.type) with data of another shape")]
    }
    switch payload {
    case .runStarted(let started): return tell(started, runId: event.runId)
    case .toolsListed(let listed):
      return tell(listed)
    case .contextBuilt(let packet):
      return [tell(ContextOutline(of: packet, seq: event.seq, step: event.step))]
    case .modelResult(let result):
      let noun: String? =
        switch ModelPurpose(rawValue: result.purpose) {
        case .summarize?: "summary"
        case .plan?: "plan"
        case .reflect?: "reflection"
        case .decide?, .human?, .judge?, nil: nil
        }
      guard let error = result.error else {
        guard let noun else { return [] }
        let text = result.reply?["text"]?.stringValue ?? ""
        let said =
          noun == "summary"
          ? "\(text.utf8.count) bytes for what came up to \(result.through ?? "now")"
          : text.isEmpty ? "no words" : text
        return [Entry(noun, .faint, said)]
      }
      var entry = Entry(
        noun ?? "model", .bad,
        "try \(result.attempt)\(Self.next(after: result)): \(error)")
      entry.isTold = true
      return [entry]
    case .decision(let decision): return tell(decision)
    case .policyDecision(let verdict): return [tell(verdict)]
    case .toolStarted(let started):
      let again =
        started.attempt > 1
        ? [Entry("retry", .warning, "\(started.tool), attempt \(started.attempt)")] : []
      return again
        + (started.child.map { child in
          [Entry("child", .faint, "\(started.tool) runs as \(child.runId)", tail: started.callId)]
        } ?? [])
    case .toolResult(let result): return [tell(result)]
    case .approval(let approval):
      let word = approval.granted ? "approved" : "denied"
      let reason = approval.reason.map { ": \($0)" } ?? ""
      let extent = approval.extent.map { " \($0)" } ?? ""
      return [
        Entry(word, approval.granted ? .good : .bad, "by \(approval.by)\(extent)\(reason)")
      ]
    case .humanReplied(let reply):
      return [Entry("human", .heading, (reply.by.map { "\($0): " } ?? "") + text(reply.text))]
    case .memoryRead(let note): return [Entry("memory", .faint, "read " + text(note))]
    case .memoryWritten(let note): return [Entry("memory", .faint, "wrote " + text(note))]
    case .breakerChanged(let breaker):
      return [Entry("breaker", .warning, "\(breaker.tool) is \(breaker.state.rawValue)")]
    case .requestForwarded(let request):
      let end = request.status.map { "\($0)" } ?? request.error ?? "no reply"
      return [Entry("passed on", .faint, "\(request.method) \(request.path) → \(end)")]
    case .replyChanged(let change):
      let calls = change.removed.joined(separator: ", ")
      return [Entry("taken out", .warning, "of the reply before it was handed on: \(calls)")]
    case .unseen(let unseen): return [Entry("unseen", .warning, Self.words(unseen))]
    case .runResumed(let resumed): return [Entry("resumed", .heading, resumed.why)]
    case .stop(let stop): return tell(stop, at: event.t)
    case .pipeline(let change): return Self.entries(for: change)
    case .unknown: return [Entry("later", .faint, "\(event.type), of a newer version")]
    }
  }

  private static func words(_ unseen: Unseen) -> String {
    let channels = unseen.channels.all.map { "\($0.name) \($0.extent)" }.joined(separator: ", ")
    return unseen.reason + (channels.isEmpty ? "" : " (\(channels))")
  }

  /// A list, what is wrong with it, and what the run does not have of it.
  private func tell(_ listed: ToolsListed) -> [Entry] {
    if let error = listed.error {
      return [Entry("tools", .bad, "\(listed.source): \(error)")]
    }
    let count = Figures.count(listed.tools.count, "tool")
    let version = listed.server["protocol"]?.stringValue.map { ", MCP \($0)" } ?? ""
    let withheld = listed.withheld.prefix(10).map {
      Entry("withheld", .warning, "\(listed.source): \($0.name): \($0.reason)")
    }
    let more = listed.withheld.count - withheld.count
    return [Entry("tools", .faint, "\(listed.source): \(count)\(version)")] + withheld
      + (more > 0 ? [Entry("withheld", .warning, "\(listed.source): \(more) more")] : [])
  }

  private func tell(_ started: RunStarted, runId: String) -> [Entry] {
    // What its tasks called stands in their logs; that is no gap of this one.
    if started.inputs["pipeline"]?.objectValue != nil {
      let run = Entry("run", .heading, "\(runId)  pipeline \(started.agentName)")
      return [run] + (started.input.map { [Entry("input", .heading, text($0))] } ?? [])
    }
    let agent = started.agentName.isEmpty ? started.source?.format ?? "" : started.agentName
    let version = started.agentVersion.map { " \($0)" } ?? ""
    var entries = [Entry("run", .heading, "\(runId)  agent \(agent)\(version)")]
    if !started.goal.isNull { entries.append(Entry("goal", .heading, text(started.goal))) }
    if !started.recorded.isEmpty {
      let missing = started.recorded.all.map { "\($0.name) \($0.extent)" }.joined(separator: ", ")
      entries.append(Entry("recorded", .warning, missing))
    }
    return entries
  }

  private func tell(_ context: ContextOutline) -> Entry {
    var text = Figures.count(context.messages, "message")
    if context.tokenEstimate > 0 { text += ", about \(context.tokenEstimate) tokens" }
    if context.toolsDisclosed > 0 { text += ", \(Figures.count(context.toolsDisclosed, "tool"))" }
    if context.omitted > 0 { text += ", \(context.omitted) left out" }
    return Entry("context", .faint, text)
  }

  private func tell(_ payload: DecisionPayload) -> [Entry] {
    let by = payload.caller.map { "\($0): " } ?? ""
    switch payload.decision {
    case .answer(let text, _): return [Entry("answer", .heading, by + text)]
    case .askHuman(let question): return [Entry("asks", .heading, by + question)]
    case .stop(let reason, let detail):
      let words = [reason.rawValue, detail].compactMap(\.self).joined(separator: ": ")
      return [Entry("stops", .heading, by + words)]
    case .invalid(let reason, _): return [Entry("invalid", .bad, by + reason)]
    case .tool(let calls):
      return calls.map { call in
        Entry("call", .heading, "\(by)\(call.name) \(text(call.input))", tail: call.callId)
      }
    }
  }

  private func tell(_ verdict: Verdict) -> Entry {
    let rule = verdict.ruleId.map { " (rule \($0))" } ?? ""
    let (label, role): (String, Painter.Role) =
      switch verdict.status {
      case .allow: ("allowed", .faint)
      case .deny: ("DENIED", .bad)
      case .approvalRequired: ("ask first", .warning)
      }
    return Entry(
      label, role, "\(verdict.tool): \(verdict.reason)\(rule)", tail: verdict.callId)
  }

  private func tell(_ payload: ToolResultPayload) -> Entry {
    let elapsed = payload.elapsedMicroseconds ?? 0
    let time = elapsed > 0 ? Figures.duration(microseconds: elapsed) : ""
    let tail = [payload.callId, time].filter { !$0.isEmpty }.joined(separator: " ")
    switch payload.result {
    case .ok(let data):
      return Entry("ok", .good, "\(payload.tool) → \(text(data))", tail: tail)
    case .returned(let data):
      return Entry("returned", .faint, "\(payload.tool) → \(text(data))", tail: tail)
    case .refused(let reason):
      return Entry("refused", .warning, "\(payload.tool): \(reason)", tail: tail)
    case .error(let reason, let isEffectUnknown):
      let effect = isEffectUnknown ? "effect unknown: " : ""
      return Entry("error", .bad, "\(payload.tool): \(effect)\(text(reason))", tail: tail)
    }
  }

  private func tell(_ stop: Stop, at t: Int) -> [Entry] {
    let detail = stop.detail.map { " (\($0))" } ?? ""
    let pause = stop.isFinal ? "" : "; may go on"
    var entries = [
      Entry("stop", stop.reason == .success ? .good : .bad, stop.reason.rawValue + detail + pause)
    ]
    if let totals = stop.totals {
      var parts = [
        Figures.count(totals.steps, "step"), Figures.count(totals.toolCalls, "call"),
        Figures.count(totals.modelCalls, "model call"),
      ]
      parts += Self.spent(totals) + [Figures.duration(microseconds: t)]
      entries.append(Entry("used", .faint, parts.joined(separator: ", ")))
    }
    return entries
  }

  /// Tokens and cost, where there are any.
  static func spent(_ totals: Totals) -> [String] {
    let tokens = totals.inputTokens + totals.outputTokens
    return (tokens > 0 ? ["\(totals.inputTokens) + \(totals.outputTokens) tokens"] : [])
      + (totals.cost.map { ["cost \(Figures.cost($0))"] } ?? [])
  }

  /// When a model is asked again, where its failed try says so.
  private static func next(after result: ModelResult) -> String {
    if result.isFinal { return ", not asked again" }
    return result.retryAfterMicroseconds.map {
      ", again after \(Figures.duration(microseconds: $0))"
    } ?? ""
  }

  private func text(_ note: MemoryNote) -> String {
    "\(note.scope)/\(note.key): \(note.value.map(text) ?? "nothing")"
  }

  /// Bytes of a value of which all is shown.
  private static let limitBytes = 64 << 20

  private func text(_ value: JSONValue) -> String {
    let value = FileText.told(value)
    if case .string(let text) = value { return text }
    if isFull { return FullText.lines(of: value).joined(separator: "\n") }
    return CanonicalJSON.prefix(
      of: value, limitBytes: width == Visible.unlimited ? Self.limitBytes : 400)
  }
}

extension Approval {
  /// What a yes covers beyond the one call, in words; `nil` where that is all, or it does not say.
  public var extent: String? {
    guard granted else { return nil }
    let what: String? =
      switch scope {
      case .calls(1)?, nil: nil
      case .calls(let count)?: "for \(Figures.count(count, "call")) with this input"
      case .input?: "for this input in this run"
      }
    let words = [what, until.map { "until \($0)" }].compactMap { $0 }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }
}
