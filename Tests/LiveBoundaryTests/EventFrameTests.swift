import AgentRuntime
import AgentTrace
import TestSupport
import Testing

@testable import LiveBoundary

@Suite("Frames of Amazon's event streams")
struct EventFrameTests {
  private static func read(
    _ bytes: [UInt8], pieces: (Int) -> Int = { $0 }
  ) throws -> [ServerSentEvent] {
    var reader = EventFrameReader(limits: EventStreamReader.Limits())
    var (events, start): ([ServerSentEvent], Int) = ([], 0)
    while start < bytes.count {
      let end = min(bytes.count, start + max(1, pieces(bytes.count - start)))
      events += try reader.take(bytes[start..<end])
      start = end
    }
    #expect(!reader.isWithinFrame)
    return events
  }

  @Test("what is written is read again, whole and in any pieces")
  func roundTrip() throws {
    var random = Seeded(seed: 3)
    for _ in 0..<200 {
      let events = (0..<Int.random(in: 1...5, using: &random)).map { index in
        let text = String(repeating: "ü€x", count: Int.random(in: 0...300, using: &random))
        let data = CanonicalJSON.encode(["text": .string(text)], form: .plain)
        return ServerSentEvent(name: "event\(index)", data: data)
      }
      let ours = events.flatMap { EventFrame.encoded($0) }
      let plain = try events.flatMap {
        EventFrames.event($0.name, try JSONValue(parsing: $0.data))
      }
      #expect(ours == plain)
      #expect(try Self.read(ours) == events)
      #expect(try Self.read(ours) { _ in 1 } == events)
      #expect(try Self.read(ours) { Int.random(in: 1...$0, using: &random) } == events)
    }
  }

  @Test("a frame in which any one bit is another is none")
  func damage() throws {
    let frame = EventFrames.event("messageStop", ["stopReason": "tool_use"])
    for bit in 0..<(frame.count * 8) {
      var damaged = frame
      damaged[bit / 8] ^= 1 << (bit % 8)
      var reader = EventFrameReader(limits: EventStreamReader.Limits())
      // A longer one would have other checksums.
      #expect(throws: ReplyFault.self) { try reader.take(damaged) }
    }
  }

  @Test("headers of every kind are passed over, and none that has no end or is of no kind")
  func headers() throws {
    func frame(_ head: [UInt8]) -> [UInt8] {
      let name = EventFrames.event("x", [:])
      // The headers of a whole frame, and more before them.
      let own = Array(name[12..<(name.count - 6)])
      let head = head + own
      var frame =
        EventFrames.number(UInt32(16 + head.count)) + EventFrames.number(UInt32(head.count))
      frame += EventFrames.number(EventFrames.crc32(frame))
      frame += head
      return frame + EventFrames.number(EventFrames.crc32(frame))
    }
    let kinds: [[UInt8]] = [
      [0], [1], [2, 9], [3, 9, 9], [4, 9, 9, 9, 9], [5] + [UInt8](repeating: 9, count: 8),
      [6, 0, 2, 9, 9], [7, 0, 1, 65], [8] + [UInt8](repeating: 9, count: 8),
      [9] + [UInt8](repeating: 9, count: 16),
    ]
    for kind in kinds {
      #expect(try Self.read(frame([1, 65] + kind)).map(\.name) == ["x"], "\(kind)")
    }
    for bad: [UInt8] in [[1, 65, 10], [1, 65, 7, 255, 255, 1], [255, 65]] {
      #expect(throws: ReplyFault.self) { try Self.read(frame(bad)) }
    }
  }

