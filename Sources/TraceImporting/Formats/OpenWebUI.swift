import AgentTrace

/// Chats as Open WebUI exports them: `[{"id","title","chat":{"models","history":{"currentId","messages":{ID:{"parentId",
/// "childrenIds","role","content","output"}}}}}]`, one run each, or one chat alone.
///
/// A chat is a tree: answers that were made anew, or by several models, and questions that were put otherwise stand beside
/// each other. All of them are read, as all of them ran; those on the way to `currentId` last.
enum OpenWebUI: FormatAdapter {
  static let summary = FormatSummary(
    reads: "chats as Open WebUI exports them",
    tells: "calls and results, none said to have failed; usage where it is kept, ends by form")

  /// What a chat may hold beside its messages, whatever stands there.
  private static let known: Set<String> = [
    "history", "messages", "models", "params", "files", "tags", "title", "id", "timestamp",
    "options", "system", "chat", "meta", "share_id", "folder_id", "user_id", "tasks", "summary",
    "variables", "user",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, with: isChat)
  }

  /// The messages of a chat by their ids, and where they stand.
  private static func history(of value: JSONValue) -> (path: [String], history: JSONValue)? {
    for path in [["chat", "history"], ["history"]] {
      let history = path.reduce(value as JSONValue?) { $0?[$1] }
      if let history, history["messages"]?.objectValue != nil { return (path, history) }
    }
    return nil
  }

  private static func isChat(_ value: JSONValue) -> Bool {
    guard let (_, history) = history(of: value), let nodes = history["messages"]?.objectValue
    else { return false }
    return nodes.allSatisfy { node in
      node.value["role"]?.stringValue != nil
        && (node.value["childrenIds"] != nil || node.value["parentId"] != nil)
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "chats with a `history` of messages by their ids")
    return SourceRun.each(SourceLines(document), graph(of:at:))
  }

  /// The messages that are said to be there, and where: the current one, and those behind others.
  private static func named(
    in history: JSONValue, at pointer: JSONPointer
  ) -> [(id: String, place: JSONPointer)] {
    var named: [(String, JSONPointer)] = []
    if let id = history["currentId"]?.stringValue {
      named.append((id, pointer.appending("currentId")))
    }
    for node in history["messages"]?.objectValue ?? [:] {
      let place = pointer.appending("messages").appending(node.key).appending("childrenIds")
      for child in node.value["childrenIds"]?.arrayValue ?? [] {
        if let id = child.stringValue { named.append((id, place)) }
      }
    }
    return named
  }

  private static func graph(
    of value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> CallGraph {
    guard isChat(value), let (path, history) = history(of: value),
      let nodes = history["messages"]?.objectValue
    else {
      throw ImportError(.wrongShape(expected: "a chat with a `history` of messages"), at: pointer)
    }
    let place = JSONPointer(tokens: pointer.tokens + path + ["messages"])
    var graph = CallGraph(format: .openWebUI)
    for (holder, above) in [(value, pointer), (value["chat"] ?? .null, pointer.appending("chat"))] {
      graph.unread += UnknownMember.places(
        in: holder.objectValue ?? [:], besides: known, quiet: [], at: above)
    }
    let current = history["currentId"]?.stringValue.flatMap { nodes[$0] == nil ? nil : $0 }
    let tree = MessageTree(nodes, current: current)
    for id in tree.order {
      guard let node = nodes[id] else { continue }
      let message = OpenWebUIMessage(node, at: place.appending(id))
      graph.items += MessageItems.items(of: message.pieces)
      if message.isOfTask, graph.missing.isEmpty {
        graph.missing.append(.callsWithoutResult(at: place.appending(id)))
      }
    }
    for id in tree.orphans {
      graph.missing.append(
        .line(nodes[id]?["parentId"]?.stringValue ?? "", at: place.appending(id)))
    }
    for (id, place) in named(in: history, at: JSONPointer(tokens: pointer.tokens + path))
    where nodes[id] == nil {
      graph.missing.append(.line(id, at: place))
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: pointer) }
    graph.agentName = "open-webui"
    graph.modelName = graph.firstModel
    for key in ["id", "title"] {
      if let word = value[key] ?? value["chat"]?[key], word.stringValue != nil {
        graph.labels[key] = word
      }
    }
    if let current, let error = nodes[current]?["error"], error.saysError {
      graph.ending = ParsedEnding(
        reason: .modelFailure, detail: StopDetail.error,
        field: place.appending(current).appending("error"))
    } else {
      // Of several last answers nobody knows which one counts.
      graph.ending =
        tree.order.last == current || !tree.hasBranches
        ? graph.endingByForm : graph.endingByRefusal
    }
    return graph
  }
}

/// The order of messages that name those before them.
private struct MessageTree {
  private(set) var order: [String] = []
  /// Those that name one before them that is not there.
  private(set) var orphans: [String] = []
  private(set) var hasBranches = false

  /// - Parameter current: the message that was the last one to be looked at.
  init(_ nodes: JSONObject, current: String?) {
    var children: [String: [String]] = [:]
    var roots: [String] = []
    for node in nodes {
      guard let parent = node.value["parentId"]?.stringValue, parent != node.key else {
        roots.append(node.key)
        continue
      }
      if nodes[parent] == nil {
        orphans.append(node.key)
        roots.append(node.key)
      } else {
        children[parent, default: []].append(node.key)
      }
    }
    hasBranches = roots.count > 1 || children.values.contains { $0.count > 1 }
    var way: Set<String> = []
    var next = current
    while let id = next, way.insert(id).inserted { next = nodes[id]?["parentId"]?.stringValue }
    let time = { (id: String) in nodes[id]?["timestamp"]?.doubleValue ?? 0 }
    // The way to the current one last, the others as they were written.
    func sorted(_ ids: [String]) -> [String] {
      ids.sorted { left, right in
        let (first, second) = (way.contains(left), way.contains(right))
        if first != second { return second }
        return time(left) == time(right) ? left.precedesByUTF8(right) : time(left) < time(right)
      }
    }
    var seen: Set<String> = []
    // Those that lead to each other in a circle have no first one.
    for root in sorted(roots) + nodes.map(\.key) {
      var open = [root]
      while let id = open.popLast() {
        guard seen.insert(id).inserted else { continue }
        order.append(id)
        open += sorted(children[id] ?? []).reversed()
      }
    }
  }
}

extension MissingPart {
  /// Calls that a program made and kept only where they gave something back.
  fileprivate static func callsWithoutResult(at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "calls whose tools gave back nothing are not in the source")
  }
}
