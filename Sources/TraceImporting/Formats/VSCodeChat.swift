import AgentTrace

/// Sessions of VS Code's chat, Copilot's above all, as it keeps them below `workspaceStorage/*/chatSessions` and exports them:
/// `{"requests":[{"requestId","message","response":[…],"result":{"metadata":{"toolCallRounds","toolCallResults"}}}]}` in one
/// value, or as an ``ObjectJournal`` of it.
///
/// What a model was asked and answered stands in the rounds of a request; which tools ran, in the parts of its response, too.
/// ``VSCodeRequest`` puts both together. A journal tells also of calls that were taken back later, as a person does who goes
/// back to an earlier state: they ran all the same.
///
/// Shapes: https://github.com/microsoft/vscode/tree/main/src/vs/workbench/contrib/chat/common/model,
/// https://github.com/microsoft/vscode-copilot-chat/tree/main/src/extension/prompt/common
enum VSCodeChat: FormatAdapter {
  static let summary = FormatSummary(
    reads: "sessions of VS Code's chat (Copilot), and their exports",
    tells: "calls, most results, refusals; of failures only what VS Code says; ends by its states")

  /// What a session may hold beside its requests, whatever stands there.
  private static let known: Set<String> = [
    "requests", "version", "sessionId", "creationDate", "customTitle", "initialLocation",
    "responderUsername", "inputState", "hasPendingEdits", "repoData", "isImported",
    "lastMessageDate", "computedTitle", "responderAvatarIconUri", "requesterUsername",
    "requesterAvatarIconUri", "workingSet",
  ]
  private static let marks = ["responderUsername", "sessionId", "initialLocation", "creationDate"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value): isSession(value) || isBeginning(value)
    case .lines(let lines):
      (try? lines.first?.content.get()).map { isBeginning($0) || isSession($0) } ?? false
    case .parts: false
    }
  }

  private static func isSession(_ value: JSONValue) -> Bool {
    guard let requests = value["requests"]?.arrayValue, marks.contains(where: { value[$0] != nil })
    else { return false }
    return requests.allSatisfy { $0["message"] != nil && $0["custom_id"] == nil }
  }

  private static func isBeginning(_ line: JSONValue) -> Bool {
    line["kind"]?.intValue == 0 && (line["v"].map(isSession) ?? false)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a session with `requests`, or a journal that begins with one")
    if case .value(let value) = document, isSession(value) {
      return [run(ObjectJournal.Placed(value, at: JSONPointer()), index: nil)]
    }
    let lines = SourceLines(document)
    if lines.values.first.map({ isSession($0.value) }) ?? false {
      return lines.values.enumerated().map { index, line in
        run(ObjectJournal.Placed(line.value, at: line.pointer), index: index)
      }
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var lost = LostRequests()
        let journal = ObjectJournal(lines) { lost.note($0, $1) }
        guard let state = journal.state else {
          throw ImportError(.wrongShape(expected: "a journal with a beginning"))
        }
        var graph = try graph(of: state, lost: lost)
        graph.unread += journal.unread
        return graph
      }
    ]
  }

  private static func run(_ session: ObjectJournal.Placed, index: Int?) -> SourceRun {
    SourceRun(index: index) { () throws(ImportError) in try graph(of: session, lost: LostRequests())
    }
  }

  /// - Parameter lost: what requests held before something of them was overwritten or taken away.
  private static func graph(
    of session: ObjectJournal.Placed, lost: LostRequests
  ) throws(ImportError) -> CallGraph {
    guard isSession(session.value), let object = session.value.objectValue else {
      throw ImportError(.wrongShape(expected: "a session with `requests`"), at: session.pointer())
    }
    var graph = CallGraph(format: .vscodeChat)
    for member in object where !known.contains(member.key) {
      let isQuiet = member.key == "pendingRequests" && !holdsResponse(member.value)
      if !isQuiet, !UnknownMember.isHarmless(member.key, member.value, quiet: []) {
        graph.unread.append(session.pointer([member.key]))
      }
    }
    let requests = session.elements("requests")
    var last: VSCodeRequest?
    // Those that were taken back came before what was asked in their place.
    let names = Set(requests.compactMap { $0.value["requestId"]?.stringValue })
    let taken = lost.order.filter { !names.contains($0) }.compactMap { lost.byName[$0]?.last }
    let all = (requests + taken).enumerated().sorted { left, right in
      let (first, second) = (time(of: left.element), time(of: right.element))
      return first != second && first != 0 && second != 0
        ? first < second : left.offset < right.offset
    }
    for (_, placed) in all {
      let earlier = placed.value["requestId"]?.stringValue.flatMap { lost.byName[$0] }
      let request = VSCodeRequest(placed, before: earlier ?? [])
      graph.items += request.items
      graph.unread += request.unread
      last = request
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: session.pointer()) }
    graph.noteSubAgents()
    graph.agentName = object["responderUsername"]?.stringValue ?? "vscode-chat"
    graph.modelName = graph.firstModel
    for key in ["sessionId", "customTitle"] {
      if let word = object[key], word.stringValue != nil { graph.labels[key] = word }
    }
    graph.ending = last?.ending(of: graph)
    return graph
  }

  private static func time(of request: ObjectJournal.Placed) -> Int {
    request.value["timestamp"]?.intValue ?? 0
  }

  /// Whether one of the requests that wait was answered already.
  private static func holdsResponse(_ value: JSONValue) -> Bool {
    guard let waiting = value.arrayValue else { return true }
    return waiting.contains { entry in
      let request = entry["request"] ?? entry
      return ["response", "result"].contains { request[$0]?.saysNothing == false }
    }
  }
}

/// What requests held before a later entry of their journal overwrote or took away something of it.
struct LostRequests {
  private(set) var byName: [String: [ObjectJournal.Placed]] = [:]
  /// Their names, as they were met.
  private(set) var order: [String] = []

  /// - Parameters:
  ///   - session: as it is before that.
  ///   - path: what is lost stands there, or below.
  mutating func note(_ session: ObjectJournal.Placed, _ path: [String]) {
    guard path.isEmpty || path[0] == "requests" else { return }
    if path.count > 2, !["response", "result"].contains(path[2]) { return }
    let requests =
      path.count < 2
      ? session.elements("requests") : [session["requests"]?[path[1]]].compactMap(\.self)
    for request in requests {
      let name = request.value["requestId"]?.stringValue ?? request.pointer().description
      if byName[name] == nil { order.append(name) }
      byName[name, default: []].append(request)
    }
  }
}

extension CallGraph {
  /// Notes that what sub-agents did stands elsewhere, but for the names of most tools that they called.
  fileprivate mutating func noteSubAgents() {
    var known: Set<String> = []
    for case .reply(let reply) in items {
      for call in reply.calls where ToolWord.plain(call.name).contains("subagent") {
        guard let place = call.pointer ?? reply.pointers.first,
          known.insert(call.name).inserted
        else { continue }
        missing.append(.subAgent("", at: place))
      }
    }
  }
}
