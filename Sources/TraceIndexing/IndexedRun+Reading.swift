import AgentTrace
import TraceStorage

extension IndexedRun {
  /// Reads a log: its two ends where they say everything and that is wanted, else all of it.
  ///
  /// Whatever is wrong with the log is in the row; nothing is thrown.
  ///
  /// - Parameters:
  ///   - path: relative to the folder.
  ///   - fullPath: where the log is.
  static func read(_ path: String, at fullPath: String, fromSummary: Bool) -> IndexedRun {
    let stamp: FileStamp
    do { stamp = try FileStamp(path: fullPath) } catch {
      var run = IndexedRun(path: path, stamp: .absent, status: .unreadable, readFrom: .nothing)
      run.error = "\(path): \(error.phrase)"
      return run
    }
    if fromSummary, let run = summary(path, at: fullPath, stamp) { return run }
    return body(path, at: fullPath, stamp)
  }

  // MARK: The two ends

  /// `nil` where the ends do not say everything, or are not whole: then the body has to say it.
  private static func summary(
    _ path: String, at fullPath: String, _ stamp: FileStamp
  ) -> IndexedRun? {
    guard !fullPath.hasSuffix(LogFormat.openSuffix),
      let ends = try? LogEnds(path: fullPath, withOnly: Start.keys), case let tail = ends.tail,
      let stop = tail.stop, stop.seq == tail.events - 1,
      let entries = tail.summary["calls"]?.arrayValue,
      let calls = CallList(summary: entries, Self.simulatedUser(of: ends.head.started)),
      let object = tail.summary["totals"]?.objectValue,
      let totals = try? Totals(decoding: object),
      case let start = ends.head.started, !isPipeline(start, at: fullPath)
    else { return nil }
    var run = IndexedRun(path: path, stamp: stamp, status: .closed, readFrom: .summary)
    run.start = Start(start)
    run.ending = StopFact(stop)
    run.totals = totals
    run.calls = calls
    run.elapsedMicroseconds = stop.t
    run.events = tail.events
    run.sealDigest = tail.sealDigest.hex
    return run
  }

  /// What tells which calls of a run a simulated user made.
  private static func simulatedUser(of start: Event) -> SimulatedUser {
    var user = SimulatedUser()
    user.take(runStarted: start.data)
    return user
  }

  /// Whether a log is a pipeline's: what its tasks did is in no summary.
  ///
  /// - Parameter start: its first event, with what is looked at alone.
  private static func isPipeline(_ start: Event, at path: String) -> Bool {
    guard start.data["recorded"]?["calls"] == "partial", start.data["source"] == nil else {
      return false
    }
    let head = try? LogHead(path: path, withOnly: ["inputs"])
    return head?.started.beginsPipeline ?? true
  }

  // MARK: The body

  private static func body(
    _ path: String, at fullPath: String, _ stamp: FileStamp
  ) -> IndexedRun {
    var run = IndexedRun(path: path, stamp: stamp, status: .unreadable, readFrom: .nothing)
    var fold = TotalsFold()
    var tasks: PipelineCalls?
    do {
      var reader = try LogReader(path: fullPath, options: .init(keepsLines: false))
      run.readFrom = .body
      defer {
        run.events = reader.nextSeq
        run.totals = fold.totals
      }
      while let head = try reader.advance() {
        switch head {
        case .event(_, _, let type) where types.contains(type) || tasks != nil:
          guard case .event(let event) = try reader.line() else { continue }
          if event.beginsPipeline { tasks = PipelineCalls(tellsRuns: true) }
          let told = tasks?.told(by: event)
          for one in told?.before ?? [] { run.apply(one, &fold) }
          run.apply(event, &fold)
          for one in told?.behind ?? [] { run.apply(one, &fold) }
        case .event(_, _, let type):
          if let keys = keys[type], let event = try reader.event(withOnly: keys) {
            run.apply(event, &fold)
          }
          run.elapsedMicroseconds = max(run.elapsedMicroseconds, try reader.elapsedMicroseconds())
        case .mark("seal"):
          if case .mark(let mark) = try reader.line() {
            run.sealDigest = mark.data["digest"]?.stringValue.flatMap(Digest.init(hex:))?.hex
          }
        case .mark: break
        }
      }
      switch reader.ending {
      case .closed: run.status = .closed
      case .torn: run.status = .torn
      case .unfinished, nil: run.status = .unfinished
      }
    } catch {
      var error = error
      error.path = path
      run.error = "\(error)"
      run.status = error.isDamage && run.readFrom == .body ? .damaged : .unreadable
    }
    if run.status != .closed { run.sealDigest = nil }
    if run.events == 0 { run.readFrom = .nothing }
    return run
  }

  /// The types of events that are read whole.
  private static let types: Set<EventType> = [.runStarted, .decision, .runResumed, .stop]
  /// Of what other types is read; those that are not here say nothing that a row holds.
  private static let keys: [EventType: [StaticString]] = [
    .modelResult: ["callId", "cost", "error", "usage"],
    .policyDecision: ["callId", "status"],
    .toolStarted: ["callId", "caller", "ofUser", "tool"],
    .toolResult: ["callId", "caller", "child", "effect", "ofUser", "status", "tool"],
  ]

  private mutating func apply(_ event: Event, _ fold: inout TotalsFold) {
    elapsedMicroseconds = max(elapsedMicroseconds, event.t)
    switch event.type {
    case .runStarted:
      if event.seq == 0 { (start, simulatedUser) = (Start(event), Self.simulatedUser(of: event)) }
    case .modelResult: fold.apply(modelResult: event.data)
    case .decision:
      let payload = try? DecisionPayload(decoding: event.data)
      fold.apply(payload, of: event)
      if let payload { calls.append(payload, of: event, simulatedUser) }
    case .toolStarted, .toolResult:
      fold.apply(toCall: event)
      calls.apply(event, simulatedUser)
    case .policyDecision: calls.apply(event)
    case .taskFinished, .taskFailed:
      if let used = event.data["run"]?["totals"]?.objectValue,
        let used = try? Totals(decoding: used)
      {
        fold.apply(totalsOfRun: used)
      }
    case .runResumed: ending = nil
    case .stop: ending = StopFact(event)
    default: break
    }
  }
}

extension IndexedRun.StopFact {
  init(_ stop: Event) {
    reason = stop.data["reason"]?.stringValue.map(IndexText.name) ?? ""
    detail = stop.data["detail"]?.stringValue.map(IndexText.name)
    isFinal = stop.data["final"]?.boolValue ?? true
    answer = stop.data["answer"].flatMap(IndexText.beginning)
  }
}
