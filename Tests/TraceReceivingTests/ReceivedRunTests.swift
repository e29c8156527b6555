import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting
import TraceReceiving
import TraceStorage

@Suite("Runs that come in")
struct ReceivedRunTests {
  /// What `import` makes of some requests that stand in one folder.
  private static func imported(_ requests: [[UInt8]]) throws -> Set<[JSONValue]> {
    let folder = try TemporaryFolder()
    for (index, request) in requests.enumerated() {
      try folder.write("in/\(1_000 + index).json", request)
    }
    var runs: Set<[JSONValue]> = []
    try Importer(format: nil, output: folder.path + "/logs").run(paths: [folder.path + "/in"]) {
      guard case .imported(let log, _) = $0.outcome else {
        Issue.record("\($0.json)")
        return
      }
      runs.insert(LogEvents.essence(try LogEvents.all(of: log)))
    }
    return runs
  }

  @Test(
    "in any order, split, doubled, in one request or many: the runs are those of an import, byte for byte the same",
    arguments: 0..<12)
  func anyOrder(_ seed: Int) async throws {
    let traces = (1...5).map { AgentTraceRequest($0) }
    let expected = try Self.imported(traces.map(\.whole))
    #expect(expected.count == 5)
    var random = Seeded(seed: UInt64(seed))
    var spans = traces.flatMap(\.spans)
    if seed % 2 == 1 { spans += spans }
    spans.shuffle(using: &random)
    let folder = try TemporaryFolder()
    let receiver = try TestReceiver(folder, settle: 1_000, idle: 1_000)
    while !spans.isEmpty {
      let count = Int.random(in: 1...7, using: &random)
      await receiver.post(AgentTraceRequest.request(Array(spans.prefix(count))))
      spans.removeFirst(min(count, spans.count))
    }
    try await receiver.write(isLast: true)
    #expect(receiver.names == traces.map(\.trace).sorted())
    let runs = try receiver.names.map { LogEvents.essence(try receiver.events($0)) }
    LogEvents.expectSame(runs, Array(expected))

    // The bytes do not depend on how they came.
    let other = try TestReceiver(try TemporaryFolder())
    for trace in traces { await other.post(trace.whole) }
    try await other.write()
    for name in receiver.names {
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: "\(receiver.folder)/\(name).jsonl.gz"))
          == Data(contentsOf: URL(fileURLWithPath: "\(other.folder)/\(name).jsonl.gz")))
    }
  }

  @Test("without its root a run is open: it has no stop, and nothing can be said against its calls")
  func rootless() async throws {
    let trace = AgentTraceRequest(1)
    let receiver = try TestReceiver(try TemporaryFolder())
    await receiver.post(AgentTraceRequest.request(Array(trace.spans.dropLast())))
    let written = try await receiver.write()
    #expect(written.flatMap(\.logs).map(\.isOpen) == [true])
    let events = try receiver.events(trace.trace)
    let start = try #require(events.first?.data)
    #expect(start["source"]?["labels"]?["state"] == "open")
    #expect(start["recorded"]?["calls"] == "partial" && start["recorded"]?["stop"] == "none")
    #expect(!events.contains { $0.type == .stop })
    #expect(events.contains { $0.type == .toolResult })
  }

  @Test(
    "what comes behind the end of a run makes a new version of it; what was there already does not")
  func versions() async throws {
    let trace = AgentTraceRequest(1)
    let receiver = try TestReceiver(try TemporaryFolder())
    let late = trace.spans[1]
    await receiver.post(
      AgentTraceRequest.request([trace.spans[0], trace.spans[2], trace.spans[3]]))
    let first = try await receiver.write().flatMap(\.logs)
    #expect(first.map(\.version) == [1] && first.map(\.isOpen) == [false])
    await receiver.post(AgentTraceRequest.request([late]))
    let second = try await receiver.write().flatMap(\.logs)
    #expect(second.map(\.version) == [2] && second.map(\.name) == [trace.trace])
    await receiver.post(AgentTraceRequest.request([late]))
    #expect(try await receiver.write().isEmpty)
    #expect(receiver.names == [trace.trace])
    let expected = try Self.imported([trace.whole])
    LogEvents.expectSame([LogEvents.essence(try receiver.events(trace.trace))], Array(expected))
  }

  @Test("what comes when a run is forgotten is a run of its own beside it, and open")
  func late() async throws {
    let trace = AgentTraceRequest(1)
    let folder = try TemporaryFolder()
    let receiver = try TestReceiver(folder, keep: 0)
    await receiver.post(AgentTraceRequest.request(Array(trace.spans.suffix(2))))
    try await receiver.write()
    let before = try receiver.events(trace.trace)
    try await receiver.receiver.tidy()
    for number in 1...2 {
      await receiver.post(AgentTraceRequest.request([trace.spans[number - 1]]))
      let written = try await receiver.write().flatMap(\.logs)
      #expect(written.map(\.name) == ["\(trace.trace).late-\(number)"])
      #expect(written.map(\.isOpen) == [true])
      try await receiver.receiver.tidy()
    }
    #expect(try receiver.events(trace.trace) == before)
    let ids = try receiver.names.map { try receiver.events($0).first?.runId }
    #expect(Set(ids).count == 3)
  }

  @Test("a root that comes when the rest of its run is forgotten does not make a whole run of it")
  func lateRoot() async throws {
    let trace = AgentTraceRequest(1)
    let receiver = try TestReceiver(try TemporaryFolder(), keep: 0)
    await receiver.post(AgentTraceRequest.request([trace.spans[1]]))
    try await receiver.write()
    try await receiver.receiver.tidy()
    await receiver.post(
      AgentTraceRequest.request([trace.spans[0], trace.spans[2], trace.spans[3]]))
    let written = try await receiver.write().flatMap(\.logs)
    #expect(written.map(\.name) == ["\(trace.trace).late-1"])
    #expect(written.map(\.isOpen) == [true])
    let events = try receiver.events("\(trace.trace).late-1")
    let start = try #require(events.first?.data)
    #expect(start["source"]?["labels"]?["state"] == "open")
    #expect(start["recorded"]?["calls"] == "partial" && start["recorded"]?["stop"] == "none")
    #expect(!events.contains { $0.type == .stop })
  }

  @Test(
    "what comes of a conversation that is forgotten is late, also under a trace that no log is called after"
  )
  func lateTrace() async throws {
    let traces = (1...2).map { AgentTraceRequest($0, session: "s-1") }
    let folder = try TemporaryFolder()
    do {
      let receiver = try TestReceiver(folder, keep: 0)
      await receiver.post(
        AgentTraceRequest.request(traces[0].spans + Array(traces[1].spans.prefix(3))))
      try await receiver.write()
      #expect(receiver.names == [traces[0].trace])
      try await receiver.receiver.tidy()
    }
    // It is remembered behind a restart, too.
    let receiver = try TestReceiver(folder, keep: 0)
    await receiver.post(AgentTraceRequest.request([traces[1].spans[3]]))
    let written = try await receiver.write().flatMap(\.logs)
    #expect(written.map(\.name) == ["\(traces[1].trace).late-1"])
    #expect(written.map(\.isOpen) == [true])
    // Another run is not.
    await receiver.post(AgentTraceRequest(3).whole)
    #expect(try await receiver.write().flatMap(\.logs).map(\.isOpen) == [false])
  }

  @Test("a run that began before all that is remembered is open")
  func beforeWhatIsRemembered() async throws {
    let trace = AgentTraceRequest(1)
    // Room for so much that 256 keys are remembered.
    let receiver = try TestReceiver(try TemporaryFolder(), keep: 0) {
      $0.spoolLimitBytes = 256 << 10
    }
    await receiver.post(AgentTraceRequest.request([trace.spans[1]]))
    try await receiver.write()
    try await receiver.receiver.tidy()
    await receiver.post(
      AgentTraceRequest.request((2...301).map { AgentTraceRequest($0).spans[1] }))
    try await receiver.write()
    for _ in 0..<4 { try await receiver.receiver.tidy() }
    try FileManager.default.removeItem(atPath: "\(receiver.folder)/\(trace.trace).jsonl.gz")
    await receiver.post(AgentTraceRequest.request([trace.spans[3]]))
    await receiver.post(AgentTraceRequest(400).whole)
    let written = try await receiver.write().flatMap(\.logs)
    #expect(written.map(\.name) == [trace.trace, AgentTraceRequest(400).trace])
    #expect(written.map(\.isOpen) == [true, false])
  }

  @Test("traces of one conversation are one run, also where they come one after the other")
  func conversation() async throws {
    let traces = (1...3).map { AgentTraceRequest($0, session: "s-1") }
    let receiver = try TestReceiver(try TemporaryFolder())
    for (index, trace) in traces.enumerated() {
      await receiver.post(trace.whole)
      let written = try await receiver.write()
      #expect(written.flatMap(\.logs).map(\.version) == [index + 1])
    }
    #expect(receiver.names == [traces[0].trace])
    let events = try receiver.events(traces[0].trace)
    #expect(events.count { $0.type == .toolResult } == 3)

    // The first trace last: what was written under the name of another is gone.
    let other = try TestReceiver(try TemporaryFolder())
    for trace in traces.reversed() {
      await other.post(trace.whole)
      try await other.write()
    }
    #expect(other.names == receiver.names)
    #expect(try other.events(traces[0].trace) == events)
  }

  @Test(
    "a trace whose model was shown what another asked for goes on from it, unless many asked by that id"
  )
  func callsAcrossTraces() async throws {
    var (first, second) = (AgentTraceRequest(1), AgentTraceRequest(2))
    second.call = first.call
    let (asks, goesOn) = ([first.spans[0], first.spans[3]], Array(second.spans[1...3]))
    for order in [[asks, goesOn], [goesOn, asks]] {
      let receiver = try TestReceiver(try TemporaryFolder())
      for spans in order {
        await receiver.post(AgentTraceRequest.request(spans))
        try await receiver.write()
      }
      #expect(receiver.names == [first.trace])
      #expect(try receiver.events(first.trace).count { $0.type == .toolResult } == 1)
    }
    first.call = "call_0"
    second.call = "call_0"
    let receiver = try TestReceiver(try TemporaryFolder())
    for trace in [first, second] {
      await receiver.post(trace.whole)
      try await receiver.write()
    }
    #expect(receiver.names == [first.trace, second.trace])
  }

  @Test("traces that no agent is told in make no log, and are counted")
  func nothingOfAnAgent() async throws {
    let trace = AgentTraceRequest(1)
    let receiver = try TestReceiver(try TemporaryFolder())
    let span = trace.span(1, below: nil, "GET /", 0...1, ["http.request.method": "GET"])
    await receiver.post(AgentTraceRequest.request([span]))
    #expect(try await receiver.write().map(\.leftOver) == [1])
    #expect(receiver.names.isEmpty && receiver.receiver.counts.leftOver == 1)
  }

  @Test("a run whose own log goes along is that log, byte for byte")
  func carried() async throws {
    let log = Project.path("Fixtures/runs/refund-approved.jsonl.gz")
    let body = try Exported.otlp(log)
    let receiver = try TestReceiver(try TemporaryFolder())
    await receiver.post(body, type: "application/x-protobuf")
    try await receiver.write()
    let name = try #require(receiver.names.first)
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: "\(receiver.folder)/\(name).jsonl.gz"))
        == Data(contentsOf: URL(fileURLWithPath: log)))
  }

  @Test("names that would lead out of the folder, and ids that are no names, lead nowhere else")
  func names() async throws {
    let folder = try TemporaryFolder()
    let receiver = try TestReceiver(folder)
    let ids = ["../../x", "a/b", ".hidden", "", String(repeating: "x", count: 300), "-rf", "ü"]
    for (index, id) in ids.enumerated() {
      let items: JSONValue = [
        "data": [
          [
            "object": "trace.span", "id": .string("s\(index)"), "trace_id": .string(id),
            "parent_id": nil, "started_at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T00:00:01Z",
            "span_data": ["type": "function", "name": "f", "input": "{}", "output": "x"],
          ]
        ]
      ]
      // Nothing can be kept of one that names no trace.
      await receiver.post(
        CanonicalJSON.encode(items, form: .plain), to: "/v1/traces/ingest",
        status: id.isEmpty ? 400 : 200)
    }
    try await receiver.write()
    #expect(receiver.names.count == ids.count - 1)
    #expect(receiver.receiver.counts.refused == 1)
    #expect(Set(folder.listing.map { $0.split(separator: "/")[0] }) == ["out"])
  }
}
