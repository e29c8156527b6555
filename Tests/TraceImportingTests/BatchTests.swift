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
    // What was asked is not there either.
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/0", "/1"])
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
      (
        #"{"custom_id":"a","response":null,"error":{"code":"batch_cancelled","message":"no"}}"#,
        "cancelled error"
      ),
      (request("a"), nil),
    ] as [(String, String?)])
  func endings(_ line: String, _ stop: String?) throws {
    let file = try Self.imported([line])
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.stop == stop)
    // Of a request alone nobody knows what came of it, of an answer alone what was called before.
    let started = file.data(.runStarted).first
    #expect(started?["recorded"]?["calls"] == "partial")
    #expect(started?["source"]?["missing"]?.arrayValue?.count == 1)
  }

  // MARK: Requests and answers in files of their own

  private static let said = completion(#"{"role":"assistant","content":"hi"}"#, "stop")

  /// What an import of files makes: its reports, and the data of each run's beginning.
  private static func imported(
    _ files: [(name: String, lines: [String])], naming paths: [String]
  ) throws -> (reports: [ImportReport], logs: [[Event]]) {
    let folder = try TemporaryFolder()
    for file in files { try folder.write(file.name, file.lines.joined(separator: "\n")) }
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(
      paths: paths.map { "\(folder.path)/\($0)" }
    ) { reports.append($0) }
    var logs: [[Event]] = []
    for case .imported(let log, _) in reports.map(\.outcome) {
      logs.append(try ImportedFile.events(of: log))
    }
    return (reports, logs)
  }

  private static func isWhole(_ log: [Event]) -> Bool {
    log.first?.data["recorded"]?["calls"] == nil && log.contains { $0.type == .modelResult }
      && log.first?.data["input"] == "q"
  }

  @Test(
    "files of requests and of what came of them are one source, in a folder and in one call",
    arguments: [
      ["in"], ["in/out.jsonl", "in/requests.jsonl", "in/errors.jsonl"],
      ["in/requests.jsonl", "in/errors.jsonl", "in/out.jsonl"],
    ])
  func joined(_ paths: [String]) throws {
    let (reports, logs) = try Self.imported(
      [
        ("in/requests.jsonl", [Self.request("a"), Self.request("b"), Self.request("c")]),
        ("in/out.jsonl", [Self.answer("c", Self.said), Self.answer("a", Self.call)]),
        ("in/errors.jsonl", [Self.answer("b", #"{"error":{"message":"no"}}"#, status: 400)]),
      ], naming: paths)
    #expect(reports.map(\.index) == [0, 1, 2])
    #expect(reports.allSatisfy { $0.source.hasSuffix("in/requests.jsonl") })
    #expect(logs.count == 3 && logs.allSatisfy(Self.isWhole))
    #expect(
      logs.map { $0.last { $0.type == .stop }?.data["reason"] } == [
        nil, "model_failure", "success",
      ])
    let decision = logs.first?.first { $0.type == .decision }
    #expect(decision?.data["calls"]?[0]?["name"] == "wipe")
  }

  @Test("a request that no file answers is told so beside those that are answered")
  func unanswered() throws {
    let (_, logs) = try Self.imported(
      [
        ("in/requests.jsonl", [Self.request("a"), Self.request("b")]),
        ("in/out.jsonl", [Self.answer("a", Self.said)]),
      ], naming: ["in"])
    #expect(logs.map(Self.isWhole) == [true, false])
    #expect(logs.last?.first?.data["recorded"]?["calls"] == "partial")
  }

  @Test(
    "where nobody knows which file answers which, none is taken for the other's answer",
    arguments: [
      // Two batches, each with requests of the same names.
      [
        ("in/1.jsonl", [request("a")]), ("in/2.jsonl", [request("a")]),
        ("in/3.jsonl", [answer("a", said)]),
      ],
      // One that was sent twice.
      [
        ("in/1.jsonl", [request("a")]), ("in/2.jsonl", [answer("a", said)]),
        ("in/3.jsonl", [answer("a", call)]),
      ],
      // An answer that nobody asked for.
      [
        ("in/1.jsonl", [request("a")]),
        ("in/2.jsonl", [answer("a", said), answer("b", said)]),
      ],
      // Another interface's.
      [
        ("in/1.jsonl", [request("a")]),
        ("in/2.jsonl", [#"{"custom_id":"a","result":{"type":"expired"}}"#]),
      ],
    ])
  func unsure(_ files: [(String, [String])]) throws {
    let (reports, logs) = try Self.imported(
      files.map { (name: $0.0, lines: $0.1) }, naming: ["in"])
    #expect(Set(reports.map(\.source)).count == files.count)
    #expect(logs.allSatisfy { $0.first?.data["recorded"]?["calls"] == "partial" })
  }

  @Test("batches that number their requests alike are told apart by their folders")
  func folders() throws {
    let (reports, logs) = try Self.imported(
      [
        ("in/x/requests.jsonl", [Self.request("1")]),
        ("in/x/out.jsonl", [Self.answer("1", Self.said)]),
        ("in/y/requests.jsonl", [Self.request("1")]),
        ("in/y/out.jsonl", [Self.answer("1", Self.call)]),
      ], naming: ["in"])
    #expect(reports.count == 2 && logs.allSatisfy(Self.isWhole))
    #expect(logs.map { $0.contains { $0.type == .stop } } == [true, false])
  }
}
