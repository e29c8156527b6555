import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  /// Real exporters against a receiver, in a Python that `AGENT_EVAL_PYTHON` names; one that lacks a package skips
  /// its test.
  @Suite("receive, sent to by other people's packages", .serialized)
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
      """

    /// What an exporter sends of one agent that calls one tool.
    private static func send(_ which: String) async throws {
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
    }

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
