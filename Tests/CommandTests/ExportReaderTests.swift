import AgentTrace
import Foundation
import TestSupport
import Testing

/// What other people's packages make of what we export, in a Python that `AGENT_EVAL_PYTHON` names; one that lacks a
/// package skips its test. `.ci/clients` has an environment for each.
@Suite("export, read by other people's packages")
struct ExportReaderTests {
  private static func python(
    _ script: String, _ arguments: [String], in folder: TemporaryFolder,
    timeoutSeconds: Double = 120
  ) async throws -> Command.Outcome {
    try folder.write("read.py", script)
    return try await Command(
      program: "/usr/bin/env", arguments: [OtherPython.path, "read.py"] + arguments,
      folder: folder.path, timeoutSeconds: timeoutSeconds
    ).run()
  }

  private static func exported(_ format: String, to output: String) async throws -> TemporaryFolder
  {
    let folder = try TemporaryFolder()
    try await Binary.run(
      ["export", format, Project.path("Fixtures/runs"), "--output", output], in: folder.path)
    return folder
  }

  @Test(
    "ATIF's own models take each trajectory",
    .enabled("there is no Python with atif (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["atif"])
    })
  func atif() async throws {
    // `.ci/clients` looks for this.
    print("ran atif")
    let folder = try await Self.exported("atif", to: "out/")
    let read = try await Self.python(
      """
      import atif, glob
      names = sorted(glob.glob("out/*.json"))
      steps = sum(len(atif.Trajectory.model_validate_json(open(n).read()).steps) for n in names)
      print(len(names), steps)
      """, [], in: folder)
    let words = read.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    #expect(words.count == 2 && words[0] == Fixture.runs.count && words[1] > 100)
  }

  @Test(
    "Inspect reads the log, with each message and call",
    .enabled("there is no Python with inspect_ai (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["inspect_ai"])
    })
  func inspect() async throws {
    print("ran inspect-ai")
    let folder = try await Self.exported("inspect", to: "all.eval")
    let read = try await Self.python(
      """
      from inspect_ai.log import read_eval_log, read_eval_log_samples
      log = read_eval_log("all.eval")
      assert log.status == "success", log.status
      assert len(list(read_eval_log_samples("all.eval"))) == len(log.samples)
      calls = sum(len(m.tool_calls or []) for s in log.samples for m in s.messages if m.role == "assistant")
      print(len(log.samples), calls)
      """, [], in: folder)
    let rows = try await Binary.run(
      ["export", "ndjson", Project.path("Fixtures/runs"), "--table", "calls"])
    #expect(read.lines == ["\(Fixture.runs.count) \(rows.lines.count)"])
  }

  @Test(
    "Inspect's viewer lists the log, with as many samples as runs",
    .enabled("there is no Python with inspect_ai (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["inspect_ai"])
    })
  func inspectView() async throws {
    let folder = try await Self.exported("inspect", to: "logs/all.eval")
    let read = try await Self.python(
      """
      import json, os, socket, subprocess, sys, time, urllib.parse, urllib.request
      with socket.socket() as s:
          s.bind(("127.0.0.1", 0))
          port = s.getsockname()[1]
      command = "from inspect_ai._cli.main import main; main()"
      server = subprocess.Popen([sys.executable, "-c", command, "view", "start", "--log-dir", "logs",
                                 "--host", "127.0.0.1", "--port", str(port)],
                                stdout=open("view.log", "w"), stderr=subprocess.STDOUT)
      def ask(path):
          return json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60).read())
      try:
          for _ in range(120):
              try:
                  files = [file["name"] for file in ask("/api/logs")["files"]]
                  break
              except OSError:
                  time.sleep(1)
          heads = [ask("/api/log-headers?file=" + urllib.parse.quote(name, safe=""))[0] for name in files]
          print(len(files), *((head["status"], head["results"]["total_samples"]) for head in heads))
      finally:
          server.terminate()
          server.wait(30)
      """, [], in: folder, timeoutSeconds: 300)
    #expect(read.lines == ["1 ('success', \(Fixture.runs.count))"])
  }

