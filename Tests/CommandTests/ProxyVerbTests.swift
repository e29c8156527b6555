import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing
import TraceStorage

#if Live
  @Suite("record --proxy")
  struct ProxyVerbTests {
    private static let answer =
      #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#
    private static let call =
      #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#

    /// A provider that has a call made and then answers.
    private static func provider() throws -> FakeServer {
      try FakeServer { request, reply in
        reply.finish(body: request.text.contains("tool_call_id") ? answer : call)
      }
    }

    /// An agent in ten lines of shell, with nothing but curl: `$1` is what it is asked.
    private static let agent = #"""
      ask() {
        curl -sS --max-time 20 -H "Authorization: Bearer $OPENAI_API_KEY" \
          -H 'Content-Type: application/json' -d "$1" "$OPENAI_BASE_URL/chat/completions"
      }
      tools='[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]'
      asked="{\"role\":\"user\",\"content\":\"$1\"}"
      first=$(ask "{\"model\":\"m\",\"tools\":$tools,\"messages\":[$asked]}") || exit 7
      case $first in *tool_calls*) ;; *) echo "$first" >&2; exit 8 ;; esac
      said='{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}'
      seen="{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"${2:-blue}\"}"
      ask "{\"model\":\"m\",\"tools\":$tools,\"messages\":[$asked,$said,$seen]}"
      """#

    private static let key = "sk-proj-veryverysecretkey0123456789"

    private func proxy(
      _ folder: TemporaryFolder, _ options: [String], _ command: [String],
      environment: [String: String] = [:], status: Int32? = 0
    ) async throws -> Command.Outcome {
      try await Binary.run(
        ["record", "--proxy"] + options + ["--"] + command, in: folder.path,
        environment: ["OPENAI_API_KEY": Self.key].merging(environment) { $1 }, status: status)
    }

    static func hasCurl() async -> Bool { (try? await shell("command -v curl")) != nil }
    static func hasBashAndCurl() async -> Bool {
      (try? await shell("command -v bash && command -v curl")) != nil
    }

    @Test(
      "any agent is recorded, judged by cases, and answered again without provider and key",
      .enabled("needs curl") { await ProxyVerbTests.hasCurl() })
    func recordedAndReplayed() async throws {
      let folder = try TemporaryFolder()
      let agent = try folder.script("agent.sh", Self.agent)
      let server = try Self.provider()
      let recorded = try await proxy(
        folder, ["--out", "log.jsonl.gz", "--name", "looker"], [agent, "What colour?"],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      #expect(recorded.output.hasSuffix(Self.answer))
      #expect(recorded.errors.contains("recorded log.jsonl.gz"))
      #expect(server.requests.allSatisfy { $0.header("authorization") == "Bearer \(Self.key)" })
      server.stop()
      // The log is a run like any other.
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
      let shown = try await Binary.run(["show", "log.jsonl.gz"], in: folder.path)
      for words in ["agent looker", "goal       What colour?", "look", "Fine.", "success (exit:0)"]
      {
        #expect(shown.output.contains(words), "\(words)")
      }
      let text = try await Binary.run(["show", "log.jsonl.gz", "--json"], in: folder.path)
      #expect(!text.output.contains("verysecret"))
      let listed = try await Binary.run(["list", "."], in: folder.path)
      #expect(listed.output.contains("looker"))
      let step = try await Binary.run(
        ["replay", "log.jsonl.gz", "--step", "1", "--json"], in: folder.path)
      #expect(step.output.contains("look"))
      try folder.write(
        "cases/case.yaml",
        """
        caseId: looks
        recording: ../log.jsonl.gz
        expected:
          stopReason: success
          toolsCalled: [{tool: look, result: blue, times: 1}]
          toolsNotCalled: [delete]
          answer: Fine.
          maxSteps: 2
          time: [{expect: {returned: look}, before: {answer: {$any: true}}}]
        """)
      try await Binary.run(["run", "cases"], in: folder.path)
      // It says what it cannot be used for.
      let again = try await Binary.run(
        ["replay", "log.jsonl.gz", "--reexecute"], in: folder.path, status: 2)
      #expect(again.errors.contains("record --proxy --replay"))
      // And again without anybody.
      let replayed = try await proxy(
        folder, ["--replay", "log.jsonl.gz"], [agent, "What colour?"],
        environment: ["OPENAI_API_KEY": "", "OPENAI_BASE_URL": "\(server.url)/v1"])
      #expect(replayed.output == recorded.output)
      #expect(replayed.errors.contains("faithful, 2 requests"))
    }

    @Test(
      "another prompt, another result and a call left out are told where they are",
      .enabled("needs curl") { await ProxyVerbTests.hasCurl() })
    func diverged() async throws {
      let folder = try TemporaryFolder()
      let agent = try folder.script("agent.sh", Self.agent)
      let server = try Self.provider()
      _ = try await proxy(
        folder, ["--out", "log.jsonl.gz"], [agent, "What colour?"],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      server.stop()
      let prompt = try await proxy(
        folder, ["--replay", "log.jsonl.gz"], [agent, "Which colour?"], status: 1)
      #expect(prompt.errors.contains("diverged") && prompt.errors.contains("step 1"))
      #expect(prompt.errors.contains("/messages/0/content/0/text"))
      #expect(prompt.errors.contains("What colour?") && prompt.errors.contains("Which colour?"))
      // The client was told, too.
      #expect(prompt.errors.contains("the recording holds no reply to this request"))
      let result = try await proxy(
        folder, ["--replay", "log.jsonl.gz"], [agent, "What colour?", "red"], status: 1)
      #expect(
        result.errors.contains("step 2") && result.errors.contains("/messages/2/content/0/data"))
      let silent = try await proxy(folder, ["--replay", "log.jsonl.gz"], ["true"], status: 1)
      #expect(silent.errors.contains("2 replies that nobody asked for"))
      // What no proxy recorded cannot answer.
      let other = try await proxy(
        folder, ["--replay", Fixture.run("refund-drafted")], ["true"], status: 2)
      #expect(other.errors.contains("was not recorded by `record --proxy`"))
    }

    @Test(
      "a command whose log cannot be made is not started, and one that cannot start leaves none")
    func noPlaceForTheLog() async throws {
      let folder = try TemporaryFolder()
      try folder.write("log.jsonl.gz", "there already")
      for (out, words) in [
        ("log.jsonl.gz", "a log of this name is there already"),
        ("log.jsonl.gz/below", "Not a directory"),
      ] {
        let refused = try await proxy(folder, ["--out", out], ["touch", "started"], status: 2)
        #expect(refused.errors.contains(words), "\(refused.errors)")
      }
      #expect(!FileManager.default.fileExists(atPath: folder.path("started")))
      _ = try await proxy(folder, ["--out", "made"], ["no-such-program-anywhere"], status: 2)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("made")).isEmpty)
    }

    @Test(
      "a call that nobody told the model of again may have been made: forbidding it proves nothing",
      .enabled("needs curl") { await ProxyVerbTests.hasCurl() })
    func lastCall() async throws {
      let folder = try TemporaryFolder()
      let server = try Self.provider()
      let body = #"{"model":"m","messages":[{"role":"user","content":"go"}]}"#
      _ = try await proxy(
        folder, ["--out", "log.jsonl.gz"],
        ["/bin/sh", "-c", "curl -sS -d '\(body)' $OPENAI_BASE_URL/chat/completions >/dev/null"],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      for (expected, status) in [
        ("toolsNotCalled: [look]", 3), ("toolsCalled: [look]", 3), ("toolsProposed: [look]", 0),
        ("toolsNotCalled: [other]", 0),
      ] as [(String, Int32)] {
        try folder.write(
          "case.yaml", "{caseId: a, recording: log.jsonl.gz, expected: {\(expected)}}")
        try await Binary.run(["run", "case.yaml"], in: folder.path, status: status)
      }
    }

    @Test(
      "the command's own exit code is passed on, and says why the run stopped",
      arguments: [
        ("exit 0", 0, "success", "exit:0"), ("exit 3", 3, "tool_failure", "exit:3"),
        ("kill -9 $$", 137, "tool_failure", "signal:SIGKILL"),
      ] as [(String, Int32, String, String)])
    func exitCodes(script: String, status: Int32, reason: String, detail: String) async throws {
      let folder = try TemporaryFolder()
      let outcome = try await proxy(
        folder, ["--out", "log.jsonl.gz"], ["/bin/sh", "-c", "echo out; echo err >&2; \(script)"],
        status: status)
      #expect(outcome.output == "out\n" && outcome.errors.hasPrefix("err\n"))
      let events = try await Binary.run(["show", "log.jsonl.gz", "--json"], in: folder.path)
        .jsonLines()
      let stop = events.first { $0["type"] == "stop" }?["data"]
      #expect(stop?["reason"]?.stringValue == reason && stop?["detail"]?.stringValue == detail)
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
    }

    @Test("a command has its input, and variables that lead to the proxy and past any other")
    func variables() async throws {
      let folder = try TemporaryFolder()
      let outcome = try await Binary.run(
        [
          "record", "--proxy", "--out", "log.jsonl.gz", "--upstream",
          "my-groq=https://h.example/o/v1",
          "--", "/bin/sh", "-c", "cat; env | sort",
        ], in: folder.path, environment: ["NO_PROXY": "corp"], input: Array("in\n".utf8))
      #expect(outcome.lines.first == "in")
      for line in ["NO_PROXY=corp,127.0.0.1,localhost", "no_proxy="] {
        #expect(outcome.lines.contains { $0.hasPrefix(line) }, "\(line)")
      }
      for (name, path) in [
        ("OPENAI_BASE_URL", "/openai/v1"), ("OPENAI_API_BASE", "/openai/v1"),
        ("ANTHROPIC_BASE_URL", "/anthropic"), ("MY_GROQ_BASE_URL", "/my-groq/o/v1"),
      ] {
        #expect(
          outcome.lines.contains {
            $0.hasPrefix("\(name)=http://127.0.0.1:") && $0.hasSuffix(path)
          },
          "\(name)")
      }
    }

    @Test(
      "a signal reaches the command, whose end is waited for and recorded; a second one ends at once",
      arguments: [1, 2])
    func signals(count: Int) async throws {
      let folder = try TemporaryFolder()
      let script =
        count == 1
        ? "trap 'echo bye; exit 5' TERM; touch begun; while :; do sleep 0.05; done"
        : "trap '' TERM; touch begun; while :; do sleep 0.05; done"
      let outcome = try await shell(
        """
        "$0" record --proxy --out log.jsonl.gz -- /bin/sh -c "$1" & proxy=$!
        while [ ! -e begun ]; do sleep 0.02; done
        kill -TERM $proxy
        [ "$2" = 1 ] || { sleep 0.5; kill -TERM $proxy; }
        wait $proxy; echo "exit $?"
        """, [script, "\(count)"], in: folder.path, timeoutSeconds: 30)
      #expect(outcome.output.contains("exit 143"), "\(outcome)")
      if count == 1 {
        #expect(outcome.output.contains("bye"))
        let events = try await Binary.run(["show", "log.jsonl.gz", "--json"], in: folder.path)
          .jsonLines()
        let stop = events.first { $0["type"] == "stop" }?["data"]
        #expect(stop?["reason"] == "cancelled" && stop?["detail"] == "signal:SIGTERM")
      }
      // Nothing of the command is left.
      let left = try await shell("pgrep -f 'touch begu[n]' || true", in: folder.path)
      #expect(left.output.isEmpty || !left.output.contains("\(folder.path)"))
    }

    @Test(
      "a recorder that is killed outright leaves what was replied, also where no tool shows who the agent is",
      .enabled("needs curl") { await ProxyVerbTests.hasCurl() })
    func killedEarly() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { _, reply in reply.finish(body: Self.answer) }
      let body = #"{"model":"m","messages":[{"role":"user","content":"go"}]}"#
      let script = "curl -sS -d '\(body)' $OPENAI_BASE_URL/chat/completions; touch asked; sleep 60"
      let outcome = try await shell(
        """
        OPENAI_BASE_URL="$2" "$0" record --proxy --out log.jsonl.gz -- /bin/sh -c "$1" >/dev/null & proxy=$!
        while [ ! -e asked ]; do sleep 0.02; done
        sleep 1; kill -KILL $proxy; wait $proxy; echo "exit $?"
        """, [script, "\(server.url)/v1"], in: folder.path, timeoutSeconds: 30)
      #expect(outcome.output.contains("exit 137"), "\(outcome)")
      let events = try await Binary.run(["show", "log.jsonl.gz.open", "--json"], in: folder.path)
        .jsonLines()
      #expect(events.first?["data"]?["goal"] == "go")
      #expect(
        events.contains { $0["type"] == "decision" } && !events.contains { $0["type"] == "stop" })
    }

    @Test("a command that is not there is said so, and leaves no log")
    func notThere() async throws {
      let folder = try TemporaryFolder()
      let outcome = try await proxy(
        folder, ["--out", "log.jsonl.gz"], ["/no/such/agent"], status: 2)
      #expect(outcome.errors.contains("/no/such/agent could not be started"))
      #expect(folder.listing.isEmpty)
    }

    @Test(
      "options that do not go together are refused",
      arguments: [
        ["record", "--proxy"], ["record", "--proxy", "a.yaml", "--", "true"],
        ["record", "a.yaml", "--", "true"], ["record", "a.yaml", "--upstream", "a=http://h"],
        ["record", "--replay", "log", "a.yaml"],
        ["record", "--proxy", "--seed", "1", "--", "true"],
        ["record", "--proxy", "--replay", "l", "--out", "o", "--", "true"],
        ["record", "--proxy", "--upstream", "nonsense", "--", "true"], ["record"],
      ])
    func usage(arguments: [String]) async throws {
      try await Binary.run(arguments, status: 64)
    }

    @Test("what was not seen is told at the end, and can be made a failure")
    func unseen() async throws {
      let folder = try TemporaryFolder()
      let told = try await proxy(folder, ["--out", "log.jsonl.gz"], ["true"])
      #expect(told.errors.contains("warning: not seen: the command asked no model"))
      #expect(told.errors.contains("cannot be verified by this recording"))
      _ = try await proxy(
        folder, ["--out", "again.jsonl.gz", "--require-complete"], ["true"], status: 1)
      // A command that fails by itself fails as it did.
      _ = try await proxy(
        folder, ["--out", "other.jsonl.gz", "--require-complete"], ["sh", "-c", "exit 5"], status: 5
      )
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
      let shown = try await Binary.run(["show", "log.jsonl.gz"], in: folder.path)
      #expect(shown.output.contains("unseen") && shown.output.contains("calls partial"))
      for (expected, status) in [
        ("toolsNotCalled: [pay]", 3), ("toolsNotProposed: [pay]", 3), ("maxToolCalls: 0", 3),
        ("budget: {modelCalls: 0}", 3), ("stopReason: success", 0),
      ] as [(String, Int32)] {
        try folder.write(
          "cases/case.yaml",
          "caseId: c\nrecording: ../log.jsonl.gz\nexpected: {\(expected)}\n")
        try await Binary.run(["run", "cases"], in: folder.path, status: status)
      }
    }

    @Test(
      "connections past the proxy are noted, and change nothing else",
      .enabled("needs bash and curl") { await ProxyVerbTests.hasBashAndCurl() })
    func connections() async throws {
      let folder = try TemporaryFolder()
      let agent = try folder.script("agent.sh", Self.agent)
      let (server, other) = (try Self.provider(), try FakeServer { _ = $1.wait(seconds: 5) })
      let port = try #require(other.url.split(separator: ":").last)
      let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); sleep 1; \(agent) What"
      let found = try await proxy(
        folder, ["--out", "log.jsonl.gz", "--require-complete"], ["bash", "-c", script],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      #expect(found.errors.contains("note: the command had connections past the proxy"))
      #expect(found.errors.contains("127.0.0.1:\(port)"))
      #expect(!found.errors.contains("warning"))
    }

    @Test(
      "a connection to the provider past the proxy, and a request that the end cut off, may have held calls",
      .enabled("needs bash and curl") { await ProxyVerbTests.hasBashAndCurl() })
    func notSeen() async throws {
      let folder = try TemporaryFolder()
      let agent = try folder.script("agent.sh", Self.agent)
      let server = try FakeServer { request, reply in
        if request.text.contains("slow") { _ = reply.wait(seconds: 4) }
        reply.finish(body: request.text.contains("tool_call_id") ? Self.answer : Self.call)
      }
      let port = try #require(server.url.split(separator: ":").last)
      let body = #"{"model":"m","messages":[{"role":"user","content":"slow"}]}"#
      for (name, script, words) in [
        (
          "past", "exec 3<>/dev/tcp/127.0.0.1/\(port); sleep 1; \(agent) What",
          "connections to a provider of models past the proxy"
        ),
        (
          "late",
          """
          \(agent) What; (curl -sS -d '\(body)' "$OPENAI_BASE_URL/chat/completions" >late 2>&1 </dev/null &)
          sleep 1
          """, "the recording ended before there was a reply"
        ),
      ] {
        let told = try await proxy(
          folder, ["--out", "\(name).jsonl.gz", "--require-complete"], ["bash", "-c", script],
          environment: ["OPENAI_BASE_URL": "\(server.url)/v1"], status: 1)
        #expect(
          told.errors.contains("warning: not seen: ") && told.errors.contains(words), "\(told)")
        try folder.write(
          "cases/\(name).yaml",
          "caseId: \(name)\nrecording: ../\(name).jsonl.gz\nexpected: {toolsNotCalled: [pay]}\n")
        try await Binary.run(["run", "cases/\(name).yaml"], in: folder.path, status: 3)
      }
    }

    @Test(
      "with --isolate nothing but the proxy can be reached, and where the system refuses that, it is said",
      .enabled("needs python3") { await hasPython() })
    func isolated() async throws {
      let folder = try TemporaryFolder()
      let (server, other) = (try Self.provider(), try FakeServer { $1.finish(body: "{}") })
      let port = try #require(other.url.split(separator: ":").last)
      try folder.write(
        "agent.py",
        """
        import json, os, socket, sys, urllib.parse, urllib.request
        try:
            socket.create_connection(("127.0.0.1", \(port)), 5)
            print("reached")
        except OSError as error: print("not reached:", error)
        body = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        print(len(urllib.request.urlopen(request).read()) > 0, os.getuid(), open("agent.py").read()[:6])
        # A client that sends nothing more, and waits.
        url, text = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"]), json.dumps(body)
        half = socket.create_connection((url.hostname, url.port))
        half.sendall(
            f"POST {url.path}/chat/completions HTTP/1.1\\r\\nHost: {url.netloc}\\r\\n"
            f"Content-Length: {len(text)}\\r\\n\\r\\n{text}".encode())
        half.shutdown(socket.SHUT_WR)
        print(half.makefile("rb").read()[:12])
        """)
      let plain = try await proxy(
        folder, ["--out", "plain.jsonl.gz"], ["python3", "agent.py"],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      #expect(plain.output.hasPrefix("reached\nTrue") && plain.output.contains("HTTP/1.1 200"))
      let asked = server.requests.count
      let told = try await proxy(
        folder, ["--isolate", "--out", "log.jsonl.gz"], ["python3", "agent.py"],
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"], status: nil)
      guard told.status == 0 else {
        #expect(told.status == 2 && told.errors.contains("the system refuses a network of its own"))
        #expect(!folder.listing.contains("log.jsonl.gz"))
        return
      }
      #expect(told.output.hasPrefix("not reached: "))
      // All else is as it was.
      #expect(told.output.hasSuffix(plain.output.dropFirst("reached".count)))
      #expect(server.requests.count == asked + 2 && other.requests.isEmpty)
      #expect(!told.errors.contains("past the proxy"))
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
      // As an agent of a file it is the same.
      try folder.write(
        "agent.yaml", "command: [python3, agent.py]\nisolate: true\nanswer: stdout\n")
      let run = try await Binary.run(
        ["record", "agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path,
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      #expect(run.output.contains("not reached: "))
    }

    @Test("a file says whose conversation is the agent's, and what another one is called")
    func namedCallers() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { request, reply in
        reply.finish(body: request.text.contains("look") ? Self.call : Self.answer)
      }
      let agent = try folder.script(
        "agent.sh",
        #"""
        ask() { curl -sS -H 'Content-Type: application/json' -d "$1" "$OPENAI_BASE_URL/chat/completions" > /dev/null; }
        ask '{"model":"m","messages":[{"role":"system","content":"You write."},{"role":"user","content":"go"}]}'
        ask '{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"look"}}]}'
        """#)
      for (main, callers) in [("tool:look", ["writer", nil]), ("You write", [nil, "looker"])] {
        try folder.write(
          "agent.yaml",
          "command: [\(agent)]\nmain: \"\(main)\"\ncallers: {writer: You write, looker: \"tool:look\"}\n"
        )
        let log = "\(main == "You write" ? 1 : 2).jsonl.gz"
        try await Binary.run(
          ["record", "agent.yaml", "go", "--out", log], in: folder.path,
          environment: ["OPENAI_BASE_URL": "\(server.url)/v1"], status: nil)
        let decisions = try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()
          .filter { $0["type"] == "decision" && $0["data"]?["kind"] != "stop" }
        #expect(decisions.map { $0["data"]?["caller"]?.stringValue } == callers, "\(main)")
      }
    }

    @Test("an agent that answers by a call has its answer from there, by a case and a file alike")
    func answerFrom() async throws {
      let folder = try TemporaryFolder()
      let call = Self.call.replacing("look", with: "final_answer")
        .replacing(#""arguments":"{}""#, with: #""arguments":"{\"answer\":\"blue\"}""#)
      let server = try FakeServer { $1.finish(body: call) }
      let agent = try folder.script(
        "agent.sh",
        #"""
        curl -sS -H 'Content-Type: application/json' -d '{"model":"m","messages":[{"role":"user","content":"go"}]}' \
          "$OPENAI_BASE_URL/chat/completions" > /dev/null
        """#)
      try folder.write(
        "cases/case.yaml",
        """
        caseId: c
        input: go
        agent:
          command: [\(agent)]
          answerFrom: {tool: final_answer, path: /answer}
        expected: {stopReason: success, answer: blue, toolsProposed: [final_answer]}
        """)
      try await Binary.run(
        ["run", "--live", "cases"], in: folder.path,
        environment: ["OPENAI_BASE_URL": "\(server.url)/v1"])
      try folder.write(
        "cases/case.yaml",
        """
        caseId: c
        input: go
        agent:
          command: [\(agent)]
          answer: stdout
          answerFrom: {tool: final_answer}
        expected: {stopReason: success}
        """)
      let told = try await Binary.run(["check", "cases"], in: folder.path, status: nil)
      #expect((told.output + told.errors).contains("answerFrom"))
    }
  }
#endif
