import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceReporting

/// Node.js, which runs the viewer's script without a page.
private enum Node {
  static func isThere() async -> Bool { (try? await run("")) != nil }

  /// What a script prints.
  static func run(_ script: String) async throws -> String {
    try await Command(
      program: "/usr/bin/env", arguments: ["node", "-"], input: Array(script.utf8)
    ).run().output
  }
}

@Suite(
  "What the viewer file says of each type of event",
  .enabled("skipped: there is no node on this machine") { await Node.isThere() })
struct ViewerEventTests {
  /// The lines that the page has for an event: label, role, text.
  private static func told(_ events: [(type: String, data: JSONObject)]) async throws -> [JSONValue]
  {
    let given = JSONValue.array(events.map { [.string($0.type), .object($0.data)] })
    let output = try await Node.run(
      """
      \(ViewerBytes.script)\(ViewerLog.script)\(ViewerTimeline.script)
      console.log(JSON.stringify(\(CanonicalJSON.string(given))
        .map(([type, data]) => tell(type, data, { t: 0, runId: "r" }))));
      """)
    return try JSONValue(parsing: Array(output.utf8)).arrayValue ?? []
  }

  @Test("every known type has words of its own or its name, and others are later ones")
  func names() async throws {
    let types = EventType.known.map(\.rawValue)
    let rows = try await Self.told((types + ["of_the_future"]).map { ($0, [:]) })
    #expect(rows.count == types.count + 1)
    for (type, row) in zip(types, rows) {
      #expect(row[0]?[0]?.stringValue?.isEmpty == false && row[0]?[0] != "later", "\(type): \(row)")
    }
    #expect(rows.last?[0]?[0] == "later")
  }

  @Test("a type without words of its own is told by its name and what is short in its data")
  func byName() async throws {
    let data: JSONObject = [
      "method": "GET", "path": "/x", "status": 404, "wire": ["body": "long"], "parts": [1],
    ]
    let rows = try await Self.told([(EventType.requestForwarded.rawValue, data)])
    #expect(
      rows == [[["request forwarded", "faint", "method: GET, path: /x, status: 404"]]])
  }
}
