import AgentTrace
import Testing
import TraceImporting

@Suite(
  "A refusal, and a reply that a filter kept back, end an imported run as they end a recorded one")
struct RefusalTests {
  private static let user = #"{"role":"user","content":"q"}"#

  /// A logged request and what was answered.
  private static func answered(_ response: String) -> String {
    #"{"messages":[\#(user)],"response":\#(response)}"#
  }

  private static func session(_ event: String) -> String {
    #"{"appName":"a","userId":"u","id":"s","state":{},"events":[{"author":"user","content":{"role":"user","parts":[{"text":"q"}]}},\#(event)]}"#
  }

  /// What a source holds, and the detail of the stop.
  static let sources: [(String, String, detail: String)] = [
    (
      "Chat Completions: refusal",
      #"[\#(user),{"role":"assistant","content":null,"refusal":"I cannot"}]"#, "refusal"
    ),
    (
      "Chat Completions: a list with the reason",
      #"[\#(user),{"role":"assistant","content":null,"finish_reason":"content_filter"}]"#,
      "content_filter"
    ),
    (
      "Chat Completions: a list with the reason and what was let through",
      #"[\#(user),{"role":"assistant","content":"The first","finish_reason":"content_filter"}]"#,
      "content_filter"
    ),
    (
      "Chat Completions: finish_reason",
      answered(
        #"{"id":"chatcmpl-1","choices":[{"index":0,"finish_reason":"content_filter","message":{"role":"assistant","content":null}}]}"#
      ), "content_filter"
    ),
    (
      "Chat Completions: refusal of a response",
      answered(
        #"{"id":"chatcmpl-1","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"refusal":"No."}}]}"#
      ), "refusal"
    ),
    (
      "Responses: incomplete",
      answered(
        #"{"object":"response","status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"par"}]}]}"#
      ), "content_filter"
    ),
    (
      "Responses: a part",
      answered(
        #"{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]}"#
      ), "refusal"
    ),
    (
      "Messages: nothing said",
      answered(#"{"type":"message","role":"assistant","content":[],"stop_reason":"refusal"}"#),
      "refusal"
    ),
    (
      "Messages: something said",
      answered(
        #"{"type":"message","role":"assistant","content":[{"type":"text","text":"I"}],"stop_reason":"refusal"}"#
      ), "refusal"
    ),
    (
      "generateContent: no content",
      answered(#"{"candidates":[{"finishReason":"SAFETY","index":0}]}"#), "content_filter"
    ),
    (
      "generateContent: some content",
      answered(
        #"{"candidates":[{"finishReason":"RECITATION","content":{"role":"model","parts":[{"text":"To be"}]}}]}"#
      ), "content_filter"
    ),
    (
      "generateContent: a blocked prompt",
      answered(#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#), "content_filter"
    ),
    (
      "generateContent: a prompt blocked for other reasons",
      answered(#"{"promptFeedback":{"blockReason":"OTHER"}}"#), "content_filter"
    ),
    (
      "Converse: a guardrail",
      answered(
        #"{"output":{"message":{"role":"assistant","content":[{"text":"Blocked."}]}},"stopReason":"guardrail_intervened"}"#
      ), "content_filter"
    ),
    (
      "Converse: a filter",
      answered(
        #"{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"content_filtered"}"#
      ), "content_filter"
    ),
    (
      "a session: an error", session(#"{"author":"a","errorCode":"SAFETY","errorMessage":"no"}"#),
      "content_filter"
    ),
    (
      "a session: how a reply ended",
      session(
        #"{"author":"a","finishReason":"PROHIBITED_CONTENT","content":{"role":"model","parts":[{"text":"So"}]}}"#
      ), "content_filter"
    ),
  ]

  /// What was said by those of the sources that hold any of it.
  private static let said = [
    "Chat Completions: refusal": "I cannot",
    "Chat Completions: a list with the reason and what was let through": "The first",
    "Chat Completions: refusal of a response": "No.", "Responses: incomplete": "par",
    "Responses: a part": "No.", "Messages: something said": "I",
    "generateContent: some content": "To be", "Converse: a guardrail": "Blocked.",
    "a session: how a reply ended": "So",
  ]

  @Test("the dialects of providers", arguments: sources)
  func dialects(_ source: (String, text: String, detail: String)) throws {
    let file = try ImportedFile(source.text)
    #expect(file.errors.isEmpty, "\(source.0): \(file.errors)")
    #expect(file.stop == "blocked \(source.detail)", "\(source.0): \(file.outline)")
    // The words of a refusal are the last that the run said, and no decision has them.
    #expect(
      file.data(.stop).first?["answer"]?.stringValue == Self.said[source.0],
      "\(source.0): \(file.outline)")
    guard !source.0.hasPrefix("a session: an error") else { return }
    // As of a recorded run: the last decision is a stop, and what was said stands in the model's result.
    let decision = try #require(file.data(.decision).last)
    #expect(decision["kind"] == "stop", "\(source.0): \(decision)")
    #expect(decision["reason"] == "blocked" && decision["detail"] == .string(source.detail))
    #expect(file.data(.modelResult).last?["reply"] != nil, "\(source.0)")
  }

  @Test(
    "spans say it by gen_ai.response.finish_reasons, with or without what was said",
    arguments: [
      ("content_filter", "content_filter"), ("refusal", "refusal"), ("SAFETY", "content_filter"),
      ("guardrail_intervened", "content_filter"), ("content-filter", "content_filter"),
      ("FinishReason.RECITATION", "content_filter"),
    ])
  func spans(_ word: String, _ detail: String) throws {
    for isTold in [true, false] {
      var run = SpanSource.run()
      run.spans[3].attributes["gen_ai.response.finish_reasons"] = [.string(word)]
      if !isTold { run.spans[3].attributes["gen_ai.output.messages"] = nil }
      let file = try run.imported()
      #expect(file.stop == "blocked \(detail)", "\(file.outline)")
      #expect(file.data(.decision).last?["kind"] == "stop")
    }
  }

  @Test("a refusal that the conversation went on after, and calls beside one, are what they are")
  func others() throws {
    let file = try ImportedFile(
      #"[\#(Self.user),{"role":"assistant","content":null,"refusal":"No."},{"role":"user","content":"Please"},{"role":"assistant","content":"Well."}]"#
    )
    #expect(file.stop == "success final_answer")
    #expect(file.data(.decision).map { $0["kind"] } == ["ask_human", "answer"])
    let called = try ImportedFile(
      Self.answered(
        #"{"candidates":[{"finishReason":"SAFETY","content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{}}}]}}]}"#
      ))
    #expect(called.stop == "blocked content_filter")
    #expect(called.data(.decision).map { $0["kind"] } == ["tool"])
  }

  @Test(
    "a reply in which nothing is said is no answer, whatever stopped it",
    arguments: [#""""#, #"" \n""#, #""\u200b""#, "null", "[]"])
  func silence(_ content: String) throws {
    for reply in [
      #"{"role":"assistant","content":\#(content)}"#, #"{"type":"ai","content":\#(content)}"#,
    ] {
      let file = try ImportedFile(#"{"messages":[\#(Self.user),\#(reply)]}"#)
      #expect(file.stop == nil, "\(file.outline)")
    }
    let stopped =
      #"{"id":"chatcmpl-1","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":\#(content)}}]}"#
    #expect(try ImportedFile(Self.answered(stopped)).stop == nil)
    var run = SpanSource.run()
    run.spans[3].attributes["gen_ai.output.messages"] = .string(
      #"[{"role":"assistant","parts":[{"type":"text","content":" "}],"finish_reason":"stop"}]"#)
    #expect(try run.imported().stop == nil)
  }

  @Test("one table of words, however they are written")
  func words() {
    let filters = [
      "content_filter", "content-filter", "contentFilter", "CONTENT_FILTER", "content_filtered",
      "guardrail_intervened", "SAFETY", "FINISH_REASON_SAFETY", "FinishReason.SAFETY",
      "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII", "LANGUAGE", "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "JAILBREAK",
    ]
    for word in filters {
      #expect(RefusalWord.detail(ofFinish: word) == StopDetail.contentFilter, "\(word)")
    }
    #expect(RefusalWord.detail(ofFinish: "refusal") == StopDetail.refusal)
    for word in [
      "", "stop", "STOP", "end_turn", "length", "max_tokens", "tool_calls", "tool_use", "OTHER",
      "error", "safety first", "finish_reason_", "MALFORMED_FUNCTION_CALL",
      String(repeating: "-", count: 1 << 20) + "safety",
    ] {
      #expect(RefusalWord.detail(ofFinish: word) == nil, "\(word.prefix(40))")
    }
    #expect(RefusalWord.detail(ofFinish: nil) == nil)
    #expect(RefusalWord.detail(ofRefusal: "OTHER") == StopDetail.contentFilter)
    #expect(RefusalWord.detail(ofRefusal: "I cannot do that.") == StopDetail.refusal)
    #expect(RefusalWord.detail(ofRefusal: nil) == StopDetail.refusal)
  }
}
