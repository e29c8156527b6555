import AgentTrace
import TestSupport
import Testing
import TraceStorage

@Suite("A tool knows for whom it acts")
struct ToolIdentityTests {
  private static func results(_ log: String) throws -> [Event] {
    var reader = try LogReader(path: log)
    var results: [Event] = []
    while let event = try reader.next() {
      if event.type == .toolResult { results.append(event) }
    }
    return results
  }

  @Test("a command is told in its environment, and what an agent file says there does not count")
  func commands() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "who.sh",
      """
      printf '["%s","%s","%s","%s","%s"]' "$AGENT_RUN_ID" "$AGENT_CALL_ID" "$AGENT_ACTOR_ID" "$AGENT_TENANT_ID" "${AGENT_ROUTE-none}"
      """)
    try folder.write(
      "agent.yaml",
      """
      name: desk
      tools:
        - name: who
          sideEffect: read
          command: {arguments: [sh, who.sh], environment: {set: {AGENT_TENANT_ID: forged, AGENT_ROUTE: forged}}}
      model: {script: [{call: {tool: who}}, {answer: done}]}
      """)
    try await Binary.run(
      [
        "record", "agent.yaml", "go", "--out", "run.jsonl.gz", "--actor", "ana", "--tenant",
        "acme of \u{e9}",
      ], in: folder.path)
    let result = try #require(try Self.results(folder.path("run.jsonl.gz")).first)
    #expect(
      result.data["data"]
        == [.string(result.runId), "1.1.0", "ana", "acme of \u{e9}", "none"], "\(result.data)")
    // What no variable can say is not left out.
    try folder.write(
      "odd.yaml",
      try #require(folder.text("agent.yaml")) + "\npolicyContext: {tenantId: \"a\\u0000b\"}\n")
    try await Binary.run(
      ["record", "odd.yaml", "go", "--out", "odd.jsonl.gz"], in: folder.path)
    let odd = try #require(try Self.results(folder.path("odd.jsonl.gz")).first)
    #expect(odd.data["reason"]?.stringValue?.contains("NUL") == true, "\(odd.data)")
  }

  #if Live
    @Test("a request over HTTP says what its tool asks for, of what is known")
    func http() async throws {
      let server = try FakeServer { $1.finish(body: "{}") }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        """
        name: desk
        policyContext: {route: desk}
        tools:
          - name: look
            sideEffect: read
            http:
              url: \(server.url)/look
              allowedAddresses: [127.0.0.1]
              headers: {X-Tenant: forged}
              identityHeaders: {X-Tenant: tenantId, X-Actor: actorId, X-Route: route, X-Run: runId, X-Call: callId}
        model: {script: [{call: {tool: look}}, {answer: done}]}
        """)
      try await Binary.run(
        ["record", "agent.yaml", "go", "--out", "run.jsonl.gz", "--tenant", "acme"],
        in: folder.path)
      let request = try #require(server.requests.first)
      #expect(request.header("X-Tenant") == "acme" && request.header("X-Actor") == nil)
      #expect(request.header("X-Route") == "desk" && request.header("X-Call") == "1.1.0")
      let result = try #require(try Self.results(folder.path("run.jsonl.gz")).first)
      #expect(request.header("X-Run") == result.runId)
      // What would end a header is not sent, and the call says so.
      try await Binary.run(
        ["record", "agent.yaml", "go", "--out", "odd.jsonl.gz", "--tenant", "a\r\nX-Admin: 1"],
        in: folder.path)
      #expect(server.requests.count == 1)
      let odd = try #require(try Self.results(folder.path("odd.jsonl.gz")).first)
      #expect(odd.data["status"] == "error")
      #expect(odd.data["reason"]?.stringValue?.contains("control character") == true)
    }
  #endif
}
