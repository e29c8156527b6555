import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting
import TraceStorage

@Suite("Bodies that came twice")
struct ReceivedTwiceTests {
  private static let routes: [(file: String, route: ReceivedRoute, path: String, type: String)] = [
    ("agents.json", .openAIAgents, "/v1/traces/ingest", "application/json"),
    ("hidden-deletion.json", .traces, "/v1/traces", "application/json"),
    ("hidden-deletion.pb", .traces, "/v1/traces", "application/x-protobuf"),
    ("refund-approved.json", .traces, "/v1/traces", "application/json"),
    ("refund-approved.pb", .traces, "/v1/traces", "application/x-protobuf"),
    ("langsmith.json", .langSmith(patched: nil), "/runs/batch", "application/json"),
  ]

  private static func bytes(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path))
  }

  private static func read(_ path: String) throws -> [Event] {
    var reader = try LogReader(path: path)
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  @Test("a piece that came twice says no more than once", arguments: 0..<6)
  func saysNoMore(index: Int) throws {
    let (file, route, path, type) = Self.routes[index]
    let folder = try TestSupport.TemporaryFolder()
    // The first byte of a seed says how it was posted.
    let seed = try Data(
      contentsOf: URL(fileURLWithPath: Project.path("Fuzzing/Seeds/received/\(file)")))
    var bodies = [
      try ReceivedBody(Array(seed.dropFirst()), route: route, path: path, contentType: type)
    ]
    #expect(!bodies[0].pieces.isEmpty)
    // And with a key that nobody knows, in the place of one that a span needs.
    let text = String(decoding: seed.dropFirst(), as: UTF8.self)
    for key in type == "application/json" ? ["span_data", "spanId", "id", "trace_id"] : [] {
      let other = text.replacing("\"\(key)\":", with: "\"\(key)x\":")
      if let body = try? ReceivedBody(
        Array(other.utf8), route: route, path: path, contentType: type)
      {
        bodies.append(body)
      }
    }
    for (place, piece) in bodies.flatMap(\.pieces).enumerated() {
      func events(_ payloads: [[UInt8]], _ name: String) throws -> [[Event]] {
        let runs = try ReceivedRuns(payloads, format: piece.format)
        return try runs.runs.enumerated().map { index, run -> [Event] in
          let log = folder.path("\(name)-\(place)-\(index).jsonl.gz")
          _ = try runs.write(run, to: log, named: "r\(index)")
          return try Self.read(log)
        }
      }
      // What is refused is refused as often as it comes.
      let once = try? events([piece.payload], "once")
      let twice = try? events([piece.payload, piece.payload], "twice")
      #expect(once == twice && (place > 0 || once?.isEmpty == false))
      for index in (once ?? []).indices {
        let logs = ["once", "twice"].map { folder.path("\($0)-\(place)-\(index).jsonl.gz") }
        #expect(try Self.bytes(logs[0]) == Self.bytes(logs[1]), "the same events, and other bytes")
      }
    }
  }
}
