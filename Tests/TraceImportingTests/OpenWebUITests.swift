import AgentTrace
import Testing

@testable import TraceImporting

@Suite("Chats of Open WebUI")
struct OpenWebUITests {
  private static let block =
    #"<details type=\"tool_calls\" done=\"true\" id=\"c1\" name=\"get_weather\" arguments=\"&quot;{\\&quot;city\\&quot;: \\&quot;Oslo\\&quot;}&quot;\" result=\"&quot;rain &amp;amp; wind&quot;\" files=\"\">\n<summary>Tool Executed</summary>\n</details>"#

  private static func message(
    _ id: String, _ parent: String?, _ role: String, _ content: String, time: Int = 1,
    more: String = ""
  ) -> String {
    let above = parent.map { #""\#($0)""# } ?? "null"
    return
      #""\#(id)":{"id":"\#(id)","parentId":\#(above),"childrenIds":[],"role":"\#(role)","content":"\#(content)","timestamp":\#(time),"done":true,"model":"m"\#(more)}"#
  }

  private static func chat(_ messages: [String], current: String) -> String {
    #"[{"id":"c","user_id":"u","title":"t","chat":{"title":"t","models":["m"],"params":{},"history":{"currentId":"\#(current)","messages":{\#(messages.joined(separator: ","))}},"messages":[],"tags":[]},"updated_at":1,"archived":false,"meta":{}}]"#
  }

  /// A question and one answer.
  private static func answered(_ content: String, more: String = "") throws -> ImportedFile {
    try imported(
      chat(
        [
          message("a", nil, "user", "q"),
          message("b", "a", "assistant", content, time: 2, more: more),
        ],
        current: "b"))
  }

  private static func imported(_ text: String) throws -> ImportedFile {
    let file = try ImportedFile(text, name: "chats.json")
    #expect(file.reports.map(\.format) == [.openWebUI], "\(file.errors)")
    return file
  }

  private static func calls(_ file: ImportedFile) -> [JSONValue] {
    file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
  }

  private static func unread(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["source"]?["unread"]
  }

  private static func results(_ file: ImportedFile) -> [JSONValue?] {
    file.data(.toolResult).map { $0["data"] }
  }

  @Test("a block in a text is a call and what it gave back, and what stands around it is said")
  func blocks() throws {
    let file = try Self.answered(#"I look.\n\#(Self.block)\nIt rains."#)
    #expect(Self.calls(file).map { $0["name"] } == ["get_weather"])
    #expect(Self.calls(file).first?["input"] == ["city": "Oslo"])
    #expect(Self.results(file) == ["rain &amp; wind"])
    #expect(file.data(.toolResult).first?["status"] == "returned")
    #expect(file.data(.modelResult).count == 2)
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
  }

  @Test(
    "other programs write blocks with what came back behind the summary, and arguments as they are",
    arguments: [
      (
        #"<details type=\"tool_calls\" done=\"true\" id=\"c1\" name=\"wipe\" arguments=\"{&quot;a&quot;: 1}\">\n<summary>Tool: wipe</summary>\n{&quot;b&quot;: 2}\n</details>"#,
        ["a": 1], #"{"b": 2}"#
      ),
      // Of what gave back nothing it says that it is being executed.
      (
        #"<details type=\"tool_calls\" done=\"false\" id=\"c1\" name=\"wipe\" arguments=\"&quot;{}&quot;\">\n<summary>Executing...</summary>\n</details>"#,
        [:], nil
      ),
      (#"<details type=\"tool_calls\" name=\"wipe\" arguments=\"\">"#, [:], nil),
    ] as [(String, JSONValue, JSONValue?)])
  func dialects(_ block: String, _ input: JSONValue, _ result: JSONValue?) throws {
    let file = try Self.answered(block)
    #expect(Self.calls(file).map { $0["name"] } == ["wipe"])
    #expect(Self.calls(file).first?["input"] == input)
    let told: [JSONValue?] = result.map { [$0] } ?? []
    #expect(Self.results(file) == told)
    let tools = file.data(.runStarted).first?["recorded"]?["tools"]
    #expect((tools == "partial") == (result == nil))
  }

  @Test(
    "a block where none is read, of a type that nobody knows, or with a name that is gone is marked",
    arguments: [
      #"Look: \#(block)"#, #"```\n\#(block)"#,
      #"<details type=\"tool_calls\" name=\"wipe\" arguments=\"{\"a\":1}\">\n</details>"#,
      #"<details type=\"odd\">\n<summary>x</summary>\n</details>"#,
      #"<details type=\"tool_calls\" done=\"true\" arguments=\"{}\">\n</details>"#,
    ])
  func hidden(_ content: String) throws {
    #expect(Self.unread(try Self.answered(content)) != nil)
  }

  @Test("a person's text is text, and so is a block without a type")
  func texts() throws {
    let file = try Self.imported(
      Self.chat(
        [
          Self.message("a", nil, "user", Self.block),
          Self.message(
            "b", "a", "assistant", #"<details>\n<summary>x</summary>\ny\n</details>"#, time: 2),
        ], current: "b"))
    #expect(Self.calls(file).isEmpty && Self.unread(file) == nil)
    #expect(file.stop == "success final_answer")
  }

  @Test("code that is run is a call, thoughts are none")
  func code() throws {
    let file = try Self.answered(
      #"<details type=\"reasoning\" done=\"true\" duration=\"1\">\n<summary>Thought</summary>\n&gt; hm\n</details>\n<details type=\"code_interpreter\" done=\"true\" output=\"{&quot;stdout&quot;: &quot;1&quot;}\">\n<summary>Analyzed</summary>\n```python\nprint(1)\n```\n</details>\nOne."#
    )
    #expect(Self.calls(file).map { $0["name"] } == ["code_interpreter"])
    #expect(Self.calls(file).first?["input"] == ["code": "print(1)", "lang": "python"])
    #expect(Self.results(file) == [["stdout": "1"]])
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
  }

  private static let output =
    #","output":[{"type":"reasoning","id":"r","status":"completed","content":[{"type":"output_text","text":"hm"}]},{"type":"function_call","id":"fc","call_id":"c1","name":"get_weather","arguments":"{\"city\": \"Oslo\"}","status":"completed"},{"type":"function_call_output","id":"fo","call_id":"c1","output":[{"type":"input_text","text":"boom"}],"status":"completed"},{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Rain."}]}]"#

  @Test(
    "items are read where there are any, what the text repeats of them is not, and none failed or succeeded"
  )
  func items() throws {
    let file = try Self.answered(#"\#(Self.block)\nRain."#, more: Self.output)
    #expect(Self.calls(file).map { $0["name"] } == ["get_weather"])
    #expect(Self.results(file) == ["boom"])
    #expect(file.data(.toolResult).first?["status"] == "returned")
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
    // A call that only the text has.
    let parts = Self.block.split(separator: "c1", omittingEmptySubsequences: false)
    let other = try Self.answered(
      #"\#(parts.joined(separator: "c2"))\nRain."#, more: Self.output)
    #expect(Self.unread(other) != nil)
  }

  @Test(
    "an item that nobody knows is marked",
    arguments: [
      (#""type":"function_call","#, #""type":"odd","#),
      (#""name":"get_weather","#, ""),
      (#""status":"completed","role""#, #""also":{"name":"drop","arguments":{}},"role""#),
    ])
  func oddItems(_ old: String, _ new: String) throws {
    let parts = Self.output.split(separator: old, omittingEmptySubsequences: false)
    let file = try Self.answered("Rain.", more: parts.joined(separator: new))
    #expect(parts.count > 1 && Self.unread(file) != nil)
  }

  @Test(
    "tools that were called before the model was asked are told by what they gave back, and others may be missing"
  )
  func sources() throws {
    let file = try Self.answered(
      "Rain.",
      more:
        #","sources":[{"source":{"name":"TOOL:weather/get_weather"},"document":["rain"],"metadata":[{"source":"TOOL:weather/get_weather","parameters":{"city":"Oslo"}}],"tool_result":true},{"source":{"name":"a.pdf"},"document":["x"],"metadata":[{}]}]"#
    )
    #expect(Self.calls(file).map { $0["name"] } == ["get_weather"])
    #expect(Self.calls(file).first?["input"] == ["city": "Oslo"])
    #expect(Self.results(file) == ["rain"])
    let started = file.data(.runStarted).first
    #expect(started?["recorded"]?["calls"] == "partial")
    #expect(started?["source"]?["missing"]?.arrayValue?.count == 1)
  }

  @Test("calls of answers that were made anew ran, too; the current way comes last")
  func branches() throws {
    let file = try Self.imported(
      Self.chat(
        [
          Self.message("a", nil, "user", "q"),
          Self.message("b", "a", "assistant", "first", time: 2),
          Self.message("c", "a", "assistant", Self.block, time: 3),
        ], current: "b"))
    #expect(Self.calls(file).count == 1)
    #expect(file.events.last { $0.type == .decision }?.data["text"] == "first")
    #expect(file.stop == "success final_answer")
    let unknown = try Self.imported(
      Self.chat(
        [
          Self.message("a", nil, "user", "q"),
          Self.message("b", "a", "assistant", "first", time: 2),
          Self.message("c", "a", "assistant", "second", time: 3),
        ], current: "z"))
    #expect(unknown.stop == nil)
  }

  @Test("messages that name one that is not there, and some that lead to each other, are told")
  func oddTrees() throws {
    let file = try Self.imported(
      Self.chat(
        [
          Self.message("a", "gone", "user", "q"), Self.message("b", "c", "user", "r"),
          Self.message("c", "b", "assistant", Self.block),
        ], current: "a"))
    #expect(Self.calls(file).count == 1 && file.data(.humanReplied).count >= 1)
    #expect(file.data(.runStarted).first?["source"]?["missing"]?.arrayValue?.count == 1)
  }

  @Test("messages that are named and are not there, and a reply without a word, are told")
  func notThere() throws {
    let question = Self.message("a", nil, "user", "q")
    let answer = Self.message("b", "a", "assistant", "It rains.", time: 2)
    #expect(try Self.unread(Self.imported(Self.chat([question, answer], current: "b"))) == nil)
    for chat in [
      Self.chat([question, answer], current: "x"),
      Self.chat(
        [question.replacing("\"childrenIds\":[]", with: "\"childrenIds\":[\"b\",\"x\"]"), answer],
        current: "b"),
      Self.chat([question, answer.replacing("\"content\"", with: "\"body\"")], current: "b"),
    ] {
      let file = try Self.imported(chat)
      #expect(Self.unread(file) != nil, "\(chat)")
      #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial", "\(chat)")
    }
  }

  @Test("an answer that failed, or is not done, is no success")
  func unfinished() throws {
    let failed = try Self.answered("x", more: #","error":{"content":"no"}"#)
    #expect(failed.stop == "model_failure error")
    let whole = Self.chat(
      [Self.message("a", nil, "user", "q"), Self.message("b", "a", "assistant", "x", time: 2)],
      current: "b")
    let parts = whole.split(separator: #""done":true"#, omittingEmptySubsequences: false)
    #expect(try Self.imported(parts.joined(separator: #""done":false"#)).stop == nil)
  }

  @Test("a text of blocks that never end takes no time to speak of, and loses nothing")
  func hostile() {
    let text = String(repeating: "<details type=\"tool_calls\" name=\"a\">\n", count: 5_000)
    #expect(DetailsBlocks(text).pieces.count == 1)
    #expect(DetailsBlocks(String(repeating: "<details a=\"\n", count: 5_000)).pieces.count == 1)
    #expect(DetailsBlocks("x <details type=\"tool_calls\">").hasHidden)
  }
}
