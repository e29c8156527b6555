import AgentTrace
import Testing
import TraceImporting

@Suite("Batches of requests, and what came of them")
struct BatchTests {
  private static func completion(_ message: String, _ finish: String) -> String {
    #"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":\#(message),"logprobs":null,"finish_reason":"\#(finish)"}],"usage":{"prompt_tokens":5,"completion_tokens":6}}"#
  }

  private static func answer(_ id: String, _ body: String, status: Int = 200) -> String {
    #"{"id":"batch_req_1","custom_id":"\#(id)","response":{"status_code":\#(status),"request_id":"x","body":\#(body)},"error":null}"#
  }

  private static func request(_ id: String) -> String {
    #"{"custom_id":"\#(id)","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"q"}],"response_format":{"type":"text"}}}"#
  }

  private static let call = completion(
    #"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"wipe","arguments":"{}"}}]}"#,
    "tool_calls")

  private static func imported(_ lines: [String]) throws -> ImportedFile {
    let file = try ImportedFile(lines.joined(separator: "\n"), name: "b.jsonl")
    #expect(file.reports.allSatisfy { $0.format == .batch }, "\(file.errors)")
    return file
  }

  @Test("a line that is no request, an answer of nothing, and a member that nobody knows")
  func damaged() throws {
    let file = try Self.imported([
      Self.answer("a", Self.call), #"{"odd":1}"#, Self.answer("b", #"{"object":"list"}"#),
      #"{"custom_id":"c","response":{"status_code":200,"body":\#(Self.call)},"also":{"name":"drop","arguments":{}}}"#,
    ])
    #expect(file.errors.count == 2)
    #expect(file.logs.count == 2)
    #expect(file.logs.last?.first?.data["recorded"]?["calls"] == "partial")
  }

  @Test("a request and its answer are one run of one model's call, whatever their order")
  func both() throws {
    for lines in [
      [Self.request("a"), Self.answer("a", Self.call)],
      [Self.answer("a", Self.call), Self.request("a")],
    ] {
      let file = try Self.imported(lines)
      #expect(file.logs.count == 1 && file.errors.isEmpty, "\(file.errors)")
      #expect(file.data(.runStarted).first?["input"] == "q")
      #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
      #expect(file.data(.modelResult).count == 1)
      #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "wipe")
      #expect(file.stop == nil)
    }
  }

  @Test("a second answer of one request is told, and marked")
  func twice() throws {
    let file = try Self.imported([
      Self.answer("a", Self.call),
      Self.answer("a", Self.completion(#"{"role":"assistant","content":"hi"}"#, "stop")),
    ])
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "wipe")
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/1"])
  }

  @Test(
    "what became of a request",
    arguments: [
      (
        answer("a", completion(#"{"role":"assistant","content":"hi"}"#, "stop")),
        "success final_answer"
      ),
      (answer("a", completion(#"{"role":"assistant","content":""}"#, "stop")), nil),
      (answer("a", #"{"error":{"message":"slow down"}}"#, status: 429), "model_failure error"),
      (
        #"{"custom_id":"a","response":null,"error":{"code":"batch_expired","message":"late"}}"#,
        "model_failure error"
      ),
      (
        answer(
          "a", #"{"object":"response","status":"failed","output":[],"error":{"message":"no"}}"#),
        "model_failure error"
      ),
      (
        #"{"custom_id":"a","result":{"type":"succeeded","message":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}}}"#,
        "success final_answer"
      ),
      (
        #"{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"message":"bad"}}}}"#,
        "model_failure error"
      ),
      (#"{"custom_id":"a","result":{"type":"expired"}}"#, "model_failure error"),
      (#"{"custom_id":"a","result":{"type":"canceled"}}"#, "cancelled error"),
      (request("a"), nil),
    ] as [(String, String?)])
  func endings(_ line: String, _ stop: String?) throws {
    let file = try Self.imported([line])
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.stop == stop)
    // Of a request alone nobody knows what came of it.
    let isRequest = line == Self.request("a")
    #expect((file.data(.runStarted).first?["recorded"]?["calls"] == "partial") == isRequest)
  }
}
