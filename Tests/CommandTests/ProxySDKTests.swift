import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  /// What other people's clients and frameworks do by way of the proxy, in a Python that
  /// `AGENT_EVAL_PYTHON` names; one that lacks a package skips its tests.
  @Suite("record --proxy with the vendors' clients and frameworks")
  struct ProxySDKTests {
    /// A program that asks its argument, runs the tool `look` as often as it is told, and prints the end.
    struct Program: Sendable, CustomTestStringConvertible {
      var name: String
      /// The packages that it imports.
      var packages: [String]
      var text: String
      /// How many requests it makes.
      var requests = 2
      /// The request in which what a tool returned is seen first.
      var seenIn = 2
      /// Whether what it calls is a tool, and no form of an answer.
      var hasResult = true
      /// Whether it makes just these requests in this order each time.
      var isSteady = true

      var testDescription: String { name }
    }

    private static let head = """
      import json, os, sys
      def look(city: str) -> str:
          "What colour a city is."
          return os.environ.get("SEEN", "blue") + " in " + city
      schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

      """

    /// Chat Completions by one of the openai package's clients.
    private static func chat(_ client: String) -> String {
      """
      import openai
      client = openai.\(client)
      tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
      said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sys.argv[1]}]
      while True:
          m = client.chat.completions.create(model="fake-1", messages=said, tools=tools).choices[0].message
          said.append(m.model_dump(exclude_none=True))
          if not m.tool_calls: break
          for c in m.tool_calls:
              said.append({"role": "tool", "tool_call_id": c.id, "content": look(**json.loads(c.function.arguments))})
      print(said[-1]["content"])
      """
    }

    static let programs = [
      Program(
        name: "openai, Chat Completions", packages: ["openai"], text: chat("OpenAI()")),
      Program(
        name: "openai, on Azure", packages: ["openai"],
        text: chat(#"AzureOpenAI(api_version="2024-10-21", azure_deployment="fake-1")"#)),
      Program(
        name: "openai, Chat Completions streamed", packages: ["openai"],
        text: """
          import openai
          client = openai.OpenAI()
          tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
          said = [{"role": "user", "content": sys.argv[1]}]
          while True:
              with client.chat.completions.stream(model="fake-1", messages=said, tools=tools) as s:
                  for event in s:
                      if event.type == "content.delta": print("+", event.delta)
                  m = s.get_final_completion().choices[0].message
              said.append(m.model_dump(exclude_none=True, exclude={"parsed"}))
              if not m.tool_calls: break
              for c in said[-1]["tool_calls"]: c["function"].pop("parsed_arguments", None)
              for c in m.tool_calls:
                  said.append({"role": "tool", "tool_call_id": c.id, "content": look(**json.loads(c.function.arguments))})
          """),
      Program(
        name: "openai, Responses streamed", packages: ["openai"],
        text: """
          import openai
          client = openai.OpenAI()
          tools = [{"type": "function", "name": "look", "parameters": schema, "strict": False}]
          said = [{"role": "user", "content": sys.argv[1]}]
          while True:
              for event in client.responses.create(model="fake-1", input=said, tools=tools, store=False, stream=True):
                  if event.type == "response.output_text.delta": print("+", event.delta)
                  if event.type == "response.completed": r = event.response
              calls = [o for o in r.output if o.type == "function_call"]
              said += [o.model_dump(exclude_none=True) for o in r.output]
              if not calls: break
              for c in calls:
                  said.append({"type": "function_call_output", "call_id": c.call_id, "output": look(**json.loads(c.arguments))})
          """),
      Program(
        name: "anthropic, plain and streamed", packages: ["anthropic"],
        text: """
          import anthropic
          client = anthropic.Anthropic()
          tools = [{"name": "look", "description": "Looks.", "input_schema": schema}]
          said, stream = [{"role": "user", "content": sys.argv[1]}], False
          while True:
              ask = dict(model="fake-1", max_tokens=100, system="Be brief.", messages=said, tools=tools)
              if stream:
                  with client.messages.stream(**ask) as s:
                      for t in s.text_stream: print("+", t)
                      m = s.get_final_message()
              else:
                  m = client.messages.create(**ask)
              stream = True
              said.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in m.content]})
              calls = [b for b in m.content if b.type == "tool_use"]
              if not calls: break
              said.append({"role": "user", "content": [
                  {"type": "tool_result", "tool_use_id": c.id, "content": look(**c.input)} for c in calls]})
          """),
      Program(
        name: "openai-agents", packages: ["agents"],
        text: """
          from agents import Agent, Runner, function_tool, set_tracing_disabled
          set_tracing_disabled(True)
          agent = Agent(name="looker", instructions="Be brief.", tools=[function_tool(look)], model="fake-1")
          print(Runner.run_sync(agent, sys.argv[1]).final_output)
          """),
      Program(
        name: "openai-agents with an agent as a tool", packages: ["agents"],
        text: """
          from agents import Agent, Runner, function_tool, set_tracing_disabled
          set_tracing_disabled(True)
          inner = Agent(name="inner", instructions="You look things up.", tools=[function_tool(look)], model="fake-1")
          tool = inner.as_tool(tool_name="delegate", tool_description="Asks somebody else.")
          outer = Agent(name="outer", instructions="You delegate.", tools=[tool], model="fake-1")
          print(Runner.run_sync(outer, sys.argv[1]).final_output)
          """, requests: 4, seenIn: 3),
      Program(
        name: "pydantic-ai", packages: ["pydantic_ai", "openai"],
        text: """
          from pydantic_ai import Agent
          agent = Agent("openai:fake-1", system_prompt="Be brief.")
          agent.tool_plain(look)
          print(agent.run_sync(sys.argv[1]).output)
          """),
      Program(
        name: "google-genai, plain", packages: ["google.genai"],
        text: gemini(
          """
              r = client.models.generate_content(model="fake-1", contents=said, config=config)
              parts = r.candidates[0].content.parts
          """)),
      Program(
        name: "google-genai, streamed", packages: ["google.genai"],
        text: gemini(
          """
              parts = []
              for r in client.models.generate_content_stream(model="fake-1", contents=said, config=config):
                  parts += r.candidates[0].content.parts or []
          """)),
      Program(
        name: "ollama, plain", packages: ["ollama"],
        text: ollama(
          """
              m = client.chat(model="fake-1", messages=said, tools=tools).message.model_dump(exclude_none=True)
          """)),
      Program(
        name: "ollama, streamed", packages: ["ollama"],
        text: ollama(
          """
              m = {"role": "assistant", "content": "", "tool_calls": []}
              for piece in client.chat(model="fake-1", messages=said, tools=tools, stream=True):
                  m["content"] += piece.message.content or ""
                  m["tool_calls"] += [c.model_dump(exclude_none=True) for c in piece.message.tool_calls or []]
              if not m["tool_calls"]: del m["tool_calls"]
          """)),
      Program(
        name: "boto3, Converse", packages: ["boto3"],
        text: bedrock(
          """
              m = client.converse(modelId="fake-1:0", messages=said, toolConfig=config)["output"]["message"]
          """)),
      Program(
        name: "boto3, ConverseStream", packages: ["boto3"],
        text: bedrock(
          """
              m = {"role": "assistant", "content": []}
              for event in client.converse_stream(modelId="fake-1:0", messages=said, toolConfig=config)["stream"]:
                  if "contentBlockStart" in event:
                      call = event["contentBlockStart"]["start"]["toolUse"]
                      m["content"].append({"toolUse": {**call, "input": ""}})
                  delta = event.get("contentBlockDelta", {}).get("delta", {})
                  if "text" in delta:
                      if not m["content"] or "text" not in m["content"][-1]: m["content"].append({"text": ""})
                      m["content"][-1]["text"] += delta["text"]
                  if "toolUse" in delta: m["content"][-1]["toolUse"]["input"] += delta["toolUse"]["input"]
              for b in m["content"]:
                  if "toolUse" in b: b["toolUse"]["input"] = json.loads(b["toolUse"]["input"])
          """)),
    ]

    private static func bedrock(_ ask: String) -> String {
      """
      import boto3
      client = boto3.client("bedrock-runtime", region_name="eu-central-1")
      config = {"tools": [{"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": schema}}}]}
      said = [{"role": "user", "content": [{"text": sys.argv[1]}]}]
      while True:
      \(ask)
          said.append(m)
          calls = [b["toolUse"] for b in m["content"] if "toolUse" in b]
          if not calls: break
          said.append({"role": "user", "content": [
              {"toolResult": {"toolUseId": c["toolUseId"], "content": [{"text": look(**c["input"])}]}} for c in calls]})
      print("".join(b.get("text", "") for b in m["content"]))
      """
    }

    private static func gemini(_ ask: String) -> String {
      """
      from google import genai
      from google.genai import types
      client = genai.Client(api_key=os.environ["GEMINI_API_KEY"])
      tool = types.Tool(function_declarations=[
          types.FunctionDeclaration(name="look", description="Looks.", parameters_json_schema=schema)])
      config = types.GenerateContentConfig(system_instruction="Be brief.", tools=[tool],
          automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))
      said = [types.Content(role="user", parts=[types.Part(text=sys.argv[1])])]
      while True:
      \(ask)
          said.append(types.Content(role="model", parts=[p for p in parts if p.function_call or p.text]))
          calls = [p.function_call for p in parts if p.function_call]
          if not calls: break
          said.append(types.Content(role="user", parts=[
              types.Part.from_function_response(name=c.name, response={"output": look(**c.args)}) for c in calls]))
      print("".join(p.text or "" for p in parts))
      """
    }

    private static func ollama(_ ask: String) -> String {
      """
      import ollama
      client = ollama.Client()
      tools = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": schema}}]
      said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sys.argv[1]}]
      while True:
      \(ask)
          said.append(m)
          if not m.get("tool_calls"): break
          for c in m["tool_calls"]:
              said.append({"role": "tool", "tool_name": c["function"]["name"], "content": look(**c["function"]["arguments"])})
      print(said[-1]["content"])
      """
    }

    /// Has the tool called that it is told of, then says what came of it.
    private static func provider() throws -> FakeProvider {
      try FakeProvider { asked, reply in
        let text = asked.request.text
        let isSeen = ["blue in", "red in", "said twice"].contains { text.contains($0) }
        let colour = text.contains("red in") || text.contains("is red") ? "red" : "blue"
        if isSeen, text.contains("\"final_answer\"") {
          let answer = #"{"answer":"It is \#(colour), said twice."}"#
          FakeProvider.send(
            .init(calls: [.init("final_answer", answer, id: "call_f")]), to: asked, reply)
        } else if isSeen {
          FakeProvider.send(.init("It is \(colour), said twice."), to: asked, reply)
        } else if !text.contains("look"), !text.contains("delegate") {
          // A title, or whatever else is asked for beside the agent.
          FakeProvider.send(.init("Colours"), to: asked, reply)
        } else if text.contains("mcp__t__look") {
          FakeProvider.send(
            .init("Let me look.", calls: [.init("mcp__t__look", #"{"city":"Graz"}"#)]), to: asked,
            reply)
        } else if text.contains("delegate") {
          FakeProvider.send(
            .init(calls: [.init("delegate", #"{"input":"Graz?"}"#, id: "call_d")]), to: asked, reply
          )
        } else {
          FakeProvider.send(
            .init("Let me look.", calls: [.init("look", #"{"city":"Graz"}"#)]), to: asked, reply)
        }
      }
    }

    /// Those whose packages are there; of the others it is said that they are not.
    private static func thosePresent() async -> [Program] {
      var present: [Program] = []
      for program in programs + frameworks {
        if await OtherPython.has(program.packages) {
          present.append(program)
        } else {
          print("skipped, its packages are not there (AGENT_EVAL_PYTHON): \(program.name)")
        }
      }
      return present
    }

    private static let key = "sk-proj-anothersecretkey98765"

    @Test(
      "is recorded, answered again with the provider stopped, and fails at the call that differs",
      arguments: await thosePresent())
    func program(_ program: Program) async throws {
      let python = OtherPython.path
      // `.ci/clients` looks for this: a test that is skipped says nothing of a framework.
      print("ran \(program.name)")
      let folder = try TemporaryFolder()
      try folder.write("agent.py", Self.head + program.text + "\n")
      let provider = try Self.provider()
      func proxy(
        _ options: [String], asking: String = "What colour?", seen: String = "blue", status: Int32
      ) async throws -> Command.Outcome {
        var environment = [
          "OPENAI_BASE_URL": provider.baseURL(.openai),
          "ANTHROPIC_BASE_URL": provider.baseURL(.anthropic),
          "GOOGLE_GEMINI_BASE_URL": provider.baseURL(.gemini), "OLLAMA_HOST": provider.url,
          "AZURE_OPENAI_ENDPOINT": provider.url, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": provider.url,
          "AWS_EC2_METADATA_DISABLED": "true", "SEEN": seen,
        ]
        if status == 0, !options.contains("--replay") {
          environment["OPENAI_API_KEY"] = Self.key
          environment["ANTHROPIC_API_KEY"] = Self.key
          environment["GEMINI_API_KEY"] = Self.key
          environment["AZURE_OPENAI_API_KEY"] = Self.key
          environment["AWS_ACCESS_KEY_ID"] = "AKIA" + "IOSFODNN7EXAMPLE"
          environment["AWS_SECRET_ACCESS_KEY"] = Self.key
        }
        return try await Binary.run(
          ["record", "--proxy"] + options + ["--", python, "agent.py", asking], in: folder.path,
          environment: environment, status: status, timeoutSeconds: 120)
      }
      let recorded = try await proxy(["--out", "log.jsonl.gz"], status: 0)
      if program.isSteady { #expect(provider.server.requests.count == program.requests) }
      provider.stop()
      try await Binary.run(["verify", "log.jsonl.gz"], in: folder.path)
      let shown = try await Binary.run(["show", "log.jsonl.gz", "--json"], in: folder.path)
      #expect(!shown.output.contains("anothersecretkey"))
      let events = try shown.jsonLines()
      let decisions = events.filter { $0["type"] == "decision" }
      if program.isSteady { #expect(decisions.count == program.requests) }
      let results = events.filter { $0["type"] == "tool_result" }.compactMap { $0["data"]?["data"] }
      #expect(
        results.contains { "\($0)".contains("blue in Graz") } == program.hasResult, "\(results)")
      #expect(!events.contains { $0["type"] == "unseen" })
      #expect(events.contains { $0["type"] == "stop" && $0["data"]?["reason"] == "success" })
      if program.requests == 4 {
        // Who is asked as a tool speaks for itself.
        let callers = decisions.map { $0["data"]?["caller"]?.stringValue }
        try #require(callers.map { $0 != nil } == [false, true, true, false])
        #expect(callers[1] == callers[2] && callers[1]?.hasPrefix("agent-") == true)
      }
      guard program.isSteady else { return }
      let again = try await proxy(["--replay", "log.jsonl.gz"], status: 0)
      #expect(again.output == recorded.output && !again.output.isEmpty)
      #expect(again.errors.contains("faithful, \(program.requests) requests"))
      let prompt = try await proxy(
        ["--replay", "log.jsonl.gz"], asking: "Which colour?", status: 1)
      #expect(prompt.errors.contains("no reply to request 1"))
      #expect(prompt.errors.contains("What colour?") && prompt.errors.contains("Which colour?"))
      let result = try await proxy(["--replay", "log.jsonl.gz"], seen: "red", status: 1)
      #expect(result.errors.contains("no reply to request \(program.seenIn)"))
      #expect(result.errors.contains("red in Graz"))
    }
  }
#endif
