import AgentTrace
import FuzzSupport
import TraceStorage

/// What one way of reading a log gives, small however far its events expand.
struct LogReading {
  /// A hash of each event's plain line.
  var events: [Int] = []
  /// The first fault.
  var fault: LogError?
  var ending: LogReader.Ending?
  var damage: [LogError] = []
  var holes: [ClosedRange<Int>] = []

  init(_ path: String, _ options: LogReader.Options = .init()) {
    var reader: LogReader
    do { reader = try LogReader(path: path, options: options) } catch {
      fault = error
      return
    }
    read(&reader)
  }

  /// Reads on from where a reader stands.
  init(goingOnWith reader: LogReader) {
    var reader = reader
    read(&reader)
  }

  private mutating func read(_ reader: inout LogReader) {
    do {
      while let event = try reader.next() { events.append(event.encodedLine().hashValue) }
    } catch {
      check(error)
      fault = error
      require((try? reader.next()) == .some(nil), "a reader goes on behind its end")
    }
    (ending, damage, holes) = (reader.ending, reader.damage, reader.holes)
    for error in damage { check(error) }
  }

  private func check(_ error: LogError) {
    require(!error.description.isEmpty, "a fault without words")
    require(error.code == .notFound || !error.isDamage || error.offset != nil, "\(error) nowhere")
  }

  var isWhole: Bool { fault == nil && damage.isEmpty && holes.isEmpty }
}

/// Holds the many ways of reading one log to each other.
struct LogLaws {
  let path: String
  let size: Int
  let plain: LogReading
  let report: VerifyReport

  init(_ path: String, size: Int) {
    (self.path, self.size) = (path, size)
    plain = LogReading(path)
    report = LogVerifier.verify(path: path)
  }

  /// Some laws hold on every file or on none; they are checked on a part of the inputs.
  private var isThorough: Bool { size % 4 == 0 }

  func check() {
    checkFault()
    checkOtherWays()
    checkReport()
    checkHeads()
    if report.status == .whole { checkWhole() }
  }

  private func checkFault() {
    if let offset = plain.fault?.offset { require(offset <= size, "a fault behind the end") }
    if case .torn(let offset)? = plain.ending { require(offset <= size, "torn behind the end") }
    require(plain.fault != nil || plain.ending != nil, "neither an end nor a fault")
  }

  private func checkOtherWays() {
    let lean = LogReading(path, .init(keepsLines: false, cacheBytes: 0))
    require(lean.events == plain.events, "without memory other events are read")
    require(lean.fault == plain.fault && lean.ending == plain.ending, "without memory another end")
    guard isThorough || plain.fault != nil else { return }
    let linked = LogReading(path, .init(checksLinks: true))
    require(
      plain.events.starts(with: linked.events), "checking links gives events that are not there")
    if linked.fault == nil { require(linked.events == plain.events, "checking links loses events") }
    let skipping = LogReading(path, .init(skipsDamaged: true))
    require(skipping.events.starts(with: plain.events), "skipping damage loses events before it")
    if plain.fault == nil {
      require(
        skipping.events == plain.events && skipping.damage.isEmpty, "damage only when skipped")
    } else if plain.fault?.isDamage == true {
      require(!skipping.damage.isEmpty, "damage is skipped in silence")
      require(skipping.fault?.isDamage != true, "damage is not skipped: \(skipping)")
    }
  }

  private func checkReport() {
    let sound = report.status == .whole || report.status == .torn
    require(
      sound == report.findings.isEmpty, "\(report.status), but \(report.findings.count) findings")
    if isThorough {
      require(LogVerifier.verify(path: path) == report, "verifying twice says two things")
    }
    for finding in report.findings {
      require(!finding.description.isEmpty, "a finding without words")
      require((finding.offset ?? 0) <= size, "a finding behind the end")
    }
    switch report.status {
    case .whole:
      require(plain.fault == nil && plain.ending == .closed, "whole, and yet \(plain)")
      require(report.events == plain.events.count, "the verifier counts other events")
    case .torn:
      require(plain.fault == nil && plain.ending != .closed, "torn, and yet \(plain)")
      require(report.events == plain.events.count, "the verifier counts other events")
    case .damaged, .unreadable: break
    }
    if let digest = report.sealDigest, sound, isThorough {
      let same = LogVerifier.verify(path: path, expectedDigest: digest)
      require(same.status == report.status, "the digest it gave is not the one it expects")
      let other = LogVerifier.verify(path: path, expectedDigest: Digest(of: [1]))
      require(other.status == .damaged, "any digest will do")
    }
  }

