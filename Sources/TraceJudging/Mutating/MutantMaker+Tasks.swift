import AgentTrace

/// Tasks of a pipeline that go another way: skipped, begun too soon, with another output, not undone.
extension MutantMaker {
  /// Nodes that are changed in each way, at most.
  private static let nodeLimit = 64

  /// One node of the pipeline, as the row of events tells of it.
  private struct Node {
    var node: TaskNode
    /// The places of its own events.
    var places: [Int] = []
    var starts: [Int] = []
    var end: Int?
  }

  func otherTasks() -> [Mutant] {
    guard events.first?.beginsPipeline ?? false else { return [] }
    let nodes = nodesInOrder()
    return nodes.compactMap(skipped) + cutEdges(nodes) + nodes.compactMap(otherOutput)
      + missingCompensations()
  }

  private func nodesInOrder() -> [Node] {
    var places: [TaskNode: Int] = [:]
    var nodes: [Node] = []
    for (index, event) in events.enumerated() {
      guard EventType.ofPipelines.contains(event.type),
        let change = try? PipelineEvent(type: event.type, data: event.data), let node = change.node
      else { continue }
      if places[node] == nil {
        places[node] = nodes.count
        nodes.append(Node(node: node))
      }
      guard let place = places[node] else { continue }
      switch change {
      case .started: nodes[place].starts.append(index)
      case .finished: nodes[place].end = index
      case .compensationStarted, .compensationFinished: continue
      default: break
      }
      nodes[place].places.append(index)
    }
    return nodes
  }

  /// Whether an event tells of what a node, or one of its elements, did.
  private func belongs(_ event: Event, to node: TaskNode) -> Bool {
    let name = node.description
    func isOwn(_ text: String?) -> Bool {
      guard let text, text.hasPrefix(name) else { return false }
      let next = text.utf8.dropFirst(name.utf8.count).first
      return next.map { "#/[".utf8.contains($0) } ?? true
    }
    return isOwn(event.data["callId"]?.stringValue) || isOwn(event.data["caller"]?.stringValue)
  }

  private func address(_ node: TaskNode) -> JSONValue { .string(node.description) }

  // MARK: Skipped

  private func skipped(_ node: Node) -> Mutant? {
    guard let end = node.end, end < events.count,
      let finished = try? TaskFinished(decoding: events[end].data), finished.via != "substitute",
      node.node.element ?? 0 < Self.nodeLimit
    else { return nil }
    let name = node.node
    var mutant = make(.skippedTask, at: end, "\(name) is skipped", tools: [name.description]) {
      [
        ["tasks": ["ran": [address(name)]]],
        ["tasks": ["status": [name.description: "finished"]]],
      ]
    }
    let isWhole = finished.elements != nil
    for (index, event) in events.enumerated() where index != end {
      let ofElement = isWhole && event.data["element"] != nil
      let isNode =
        event.data["task"]?.stringValue.map { $0.hasSameUTF8(as: name.task) } ?? false
        && EventType.ofPipelines.contains(event.type)
        && (event.data["element"]?.intValue == name.element || ofElement)
      if isNode || belongs(event, to: name) { mutant.removed.insert(index) }
    }
    mutant.replaced[end] = events[end]
    mutant.replaced[end]?.type = .taskSkipped
    mutant.replaced[end]?.data = TaskSkipped(node: name, reason: "it was left out").encoded
    return mutant
  }

  // MARK: Edges

  /// A node begins before the one that had ended last before it.
  private func cutEdges(_ nodes: [Node]) -> [Mutant] {
    var ends: [(place: Int, node: TaskNode)] = nodes.compactMap { node in
      node.end.map { ($0, node.node) }
    }
    ends.sort { $0.place < $1.place }
    return nodes.prefix(Self.nodeLimit).compactMap { node in
      guard let start = node.starts.last,
        let before = ends.last(where: {
          $0.place < start && !$0.node.task.hasSameUTF8(as: node.node.task)
        })
      else { return nil }
      let (left, right) = (before.node, node.node)
      var mutant = make(
        .edge, at: start, "\(right) does not wait for \(left)", tools: [right.description]
      ) { [["tasks": ["order": [address(left), address(right)]]]] }
      mutant.removed.insert(before.place)
      mutant.inserted[start + 1] = [at(events[before.place], like: start)]
      return mutant
    }
  }

  // MARK: Outputs

  private func otherOutput(_ node: Node) -> Mutant? {
    guard let end = node.end, let output = events[end].data["output"],
      node.node.element ?? 0 < Self.nodeLimit
    else { return nil }
    let name = node.node
    for (pointer, value) in Self.leaves(of: output) {
      guard let changed = Self.other(value),
        let other = Self.replacing(output, at: pointer.tokens[...], by: changed)
      else { continue }
      var mutant = make(
        .taskOutput, at: end,
        "\(name) returns \(Self.short(changed)) at \(pointer), not \(Self.short(value))",
        tools: [name.description]
      ) {
        [
          [
            "tasks": [
              "output": [
                name.description: Self.nested(pointer.tokens[...], ["$literal": value])
              ]
            ]
          ],
          ["tasks": ["output": [name.description: exactly(output)]]],
        ]
      }
      set("output", other, at: end, in: &mutant)
      // What the call is told to have returned is the same.
      let result = events[..<end].lastIndex {
        $0.type == .toolResult && $0.data["data"] == output && belongs($0, to: name)
      }
      if let result {
        set("data", other, at: result, in: &mutant)
      }
      return mutant
    }
    return nil
  }

  // MARK: Undoing

  private func missingCompensations() -> [Mutant] {
    var seen: Set<TaskNode> = []
    return events.indices.compactMap { index in
      guard events[index].type == .compensationFinished,
        let end = try? CompensationFinished(decoding: events[index].data), end.error == nil,
        seen.insert(end.node).inserted
      else { return nil }
      let name = end.node
      var mutant = make(
        .missingCompensation, at: index, "\(name) is not undone", tools: [name.description]
      ) { [["tasks": ["undone": [name.description: ["min": 1]]]]] }
      let undoing = "\(name)/\(PipelineCalls.compensation)"
      for (place, event) in events.enumerated() {
        let isOwn = [.compensationStarted, .compensationFinished].contains(event.type)
        let node = isOwn ? (try? PipelineEvent(type: event.type, data: event.data))??.node : nil
        let isCall =
          event.data["callId"]?.stringValue.map { $0.hasPrefix(undoing + "#") } ?? false
          || event.data["caller"]?.stringValue.map { $0.hasSameUTF8(as: undoing) } ?? false
        if node == name || isCall { mutant.removed.insert(place) }
      }
      return mutant
    }
  }
}
