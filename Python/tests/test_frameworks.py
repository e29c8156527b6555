"""Agents of other people's frameworks: recorded whole, judged, and answered again offline. Each is skipped where it is
not installed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable

import ours
import pytest
from provider import Provider

import agent_eval

GOAL = "What colour is Graz?"


def look(city: str) -> str:
    """What colour a city is.

    Args:
        city: Which city.
    """
    return ours.look(city)


def openai_agents() -> str:
    sdk = pytest.importorskip("agents")
    sdk.set_tracing_disabled(True)
    agent = sdk.Agent(name="looker", instructions="Be brief.", tools=[sdk.function_tool(look)], model="fake-1")
    return str(sdk.Runner.run_sync(agent, GOAL).final_output)


def pydantic_ai() -> str:
    package = pytest.importorskip("pydantic_ai")
    agent = package.Agent("openai:fake-1", system_prompt="Be brief.")
    agent.tool_plain(look)
    return str(agent.run_sync(GOAL).output)


def langgraph() -> str:
    prebuilt, chat = pytest.importorskip("langgraph.prebuilt"), pytest.importorskip("langchain_openai")
    agent = prebuilt.create_react_agent(chat.ChatOpenAI(model="fake-1"), [look])
    return str(agent.invoke({"messages": [("user", GOAL)]})["messages"][-1].content)


def google_genai() -> str:
    genai = pytest.importorskip("google.genai")
    config = genai.types.GenerateContentConfig(system_instruction="Be brief.", tools=[look])
    client = genai.Client(api_key=os.environ["GEMINI_API_KEY"])
    return str(client.models.generate_content(model="fake-1", contents=GOAL, config=config).text)


def smolagents() -> str:
    package = pytest.importorskip("smolagents")
    pytest.importorskip("openai")
    model = package.OpenAIServerModel(
        "fake-1", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )
    agent = package.ToolCallingAgent(tools=[package.tool(look)], model=model, verbosity_level=0, max_steps=4)
    return str(agent.run(GOAL))


def crewai() -> str:
    if importlib.util.find_spec("crewai") is None:
        pytest.skip("crewai is not installed")
    # Before it is imported.
    os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")
    package, tools = pytest.importorskip("crewai"), pytest.importorskip("crewai.tools")
    model = package.LLM(model="openai/fake-1", base_url=os.environ["OPENAI_BASE_URL"])
    agent = package.Agent(role="Looker", goal="Look.", backstory="You look.", tools=[tools.tool("look")(look)], llm=model)
    task = package.Task(description=GOAL, expected_output="A colour.", agent=agent)
    return str(package.Crew(agents=[agent], tasks=[task]).kickoff().raw)


def claude_agent_sdk() -> str:
    sdk = pytest.importorskip("claude_agent_sdk")

    @sdk.tool("look", "What colour a city is.", ours.SCHEMA)
    async def see(given: dict[str, str]) -> dict[str, object]:
        return {"content": [{"type": "text", "text": look(**given)}]}

    options = sdk.ClaudeAgentOptions(
        model="fake-1", system_prompt="Be brief.", tools=[], allowed_tools=["mcp__t__look"],
        mcp_servers={"t": sdk.create_sdk_mcp_server("t", tools=[see])}, setting_sources=[],
    )  # fmt: skip

    async def main() -> str:
        said = ""
        async for message in sdk.query(prompt=GOAL, options=options):
            if isinstance(message, sdk.AssistantMessage):
                said = "".join(b.text for b in message.content if isinstance(b, sdk.TextBlock)) or said
        return said

    return asyncio.run(main())


STEADY = [openai_agents, pydantic_ai, langgraph, google_genai, smolagents, crewai]


@pytest.mark.parametrize("agent", [*STEADY, claude_agent_sdk], ids=lambda agent: agent.__name__)
def test_a_framework_is_recorded_and_answered(provider: Provider, agent: Callable[[], str]) -> None:
    with agent_eval.record("runs/") as run:
        answer = agent()
    assert "blue" in answer and run.unseen == []
    found = [call for call in run.calls if call.tool.endswith("look")]
    assert [call.input for call in found] == [{"city": "Graz"}]
    assert "Graz is blue" in str(found[0].result) and "blue" in (run.answer or answer)
    expected = {"stopReason": "success", "toolsCalled": ["*look"], "toolsNotCalled": ["delete_*"]}
    agent_eval.judge(run, expected).check()
    assert agent_eval.judge(run, {"toolsNotCalled": ["*look"]}).outcome == "fail"
    if agent in STEADY:
        asked = len(provider.asked)
        with agent_eval.record(replay=run.log):
            assert agent() == answer
        assert len(provider.asked) == asked


def test_an_agent_as_a_tool_is_a_caller_of_its_own(provider: Provider) -> None:
    sdk = pytest.importorskip("agents")
    sdk.set_tracing_disabled(True)
    inner = sdk.Agent(name="inner", instructions="You look.", tools=[sdk.function_tool(look)], model="fake-1")
    tool = inner.as_tool(tool_name="delegate", tool_description="Asks somebody else.")
    outer = sdk.Agent(name="outer", instructions="You delegate.", tools=[tool], model="fake-1")
    with agent_eval.record("runs/", callers={"inner": "You look."}, main="You delegate.") as run:
        sdk.Runner.run_sync(outer, GOAL)
    assert {(call.tool, call.caller) for call in run.calls} == {("delegate", "agent"), ("look", "inner")}