  @Test("exceptions and errors are told with their words, and frames of other kinds are faults")
  func exceptions() throws {
    let known = try Self.read(EventFrames.exception("throttlingException", "slow down"))
    #expect(known.map(\.name) == [EventFrame.exceptionName])
    #expect(
      ProviderError(try JSONValue(parsing: known[0].data))?.description
        == "slow down (throttlingException)")
    #expect(
      known.flatMap { EventFrame.encoded($0) }
        == EventFrames.exception("throttlingException", "slow down"))
    let error = EventFrames.frame(
      [(":message-type", "error"), (":error-code", "Internal"), (":error-message", "oh")], [])
    #expect(
      ProviderError(try JSONValue(parsing: try Self.read(error)[0].data))?.description
        == "oh (Internal)")
    for headers in [[(":message-type", "later")], []] {
      #expect(throws: ReplyFault.self) { try Self.read(EventFrames.frame(headers, [])) }
    }
  }

  @Test("frames beyond the limits are refused before they have come")
  func limits() {
    let frame = EventFrames.event("x", ["text": .string(String(repeating: "a", count: 1_000))])
    var small = EventFrameReader(limits: EventStreamReader.Limits(eventBytes: 100))
    #expect(throws: ReplyFault.self) { try small.take(frame.prefix(12)) }
    var total = EventFrameReader(limits: EventStreamReader.Limits(totalBytes: 100))
    #expect(throws: ReplyFault.self) { try total.take(frame) }
  }

  @Test("words of the service are read where an error is expected, and nowhere else")
  func errors() {
    #expect(
      Dialect.bedrock.error(in: ["message": "no", "__type": "com.amazon#AccessDeniedException"])?
        .description == "no (AccessDeniedException)")
    #expect(Dialect.bedrock.error(in: ["output": [:], "message": "no"]) == nil)
    #expect(Dialect.openai.error(in: ["message": "no"]) == nil)
  }

  #if Live
    // As botocore 1.44.8 signs the same (`botocore.auth.SigV4Auth`, at this moment).
    @Test(
      "a request is signed for where it goes, as Amazon's own client signs it",
      arguments: [
        (
          "https://bedrock-runtime.eu-central-1.amazonaws.com/model/anthropic.claude-3%3A0/converse",
          #"{"messages":[]}"#, nil,
          "118fbfeaf3a9c05456ac7a3c44e16a0cc801f50d26f2bc498b020d33bdbf7863"
        ),
        (
          "http://127.0.0.1:8080/model/arn%3Aaws%3Abedrock%3A%3A1%3Aprompt%2Fx/converse-stream?b=2&a=1%202",
          "", nil, "dd34570d01c2f139aad1ba8592680edaeaf406c5ae6b8f64a4e35b6958280d4f"
        ),
        (
          "https://bedrock-runtime.eu-central-1.amazonaws.com/model/anthropic.claude-3%3A0/converse",
          #"{"messages":[]}"#, "session/token==",
          "002c3b11ecc755db887789ec248b230c082e48589c20ff5e86973125c8a5c68c"
        ),
        (
          "http://127.0.0.1:8080/model/arn%3Aaws%3Abedrock%3A%3A1%3Aprompt%2Fx/converse-stream?b=2&a=1%202",
          "", "session/token==", "fcbc8ee59c0287967ced8a196a5f3e187cd22bf777261e843dab846323d83c68"
        ),
      ] as [(String, String, String?, String)])
    func signature(url: String, body: String, session: String?, expected: String) throws {
      var variables = [
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      ]
      variables["AWS_SESSION_TOKEN"] = session
      let known = variables
      let credentials = try #require(AWSCredentials(variables: { known[$0] }))
      let asked = HTTPCall(
        url: url,
        headers: [
          HTTPHeader("content-type", "application/json"), HTTPHeader("x-amz-date", "old"),
          HTTPHeader("X-Amz-Security-Token", "other"),
          HTTPHeader(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=x/20200101/eu-central-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"
          ),
        ], body: Array(body.utf8))
      let signed = credentials.signed(asked, microsecondsSince1970: 1_795_600_800_000_000)
      #expect(signed.headers["x-amz-date"] == "20261125T100000Z")
      #expect(signed.headers["x-amz-security-token"] == session)
      #expect(signed.headers.count { $0.name.lowercased() == "authorization" } == 1)
      #expect(signed.headers["authorization"]?.hasSuffix("Signature=\(expected)") == true)
      #expect(signed.headers["content-type"] == "application/json")
      // A token stands in the place of a signature.
      let bearer = try #require(
        AWSCredentials(variables: { ["AWS_BEARER_TOKEN_BEDROCK": "t0k"][$0] }))
      let brought = bearer.signed(asked, microsecondsSince1970: 0)
      let isOpen = url.hasPrefix("http://")
      #expect(brought.headers["authorization"] == "Bearer t0k")
      var elsewhere = asked
      elsewhere.url = url.replacing("127.0.0.1", with: "gateway.example")
      let sent = bearer.signed(elsewhere, microsecondsSince1970: 0)
      #expect((sent == elsewhere) == isOpen)
      #expect(
        brought.headers["x-amz-date"] == nil && brought.headers["x-amz-security-token"] == nil)
      // Whoever brings no signature is left as it is.
      var own = asked
      own.headers = [HTTPHeader("authorization", "Bearer mine")]
      #expect(credentials.signed(own, microsecondsSince1970: 0) == own)
    }
  #endif
}
