import AgentTrace
import FuzzSupport
import Glibc
import TraceStorage

/// Logs that the product writes itself, from events that an input describes.
enum Writing {
  /// Writes events that must be accepted, and checks that the log holds them.
  static func log(_ events: [Event], _ options: LogWriter.Options) -> LogWriter.ClosedLog {
    let path = scratch.file("written.jsonl.gz")
    _ = remove(path)
    _ = remove(path + ".open")
    do {
      let writer = try LogWriter(creating: path, options: options)
      for event in events { try writer.append(event, isEffectAhead: false) }
      let closed = try writer.close()
      check(closed, events, writer.state)
      return closed
    } catch {
      violated("events of a log cannot be written: \(error)")
    }
  }

  private static func remove(_ path: String) -> Int32 { unlink(path) }

  private static func check(_ closed: LogWriter.ClosedLog, _ events: [Event], _ state: AgentState) {
    let report = LogVerifier.verify(path: closed.path, expectedDigest: closed.sealDigest)
    for finding in report.findings {
      // Only what the events themselves hold may be wrong.
      require(
        finding.message.hasPrefix("the data of a ") || finding.message.hasPrefix("the digest of"),
        "a log that was written: \(finding)")
    }
    require(report.events == events.count && closed.events == events.count, "events are lost")
    let reading = LogReading(closed.path)
    require(reading.isWhole && reading.ending == .closed, "a log that was written: \(reading)")
    require(reading.events == events.map { $0.encodedLine().hashValue }, "it holds other events")
    var folded = AgentState()
    for event in events { folded.apply(event) }
    require(folded.digest == state.digest, "the writer's state is another")
  }

  /// The events that lines of JSON describe; what is missing there gets a plain value.
  static func events(of text: [UInt8]) -> [Event] {
    var events: [Event] = []
    for line in text.split(separator: 0x0a) {
      let options = JSONValue.ParseOptions(depthLimit: 100, keepsForeignText: true)
      guard let value = try? JSONValue(parsing: Array(line), options: options),
        case .object(let envelope) = value.withForms, var data = envelope["data"]?.objectValue
      else { continue }
      // No writer says that it wrote what it does not know.
      if data["formatVersion"] != nil { data["formatVersion"] = 1 }
      var extra = envelope
      for key in ["seq", "step", "type", "runId", "time", "t", "data", "mark"] { extra[key] = nil }
      events.append(
        Event(
          seq: events.count, step: number(envelope["step"]),
          type: EventType(rawValue: envelope["type"]?.stringValue ?? "other"),
          runId: envelope["runId"]?.stringValue ?? "run", time: envelope["time"]?.stringValue,
          t: number(envelope["t"]), data: data, extra: extra))
    }
    return events
  }

  private static func number(_ value: JSONValue?) -> Int {
    min(max(value?.intValue ?? 0, 0), LogFormat.numberLimit)
  }

  /// Makes a new log of what is whole in one: it verifies and holds what can be read past the damage.
  static func repair(_ laws: LogLaws, bytes: [UInt8], name: String) {
    let output = scratch.file("repaired.jsonl.gz")
    let repaired: RepairReport
    do {
      repaired = try LogRepair.repair(
        laws.path, to: output, options: .init(level: 1, blockBytes: 2000, durability: .none))
    } catch {
      require(
        scratch.files().allSatisfy { !$0.hasPrefix("repaired") }, "a failed repair leaves something"
      )
      require(laws.plain.fault != nil, "a log that can be read cannot be repaired: \(error)")
      return
    }
    require(scratch.read(name) == bytes, "repairing changed the log")
    let past = LogReading(laws.path, .init(skipsDamaged: true, checksLinks: true))
    let new = LogReading(repaired.output)
    require(new.fault == nil, "a repaired log: \(new)")
    require(new.events == past.events, "a repaired log holds other events")
    require(repaired.events == new.events.count, "the repair counts other events")
    let report = LogVerifier.verify(path: repaired.output)
    for finding in report.findings {
      require(
        finding.message.hasPrefix("the data of a ") || finding.message.hasPrefix("the digest of"),
        "a repaired log: \(finding)")
    }
  }

  /// Opens a log again, goes on and closes it: what was there stays, and the whole verifies.
  static func reopen(_ laws: LogLaws, bytes: [UInt8], name: String) {
    let isOpen = name.hasSuffix(".open")
    let plain = isOpen ? String(name.dropLast(5)) : name
    let reopening: (writer: LogWriter, reopened: LogWriter.Reopened)
    do {
      reopening = try LogWriter.reopening(
        scratch.file(plain), options: .init(level: 1, blockBytes: 2000, durability: .none))
    } catch {
      require(scratch.read(name) == bytes, "what cannot be reopened was changed: \(error)")
      let isOver = error.code == .runIsOver && !isOpen
      let isSound = laws.report.status == .whole || laws.report.status == .torn
      require(isOver || !isSound, "\(laws.report.status), but cannot be reopened: \(error)")
      return
    }
    require(laws.plain.fault == nil, "a damaged log was reopened: \(laws.plain)")
    goOn(reopening.writer, reopening.reopened, laws, plain)
  }

  private static func goOn(
    _ writer: LogWriter, _ reopened: LogWriter.Reopened, _ laws: LogLaws, _ plain: String
  ) {
    do {
      if !reopened.runIsOver {
        try writer.append(
          Event(
            seq: writer.nextSeq, step: 0, type: .runResumed,
            runId: reopened.lastEvent?.runId ?? "run",
            data: ["why": "fuzzing"]), isEffectAhead: false)
      }
      _ = try writer.close()
    } catch {
      // Its events may fill what a log can number.
      if case .system = error.code { violated("a reopened log cannot go on: \(error)") }
      require(writer.nextSeq > LogFormat.numberLimit - 2, "a reopened log cannot go on: \(error)")
      return
    }
    let after = LogReading(scratch.file(plain))
    require(after.fault == nil && after.ending == .closed, "reopened and closed: \(after)")
    let added = after.events.count - laws.plain.events.count
    require(
      after.events.starts(with: laws.plain.events) && added == (reopened.runIsOver ? 0 : 1),
      "reopening changed events")
    guard laws.report.status == .whole || laws.report.status == .torn else { return }
    let report = LogVerifier.verify(path: scratch.file(plain))
    require(
      report.status == .whole, "reopened and closed: \(report.findings.first?.description ?? "")")
  }
}
