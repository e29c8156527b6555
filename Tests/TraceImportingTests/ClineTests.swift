import AgentTrace
import Testing
import TraceImporting

@Suite("Tasks of Cline and those that come from it, whose models call by tags")
struct ClineTests {
  private static func message(_ role: String, _ texts: String...) -> JSONValue {
    let parts = texts.map { text -> JSONValue in ["type": "text", "text": .string(text)] }
    return ["role": .string(role), "content": .array(parts), "ts": 1_765_000_000_000]
  }

  private static let task = message("user", "<task>\nTidy up.\n</task>", "<environment_details>\nx")

  private static func imported(_ messages: [JSONValue]) throws -> ImportedFile {
    try ImportedFile(CanonicalJSON.string(.array(messages), form: .plain))
  }

  private static func calls(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["recorded"]?["calls"]
  }

  @Test("calls, their arguments and what came of them are read, and a completed task is the end")
  func whole() throws {
    for isOlder in [true, false] {
      let label = "[write_to_file for 'a.html'] Result:"
      let file = try Self.imported([
        Self.task,
        Self.message(
          "assistant",
          "<thinking>It is old.</thinking>\n\n<write_to_file>\n<path>a.html</path>\n<content>\n<p>1</p>\n</content> is no end\n</content>\n</write_to_file>"
        ),
        isOlder
          ? Self.message("user", label, "saved", "<environment_details>\nx")
          : Self.message("user", "\(label)\nsaved", "<environment_details>\nx"),
        Self.message(
          "assistant",
          "Now this.\n<use_mcp_tool>\n<server_name>s</server_name>\n<tool_name>look</tool_name>\n<arguments>{\"id\":7}</arguments>\n</use_mcp_tool>"
        ),
        Self.message(
          "user",
          "[use_mcp_tool for 's'] Result:\nThe tool execution failed with the following error:\n<error>\nno\n</error>"
        ),
        Self.message(
          "assistant",
          "<attempt_completion>\n<result>\nIt is tidy.\n</result>\n</attempt_completion>"),
      ])
      #expect(file.reports.map(\.format) == [.cline], "\(file.errors)")
      let calls = file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
      #expect(calls.map { $0["name"] } == ["write_to_file", "look"])
      #expect(
        calls.first?["input"]
          == ["path": "a.html", "content": "<p>1</p>\n</content> is no end"])
      #expect(calls.last?["input"] == ["id": 7])
      #expect(file.data(.toolResult).map { $0["status"] } == ["returned", "error"])
      #expect(file.data(.toolResult).first?["data"] == "saved")
      #expect(Self.calls(file) == nil, "\(file.data(.runStarted))")
      #expect(file.stop == "success final_answer")
      #expect(file.data(.stop).first?["answer"] == "It is tidy.")
    }
  }

  @Test("a second call of one reply did not run; where a result says so in words, nobody knows")
  func refused() throws {
    let file = try Self.imported([
      Self.task,
      Self.message(
        "assistant",
        "<execute_command>\n<command>rm a</command>\n</execute_command>\n<read_file>\n<path>b</path>\n</read_file>"
      ),
      Self.message(
        "user", "[execute_command for 'rm a'] Result:", "The user denied this operation.",
        "Tool [read_file] was not executed because a tool has already been used in this message."),
    ])
    #expect(file.reports.map(\.format) == [.cline], "\(file.errors)")
    #expect(file.data(.toolResult).map { $0["tool"] } == ["execute_command", "read_file"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["error", "refused"])
    #expect(file.data(.toolResult).map { $0["effect"] } == ["unknown", nil])
    #expect(file.stop == nil)
  }

  @Test("a call that does not end, and a result of a call that nobody read, are marked")
  func damaged() throws {
    let call = Self.message("assistant", "<read_file>\n<path>b</path>\n</read_file>")
    let result = Self.message("user", "[read_file for 'b'] Result:\nx")
    let done = Self.message("assistant", "done")
    for (messages, isPartial) in [
      ([Self.task, call, result, done], false),
      ([Self.task, call, result, Self.message("assistant", "<read_file>\n<path>c")], true),
      ([Self.task, call, result, done, Self.message("user", "[tidy_up] Result:\nx")], true),
      (
        [
          Self.task, call, result, Self.message("assistant", "Which?"),
          Self.message("user", "[ask_followup_question for 'Which?'] Result:\nThat one."),
        ], false
      ),
    ] {
      let file = try Self.imported(messages)
      #expect(file.reports.map(\.format) == [.cline], "\(file.errors)")
      #expect((Self.calls(file) == "partial") == isPartial, "\(messages.count)")
      #expect(file.stop == nil)
    }
  }

  @Test("a list that shows a tag without what came of it is none of theirs")
  func others() throws {
    let file = try Self.imported([
      ["role": "user", "content": "How is a file read?"],
      ["role": "assistant", "content": "So: `<read_file><path>a</path></read_file>`."],
    ])
    #expect(file.reports.first?.format != .cline && Self.calls(file) == nil, "\(file.errors)")
  }
}
