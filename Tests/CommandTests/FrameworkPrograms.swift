import Testing

#if Live
  /// Programs with frameworks that are too large to be installed for every test; `.ci/clients` makes an
  /// environment for each.
  extension ProxySDKTests {
    static let frameworks = [
      Program(
        name: "instructor", packages: ["instructor", "openai"],
        text: #"""
          import instructor, openai
          from pydantic import BaseModel
          class look(BaseModel):
              city: str
          client = instructor.from_openai(openai.OpenAI())
          said = [{"role": "user", "content": sys.argv[1]}]
          city = client.chat.completions.create(model="fake-1", response_model=look, messages=said).city
          said.append({"role": "user", "content": os.environ.get("SEEN", "blue") + " in " + city})
          print(client.chat.completions.create(model="fake-1", response_model=None, messages=said).choices[0].message.content)
          """#, hasResult: false),
      Program(
        name: "smolagents", packages: ["smolagents", "openai"],
        text: #"""
          from smolagents import OpenAIServerModel, ToolCallingAgent, tool
          @tool
          def see(city: str) -> str:
              """What colour a city is.

              Args:
                  city: Which city.
              """
              return look(city)
          see.name = "look"
          model = OpenAIServerModel("fake-1", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
          print(ToolCallingAgent(tools=[see], model=model, verbosity_level=0, max_steps=4).run(sys.argv[1]))
          """#),
      Program(
        name: "litellm", packages: ["litellm"],
        text: #"""
          os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
          import litellm
          tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
          said = [{"role": "user", "content": sys.argv[1]}]
          while True:
              m = litellm.completion(model="openai/fake-1", messages=said, tools=tools).choices[0].message
              said.append(m.model_dump(exclude_none=True))
              if not m.tool_calls: break
              for c in m.tool_calls:
                  said.append({"role": "tool", "tool_call_id": c.id, "content": look(**json.loads(c.function.arguments))})
          print(said[-1]["content"])
          """#),
      Program(
        name: "llama-index", packages: ["llama_index.llms.openai"],
        text: #"""
          import asyncio
          from llama_index.core.agent.workflow import FunctionAgent
          from llama_index.llms.openai import OpenAI
          model = OpenAI(model="gpt-4o-mini", api_base=os.environ["OPENAI_BASE_URL"])
          agent = FunctionAgent(tools=[look], llm=model, system_prompt="Be brief.")
          async def main(): print(await agent.run(sys.argv[1]))
          asyncio.run(main())
          """#),
      Program(
        name: "autogen", packages: ["autogen_agentchat", "autogen_ext.models.openai"],
        text: #"""
          import asyncio
          from autogen_agentchat.agents import AssistantAgent
          from autogen_ext.models.openai import OpenAIChatCompletionClient
          model = OpenAIChatCompletionClient(model="fake-1", model_info={
              "vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False})
          agent = AssistantAgent("looker", model, tools=[look], system_message="Be brief.", reflect_on_tool_use=True)
          async def main(): print((await agent.run(task=sys.argv[1])).messages[-1].content)
          asyncio.run(main())
          """#),
      Program(
        name: "crewai", packages: ["crewai"],
        text: #"""
          os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")
          from crewai import Agent, Crew, LLM, Task
          from crewai.tools import tool
          look = tool("look")(look)
          model = LLM(model="openai/fake-1", base_url=os.environ["OPENAI_BASE_URL"])
          agent = Agent(role="Looker", goal="Look.", backstory="You look.", tools=[look], llm=model)
          task = Task(description=sys.argv[1], expected_output="A colour.", agent=agent)
          print(Crew(agents=[agent], tasks=[task]).kickoff().raw)
          """#),
      Program(
        name: "claude-agent-sdk", packages: ["claude_agent_sdk"],
        text: #"""
          import asyncio
          from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, TextBlock, create_sdk_mcp_server, query
          from claude_agent_sdk import tool
          @tool("look", "What colour a city is.", schema)
          async def see(given): return {"content": [{"type": "text", "text": look(**given)}]}
          options = ClaudeAgentOptions(model="fake-1", system_prompt="Be brief.", tools=[], allowed_tools=["mcp__t__look"],
              mcp_servers={"t": create_sdk_mcp_server("t", tools=[see])}, setting_sources=[])
          async def main():
              async for m in query(prompt=sys.argv[1], options=options):
                  if isinstance(m, AssistantMessage):
                      for b in m.content:
                          if isinstance(b, TextBlock): print(b.text)
          asyncio.run(main())
          """#, isSteady: false),
    ]
  }
#endif
