import AgentTrace
import TestSupport
import Testing
import TraceImporting

/// What newer interfaces and frameworks write.
@Suite("Newer shapes of messages")
struct NewerShapeTests {
  private static let asked = #"{"role":"user","content":[{"type":"input_text","text":"hi"}]}"#
  private static func said(_ text: String, _ phase: String) -> String {
    #"{"type":"message","role":"assistant","phase":"\#(phase)","content":[{"type":"output_text","text":"\#(text)"}]}"#
  }
  private static let call =
    #"{"type":"function_call","call_id":"c","name":"look_up","arguments":"{}"}"#
  private static let result = #"{"type":"function_call_output","call_id":"c","output":"r"}"#
  private static let done =
    #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#

  private static func recorded(_ file: ImportedFile, _ channel: String) throws -> JSONValue? {
    try #require(file.data(.runStarted).first, "\(file.errors)")["recorded"]?[channel]
  }

  @Test(
    "what a model says on the way is no answer, and what it says last is, whatever it said before")
  func commentary() throws {
    let ends = [
      [Self.said("I look.", "commentary")],
      [Self.said("I look.", "commentary"), Self.call, Self.result, Self.said("So.", "commentary")],
      [Self.said("I look.", "commentary"), Self.said("It is 7.", "final_answer")],
      [Self.call, Self.result, Self.said("It is 7.", "final_answer")],
    ].map { items in
      try? ImportedFile("[" + ([Self.asked] + items).joined(separator: ",") + "]").stop
    }
    #expect(ends == [nil, nil, "success final_answer", "success final_answer"])
  }

  @Test("an item of a type that nobody knows leaves the run readable, and its calls in part")
  func unknownItem() throws {
    let item = #"{"type":"program","id":"p","call_id":"q","code":"await look_up()"}"#
    let texts = [
      [Self.asked, item, Self.call, Self.result, Self.done], [Self.asked, item, Self.done],
    ]
    for (items, calls) in zip(texts, [1, 0]) {
      let file = try ImportedFile("[\(items.joined(separator: ","))]")
      #expect(file.errors == [] && file.data(.toolResult).count == calls)
      #expect(try Self.recorded(file, "calls") == "partial")
      #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/1"])
    }
    let lines = try ImportedFile(
      [Self.asked, item, Self.call, Self.result, Self.done].joined(separator: "\n") + "\n",
      name: "run.jsonl")
    #expect(try Self.recorded(lines, "calls") == "partial")
    // What says of no type is no item.
    let odd = try ImportedFile("[\(Self.asked),\(Self.call),{\"what\":{\"name\":1}}]")
    #expect(odd.logs.isEmpty)
  }

  @Test("calls within a call that models make up are calls that nobody read")
  func wrapper() throws {
    let inner = #"{\"tool_uses\":[{\"recipient_name\":\"functions.look_up\",\"parameters\":{}}]}"#
    let file = try ImportedFile(
      #"[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"multi_tool_use.parallel","arguments":"\#(inner)"}}]},{"role":"tool","tool_call_id":"c","content":"r"},{"role":"assistant","content":"done"}]"#
    )
    #expect(try Self.recorded(file, "calls") == "partial")
  }

  @Test(
    "a reply whose calls its interface could not make out may have called anything",
    arguments: ["malformed_tool_use", "malformed_model_output"])
  func malformed(word: String) throws {
    let file = try ImportedFile(
      #"{"output":{"message":{"role":"assistant","content":[{"text":"so"}]}},"stopReason":"\#(word)"}"#
    )
    #expect(try Self.recorded(file, "calls") == "partial")
    #expect(file.stop == nil)
  }

  @Test("pydantic-ai's words on an answer, on instructions and on speech hide no call")
  func pydantic() throws {
    let parts = [
      #"{"part_kind":"retry-feedback","content":"no","retry":{"cause":"output"}}"#,
      #"{"part_kind":"retry-feedback","content":[{"type":"missing","loc":["x"],"msg":"no","input":{}}]}"#,
      #"{"part_kind":"instruction-baseline","instructions":[{"content":"be brief"}]}"#,
      #"{"part_kind":"tool-availability-delta","tools_added":["look_up"],"tool_call_id":null}"#,
      #"{"part_kind":"speech","speaker":"user","transcript":"and?","audio":null}"#,
    ]
    for part in parts {
      let file = try ImportedFile(
        #"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]},{"kind":"response","parts":[{"part_kind":"text","content":"bad"}]},{"kind":"request","parts":[\#(part)]},{"kind":"response","parts":[{"part_kind":"text","content":"done"}]}]"#
      )
      #expect(try Self.recorded(file, "calls") == nil, "\(part)")
      #expect(file.stop == "success final_answer", "\(part)")
    }
    let cutOff = try ImportedFile(
      #"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]},{"kind":"response","parts":[{"part_kind":"speech","speaker":"assistant","transcript":"it i","interrupted_at_ms":120}]}]"#
    )
    #expect(cutOff.stop == nil)
  }

