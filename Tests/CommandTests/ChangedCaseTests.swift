import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

/// One key of a case changed at a time: re-execution with the case of today says what running it anew would.
@Suite("One changed key of a case")
struct ChangedCaseTests {
  /// Keys of a case, and whether the run that is made for it hangs on them. What a person says is an answer, which
  /// a log holds; tags only name a run.
  private static let changes: [(key: String, values: [JSONValue?], makesRun: Bool)] = [
    ("input", ["See to order 8", "See to order 7 ", "sée to order 7"], true),
    ("agent", ["other.json", "silent.json"], true),
    (
      "human",
      [
        ["approvals": [["granted": true, "by": "bo"]]],
        ["approvals": [["granted": false, "reason": "No."]]], ["approvals": []], nil,
      ], false
    ),
    ("tags", [["smoke"], nil], false), ("notes", ["for people", 7], false),
    ("expected", [["stopReason": "blocked"], ["toolsNotCalled": ["pay"]]], false),
    ("strict", [true], false), ("cluster", ["orders"], false), ("trials", [1], false),
    ("safety", [true], false), ("judgements", ["judged"], false),
    (
      "tolerates", [[["change": "drop_call", "tool": "lookup", "why": "It is the same."]]], false
    ),
  ]

  private static func agent(_ name: String, system: String, calls: [JSONValue]) -> JSONValue {
    [
      "name": .string(name), "system": .string(system),
      "model": ["script": .array(calls + [["answer": "Done."]])],
      "tools": [
        ["name": "lookup", "sideEffect": "read", "scripted": [["ok": ["state": "sent"]]]],
        ["name": "pay", "sideEffect": "write", "scripted": [["ok": "paid"]]],
      ],
      "policy": ["rules": [["id": "money", "tool": "pay", "verdict": "approval_required"]]],
    ]
  }

  private static let agents: [(file: String, value: JSONValue)] = [
    (
      "agent.json",
      agent(
        "orders", system: "Help.",
        calls: [
          ["calls": [["tool": "lookup"]]], ["calls": [["tool": "pay", "input": ["sum": 5]]]],
        ])
    ),
    (
      "other.json", agent("orders", system: "Help a lot.", calls: [["calls": [["tool": "lookup"]]]])
    ),
    ("silent.json", agent("silent", system: "Say little.", calls: [])),
  ]

  @Test("re-execution differs where, and only where, running the case anew does, and names the key")
  func everyKey() async throws {
    let folder = try TemporaryFolder()
    for agent in Self.agents { try folder.write(agent.file, CanonicalJSON.encode(agent.value)) }
    let bases: [JSONObject] = [
      ["human": ["approvals": [["granted": true, "by": "ana"]]]],
      ["human": ["approvals": [["granted": false, "by": "ana"]]]], [:],
      [
        "human": ["approvals": [["granted": true]]], "tags": ["a"], "notes": "b",
        "agent": "other.json",
      ],
    ]
    var tried = 0
    for (index, base) in bases.enumerated() {
      var document: JSONObject = [
        "caseId": "orders", "input": "See to order 7", "agent": "agent.json",
        "expected": ["maxSteps": 9],
      ]
      for member in base { document[member.key] = member.value }
      let before = try await Self.run(document, folder, "before-\(index)")
      for (number, (key, values, makesRun)) in Self.changes.enumerated() {
        for (place, value) in values.enumerated() where document[key] != value {
          // Every value is tried with two of the four cases; in a full proof with all of them.
          guard TestRun.isLong || (index + number + place).isMultiple(of: 2) else { continue }
          var changed = document
          changed[key] = value
          let name = "after-\(index)-\(key)-\(place)"
          let after = try await Self.run(changed, folder, name)
          let found = try await Self.again(before.log, folder, name)
          tried += 1
          let told = Comment("base \(index): \(key) = \(value?.description ?? "gone")")
          guard makesRun else {
            #expect(found["result"] == "faithful", told)
            continue
          }
          let first = zip(before.events, after.events).enumerated()
            .first { Self.plain($0.element.0) != Self.plain($0.element.1) }?.offset
          let seq = try #require(first, told)
          #expect(found["result"] == "diverged", told)
          #expect(found["divergence"]?["seq"]?.intValue == seq, told)
          let changes = found["divergence"]?["changes"]?.arrayValue ?? []
          let keys = changes.compactMap { $0["key"]?.stringValue }
          #expect(key == "agent" || keys == ["case.input"], "\(told): \(found)")
          #expect(
            key != "agent" || !keys.isEmpty && !keys.contains("case.input"), "\(told): \(found)")
        }
      }
    }
    #expect(tried >= TestRun.count(35, long: 60))
  }

  @Test("of a run for another case, and of one for no case, nothing is taken from a case file")
  func others() async throws {
    let folder = try TemporaryFolder()
    for agent in Self.agents { try folder.write(agent.file, CanonicalJSON.encode(agent.value)) }
    let made = try await Self.run(
      ["caseId": "mine", "input": "A", "agent": "agent.json", "expected": ["maxSteps": 9]], folder,
      "mine")
    try folder.write(
      "other/case.json",
      #"{"caseId":"theirs","input":"B","agent":"../other.json","expected":{"maxSteps":9}}"#)
    let outcome = try await Binary.run(
      ["replay", made.log, "--reexecute", "--agent", "agent.json", "--cases", "other", "--json"],
      in: folder.path, status: 0)
    let told = try JSONValue(parsing: outcome.output)
    #expect(told["result"] == "faithful")
    #expect(told["note"]?.stringValue?.contains("“mine” is none of those given") == true)
    let missing = try await Binary.run(
      ["replay", made.log, "--reexecute", "--cases", "nowhere"], in: folder.path, status: 2)
    #expect(missing.errors.contains("nowhere"))
    try await Binary.run(
      ["replay", made.log, "--cases", "other"], in: folder.path, status: 64)
  }

  private static func run(
    _ document: JSONObject, _ folder: TemporaryFolder, _ name: String
  ) async throws -> (log: String, events: [Event]) {
    try folder.write("\(name).json", CanonicalJSON.encode(.object(document), form: .plain))
    let runs = "runs-\(name)"
    let outcome = try await Binary.run(
      ["run", "\(name).json", "--out", runs, "--seed", "1"], in: folder.path,
      status: nil)
    let log = try #require(
      folder.listing.first { $0.hasPrefix(runs + "/") && $0.hasSuffix(".jsonl.gz") }, "\(outcome)")
    return (log, try readLog(folder.path(log)))
  }

  private static func again(
    _ log: String, _ folder: TemporaryFolder, _ name: String
  ) async throws -> JSONValue {
    let outcome = try await Binary.run(
      ["replay", log, "--reexecute", "--cases", "\(name).json", "--json"],
      in: folder.path, status: nil)
    return try JSONValue(parsing: outcome.output)
  }

  /// An event by what it says, without what only names the run and its files.
  private static func plain(_ event: Event) -> JSONValue {
    var data = event.data
    for key in [
      "case", "tags", "inputs", "origins", "policyDigest", "agent", "requestDigest", "stateDigest",
      "elapsedMicroseconds", "idempotencyKey",
    ] { data[key] = nil }
    return [.string(event.type.rawValue), JSONValue(event.step), .object(data)]
  }
}
