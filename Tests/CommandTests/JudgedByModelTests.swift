import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceStorage

@Suite("Cases judged by a model")
struct JudgedByModelTests {
  private static let good = #"{"a": {"reason": "fine", "outcome": "pass"}}"#
  private static let bad = #"{"a": {"reason": "rude", "outcome": "fail"}}"#

  /// A folder with a case whose judge plays a script.
  private func folder(
    _ turns: [String], rubric: String = "{a: It is polite.}", more: String = "",
    recording: String = Fixture.run("refund-drafted")
  ) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try write(turns, in: folder)
    try folder.write(
      "cases/case.yaml",
      """
      caseId: polite
      recording: \(recording)
      judgements: ../kept
      expected:
        judge: {model: ../judge.yaml, rubric: \(rubric)\(more)}
      """)
    return folder
  }

  private func write(_ turns: [String], in folder: TemporaryFolder) throws {
    try folder.write(
      "judge.yaml",
      """
      name: grader
      model:
        name: grader-1
        script:
      \(turns.map { "    - \($0)" }.joined(separator: "\n"))
      """)
  }

  private func judge(
    _ folder: TemporaryFolder, _ more: [String] = [], status: Int32
  ) async throws -> JSONValue {
    let outcome = try await Binary.run(
      ["run", "cases", "--json"] + more, in: folder.path, status: status)
    return try outcome.json()["cases"]?[0] ?? .null
  }

  private func kept(_ folder: TemporaryFolder) -> [String] {
    ((try? LogFiles.all(below: folder.path("kept"))) ?? []).sorted()
  }

  private func said(_ text: String) -> String { "answer: '\(text)'" }

  @Test("without a judgement nothing is decided, and nobody is asked")
  func notAsked() async throws {
    let folder = try folder([said(Self.good)])
    let result = try await judge(folder, status: 3)
    let told = result["trials"]?[0]?["expectations"]?[0]
    #expect(told?["outcome"] == "unverifiable")
    #expect(told?["message"]?.stringValue?.contains("--judge") == true)
    #expect(kept(folder) == [])
  }

  @Test(
    "a judgement is made once; judging again needs no model, and the judge's file only for its name"
  )
  func recordedOnce() async throws {
    let folder = try folder([said(Self.bad)])
    let made = try await judge(folder, ["--judge"], status: 1)
    let log = try #require(kept(folder).first)
    #expect(kept(folder).count == 1)
    // Whoever grades otherwise now is not asked.
    try write([said(Self.good)], in: folder)
    for arguments in [[], ["--judge"], ["--live"]] {
      #expect(try await judge(folder, arguments, status: 1) == made)
    }
    let told = made["trials"]?[0]?["expectations"]?[0]
    #expect(told?["expectation"] == "judge.a")
    #expect(told?["outcome"] == "fail")
    #expect(told?["message"] == "rude")
    #expect(told?["judgements"]?[0]?["seq"] == 3)
    #expect(told?["judgements"]?[0]?["log"]?.stringValue?.hasSuffix("-1.jsonl.gz") == true)
    // The judgement is a run of its own: whole, faithful, of the judged run, and asked for a grade.
    try await Binary.run(["verify", log])
    let again = try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
    #expect(again.output.contains("faithful"))
    let events = try await Binary.run(["show", log, "--json"]).jsonLines()
    #expect(events.first?["data"]?["parent"]?["relation"] == "judge")
    let purposes = events.filter { $0["type"] == "model_result" }.map { $0["data"]?["purpose"] }
    #expect(purposes == ["judge"])
    let judged = try await Binary.run(["show", Fixture.run("refund-drafted"), "--json"]).jsonLines()
    #expect(events.first?["data"]?["parent"]?["runId"] == judged.first?["runId"])
  }

  @Test("another rubric, another model or another run is another judgement")
  func otherQuestions() async throws {
    let folder = try folder([said(Self.good)])
    _ = try await judge(folder, ["--judge"], status: 0)
    let text = try String(decoding: folder.read("cases/case.yaml"), as: UTF8.self)
    for (old, new) in [
      ("It is polite", "It is kind"), ("refund-drafted", "refund-approved"),
      ("polite.}", "polite.}, shown: calls"), ("polite.}", "polite.}, instructions: Be strict."),
      ("a: It", "b: It"),
    ] {
      try #require(text.contains(old))
      try folder.write("cases/case.yaml", text.replacing(old, with: new))
      _ = try await judge(folder, status: 3)
    }
    try folder.write("cases/case.yaml", text)
    try folder.write(
      "judge.yaml",
      String(decoding: folder.read("judge.yaml"), as: UTF8.self).replacing(
        "grader-1", with: "grader-2"))
    _ = try await judge(folder, status: 3)
  }

  @Test("every vote is a judgement, and the votes are counted")
  func votes() async throws {
    let folder = try folder([said(Self.good), said(Self.bad), said(Self.good)], more: ", votes: 3")
    let result = try await judge(folder, ["--judge"], status: 0)
    let told = result["trials"]?[0]?["expectations"]?[0]
    #expect(told?["judgements"]?.arrayValue?.count == 3)
    #expect(told?["actual"] == "2 of 3 votes pass")
    #expect(
      kept(folder).map { $0.split(separator: "-").last.map(String.init) } == [
        "1.jsonl.gz", "2.jsonl.gz", "3.jsonl.gz",
      ])
    #expect(try await judge(folder, status: 0) == result)
    try await Binary.run(
      ["replay", folder.path("kept"), "--reexecute"], in: folder.path, status: 0)
  }

  @Test("a reply in the wrong form is asked for again, with the reason")
  func askedAgain() async throws {
    let folder = try folder(["answer: I think it passes.", "ask: Which one?", said(Self.good)])
    _ = try await judge(folder, ["--judge"], status: 0)
    let log = try #require(kept(folder).first)
    let events = try await Binary.run(["show", log, "--json"]).jsonLines()
    let decisions = events.filter { $0["type"] == "decision" }.map { $0["data"]?["kind"] }
    #expect(decisions == ["invalid", "invalid", "answer"])
    let again = try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
    #expect(again.output.contains("faithful"))
  }

  @Test(
    "a judge that never replies as asked, or is out of reach, is an error and no outcome",
    arguments: [
      (["answer: It passes.", "answer: It does.", "answer: Yes!"], "no JSON"),
      (["unreachable: connection refused\n      repeat: 9"], "connection refused"),
      (["stop: blocked", "stop: success", "reply: {refusal: I will not}"], "refused"),
    ])
  func noReply(turns: [String], message: String) async throws {
    let folder = try folder(turns)
    for arguments in [["--judge"], []] {
      let result = try await judge(folder, arguments, status: 2)
      #expect(result["outcome"] == "error")
      #expect(result["error"]?.stringValue?.contains(message) == true, "\(result)")
      #expect(kept(folder).count == 1)
    }
    // Asked again, it may come to something; what came to nothing stays.
    try write([said(Self.good)], in: folder)
    _ = try await judge(folder, ["--judge"], status: 0)
    _ = try await judge(folder, status: 0)
    #expect(kept(folder).count == 2)
    for log in kept(folder) {
      try await Binary.run(["verify", log])
      try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
    }
  }

  @Test("a judgement of something else, a damaged one and one left open decide nothing")
  func wrongFiles() async throws {
    let folder = try folder([said(Self.good)])
    _ = try await judge(folder, ["--judge"], status: 0)
    let log = try #require(kept(folder).first)
    let name = try #require(log.ranges(of: "kept/").last.map { String(log[$0.lowerBound...]) })
    let bytes = try folder.read(name)
    // A run that is no judgement, and the judgement of another rubric.
    let others = try self.folder([said(Self.bad)], rubric: "{a: It is brief.}")
    _ = try await judge(others, ["--judge"], status: 1)
    let other = try #require(kept(others).first)
    for path in [Fixture.run("refund-drafted"), other] {
      try await shell("cat \"$1\" >\"$2\"", [path, log])
      let result = try await judge(folder, status: 2)
      #expect(
        result["error"]?.stringValue?.contains("is no judgement of what this case asks") == true)
    }
    var damaged = bytes
    damaged[damaged.count / 2] ^= 0x40
    try folder.write(name, damaged)
    #expect(try await judge(folder, status: 2)["outcome"] == "error")
    // A writer died over it: then it may be asked again.
    try await shell("rm \"$1\"; touch \"$1.open\"", [log])
    #expect(try await judge(folder, status: 2)["outcome"] == "error")
    _ = try await judge(folder, ["--judge"], status: 0)
    _ = try await judge(folder, status: 0)
  }

  @Test("two cases that ask the same at once ask once")
  func asksOnce() async throws {
    let folder = try folder([said(Self.good)])
    let text = try String(decoding: folder.read("cases/case.yaml"), as: UTF8.self)
    for number in 0..<12 {
      try folder.write(
        "cases/case-\(number).yaml", text.replacing("caseId: polite", with: "caseId: p\(number)"))
    }
    let outcome = try await Binary.run(
      ["run", "cases", "--json", "--judge", "--jobs", "8"], in: folder.path)
    #expect(try outcome.json()["summary"]?["pass"] == 13)
    #expect(kept(folder).count == 1)
  }

  @Test("with --live the agent runs, and its run is judged")
  func live() async throws {
    let folder = try folder([said(Self.good)])
    try folder.write("agent.yaml", agentFile())
    try folder.write(
      "cases/case.yaml",
      """
      caseId: polite
      input: Write a letter
      agent: ../agent.yaml
      expected:
        judge:
          model: {name: inline, script: [{answer: '\(Self.good)'}]}
          rubric: {a: It is polite.}
      """)
    _ = try await judge(folder, status: 3)
    _ = try await judge(folder, ["--live", "--judgements", "elsewhere"], status: 0)
    #expect(try LogFiles.all(below: folder.path("elsewhere")).count == 1)
    // The same answer of another run is the same question.
    _ = try await judge(folder, ["--judgements", "elsewhere"], status: 0)
    _ = try await judge(folder, ["--judge"], status: 0)
    #expect(try LogFiles.all(below: folder.path(".agent-eval/judgements")).count == 1)
  }

  @Test("judgements of runs are no sub-runs of theirs")
  func budgets() async throws {
    let folder = try folder([
      said(Self.good) + "\n      usage: {inputTokens: 900000, outputTokens: 1, cost: 100}"
    ])
    try await shell("cp \"$1\" .", [Fixture.run("refund-drafted")], in: folder.path)
    try folder.write(
      "cases/case.yaml",
      """
      caseId: polite
      recording: ../refund-drafted.jsonl.gz
      judgements: ../kept
      expected:
        judge: {model: ../judge.yaml, rubric: {a: It is polite.}}
        budget: {tokens: 20000, subRuns: true}
      """)
    _ = try await judge(folder, ["--judge"], status: 0)
    _ = try await judge(folder, status: 0)
  }

  @Test("a check of the case says what is wrong with the judge")
  func checked() async throws {
    let folder = try folder([said(Self.good)])
    try await Binary.run(["check", "cases"], in: folder.path)
    try folder.write("judge.yaml", "name: grader\nmodel: {}\n")
    let broken = try await Binary.run(["check", "cases"], in: folder.path, status: 2)
    #expect(broken.output.contains("judge.yaml") || broken.errors.contains("judge.yaml"))
    try folder.write(
      "cases/case.yaml",
      """
      caseId: polite
      recording: \(Fixture.run("refund-drafted"))
      expected: {judge: {model: {scrip: []}, rubric: x}}
      """)
    let inline = try await Binary.run(["check", "cases"], in: folder.path, status: 2)
    #expect((inline.output + inline.errors).contains("expected.judge.model.scrip"))
  }
}

