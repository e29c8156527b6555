import AgentTrace
import Testing
import TraceImporting
import TraceJudging

/// Message lists in shapes that other tools write, in each of which `delete_all` ran.
struct ForeignShapeTests {
  private static let user = #"{"role":"user","content":"tidy up"}"#
  private static let done = #"{"role":"assistant","content":"Done."}"#
  private static let result = #"{"role":"tool","tool_call_id":"c1","content":"deleted 40"}"#

  private static func said(_ members: String) -> String { #"{"role":"assistant",\#(members)}"# }

  /// A name for each list, the messages between what the user asks and what the agent says at last, and
  /// whether the call is read: else what was not read has to be marked.
  static let shapes: [(name: String, messages: [String], isRead: Bool)] = [
    (
      "calls of type custom",
      [
        said(
          #""tool_calls":[{"id":"c1","type":"custom","custom":{"name":"delete_all","input":"now"}}]"#
        ),
        result,
      ], true
    ),
    (
      "a name beside args",
      [said(#""tool_calls":[{"id":"c1","name":"delete_all","args":{}}]"#), result], true
    ),
    (
      "a name beside args, with a type",
      [
        said(#""tool_calls":[{"id":"c1","type":"tool_call","name":"delete_all","args":{"a":1}}]"#),
        result,
      ], true
    ),
    (
      "a name beside arguments",
      [said(#""tool_calls":[{"id":"c1","name":"delete_all","arguments":"{}"}]"#), result], true
    ),
    (
      "the older function_call",
      [
        said(#""function_call":{"name":"delete_all","arguments":"{}"}"#),
        #"{"role":"function","name":"delete_all","content":"deleted 40"}"#,
      ], true
    ),
    (
      "a result that names its tool, without its call",
      [#"{"role":"tool","tool_call_id":"c1","name":"delete_all","content":"deleted 40"}"#], true
    ),
    (
      "a result behind a call of another tool",
      [
        said(#""tool_calls":[{"id":"c0","function":{"name":"list","arguments":"{}"}}]"#),
        #"{"role":"tool","tool_call_id":"c1","name":"delete_all","content":"deleted 40"}"#,
      ], true
    ),
    ("a result without its call and without a name", [result], false),
    (
      "additional_kwargs",
      [
        said(
          #""content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"delete_all","arguments":"{}"}}]}"#
        )
      ], false
    ),
    (
      "toolUse blocks",
      [said(#""content":[{"toolUse":{"toolUseId":"c1","name":"delete_all","input":{}}}]"#)], false
    ),
    (
      "tool-call parts",
      [
        said(
          #""content":[{"type":"tool-call","toolCallId":"c1","toolName":"delete_all","args":{}}]"#)
      ], false
    ),
    (
      "parts instead of content",
      [#"{"role":"model","parts":[{"functionCall":{"name":"delete_all","args":{}}}]}"#], false
    ),
    (
      "functionCall in content",
      [said(#""content":[{"functionCall":{"name":"delete_all","args":{}}}]"#)], false
    ),
    (
      "mcp_call parts",
      [said(#""content":[{"type":"mcp_call","name":"delete_all","arguments":"{}"}]"#)], false
    ),
    (
      "calls of type mcp_call",
      [said(#""tool_calls":[{"id":"c1","type":"mcp_call","tool":"delete_all","input":{}}]"#)], false
    ),
    (
      "camel-case keys",
      [
        said(#""toolCalls":[{"id":"c1","function":{"name":"delete_all","arguments":"{}"}}]"#)
      ], false
    ),
    (
      "a role ai",
      [
        #"{"role":"ai","content":"","tool_calls":[{"id":"c1","function":{"name":"delete_all","arguments":"{}"}}]}"#
      ], false
    ),
    (
      "a role model with calls",
      [
        #"{"role":"model","tool_calls":[{"id":"c1","function":{"name":"delete_all","arguments":"{}"}}]}"#
      ], false
    ),
    (
      "calls of a user's message",
      [
        #"{"role":"user","content":"","tool_calls":[{"id":"c1","function":{"name":"delete_all","arguments":"{}"}}]}"#
      ], false
    ),
    (
      "a call within a call",
      [said(#""tool_calls":[{"id":"c1","call":{"name":"delete_all","arguments":"{}"}}]"#)], false
    ),
    (
      "a call whose function is its name",
      [said(#""tool_calls":[{"id":"c1","function":"delete_all","args":{}}]"#), result], false
    ),
    (
      "two forms of call in one message",
      [
        said(
          #""tool_calls":[{"id":"c1","function":{"name":"list","arguments":"{}"}}],"function_call":{"name":"delete_all","arguments":"{}"}"#
        ), result,
      ], false
    ),
    (
      "a call under a name that looks harmless",
      [said(#""content":"","annotations":[{"name":"delete_all","arguments":"{}"}]"#)], false
    ),
    (
      "an action",
      [said(#""content":"","action":"delete_all","action_input":{}"#)], false
    ),
    (
      "a call without arguments, and no result",
      [said(#""tool_calls":[{"id":"c1","function":{"name":"delete_all"}}]"#)], false
    ),
    (
      "an object as content",
      [said(#""content":{"tool":"delete_all","input":{}}"#)], false
    ),
  ]

  private func judge(_ expected: JSONValue, _ events: [Event]) throws -> [Outcome] {
    Judge.judge(events, against: try Expectations(parsing: expected)).outcomes.map(\.outcome)
  }

  @Test(
    "no expectation against a call passes over one in a shape that another tool writes",
    arguments: ForeignShapeTests.shapes.indices)
  func nothingPasses(_ index: Int) throws {
    let shape = Self.shapes[index]
    let list = ([Self.user] + shape.messages + [Self.done]).joined(separator: ",")
    for text in ["[\(list)]", #"{"messages":[\#(list)]}"#, #"[{"messages":[\#(list)]}]"#] {
      let file = try ImportedFile(text, format: .openAIMessages)
      guard file.errors.isEmpty else {
        Issue.record("\(shape.name): \(file.errors)")
        continue
      }
      // Told by what stands in it, it may be another format, which reads the call.
      let guessed = try ImportedFile(text)
      #expect(guessed.errors.isEmpty, "\(shape.name): \(guessed.errors)")
      for expected in [
        ["toolsNotCalled": ["delete_*"]], ["maxToolCalls": 0],
        ["time": [["never": "delete_*"]]], ["budget": ["calls": 0]],
      ] as [JSONValue] {
        #expect(try !judge(expected, guessed.events).contains(.pass), "\(shape.name): \(expected)")
        let outcomes = try judge(expected, file.events)
        #expect(
          outcomes == [shape.isRead ? .fail : .unverifiable]
            || shape.name.hasPrefix("two forms") || !shape.isRead && outcomes == [.fail],
          "\(shape.name): \(expected) \(outcomes)")
        #expect(!outcomes.contains(.pass), "\(shape.name): \(expected)")
      }
      let channel = file.data(.runStarted).first?["recorded"]?["calls"]
      #expect(channel == (shape.isRead ? nil : "partial"), "\(shape.name)")
      #expect((file.reports.first?.json["unread"] == nil) == shape.isRead, "\(shape.name)")
    }
  }

  @Test("what was not read is named by its place in the source")
  func places() throws {
    let file = try ImportedFile(
      #"""
      {"messages":[{"role":"human","content":"x","odd":1},
       {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"strange"}]}],
       "steps":[1]}
      """#, format: .openAIMessages)
    #expect(
      file.data(.runStarted).first?["source"]?["unread"]
        == ["/steps", "/messages/0/role", "/messages/0/odd", "/messages/1/content/1"])
    #expect(file.reports.first?.json["unread"]?.arrayValue?.count == 4)
  }

  @Test("null, false and empty values touch nothing")
  func nothing() throws {
    let file = try ImportedFile(
      #"""
      {"steps":[],"x":null,"messages":[{"role":"user","content":"x","odd":false},
       {"role":"assistant","content":"a","additional_kwargs":{},"parts":[],"toolCalls":null,"y":""}]}
      """#)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "a trimmed history: the results that are left are calls, each of its tool, with unknown input")
  func trimmed() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"tool","tool_call_id":"c1","name":"refund","content":"ok"},
       {"role":"tool","tool_call_id":"c2","name":"refund","content":"ok"},
       {"role":"assistant","content":"Both are paid."}]
      """#)
    let outcomes: [(JSONValue, Outcome)] = [
      (["toolsCalled": [["tool": "refund", "times": 2]]], .pass),
      (["maxToolCalls": 1], .fail),
      (["toolsNotCalled": [["tool": "refund", "input": ["id": 1]]]], .unverifiable),
      (["toolsNotProposed": ["refund"]], .fail),
      (["noRepeatedSideEffect": ["refund"]], .unverifiable),
      (["toolsNotCalled": ["delete_*"]], .pass),
    ]
    for (expected, outcome) in outcomes {
      #expect(try judge(expected, file.events) == [outcome], "\(expected)")
    }
  }

  @Test(
    "a call with which a bare list ends may have run; where the format says that the run ended, not",
    arguments: [
      (#"[MESSAGES]"#, Outcome.unverifiable), (#"{"messages":[MESSAGES]}"#, .unverifiable),
      (#"[{"traj":[MESSAGES]}]"#, .pass),
    ])
  func lastCalls(_ frame: String, _ outcome: Outcome) throws {
    let call = Self.said(#""tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]"#)
    let text = frame.split(separator: "MESSAGES").joined(separator: "\(Self.user),\(call)")
    let file = try ImportedFile(text)
    #expect(try judge(["toolsNotCalled": ["f"]], file.events) == [outcome])
  }

  @Test("how often a call was tried is in no message list, so that no number of retries is certain")
  func attempts() throws {
    let messages = #"""
      {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c","content":"x"},{"role":"assistant","content":"y"}
      """#
    for text in ["[\(messages)]", #"[{"traj":[\#(messages)]}]"#] {
      let events = try ImportedFile(text).events
      #expect(
        try judge(["maxRetries": 5, "budget": ["retries": 5]], events).allSatisfy {
          $0 == .unverifiable
        })
    }
  }
}
