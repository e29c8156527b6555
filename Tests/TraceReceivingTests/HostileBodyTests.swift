import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReceiving

@Suite("Bodies that nobody should send")
struct HostileBodyTests {
  private static let protobuf = "application/x-protobuf"

  /// gzip of zeros, made by hand: stored blocks would be as long as what they hold.
  private static func gzip(_ path: String, _ input: [UInt8]) async throws -> [UInt8] {
    try await Command(program: "/bin/gzip", arguments: ["-c"], input: input).run().outputBytes
  }

  @Test("every beginning of a request in protocol buffers is refused or taken, and never worse")
  func truncated() async throws {
    let whole = try Exported.otlp(
      Project.path("Fixtures/runs/hidden-deletion.jsonl.gz"), isPlain: true)
    let receiver = try TestReceiver(try TemporaryFolder())
    var refused = 0
    for count in stride(from: 1, to: whole.count, by: max(1, whole.count / 150)) {
      let answer = await receiver.receiver.take(
        method: "POST", target: "/v1/traces", contentType: Self.protobuf, contentEncoding: "",
        body: Array(whole[..<count]))
      #expect(answer.status == 400 || answer.status == 200)
      if answer.status == 400 {
        refused += 1
        // `google.rpc.Status` with a message, in the form of the request.
        #expect(answer.body.first == 0x12 && answer.headers[0].value == Self.protobuf)
      }
    }
    #expect(refused > 100)
  }

