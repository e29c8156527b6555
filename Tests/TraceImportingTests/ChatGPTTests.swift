import AgentTrace
import Testing
import TraceImporting

@Suite("Conversations that ChatGPT exports")
struct ChatGPTTests {
  private static func node(
    _ id: String, under parent: String?, _ children: [String], _ message: String
  ) -> String {
    let above = parent.map { "\"\($0)\"" } ?? "null"
    let below = children.map { "\"\($0)\"" }.joined(separator: ",")
    return
      #""\#(id)":{"id":"\#(id)","message":\#(message),"parent":\#(above),"children":[\#(below)]}"#
  }

  private static func message(
    _ id: String, _ role: String, _ content: String, _ more: String = #""recipient":"all""#,
    name: String = "null"
  ) -> String {
    #"{"id":"\#(id)","author":{"role":"\#(role)","name":\#(name),"metadata":{}},"create_time":1700000001.5,"update_time":null,"content":\#(content),"status":"finished_successfully","weight":1.0,"channel":null,\#(more)}"#
  }

  private static func text(_ text: String) -> String {
    #"{"content_type":"text","parts":["\#(text)"]}"#
  }

  /// A conversation in which Python ran once.
  private static func conversation(
    result: String = #"{"content_type":"execution_output","text":"42"}"#,
    outcome: String = #"{"status":"success","in_kernel_exception":null}"#,
    answer: String =
      #""recipient":"all","end_turn":true,"metadata":{"finish_details":{"type":"stop"}}"#,
    children: [String] = ["n1"], beside: String = "", node current: String = "n5"
  ) -> String {
    let nodes = [
      node("n0", under: nil, children, "null"),
      node("n1", under: "n0", ["n2"], message("n1", "user", text("What is 6 times 7?"))),
      node(
        "n2", under: "n1", ["n3"],
        message(
          "n2", "assistant", text("I compute."),
          #""recipient":"all","end_turn":false,"metadata":{"model_slug":"m"}"#)),
      node(
        "n3", under: "n2", ["n4"],
        message(
          "n3", "assistant", #"{"content_type":"code","language":"unknown","text":"6*7"}"#,
          #""recipient":"python","end_turn":false,"metadata":{"model_slug":"m"}"#)),
      node(
        "n4", under: "n3", ["n5"],
        message(
          "n4", "tool", result, #""recipient":"all","metadata":{"aggregate_result":\#(outcome)}"#,
          name: #""python""#)),
      node("n5", under: "n4", [], message("n5", "assistant", text("It is 42."), answer)),
    ]
    return
      #"{"title":"t","create_time":1.0,"mapping":{\#(nodes.joined(separator: ","))\#(beside)},"current_node":"\#(current)","conversation_id":"x"}"#
  }

  private static func calls(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["recorded"]?["calls"]
  }

  @Test("calls, results and the answer are read, with what was said before a call in its reply")
  func whole() throws {
    let file = try ImportedFile("[\(Self.conversation())]")
    #expect(file.reports.map(\.format) == [.chatgpt], "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "python")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == "6*7")
    #expect(file.data(.toolResult).map { $0["data"] } == ["42"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    #expect(file.data(.runStarted).first?["input"] == "What is 6 times 7?")
    #expect(Self.calls(file) == nil, "\(file.data(.runStarted))")
    #expect(file.stop == "success final_answer")
  }

  @Test("each conversation of a file is a run, and one that is none keeps no other from being read")
  func several() throws {
    let broken = Self.conversation(node: "nowhere")
    let file = try ImportedFile("[\(Self.conversation()),\(broken),\(Self.conversation())]")
    #expect(file.logs.count == 2)
    #expect(file.errors.map { $0.contains("current_node") } == [true], "\(file.errors)")
  }

  @Test(
    "what its interpreter could not run is an error",
    arguments: [
      (#"{"content_type":"system_error","name":"E","text":"boom"}"#, "null"),
      (
        #"{"content_type":"execution_output","text":"Traceback"}"#,
        #"{"status":"failed_with_in_kernel_exception","in_kernel_exception":{"name":"E"}}"#
      ),
    ])
  func failed(_ result: String, _ outcome: String) throws {
    let file = try ImportedFile("[\(Self.conversation(result: result, outcome: outcome))]")
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"], "\(file.errors)")
  }

  @Test("a reply that was broken off, or is not said to be the last of its turn, ends no run")
  func open() throws {
    for answer in [
      #""recipient":"all","end_turn":true,"metadata":{"finish_details":{"type":"interrupted"}}"#,
      #""recipient":"all","end_turn":null,"metadata":{}"#,
    ] {
      let file = try ImportedFile("[\(Self.conversation(answer: answer))]")
      #expect(file.logs.count == 1 && file.stop == nil, "\(file.errors)")
    }
  }

  @Test("a call on a branch that was left is marked, and what was only said there is not")
  func branches() throws {
    let said = Self.node("b1", under: "n0", [], Self.message("b1", "user", Self.text("Hm.")))
    let spoken = try ImportedFile(
      "[\(Self.conversation(children: ["n1", "b1"], beside: "," + said))]")
    #expect(Self.calls(spoken) == nil, "\(spoken.errors)")
    let call = Self.node(
      "b1", under: "n0", [],
      Self.message(
        "b1", "assistant", #"{"content_type":"code","text":"rm()"}"#, #""recipient":"python""#))
    let called = try ImportedFile(
      "[\(Self.conversation(children: ["n1", "b1"], beside: "," + call))]")
    #expect(Self.calls(called) == "partial")
  }

  @Test("content that nobody knows is marked")
  func unknown() throws {
    let file = try ImportedFile(
      "[\(Self.conversation(result: #"{"content_type":"hologram","beam":1}"#))]")
    #expect(file.data(.runStarted).first?["source"]?["unread"] != nil, "\(file.errors)")
  }
}
