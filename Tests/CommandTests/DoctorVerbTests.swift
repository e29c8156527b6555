import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("doctor")
struct DoctorVerbTests {
  private static func lines(_ outcome: Command.Outcome, _ subject: String) -> [String] {
    outcome.lines.filter { $0.dropFirst(9).hasPrefix(subject + " ") }
  }

  @Test("without an agent it looks at what all runs share")
  func machine() async throws {
    let run = try await Binary.run(["doctor"], environment: ["NO_PROXY": ""])
    for subject in ["program", "build", "clock", "sandbox"] {
      #expect(Self.lines(run, subject).count == 1, "\(subject)\n\(run)")
    }
    let faulty = try await Binary.run(
      ["doctor"], environment: ["HTTPS_PROXY": "socks5://secret@p:1"], status: 1)
    #expect(Self.lines(faulty, "proxy").first?.hasPrefix("PROBLEM") == true, "\(faulty)")
    #expect(!faulty.output.contains("secret"))
  }

  #if Live
    @Test("of an agent it looks for keys, and asks model and servers once")
    func agent() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { request, reply in
        if request.method == "GET" {
          reply.finish(404, headers: [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")], body: "")
        } else if request.header("authorization") == "Bearer right-key-here" {
          reply.finish(
            body:
              #"{"model":"m-2","choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}"#
          )
        } else {
          reply.finish(401, body: #"{"error":{"message":"wrong key"}}"#)
        }
      }
      try folder.write(
        "agent.yaml",
        """
        name: a
        model: {provider: openai, name: m, baseUrl: "\(server.url)/v1", keyFrom: DOCTOR_KEY, stream: false}
        mcpServers:
          gone: {command: [no-such-server-here]}
        """)
      let wrong = try await Binary.run(
        ["doctor", "agent.yaml"], in: folder.path, environment: ["DOCTOR_KEY": "wrong-key-here"],
        status: 1)
      #expect(Self.lines(wrong, "key").first == "ok       key       DOCTOR_KEY is set", "\(wrong)")
      let model = try #require(Self.lines(wrong, "model").first)
      #expect(model.hasPrefix("PROBLEM") && model.contains("wrong key"))
      #expect(model.contains("check the key in DOCTOR_KEY"))
      #expect(Self.lines(wrong, "clock").count == 2, "\(wrong)")
      #expect(Self.lines(wrong, "server").first?.contains("no-such-server-here") == true)
      #expect(!wrong.output.contains("wrong-key-here"))
      let right = try await Binary.run(
        ["doctor", "agent.yaml"], in: folder.path, environment: ["DOCTOR_KEY": "right-key-here"],
        status: 1)
      #expect(Self.lines(right, "model").first?.contains("m (m-2) replied") == true, "\(right)")
      let unset = try await Binary.run(["doctor", "agent.yaml"], in: folder.path, status: 1)
      #expect(Self.lines(unset, "key").first?.contains("is not set: export it") == true, "\(unset)")
    }

    @Test(
      "a server that sends requests on to itself is followed, one that sends them elsewhere is not")
    func redirects() async throws {
      let folder = try TemporaryFolder()
      let other = try FakeServer { _, reply in reply.finish(200, body: "{}") }
      let server = try FakeServer { request, reply in
        if request.target == "/mcp" {
          reply.finish(307, headers: [("Location", "/mcp/")], body: "")
        } else if request.target == "/away" {
          reply.finish(307, headers: [("Location", "\(other.url)/mcp")], body: "")
        } else {
          let value = try? JSONValue(parsing: request.body)
          let result: JSONValue? =
            switch value?["method"]?.stringValue {
            case "initialize":
              [
                "protocolVersion": "2025-06-18", "capabilities": ["tools": [:]],
                "serverInfo": ["name": "notes", "version": "1"],
              ]
            case "tools/list": ["tools": [["name": "look", "inputSchema": ["type": "object"]]]]
            default: nil
            }
          guard let id = value?["id"] else {
            reply.finish(202, body: "")
            return
          }
          var message: JSONObject = ["jsonrpc": "2.0", "id": id]
          message["result"] = result
          if result == nil { message["error"] = ["code": -32601, "message": "no such method"] }
          reply.finish(body: CanonicalJSON.encode(.object(message), form: .plain))
        }
      }
      func agent(_ path: String) -> String {
        """
        name: a
        model: {script: [{answer: x}]}
        mcpServers: {notes: {url: "\(server.url)\(path)", headers: {Authorization: "Bearer ${MCP_KEY}"}}}
        """
      }
      try folder.write("agent.yaml", agent("/mcp"))
      let followed = try await Binary.run(
        ["doctor", "agent.yaml"], in: folder.path, environment: ["MCP_KEY": "a-long-secret"])
      #expect(
        Self.lines(followed, "server").first?.contains("has 1 tool: look") == true, "\(followed)")
      try folder.write("agent.yaml", agent("/away"))
      let away = try await Binary.run(
        ["doctor", "agent.yaml"], in: folder.path, environment: ["MCP_KEY": "a-long-secret"],
        status: 1)
      #expect(Self.lines(away, "server").first?.contains("to another one") == true, "\(away)")
      #expect(other.requests.isEmpty)
    }

    @Test(
      "the last words of a server that falls at once are shown, however soon it does",
      arguments: 1...8)
    func lastWords(round: Int) async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        """
        name: a
        model: {script: [{answer: x}]}
        mcpServers: {gone: {command: [sh, -c, "echo the port is taken >&2; exit 7"]}}
        """)
      let run = try await Binary.run(["doctor", "agent.yaml"], in: folder.path, status: 1)
      let told = try #require(Self.lines(run, "server").first)
      #expect(told.contains("exited with 7") && told.contains("the port is taken"), "\(run)")
    }

    @Test("of a command it looks for its program, its folder and its variables")
    func command() async throws {
      let folder = try TemporaryFolder()
      try folder.write("good.yaml", "{command: [sh, x], environment: {pass: [DOCTOR_KEY]}}")
      let good = try await Binary.run(
        ["doctor", "good.yaml"], in: folder.path, environment: ["DOCTOR_KEY": "x"])
      #expect(Self.lines(good, "command").first?.contains("sh is /") == true, "\(good)")
      for (text, words) in [
        ("{command: [no-such-program-here]}", "is not found"),
        ("{command: [sh], cwd: gone}", "gone"),
      ] {
        try folder.write("bad.yaml", text)
        let bad = try await Binary.run(["doctor", "bad.yaml"], in: folder.path, status: 1)
        #expect(Self.lines(bad, "command").first?.contains(words) == true, "\(bad)")
      }
    }
  #endif
}
