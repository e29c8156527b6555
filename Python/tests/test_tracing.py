"""What frameworks tell of their tools becomes a log. Each is skipped where it is not installed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ours
import pytest
from provider import Provider
from test_frameworks import GOAL, look

import agent_eval
from agent_eval import _tracing


def langchain_agent() -> Callable[[], str]:
    """A graph whose model is asked by httpx, and whose last step runs a tool that no model asked for."""
    pytest.importorskip("langgraph")
    chat = pytest.importorskip("langchain_openai")
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    tools = pytest.importorskip("langchain_core.tools")
    agent = prebuilt.create_react_agent(chat.ChatOpenAI(model="fake-1"), [look])

    @tools.tool
    def audit(city: str) -> str:
        """Notes a city."""
        return f"noted {city}"

    def run() -> str:
        answer = agent.invoke({"messages": [("user", GOAL)]})["messages"][-1].content
        audit.invoke({"city": "Graz"})
        return str(answer)

    return run


def openai_agent() -> Callable[[], str]:
    sdk = pytest.importorskip("agents")
    sdk.set_trace_processors([])
    sdk.set_tracing_disabled(False)
    _frameworks_forget()

    def run() -> str:
        agent = sdk.Agent(name="looker", instructions="Be brief.", tools=[sdk.function_tool(look)], model="fake-1")
        with sdk.trace("work"):
            answer = str(sdk.Runner.run_sync(agent, GOAL).final_output)
            with sdk.function_span("audit", '{"city": "Graz"}') as span:
                span.span_data.output = "noted Graz"
        return answer

    return run


def _frameworks_forget() -> None:
    """As in a process in which no block was yet."""
    from agent_eval import _frameworks

    _frameworks._heard_by.clear()


def pydantic_agent() -> Callable[[], str]:
    package = pytest.importorskip("pydantic_ai")
    pytest.importorskip("opentelemetry.sdk")
    agent = package.Agent("openai-chat:fake-1", system_prompt="Be brief.", name="looker")
    agent.tool_plain(look)
    return lambda: str(agent.run_sync(GOAL).output)


AGENTS = [
    ("langchain", langchain_agent, True),
    ("openai-agents", openai_agent, True),
    ("pydantic-ai", pydantic_agent, False),
]


@pytest.mark.parametrize(("framework", "make", "audits"), AGENTS, ids=[name for name, _, _ in AGENTS])
def test_what_a_framework_tells_is_a_log(
    provider: Provider, framework: Any, make: Callable[[], Callable[[], str]], audits: bool
) -> None:
    agent = make()
    with agent_eval.trace("runs/", framework) as run:
        answer = agent()
    assert "blue" in answer and run.unseen == []
    assert [(c.tool, c.input, c.status) for c in run.calls][:1] == [("look", {"city": "Graz"}, "ok")]
    assert "Graz is blue" in str(run.calls[0].result)
    assert [c.tool for c in run.calls] == ["look"] + ["audit"] * audits
    agent_eval.judge(run, {"toolsCalled": ["look"], "toolsNotCalled": ["delete_*"]}).check()
    assert agent_eval.judge(run.log, {"toolsNotCalled": ["look"]}).outcome == "fail"
    if audits:
        # No model is told of it: the proxy does not see it.
        assert agent_eval.judge(run, {"toolsNotCalled": ["audit"]}).outcome == "fail"
    else:
        assert run.stop_reason == "success" and "blue" in (run.answer or "")
