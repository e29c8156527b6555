import AgentTrace

/// Makes the call graph of a run from its spans: each model call and each execution once, whoever told it; what came
/// back from the spans of tools, else from what later calls of models were shown.
struct SpanGraph {
  /// A model's call, as one or several spans tell it.
  struct ModelCall {
    var span: TraceSpan
    var content: SpanContent
    var agent: String?
    /// Calls that were found elsewhere.
    var foundCalls: [GraphCall] = []
    /// Whether its client ran tools itself before it gave back what it tells as the reply.
    var ranTools = false

    /// Whether the source tells what was answered.
    var isTold: Bool { content.outputs != nil }
    /// Whether all of it is there, and was read.
    var isWhole: Bool {
      isTold && !content.mayLackCalls && (content.outputs ?? []).allSatisfy(\.unread.isEmpty)
    }
    var calls: [GraphCall] { (content.outputs ?? []).flatMap(\.calls) }
    /// Whether it is known to have ended without calls: with another reply, or with none as it failed.
    var asksForNothing: Bool { calls.isEmpty && (isTold || span.failure != nil) }
  }

  /// An execution of a tool.
  struct Execution {
    var span: TraceSpan
    var tool: SpanTool
    var agent: String?
    /// Who tells of it: each instrumentation tells an execution in one span, or in some that stand one within the other.
    var scopes: Set<String>
  }

  private let spans: [TraceSpan]
  private let records: [String: [TraceSpan.Event]]
  private let contents: SpanContents
  private let tree: SpanTree
  private var models: [ModelCall] = []
  private var executions: [Execution] = []
  private var graph: CallGraph

  /// - Parameter spans: those of one run, by their beginnings.
  static func graph(
    of spans: [TraceSpan], records: [String: [TraceSpan.Event]], contents: SpanContents,
    format: ImportFormat
  ) -> CallGraph {
    var builder = SpanGraph(spans, records, contents, format)
    return builder.build()
  }

  private init(
    _ spans: [TraceSpan], _ records: [String: [TraceSpan.Event]], _ contents: SpanContents,
    _ format: ImportFormat
  ) {
    self.contents = contents
    self.spans = spans
    self.records = records
    graph = CallGraph(format: format)
    tree = SpanTree(of: spans)
  }

  private mutating func build() -> CallGraph {
    readModels()
    readExecutions()
    executions.takeNames(from: models)
    readAgentsAsTools()
    executions.takeResults(from: models)
    executions.takeRefusals(by: spans)
    var history = SpanHistory(executions)
    history.complete(&models)
    if let span = history.spanInsideTurn(models) {
      graph.missing.append(.beginningOfTurn(at: span.pointer))
    }
    attach(&history)
    var items = SpanItems(models: models, executions: executions, history: history)
    items.answer = SpanAnswer.text(of: spans, records: records)
    graph.items = items.items(roots: roots)
    graph.unread += items.unread
    addAnswerOfOurs()
    describe()
    graph.ending = ending(items)
    if roots.contains(where: { $0.attributes["agent_eval.answered"]?.boolValue == false }) {
      graph.hasNoAnswer = true
    }
    if roots.contains(where: { $0["agent_eval.answer.cut"]?.boolValue == true }) {
      graph.cutsAnswer = true
    }
    graph.isOpen = roots.contains { $0["agent_eval.open"]?.boolValue == true }
    graph.lacksPauses = roots.contains { $0["agent_eval.paused"]?.boolValue == true }
    return graph
  }

  /// Adds the answer that our own export tells in its root alone: that of a run whose log has no call of a model for it.
  private mutating func addAnswerOfOurs() {
    guard let root = roots.first(where: { $0.text("agent_eval.run.id") != nil }),
      root.attributes["agent_eval.answered"]?.boolValue != false,
      let text = root["output.value"], text.isText, graph.answerIndex == nil
    else { return }
    var reply = GraphReply(pointers: [root.pointer])
    reply.isModelCall = false
    reply.text = Told(text: text)
    reply.parts = [["type": "text", "text": text]]
    reply.time = root.endTime
    reply.extra["source"] = "what the run's span says that it answered"
    graph.items.append(.reply(reply))
  }