  @Test(
    "the protocol's own classes read each span",
    .enabled("there is no Python with opentelemetry-proto (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["opentelemetry.proto"])
    })
  func protocolBuffers() async throws {
    print("ran opentelemetry-proto")
    let folder = try await Self.exported("otlp", to: "all.pb")
    try await Binary.run(
      ["export", "otlp-json", Project.path("Fixtures/runs"), "--output", "all.jsonl"],
      in: folder.path)
    // Both forms say the same.
    let read = try await Self.python(
      """
      import base64, json
      from google.protobuf.json_format import Parse
      from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
      binary = ExportTraceServiceRequest.FromString(open("all.pb", "rb").read())
      text = ExportTraceServiceRequest()
      for line in open("all.jsonl", encoding="utf-8"):
          value = json.loads(line)
          for spans in value["resourceSpans"]:
              for scope in spans["scopeSpans"]:
                  for span in scope["spans"]:
                      for key in ("traceId", "spanId", "parentSpanId"):
                          if key in span:
                              span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
          Parse(json.dumps(value), text_part := ExportTraceServiceRequest())
          text.MergeFrom(text_part)
      assert binary == text
      spans = [s for r in binary.resource_spans for c in r.scope_spans for s in c.spans]
      assert max(len(s.attributes) for s in spans) <= 128
      print(len(binary.resource_spans), len(spans))
      """, [], in: folder)
    #expect(read.output.hasPrefix("\(Fixture.runs.count) "))
  }

  @Test(
    "Phoenix has as many traces and spans of each kind as we sent",
    .enabled("there is no Python with phoenix (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["phoenix"])
    })
  func phoenix() async throws {
    print("ran arize-phoenix")
    let folder = try await Self.exported("otlp", to: "all.pb")
    let read = try await Self.python(
      """
      import collections, json, os, socket, subprocess, sys, time, urllib.request
      def free():
          with socket.socket() as s:
              s.bind(("127.0.0.1", 0))
              return s.getsockname()[1]
      port = free()
      environment = dict(os.environ, PHOENIX_WORKING_DIR=os.path.abspath("phoenix"), PHOENIX_HOST="127.0.0.1",
                         PHOENIX_PORT=str(port), PHOENIX_GRPC_PORT=str(free()), PHOENIX_TELEMETRY_ENABLED="false")
      os.mkdir("phoenix")
      server = subprocess.Popen([sys.executable, "-m", "phoenix.server.main", "serve"], env=environment,
                                stdout=open("server.log", "w"), stderr=subprocess.STDOUT)
      def ask(path, body=None):
          request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body)
          if body is not None: request.add_header("Content-Type", "application/x-protobuf")
          return urllib.request.urlopen(request, timeout=60).read()
      try:
          for _ in range(300):
              try:
                  ask("/healthz")
                  break
              except OSError:
                  time.sleep(1)
          ask("/v1/traces", open("all.pb", "rb").read())
          kinds, traces = collections.Counter(), set()
          for _ in range(60):
              time.sleep(1)
              kinds.clear()
              cursor = None
              while True:
                  page = json.loads(ask("/v1/projects/default/spans?limit=1000" + (f"&cursor={cursor}" if cursor else "")))
                  for span in page["data"]:
                      kinds[span["span_kind"]] += 1
                      traces.add(span["context"]["trace_id"])
                  cursor = page.get("next_cursor")
                  if not cursor: break
              if sum(kinds.values()) >= int(sys.argv[1]): break
          print(len(traces), *(f"{k}={n}" for k, n in sorted(kinds.items())))
      finally:
          server.terminate()
          server.wait(30)
      """, ["\(try await Self.spanCount())"], in: folder, timeoutSeconds: 600)
    #expect(read.lines == [try await Self.figures()])
  }

  private static func spans() async throws -> [JSONValue] {
    try await Binary.run(["export", "otlp-json", Project.path("Fixtures/runs")]).jsonLines()
      .flatMap { $0["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.arrayValue ?? [] }
  }

  private static func spanCount() async throws -> Int { try await spans().count }

  /// What Phoenix should print: traces, and spans by their kinds.
  private static func figures() async throws -> String {
    var kinds: [String: Int] = [:]
    var traces: Set<String> = []
    for span in try await spans() {
      traces.insert(span["traceId"]?.stringValue ?? "")
      let kind = (span["attributes"]?.arrayValue ?? []).first {
        $0["key"] == "openinference.span.kind"
      }?["value"]?["stringValue"]?.stringValue
      kinds[kind ?? "", default: 0] += 1
    }
    return
      (["\(traces.count)"] + kinds.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
      .joined(separator: " ")
  }
}
