import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

#if Live
  /// Each kind of run that can be handed on, by way of a receiver: the same logs, byte for byte.
  @Suite("Runs of every kind that are handed on with --otlp")
  struct HandedKindTests {
    /// Calls a tool that its provider asks for, prints what the model says, and ends as it is told.
    private static let agent = #"""
      import json, os, sys, urllib.request
      def ask(messages):
          body = json.dumps({"model": "m", "messages": messages, "tools": [
              {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]})
          request = urllib.request.Request(
              os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(),
              {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
          with urllib.request.urlopen(request) as reply:
              return json.load(reply)["choices"][0]["message"]
      seen = "blue " + os.environ["OPENAI_API_KEY"] + " " + os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
      messages = [{"role": "user", "content": sys.argv[1]}]
      while True:
          message = ask(messages)
          messages.append(message)
          if not message.get("tool_calls"): break
          for call in message["tool_calls"]:
              messages.append({"role": "tool", "tool_call_id": call["id"], "content": seen})
      print("The agent says: " + message["content"])
      sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
      """#

    private static let key = "sk-proj-averyverysecretkey0123456789"
    private static let headers =
      "x-team=anothersecretvalue,authorization=Bearer%20yetanothersecret1"

    private static func provider() throws -> FakeServer {
      let call =
        #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#
      let answer =
        #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"It is blue."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":4}}"#
      return try FakeServer { request, reply in
        reply.finish(body: request.text.contains("tool_call_id") ? answer : call)
      }
    }

    private static func run(
      _ arguments: [String], in folder: TemporaryFolder, _ provider: FakeServer, status: Int32 = 0
    ) async throws -> Command.Outcome {
      try await Binary.run(
        arguments, in: folder.path,
        environment: [
          "OPENAI_API_KEY": key, "OPENAI_BASE_URL": "\(provider.url)/v1",
          "OTEL_EXPORTER_OTLP_HEADERS": headers,
        ], status: status)
    }

    /// The logs of a folder, without their names.
    private static func logs(_ name: String, in folder: TemporaryFolder) throws -> [[UInt8]] {
      try folder.listing.filter { $0.hasPrefix(name + "/") && $0.hasSuffix(".jsonl.gz") }
        .map(folder.read).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Expects that a receiver got the logs that stand in `runs`.
    private static func expectSame(
      _ count: Int, in folder: TemporaryFolder, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let (made, received) = (try logs("runs", in: folder), try logs("out", in: folder))
      #expect(made.count == count && received == made, sourceLocation: sourceLocation)
    }

    // MARK: Commands

    @Test(
      "a command, as an agent file has it or behind the proxy, and no secret leaves with it",
      .enabled("needs python3") { await hasPython() }, arguments: ["agent", "proxy"])
    func commands(_ kind: String) async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      try folder.write(
        "looker.yaml",
        """
        name: looker
        command: [python3, agent.py, "${input}"]
        environment: {pass: [OPENAI_API_KEY, OTEL_EXPORTER_OTLP_HEADERS]}
        """)
      let provider = try Self.provider()
      let server = try FakeServer { _, reply in reply.finish(200, body: "") }
      let words =
        kind == "agent"
        ? ["record", "looker.yaml", "What colour?", "--out", "runs/", "--otlp", server.url]
        : [
          "record", "--proxy", "--out", "runs/", "--otlp", server.url, "--", "python3", "agent.py",
          "What colour?", "3",
        ]
      let outcome = try await Self.run(words, in: folder, provider, status: kind == "agent" ? 0 : 3)
      #expect(!outcome.errors.contains("handed"), "\(outcome.errors)")
      #expect(server.requests.first?.header("authorization") == "Bearer yetanothersecret1")
      for (index, request) in server.requests.enumerated() {
        for secret in ["averyverysecret", "anothersecretvalue", "yetanothersecret"] {
          #expect(!request.text.contains(secret))
        }
        try folder.write("in/\(index).pb", request.body)
      }
      #expect(server.requests.contains { $0.text.contains("execute_tool look") })
      try await Binary.run(["import", "in", "--out", "out"], in: folder.path)
      try Self.expectSame(1, in: folder)
      let shown = try await Binary.run(["show", "--json", "out"], in: folder.path, status: nil)
      #expect(!shown.output.contains("secretvalue"))
    }

    @Test(
      "a command behind the proxy ends with its own code where nobody takes its run",
      .enabled("needs python3") { await hasPython() })
    func ownCode() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      let provider = try Self.provider()
      let outcome = try await Self.run(
        [
          "record", "--proxy", "--out", "runs/", "--otlp", "http://127.0.0.1:9", "--", "python3",
          "agent.py", "What colour?", "7",
        ], in: folder, provider, status: 7)
      #expect(outcome.output.contains("The agent says: It is blue."))
      #expect(outcome.errors.contains("1 of 1 run could not be handed"))
    }

    @Test("several cases at once, each a run of its own")
    func cases() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(in: folder)
      let cases = (1...6).map {
        "  - {caseId: c\($0), agent: \(Fixture.agent("weather")), input: How is the weather in Oslo?, "
          + "expected: {maxSteps: \($0 % 2 == 0 ? 0 : 99)}}\n"
      }
      try folder.write("cases.yaml", "cases:\n" + cases.joined())
      let outcome = try await Binary.run(
        [
          "run", "--live", "--jobs", "3", "cases.yaml", "--out", "runs/", "--otlp",
          "http://127.0.0.1:\(receiver.port)",
        ], in: folder.path, status: 1)
      #expect(outcome.output.contains("3 passed, 3 failed"), "\(outcome)")
      #expect(!outcome.errors.contains("handed"), "\(outcome.errors)")
      #expect(await receiver.end() == 0)
      try Self.expectSame(6, in: folder)
    }

    // MARK: Agents that call agents

    /// Three levels, and two children of one.
    private static func makeTree(in folder: TemporaryFolder) throws {
      let look = "{name: look, sideEffect: read, scripted: [{ok: sent}]}"
      for (name, tools, script) in [
        (
          "head", "[{agent: clerk.yaml, name: ask_clerk}]",
          "[{calls: [{tool: ask_clerk, input: {task: one}}, {tool: ask_clerk, input: {task: two}}]}, {answer: done}]"
        ),
        (
          "clerk", "[{agent: junior.yaml, name: ask_junior}]",
          "[{call: {tool: ask_junior, input: {task: look}}}, {answer: the clerk is done}]"
        ),
        (
          "junior", "[\(look)]",
          "[{call: {tool: look, input: {}}}, {answer: the junior is done}]"
        ),
      ] {
        try folder.write(
          "\(name).yaml", "name: \(name)\ntools: \(tools)\nmodel: {script: \(script)}\n")
      }
    }

    @Test("a run and all below it are one trace, whose runs are told apart again")
    func tree() async throws {
      let folder = try TemporaryFolder()
      try Self.makeTree(in: folder)
      let receiver = try await RunningReceiver(in: folder)
      let outcome = try await Binary.run(
        [
          "record", "head.yaml", "go", "--out", "runs/", "--otlp",
          "http://127.0.0.1:\(receiver.port)",
        ], in: folder.path)
      #expect(!outcome.errors.contains("handed"), "\(outcome.errors)")
      #expect(await receiver.end() == 0)
      try Self.expectSame(5, in: folder)
      let names = folder.listing.filter { $0.hasPrefix("out/") && $0.hasSuffix(".jsonl.gz") }
      #expect(Set(names.map { $0.dropFirst(4).prefix(32) }).count == 1, "\(names)")
    }

    private static func spans(_ text: String) throws -> [[JSONValue]] {
      try text.split(separator: "\n").map { line in
        try JSONValue(parsing: Array(line.utf8))["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?
          .arrayValue ?? []
      }
    }

    @Test(
      "exported together they are one trace, each below its call; a part of them is imported as it is"
    )
    func exported() async throws {
      let folder = try TemporaryFolder()
      try Self.makeTree(in: folder)
      try await Binary.run(["record", "head.yaml", "go", "--out", "runs/"], in: folder.path)
      let text = try await Binary.run(["export", "otlp-json", "runs"], in: folder.path).output
      let lines = text.split(separator: "\n").map(String.init)
      let all = try Self.spans(text)
      #expect(lines.count == 5)
      #expect(Set(all.joined().map { $0["traceId"] }).count == 1)
      #expect(all.joined().count { $0["parentSpanId"] == nil } == 1)
      let byID = Dictionary(grouping: all.joined()) { $0["spanId"] }
      #expect(byID.values.allSatisfy { $0.count == 1 })
      for root in all.compactMap(\.first) where root["parentSpanId"] != nil {
        let call = try #require(byID[root["parentSpanId"]]?.first)
        let tool = root["name"] == "invoke_agent clerk" ? "ask_clerk" : "ask_junior"
        #expect(call["name"] == .string("execute_tool \(tool)"))
      }
      // In any order, and each by itself.
      for (name, part) in [
        ("all", lines.reversed()), ("one", [lines[0]]), ("four", lines.dropLast()),
      ]
        as [(String, any Sequence<String>)]
      {
        let part = Array(part)
        try folder.write("\(name).jsonl", part.joined(separator: "\n") + "\n")
        try await Binary.run(["import", "\(name).jsonl", "--out", name], in: folder.path)
        let got = try Self.logs(name, in: folder)
        let all = try Self.logs("runs", in: folder)
        #expect(got.count == part.count && Set(got).isSubset(of: all))
      }
      // Alone, a run is a trace of its own, with a root.
      for log in folder.listing where log.hasPrefix("runs/") {
        let alone = try Self.spans(
          try await Binary.run(["export", "otlp-json", log], in: folder.path).output)
        #expect(alone.joined().count { $0["parentSpanId"] == nil } == 1)
      }
    }

    @Test("without their logs they are one run, whose callers are the agents below it")
    func plain() async throws {
      let folder = try TemporaryFolder()
      try Self.makeTree(in: folder)
      try await Binary.run(["record", "head.yaml", "go", "--out", "runs/"], in: folder.path)
      try await Binary.run(
        ["export", "otlp", "--plain", "runs", "--output", "all.pb"], in: folder.path)
      try await Binary.run(["import", "all.pb", "--out", "out"], in: folder.path)
      let logs = folder.listing.filter { $0.hasPrefix("out/") && $0.hasSuffix(".jsonl.gz") }
      #expect(logs.count == 1)
      let events = try await Binary.run(["show", "--json", logs.first ?? ""], in: folder.path)
        .jsonLines()
      let calls = events.filter { $0["type"] == "decision" }.flatMap { event in
        (event["data"]?["calls"]?.arrayValue ?? []).map {
          "\(event["data"]?["caller"]?.stringValue ?? "-") \($0["name"]?.stringValue ?? "")"
        }
      }
      #expect(
        calls.sorted() == [
          "- ask_clerk", "- ask_clerk", "clerk ask_junior", "clerk ask_junior", "junior look",
          "junior look",
        ], "\(calls)")
      #expect(events.last { $0["type"] == "stop" }?["data"]?["reason"] == "success")
    }

    @Test("of logs that are there twice no run is put below another's call")
    func twice() async throws {
      let folder = try TemporaryFolder()
      try Self.makeTree(in: folder)
      try await Binary.run(["record", "head.yaml", "go", "--out", "runs/"], in: folder.path)
      for log in folder.listing where log.hasPrefix("runs/") {
        try folder.write("copies/" + log.dropFirst(5), folder.read(log))
      }
      let text = try await Binary.run(
        ["export", "otlp-json", "runs", "copies"], in: folder.path
      ).output
      let roots = try Self.spans(text).compactMap(\.first)
      #expect(roots.count == 10 && roots.allSatisfy { $0["parentSpanId"] == nil })
      #expect(Set(roots.map { $0["traceId"] }).count == 10)
    }
  }
#endif