  // MARK: The tree

  private var roots: [TraceSpan] { spans.filter { $0.parent == nil } }

  /// The sub-agent that a span belongs to: what runs below a tool, or below another agent that asks models itself.
  private func subAgent(of span: TraceSpan) -> String? {
    var owner: String?
    var isNode = false
    for place in tree.above(span) {
      let above = spans[place]
      switch tree.kinds[place] {
      case .tool: return owner ?? SpanTool.name(of: above)
      case .agent:
        guard let known = owner else {
          owner = above.agentName ?? above.ownName
          isNode = above.isGraphNode
          continue
        }
        let other = above.agentName ?? (isNode || above.isGraphNode ? nil : above.ownName)
        if let other, other != known, tree.asksModels(place) { return known }
      case .step:
        // LangGraph tells a tool that is an agent as an agent below the step that runs tools.
        if let owner, above.name == "tools" { return owner }
      default: break
      }
    }
    return nil
  }

  // MARK: Models

  private mutating func readModels() {
    var found: [ModelCall] = []
    for (place, span) in spans.enumerated() where tree.kinds[place] == .model {
      let agent = subAgent(of: span)
      let calls = span.split(by: records[span.key] ?? [])
      for (span, records) in calls {
        let content =
          calls.count == 1
          ? contents.take(of: span, records: records) : SpanContent(of: span, records: records)
        found.append(ModelCall(span: span, content: content, agent: agent))
      }
    }
    var twins = SpanTwins()
    for call in Self.joiningStreams(found) {
      let above = tree.keysAbove(call.span)
      let place = twins.candidates(for: call.span, named: call.content.responseId, below: above)
        .first { isSame(models[$0], call, above) }
      if let place {
        models[place] = Self.merged(models[place], call)
        twins.add(call.span, named: models[place].content.responseId, below: above, at: place)
      } else {
        twins.add(call.span, named: call.content.responseId, below: above, at: models.count)
        models.append(call)
      }
    }
  }

  /// With what came of a stream at the call that began it. Logfire tells it beside that call's span when the stream ends,
  /// in one without a duration and of the same request.
  private static func joiningStreams(_ calls: [ModelCall]) -> [ModelCall] {
    var joined: [ModelCall] = []
    var open: [JSONValue: [Int]] = [:]
    for call in calls {
      guard let request = call.span["request_data"] else {
        joined.append(call)
        continue
      }
      let place: JSONValue = [
        .string(call.span.trace), .string(call.span.parent ?? ""), .string(call.span.scope),
        request,
      ]
      if call.isTold, call.span.start == call.span.end, let begun = open[place]?.first {
        open[place]?.removeFirst()
        joined[begun] = merged(joined[begun], call)
        continue
      }
      if !call.isTold, call.span.failure == nil { open[place, default: []].append(joined.count) }
      joined.append(call)
    }
    return joined
  }

  /// Whether two spans tell of one call: by the id of its response, else one within the other, and neither says
  /// anything else. What one instrumentation tells side by side, or several one after the other, is never one call,
  /// whatever its id: servers that stand in for a provider give each reply the same.
  private func isSame(_ left: ModelCall, _ right: ModelCall, _ above: Set<String>) -> Bool {
    let isWithin = above.contains(left.span.key) && left.span.trace == right.span.trace
    let overlap = left.span.start <= right.span.end && right.span.start <= left.span.end
    if let id = left.content.responseId, let other = right.content.responseId {
      return id == other
        && (isWithin || tree.keysAbove(left.span).contains(right.span.key)
          || left.span.scope != right.span.scope && overlap)
    }
    let isBeside =
      left.span.scope != right.span.scope && left.span.side == right.span.side && overlap
    guard isWithin || isBeside else { return false }
    let (first, second) = (left.content.usage, right.content.usage)
    if let tokens = first.inputTokens, let other = second.inputTokens, tokens != other {
      return false
    }
    if let tokens = first.outputTokens, let other = second.outputTokens, tokens != other {
      return false
    }
    let (ids, others) = (Set(left.calls.compactMap(\.id)), Set(right.calls.compactMap(\.id)))
    return !left.isTold || !right.isTold || ids == others || ids.isEmpty || others.isEmpty
  }

