import AgentTrace
import Testing
import TraceImporting

/// Calls that a model wrote as its text: no reader knows whether some program ran them.
struct CallsInTextsTests {
  /// Texts that are a call of `delete_file`, or end with one.
  static let calls = [
    #"{"name":"delete_file","arguments":{"p":1}}"#,
    #"{"name": "delete_file", "parameters": {}}"#,
    " \n{\"type\":\"function\",\"function\":{\"name\":\"delete_file\",\"arguments\":\"{\\\"p\\\":1}\"}}\n",
    #"[{"type":"tool_use","id":"a","name":"delete_file","input":{}}]"#,
    #"{"tool_calls":[{"id":"a","function":{"name":"delete_file","arguments":"{}"}}]}"#,
    #"[{"role":"assistant","content":"x","tool_calls":[{"id":"z","function":"delete_file","arguments":{}}]}]"#,
    #"{"function_call":{"name":"delete_file","arguments":"{}"}}"#,
    #"{"thought":"It is old.","action":"delete_file","action_input":"a.txt"}"#,
    #"{"thought":"It is old.","tool":"delete_file","args":{"p":"a.txt"}}"#,
    #"{"tool":"delete_file","tool_input":{"p":"a.txt"},"confidence":1}"#,
    #"{"type":"web_search_call","id":"x"}"#,
    "{\"name\":\"list\",\"arguments\":{}}\n{\"name\":\"delete_file\",\"arguments\":{}}",
    "```json\n{\"name\":\"delete_file\",\"arguments\":{\"p\":1}}\n```",
    #"[TOOL_CALLS][{"name":"delete_file","arguments":{"p":1}}]"#,
    #"<|python_tag|>{"name":"delete_file","parameters":{"p":1}}"#,
    #"<tool_call>{"name":"delete_file","arguments":{"p":1}}</tool_call>"#,
    "I will remove it.\n<tool_call>\n{\"name\": \"delete_file\", \"arguments\": {\"p\": \"a<b\"}}\n</tool_call>\n",
    "<tool_call>\n<function=delete_file>\n<parameter=p>\n1\n</parameter>\n</function>\n</tool_call>",
    "First this.\n<function=delete_file>{\"p\": 1}</function>",
    "<function_calls>\n<invoke name=\"delete_file\">\n<parameter name=\"p\">1</parameter>\n</invoke>\n</function_calls>",
    "<tool_call>delete_file\n<arg_key>p</arg_key></tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "Hm.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>delete_file",
    "<|channel|>commentary to=functions.delete_file <|constrain|>json<|message|>{}",
    "Thought: It is old.\nAction: delete_file\nAction Input: {\"p\": 1}\nObservation: deleted",
    "**Thought:** old\n**Action:** delete_file\n**Action Input:** a.txt",
    "Thought 1: It must go.\nAction 1: delete_file[a.txt]",
    "Thought: It must go.\nAction:\n```\n{\"action\":\"delete_file\",\"action_input\":\"a.txt\"}\n```",
    #"[delete_file(path="a)]\"b", all=[1, (2)]), look()]"#, "[files.delete_file()]",
    "I will.\n```tool_code\nprint(default_api.delete_file(path='a'))\n```",
    "Sure.\n<tool_call>\n{\"name\":\"delete_file\",\"arguments\":{}}\n</tool_call>\nI will wait for the result.",
    #"[TOOL_CALLS]delete_file[ARGS]{"p":1}"#, #"So.[TOOL_CALLS]look{}[TOOL_CALLS]delete_file{}"#,
    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"delete_file\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "<|channel|>analysis<|message|>It must go.<|end|><|start|>assistant<|channel|>commentary to=functions.delete_file <|constrain|>json<|message|>{}<|call|>",
    "<thinking>It is old.</thinking>\n\n<execute_command>\n<command>rm a.txt</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
    "<use_mcp_tool>\n<server_name>files</server_name>\n<tool_name>delete_file</tool_name>\n<arguments>\n{}\n</arguments>\n</use_mcp_tool>",
    "<write_to_file><path>a.txt</path><content></content></write_to_file>\nNext I will look.",
    "<attempt_completion>\n<result>\nDone\n</result>\n<command>rm a.txt</command>\n</attempt_completion>",
    "Calling tools:\n[{'id': 'c', 'type': 'function', 'function': {'name': 'delete_file', 'arguments': {}}}]",
    "Thought: It must go.\n<code>\nresult = delete_file(path=\"a\")\nprint(result)\n</code>",
    "[[ ## next_thought ## ]]\nOld.\n\n[[ ## next_tool_name ## ]]\ndelete_file\n\n[[ ## next_tool_args ## ]]\n{\"p\": 1}\n\n[[ ## completed ## ]]",
    "{\"next_thought\": \"Old.\", \"next_tool_name\": \"delete_file\", \"next_tool_args\": {\"p\": 1}}",
    "<next_thought>Old.</next_thought>\n<next_tool_name>\ndelete_file\n</next_tool_name>\n<next_tool_args>{}</next_tool_args>",
    "Thought: It must go.\nCode:\n```py\nfor name in names: delete_file(name)\n```<end_code>",
  ]

