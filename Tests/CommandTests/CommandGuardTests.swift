import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing

#if Live
  @Suite("Policies and limits of commands", .enabled("needs python3") { await hasPython() })
  struct CommandGuardTests {
    /// Runs what its model asks for, in the dialect of its first argument, streamed or not, and keeps a note
    /// of each call that reached it.
    private static let agent = #"""
      import gzip, json, os, struct, subprocess, sys, time, urllib.request, urllib.error
      dialect, streams = sys.argv[1], sys.argv[2] == "stream"
      base = os.environ[{"anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL", "ollama": "OLLAMA_HOST", "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"}.get(dialect, "OPENAI_BASE_URL")]
      path = {"openai": "/chat/completions", "anthropic": "/v1/messages", "openai-responses": "/responses", "ollama": "/api/chat",
              "bedrock": "/model/m-large/converse" + ("-stream" if streams else ""),
              "gemini": "/v1beta/models/m-large:" + ("streamGenerateContent?alt=sse" if streams else "generateContent")}
      def frames(data):
          while data:
              total, head = struct.unpack(">II", data[:8])
              yield json.loads(data[12 + head:total - 4])
              data = data[total:]
      def ask(messages):
          body = {"model": "m-large", "stream": streams, "max_tokens": 9}
          body["input" if dialect == "openai-responses" else "messages"] = messages
          if dialect == "gemini": body = {"contents": [{"role": "user", "parts": [{"text": m["content"]}]} for m in messages]}
          if dialect == "bedrock": body = {"messages": [{"role": "user", "content": [{"text": m["content"]}]} for m in messages]}
          request = urllib.request.Request(base + path[dialect], json.dumps(body).encode(),
                                           {"Content-Type": "application/json"})
          try:
              with urllib.request.urlopen(request) as reply: data, form = reply.read(), reply.headers.get("Content-Encoding")
              if form == "gzip": data = gzip.decompress(data)
          except urllib.error.HTTPError as error:
              print("status", error.code, error.headers.get("x-should-retry"), error.read().decode())
              sys.exit(int(os.environ.get("REFUSED_EXIT", "0")))
          if dialect == "bedrock" and streams: return list(frames(data))
          text = data.decode()
          if not streams: return json.loads(text)
          if dialect == "ollama": return [json.loads(line) for line in text.split("\n") if line]
          return [json.loads(line[6:]) for line in text.split("\n")
                  if line.startswith("data: ") and line != "data: [DONE]"]
      def calls(reply):
          if dialect == "openai":
              if not streams: return [c["function"]["name"] for c in reply["choices"][0]["message"].get("tool_calls", [])]
              return [c["function"]["name"] for e in reply for c in e["choices"][0]["delta"].get("tool_calls", []) if c["function"].get("name")]
          if dialect == "anthropic":
              blocks = [e["content_block"] for e in reply if e["type"] == "content_block_start"] if streams else reply["content"]
              return [b["name"] for b in blocks if b["type"] == "tool_use"]
          if dialect == "ollama":
              return [c["function"]["name"] for e in (reply if streams else [reply]) for c in e["message"].get("tool_calls", [])]
          if dialect == "gemini":
              parts = [p for e in (reply if streams else [reply]) for p in e["candidates"][0]["content"]["parts"]]
              return [p["functionCall"]["name"] for p in parts if "functionCall" in p]
          if dialect == "bedrock":
              blocks = [e["start"] for e in reply if "start" in e] if streams else reply["output"]["message"]["content"]
              return [b["toolUse"]["name"] for b in blocks if "toolUse" in b]
          items = reply[-1]["response"]["output"] if streams else reply["output"]
          return [i["name"] for i in items if i["type"] == "function_call"]
      if "SPAWN" in os.environ:
          # One that leaves the session, and lives for a while whatever happens.
          subprocess.Popen([sys.executable, "-c", "import os, time; open('child', 'w').write(str(os.getpid()) + ' '); time.sleep(30)"], start_new_session=True)
          while not os.path.exists("child") or not open("child").read(): time.sleep(0.01)
      messages = [{"role": "user", "content": sys.stdin.read()}]
      for turn in range(int(os.environ.get("TURNS", "1"))):
          reply = ask(messages)
          for name in calls(reply):
              with open("calls", "a") as file: file.write(name + "\n")
          messages = [{"role": "user", "content": "go on %d" % turn}]
      print("done")
      """#

    private static func json(_ value: JSONValue) -> String {
      CanonicalJSON.string(value, form: .plain)
    }

    /// A reply with calls of these tools, in any dialect.
    private static func reply(
      _ dialect: String, _ streams: Bool, _ names: [String], input: JSONValue = [:]
    ) -> (type: String, body: [UInt8]) {
      guard dialect == "bedrock" else {
        let (type, body) = text(dialect, streams, names, input)
        return (type, Array(body.utf8))
      }
      func call(_ index: Int, _ input: JSONValue?) -> JSONValue {
        var call: JSONObject = [
          "toolUseId": .string("c\(index)"), "name": .string(names[index]),
        ]
        call["input"] = input
        return ["toolUse": .object(call)]
      }
      guard streams else {
        let message: JSONValue = [
          "role": "assistant", "content": .array(names.indices.map { call($0, input) }),
        ]
        let body = json(["output": ["message": message], "stopReason": "tool_use"])
        return ("application/json", Array(body.utf8))
      }
      var frames = [EventFrames.event("messageStart", ["role": "assistant"])]
      for index in names.indices {
        let place = JSONValue(index)
        let delta: JSONValue = ["toolUse": ["input": .string(json(input))]]
        frames += [
          EventFrames.event(
            "contentBlockStart", ["contentBlockIndex": place, "start": call(index, nil)]),
          EventFrames.event("contentBlockDelta", ["contentBlockIndex": place, "delta": delta]),
          EventFrames.event("contentBlockStop", ["contentBlockIndex": place]),
        ]
      }
      frames.append(EventFrames.event("messageStop", ["stopReason": "tool_use"]))
      frames.append(EventFrames.event("metadata", ["usage": ["inputTokens": 1]]))
      return ("application/vnd.amazon.eventstream", Array(frames.joined()))
    }

    private static func text(
      _ dialect: String, _ streams: Bool, _ names: [String], _ input: JSONValue
    ) -> (type: String, body: String) {
      func events(_ values: [JSONValue]) -> (String, String) {
        let texts = values.map { value in
          "event: \(value["type"]?.stringValue ?? "message")\ndata: \(json(value))\n\n"
        }
        return ("text/event-stream", texts.joined())
      }
      let arguments = JSONValue.string(json(input))
      switch dialect {
      case "openai":
        let calls: [JSONValue] = names.enumerated().map { index, name in
          [
            "index": JSONValue(index), "id": .string("c\(index)"), "type": "function",
            "function": ["name": .string(name), "arguments": arguments],
          ]
        }
        let message: JSONValue = [
          "role": "assistant", "content": "Well.", "tool_calls": .array(calls),
        ]
        let usage: JSONValue = ["prompt_tokens": 1_000_000, "completion_tokens": 0]
        if streams {
          return events([
            ["model": "m-large", "choices": [["index": 0, "delta": message]]],
            [
              "choices": [["index": 0, "delta": [:], "finish_reason": "tool_calls"]],
              "usage": usage,
            ],
          ])
        }
        return (
          "application/json",
          json([
            "model": "m-large", "usage": usage,
            "choices": [["index": 0, "message": message, "finish_reason": "tool_calls"]],
          ])
        )
      case "anthropic":
        let blocks: [JSONValue] = names.enumerated().map { index, name in
          ["type": "tool_use", "id": .string("c\(index)"), "name": .string(name), "input": input]
        }
        if streams {
          let start: JSONValue = ["model": "m-large", "content": []]
          var all: [JSONValue] = [["type": "message_start", "message": start]]
          for (index, block) in blocks.enumerated() {
            let place = JSONValue(index)
            all.append(["type": "content_block_start", "index": place, "content_block": block])
            all.append(["type": "content_block_stop", "index": place])
          }
          let delta: JSONValue = ["stop_reason": "tool_use"]
          all.append(["type": "message_delta", "delta": delta])
          all.append(["type": "message_stop"])
          return events(all)
        }
        return (
          "application/json",
          json([
            "type": "message", "role": "assistant", "model": "m-large", "content": .array(blocks),
            "stop_reason": "tool_use",
          ])
        )
      case "gemini":
        let parts: [JSONValue] = names.map {
          ["functionCall": ["name": .string($0), "args": input]]
        }
        func piece(_ parts: [JSONValue], _ finish: JSONValue?) -> JSONValue {
          var candidate: JSONObject = [
            "content": ["role": "model", "parts": .array(parts)], "index": 0,
          ]
          candidate["finishReason"] = finish
          return ["candidates": [.object(candidate)], "modelVersion": "m-large"]
        }
        if streams {
          let texts = (parts.map { piece([$0], nil) } + [piece([], "STOP")]).map {
            "data: \(json($0))\n\n"
          }
          return ("text/event-stream", texts.joined())
        }
        return ("application/json", json(piece(parts, "STOP")))
      case "ollama":
        let calls: [JSONValue] = names.map {
          ["function": ["name": .string($0), "arguments": input]]
        }
        func line(_ calls: [JSONValue], _ isDone: Bool) -> String {
          var line: JSONObject = [
            "model": "m-large", "done": .bool(isDone),
            "message": ["role": "assistant", "content": "", "tool_calls": .array(calls)],
          ]
          if isDone { line["done_reason"] = "stop" }
          return json(.object(line))
        }
        if streams {
          let lines = calls.map { line([$0], false) } + [line([], true)]
          return ("application/x-ndjson", lines.map { "\($0)\n" }.joined())
        }
        return ("application/json", line(calls, true))
      default:
        let items: [JSONValue] = names.enumerated().map { index, name in
          [
            "type": "function_call", "id": .string("f\(index)"), "call_id": .string("c\(index)"),
            "name": .string(name), "arguments": arguments,
          ]
        }
        let response: JSONValue = [
          "id": "r", "model": "m-large", "status": "completed", "output": .array(items),
        ]
        if streams {
          var all: [JSONValue] = []
          for (index, item) in items.enumerated() {
            let place = JSONValue(index)
            for word in ["added", "done"] {
              let type = JSONValue.string("response.output_item.\(word)")
              all.append(["type": type, "output_index": place, "item": item])
            }
          }
          all.append(["type": "response.completed", "response": response])
          return events(all)
        }
        return ("application/json", json(response))
      }
    }

    private static func dialect(of target: String) -> String {
      if target.contains(":generateContent") || target.contains(":streamGenerateContent") {
        return "gemini"
      }
      if target.hasSuffix("/api/chat") { return "ollama" }
      if target.hasPrefix("/model/") { return "bedrock" }
      return target.hasSuffix("/messages")
        ? "anthropic" : target.hasSuffix("/responses") ? "openai-responses" : "openai"
    }

    /// A provider whose model wants to have these tools called, each time.
    private static func provider(_ names: [String]) throws -> FakeServer {
      try FakeServer { request, reply in
        let (type, body) = Self.reply(
          dialect(of: request.target),
          request.text.contains(#""stream": true"#)
            || request.target.contains(":streamGenerateContent")
            || request.target.hasSuffix("/converse-stream"), names)
        reply.finish(type: type, body: body)
      }
    }

    private static func run(
      _ arguments: [String], in folder: TemporaryFolder, _ server: FakeServer, status: Int32? = 0
    ) async throws -> Command.Outcome {
      try await Binary.run(
        arguments, in: folder.path,
        environment: [
          "OPENAI_BASE_URL": "\(server.url)/v1", "ANTHROPIC_BASE_URL": server.url,
          "GOOGLE_GEMINI_BASE_URL": server.url, "OLLAMA_HOST": server.url,
          "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url,
        ], status: status)
    }

    private static func events(in folder: TemporaryFolder) async throws -> [JSONValue] {
      try await Binary.run(["show", "log.jsonl.gz", "--json"], in: folder.path).lines
        .map { try JSONValue(parsing: Array($0.utf8)) }.filter { $0["type"] != nil }
    }

    /// What went over the wire; frames, which are no text, stand in a log as bytes.
    private static func body(_ event: JSONValue) -> String {
      let body = event["wire"]?["body"]
      let bytes = body?["$bytes"]?.stringValue.flatMap(Base64.decode)
      return body?.stringValue ?? String(decoding: bytes ?? [], as: UTF8.self)
    }

    private static func calls(in folder: TemporaryFolder) -> [String] {
      guard let bytes = try? folder.read("calls") else { return [] }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func write(_ agent: String, in folder: TemporaryFolder) throws {
      try folder.write("agent.py", Self.agent)
      try folder.write("agent.yaml", agent)
    }

    private static let policy = """
      rules:
        - {id: no wiping, tool: "wipe*", verdict: deny, reason: nothing is wiped here}
        - {id: looking, tool: look, verdict: allow}
      """

    static let ways: [(String, String)] = [
      "openai", "anthropic", "openai-responses", "gemini", "ollama", "bedrock",
    ].flatMap { [($0, "whole"), ($0, "stream")] }

    @Test(
      "a reply that only pauses, or tells of tools of the provider, goes through a policy",
      arguments: ["whole", "stream"])
    func paused(way: String) async throws {
      let folder = try TemporaryFolder()
      try folder.write("policy.yaml", Self.policy)
      try Self.write(
        """
        command: [python3, agent.py, anthropic, \(way)]
        environment: {set: {TURNS: "2"}}
        policy: policy.yaml
        """, in: folder)
      let block: JSONValue = [
        "type": "server_tool_use", "id": "s1", "name": "web_search", "input": ["query": "x"],
      ]
      let server = try FakeServer { request, reply in
        guard request.number == 0 else {
          let (type, body) = Self.reply("anthropic", way == "stream", ["look"])
          reply.finish(type: type, body: body)
          return
        }
        if way == "whole" {
          reply.finish(
            body: Self.json([
              "type": "message", "role": "assistant", "model": "m-large", "content": [block],
              "stop_reason": "pause_turn",
            ]))
          return
        }
        let events: [JSONValue] = [
          ["type": "message_start", "message": ["model": "m-large", "content": []]],
          ["type": "content_block_start", "index": 0, "content_block": block],
          ["type": "content_block_stop", "index": 0],
          ["type": "message_delta", "delta": ["stop_reason": "pause_turn"]],
          ["type": "message_stop"],
        ]
        reply.finish(
          type: "text/event-stream",
          body: events.map {
            "event: \($0["type"]?.stringValue ?? "")\ndata: \(Self.json($0))\n\n"
          }.joined())
      }
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      #expect(Self.calls(in: folder) == ["look"])
      let events = try await Self.events(in: folder)
      #expect(!events.contains { $0["type"] == "unseen" })
      let decisions = events.filter { $0["type"] == "decision" }.compactMap { $0["data"] }
      #expect(decisions.first?["calls"]?[0]?["executedBy"] == "provider")
      #expect(decisions.count == 2)
    }

    @Test(
      "a denied call is taken out of a reply, the others stay, and both versions are recorded",
      arguments: ways)
    func takenOut(dialect: String, way: String) async throws {
      let folder = try TemporaryFolder()
      try folder.write("policy.yaml", Self.policy)
      try Self.write(
        """
        command: [python3, agent.py, \(dialect), \(way)]
        policy: policy.yaml
        """, in: folder)
      let server = try Self.provider(["look", "wipe_disk", "look"])
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      #expect(Self.calls(in: folder) == ["look", "look"])
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
      let events = try await Self.events(in: folder)
      func of(_ type: String) -> [JSONValue] {
        events.filter { $0["type"]?.stringValue == type }.compactMap { $0["data"] }
      }
      #expect(of("policy_decision").map { $0["status"] } == ["allow", "deny", "allow"])
      #expect(of("policy_decision")[1]["ruleId"] == "no wiping")
      #expect(of("tool_result").map { $0["status"] } == ["refused"])
      let change = try #require(of("reply_changed").first)
      #expect(change["removed"]?.arrayValue?.count == 1)
      #expect(Self.body(change).contains("nothing is wiped here"))
      #expect(!Self.body(change).contains("wipe_disk\""))
      #expect(Self.body(of("model_result")[0]).contains("wipe_disk\""))
      #expect(events.first?["data"]?["recorded"]?["policy"] == nil)
      #expect(of("stop").first?["reason"] == "success")
      // The recording is judged, and answers the command with what it was given.
      try folder.write(
        "case.yaml",
        """
        caseId: a
        recording: log.jsonl.gz
        expected:
          toolsProposed: ["wipe_disk"]
          toolsNotCalled: ["wipe*"]
          policy: {given: [{verdict: deny, tool: wipe_disk, rule: no wiping}]}
        """)
      try await Binary.run(["run", "case.yaml"], in: folder.path)
      server.stop()
      try FileManager.default.removeItem(atPath: folder.path("calls"))
      try await Binary.run(
        [
          "record", "--proxy", "--replay", "log.jsonl.gz", "--", "python3", "agent.py", dialect,
          way,
        ],
        in: folder.path, input: Array("x".utf8))
      #expect(Self.calls(in: folder) == ["look", "look"])
    }

    @Test("a rule with onDeny: stop ends the command before it can act", arguments: ways)
    func stopped(dialect: String, way: String) async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, \(dialect), \(way)]
        environment: {set: {TURNS: "3"}}
        policy: {rules: [{id: stop it, tool: wipe, verdict: deny, onDeny: stop}]}
        tools: [{name: look, sideEffect: read}]
        """, in: folder)
      let server = try Self.provider(["look", "wipe"])
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server, status: 1)
      #expect(Self.calls(in: folder) == [])
      #expect(server.requests.count == 1)
      let stop = try #require(try await Self.events(in: folder).last?["data"])
      #expect(stop["reason"] == "policy_denied" && stop["detail"] == "rule:stop it")
    }

    @Test(
      "what a policy kept from a command is kept from it where the recording answers",
      arguments: [
        "{rules: [{id: stop it, tool: wipe, verdict: deny, onDeny: stop}]}",
        "{rules: [{id: ask, tool: wipe, verdict: approval_required}]}",
      ])
    func keptAgain(policy: String) async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        policy: \(policy)
        tools: [{name: look, sideEffect: read}]
        """, in: folder)
      let server = try Self.provider(["wipe"])
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server, status: 1)
      let outcome = try await Binary.run(
        [
          "record", "--proxy", "--replay", "log.jsonl.gz", "--", "python3", "agent.py", "openai",
          "whole",
        ], in: folder.path, input: Array("x".utf8))
      #expect(outcome.output.hasPrefix("status 403 false"), "\(outcome)")
      #expect(Self.calls(in: folder) == [])
    }

    @Test(
      "whatever ends a command but a signal ends all that it started, in whatever session",
      arguments: ["policy", "proxy", "time"])
    func endsAll(by cause: String) async throws {
      let folder = try TemporaryFolder()
      let policy = "{rules: [{id: stop it, tool: wipe, verdict: deny, onDeny: stop}]}"
      try folder.write("policy.yaml", policy)
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        environment: {set: {SPAWN: "1"}}
        timeoutSeconds: \(cause == "time" ? 2 : 60)
        policy: \(policy)
        """, in: folder)
      let server = try FakeServer { request, reply in
        // Where time is to end it, no answer comes.
        if cause == "time" { _ = reply.wait(seconds: 20) }
        let (type, body) = Self.reply("openai", false, ["wipe"])
        reply.finish(type: type, body: body)
      }
      let command =
        cause == "proxy"
        ? [
          "--proxy", "--policy", "policy.yaml", "--", "env", "SPAWN=1", "python3", "agent.py",
          "openai", "whole",
        ] : ["agent.yaml", "x"]
      _ = try await Self.run(
        ["record", "--out", "log.jsonl.gz"] + command, in: folder, server, status: 1)
      let child = try #require(
        folder.text("child")?.split(separator: " ").first.flatMap { pid_t($0) })
      // It may still be a zombie that nobody has taken away.
      let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
      #expect(state == nil || state?.contains(") Z ") == true, "\(state ?? "")")
      if state != nil { kill(child, SIGKILL) }
    }

    @Test(
      "what comes compressed is judged as what it is, and goes on as it came where nothing is taken out",
      arguments: ["whole", "stream"], [["look"], ["look", "wipe_disk"], []])
    func compressed(way: String, names: [String]) async throws {
      let folder = try TemporaryFolder()
      try folder.write("policy.yaml", Self.policy)
      try Self.write(
        """
        command: [python3, agent.py, openai, \(way)]
        policy: policy.yaml
        """, in: folder)
      let server = try FakeServer { _, reply in
        let (type, body) = Self.reply("openai", way == "stream", names)
        reply.finish(
          type: type, headers: [("Content-Encoding", "gzip")], body: Gzip.stored(body))
      }
      let outcome = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      #expect(Self.calls(in: folder) == names.filter { $0 == "look" }, "\(outcome)")
    }

    @Test("what writes needs approval, for which the reply waits", arguments: [true, false, nil])
    func approvals(granted: Bool?) async throws {
      let folder = try TemporaryFolder()
      let human =
        granted.map { "human: {approvals: [{tool: pay, granted: \($0), by: ana, reason: so}]}" }
        ?? ""
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        policy: {rules: [{id: looking, tool: look, verdict: allow}]}
        """, in: folder)
      try folder.write(
        "case.yaml",
        """
        caseId: a
        input: x
        agent: agent.yaml
        \(human)
        expected:
          toolsProposed: [pay]
          stopReason: \(granted == nil ? "approval_required" : "success")
        """)
      let server = try Self.provider(["pay", "look"])
      _ = try await Self.run(
        ["run", "--live", "case.yaml", "--out", "log.jsonl.gz"], in: folder, server)
      switch granted {
      case true?: #expect(Self.calls(in: folder) == ["pay", "look"])
      case false?: #expect(Self.calls(in: folder) == ["look"])
      case nil: #expect(Self.calls(in: folder) == [])
      }
      let events = try await Self.events(in: folder)
      let approvals = events.filter { $0["type"] == "approval" }
      #expect(approvals.count == (granted == nil ? 0 : 1))
      let verdicts = events.filter { $0["type"] == "policy_decision" }.map { $0["data"]?["status"] }
      #expect(
        verdicts
          == (granted == true
            ? ["approval_required", "allow", "allow"] : ["approval_required", "allow"]))
    }

    @Test("a call that was let through counts as one that ran until a request tells of it")
    func counted() async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        environment: {set: {TURNS: "3"}}
        policy:
          rules:
            - {id: once, tool: look, calls: {tool: look}, verdict: deny}
            - {id: else, verdict: allow}
        """, in: folder)
      let server = try Self.provider(["look"])
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      #expect(Self.calls(in: folder) == ["look"])
      let verdicts = try await Self.events(in: folder)
        .filter { $0["type"] == "policy_decision" }.compactMap { $0["data"]?["status"] }
      #expect(verdicts == ["allow", "deny", "deny"])
    }

    @Test("record --proxy guards a command with a policy file")
    func proxy() async throws {
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.agent)
      try folder.write("policy.yaml", Self.policy)
      let server = try Self.provider(["wipe", "look"])
      _ = try await Self.run(
        [
          "record", "--proxy", "--policy", "policy.yaml", "--out", "log.jsonl.gz", "--", "python3",
          "agent.py", "openai", "stream",
        ], in: folder, server)
      #expect(Self.calls(in: folder) == ["look"])
      // The third denied call ends the run.
      try folder.write("policy.yaml", "rules: [{id: none, verdict: deny}]")
      try FileManager.default.removeItem(atPath: folder.path("calls"))
      try FileManager.default.removeItem(atPath: folder.path("log.jsonl.gz"))
      let many = try Self.provider(["a", "b", "c"])
      let outcome = try await Self.run(
        [
          "record", "--proxy", "--policy", "policy.yaml", "--out", "log.jsonl.gz", "--", "python3",
          "agent.py", "openai", "stream",
        ], in: folder, many, status: 1)
      #expect(outcome.errors.contains("policy_denied"), "\(outcome)")
      #expect(Self.calls(in: folder) == [])
    }

    @Test(
      "with a policy nothing goes through that nobody can judge",
      arguments: [
        #"{"choices":[{"index":0,"message":{"content":"x"}},{"index":1,"message":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{}"}}]}}]}"#,
        #"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"a\""}}]},"finish_reason":"tool_calls"}]}"#,
        #"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"length"}]}"#,
        #"["something else"]"#, "no JSON",
      ])
    func unreadable(body: String) async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        answer: stdout
        policy: {rules: [{id: looking, tool: look, verdict: allow}]}
        """, in: folder)
      let server = try FakeServer { _, reply in reply.finish(body: body) }
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      #expect(Self.calls(in: folder) == [])
      let answer = try #require(
        try await Self.events(in: folder).last?["data"]?["answer"]?.stringValue)
      #expect(answer.hasPrefix("status 403 false"), "\(answer)")
    }

    @Test(
      "an error with a call in it is kept from a command, any other is not, now and where the recording answers",
      arguments: [
        (#"{"error":{"message":"slow down"}}"#, "status 429 None"),
        (
          #"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{}"}}]}}]}"#,
          "status 403 false"
        ),
      ])
    func errors(body: String, given: String) async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        answer: stdout
        policy: {rules: [{id: looking, tool: look, verdict: allow}]}
        """, in: folder)
      let server = try FakeServer { _, reply in reply.finish(429, body: body) }
      _ = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server)
      let answer = try #require(
        try await Self.events(in: folder).last?["data"]?["answer"]?.stringValue)
      #expect(answer.hasPrefix(given), "\(answer)")
      let again = try await Binary.run(
        [
          "record", "--proxy", "--replay", "log.jsonl.gz", "--", "python3", "agent.py", "openai",
          "whole",
        ], in: folder.path, input: Array("x".utf8))
      #expect(again.output.hasPrefix(given), "\(again)")
    }

    @Test(
      "a request beyond a limit is refused for good, or ends the command",
      arguments: [
        ("{maxSteps: 2}", "max_steps", "refuse"), ("{maxSteps: 2}", "max_steps", "stop"),
        ("{maxTokens: 2000000}", "max_tokens", "refuse"), ("{maxCost: 5.5}", "max_cost", "refuse"),
      ])
    func limits(limits: String, detail: String, onLimit: String) async throws {
      let folder = try TemporaryFolder()
      try Self.write(
        """
        command: [python3, agent.py, openai, whole]
        environment: {set: {TURNS: "9"}}
        limits: \(limits)
        onLimit: \(onLimit)
        prices: {"m-*": {input: 3, output: 1}}
        answer: stdout
        """, in: folder)
      let server = try Self.provider(["look"])
      let outcome = try await Self.run(
        ["record", "agent.yaml", "x", "--out", "log.jsonl.gz"], in: folder, server, status: 1)
      #expect(server.requests.count == 2, "\(outcome)")
      let stop = try #require(try await Self.events(in: folder).last?["data"])
      #expect(stop["reason"] == "budget_exhausted")
      #expect(stop["detail"]?.stringValue == detail)
      #expect(stop["totals"]?["cost"]?.doubleValue == 6)
      guard onLimit == "refuse" else { return }
      #expect(stop["answer"]?.stringValue?.hasPrefix("status 403 false") == true)
      let events = try await Self.events(in: folder)
      let refused = events.last { $0["type"] == "request_forwarded" }
      #expect(refused?["data"]?["wire"]?["status"] == 403)
      // The recording refuses it as well, though it may look like those before it.
      try FileManager.default.removeItem(atPath: folder.path("calls"))
      let again = try await Binary.run(
        [
          "record", "--proxy", "--replay", "log.jsonl.gz", "--", "env", "TURNS=9", "python3",
          "agent.py", "openai", "whole",
        ], in: folder.path, input: Array("x".utf8))
      #expect(again.output.hasPrefix("status 403 false"), "\(again)")
      #expect(Self.calls(in: folder) == ["look", "look"])
    }
  }
#endif
