import AgentTrace
import Testing
import TraceImporting

struct OpenAIMessagesTests {
  private static let user = #"{"role":"user","content":"hi"}"#
  private static let text = #"{"role":"assistant","content":"ok"}"#
  private static let call =
    #"{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#
  private static let transfer =
    #"{"role":"assistant","tool_calls":[{"function":{"name":"transfer_to_human_agents","arguments":"{}"}}]}"#

  private static func said(_ role: String, _ text: String) -> String {
    #"{"role":"\#(role)","content":"\#(text)"}"#
  }

  @Test(
    "one run or many, and how they are numbered, follow from the shape",
    arguments: [
      ("run.json", "[\(user)]", [nil]),
      ("run.json", #"{"messages":[\#(user)]}"#, [nil]),
      ("run.json", "[[\(user)]]", [0]),
      ("run.json", "[[\(user)],[\(text)]]", [0, 1]),
      ("run.json", #"[{"messages":[\#(user)]},{"messages":[\#(user)]}]"#, [0, 1]),
      ("run.json", #"[{"traj":[\#(user)]}]"#, [0]),
      ("run.json", #"{"traj":[\#(user)]}"#, [nil]),
      ("run.json", "\u{feff}[\(user)]", [nil]),
      ("run.json", "\(user)\n\(text)\n", [nil]),
      ("run.jsonl", "\(user)\r\n\(text)", [nil]),
      ("run.jsonl", user, [nil]),
      ("run.jsonl", #"{"messages":[\#(user)]}"#, [0]),
      ("run.jsonl", "[\n\(user),\n\(text)\n]", [nil]),
      ("run.jsonl", "{\n\"messages\":[\(user)]\n}\n", [nil]),
      ("run.jsonl", #"[{"messages":[\#(user)]},{"messages":[\#(user)]}]"#, [0, 1]),
      ("run.ndjson", "[\(user)]\n\n \t\r\n[\(text)]\n", [0, 3]),
      ("run.json", #"{"messages":[\#(user)]}"# + "\n[\(text)]", [0, 1]),
    ] as [(String, String, [Int?])])
  func shapes(_ name: String, _ text: String, _ indexes: [Int?]) throws {
    let file = try ImportedFile(text, name: name)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.reports.map(\.index) == indexes)
    #expect(file.logs.allSatisfy { !$0.isEmpty })
    let sources = file.logs.map { $0.first?.data["source"] }
    #expect(sources.map { $0?["index"]?.intValue } == indexes)
    #expect(sources.allSatisfy { $0?["file"]?.stringValue == name })
  }

  @Test("a file of lines is addressed as the array of its lines")
  func linePointers() throws {
    let messages = try ImportedFile("\(Self.user)\n\n\(Self.text)", name: "run.jsonl")
    #expect(messages.data(.humanReplied).first?["source"]?["pointers"] == ["/0"])
    #expect(messages.data(.modelResult).first?["source"]?["pointers"] == ["/2"])
    let runs = try ImportedFile("\n{\"messages\":[\(Self.user)]}", name: "run.jsonl")
    #expect(runs.data(.humanReplied).first?["source"]?["pointers"] == ["/1/messages/0"])
  }

  @Test("a line that is no JSON fails alone among runs, and fails the run where lines are messages")
  func badLines() throws {
    let runs = try ImportedFile("[\(Self.user)]\n{\n[\(Self.text)]", name: "run.jsonl")
    #expect(runs.reports.map { $0.json["error"] == nil } == [true, false, true])
    #expect(runs.reports.map(\.index) == [0, 1, 2])
    #expect(
      runs.errors == ["line 2 is not JSON: the text ends in the middle of a value at byte 34"])
    let messages = try ImportedFile("\(Self.user)\n{", name: "run.jsonl")
    #expect(messages.reports.count == 1)
    #expect(messages.errors.first?.hasPrefix("line 2 is not JSON") == true)
  }

  @Test(
    "a bare list ends in success with an assistant's text, blocked with a refusal, else unknown",
    arguments: [
      ([user, text], "success final_answer"), ([text, user], nil), ([call], nil), ([user], nil),
      ([call, #"{"role":"tool","content":"Error: no"}"#], nil),
      ([#"{"role":"assistant","content":""}"#], nil),
      ([#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#], "success final_answer"),
      ([#"{"role":"assistant","content":null,"refusal":"I cannot"}"#], "blocked refusal"),
      ([#"{"role":"assistant","content":"ok","refusal":null}"#], "success final_answer"),
      ([user, transfer, #"{"role":"tool","content":"ok"}"#], nil),
    ] as [([String], String?)])
  func bareStops(_ messages: [String], _ stop: String?) throws {
    #expect(try ImportedFile("[\(messages.joined(separator: ","))]").stop == stop)
  }

  @Test(
    "a tau-bench run ends by what the simulated user or the last call says",
    arguments: [
      ([user, text, said("user", "bye ###STOP###")], "success user_stop"),
      (
        [user, transfer, #"{"role":"tool","content":"ok"}"#],
        "blocked tool:transfer_to_human_agents"
      ),
      ([transfer, said("user", "###STOP###")], "success user_stop"),
      ([transfer, call], "budget_exhausted max_steps"),
      ([user, text], "budget_exhausted max_steps"),
      ([said("assistant", "###STOP###")], "budget_exhausted max_steps"),
      ([user, transfer, text], "blocked tool:transfer_to_human_agents"),
    ] as [([String], String)])
  func tauBenchStops(_ messages: [String], _ stop: String) throws {
    #expect(try ImportedFile(#"[{"traj":[\#(messages.joined(separator: ","))]}]"#).stop == stop)
  }

  @Test(
    "a tool message that begins with Error is one in tau-bench; in a bare list nobody says what one is",
    arguments: [
      (#""Error: no""#, true), (#""Errors""#, true), (#""error: no""#, false),
      (#"" Error""#, false), (#""""#, false), ("null", false),
    ])
  func errors(_ content: String, isError: Bool) throws {
    let messages = #"[\#(Self.call),{"role":"tool","content":\#(content)}]"#
    let bare = try ImportedFile(messages)
    #expect(bare.data(.toolResult).first?["status"] == "returned")
    #expect(bare.reports.first?.json["toolErrors"] == 0)
    let result = try ImportedFile(#"[{"traj":\#(messages)}]"#).data(.toolResult).first
    #expect(result?["status"]?.stringValue == (isError ? "error" : "ok"))
    let stood = try JSONValue(parsing: content)
    #expect(result?[isError ? "reason" : "data"] == stood)
  }

  @Test("a tau-bench result's task, trial and reward are labels, everything else is kept")
  func tauBenchLabels() throws {
    let file = try ImportedFile(
      #"[{"task_id":5,"trial":0,"reward":1.0,"info":{"task":{}},"traj":[\#(Self.user)]}]"#)
    let started = try #require(file.data(.runStarted).first)
    #expect(
      started["source"]?["labels"]
        == (try JSONValue(parsing: #"{"reward":1.0,"task_id":5,"trial":0}"#)))
    #expect(started["extra"] == ["info": ["task": [:]]])
    #expect(started["source"]?["pointers"] == ["/0/traj/0"])
  }

  @Test("a run's id is a UUID of version 8 made of the file's bytes and its index")
  func runIDs() throws {
    // From: printf '%s\0' FILE | sha256sum, with the index behind the zero byte where there is one.
    let one = try ImportedFile("[\(Self.user)]")
    #expect(one.events.first?.runId == "bcf73b0a-3e03-8f25-b30b-83a077e94f6f")
    let many = try ImportedFile("[[\(Self.user)],[\(Self.user)]]")
    #expect(
      many.logs.map { $0.first?.runId } == [
        "8a5781f8-8716-8111-9462-d6c334a050e2", "9e759f8a-d4fd-8d03-b6b3-44586b957bb6",
      ])
  }
}
