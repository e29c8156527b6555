public import AgentTrace

/// A run that a call of another is, as that one's log tells of it.
public struct ChildLog: Sendable, Hashable {
  /// Where its log is to be: beside the parent's.
  public var path: String
  /// Its identifier.
  public var runId: String
  /// The number of the parent's event that started it.
  public var seq: Int
  /// The digest of that event's data; see `ToolStartedPayload.digest`.
  public var digest: String
  /// The name of the tool that it is.
  public var tool: String
  /// How it ended, as the parent saw it; `nil` where it did not yet.
  public var end: ChildEnd?
}

extension LogFiles {
  /// The children that a log names, in the order in which they were started.
  ///
  /// A log whose tools are no agents, and that never went on with another agent file, is not read beyond its
  /// beginning.
  ///
  /// - Throws: ``LogError`` where the log cannot be read.
  public static func children(ofLog path: String) throws(LogError) -> [ChildLog] {
    let folder = RunTreeReader.folder(ofLog: path)
    var reader = try LogReader(path: path, options: .init(keepsLines: false))
    var children: [ChildLog] = []
    var mayHaveChildren = false
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      switch type {
      case .runStarted:
        let event = try reader.event(withOnly: [], list: "tools", elementKeys: ["agent"])
        mayHaveChildren =
          event?.data["tools"]?.arrayValue?.contains { $0["agent"] != nil } ?? false
      case .runResumed:
        let event = try reader.event(withOnly: ["agentDigest"])
        if event?.data["agentDigest"] != nil { mayHaveChildren = true }
      case .toolStarted where mayHaveChildren:
        guard case .event(let event) = try reader.line(),
          let payload = try? ToolStartedPayload(decoding: event.data), let child = payload.child,
          let log = RunTreeReader.log(of: child.runId, in: folder)
        else { continue }
        children.append(
          ChildLog(
            path: log, runId: child.runId, seq: event.seq, digest: payload.digest.hex,
            tool: payload.tool))
      case .toolResult where !children.isEmpty:
        guard case .event(let event) = try reader.line(),
          let object = event.data["child"]?.objectValue, let end = try? ChildEnd(decoding: object)
        else { continue }
        if let index = children.lastIndex(where: { $0.runId.hasSameUTF8(as: end.runId) }) {
          children[index].end = end
        } else if let log = RunTreeReader.log(of: end.runId, in: folder),
          let index = children.lastIndex(where: { $0.end == nil })
        {
          // A fork that was answered from its parent's log has its parent's children.
          children[index].path = log
          children[index].runId = end.runId
          children[index].end = end
        }
      default: break
      }
    }
    return children
  }

  /// Some logs without those of agents that a run among them called: whoever looks at that run sees them with it. What
  /// cannot be read stays, and so does what names a parent that does not name it.
  ///
  /// - Complexity: reads the first event of each, and of those that have such children all.
  public static func withoutChildren(_ logs: [String]) -> [String] {
    struct Start {
      var runId: String
      /// Of the run that a call of it is; `nil` for none.
      var parent: String?
    }
    let starts = logs.map { log -> Start? in
      guard var reader = try? LogReader(path: log, options: .init(keepsLines: false)),
        let first = try? reader.next()
      else { return nil }
      let parent = first.data["parent"]
      return Start(
        runId: first.runId,
        parent: ParentRun.isCall(parent) ? parent?["runId"]?.stringValue : nil)
    }
    let parents = Set(starts.compactMap { $0?.parent })
    guard !parents.isEmpty else { return logs }
    var named: Set<String> = []
    for (log, start) in zip(logs, starts) {
      guard let start, parents.contains(start.runId) else { continue }
      for child in (try? children(ofLog: log)) ?? [] { named.insert(child.runId) }
    }
    return zip(logs, starts).compactMap { log, start in
      guard let start, start.parent != nil, named.contains(start.runId) else { return log }
      return nil
    }
  }

  /// The logs of a run and of all below it that are there, each before its children, with the names of the tools that
  /// led to it.
  ///
  /// - Throws: ``LogError`` where one of them cannot be read.
  public static func tree(
    ofLog path: String
  ) throws(LogError) -> [(path: String, tools: [String])] {
    var found: [(path: String, tools: [String])] = [(path, [])]
    var known: Set<String> = [path]
    var next = 0
    while next < found.count {
      for child in try children(ofLog: found[next].path) where known.insert(child.path).inserted {
        let open = child.path + LogFormat.openSuffix
        let isClosed = try LogFile.exists(child.path, .real)
        let isThere = try isClosed ? true : LogFile.exists(open, .real)
        if isThere { found.append((child.path, found[next].tools + [child.tool])) }
      }
      next += 1
    }
    return found
  }
}