  @Test("in Inspect a tool that ran and of which no message tells is a call that nobody read")
  func executions() throws {
    func log(_ id: String) -> String {
      #"{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":"look_up","arguments":{"a":1},"type":"function"}]},{"role":"tool","tool_call_id":"c","function":"look_up","content":"r"},{"role":"assistant","content":"done"}],"events":[{"event":"tool","id":"c","function":"look_up","arguments":{"a":1},"result":"r"},{"event":"tool","id":"\#(id)","function":"look_up","arguments":{"a":1},"result":"r"}],"output":{}}]}"#
    }
    #expect(try Self.recorded(try ImportedFile(log("d")), "calls") == "partial")
    #expect(try Self.recorded(try ImportedFile(log("c")), "calls") == nil)
  }

  @Test(
    "in Inspect a call that handed in an answer, and was taken out of its message, is that answer")
  func answerHandedIn() throws {
    func log(_ answer: String, _ beside: String = "") -> String {
      #"{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"user","content":"hi"},{"id":"m","role":"assistant","source":"generate","content":"It is:\n\n\#(answer)","tool_calls":[]}],"events":[{"event":"model","output":{"choices":[{"message":{"id":"m","role":"assistant","content":"It is:","tool_calls":[{"id":"c","function":"submit","arguments":{"answer":"7"},"type":"function"}]},"stop_reason":"tool_calls"}]}},{"event":"tool","id":"c","function":"submit","arguments":{"answer":"7"},"result":"7"\#(beside)}],"output":{"choices":[{"message":{"id":"m","role":"assistant","content":"It is:"},"stop_reason":"tool_calls"}]}}]}"#
    }
    let whole = try ImportedFile(log("7"))
    #expect(try Self.recorded(whole, "calls") == nil)
    #expect(whole.stop == "success final_answer")
    // What it ends with is something else, or the call failed.
    for other in [log("8"), log("7", #","error":{"type":"unknown","message":"no"}"#)] {
      let file = try ImportedFile(other)
      #expect(try Self.recorded(file, "calls") == "partial")
      #expect(file.stop == nil)
    }
  }

  @Test(
    "messages of Microsoft's frameworks are read with their calls, whatever came of those",
    arguments: [
      #"{"messages":[{"content_type":"message","role":"user","items":[{"content_type":"text","text":"hi"}]},{"content_type":"message","role":"assistant","finish_reason":"tool_calls","items":[{"metadata":{},"content_type":"function_call","id":"c","name":"Trip-look_up","function_name":"look_up","plugin_name":"Trip","arguments":"{\"a\":1}"}]},{"content_type":"message","role":"tool","items":[{"metadata":{"arguments":{"a":1}},"content_type":"function_result","id":"c","result":"r","name":"Trip-look_up","function_name":"look_up","plugin_name":"Trip"}]},{"content_type":"message","role":"assistant","finish_reason":"stop","items":[{"content_type":"text","text":"done"}]}]}"#,
      #"{"type":"agent_response","messages":[{"type":"message","role":"user","contents":[{"type":"text","text":"hi"}]},{"type":"message","role":"assistant","contents":[{"type":"function_call","id":"x","call_id":"c","name":"Trip-look_up","arguments":"{\"a\":1}","additional_properties":{}}]},{"type":"message","role":"tool","contents":[{"type":"function_result","id":"x","call_id":"c","result":"no","exception":"ValueError","items":[{"type":"text","text":"no"}]}]},{"type":"message","role":"assistant","author_name":"a","contents":[{"type":"text","text":"done"}]}]}"#,
    ])
  func microsoft(text: String) throws {
    // Also where the halves of a name stand there alone.
    let halves = text.replacing(
      #""name":"Trip-look_up","function_name""#, with: #""function_name""#)
    for text in [text, halves] {
      let file = try ImportedFile(text)
      #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
      let call = file.data(.decision).first?["calls"]?[0]
      #expect(call?["name"] == "Trip-look_up" && call?["input"] == ["a": 1])
      let hasFailed = text.contains("exception")
      #expect(file.data(.toolResult).map { $0["status"] } == [hasFailed ? "error" : "returned"])
      #expect(file.stop == "success final_answer")
      #expect(try Self.recorded(file, "calls") == nil)
    }
  }
}
