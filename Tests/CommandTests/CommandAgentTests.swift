import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing
import TraceStorage

#if Live
  @Suite("Commands as agents", .enabled("needs python3") { await hasPython() })
  struct CommandAgentTests {
    /// Calls a tool that its provider asks for and prints what the model says at last.
    private static let agent = #"""
      import json, os, sys, urllib.request
      def ask(messages):
          body = json.dumps({"model": "m", "messages": messages, "tools": [
              {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]})
          request = urllib.request.Request(
              os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(),
              {"Content-Type": "application/json",
               "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")})
          with urllib.request.urlopen(request) as reply:
              return json.load(reply)["choices"][0]["message"]
      messages = [{"role": "user", "content": sys.argv[1]}]
      while True:
          message = ask(messages)
          messages.append(message)
          if not message.get("tool_calls"): break
          for call in message["tool_calls"]:
              messages.append({"role": "tool", "tool_call_id": call["id"], "content": "blue"})
      print("The agent says: " + message["content"])
      """#

    private static let key = "sk-proj-averyverysecretkey0123456789"

    private static func call(_ names: [String]) -> String {
      let calls = names.enumerated().map { index, name in
        #"{"id":"c\#(index)","type":"function","function":{"name":"\#(name)","arguments":"{}"}}"#
      }
      return
        #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[\#(calls.joined(separator: ","))]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#
    }

    private static func answer(_ text: String) -> String {
      #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"\#(text)"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":4}}"#
    }

    /// A provider whose model looks once and then answers.
    private static func provider(
      _ answers: @escaping @Sendable (Int) -> String = { _ in "It is blue." }
    ) throws -> FakeServer {
      let runs = Mutex(0)
      return try FakeServer { request, reply in
        guard request.text.contains("tool_call_id") else {
          reply.finish(body: call(["look"]))
          return
        }
        let number = runs.withLock { runs in
          runs += 1
          return runs
        }
        reply.finish(body: answer(answers(number)))
      }
    }

    private static func run(
      _ arguments: [String], in folder: TemporaryFolder, _ server: FakeServer? = nil,
      environment: [String: String] = [:], status: Int32? = 0
    ) async throws -> Command.Outcome {
      var variables = ["OPENAI_API_KEY": key, "SOMETHING_ELSE": "1"]
      variables["OPENAI_BASE_URL"] = server.map { "\($0.url)/v1" }
      return try await Binary.run(
        arguments, in: folder.path, environment: variables.merging(environment) { $1 },
        status: status)
    }

    private static func events(
      of path: String, in folder: TemporaryFolder
    ) async throws -> [JSONValue] {
      let text = try await Binary.run(["show", path, "--json"], in: folder.path).lines
      return try text.map { try JSONValue(parsing: Array($0.utf8)) }.filter { $0["type"] != nil }
    }

    private static let caseText = """
      caseId: colour
      input: "What colour is it?"
      agent:
        command: [python3, agent.py, "${input}"]
        cwd: ..
        environment: {pass: [OPENAI_API_KEY], set: {MODE: "${caseId} ${trial}"}}
        answer: stdout
      trials: 3
      passThreshold: 2
      expected:
        stopReason: success
        toolsCalled: [{tool: look, times: 1}]
        answer: {$contains: "The agent says: It is blue."}
      """

    @Test(
      "a case runs a command several times behind the proxy, and its recordings are judged again")
    func trials() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      try folder.write("cases/case.yaml", Self.caseText)
      let server = try Self.provider()
      try await Binary.run(["check", "cases"], in: folder.path)
      let run = try await Self.run(
        ["run", "--live", "--all-trials", "--out", "runs", "--json", "cases"], in: folder, server)
      #expect(server.requests.allSatisfy { $0.header("authorization") == "Bearer \(Self.key)" })
      #expect(server.requests.count == 6)
      server.stop()
      let results = try JSONValue(parsing: run.outputBytes)
      let trials = results["cases"]?[0]?["trials"]?.arrayValue ?? []
      #expect(trials.count == 3)
      for (index, trial) in trials.enumerated() {
        let log = try #require(trial["log"]?.stringValue)
        try await Binary.run(["verify", log], in: folder.path)
        let events = try await Self.events(of: log, in: folder)
        let started = try #require(events.first?["data"])
        #expect(started["case"]?["caseId"] == "colour")
        #expect(started["case"]?["trial"] == JSONValue(index + 1))
        #expect(started["goal"] == "What colour is it?")
        #expect(started["agent"]?["name"] == "python3")
        #expect(started["model"]?["name"] == "m")
        #expect(events.last?["data"]?["reason"] == "success")
        #expect(!events.contains { "\($0)".contains("averyverysecret") })
      }
      // Recordings are judged again without command, key and provider.
      let judged = try await Self.run(["run", "cases", "--runs", "runs"], in: folder)
      #expect(judged.output.contains("pass"))
      // What fails is seen there too.
      try folder.write(
        "other/case.yaml", "{caseId: colour, expected: {toolsNotCalled: [look]}}")
      _ = try await Self.run(["run", "other", "--runs", "runs"], in: folder, status: 1)
    }

    @Test("no trial is made that cannot change the outcome, and a case that fails says so")
    func earlyStopping() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      try folder.write("cases/case.yaml", Self.caseText)
      let good = try Self.provider()
      _ = try await Self.run(["run", "--live", "cases"], in: folder, good)
      #expect(good.requests.count == 4)
      let bad = try Self.provider { _ in "It is red." }
      let failed = try await Self.run(["run", "--live", "cases"], in: folder, bad, status: 1)
      #expect(bad.requests.count == 4)
      #expect(failed.output.contains("It is red."), "\(failed)")
    }

    @Test("what a command did is accepted, and what it does otherwise is a regression")
    func baselines() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      try folder.write("cases/case.yaml", Self.caseText)
      let good = try Self.provider()
      _ = try await Self.run(["accept", "--live", "--all", "cases"], in: folder, good)
      _ = try await Self.run(["run", "--live", "--against", "accepted", "cases"], in: folder, good)
      let bad = try Self.provider { _ in "It is red." }
      let worse = try await Self.run(
        ["run", "--live", "--against", "accepted", "cases"], in: folder, bad, status: 1)
      #expect(worse.output.contains("REGRESSED"), "\(worse)")
    }

    @Test("an agent file with a command is recorded, promoted to a case and mutated")
    func file() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agents/agent.py", Self.agent)
      try folder.write(
        "agents/looker.yaml",
        """
        name: looker
        version: "3"
        command: [python3, agent.py, "${input}"]
        environment: {pass: [OPENAI_API_KEY]}
        """)
      try await Binary.run(["check", "agents/looker.yaml"], in: folder.path)
      let server = try Self.provider()
      let recorded = try await Self.run(
        ["record", "agents/looker.yaml", "What colour?", "--out", "runs/one.jsonl.gz"], in: folder,
        server)
      for words in ["looker", "What colour?", "look", "success", "log    runs/one.jsonl.gz"] {
        #expect(recorded.output.contains(words), "\(words)\n\(recorded)")
      }
      let events = try await Self.events(of: "runs/one.jsonl.gz", in: folder)
      #expect(events.first?["data"]?["agent"]?["version"] == "3")
      #expect(events.last?["data"]?["answer"] == "It is blue.")
      _ = try await Self.run(
        ["record", "agents/looker.yaml", "What colour?", "--out", "runs/two.jsonl.gz"], in: folder,
        server)
      _ = try await Self.run(
        [
          "promote", "runs/one.jsonl.gz", "runs/two.jsonl.gz", "--into", "cases", "--case-id",
          "colour", "--agent", "agents/looker.yaml",
        ], in: folder)
      _ = try await Self.run(["run", "cases"], in: folder)
      _ = try await Self.run(["run", "--live", "cases"], in: folder, server)
      let mutated = try await Self.run(["mutate", "cases"], in: folder, status: nil)
      #expect([0, 1].contains(mutated.status), "\(mutated)")
      // Its loop is its own.
      let again = try await Self.run(
        ["replay", "runs/one.jsonl.gz", "--reexecute", "--agent", "agents/looker.yaml"], in: folder,
        status: nil)
      #expect(again.status == 2, "\(again)")
    }

    @Test(
      "a command has what its file says and nothing else",
      arguments: [("stdin", "What is it?"), ("argv", "a What is it? b $" + "{x}"), ("mode", "m  ")])
    func surroundings(what: String, expected: String) async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.py",
        """
        import os, sys, json
        seen = {"stdin": sys.stdin.read(), "argv": sys.argv[1], "mode": os.environ["MODE"]}
        assert "OPENAI_API_KEY" not in os.environ and "SOMETHING_ELSE" not in os.environ
        assert os.environ["KEPT"] == "kept" and os.environ["PATH"]
        assert os.environ["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
        assert "127.0.0.1" in os.environ["NO_PROXY"].split(",")
        assert os.environ["LOCAL_BASE_URL"].endswith("/local/api")
        print(" " + seen["\(what)"] + " \\n")
        """)
      try folder.write(
        "agent.yaml",
        """
        command: [python3, agent.py, "a ${input} b $${x}"]
        environment: {pass: [KEPT], set: {MODE: "m ${caseId} ${trial}"}}
        upstream: {local: "http://localhost:1/api"}
        answer: stdout
        """)
      _ = try await Self.run(
        ["record", "agent.yaml", "What is it?", "--out", "log.jsonl.gz"], in: folder,
        environment: ["KEPT": "kept"])
      let events = try await Self.events(of: "log.jsonl.gz", in: folder)
      let trimmed = expected.trimmingCharacters(in: .whitespaces)
      #expect(events.last?["data"]?["answer"]?.stringValue == trimmed)
    }

    @Test("a command that takes too long is ended with all that it started")
    func timeLimit() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.sh", "sleep 300 & echo $! > pid; sleep 300")
      try folder.write(
        "cases/case.yaml",
        """
        caseId: slow
        input: x
        agent: {command: [/bin/sh, agent.sh], cwd: .., timeoutSeconds: 1}
        expected: {stopReason: budget_exhausted}
        """)
      let run = try await Self.run(["run", "--live", "cases", "--out", "runs"], in: folder)
      #expect(run.output.contains("pass"))
      let text = String(decoding: try folder.read("pid"), as: UTF8.self)
      let pid = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      #expect(await eventually { !Processes.isAlive(pid) })
    }

    @Test(
      "what keeps a command from being judged is an error that says so",
      arguments: [
        ("{command: [no-such-program-here]}", "no-such-program-here"),
        ("{command: [/bin/sh], cwd: nowhere}", "nowhere"),
      ])
    func faults(agent: String, words: String) async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "cases/case.yaml",
        "{caseId: a, input: x, agent: \(agent), expected: {stopReason: success}}")
      let run = try await Self.run(["run", "--live", "cases"], in: folder, status: 2)
      #expect(run.output.contains("cannot start") && run.output.contains(words), "\(run)")
      // Without --live nothing is started.
      let dry = try await Self.run(["run", "cases"], in: folder, status: 2)
      #expect(dry.output.contains("--live"), "\(dry)")
    }

    @Test("record --proxy --name CASEID is found by run --runs, wherever the log lies")
    func named() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      let server = try Self.provider()
      for out in ["runs", "runs/deep/log.jsonl.gz"] {
        _ = try await Self.run(
          [
            "record", "--proxy", "--out", out, "--name", "colour", "--", "python3", "agent.py",
            "What?",
          ], in: folder, server)
      }
      try folder.write("case.yaml", "{caseId: colour, expected: {answer: It is blue.}}")
      let run = try await Self.run(["run", "case.yaml", "--runs", "runs", "--json"], in: folder)
      let trials = try JSONValue(parsing: run.outputBytes)["cases"]?[0]?["trials"]?.arrayValue
      #expect(trials?.count == 2, "\(run)")
    }

    @Test("a command that fails stops as such, and its last words are shown")
    func failing() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.yaml", #"{command: [/bin/sh, "-c", "echo lost my way >&2; exit 3"]}"#)
      let run = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, status: 1)
      #expect(run.errors.contains("lost my way"))
      let events = try await Self.events(of: "log.jsonl.gz", in: folder)
      #expect(events.last?["data"]?["reason"] == "tool_failure")
      #expect(events.last?["data"]?["detail"] == "exit:3")
    }

    @Test("a case whose command fails says what that wrote last, without its secrets")
    func lastWords() async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.sh",
        #"""
        echo "reads agent.cfg" >&2
        echo "KeyError: MODEL, with key $OPENAI_API_KEY" >&2
        echo "    at load (agent.js:3:9)" >&2
        exit ${1:-0}
        """#)
      for (exit, expected, isTold) in [
        ("1", "blocked", true), ("0", "blocked", false), ("1", "tool_failure", false),
      ] {
        try folder.write(
          "cases/case.yaml",
          """
          caseId: a
          input: x
          agent:
            command: [/bin/sh, agent.sh, "\(exit)"]
            cwd: ..
            environment: {pass: [OPENAI_API_KEY]}
          expected: {stopReason: \(expected)}
          """)
        let run = try await Self.run(
          ["run", "--live", "cases"], in: folder, status: expected == "blocked" ? 1 : 0)
        #expect(run.output.contains("reads agent.cfg | KeyError: MODEL") == isTold, "\(run)")
        #expect(!run.output.contains("averyverysecret") && !run.output.contains("at load"))
      }
    }

    @Test("the page about commands runs as it stands")
    func page() async throws {
      let folder = try TemporaryFolder()
      try folder.link("bin/agent-eval", to: Binary.path)
      let server = try FakeServer { request, reply in
        let wish =
          request.text.contains("Tidy up") ? ["list_notes", "delete_note"] : ["list_notes"]
        reply.finish(
          body: request.text.contains("tool_call_id")
            ? Self.answer("The tax note says Friday.") : Self.call(wish))
      }
      let document = try #require(
        try Document.all().first { "\($0)".hasSuffix("command-agents.md") })
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      var count = 0
      for block in document.blocks {
        if block.language != "console", let first = block.lines.first, first.hasPrefix("# ") {
          try folder.write(
            String(first.dropFirst(2)), block.lines.dropFirst().joined(separator: "\n") + "\n")
        }
        for step in block.language == "console" ? Example(block).steps : [] {
          count += 1
          let outcome = try await Command(
            program: "/bin/bash", arguments: ["-c", "exec 2>&1\n\(step.command)"],
            folder: folder.path,
            environment: [
              "PATH": "\(folder.path("bin")):\(path)", "OPENAI_API_KEY": Self.key,
              "OPENAI_BASE_URL": "\(server.url)/v1",
            ]
          ).run(status: nil)
          var (printed, expected) = (outcome.lines.map { $0.trimmingSuffix(" ") }, step.expected)
          while printed.last == "" { printed.removeLast() }
          while expected.last == "" { expected.removeLast() }
          #expect(
            Example.matches(printed, expected),
            "\(document):\(step.line): $ \(step.command)\n\(outcome)")
        }
      }
      #expect(count >= 3)
    }
  }

  extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
      var text = self
      while text.last == character { text.removeLast() }
      return text
    }
  }
#endif
