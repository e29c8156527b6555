import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  /// Real exporters against a receiver, in a Python that `AGENT_EVAL_PYTHON` names; one that lacks a package skips
  /// its test.
  @Suite("receive, sent to by other people's packages")
  struct ReceiveSenderTests {
    private static let script = """
      import sys
      which, base = sys.argv[1], sys.argv[2]
      if which == "opentelemetry":
          from opentelemetry.sdk.trace import TracerProvider
          from opentelemetry.sdk.trace.export import BatchSpanProcessor
          from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
          from opentelemetry.exporter.otlp.proto.http import Compression
          provider = TracerProvider()
          provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(base + "/v1/traces", compression=Compression.Gzip), max_export_batch_size=2))
          tracer = provider.get_tracer("t")
          with tracer.start_as_current_span("invoke_agent finder", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "finder"}):
              with tracer.start_as_current_span("execute_tool look_up", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "here"}):
                  pass
          provider.shutdown()
      elif which == "openai-agents":
          from agents.tracing import set_trace_processors, trace, agent_span, function_span, get_trace_provider
          from agents.tracing.processors import BatchTraceProcessor, BackendSpanExporter
          set_trace_processors([BatchTraceProcessor(BackendSpanExporter(api_key="x", endpoint=base + "/v1/traces/ingest"))])
          with trace("w"):
              with agent_span("finder"):
                  with function_span("look_up", input="{}", output="here"):
                      pass
          get_trace_provider().shutdown()
      elif which == "langsmith":
          import os
          os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT=base, LANGSMITH_API_KEY="x" * 20, LANGSMITH_TRACING_SAMPLING_RATE="1")
          from langsmith import traceable, Client
          client = Client(api_url=base, api_key="x" * 20)
          @traceable(run_type="tool", name="look_up", client=client)
          def look_up(what): return "here"
          @traceable(run_type="chain", name="finder", client=client)
          def finder(what): return look_up(what)
          finder("it")
          client.flush()
      elif which == "langfuse":
          from langfuse import Langfuse
          client = Langfuse(public_key="pk-lf-x", secret_key="sk-lf-x", host=base)
          with client.start_as_current_observation(name="finder", as_type="agent"):
              with client.start_as_current_observation(name="look_up", as_type="tool", input={"what": "it"}) as tool:
                  tool.update(output="here")
          client.flush(); client.shutdown()
      else:
          # An agent that asks a model of ours by OpenAI's client, which other people's packages watch.
          import http.server, json, threading
          class Model(http.server.BaseHTTPRequestHandler):
              def log_message(self, *a): pass
              def do_POST(self):
                  asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                  done = any(m["role"] == "tool" for m in asked["messages"])
                  call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{\\"what\\":\\"it\\"}"}}
                  said = {"role": "assistant", "content": "It is here." if done else None}
                  if not done: said["tool_calls"] = [call]
                  body = json.dumps({"id": "r2" if done else "r1", "object": "chat.completion", "created": 1, "model": "fake-1", "choices": [{"index": 0, "finish_reason": "stop" if done else "tool_calls", "message": said}], "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}}).encode()
                  self.send_response(200); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
          server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
          threading.Thread(target=server.serve_forever, daemon=True).start()
          from opentelemetry.sdk.trace import TracerProvider
          from opentelemetry.sdk.trace.export import BatchSpanProcessor
          from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
          provider = TracerProvider()
          provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(base + "/v1/traces")))
          if which == "openinference":
              from openinference.instrumentation.openai import OpenAIInstrumentor
              kind, agent, tool = "openinference.span.kind", "AGENT", "TOOL"
              content = {"tool.name": "look_up", "input.value": '{"what":"it"}', "input.mime_type": "application/json", "output.value": "here"}
          else:
              from opentelemetry.instrumentation.openai import OpenAIInstrumentor
              kind, agent, tool = "traceloop.span.kind", "workflow", "tool"
              content = {"traceloop.entity.name": "look_up", "traceloop.entity.input": '{"what":"it"}', "traceloop.entity.output": "here"}
          OpenAIInstrumentor().instrument(tracer_provider=provider)
          from openai import OpenAI
          client = OpenAI(api_key="x", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
          tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
          said = [{"role": "user", "content": "Where is it?"}]
          tracer = provider.get_tracer("t")
          with tracer.start_as_current_span("finder", attributes={kind: agent}):
              m = client.chat.completions.create(model="fake-1", messages=said, tools=tools).choices[0].message
              said.append(m.model_dump(exclude_none=True))
              with tracer.start_as_current_span("look_up", attributes={kind: tool, **content}): pass
              said.append({"role": "tool", "tool_call_id": "c1", "content": "here"})
              client.chat.completions.create(model="fake-1", messages=said, tools=tools)
          provider.shutdown()
      """

    /// What an exporter sends of one agent that calls one tool.
    @discardableResult
    private static func send(_ which: String) async throws -> [JSONValue] {
      let folder = try TemporaryFolder()
      try folder.write("send.py", script)
      let receiver = try await RunningReceiver(
        ["--settle-seconds", "1000", "--idle-seconds", "1000"], in: folder)
      try await Command(
        program: "/usr/bin/env",
        arguments: [OtherPython.path, "send.py", which, "http://127.0.0.1:\(receiver.port)"],
        folder: folder.path, timeoutSeconds: 120
      ).run()
      #expect(await receiver.end() == 0)
      #expect(receiver.errors.contains("1 log written, 0 open"), "\(receiver.errors)")
      #expect(!receiver.errors.contains("refused"), "\(receiver.errors)")
      let log = try #require(
        folder.listing.first { $0.hasPrefix("out/") && $0.hasSuffix(".jsonl.gz") })
      let shown = try await Binary.run(["show", log], in: folder.path)
      #expect(shown.output.contains("look_up") && shown.output.contains("here"))
      let events = try await Binary.run(["show", log, "--json"], in: folder.path)
      return try events.lines.map { try JSONValue(parsing: Array($0.utf8)) }
    }

    /// What two packages that watch OpenAI's client tell of the same agent.
    private static func sendWatched(_ which: String) async throws {
      let events = try await send(which)
      func data(_ type: String) -> [JSONValue] {
        events.filter { $0["type"]?.stringValue == type }.compactMap { $0["data"] }
      }
      #expect(data("model_result").map { $0["usage"]?["inputTokens"] } == [5, 5])
      let decisions = data("decision")
      #expect(decisions.map { $0["calls"]?[0]?["name"] } == ["look_up", nil])
      #expect(decisions.first?["calls"]?[0]?["input"] == ["what": "it"])
      #expect(data("tool_result").map { $0["data"] } == ["here"])
      #expect(data("stop").map { $0["answer"] } == ["It is here."])
    }

    @Test(
      "OpenInference around OpenAI's client",
      .enabled("there is no Python with openinference (AGENT_EVAL_PYTHON)") {
        await OtherPython.has([
          "openinference.instrumentation.openai", "openai",
          "opentelemetry.exporter.otlp.proto.http",
        ])
      })
    func openInference() async throws { try await Self.sendWatched("openinference") }

    @Test(
      "Traceloop's OpenLLMetry around OpenAI's client",
      .enabled("there is no Python with opentelemetry.instrumentation.openai (AGENT_EVAL_PYTHON)") {
        await OtherPython.has([
          "opentelemetry.instrumentation.openai", "openai",
          "opentelemetry.exporter.otlp.proto.http",
        ])
      })
    func traceloop() async throws { try await Self.sendWatched("traceloop") }

    @Test(
      "OpenTelemetry's SDK",
      .enabled("there is no Python with the SDK (AGENT_EVAL_PYTHON)") {
        await OtherPython.has(["opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"])
      })
    func openTelemetry() async throws { try await Self.send("opentelemetry") }

    @Test(
      "the OpenAI Agents SDK",
      .enabled("there is no Python with agents (AGENT_EVAL_PYTHON)") {
        await OtherPython.has(["agents"])
      })
    func agents() async throws { try await Self.send("openai-agents") }

    @Test(
      "LangSmith's client",
      .enabled("there is no Python with langsmith (AGENT_EVAL_PYTHON)") {
        await OtherPython.has(["langsmith"])
      })
    func langSmith() async throws { try await Self.send("langsmith") }

    @Test(
      "Langfuse's client",
      .enabled("there is no Python with langfuse (AGENT_EVAL_PYTHON)") {
        await OtherPython.has(["langfuse"])
      })
    func langfuse() async throws { try await Self.send("langfuse") }
  }
#endif