  /// What two spans tell of one call.
  private static func merged(_ left: ModelCall, _ right: ModelCall) -> ModelCall {
    // What made the outer one knows the call's id as the client does.
    let isLeft = left.isWhole || !right.isWhole && (left.isTold || !right.isTold)
    var call = isLeft ? left : right
    let other = isLeft ? right : left
    call.span.start = min(left.span.start, right.span.start)
    call.span.end = max(left.span.end, right.span.end)
    call.agent = left.agent ?? right.agent
    call.content.inputs = call.content.inputs ?? other.content.inputs
    call.content.finish = call.content.finish ?? other.content.finish
    call.content.model = call.content.model ?? other.content.model
    call.content.responseId = call.content.responseId ?? other.content.responseId
    if call.content.usage.inputTokens == nil { call.content.usage = other.content.usage }
    if call.content.usage.reasoningTokens == nil {
      call.content.usage.reasoningTokens = other.content.usage.reasoningTokens
    }
    return call
  }

  // MARK: Tools

  private mutating func readExecutions() {
    var twins = SpanTwins()
    for (place, span) in spans.enumerated() where tree.kinds[place] == .tool {
      let execution = Execution(
        span: span, tool: SpanTool(of: span, records: records[span.key] ?? []),
        agent: subAgent(of: span), scopes: [span.scope])
      let above = tree.keysAbove(span)
      let name = "the tool \(execution.tool.name)"
      let twin =
        twins.candidates(for: span, named: execution.tool.id, below: above)
        .first { isSame(executions[$0], execution) }
        ?? twins.candidates(for: span, named: name, below: []).suffix(Self.mostAtOnce)
        .first { Self.isToldBeside(executions[$0], execution) }
      if let twin { executions[twin] = merged(executions[twin], execution) }
      let index = twin ?? executions.count
      if twin == nil { executions.append(execution) }
      twins.add(span, named: executions[index].tool.id, below: above, at: index)
      twins.add(span, named: name, below: [], at: index)
    }
  }

  /// The executions of agents that were asked for as tools, where nothing but their own spans tells of them.
  private mutating func readAgentsAsTools() {
    var calls = CallsOfAgents(models: models, executions: executions)
    for (place, span) in spans.enumerated() where tree.kinds[place] == .agent {
      let caller = tree.above(span).first { [.agent, .tool].contains(tree.kinds[$0]) }
      guard let caller, tree.kinds[caller] == .agent,
        let execution = calls.execution(toldBy: span, agent: subAgent(of: span))
      else { continue }
      executions.append(execution)
    }
  }

  /// How many executions of one tool at once are looked at for one that another instrumentation tells too.
  private static let mostAtOnce = 64

  /// Whether two instrumentations tell of one execution, of which at most one knows the call's id: the same tool at one
  /// time, and neither says anything else.
  private static func isToldBeside(_ left: Execution, _ right: Execution) -> Bool {
    guard !right.span.scope.isEmpty, !left.scopes.contains(right.span.scope),
      left.scopes != [""], left.tool.id == nil || right.tool.id == nil,
      !left.tool.name.isEmpty, left.tool.name.hasSameUTF8(as: right.tool.name),
      left.span.start <= right.span.end, right.span.start <= left.span.end
    else { return false }
    if let input = left.tool.input, let other = right.tool.input, input.objectValue != nil,
      other.objectValue != nil, input.byValue != other.byValue
    {
      return false
    }
    let haveFailed = (left.tool.status == .error, right.tool.status == .error)
    guard haveFailed.0 == haveFailed.1 else { return false }
    guard !haveFailed.0, let data = left.tool.data.value, let other = right.tool.data.value else {
      return true
    }
    return data.byValue == other.byValue
  }

  /// Whether two spans tell of one execution: the same call, or name, one within the other.
  private func isSame(_ left: Execution, _ right: Execution) -> Bool {
    let isWithin =
      tree.keysAbove(right.span).contains(left.span.key)
      || tree.keysAbove(left.span).contains(right.span.key)
    let overlaps = left.span.start <= right.span.end && right.span.start <= left.span.end
    if let id = left.tool.id, let other = right.tool.id {
      return id == other && (isWithin || overlaps && left.span.scope != right.span.scope)
    }
    return isWithin && left.tool.name.hasSameUTF8(as: right.tool.name)
  }

