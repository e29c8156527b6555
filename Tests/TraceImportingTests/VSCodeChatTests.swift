import AgentTrace
import Testing
import TraceImporting

@Suite("Sessions of VS Code's chat")
struct VSCodeChatTests {
  private static let round =
    #"{"response":"I look","toolInputRetry":0,"id":"r","toolCalls":[{"id":"call_1__vscode-17","name":"read_file","arguments":"{\"path\":\"a\"}"},{"id":"call_2","name":"run_in_terminal","arguments":"{\"command\":\"make\"}"}]}"#
  private static let answer = #"{"response":"Done","toolCalls":[],"toolInputRetry":0,"id":"s"}"#
  private static let results =
    #"{"call_1__vscode-17":{"$mid":20,"content":[{"$mid":21,"value":"text"}]},"call_2":{"$mid":20,"content":[{"$mid":21,"value":"ok"}]}}"#

  private static func part(
    _ tool: String, _ id: String, confirmed: String = #"{"type":1}"#, more: String = ""
  ) -> String {
    #"{"kind":"toolInvocationSerialized","presentation":null,"toolId":"\#(tool)","toolCallId":"\#(id)","isConfirmed":\#(confirmed),"isComplete":true,"invocationMessage":{"value":"x"},"source":{"type":"internal","label":"b"}\#(more)}"#
  }

  private static func request(
    _ parts: [String], rounds: [String]? = [round, answer], results: String = results,
    state: String = #"{"value":1,"completedAt":9}"#, name: String = "q1"
  ) -> String {
    let metadata =
      rounds.map {
        #""toolCallRounds":[\#($0.joined(separator: ","))],"toolCallResults":\#(results)"#
      } ?? ""
    return
      #"{"requestId":"\#(name)","timestamp":1760000000000,"message":{"text":"go","parts":[{"text":"go","kind":"text"}]},"variableData":{"variables":[]},"agent":{"id":"github.copilot.editsAgent","name":"agent"},"modelId":"copilot/m","response":[\#(parts.joined(separator: ","))],"result":{"timings":{"totalElapsed":1},"metadata":{\#(metadata)}},"modelState":\#(state)}"#
  }

  private static func session(_ requests: [String]) -> String {
    #"{"version":3,"responderUsername":"GitHub Copilot","sessionId":"s","creationDate":1,"initialLocation":"panel","requests":[\#(requests.joined(separator: ","))]}"#
  }

  private static func imported(_ text: String, name: String = "s.json") throws -> ImportedFile {
    let file = try ImportedFile(text, name: name)
    #expect(file.reports.map(\.format) == [.vscodeChat], "\(file.errors)")
    return file
  }

