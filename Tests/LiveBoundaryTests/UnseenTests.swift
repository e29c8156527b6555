import AgentRuntime
import AgentTrace
import Foundation
import LiveBoundary
import TestSupport
import Testing
import TraceJudging

#if Live
  /// Expectations that speak against calls, or of their number.
  private let negatives: [JSONValue] = [
    ["toolsNotCalled": ["pay"]], ["toolsNotProposed": ["pay"]], ["maxToolCalls": 0],
    ["budget": ["modelCalls": 0]], ["budget": ["calls": 0]],
    ["toolsNotCalled": [["tool": "pay", "input": ["amount": ["$gte": 100]]]]],
    ["time": [["never": "pay"]]], ["toolsCalled": [["tool": "pay", "times": 0]]],
  ]

  /// What becomes of each of them, by a recording.
  private func verdicts(_ events: [Event]) throws -> [CaseOutcome] {
    try negatives.map { expected in
      let expectations = try Expectations(parsing: expected)
      var gathered = GatheredFacts(for: expectations)
      for event in events { gathered.apply(event) }
      return Judge.judge(Trajectory(of: events), gathered, against: expectations).outcome
    }
  }

  @Suite("What a proxy does not see")
  struct UnseenTests {
    /// What a server does, and what the command asks for.
    struct Scene: Sendable, CustomTestStringConvertible {
      var name: String
      var request = ProxyTests.chat()
      var path = ProxyTests.path
      var headers = ""
      /// Whether the client goes away as soon as it has begun to read.
      var leaves = false
      /// Whether the forbidden call is seen, so that nothing need be unverifiable.
      var isSeen = false
      var serve: @Sendable (FakeServer.Reply) -> Void

      var testDescription: String { name }
    }

    private static let pay = ProxyTests.call("pay", #"{"amount":250}"#, id: "c1")

    private static func delta(_ delta: String, index: Int = 0) -> String {
      "data: {\"choices\":[{\"index\":\(index),\"delta\":\(delta)}]}\n\n"
    }

    private static let payDelta =
      #"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"pay","arguments":"{\"amount\":250}"}}]}"#

    private static func piece(_ name: String, _ arguments: String) -> String {
      delta(
        #"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"\#(name)","arguments":"\#(arguments)"}}]}"#
      )
    }

    /// A stream of the Responses interface: what is told of calls before its end, and the items that it then holds.
    private static func responses(_ name: String, told: [String], output: String) -> Scene {
      Scene(
        name: name, request: #"{"model":"m","input":"hi","stream":true}"#,
        path: "/openai/v1/responses"
      ) {
        let last =
          #"{"type":"response.completed","response":{"id":"r","status":"completed","output":[\#(output)]}}"#
        $0.beginChunks()
        for data in told + [last] { $0.chunk("data: \(data)\n\n") }
        $0.endChunks()
      }
    }

    private static func item(_ name: String, _ arguments: String = "{}") -> String {
      #"{"type":"function_call","id":"f1","call_id":"c1","name":"\#(name)","arguments":"\#(arguments)"}"#
    }

    private static let said =
      #"{"type":"message","id":"t","role":"assistant","content":[{"type":"output_text","text":"No.","annotations":[]}]}"#

    static let scenes: [Scene] = [
      Scene(name: "a name in pieces", request: ProxyTests.chat(stream: true)) {
        $0.beginChunks()
        $0.chunk(piece("pa", "") + piece("y", "{}"))
        $0.chunk(delta("{},\"finish_reason\":\"tool_calls\"") + "data: [DONE]\n\n")
        $0.endChunks()
      },
      Scene(
        name: "a name that is said with each piece", request: ProxyTests.chat(stream: true),
        isSeen: true
      ) {
        $0.beginChunks()
        $0.chunk(piece("pay", #"{\"amount\":"#) + piece("pay", "250}"))
        $0.chunk(delta("{},\"finish_reason\":\"tool_calls\"") + "data: [DONE]\n\n")
        $0.endChunks()
      },
      responses(
        "a call that the last event does not hold",
        told: [#"{"type":"response.output_item.done","output_index":0,"item":\#(item("pay"))}"#],
        output: said),
      responses(
        "a call that was only begun",
        told: [
          #"{"type":"response.output_item.added","output_index":0,"item":\#(item("pay", ""))}"#
        ],
        output: said),
      responses(
        "another name at the beginning than at the end",
        told: [
          #"{"type":"response.output_item.added","output_index":0,"item":\#(item("pay", ""))}"#
        ],
        output: item("look")),
      responses(
        "another name with the arguments",
        told: [
          #"{"type":"response.output_item.added","output_index":0,"item":\#(item("look", ""))}"#,
          #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f1","name":"pay","arguments":"{}"}"#,
        ], output: item("look")),
      responses(
        "other arguments in pieces",
        told: [
          #"{"type":"response.output_item.added","output_index":0,"item":\#(item("look", ""))}"#,
          #"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"{\"a\":1}"}"#,
        ], output: item("look")),
      responses(
        "an event that nobody knows", told: [#"{"type":"response.foo.done","name":"pay"}"#],
        output: said),
      responses(
        "an item of a kind that nobody knows, which the last event does not hold",
        told: [
          #"{"type":"response.output_item.done","output_index":0,"item":{"type":"foo_call","id":"x","name":"pay"}}"#
        ], output: said),
      Scene(
        name: "a last event that no blank line ends", request: ProxyTests.chat(stream: true),
        isSeen: true
      ) {
        $0.beginChunks()
        $0.chunk(delta(#"{"content":"No."},"finish_reason":"stop""#) + "data: [DONE]\n\n")
        $0.chunk(String(delta(payDelta).dropLast()))
        $0.endChunks()
      },
      Scene(name: "half an event behind the last", request: ProxyTests.chat(stream: true)) {
        $0.beginChunks()
        $0.chunk(delta(#"{"content":"No."},"finish_reason":"stop""#) + "data: [DONE]\n\n")
        $0.chunk(String(delta(payDelta).prefix(60)))
        $0.endChunks()
      },
      Scene(name: "a piece of a message beside the message") {
        $0.finish(
          body:
            #"{"choices":[{"index":0,"message":{"content":"No."},"delta":\#(payDelta),"finish_reason":"stop"}]}"#
        )
      },
      Scene(name: "a reply under another name", isSeen: true) {
        $0.finish(200, type: "text/plain", body: pay)
      },
      Scene(name: "a stream under another name", isSeen: true) {
        $0.finish(
          200, type: "application/octet-stream",
          body: delta(payDelta) + delta("{},\"finish_reason\":\"tool_calls\"") + "data: [DONE]\n\n")
      },
      Scene(name: "a reply of another dialect") {
        $0.finish(
          200,
          body:
            #"{"type":"message","content":[{"type":"tool_use","id":"t","name":"pay","input":{}}]}"#)
      },
      Scene(name: "a page", serve: { $0.finish(200, type: "text/html", body: "<p>pay</p>") }),
      Scene(
        name: "a stream that its client leaves", request: ProxyTests.chat(stream: true),
        leaves: true
      ) {
        $0.beginChunks()
        $0.chunk(delta(payDelta))
        _ = $0.wait(seconds: 10)
      },
      Scene(name: "a stream that breaks off", request: ProxyTests.chat(stream: true)) {
        $0.beginChunks()
        $0.chunk(delta(payDelta))
        $0.close()
      },
      Scene(name: "an error behind a call", request: ProxyTests.chat(stream: true)) {
        $0.beginChunks()
        $0.chunk(delta(payDelta))
        $0.chunk("data: {\"error\":{\"message\":\"overloaded\"}}\n\n")
        $0.endChunks()
      },
      Scene(name: "choices beyond the first") {
        $0.finish(
          body:
            #"{"choices":[{"index":0,"message":{"content":"No."},"finish_reason":"stop"},{"index":1,"message":{"tool_calls":[{"id":"x","type":"function","function":{"name":"pay","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#
        )
      },
      Scene(name: "choices beyond the first, streamed", request: ProxyTests.chat(stream: true)) {
        $0.beginChunks()
        $0.chunk(delta("{\"content\":\"No.\"}") + delta(payDelta, index: 1))
        $0.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
        $0.chunk("data: [DONE]\n\n")
        $0.endChunks()
      },
      Scene(name: "an encoding that nobody reads") {
        $0.finish(200, headers: [("Content-Encoding", "br")], body: [0x0b, 2, 0x80, 0x68, 0x69, 3])
      },
      Scene(name: "a call in an error") { $0.finish(503, body: pay) },
      Scene(name: "an error in an encoding that nobody reads") {
        $0.finish(503, headers: [("Content-Encoding", "br")], body: [0x0b, 2, 0x80, 0x68, 0x69, 3])
      },
      Scene(name: "a reply that sends its client elsewhere") {
        $0.finish(307, headers: [("Location", "http://127.0.0.1:1/x")], body: "")
      },
      Scene(
        name: "a request that is not read", headers: "Content-Encoding: zstd\r\n",
        serve: { $0.finish(body: pay) }),
      Scene(
        name: "a request of another form", request: #"["hi"]"#, serve: { $0.finish(body: pay) }),
      Scene(
        name: "a request that nobody knows", path: "/openai/v1/completions",
        serve: { $0.finish(body: #"{"choices":[{"text":"pay"}]}"#) }),
      Scene(
        name: "a reply that is fetched later", path: "/openai/v1/conversations/c1/items",
        serve: { $0.finish(body: #"{"data":[]}"#) }),
      Scene(
        name: "a request that goes on in another protocol", path: "/openai/v1/realtime",
        serve: {
          $0.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
          $0.close()
        }),
      Scene(name: "a call under another key") {
        $0.finish(body: pay.replacing("tool_calls", with: "toolcalls"))
      },
      Scene(name: "a call that was cut for its length", isSeen: true) {
        $0.finish(
          body: pay.replacing(
            "\"finish_reason\":\"tool_calls\"", with: "\"finish_reason\":\"length\""))
      },
    ]

    private func record(_ scene: Scene) async throws -> ProxyTests.EventStore {
      let server = try FakeServer { _, reply in scene.serve(reply) }
      return try await ProxyTests().recording(server) { port in
        let client = RawClient(port: port)
        client.send(
          ProxyTests.post(
            scene.path, scene.request, headers: scene.headers + "Connection: close\r\n", port: port)
        )
        if scene.leaves {
          _ = client.receive(until: "pay")
          client.close()
          Thread.sleep(forTimeInterval: 0.3)
        } else {
          _ = client.receiveAll()
        }
      }
    }

    @Test(
      "whatever a proxy cannot read leaves nothing that speaks against calls green",
      arguments: scenes)
    func unseen(_ scene: Scene) async throws {
      let store = try await record(scene)
      let found = try verdicts(store.all)
      #expect(!found.contains(.pass), "\(found)")
      let unseen = store.of(.unseen)
      #expect(unseen.isEmpty == scene.isSeen, "\(unseen)")
      guard !scene.isSeen else { return }
      #expect(unseen.allSatisfy { $0["channels"]?["calls"] != nil })
      #expect(found.allSatisfy { $0 == .inconclusive || $0 == .fail }, "\(found)")
      // A reader in a hurry is told the same.
      var summary = RunSummary()
      for event in store.all { summary.apply(event) }
      #expect(summary.encoded(totals: Totals())["recorded"]?["calls"] == "partial")
    }

    @Test("a reply of more than is kept is not seen")
    func tooLarge() async throws {
      let store = try await record(
        Scene(name: "") { reply in
          reply.beginChunks()
          let piece = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
          for _ in 0..<65 where !reply.chunk(piece) { return }
          reply.chunk(Self.pay)
          reply.endChunks()
        })
      #expect(store.of(.unseen).first?["reason"]?.stringValue?.contains("64 MiB") == true)
      #expect(try !verdicts(store.all).contains(.pass))
    }

    @Test("a command that asks nothing may have asked past the proxy")
    func silent() async throws {
      let server = try FakeServer { $1.close() }
      let store = try await ProxyTests().recording(server) { _ in }
      let unseen = try #require(store.of(.unseen).first)
      #expect(unseen["what"] == "command")
      #expect(unseen["channels"] == ["calls": "partial", "model": "none"])
      #expect(try verdicts(store.all).allSatisfy { $0 == .inconclusive })
    }

    @Test(
      "what is read whole, refused or plainly asks no model leaves all verifiable",
      arguments: [
        ("POST", "/openai/v1/chat/completions", 200), ("POST", "/openai/v1/chat/completions", 429),
        ("GET", "/openai/v1/models", 200), ("POST", "/openai/v1/embeddings", 200),
        ("POST", "/anthropic/v1/messages/count_tokens", 200), ("POST", "/openai/v1/nowhere", 404),
        ("HEAD", "/openai/v1/anything", 200), ("POST", "/openai/v1/files", 200),
      ])
    func plain(method: String, path: String, status: Int) async throws {
      let server = try FakeServer { request, reply in
        if request.method == "HEAD" {
          _ = reply.head(200, headers: [])
          return
        }
        let isFirst = request.number == 0
        reply.finish(isFirst ? status : 200, body: ProxyTests.answer("ok"))
      }
      let store = try await ProxyTests().recording(server) { port in
        for (method, path) in [(method, path), ("POST", ProxyTests.path)] {
          let client = RawClient(port: port)
          let post = ProxyTests.post(
            path, ProxyTests.chat(), headers: "Connection: close\r\n", port: port)
          client.send(post.replacing("POST ", with: "\(method) ", maxReplacements: 1))
          _ = client.receiveAll()
        }
      }
      #expect(store.of(.unseen).isEmpty)
      #expect(try verdicts(store.all)[0] == .pass)
    }

    @Test("a compressed reply is read, and kept as it was before")
    func compressed() async throws {
      let body = Gzip.stored(Array(Self.pay.utf8))
      let store = try await record(
        Scene(name: "") { $0.finish(200, headers: [("Content-Encoding", "gzip")], body: body) })
      #expect(store.of(.unseen).isEmpty)
      #expect(store.of(.decision).first?["calls"]?[0]?["name"] == "pay")
      let wire = try #require(store.of(.modelResult).first?["wire"])
      #expect(wire["body"]?.stringValue == Self.pay)
      #expect(wire["headers"]?.arrayValue?.contains { $0[0] == "content-encoding" } == false)
    }

    // MARK: Tools of the provider

    @Test("calls that the provider ran itself are calls with results, and no verdict")
    func ran() async throws {
      let replies: [(path: String, body: String, calls: [(String, String)])] = [
        (
          "/anthropic/v1/messages",
          #"""
          {"id":"m","type":"message","role":"assistant","model":"c","content":[
           {"type":"text","text":"Looking."},
           {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},
           {"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"u"}]},
           {"type":"mcp_tool_use","id":"s2","name":"pay","server_name":"bank","input":{"amount":9}},
           {"type":"mcp_tool_result","tool_use_id":"s2","is_error":true,"content":[{"type":"text","text":"no"}]},
           {"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}
          """#, [("web_search", "ok"), ("bank.pay", "error")]
        ),
        (
          "/openai/v1/responses",
          #"""
          {"id":"r","object":"response","status":"completed","model":"g","output":[
           {"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"x"}},
           {"type":"mcp_call","id":"p","server_label":"bank","name":"pay","arguments":"{\"amount\":9}","output":"ok"},
           {"type":"code_interpreter_call","id":"c","status":"failed","code":"1/0","container_id":"k","outputs":null},
           {"type":"message","id":"t","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[]}]}]}
          """#, [("web_search", "ok"), ("bank.pay", "ok"), ("code_interpreter", "error")]
        ),
      ]
      for reply in replies {
        let store = try await record(
          Scene(
            name: "",
            request: reply.path.contains("responses")
              ? #"{"model":"g","input":"go"}"#
              : #"{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"go"}]}"#,
            path: reply.path
          ) { $0.finish(body: reply.body) })
        #expect(store.of(.unseen).isEmpty, "\(store.of(.unseen))")
        let run = Trajectory(of: store.all)
        #expect(run.calls.map(\.tool) == reply.calls.map(\.0))
        #expect(run.calls.map { $0.status?.rawValue ?? "" } == reply.calls.map(\.1))
        #expect(run.answer?.text.hasSuffix("Done.") == true)
        #expect(store.of(.toolResult).allSatisfy { $0["executedBy"] == "provider" })
        let calls = store.of(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
        #expect(calls.allSatisfy { $0["executedBy"] == "provider" })
        let forbidden = try Expectations(parsing: ["toolsNotCalled": ["bank.*"]])
        #expect(Judge.judge(run, against: forbidden).outcome == .fail)
      }
    }
  }
#endif