  /// What is said of lines without reading them is what reading them says.
  private func checkHeads() {
    guard var reader = try? LogReader(path: path) else { return }
    let keys: [StaticString] = ["callId", "status", "kind", "reason", "agent"]
    while let head = try? reader.advance() {
      guard let line = try? reader.line() else { break }
      switch (head, line) {
      case (.mark(let name), .mark(let mark)):
        require(name.hasSameUTF8(as: mark.name), "a mark's head has another name")
      case (.event(let seq, let step, let type), .event(let event)):
        require(
          seq == event.seq && step == event.step && type == event.type, "a head of another event")
        require((try? reader.elapsedMicroseconds()) == event.t, "a head with another time")
        guard let part = try? reader.event(withOnly: keys, list: "calls", elementKeys: ["callId"])
        else { violated("a whole event cannot be read in part") }
        compare(part, event, keys)
      default: violated("a head of another kind")
      }
    }
  }

  private func compare(_ part: Event, _ event: Event, _ keys: [StaticString]) {
    require(
      part.seq == event.seq && part.step == event.step && part.type == event.type
        && part.runId.hasSameUTF8(as: event.runId) && part.t == event.t, "a part of another event")
    for key in keys {
      let key = "\(key)"
      require(part.data[key] == event.data[key], "a part says something else of \(key)")
    }
    let (some, all) = (part.data["calls"]?.arrayValue, event.data["calls"]?.arrayValue)
    require(some?.count == all?.count, "a part with other calls")
    for (some, all) in zip(some ?? [], all ?? []) {
      require(some["callId"] == all["callId"], "a part with another call")
    }
  }

  // MARK: Whole logs

  private func checkWhole() {
    let tail: LogTail
    do { tail = try LogTail(path: path) } catch { violated("the end of a whole log: \(error)") }
    require(
      tail.events == plain.events.count || !plain.holes.isEmpty, "its end counts other events")
    require(tail.sealDigest == report.sealDigest, "its end has another seal")
    guard var reader = try? LogReader(path: path) else { violated("a whole log cannot be read") }
    var (events, states, bytes) = ([Event](), [AgentState()], 0)
    while let event = try? reader.next() {
      bytes += event.encodedLine().count
      guard bytes < 4 << 20, events.count < 500 else { return }
      events.append(event)
      var state = states[states.count - 1]
      state.apply(event)
      states.append(state)
    }
    checkHead(events.first)
    guard plain.holes.isEmpty else { return }
    checkCheckpoints(states)
    checkRewriting(events)
  }

  private func checkHead(_ first: Event?) {
    guard let first, first.seq == 0, first.type == .runStarted else { return }
    do {
      let head = try LogHead(path: path, withOnly: ["agent", "goal"])
      for key in ["agent", "goal"] {
        require(head.started.data[key] == first.data[key], "its beginning has another \(key)")
      }
      require(head.started.time == first.time && head.started.t == first.t, "or another time")
    } catch {
      violated("the beginning of a whole log: \(error)")
    }
  }

  private func checkCheckpoints(_ states: [AgentState]) {
    for seq in Set([0, 1, states.count / 2, states.count - 1, states.count]) {
      do {
        let reader = try LogReader(path: path, startingAtCheckpointBefore: seq)
        let start = reader.nextSeq
        require(start <= seq, "reading begins behind the event asked for")
        require(reader.startState.digest == states[start].digest, "a checkpoint of another state")
        let reading = LogReading(goingOnWith: reader)
        require(reading.fault == nil, "from a checkpoint on it cannot be read: \(reading)")
        require(reading.events == Array(plain.events[start...]), "a checkpoint changes events")
      } catch {
        violated("a whole log cannot be read from a checkpoint: \(error)")
      }
    }
  }

  /// Canonical lines are what a writer would write again.
  private func checkRewriting(_ events: [Event]) {
    let rewritten = Writing.log(
      events, .init(level: 0, blockBytes: 1000, checkpointBytes: 5000, durability: .none))
    require(
      LogReading(rewritten.path).events == plain.events, "written again it holds other events")
  }
}
