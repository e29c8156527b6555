import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  @Suite("Errors of models' servers")
  struct ModelErrorTests {
    private static let long = String(repeating: "this key is not one that we know; ", count: 12)

    private static func server(_ status: Int) throws -> FakeServer {
      try FakeServer { _, reply in
        reply.finish(
          status,
          body: #"{"error":{"message":"\#(long)THE END","type":"invalid_request_error"}}"#)
      }
    }

    private static func agent(_ url: String) -> String {
      """
      name: asker
      failures: {modelRetries: 1}
      model: {provider: openai, name: m-large, baseUrl: "\(url)/v1", keyFrom: TEST_KEY}
      """
    }

    private static let caseText = """
      caseId: a
      input: x
      agent: agent.yaml
      trials: 5
      passThreshold: 3
      expected: {answer: done}
      """

    @Test(
      "an error that no other try mends ends all trials at once, and says what to do",
      arguments: [
        (401, "check the key in TEST_KEY"), (403, "the key in TEST_KEY may not use the model"),
        (404, "check the model's name “m-large”"),
      ])
    func lasting(status: Int, step: String) async throws {
      let folder = try TemporaryFolder()
      let server = try Self.server(status)
      try folder.write("agent.yaml", Self.agent(server.url))
      try folder.write("case.yaml", Self.caseText)
      let run = try await Binary.run(
        ["run", "--live", "case.yaml", "--out", "runs"], in: folder.path,
        environment: ["TEST_KEY": "sk-something-secret"], status: 2)
      #expect(server.requests.count == 1, "\(run)")
      for words in [
        "ERROR", "HTTP \(status)", "\(server.url)/v1/chat/completions", "THE END", step,
        "no other trial was made",
      ] {
        #expect(run.output.contains(words), "\(words)\n\(run)")
      }
      #expect(!run.output.contains("sk-something-secret"))
    }

    @Test("an error that another try may mend is tried again, and its cause is shown")
    func passing() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { _, reply in
        reply.finish(
          503, headers: [("retry-after-ms", "1")], body: #"{"error":{"message":"busy now"}}"#)
      }
      try folder.write("agent.yaml", Self.agent(server.url))
      try folder.write("case.yaml", Self.caseText)
      let run = try await Binary.run(
        ["run", "--live", "case.yaml", "--out", "runs"], in: folder.path,
        environment: ["TEST_KEY": "sk-something-secret"], status: 2)
      // Five trials and two in the place of others, of two tries each.
      #expect(server.requests.count == 14, "\(server.requests.count) \(run)")
      #expect(run.output.contains("busy now"), "\(run)")
    }

    @Test("the timeline tells an error to its end, whatever the width")
    func timeline() async throws {
      let folder = try TemporaryFolder()
      let server = try Self.server(401)
      try folder.write("agent.yaml", Self.agent(server.url))
      let run = try await Binary.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder.path,
        environment: ["TEST_KEY": "sk-something-secret", "COLUMNS": "80"], status: 1)
      let words = run.output.split(whereSeparator: \.isWhitespace).joined()
      #expect(words.contains("THEEND(invalid_request_error);checkthekeyinTEST_KEY"), "\(run)")
    }

    @Test(
      "a command whose provider refuses it is an error at once",
      .enabled("needs python3") { await hasPython() })
    func command() async throws {
      let folder = try TemporaryFolder()
      let server = try Self.server(401)
      try folder.write(
        "agent.py",
        """
        import os, urllib.request
        urllib.request.urlopen(urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}',
            {"Content-Type": "application/json"}))
        """)
      try folder.write(
        "case.yaml",
        "{caseId: a, input: x, agent: {command: [python3, agent.py]}, trials: 5, expected: {answer: done}}"
      )
      let run = try await Binary.run(
        ["run", "--live", "case.yaml", "--out", "runs"], in: folder.path,
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"], status: 2)
      #expect(server.requests.count == 1)
      #expect(run.output.contains("THE END"), "\(run)")
    }
  }
#endif
