import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import LiveBoundary

/// Exchanges with real providers, in the folder `llm-wire`: each with what its reply comes to.
@Suite(.enabled(if: TestRun.corpora != nil, "AGENT_EVAL_CORPORA names no folder"))
struct WireCorpusTests {
  struct Exchange: Sendable, CustomTestStringConvertible {
    var name: String
    var dialect: Dialect
    var body: [UInt8]
    var expected: JSONValue

    var testDescription: String { name }

    init?(_ folder: String) {
      name = (folder as NSString).lastPathComponent
      func bytes(_ file: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(folder)/\(file)").map(Array.init)
      }
      guard let head = bytes("response.json"), let head = try? JSONValue(parsing: head),
        let file = head["body_decoded_file"]?.stringValue, let body = bytes(file),
        let text = bytes("expected.json"), let expected = try? JSONValue(parsing: text)
      else { return nil }
      switch expected["api"] {
      case "chat": dialect = .openai
      case "messages": dialect = .anthropic
      default: dialect = .openaiResponses
      }
      self.body = body
      self.expected = expected
    }
  }

  static let exchanges: [Exchange] = {
    let folder = (TestRun.corpora ?? "") + "/llm-wire"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { Exchange("\(folder)/\($0)") }
  }()

  @Test("every exchange is there") func count() { #expect(Self.exchanges.count == 37) }

  @Test("a plain reply is read as its provider's own library reads it", arguments: exchanges)
  func plain(_ exchange: Exchange) throws {
    guard exchange.expected["stream"] == false else { return }
    guard exchange.expected["status"] == 200 else {
      let error = try #require(exchange.dialect.error(in: try JSONValue(parsing: exchange.body)))
      try Self.compare(error, exchange.expected["error"])
      return
    }
    try Self.compare(
      try exchange.dialect.reply(from: exchange.body), exchange.expected, of: exchange.name)
  }

  @Test(
    "a streamed reply is read as its provider's own library reads it, wherever its bytes are split",
    arguments: exchanges)
  func streamed(_ exchange: Exchange) throws {
    guard exchange.expected["stream"] == true else { return }
    let whole = try Self.read(exchange, [exchange.body])
    try Self.compare(whole.reply, exchange.expected, of: exchange.name)
    #expect(whole.events == exchange.expected["sse_events"]?.intValue)
    #expect(whole.text.hasSameUTF8(as: exchange.expected["text"]?.stringValue ?? ""))
    var random = Seeded(seed: 17)
    for round in 0..<TestRun.count(100, long: 1_000) {
      let found = try Self.read(exchange, Self.split(exchange.body, round, &random))
      // Compared first, so that what is equal costs no message.
      if found != whole { #expect(found == whole) }
    }
    let single = try Self.read(exchange, exchange.body.map { [$0] })
    #expect(single == whole)
  }

  @Test(
    "a proxy reads the same: in pieces, byte by byte, compressed, and whatever it is called",
    arguments: exchanges)
  func proxied(_ exchange: Exchange) throws {
    var random = Seeded(seed: 29)
    let body = exchange.body
    var ways: [(String, [[UInt8]])] = [
      ("whole", [body]), ("byte by byte", body.map { [$0] }), ("gzip", [Gzip.stored(body)]),
      ("gzip in pieces", Self.split(Gzip.stored(body), 3, &random).map(Array.init)),
    ]
    for round in 0..<TestRun.count(20, long: 500) {
      ways.append(("round \(round)", Self.split(body, round, &random).map(Array.init)))
    }
    let isStream = exchange.expected["stream"] == true
    let types = [
      isStream ? "text/event-stream; charset=utf-8" : "application/json", "text/plain", "",
    ]
    for (way, pieces) in ways {
      for type in types {
        var headers = [(name: "content-type", value: type)]
        if way.hasPrefix("gzip"), type != "" { headers.append(("content-encoding", "gzip")) }
        let status = exchange.expected["status"]?.intValue ?? 200
        let read = ReadReply(
          WireReply(status: status, headers: headers, pieces: pieces, ending: .whole),
          exchange.dialect)
        #expect(read.unread == nil, "\(way), \(type)")
        guard status == 200 else {
          #expect(read.error?.hasPrefix("status \(status): ") == true)
          continue
        }
        let reply = try #require(read.reply ?? read.failed, "\(way), \(type)")
        try Self.compare(reply, exchange.expected, of: exchange.name)
      }
    }
  }

  @Test(
    "a reply that is cut off anywhere is unread, or the whole of it is there", arguments: exchanges)
  func cut(_ exchange: Exchange) throws {
    guard exchange.expected["status"] == 200 else { return }
    let body = exchange.body
    func read(_ bytes: [UInt8], _ ending: WireReply.Completeness) -> ReadReply {
      ReadReply(
        WireReply(status: 200, headers: [], pieces: [bytes], ending: ending), exchange.dialect)
    }
    let whole = read(body, .whole)
    let known = try #require(whole.reply ?? whole.failed).reply
    let step = max(1, body.count / TestRun.count(200, long: 4_000))
    for end in stride(from: 1, to: body.count, by: step) {
      for ending in WireReply.Completeness.allCases {
        let found = read(Array(body[..<end]), ending)
        if let reply = found.reply ?? found.failed {
          for key in ["calls", "text", "ran"] where reply.reply[key] != known[key] {
            #expect(found.unread != nil, "\(key) is less behind \(end), \(ending)")
          }
        } else {
          #expect(found.unread != nil, "behind \(end), \(ending)")
        }
      }
    }
  }

  /// What was read, the texts that were told on the way, and how many events there were.
  struct Reading: Equatable {
    var reply: ProviderReply
    var text: String
    var events: Int
  }

  private static func read(
    _ exchange: Exchange, _ pieces: some Sequence<some Collection<UInt8>>
  ) throws -> Reading {
    var stream = ReplyStream(exchange.dialect)
    var text = ""
    for piece in pieces { text += try stream.take(piece) }
    return Reading(reply: try stream.reply(), text: text, events: stream.eventCount)
  }

  /// Splits into few or many pieces, some of them empty.
  private static func split(
    _ bytes: [UInt8], _ round: Int, _ random: inout Seeded
  ) -> [ArraySlice<UInt8>] {
    let count = [1, 2, 3, 8, 40, 200][round % 6]
    var cuts = (0..<count).map { _ in Int.random(in: 0...bytes.count, using: &random) }
    cuts.sort()
    cuts.append(bytes.count)
    var pieces: [ArraySlice<UInt8>] = []
    var start = 0
    for cut in cuts {
      pieces.append(bytes[start..<cut])
      start = cut
    }
    return pieces
  }

  private static func compare(
    _ found: ProviderReply, _ expected: JSONValue, of name: String
  ) throws {
    #expect(found.reply["text"] ?? "" == expected["text"])
    // The vendor's own library does not know the key that Groq's whole messages have.
    if !name.contains("groq") {
      #expect(reasoning(of: found).hasSameUTF8(as: expected["reasoning"]?.stringValue ?? ""))
    }
    let calls = expected["tool_calls"]?.arrayValue ?? []
    #expect(found.reply["calls"]?.arrayValue?.count ?? 0 == calls.count)
    for (call, known) in zip(found.reply["calls"]?.arrayValue ?? [], calls) {
      #expect(call["id"] == known["id"])
      #expect(call["name"] == known["name"])
      if case .string? = known["arguments"] {
        #expect(call["arguments"] == known["arguments"])
      } else {
        let input = try call["input"] ?? JSONValue(parsing: call["arguments"]?.stringValue ?? "{}")
        #expect(input == known["arguments"])
      }
    }
    #expect(found.finishReason == expected["stop_reason"]?.stringValue)
    #expect(found.usage == usage(expected["usage"]))
    if let error = found.error {
      try compare(error, expected["error"])
    } else {
      #expect(expected["error"]?.isNull ?? true)
    }
  }

  private static func compare(_ found: ProviderError, _ expected: JSONValue?) throws {
    let expected = try #require(expected)
    #expect(found.message.hasSameUTF8(as: expected["message"]?.stringValue ?? ""))
    #expect(found.type == expected["type"]?.stringValue)
    #expect(
      found.code == expected["code"].flatMap { $0.isNull ? nil : $0.stringValue ?? "\($0)" })
  }

  private static func reasoning(of reply: ProviderReply) -> String {
    (reply.reply["reasoning"]?.arrayValue ?? []).map { block in
      let text = block["thinking"] ?? block["reasoning_content"] ?? block["reasoning"]
      return text?.stringValue ?? ""
    }.joined()
  }

  /// The provider's own counts in one form, by its documentation.
  private static func usage(_ raw: JSONValue?) -> TokenUsage? {
    guard let raw, !raw.isNull else { return nil }
    func count(_ keys: String...) -> Int? { raw[JSONPointer(tokens: keys)]?.intValue }
    if let input = count("prompt_tokens") {
      return TokenUsage(
        input: input, cachedInput: count("prompt_tokens_details", "cached_tokens"),
        output: count("completion_tokens"),
        reasoning: count("completion_tokens_details", "reasoning_tokens"))
    }
    let read = count("cache_read_input_tokens")
    let written = count("cache_creation_input_tokens")
    return TokenUsage(
      input: (count("input_tokens") ?? 0) + (read ?? 0) + (written ?? 0),
      cachedInput: read ?? count("input_tokens_details", "cached_tokens"), cacheWrite: written,
      output: count("output_tokens"),
      reasoning: count("output_tokens_details", "reasoning_tokens"))
  }
}
