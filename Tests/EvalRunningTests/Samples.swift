import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import TraceJudging

@testable import TraceStorage

/// The recorded runs of the project.
enum Fixture {
  static func run(_ name: String) -> String { Project.path("Fixtures/runs/\(name).jsonl.gz") }
  static let torn = Project.path("Fixtures/torn/parallel-search.jsonl.gz")
  static let damaged = Project.path("Fixtures/damaged/error-recovered.jsonl.gz")
  static let runs = Project.files(below: "Fixtures/runs", ending: ".jsonl.gz")

  static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: run(name))))
  }

  static func events(_ path: String) throws -> [Event] {
    var reader = try LogReader(path: path)
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }
}

/// Writes a log whose events of these numbers are declared missing, as `repair` leaves it.
func writeLog(of events: [Event], without gap: ClosedRange<Int>, to path: String) throws {
  struct NoDeflater: Error {}
  guard let deflater = Deflater(level: 6) else { throw NoDeflater() }
  var blocks = BlockWriter(deflater: deflater)
  let (before, after) = (events[..<gap.lowerBound], events[(gap.upperBound + 1)...])
  blocks.open(firstSeq: 0)
  for event in before { blocks.add(event.encodedLine()) }
  blocks.close(nextSeq: gap.lowerBound)
  blocks.open(firstSeq: gap.upperBound + 1)
  let mark = Mark(
    name: "gap",
    data: [
      "first": JSONValue(gap.lowerBound), "last": JSONValue(gap.upperBound), "reason": "damage",
    ])
  blocks.add(mark.encodedLine())
  for event in after { blocks.add(event.encodedLine()) }
  blocks.close(nextSeq: events.count)
  blocks.putTrailer(nextSeq: events.count)
  try Data(blocks.pending).write(to: URL(fileURLWithPath: path))
}

/// A log whose `run_started` names a case, or none.
func writeLog(caseId: String?, to path: String) throws {
  let writer = try LogWriter(creating: path)
  var data: JSONObject = [
    "formatVersion": 2, "agent": ["name": "a"], "goal": "g", "limits": [:], "policyContext": [:],
    "tools": [],
  ]
  if let caseId { data["case"] = ["caseId": .string(caseId), "trial": 1] }
  try writer.append(
    Event(seq: 0, step: 0, type: .runStarted, runId: "r", data: data), isEffectAhead: false)
  try writer.append(
    Event(
      seq: 1, step: 1, type: .stop, runId: "r",
      data: ["reason": "success", "detail": "final_answer", "answer": "x", "final": true]),
    isEffectAhead: false)
  _ = try writer.close()
}

/// Expectations as a case file would have them.
func expecting(_ value: JSONObject) throws -> Expectations {
  try Expectations(parsing: .object(value))
}