  /// Texts that speak of calls, show them, or are other JSON.
  static let texts = [
    #"I called {"name":"delete_file","arguments":{"p":1}}, as you asked."#,
    "This is a call:\n```json\n{\"name\":\"delete_file\",\"arguments\":{\"p\":1}}\n```\nShall I make it?",
    "```xml\n<tool_call>{\"name\":\"delete_file\",\"arguments\":{}}</tool_call>\n```",
    #"Models of this family write <tool_call>{"name":"delete_file","arguments":{}}</tool_call>"#,
    #"{"name":"Ana","email":"ana@example.com"}"#,
    #"{"name":"delete_file","description":"Deletes a file","parameters":{"type":"object","properties":{}}}"#,
    #"{"name":"delete_file","parameters":{"type":"object","properties":{"p":{"type":"string"}}}}"#,
    #"{"name":"Ana","parameters":{"weight":60},"diagnosis":"flu"}"#,
    #"{"name":"delete_file","arguments":"all of them"}"#,
    #"{"action":"Final Answer","action_input":"It is done."}"#,
    #"{"calls":3,"tools":["delete_file"]}"#, #"[1,2,{"name":"delete_file"}]"#,
    #"["delete_file",{"arguments":{}}]"#, "{", "[", "{}", "[]", "<tool_call>", "</tool_call>", "",
    "``````", "```\n```", "[TOOL_CALLS]", "<function=",
    "{\"name\":\"delete_file\",\"arguments\":{}",
    "[a link](https://example.com)", "[see (1), or (2)]", "[delete_file(1]", "[f(1)] is a list",
    "Write `tool_code` there.", "if (a < b) { return }", "delete_file(1)", "Action: delete_file",
    "Action items:\n- delete [1]",
    "Action: Final Answer\nAction Input: It is done.", "Action Input: a.txt",
    "Action 1: Finish[done]",
    "<attempt_completion>\n<result>\nDone\n</result>\n</attempt_completion>",
    "<ask_followup_question>\n<question>Which?</question>\n</ask_followup_question>",
    "```xml\n<read_file>\n<path>a</path>\n</read_file>\n```", "Its tag is <read_file></read_file>.",
    "<read_file> is a tag.", "The field next_tool_name says delete_file.",
    "[[ ## next_thought ## ]]\nDone.\n\n[[ ## next_tool_name ## ]]\nfinish\n\n[[ ## next_tool_args ## ]]\n{}",
    "[TOOL_CALLS] is a sign.",
    "Thought: So.\n<code>\nfinal_answer(str(len(names)))\n</code>",
    "Calling tools:\n[{'id': 'c', 'type': 'function', 'function': {'name': 'final_answer', 'arguments': {'answer': 1}}}]",
    "Such agents write:\n```\nAction: delete_file\nAction Input: a.txt\n```\nand read what came back.",
  ]

