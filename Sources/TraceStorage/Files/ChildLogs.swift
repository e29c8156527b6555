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
  /// The call that it is.
  public var callId: String
  /// Which attempt of it, from 1.
  public var attempt: Int
  /// The name of the tool that it is.
  public var tool: String
  /// How it ended, as the parent saw it; `nil` where it did not yet.
  public var end: ChildEnd?
}

/// Gathers the children that a log names, event by event.
struct ChildLogs {
  /// In the order in which they were started.
  private(set) var all: [ChildLog] = []
  /// Where their logs are to be.
  private let folder: String
  /// Whether some tool may be an agent. Without one, starts and results are passed over.
  private(set) var mayCome = false

  init(ofLog path: String) { folder = RunTreeReader.folder(ofLog: path) }

  /// Takes in the next event. Of a start no more is looked at than which tools are agents, of a session whether the
  /// agent file is another one.
  mutating func apply(_ event: Event) {
    switch event.type {
    case .runStarted:
      mayCome = event.data["tools"]?.arrayValue?.contains { $0["agent"] != nil } ?? false
    case .runResumed:
      if event.data["agentDigest"] != nil { mayCome = true }
    case .toolStarted where mayCome:
      guard let payload = try? ToolStartedPayload(decoding: event.data), let child = payload.child,
        let log = RunTreeReader.log(of: child.runId, in: folder)
      else { return }
      all.append(
        ChildLog(
          path: log, runId: child.runId, seq: event.seq, digest: payload.digest.hex,
          callId: payload.callId, attempt: payload.attempt, tool: payload.tool))
    case .toolResult where !all.isEmpty:
      guard let object = event.data["child"]?.objectValue, let end = try? ChildEnd(decoding: object)
      else { return }
      if let index = all.lastIndex(where: { $0.runId.hasSameUTF8(as: end.runId) }) {
        all[index].end = end
      } else if let log = RunTreeReader.log(of: end.runId, in: folder),
        let index = all.lastIndex(where: { $0.end == nil })
      {
        // A fork that was answered from its parent's log has its parent's children.
        all[index].path = log
        all[index].runId = end.runId
        all[index].end = end
      }
    default: break
    }
  }
}

extension LogFiles {
  /// The children that a log names, in the order in which they were started.
  ///
  /// A log whose tools are no agents, and that never went on with another agent file, is not read beyond its
  /// beginning.
  ///
  /// - Throws: ``LogError`` where the log cannot be read.
  public static func children(ofLog path: String) throws(LogError) -> [ChildLog] {
    var reader = try LogReader(path: path, options: .init(keepsLines: false))
    var children = ChildLogs(ofLog: path)
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      var event: Event?
      switch type {
      case .runStarted:
        event = try reader.event(withOnly: [], list: "tools", elementKeys: ["agent"])
      case .runResumed: event = try reader.event(withOnly: ["agentDigest"])
      case .toolStarted where children.mayCome, .toolResult where !children.all.isEmpty:
        if case .event(let whole) = try reader.line() { event = whole }
      default: break
      }
      if let event { children.apply(event) }
    }
    return children.all
  }

  /// Some logs without those that are parts of a run among them, of agents that it called or of its tasks: whoever looks
  /// at that run sees them with it. What cannot be read stays, and so does what names a parent that does not name it.
  ///
  /// - Complexity: reads the first event of each, and of those that have such parts all.
  public static func withoutParts(_ logs: [String]) -> [String] {
    struct Start {
      var runId: String
      /// Of the run that it is a part of; `nil` for none.
      var parent: String?
      /// A fork may have children of the run that it was forked from.
      var isFork = false
    }
    let starts = logs.map { log -> Start? in
      guard var reader = try? LogReader(path: log, options: .init(keepsLines: false)),
        let first = try? reader.next()
      else { return nil }
      let parent = first.data["parent"]
      return Start(
        runId: first.runId,
        parent: ParentRun.isPart(parent) ? parent?["runId"]?.stringValue : nil,
        isFork: parent?["relation"] == "fork")
    }
    let parents = Set(starts.compactMap { $0?.parent })
    guard !parents.isEmpty else { return logs }
    var named: Set<String> = []
    for (log, start) in zip(logs, starts) {
      guard let start, start.isFork || parents.contains(start.runId) else { continue }
      for part in (try? parts(ofLog: log)) ?? [] { named.insert(part.runId) }
    }
    return zip(logs, starts).compactMap { log, start in
      guard let start, start.parent != nil, named.contains(start.runId) else { return log }
      return nil
    }
  }

  /// The logs of a run and of all below it that are there, each before its parts, with the names of the tools and tasks
  /// that led to it, and how many of its parts have none there.
  ///
  /// - Throws: ``LogError`` where one of them cannot be read.
  public static func tree(
    ofLog path: String
  ) throws(LogError) -> [(path: String, names: [String], missing: Int)] {
    var found: [(path: String, names: [String], missing: Int)] = [(path, [], 0)]
    var known: PathSet = [path]
    var next = 0
    while next < found.count {
      for part in try parts(ofLog: found[next].path) where known.insert(part.path) {
        let open = part.path + LogFormat.openSuffix
        let isClosed = try LogFile.exists(part.path, .real)
        let isThere = try isClosed ? true : LogFile.exists(open, .real)
        if isThere {
          found.append((part.path, found[next].names + [part.name], 0))
        } else {
          found[next].missing += 1
        }
      }
      next += 1
    }
    return found
  }
}

extension ChildStart {
  /// Whether a run is the attempt of a call in the run that its log names as its parent: a fork has children of any run
  /// that it shares its beginning with.
  static func isRun(
    _ runId: String, ofCall callId: String, attempt: Int, in parent: JSONValue
  ) -> Bool {
    parent["runId"]?.stringValue.map {
      self.runId(ofCall: callId, attempt: attempt, in: $0).hasSameUTF8(as: runId)
    } ?? false
  }
}
