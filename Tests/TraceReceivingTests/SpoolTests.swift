import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceReceiving

@Suite("The spool of a receiver")
struct SpoolTests {
  @Test("two receivers never share a folder")
  func lock() throws {
    let folder = try TemporaryFolder()
    let first = try TestReceiver(folder)
    #expect(throws: ReceiverFault.self) { try TestReceiver(folder) }
    withExtendedLifetime(first) {}
  }

  @Test("a file of somebody else is no spool, and stays as it is")
  func foreign() throws {
    let folder = try TemporaryFolder()
    for bytes in [Array("not a database, but long enough for one".utf8), []] {
      try folder.write("out/.receive/spool.sqlite", bytes)
      if bytes.isEmpty { continue }
      #expect(throws: (any Error).self) { try TestReceiver(folder) }
      #expect(try folder.read("out/.receive/spool.sqlite") == bytes)
    }
  }

  @Test("what no log can be made of is kept under a name that nothing else has")
  func unreadNames() {
    let paths = ["a", "b", "a"].map {
      RunWriter.unreadPath(of: Array($0.utf8), format: "otlp", in: "runs")
    }
    #expect(paths[0] == paths[2] && paths[0] != paths[1])
    #expect(paths[0].hasPrefix("runs/.receive/unread/otlp-"))
  }

  @Test(
    "a receiver goes on with what another took in, and a log that is there already is not written twice"
  )
  func restart() async throws {
    let folder = try TemporaryFolder()
    let traces = (1...4).map { AgentTraceRequest($0) }
    do {
      let receiver = try TestReceiver(folder, settle: 1_000, idle: 1_000)
      for trace in traces {
        await receiver.post(AgentTraceRequest.request(Array(trace.spans.prefix(2))))
      }
    }
    do {
      let receiver = try TestReceiver(folder)
      for trace in traces {
        await receiver.post(AgentTraceRequest.request(Array(trace.spans.suffix(2))))
      }
      let written = try await receiver.write().flatMap(\.logs)
      #expect(written.map(\.isOpen) == Array(repeating: false, count: 4))
    }
    let receiver = try TestReceiver(folder)
    #expect(try await receiver.write(isLast: true).isEmpty)
    // What is not new is no news, also behind a restart.
    await receiver.post(traces[0].whole)
    #expect(try await receiver.write().flatMap(\.logs).isEmpty)
  }

  @Test("a log that was written and not judged is told to the next receiver, once")
  func unjudged() async throws {
    let folder = try TemporaryFolder()
    let trace = AgentTraceRequest(1)
    do {
      let receiver = try TestReceiver(folder)
      await receiver.post(trace.whole)
      // Ends before anybody judges it.
      #expect(try await receiver.receiver.writeNext().flatMap(\.logs).count == 1)
    }
    do {
      let receiver = try TestReceiver(folder)
      let left = try receiver.receiver.unjudged()
      #expect(left.map(\.name) == [trace.trace])
      try receiver.receiver.judged(left)
    }
    #expect(try TestReceiver(folder).receiver.unjudged().isEmpty)
  }

  @Test("a failure that nobody was told of is left to the next receiver until it is told")
  func untold() async throws {
    let folder = try TemporaryFolder()
    let trace = AgentTraceRequest(1)
    do {
      let receiver = try TestReceiver(folder)
      await receiver.post(trace.whole)
      let logs = try await receiver.receiver.writeNext().flatMap(\.logs)
      try receiver.receiver.judged(logs, isTold: false)
    }
    do {
      let receiver = try TestReceiver(folder)
      let left = try receiver.receiver.unjudged()
      #expect(left.map(\.name) == [trace.trace])
      try receiver.receiver.judged(left, isTold: false)
      try receiver.receiver.told(try #require(left.first))
    }
    #expect(try TestReceiver(folder).receiver.unjudged().isEmpty)
  }

  @Test("room is given back when runs are forgotten, and a full spool takes nothing until then")
  func room() async throws {
    let folder = try TemporaryFolder()
    let receiver = try TestReceiver(folder, settle: 1_000, idle: 1_000) {
      $0.spoolLimitBytes = 4 << 20
    }
    func size() throws -> Int {
      let path = receiver.folder + "/.receive/spool.sqlite"
      return try (FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }
    var number = 0
    func large() -> [UInt8] {
      number += 1
      let trace = AgentTraceRequest(number)
      return AgentTraceRequest.request(
        trace.spans + [
          trace.span(
            9, below: 1, "note", 1...2, ["text": .string(String(repeating: "x", count: 500_000))])
        ])
    }
    for _ in 0..<12 { await receiver.post(large()) }
    try await receiver.receiver.tidy()
    let answer = await receiver.post(large(), status: 429)
    #expect(answer.headers.contains { $0.name == "retry-after" })
    #expect(try await receiver.write(isLast: true).flatMap(\.logs).count == 12)
    // Kept for an hour, were there room.
    for _ in 0..<3 { try await receiver.receiver.tidy() }
    #expect(try size() < 1 << 20)
    await receiver.post(large())
  }

  @Test(
    "a run that never ends is written in parts, and none of it is lost", .timeLimit(.minutes(5)))
  func endless() async throws {
    let folder = try TemporaryFolder()
    let receiver = try TestReceiver(folder, settle: 1_000, idle: 1_000)
    let trace = AgentTraceRequest(1)
    let text = JSONValue.string(String(repeating: "y", count: 3_000_000))
    for number in 1...14 {
      let span = trace.span(
        number, below: 99, "execute_tool big", number...(number + 1),
        [
          "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "big",
          "gen_ai.tool.call.result": text,
        ])
      await receiver.post(AgentTraceRequest.request([span]))
      try await receiver.write()
    }
    try await receiver.write(isLast: true)
    #expect(receiver.names.count == 2)
    let results = try receiver.names.map { name in
      try receiver.events(name).count { $0.type == .toolResult }
    }
    #expect(results.reduce(0, +) == 14)
  }

  @Test(
    "no part of a run that is too large is whole, though it holds the root, or is of another trace",
    .timeLimit(.minutes(5)))
  func partsAreOpen() async throws {
    let receiver = try TestReceiver(try TemporaryFolder(), settle: 1_000, idle: 1_000)
    let traces = (1...2).map { AgentTraceRequest($0, session: "s-1") }
    let text = JSONValue.string(String(repeating: "y", count: 3_100_000))
    await receiver.post(traces[0].whole)
    let early = traces[1].span(
      5, below: 1, "execute_tool early", 1...2,
      ["gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "early"])
    await receiver.post(AgentTraceRequest.request([early]))
    for number in 5...15 {
      let span = traces[0].span(number, below: 1, "note", 1...2, ["text": text])
      await receiver.post(AgentTraceRequest.request([span]))
    }
    await receiver.post(traces[1].whole)
    let written = try await receiver.write(isLast: true).flatMap(\.logs)
    #expect(written.map(\.isOpen) == [true, true])
    #expect(receiver.names == traces.map(\.trace).sorted())
  }
}
