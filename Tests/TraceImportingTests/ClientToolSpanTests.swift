import AgentTrace
import Testing
import TraceImporting

/// Clients of models that call functions themselves, as Google's does: one span for all that happened until a reply asked
/// for none.
@Suite("Spans of clients that call functions")
struct ClientToolSpanTests {
  private static let offers = SpanSource.text([["name": "weather", "type": "function"]])

  /// What a program's own span holds: a call of the client, and an execution below that or none.
  private static func source(
    _ reply: JSONValue?, failure: String? = nil, scope: String = "test",
    _ more: JSONObject = [:], hasExecution: Bool = true
  ) -> SpanSource {
    var source = SpanSource()
    source.add("a1", under: nil, "my agent", 0...100, [:], failure: failure)
    var attributes: JSONObject = [
      "gen_ai.operation.name": "generate_content", "gen_ai.provider.name": "gemini",
      "gen_ai.request.model": "m",
      "gen_ai.input.messages": SpanSource.text([SpanSource.user("Plan")]),
    ]
    if let reply { attributes["gen_ai.output.messages"] = SpanSource.text([reply]) }
    for member in more { attributes[member.key] = member.value }
    source.add(
      "b1", under: "a1", "generate_content m", 5...90, attributes, failure: failure, scope: scope)
    guard hasExecution else { return source }
    source.add(
      "c1", under: "b1", "execute_tool weather", 20...30,
      [
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.arguments": SpanSource.text(["town": "Graz"]),
        "gen_ai.tool.call.result": "sunny",
      ], scope: scope)
    return source
  }

  private static func calls(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["recorded"]?["calls"]
  }

  @Test("what a client ran before its last reply stands before that, and the reply is the answer")
  func answer() throws {
    let file = try Self.source(SpanSource.answer("All is fine.")).imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["town": "Graz"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    #expect(file.stop == "success final_answer")
    #expect(file.data(.stop).first?["answer"] == "All is fine.")
  }

  @Test("what a client ran before its model failed is a call with its arguments")
  func failure() throws {
    let file = try Self.source(nil, failure: "400 no").imported()
    let decisions = file.data(.decision).filter { $0["kind"] == "tool" }
    #expect(decisions.map { $0["calls"]?[0]?["name"] } == ["weather"], "\(file.errors)")
    #expect(decisions.first?["calls"]?[0]?["input"] == ["town": "Graz"])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["weather"])
    #expect(file.data(.modelResult).compactMap { $0["error"] }.count == 1)
    #expect(file.data(.stop).first?["reason"] == "model_failure")
  }

  @Test(
    "a span that tells of Google's client its last reply alone may hide calls, unless a reply asked for some",
    arguments: [
      "openinference.instrumentation.google_genai",
      "opentelemetry.instrumentation.google_generativeai",
    ])
  func hidden(scope: String) throws {
    let answer = SpanSource.answer("All is fine.")
    func file(_ reply: JSONValue, _ more: JSONObject, by other: String? = nil) throws
      -> ImportedFile
    {
      try Self.source(reply, scope: other ?? scope, more, hasExecution: false).imported()
    }
    let asked: JSONObject = ["input.value": "{}"]
    let offers: JSONObject = ["gen_ai.tool.definitions": Self.offers, "input.value": "{}"]
    #expect(Self.calls(try file(answer, offers)) == "partial")
    // Nothing is called where nothing is on offer, and of one of the two that is told.
    let isTold = scope.hasPrefix("openinference")
    #expect(Self.calls(try file(answer, asked)) == (isTold ? nil : "partial"))
    #expect(Self.calls(try file(answer, [:])) == "partial")
    #expect(Self.calls(try file(answer, offers, by: "another")) == nil)
    let asking = SpanSource.call("weather", ["town": "Graz"], id: "c1")
    #expect(
      try file(asking, offers).data(.runStarted).first?["source"]?["missing"] == nil)
  }
}