#if Live
  @Suite("Cases judged by a provider's model")
  struct JudgedByProviderTests {
    @Test("a provider is asked once for what is judged then without it, and its key is in no log")
    func provider() async throws {
      let provider = try FakeProvider { asked, reply in
        // The first reply is none that was asked for.
        let text = asked.number == 0 ? "Pass." : #"{"a": {"reason": "fine", "outcome": "pass"}}"#
        FakeProvider.send(.init(text), to: asked, reply)
      }
      let folder = try TemporaryFolder()
      try folder.write(
        "case.yaml",
        """
        caseId: polite
        recording: \(Fixture.run("refund-drafted"))
        expected:
          judge:
            model:
              {provider: anthropic, name: fake, baseUrl: "\(provider.baseURL(.anthropic))",
               keyFrom: JUDGE_ACCESS}
            rubric: {a: It is polite.}
        """)
      let key = "zz-plain-0123456789-key"
      try await Binary.run(
        ["run", "case.yaml", "--judge"], in: folder.path, environment: ["JUDGE_ACCESS": key])
      #expect(provider.server.requests.count == 2)
      #expect(provider.server.requests.allSatisfy { $0.text.contains("<observed ") })
      provider.stop()
      try await Binary.run(["run", "case.yaml"], in: folder.path)
      let logs = try LogFiles.all(below: folder.path(".agent-eval/judgements"))
      #expect(logs.count == 1)
      try await Binary.run(["verify"] + logs)
      let again = try await Binary.run(["replay", logs[0], "--reexecute"], in: folder.path)
      #expect(again.output.contains("faithful"))
      let text = try await Binary.run(["show", logs[0], "--json"])
      #expect(!text.output.contains(key))
    }

    @Test(
      "a provider is asked for just the form that is read, in each dialect, unless the file says another",
      arguments: Dialect.allCases, [true, false])
    func form(dialect: Dialect, isAsked: Bool) async throws {
      let pointers: [Dialect: [String]] = [
        .openai: ["response_format", "json_schema", "schema"],
        .openaiResponses: ["text", "format", "schema"],
        .anthropic: ["output_config", "format", "schema"],
        .gemini: ["generationConfig", "responseJsonSchema"], .ollama: ["format"],
        .bedrock: ["outputConfig", "textFormat", "structure", "jsonSchema", "schema"],
      ]
      let pointer = try #require(pointers[dialect])
      let provider = try FakeProvider { asked, reply in
        FakeProvider.send(.init(#"{"a": {"reason": "fine", "outcome": "pass"}}"#), to: asked, reply)
      }
      let folder = try TemporaryFolder()
      let options = isAsked ? "" : ", options: {\(pointer[0]): null}"
      try folder.write(
        "case.yaml",
        """
        caseId: polite
        recording: \(Fixture.run("refund-drafted"))
        expected:
          judge:
            model: {provider: \(dialect.rawValue), name: fake, maxOutputTokens: 77, baseUrl: "\(provider.baseURL(dialect))"\(options)}
            rubric: {a: It is polite.}
        """)
      try await Binary.run(["run", "case.yaml", "--judge"], in: folder.path)
      let body = try JSONValue(parsing: try #require(provider.server.requests.first).body)
      var schema = pointer.reduce(body as JSONValue?) { $0?[$1] }
      // One takes it as text.
      if let text = schema?.stringValue { schema = try JSONValue(parsing: text) }
      #expect(
        schema?["properties"]?["a"]?["required"] == (isAsked ? ["reason", "outcome"] : nil))
      // What else is asked for stays where it stands beside the form.
      if isAsked, dialect == .gemini {
        #expect(body["generationConfig"]?["maxOutputTokens"] == 77)
      }
    }

    @Test("a provider that cannot be reached makes the case an error")
    func unreachable() async throws {
      let provider = try FakeProvider { _, reply in reply.close() }
      provider.stop()
      let folder = try TemporaryFolder()
      try folder.write(
        "case.yaml",
        """
        caseId: polite
        recording: \(Fixture.run("refund-drafted"))
        expected:
          judge:
            model: {provider: openai, name: fake, baseUrl: "\(provider.baseURL(.openai))"}
            rubric: {a: It is polite.}
        """)
      let outcome = try await Binary.run(
        ["run", "case.yaml", "--judge"], in: folder.path, status: 2)
      #expect(outcome.output.contains("judge: "), "\(outcome)")
    }
  }
#endif