  private func merged(_ left: Execution, _ right: Execution) -> Execution {
    var execution = left.tool.data.isWhole || !right.tool.data.isWhole ? left : right
    execution.span.start = min(left.span.start, right.span.start)
    execution.span.end = max(left.span.end, right.span.end)
    execution.tool.id = left.tool.id ?? right.tool.id
    execution.scopes = left.scopes.union(right.scopes)
    // The inner one stands below the tool itself, which is no agent.
    execution.agent =
      if tree.keysAbove(right.span).contains(left.span.key) {
        left.agent
      } else if tree.keysAbove(left.span).contains(right.span.key) {
        right.agent
      } else {
        left.agent ?? right.agent
      }
    // Arguments with their names tell more than a text of one of them.
    let inputs = [left.tool.input, right.tool.input].compactMap(\.self)
    execution.tool.input = inputs.first { $0.objectValue != nil } ?? inputs.first
    if right.tool.status == .error || left.tool.status == .error { execution.tool.status = .error }
    return execution
  }

  /// Gives calls that are told by their execution alone to the reply that asked for them. Below a call of a model they are
  /// its client's own: it ran what replies asked for that it does not tell, and the last of these is what it tells.
  private mutating func attach(_ history: inout SpanHistory) {
    for (number, execution) in executions.enumerated() where !history.isAsked(number) {
      let before = models.lastIndex { call in
        call.agent == execution.agent && call.span.start <= execution.span.start
      }
      let above = tree.keysAbove(execution.span)
      let client = models.lastIndex { above.contains($0.span.key) }
      if let client, models[client].asksForNothing { models[client].ranTools = true }
      let call = GraphCall(
        name: execution.tool.name,
        input: execution.tool.isInputCut
          ? .cut("") : execution.tool.input.map(Told.there) ?? .absent, id: execution.tool.id,
        pointer: execution.span.pointer)
      // One that failed asked for nothing.
      if let before, !models[before].isTold, models[before].span.failure == nil {
        models[before].foundCalls.append(call)
      } else {
        history.orphans[number] = call
      }
    }
  }

  // MARK: Around it

  private mutating func describe() {
    let root = roots.first ?? spans.first
    let agents = spans.filter { $0.kind == .agent }
    let serviceName = root?.resource["service.name"]?.stringValue
    graph.agentName =
      (agents.first { $0.agentName != nil } ?? root)?.agentName
      ?? serviceName.flatMap { $0.hasPrefix("unknown_service") ? nil : $0 }
      ?? root?.nameOfAgent ?? serviceName
    graph.modelName = graph.firstModel
    if let root {
      graph.labels["trace"] = .string(root.trace)
      graph.labels["name"] = .string(root.name)
      for key in ["session.id", "gen_ai.conversation.id", "user.id"] {
        if let value = spans.lazy.compactMap({ $0[key] }).first { graph.labels[key] = value }
      }
    }
    let scopes = Set(spans.map(\.scope)).subtracting([""]).sorted { $0.precedesByUTF8($1) }
    if !scopes.isEmpty { graph.extra["instrumentation"] = JSONValue(scopes) }
    let hiding = spans.filter { span in
      span.hasUnknownKind || span.kind == .unknown && span.mayHideCall && !isToldAbove(span)
    }
    let wrappers = SpanWrappers(of: models, among: hiding, in: tree)
    for span in hiding where span.hasUnknownKind || !wrappers.tellAgain(span) {
      graph.unread.append(span.pointer)
    }
    // An agent of which nothing below was recorded may have done anything, unless it was only made.
    if !spans.contains(where: { [.model, .tool].contains($0.kind) }),
      let agent = agents.first(where: { $0.text("gen_ai.operation.name") != "create_agent" })
    {
      graph.unread.append(agent.pointer)
    }
    // What was left out of a model's span may be its calls, and of one without a kind that it is a model's or a tool's.
    for span in spans
    where span.droppedAttributes > 0 && [.model, .unknown].contains(span.kind)
      || span.droppedEvents > 0 && span.kind == .model
    {
      graph.unread.append(span.pointer)
    }
  }