  @Test(
    "bytes that were changed anywhere are refused or taken, and what is taken can be written",
    arguments: 0..<4)
  func changed(_ seed: Int) async throws {
    var random = Seeded(seed: UInt64(seed))
    let whole = try Exported.otlp(
      Project.path("Fixtures/runs/refund-approved.jsonl.gz"), isPlain: seed % 2 == 0)
    let receiver = try TestReceiver(try TemporaryFolder())
    for _ in 0..<60 {
      var body = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        body[Int.random(in: body.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      let answer = await receiver.receiver.take(
        method: "POST", target: "/v1/traces", contentType: Self.protobuf, contentEncoding: "",
        body: body)
      #expect([200, 400].contains(answer.status))
    }
    for written in try await receiver.write(isLast: true) {
      #expect(written.faults.map { "\($0.error)" }.allSatisfy { !$0.isEmpty })
    }
  }

  @Test("lengths that lie, values that nest without end, and varints without end are refused")
  func nested() async throws {
    let receiver = try TestReceiver(try TemporaryFolder())
    let lies: [[UInt8]] = [
      [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
      [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00], Array(repeating: 0xff, count: 100),
      [0x0b, 0x0c], [0x00], [0x0f],
    ]
    for body in lies { await receiver.post(body, type: Self.protobuf, status: 400) }
    func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
      var (rest, length): (Int, [UInt8]) = (bytes.count, [])
      while rest >= 128 {
        length.append(UInt8(rest & 127) | 128)
        rest >>= 7
      }
      return [number << 3 | 2] + length + [UInt8(rest)] + bytes
    }
    for depth in [20, 59, 61, 5_000] {
      var value = field(1, Array("x".utf8))
      for _ in 0..<depth { value = field(5, field(1, value)) }
      let span =
        field(1, Array(repeating: 1, count: 16))
        + field(2, Array(repeating: UInt8(depth & 127), count: 8))
        + field(5, Array("chat".utf8))
        + field(
          9, field(1, Array("gen_ai.operation.name".utf8)) + field(2, field(1, Array("chat".utf8))))
        + field(9, field(1, Array("deep".utf8)) + field(2, value))
      let body = field(1, field(2, field(2, span)))
      await receiver.post(body, type: Self.protobuf, status: depth < 60 ? 200 : 400)
    }
    // What was taken can be written.
    let written = try await receiver.write(isLast: true)
    #expect(written.flatMap(\.faults).isEmpty && written.flatMap(\.logs).count == 1)
  }

  @Test("JSON that nests too deep, is none, or no request is refused")
  func json() async throws {
    let receiver = try TestReceiver(try TemporaryFolder())
    let deep = String(repeating: "[", count: 100_000)
    for text in [
      deep,
      "{\"resourceSpans\":" + String(repeating: "[", count: 200)
        + String(repeating: "]", count: 200) + "}",
      "", "x", "[]", "\"a\"", "{\"resourceSpans\":[", "{\"other\":1}", "{} {}", "\u{0}",
    ] {
      await receiver.post(Array(text.utf8), status: 400)
    }
    await receiver.post(Array("{}".utf8))
    for target in ["/v1/traces/ingest", "/runs/batch", "/runs/multipart"] {
      for text in ["{}", "[]", "1", deep] {
        await receiver.post(Array(text.utf8), to: target, status: 400)
      }
    }
    await receiver.post(
      Array("--x\r\nno head".utf8), to: "/runs/multipart", type: "multipart/form-data; boundary=x",
      status: 202)
    #expect(try await receiver.write(isLast: true).isEmpty)
  }

  @Test(
    "a body that unpacks to more than the limit is refused before it does; one that is packed twice, too"
  )
  func packed() async throws {
    let receiver = try TestReceiver(try TemporaryFolder()) { $0.bodyLimitBytes = 4 << 20 }
    let bomb = try await Self.gzip("bomb", Array(repeating: 0x20, count: 40 << 20))
    #expect(bomb.count < 100_000)
    await receiver.post(bomb, encoding: "gzip", status: 413)
    let body = AgentTraceRequest(1).whole
    let packed = try await Self.gzip("body", body)
    await receiver.post(packed, encoding: "gzip")
    await receiver.post(try await Self.gzip("twice", packed), encoding: "gzip", status: 400)
    await receiver.post(packed, status: 400)
    for count in [0, 1, 10, 18, packed.count / 2, packed.count - 1] {
      await receiver.post(Array(packed[..<count]), encoding: "gzip", status: 400)
    }
    await receiver.post(Array(repeating: 0x20, count: (4 << 20) + 1), status: 413)
  }

  @Test("paths, methods, types and encodings that are not taken are said to be so")
  func heads() async throws {
    let receiver = try TestReceiver(try TemporaryFolder()).receiver
    func status(
      _ method: String, _ target: String, _ type: String = TestReceiver.json,
      _ encoding: String = ""
    )
      -> Int?
    {
      receiver.refusal(
        method: method, target: target, contentType: type, contentEncoding: encoding)?.status
    }
    #expect(status("POST", "/") == 404 && status("POST", "/v1/trace") == 404)
    #expect(status("GET", "/v1/traces") == 405 && status("PUT", "/runs/batch") == 405)
    for type in ["", "text/plain", "application/x-www-form-urlencoded", "image/png"] {
      #expect(status("POST", "/v1/traces", type) == 415)
    }
    #expect(status("POST", "/v1/logs", TestReceiver.json, "zstd") == 415)
    #expect(status("POST", "/v1/traces/ingest", Self.protobuf) == 415)
    for target in [
      "/v1/traces", "/v1/logs?x=1", "/v1/metrics", "/api/public/otel/v1/traces",
      "/v1/traces/ingest",
      "/runs/batch", "/runs", "/api/v1/runs/multipart",
    ] {
      #expect(status("POST", target) == nil, "\(target)")
    }
    #expect(status("PATCH", "/runs/1") == nil && status("GET", "/info", "") == nil)
    receiver.stopTaking()
    #expect(status("POST", "/v1/traces") == 503)
  }

  @Test("spans without ids are told, and the others are taken")
  func partial() async throws {
    let receiver = try TestReceiver(try TemporaryFolder())
    let trace = AgentTraceRequest(1)
    let body = AgentTraceRequest.request(trace.spans + [["name": "none"], "text", 5])
    let answer = await receiver.post(body)
    #expect(try JSONValue(parsing: answer.body)["partialSuccess"]?["rejectedSpans"] == "3")
    let logs = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}"#
    let told = await receiver.post(Array(logs.utf8), to: "/v1/logs")
    #expect(try JSONValue(parsing: told.body)["partialSuccess"]?["rejectedLogRecords"] == "1")
    // Field 1 of the response holds field 1, how many, and field 2, why.
    let metrics = await receiver.post([1, 2, 3], to: "/v1/metrics", type: Self.protobuf)
    #expect(metrics.body.isEmpty && metrics.headers[0].value == Self.protobuf)
    #expect(try await receiver.write().flatMap(\.logs).count == 1)
  }

  @Test("texts that are no proper Unicode, and keys that stand twice, survive the spool")
  func foreignText() async throws {
    let trace = AgentTraceRequest(1)
    let text = String(decoding: trace.whole, as: UTF8.self)
      .replacingOccurrences(of: "on the table", with: #"\ud800 $ {\"$bytes\":\"eA==\"}"#)
    let folder = try TemporaryFolder()
    try folder.write("in/a.json", Array(text.utf8))
    let receiver = try TestReceiver(folder)
    await receiver.post(Array(text.utf8))
    try await receiver.write()
    try await Binary.run(["import", "in", "--out", "logs"], in: folder.path)
    let log = try #require(folder.listing.first { $0.hasPrefix("logs/") && $0.hasSuffix(".gz") })
    LogEvents.expectSame(
      [LogEvents.essence(try receiver.events(trace.trace))],
      [LogEvents.essence(try LogEvents.all(of: folder.path + "/" + log))])
  }
}