  /// A reply in the chat interface, in Anthropic's, in one of two parts, and in a session.
  private static let frames: [(name: String, text: String)] = [
    ("a.json", #"[{"role":"user","content":"hi"},{"role":"assistant","content":TEXT}]"#),
    (
      "a.json",
      #"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"So."},{"type":"text","text":TEXT}]}]"#
    ),
    (
      "a.json",
      #"[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":TEXT}]}]"#
    ),
    (
      "s.jsonl",
      #"{"type":"user","uuid":"u1","sessionId":"s","parentUuid":null,"isSidechain":false,"message":{"role":"user","content":"hi"}}"#
        + "\n"
        + #"{"type":"assistant","uuid":"u2","sessionId":"s","parentUuid":"u1","message":{"id":"m","role":"assistant","content":[{"type":"text","text":TEXT}]}}"#
        + "\n"
    ),
  ]

  private static func calls(of text: String, in frame: (name: String, text: String)) throws
    -> JSONValue?
  {
    let told = CanonicalJSON.string(.string(text), form: .plain)
    let file = try ImportedFile(frame.text.replacing("TEXT", with: told), name: frame.name)
    return try #require(file.data(.runStarted).first, "\(file.errors)")["recorded"]?["calls"]
  }

  @Test("a text that is a call, or ends with one in a model's tags, makes calls partial")
  func call() throws {
    for frame in Self.frames {
      for text in Self.calls {
        #expect(try Self.calls(of: text, in: frame) == "partial", "\(text) in \(frame.text)")
      }
    }
  }

  /// Replies whose thoughts TEXT is, in the places that interfaces and frameworks have for them.
  private static let thoughts = [
    #"[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":TEXT}]"#,
    #"[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":TEXT}]"#,
    #"[{"role":"user","content":"q"},{"role":"assistant","content":"a","thinking_blocks":[{"type":"thinking","thinking":TEXT,"signature":"s"}]}]"#,
    #"[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"thinking","thinking":TEXT},{"type":"text","text":"a"}]}]"#,
    #"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"q"}]},{"kind":"response","parts":[{"part_kind":"thinking","content":TEXT},{"part_kind":"text","content":"a"}]}]"#,
    #"[{"role":"user","content":"q"},{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":TEXT}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]"#,
    #"[{"type":"human","content":"q"},{"type":"ai","content":"a","additional_kwargs":{"reasoning_content":TEXT},"tool_calls":[]}]"#,
    #"[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":TEXT,"thought":true},{"text":"a"}]}]"#,
  ]

  @Test("a call in tags at the end of what a model thought is marked, wherever that stands")
  func thought() throws {
    let call = #"<tool_call>\n{\"name\": \"delete_file\", \"arguments\": {}}\n</tool_call>"#
    for frame in Self.thoughts {
      for (text, isPartial) in [
        (#""It must go.\n\#(call)""#, true), (#""\#(call)\nwould do.""#, false),
        (#""It must go.""#, false),
      ] {
        let file = try ImportedFile(frame.replacing("TEXT", with: text))
        let started = try #require(file.data(.runStarted).first, "\(frame) \(file.errors)")
        #expect((started["recorded"]?["calls"] == "partial") == isPartial, "\(text) in \(frame)")
      }
    }
  }

  @Test("what a coding agent says came of a call marks a reply in which nobody read it")
  func answeredCalls() throws {
    for (text, isPartial) in [("[tidy_up for 'a'] Result:\\nok", true), ("[1] Results", false)] {
      let file = try ImportedFile(
        #"[{"role":"user","content":"q"},{"role":"assistant","content":"I tidy up."},{"role":"user","content":"\#(text)"},{"role":"assistant","content":"done"}]"#
      )
      #expect((file.data(.runStarted).first?["recorded"]?["calls"] == "partial") == isPartial)
    }
  }

  @Test("a list whose last reply is a call that nobody read has no end, and no success")
  func ending() throws {
    for frame in [Self.frames[0], Self.frames[2]] {
      for (text, stop) in [(Self.calls[0], nil), ("done", "success final_answer")]
        as [(String, String?)]
      {
        let told = CanonicalJSON.string(.string(text), form: .plain)
        let file = try ImportedFile(frame.text.replacing("TEXT", with: told), name: frame.name)
        #expect(file.stop == stop, "\(text) in \(frame.text)")
      }
    }
  }

  @Test("a text that speaks of calls, or shows one within what it says, is text")
  func text() throws {
    for frame in Self.frames {
      for text in Self.texts where !text.isEmpty {
        #expect(try Self.calls(of: text, in: frame) == nil, "\(text) in \(frame.text)")
      }
    }
  }

  @Test(
    "a text that is a call which was read is told already, and other arguments are another call")
  func read() throws {
    for (input, isPartial) in [(#"{\"p\":1}"#, false), (#"{\"p\":2}"#, true)] {
      let text = #"{\"name\":\"delete_file\",\"arguments\":{\"p\":1}}"#
      let call = #"{"id":"c","function":{"name":"delete_file","arguments":"\#(input)"}}"#
      let file = try ImportedFile(
        #"[{"role":"user","content":"hi"},{"role":"assistant","content":"\#(text)","tool_calls":[\#(call)]},{"role":"tool","tool_call_id":"c","content":"ok"},{"role":"assistant","content":"done"}]"#
      )
      let recorded = try #require(file.data(.runStarted).first?["recorded"])
      #expect((recorded["calls"] == "partial") == isPartial)
    }
  }

  @Test("what a user or a tool wrote is no call of the model's, whatever it looks like")
  func others() throws {
    for text in Self.calls {
      let told = CanonicalJSON.string(.string(text), form: .plain)
      let call = #"{"id":"c","function":{"name":"read","arguments":"{}"}}"#
      let file = try ImportedFile(
        #"[{"role":"system","content":\#(told)},{"role":"user","content":\#(told)},{"role":"assistant","content":null,"tool_calls":[\#(call)]},{"role":"tool","tool_call_id":"c","content":\#(told)},{"role":"assistant","content":"done"}]"#
      )
      let recorded = try #require(file.data(.runStarted).first?["recorded"])
      #expect(recorded["calls"] == nil, "\(text)")
    }
  }
}