  private static func calls(_ file: ImportedFile) -> [String] {
    file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }.compactMap {
      $0["name"]?.stringValue
    }
  }

  private static func unread(_ file: ImportedFile) -> [JSONValue]? {
    file.data(.runStarted).first?["source"]?["unread"]?.arrayValue
  }

  private static func statuses(_ file: ImportedFile) -> [String] {
    file.data(.toolResult).compactMap { $0["status"]?.stringValue }
  }

  @Test("a call is told by a round and by a part, under another id and name, and counted once")
  func once() throws {
    let file = try Self.imported(
      Self.session([
        Self.request([
          #"{"value":"I look"}"#, Self.part("copilot_readFile", "5d1c"),
          Self.part("copilot_runInTerminal", "call_2"), #"{"kind":"undoStop","id":"u"}"#,
          #"{"value":"Done","supportThemeIcons":false}"#,
        ])
      ]))
    #expect(Self.calls(file) == ["read_file", "run_in_terminal"])
    #expect(Self.statuses(file) == ["returned", "returned"])
    #expect(file.data(.toolResult).map { $0["data"] } == ["text", "ok"])
    #expect(file.data(.modelResult).count == 2)
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
    #expect(file.data(.runStarted).first?["input"] == "go")
  }

  @Test("a part that no round has is a call too, where it stands, and a sub-agent's is its own")
  func besideRounds() throws {
    let file = try Self.imported(
      Self.session([
        Self.request([
          Self.part("copilot_readFile", "call_1"), Self.part("wipe", "w"),
          Self.part("copilot_findFiles", "z", more: #","subAgentInvocationId":"w""#),
          Self.part("run_in_terminal", "call_2"), #"{"value":"Done"}"#,
        ])
      ]))
    let decisions = file.data(.decision).map { decision in
      (decision["calls"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
    }
    #expect(decisions == [["read_file", "run_in_terminal"], ["wipe"], ["file_search"], []])
    #expect(file.data(.decision).map { $0["caller"] } == [nil, nil, "subagent", nil])
    #expect(file.stop == "success final_answer")
    // What they were given nobody knows.
    #expect(file.data(.runStarted).first?["recorded"]?["tools"] == "partial")
  }

  @Test("a request without rounds is read from the parts of its response")
  func withoutRounds() throws {
    let file = try Self.imported(
      Self.session([
        Self.request(
          [
            #"{"value":"I look at "}"#,
            #"{"kind":"inlineReference","inlineReference":{"path":"/x/a.swift","scheme":"file"}}"#,
            Self.part(
              "mcp_srv_wipe", "w",
              more:
                #","resultDetails":{"input":"{\"a\":1}","output":[{"type":"embed","value":"gone"}],"isError":true}"#
            ),
            #"{"kind":"markdownContent","content":{"value":"Done"}}"#,
          ], rounds: nil)
      ]))
    #expect(Self.calls(file) == ["mcp_srv_wipe"])
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["a": 1])
    #expect(Self.statuses(file) == ["error"])
    #expect(file.data(.modelResult).count == 2)
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
  }

  @Test(
    "of a call that was denied nobody knows whether it ran, unless VS Code says that it did not",
    arguments: [
      (#"{"type":0}"#, "The user cancelled the tool call.", "error", true),
      (
        #"{"type":5}"#,
        "The user chose to skip the tool call, they want to proceed without running it", "refused",
        nil
      ),
      // It waited for a person to let its result through.
      (
        #"{"type":5}"#, "The tool executed but the user chose not to share the results", "returned",
        nil
      ),
      (#"{"type":5}"#, "something", "error", true),
      ("false", "The user cancelled the tool call.", "refused", nil),
      // A tool may say so itself.
      (
        #"{"type":4}"#,
        "The user chose to skip the tool call, they want to proceed without running it", "error",
        true
      ),
    ] as [(String, String, String, Bool?)])
  func denied(_ confirmed: String, _ text: String, _ status: String, _ isUnknown: Bool?) throws {
    let results = #"{"call_2":{"content":[{"value":"\#(text)"}]}}"#
    let round =
      #"{"response":"","toolCalls":[{"id":"call_2","name":"run_in_terminal","arguments":"{}"}]}"#
    let file = try Self.imported(
      Self.session([
        Self.request(
          [Self.part("run_in_terminal", "call_2", confirmed: confirmed)],
          rounds: [round, Self.answer], results: results)
      ]))
    #expect(Self.statuses(file) == [status])
    #expect(file.data(.toolResult).first?["effect"] == (isUnknown == true ? "unknown" : nil))
  }

  @Test("a command that a person changed before it ran is not what was asked for")
  func edited() throws {
    let terminal =
      #","toolSpecificData":{"kind":"terminal","language":"sh","commandLine":{"original":"make","userEdited":"rm -r x"}}"#
    let file = try Self.imported(
      Self.session([
        Self.request([Self.part("run_in_terminal", "call_2", more: terminal)])
      ]))
    #expect(Self.unread(file)?.isEmpty == false)
  }

  @Test(
    "what nobody knows in a session is marked",
    arguments: [
      (#""kind":"undoStop""#, #""kind":"odd""#), (#""toolCalls":["#, #""calls":["#),
      (#""modelId":"#, #""also":{"toolCalls":[{"name":"drop","arguments":"{}"}]},"modelId":"#),
      (#""call_2":{"$mid""#, #""call_9":{"$mid""#),
    ])
  func damaged(_ old: String, _ new: String) throws {
    let whole = Self.session([
      Self.request([
        Self.part("copilot_readFile", "a"), #"{"kind":"undoStop","id":"u"}"#,
        Self.part("run_in_terminal", "b"),
      ])
    ])
    let parts = whole.split(separator: old, omittingEmptySubsequences: false)
    let file = try Self.imported(parts.joined(separator: new))
    #expect(parts.count > 1 && Self.unread(file)?.isEmpty == false, "\(file.outline)")
  }

  @Test(
    "how a session ends its last request says",
    arguments: [
      (#"{"value":2}"#, "", "cancelled error"), (#"{"value":3}"#, "", "model_failure error"),
      (#"{"value":4}"#, "", nil), (#"{"value":0}"#, "", nil),
      (
        #"{"value":1}"#, #""errorDetails":{"message":"no","responseIsFiltered":true},"#,
        "blocked content_filter"
      ),
      (#"{"value":1}"#, #""errorDetails":{"message":"no"},"#, "model_failure error"),
    ] as [(String, String, String?)])
  func endings(_ state: String, _ error: String, _ stop: String?) throws {
    let text = Self.session([Self.request([], state: state)])
      .split(separator: #""timings""#, omittingEmptySubsequences: false)
      .joined(separator: error + #""timings""#)
    #expect(try Self.imported(text).stop == stop)
  }

  // MARK: Journals

  private static func journal(_ entries: [String]) throws -> ImportedFile {
    let text = ([#"{"kind":0,"v":\#(session([]))}"#] + entries).joined(separator: "\n")
    return try imported(text, name: "s.jsonl")
  }

  @Test("a journal is read as what it leads to")
  func journals() throws {
    let file = try Self.journal([
      #"{"kind":2,"k":["requests"],"v":[{"requestId":"q1","message":{"text":"go"},"response":[]}]}"#,
      #"{"kind":2,"k":["requests",0,"response"],"v":[\#(Self.part("copilot_readFile", "a"))]}"#,
      #"{"kind":2,"k":["requests",0,"response"],"v":[\#(Self.part("copilot_readFile", "a")),\#(Self.part("run_in_terminal", "b"))],"i":0}"#,
      #"{"kind":1,"k":["requests",0,"result"],"v":{"metadata":{"toolCallRounds":[\#(Self.round),\#(Self.answer)],"toolCallResults":\#(Self.results)}}}"#,
      #"{"kind":1,"k":["requests",0,"modelState"],"v":{"value":1}}"#,
      #"{"kind":3,"k":["customTitle"]}"#,
    ])
    #expect(Self.calls(file) == ["read_file", "run_in_terminal"])
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
    #expect(
      file.data(.decision).first?["source"]?["pointers"] == ["/4/v/metadata/toolCallRounds/0"])
  }

  @Test("calls that a later entry takes back ran all the same, and are told once")
  func takenBack() throws {
    let begun = [
      #"{"kind":2,"k":["requests"],"v":[\#(Self.request([Self.part("wipe", "w")], rounds: nil))]}"#
    ]
    for entries in [
      // The whole request, for another one.
      [#"{"kind":2,"k":["requests"],"v":[\#(Self.request([], rounds: nil, name: "q2"))],"i":0}"#],
      [#"{"kind":1,"k":["requests"],"v":[]}"#], [#"{"kind":3,"k":["requests",0,"response"]}"#],
      [#"{"kind":0,"v":\#(Self.session([Self.request([], rounds: nil, name: "q3")]))}"#],
      // Its part.
      [#"{"kind":2,"k":["requests",0,"response"],"i":0}"#],
      // Twice.
      [
        #"{"kind":2,"k":["requests",0,"response"],"v":[\#(Self.part("wipe", "w"))],"i":0}"#,
        #"{"kind":2,"k":["requests",0,"response"],"i":0}"#,
      ],
    ] {
      let file = try Self.journal(begun + entries)
      #expect(Self.calls(file) == ["wipe"], "\(entries)")
      #expect(Self.statuses(file) == ["returned"])
    }
  }

  @Test("calls of rounds that are overwritten are told, too")
  func roundsTakenBack() throws {
    let file = try Self.journal([
      #"{"kind":2,"k":["requests"],"v":[\#(Self.request([]))]}"#,
      #"{"kind":1,"k":["requests",0,"result"],"v":{"metadata":{"toolCallRounds":[\#(Self.answer)]}}}"#,
    ])
    #expect(Self.calls(file) == ["read_file", "run_in_terminal"])
    #expect(file.data(.toolResult).map { $0["data"] } == ["text", "ok"])
  }

  @Test(
    "a line that is no change, or of nothing that is there, is marked",
    arguments: [
      "{", #"{"kind":7,"k":["requests"]}"#, #"{"kind":1,"k":["requests",5,"result"],"v":{}}"#,
      #"{"kind":2,"k":["version"],"v":[1]}"#, #"{"kind":1,"k":[],"v":1}"#,
    ])
  func oddLine(_ line: String) throws {
    let file = try Self.journal([
      #"{"kind":2,"k":["requests"],"v":[\#(Self.request([]))]}"#, line,
    ])
    #expect(Self.unread(file)?.contains("/2") == true)
    #expect(Self.calls(file).count == 2)
  }
}
