import AgentTrace

/// What the rest of a trace says of executions whose own spans do not.
extension [SpanGraph.Execution] {
  /// Names each tool as the replies do that ask for it, where a span has a title in its place: `Get Weather` for
  /// `get_weather`.
  mutating func takeNames(from models: [SpanGraph.ModelCall]) {
    var asked: [String: Set<String>] = [:]
    for call in models.flatMap({ $0.calls + ($0.content.inputs ?? []).flatMap(\.calls) }) {
      asked[ToolWord.plain(call.name), default: []].insert(call.name)
    }
    for index in indices {
      guard let names = asked[ToolWord.plain(self[index].tool.name)], names.count == 1,
        let name = names.first
      else { continue }
      self[index].tool.name = name
    }
  }

  /// Takes what came back from what a later call of a model was shown, by the call's id, where a span says nothing of it.
  mutating func takeResults(from models: [SpanGraph.ModelCall]) {
    guard contains(where: { $0.tool.data == .absent && $0.tool.id != nil }) else { return }
    var shown: [String: GraphResult] = [:]
    for result in models.flatMap({ ($0.content.inputs ?? []).flatMap(\.results) }) {
      if let id = result.id, shown[id] == nil { shown[id] = result }
    }
    let byId = Dictionary(grouping: indices.filter { self[$0].tool.id != nil }) {
      self[$0].tool.id ?? ""
    }
    for (id, places) in byId where places.count == 1 {
      guard let place = places.first, self[place].tool.data == .absent, let result = shown[id]
      else { continue }
      self[place].tool.data = result.data
      if result.status == .error, self[place].tool.status == .ok {
        self[place].tool.status = .error
      }
    }
  }
}

extension [SpanGraph.Execution] {
  /// What AG2 gives back for a call that a person would not have. (ag2ai/ag2, autogen/beta, 1.2.)
  private static let refusal = "User denied the tool call request"

  /// Takes executions that are none: where a person was asked below one, and what came back is that they would not have it.
  mutating func takeRefusals(by spans: [TraceSpan]) {
    let denied = indices.filter { self[$0].tool.data.value?.stringValue == Self.refusal }
    guard !denied.isEmpty else { return }
    let asked = Set(spans.filter { $0.text("ag2.span.type") == "human_input" }.compactMap(\.parent))
    for index in denied where asked.contains(self[index].span.id) {
      self[index].tool.status = .refused
    }
  }
}

/// Calls of agents as tools, of which neither a tool's span tells nor anything that a later call of a model was shown:
/// the agent's own span is what tells that they ran.
struct CallsOfAgents {
  /// How many there are, by the names that replies ask for.
  private var open: [String: Int] = [:]

  init(models: [SpanGraph.ModelCall], executions: [SpanGraph.Execution]) {
    let shown = Set(
      models.flatMap { ($0.content.inputs ?? []).flatMap(\.results) }.compactMap(\.id))
    let ran = Set(executions.map(\.tool.name))
    for call in models.flatMap(\.calls) where !ran.contains(call.name) {
      if let id = call.id, shown.contains(id) { continue }
      open[call.name, default: 0] += 1
    }
  }

  /// The execution that an agent's span tells of, each for one call.
  mutating func execution(toldBy span: TraceSpan, agent: String?) -> SpanGraph.Execution? {
    let name = span.agentName ?? span.ownName
    guard let left = open[name], left > 0 else { return nil }
    open[name] = left - 1
    var tool = SpanTool(of: span, records: [])
    tool.name = name
    // It was given its task in words of its own.
    (tool.input, tool.isInputCut) = (nil, false)
    return SpanGraph.Execution(span: span, tool: tool, agent: agent, scopes: [span.scope])
  }
}

extension TraceSpan {
  private static let methods = [".run", ".arun", ".forward", ".aforward"]

  /// What an agent's span calls the agent where no attribute does: its own name, without the method that ran it.
  var ownName: String {
    guard let method = Self.methods.first(where: name.hasSuffix), name.count > method.count else {
      return name
    }
    return String(name.dropLast(method.utf8.count))
  }

  /// What a run's own span calls its agent, where it is one and its name is no path of a program.
  var nameOfAgent: String? {
    guard kind == .agent, !ownName.contains(where: { ".[ ".contains($0) }) else { return nil }
    return ownName
  }

  /// Whether it is a node of a graph of LangGraph's, which may be called an agent and is a step of one.
  var isGraphNode: Bool { text("metadata")?.contains("\"langgraph_node\"") == true }
}