  /// Whether all that has the form of a call in a span is that of the tool which it stands below: what a client asks the
  /// tool's server for.
  private func isToldAbove(_ span: TraceSpan) -> Bool {
    let found = CallSightings.all(
      in: .object(span.attributes), at: span.pointer, opensTexts: true)
    guard !found.isEmpty,
      let above = tree.above(span).first(where: { tree.kinds[$0] == .tool })
    else { return false }
    let tool = SpanTool(of: spans[above], records: records[spans[above].key] ?? [])
    return found.allSatisfy { sighting in
      sighting.call.name.hasSameUTF8(as: tool.name)
        && sighting.call.input.map { $0.byValue == tool.input?.byValue } ?? true
    }
  }

  /// A run is over where its root ended without error and its last reply ended by itself.
  private func ending(_ items: SpanItems) -> ParsedEnding? {
    // Where spans name a parent that is not there, the root never came.
    let keys = Set(spans.map(\.key))
    let hasLost = spans.contains { $0.parent != nil && keys.isDisjoint(with: $0.parentKeys) }
    guard !hasLost,
      let root = roots.last(where: { [.agent, .step, .unknown, .handoff].contains($0.kind) }),
      !spans.contains(where: \.isOpen), !roots.contains(where: \.isInterrupted)
    else { return nil }
    // Our own exports say how it ended.
    if let reason = root.text("agent_eval.stop.reason").flatMap(StopReason.init(rawValue:)) {
      return ParsedEnding(
        reason: reason, detail: root.text("agent_eval.stop.detail") ?? "", field: root.pointer)
    }
    // Where they name no reason, nobody knows it.
    if root.text("agent_eval.run.id") != nil { return nil }
    let last = graph.items.last {
      if case .reply(let reply) = $0 { reply.agent == nil } else { false }
    }
    // Unless an agent began after it, nothing came of what the guardrail stopped.
    if let guardrail = spans.last(where: \.isTripped),
      !spans.contains(where: { $0.kind == .agent && $0.start > guardrail.end })
    {
      let name = guardrail.text("name") ?? guardrail.name
      return ParsedEnding(
        reason: .blocked, detail: "guardrail \(name)".firstLine, field: guardrail.pointer)
    }
    // A client that throws for a reply that was kept back failed at nothing else.
    if case .reply(let reply)? = last, reply.error == nil, reply.refusal != nil {
      return FinishWord.ending(of: reply, field: root.pointer)
    }
    if let failure = roots.compactMap(\.failure).first {
      if case .reply(let reply)? = last, reply.error != nil || reply.failure != nil {
        return ParsedEnding(reason: .modelFailure, detail: failure.firstLine, field: root.pointer)
      }
      let word = failure.lowercased()
      let isLimit = ["max", "limit", "recursion", "timeout"].contains(where: word.contains)
      return ParsedEnding(
        reason: isLimit ? .budgetExhausted : .toolFailure, detail: failure.firstLine,
        field: root.pointer)
    }
    // Of a reply that was kept back it is enough to know that it was.
    guard case .reply(let reply)? = last, items.isComplete || reply.refusal != nil else {
      return nil
    }
    guard reply.error == nil, reply.failure == nil else {
      return FinishWord.ending(of: reply, field: root.pointer)
    }
    // An agent that failed below a root that did not.
    if let failed = spans.last(where: { $0.kind == .agent })?.failure {
      let isLimit = ["max", "limit", "recursion"].contains(where: failed.lowercased().contains)
      return ParsedEnding(
        reason: isLimit ? .budgetExhausted : .toolFailure, detail: failed.firstLine,
        field: root.pointer)
    }
    return FinishWord.ending(of: reply, field: root.pointer)
  }
}

extension String {
  /// Its first line, as far as a log's word is long.
  var firstLine: String {
    String(prefix { $0 != "\n" }).prefix(utf8Bytes: 200)
  }
}
