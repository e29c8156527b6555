"""What frameworks tell of their tools becomes a log. Each is skipped where it is not installed."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ours
import pytest
from provider import Provider
from test_frameworks import GOAL, look

import agent_eval
from agent_eval import _frameworks, _tracing

Agent = Callable[[bool], str]
"""Asks a model, and with True runs the tool ``audit`` behind that, of which no model is told."""


def langchain_agent() -> Agent:
    chat = pytest.importorskip("langchain_openai")
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    tools = pytest.importorskip("langchain_core.tools")
    agent = prebuilt.create_react_agent(chat.ChatOpenAI(model="fake-1"), [look])

    @tools.tool
    def audit(city: str) -> str:
        """Notes a city."""
        return f"noted {city}"

    def run(audits: bool) -> str:
        answer = agent.invoke({"messages": [("user", GOAL)]})["messages"][-1].content
        if audits:
            audit.invoke({"city": "Graz"})
        return str(answer)

    return run


def openai_agents_agent() -> Agent:
    sdk = pytest.importorskip("agents")
    # Nothing is to go to the service of that SDK; and as in a process in which no block was yet.
    sdk.set_trace_processors([])
    sdk.set_tracing_disabled(False)
    _frameworks._heard_by.clear()

    def run(audits: bool) -> str:
        agent = sdk.Agent(name="looker", instructions="Be brief.", tools=[sdk.function_tool(look)], model="fake-1")
        with sdk.trace("work"):
            answer = str(sdk.Runner.run_sync(agent, GOAL).final_output)
            if audits:
                with sdk.function_span("audit", '{"city": "Graz"}') as span:
                    span.span_data.output = "noted Graz"
        return answer

    return run


def pydantic_agent() -> Agent:
    package = pytest.importorskip("pydantic_ai")
    pytest.importorskip("opentelemetry.sdk")
    agent = package.Agent("openai-chat:fake-1", system_prompt="Be brief.", name="looker")
    agent.tool_plain(look)

    def run(audits: bool) -> str:
        answer = str(agent.run_sync(GOAL).output)
        if audits:
            span = _frameworks._pydantic.get_tracer("own").start_span("execute_tool audit")
            span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "audit"})
            span.set_attributes({"gen_ai.tool.call.arguments": '{"city": "Graz"}', "gen_ai.tool.call.result": "noted"})
            span.end()
        return answer

    return run


def spans_agent() -> Agent:
    """OpenTelemetry alone, by a provider of its own."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    tracer = PROVIDERS.setdefault("own", sdk.TracerProvider()).get_tracer("own")

    def tool(name: str, call: str | None) -> None:
        with tracer.start_as_current_span(f"execute_tool {name}") as span:
            span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
            span.set_attribute("gen_ai.tool.call.arguments", '{"city": "Graz"}')
            span.set_attribute("gen_ai.tool.call.result", "Graz is blue")
            if call is not None:
                span.set_attribute("gen_ai.tool.call.id", call)

    def model(said: list[dict[str, Any]], reply: dict[str, Any]) -> None:
        with tracer.start_as_current_span("chat fake-1") as span:
            span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": "fake-1"})
            span.set_attribute("gen_ai.input.messages", json.dumps(said))
            span.set_attribute("gen_ai.output.messages", json.dumps([{"role": "assistant", **reply}]))

    def run(audits: bool) -> str:
        said: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": GOAL}]}]
        call = {"type": "tool_call", "id": "1", "name": "look", "arguments": {"city": "Graz"}}
        with tracer.start_as_current_span("invoke_agent looker") as span:
            span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "looker"})
            model(said, {"parts": [call], "finish_reason": "tool_call"})
            tool("look", "1")
            model(said, {"parts": [{"type": "text", "content": "blue"}], "finish_reason": "stop"})
            if audits:
                tool("audit", None)
        return "blue"

    return run


PROVIDERS: dict[str, Any] = {}
AGENTS: dict[str, Callable[[], Agent]] = {
    "langchain": langchain_agent,
    "openai-agents": openai_agents_agent,
    "pydantic-ai": pydantic_agent,
    "opentelemetry": spans_agent,
}
every = pytest.mark.parametrize("framework", AGENTS)


def trace(framework: Any, out: str = "runs/") -> Any:
    provider = PROVIDERS["own"] if framework == "opentelemetry" else None
    return agent_eval.trace(out, framework, provider=provider)


@every
def test_what_a_framework_tells_is_a_log(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with trace(framework) as run:
        answer = agent(False)
    assert "blue" in answer and run.unseen == []
    assert [(c.tool, c.input, c.status, c.caller) for c in run.calls] == [("look", {"city": "Graz"}, "ok", "agent")]
    assert "Graz is blue" in str(run.calls[0].result)
    assert run.stop_reason == "success" and "blue" in (run.answer or "")
    agent_eval.judge(run, {"toolsCalled": ["look"], "toolsNotCalled": ["delete_*"], "stopReason": "success"}).check()
    assert agent_eval.judge(run.log, {"toolsNotCalled": ["look"]}).outcome == "fail"


@every
def test_a_tool_that_no_model_asked_for_is_seen(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with agent_eval.record("proxy/") as past, trace(framework) as run:
        agent(True)
    assert [c.tool for c in run.calls] == ["look", "audit"]
    assert agent_eval.judge(run, {"toolsNotCalled": ["audit"]}).outcome == "fail"
    # What the proxy saw.
    assert "audit" not in [c.tool for c in past.calls]


@every
def test_outside_of_blocks_nothing_is_heard(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with trace(framework) as first:
        agent(False)
    agent(True)
    with trace(framework) as second:
        agent(False)
    assert [c.tool for c in first.calls] == ["look"] == [c.tool for c in second.calls]


@every
def test_where_nothing_is_told_there_is_no_log(provider: Provider, framework: str) -> None:
    AGENTS[framework]()
    with pytest.raises(agent_eval.NotSeen, match=f"{framework} told nothing"), trace(framework) as run:
        pass
    assert not run.log.exists()


@every
def test_an_exception_goes_on_and_is_how_the_run_ended(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with pytest.raises(ZeroDivisionError), trace(framework) as run:
        agent(False)
        1 / 0  # noqa: B018
    assert (run.stop_reason, run.stop_detail) == ("tool_failure", "ZeroDivisionError: division by zero")
    with pytest.raises(KeyboardInterrupt), trace(framework) as run:
        agent(False)
        raise KeyboardInterrupt
    assert run.stop_reason == "cancelled"


# The clients of the others belong to one loop.
@pytest.mark.parametrize("framework", ["langchain", "opentelemetry"])
def test_several_at_once_are_each_a_run_of_its_own(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    together = threading.Barrier(3)

    def one(audits: bool) -> agent_eval.Trace:
        with trace(framework) as run:
            together.wait(30)
            agent(audits)
            together.wait(30)
        return run

    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(one, [False, True, False]))
    assert [[c.tool for c in run.calls] for run in runs] == [["look"], ["look", "audit"], ["look"]]
    assert not any(run.unseen for run in runs)


@every
def test_what_belongs_to_none_of_several_makes_each_of_them_less_than_whole(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with trace(framework) as first, trace(framework) as second:
        agent(False)
        stranger = threading.Thread(target=lambda: contextvars.Context().run(agent, True))
        stranger.start()
        stranger.join()
        token = _tracing._current.set(first)
        agent(False)
        _tracing._current.reset(token)
    for run in (first, second):
        assert any("context of no trace" in line for line in run.unseen)
        assert [c.tool for c in run.calls] == ["look"]
        assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"
        assert agent_eval.judge(run, {"toolsNotCalled": ["look"]}).outcome == "fail"


@every
def test_a_single_trace_hears_threads_without_its_context(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()
    with trace(framework) as run:
        stranger = threading.Thread(target=lambda: contextvars.Context().run(agent, False))
        stranger.start()
        stranger.join()
    assert [c.tool for c in run.calls] == ["look"]


@pytest.mark.parametrize(("limit", "most"), [("_MOST_SPANS", 3), ("_MOST_BYTES", 2000)])
def test_beyond_its_bounds_a_trace_says_that_it_is_not_whole(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    agent = spans_agent()
    monkeypatch.setattr(_tracing, limit, most)
    with trace("opentelemetry") as run:
        for _ in range(20):
            agent(False)
    assert any("more than" in line for line in run.unseen)
    assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"


@pytest.mark.parametrize(
    ("error", "reason"), [(SystemExit(0), "success"), (SystemExit(3), "tool_failure"), (SystemExit(256), "tool_failure")]
)
def test_an_exit_is_what_it_is_in_a_recording(error: BaseException, reason: str) -> None:
    agent = spans_agent()
    with pytest.raises(type(error)):
        with trace("opentelemetry") as run:
            agent(False)
            raise error
    assert run.stop_reason == reason


def test_what_began_and_did_not_end_makes_a_trace_less_than_whole() -> None:
    agent = spans_agent()
    with trace("opentelemetry") as run:
        agent(False)
        open_span = PROVIDERS["own"].get_tracer("own").start_span("execute_tool delete_all")
    open_span.end()
    assert run.unseen == ["execute_tool delete_all began, and nothing tells its end"]
    assert agent_eval.judge(run.log, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"


def test_a_sampler_that_may_leave_spans_out_makes_a_trace_less_than_whole() -> None:
    sdk, sampling = pytest.importorskip("opentelemetry.sdk.trace"), pytest.importorskip("opentelemetry.sdk.trace.sampling")
    provider = sdk.TracerProvider(sampling.TraceIdRatioBased(1.0))
    with agent_eval.trace("runs/", "opentelemetry", provider=provider) as run:
        with provider.get_tracer("own").start_as_current_span("execute_tool look") as span:
            span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})
    assert "TraceIdRatioBased" in run.unseen[0]
    assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"


def test_a_run_with_tracing_turned_off_makes_a_trace_less_than_whole(provider: Provider) -> None:
    agent = openai_agents_agent()
    sdk = pytest.importorskip("agents")
    silent = sdk.Agent(name="looker", tools=[sdk.function_tool(look)], model="fake-1")
    with trace("openai-agents") as run:
        agent(False)
        sdk.Runner.run_sync(silent, GOAL, run_config=sdk.RunConfig(tracing_disabled=True))
    assert len(run.calls) == 1 and "tracing of openai-agents turned off" in run.unseen[0]
    assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"
    with trace("openai-agents") as run:
        agent(False)
    assert run.unseen == []


def test_an_agent_with_instrumentation_of_its_own_makes_a_trace_less_than_whole(provider: Provider) -> None:
    agent = pydantic_agent()
    silent = pytest.importorskip("pydantic_ai").Agent("openai-chat:fake-1")
    silent.instrument = False
    silent.tool_plain(look)
    with trace("pydantic-ai") as run:
        agent(False)
        silent.run_sync(GOAL)
    assert len(run.calls) == 1 and "instrumentation of its own" in run.unseen[0]
    assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"
    with trace("pydantic-ai") as run:
        agent(False)
    assert run.unseen == []


def test_tools_that_fail_are_errors() -> None:
    tools = pytest.importorskip("langchain_core.tools")

    @tools.tool
    def refuse(city: str) -> str:
        """Fails."""
        raise ValueError(f"no {city}")

    with agent_eval.trace("runs/", "langchain") as run:
        with pytest.raises(ValueError):
            refuse.invoke({"city": "Graz"})
    assert [(c.tool, c.input, c.status) for c in run.calls] == [("refuse", {"city": "Graz"}, "error")]
    assert "no Graz" in str(run.calls[0].result)


class Mute(Exception):
    """Says nothing of itself."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_an_exception_goes_on_whatever_its_own_text_raises() -> None:
    provider = pytest.importorskip("opentelemetry.sdk.trace").TracerProvider()
    for error in (Mute(), ValueError("\ud800")):
        with pytest.raises(type(error)) as raised:
            with agent_eval.trace("runs/", "opentelemetry", provider=provider) as run:
                with provider.get_tracer("t").start_as_current_span("execute_tool look") as span:
                    span.set_attribute("gen_ai.operation.name", "execute_tool")
                raise error
        assert raised.value is error and run.stop_reason == "tool_failure"


def test_a_value_that_says_nothing_of_itself_is_told_by_its_class() -> None:
    from agent_eval import _tracing

    assert "Mute object at" in _tracing.text({"a": [Mute()]})


@pytest.mark.parametrize("framework", ["openai-agents", "pydantic-ai", "opentelemetry"])
@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_tool_that_was_cancelled_did_not_end_well(provider: Provider, framework: str, is_cancelled: bool) -> None:
    modules = {"openai-agents": "agents", "pydantic-ai": "pydantic_ai"}
    pytest.importorskip(modules.get(framework, "opentelemetry.sdk.trace"))
    named: dict[str, Any] = {}
    begun = asyncio.Event()

    async def look(city: str) -> None:
        """What colour a city is."""
        begun.set()
        await asyncio.sleep(60 if is_cancelled else 0)

    async def run_agent() -> None:
        try:
            # What is handled around an agent is no end of its tools.
            raise LookupError("another way was tried before")
        except LookupError:
            if framework == "openai-agents":
                sdk = pytest.importorskip("agents")
                # The client that the SDK shares would keep connections of this loop for other tests.
                client = pytest.importorskip("openai").AsyncOpenAI()
                model = sdk.OpenAIChatCompletionsModel(model="m", openai_client=client)
                agent = sdk.Agent(name="a", tools=[sdk.function_tool(look)], model=model)
                await sdk.Runner.run(agent, "Graz?", max_turns=2)
            elif framework == "pydantic-ai":
                kind = pytest.importorskip("pydantic_ai")
                limits = kind.UsageLimits(request_limit=2)
                await kind.Agent("openai-chat:m", tools=[look]).run("Graz?", usage_limits=limits)
            else:
                with named["provider"].get_tracer("t").start_as_current_span("execute_tool look") as span:
                    span.set_attribute("gen_ai.operation.name", "execute_tool")
                    span.set_attribute("gen_ai.tool.name", "look")
                    await look("Graz")

    async def main() -> None:
        nonlocal begun
        begun = asyncio.Event()
        task = asyncio.ensure_future(run_agent())
        await begun.wait()
        if is_cancelled:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            # A model that is told nothing asks again and again.
            task.exception()

    if framework == "openai-agents":
        pytest.importorskip("agents").set_trace_processors([])
    if framework == "opentelemetry":
        named["provider"] = pytest.importorskip("opentelemetry.sdk.trace").TracerProvider()
    with agent_eval.trace("runs/", framework, **named) as run:
        asyncio.run(main())
    ended = [call.status for call in run.calls if call.status is not None]
    assert set(ended) == ({"error"} if is_cancelled else {"ok"}) or (framework, ended) == ("opentelemetry", ["returned"])


def test_results_of_any_kind_are_told() -> None:
    tools = pytest.importorskip("langchain_core.tools")

    class Odd:
        def __repr__(self) -> str:
            return "<odd>"

    results: list[Any] = [{"a": [1, None]}, ["x"], 3, "", None, Odd(), {1: float("nan")}, "\ud800", b"\xff"]

    @tools.tool
    def give(number: int) -> Any:
        """Gives something."""
        return results[number]

    with agent_eval.trace("runs/", "langchain") as run:
        for number in range(len(results)):
            give.invoke({"number": number})
    assert run.unseen == [] and [c.input for c in run.calls] == [{"number": n} for n in range(len(results))]
    assert [c.status for c in run.calls] == ["ok"] * len(results)


def test_what_cannot_be_is_said_before_the_block_runs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for given in ("langsmith", None):
        with pytest.raises(ValueError, match="it is one of langchain, openai-agents"):
            agent_eval.trace("runs/", given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="provider is for opentelemetry"):
        agent_eval.trace("runs/", "langchain", provider=object())
    pytest.importorskip("opentelemetry.sdk.trace")
    with pytest.raises(agent_eval.AgentEvalError, match="no TracerProvider"):
        with agent_eval.trace("runs/", "opentelemetry", provider=object()):
            pytest.fail("it began")
    monkeypatch.setenv("AGENT_EVAL_BINARY", str(folder / "none"))
    with pytest.raises(agent_eval.ProgramNotFound):
        with agent_eval.trace("runs/", "opentelemetry"):
            pytest.fail("it began")
    assert not _tracing._open


def test_agents_that_are_instrumented_already_are_left_as_they_are() -> None:
    package = pytest.importorskip("pydantic_ai")
    package.Agent.instrument_all()
    try:
        with pytest.raises(agent_eval.AgentEvalError, match="instrumented in this process already"):
            with agent_eval.trace("runs/", "pydantic-ai"):
                pytest.fail("it began")
    finally:
        package.Agent.instrument_all(False)


@every
def test_a_coroutine_is_traced_and_may_be_cancelled(provider: Provider, framework: str) -> None:
    agent = AGENTS[framework]()

    async def main() -> agent_eval.Trace:
        async with trace(framework) as run:
            await asyncio.to_thread(agent, False)
        return run

    assert [c.tool for c in asyncio.run(main()).calls] == ["look"]


def test_several_tasks_at_once_are_each_a_run_of_its_own(provider: Provider) -> None:
    sdk, package = pytest.importorskip("agents"), pytest.importorskip("pydantic_ai")
    openai_agents_agent()
    first = sdk.Agent(name="looker", tools=[sdk.function_tool(look)], model="fake-1")
    second = package.Agent("openai-chat:fake-1")
    second.tool_plain(look)

    async def one(framework: Any, number: int) -> agent_eval.Trace:
        async with agent_eval.trace("runs/", framework) as run:
            await asyncio.sleep(0)
            goal = f"{GOAL} ({number})"
            await (sdk.Runner.run(first, goal) if framework == "openai-agents" else second.run(goal))
        return run

    async def main() -> list[agent_eval.Trace]:
        return await asyncio.gather(*(one(f, n) for f in ("openai-agents", "pydantic-ai") for n in range(3)))

    runs = asyncio.run(main())
    assert [[c.tool for c in run.calls] for run in runs] == [["look"]] * 6
    assert [run.answer for run in runs] == [f"blue, {GOAL} ({n})" for n in range(3)] * 2
    assert not any(run.unseen for run in runs)
    assert package.Agent._instrument_default is False


def test_an_agent_as_a_tool_is_a_caller_of_its_own(provider: Provider) -> None:
    sdk = pytest.importorskip("agents")
    openai_agents_agent()
    inner = sdk.Agent(name="inner", instructions="You look.", tools=[sdk.function_tool(look)], model="fake-1")
    tool = inner.as_tool(tool_name="delegate", tool_description="Asks somebody else.")
    outer = sdk.Agent(name="outer", instructions="You delegate.", tools=[tool], model="fake-1")
    with agent_eval.trace("runs/", "openai-agents") as run:
        sdk.Runner.run_sync(outer, GOAL)
    assert {(call.tool, call.caller, call.status) for call in run.calls} == {
        ("delegate", "agent", "ok"),
        ("look", "inner", "ok"),
    }
    assert run.stop_reason == "success"


def test_without_a_log_a_trace_is_read_as_one_that_is_missing() -> None:
    pytest.importorskip("langchain_core")
    with pytest.raises(agent_eval.NotSeen):
        with agent_eval.trace("runs/", "langchain") as run:
            pass
    with pytest.raises(agent_eval.LogError):
        agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]})
    with pytest.raises(agent_eval.LogError):
        assert run.calls


def claude(hooks: Any, boom: bool = False) -> str:
    sdk = pytest.importorskip("claude_agent_sdk")

    @sdk.tool("look", "What colour a city is.", ours.SCHEMA)
    async def see(given: dict[str, str]) -> dict[str, object]:
        if boom:
            raise ValueError("blue is out")
        return {"content": [{"type": "text", "text": look(**given)}]}

    options = sdk.ClaudeAgentOptions(
        model="fake-1", system_prompt="Be brief.", tools=[], allowed_tools=["mcp__t__look"], hooks=hooks, max_turns=3,
        mcp_servers={"t": sdk.create_sdk_mcp_server("t", tools=[see])}, setting_sources=[],
    )  # fmt: skip

    async def main() -> str:
        said = ""
        async for message in sdk.query(prompt=GOAL, options=options):
            if isinstance(message, sdk.AssistantMessage):
                said = "".join(b.text for b in message.content if isinstance(b, sdk.TextBlock)) or said
        return said

    return asyncio.run(main())


@pytest.mark.parametrize("boom", [False, True])
def test_hooks_tell_what_tools_do(provider: Provider, boom: bool) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    heard: list[str] = []

    async def mine(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        heard.append(given["tool_name"])
        return {}

    others = {"PreToolUse": [sdk.HookMatcher(hooks=[mine])]}
    with agent_eval.trace("runs/", "claude-agent-sdk") as run:
        answer = claude(run.hooks(others), boom)
    assert "blue" in answer and heard == ["mcp__t__look"] and len(others["PreToolUse"]) == 1
    [found] = run.calls
    assert (found.tool, found.input, found.status) == ("mcp__t__look", {"city": "Graz"}, "error" if boom else "ok")
    assert "blue" in str(found.result) and run.stop_reason == "success" and "blue" in (run.answer or "")
    agent_eval.judge(run, {"toolsCalled": ["*look"], "stopReason": "success"}).check()
    assert agent_eval.judge(run, {"toolsNotCalled": ["*look"]}).outcome == "fail"
    # A model may have asked for what no hook is told of.
    assert agent_eval.judge(run, {"toolsNotProposed": ["delete_*"]}).outcome == "inconclusive"


def use(event: str, key: str, tool: str = "Read", **members: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "tool_use_id": key, "tool_name": tool, "tool_input": {"n": key}, **members}


def test_a_call_whose_beginning_no_hook_told_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = types.SimpleNamespace(HookMatcher=lambda hooks: types.SimpleNamespace(hooks=hooks))
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", sdk)  # type: ignore[arg-type]
    with agent_eval.trace("runs/", "claude-agent-sdk") as run:
        hook = run.hooks()["PostToolUse"][0].hooks[0]
        asyncio.run(hook(use("PostToolUse", "r", tool_response="found"), "r", None))
        asyncio.run(hook(use("PostToolUseFailure", "f", error="no"), "f", None))
    assert [(c.tool, c.status) for c in run.calls] == [("Read", "ok"), ("Read", "error")]


def test_hooks_of_sub_agents_and_of_calls_that_never_ran() -> None:
    pytest.importorskip("claude_agent_sdk")
    task = {**use("PreToolUse", "t", "Agent"), "tool_input": {"subagent_type": "finder", "prompt": "find"}}
    within = {"agent_id": "a1", "agent_type": "finder"}
    with agent_eval.trace("runs/", "claude-agent-sdk") as run:
        hook = run.hooks()["PreToolUse"][0].hooks[0]

        async def main() -> None:
            for event in (
                task,
                use("PreToolUse", "r", **within),
                use("PostToolUse", "r", tool_response="found", **within),
                {**task, "hook_event_name": "PostToolUse", "tool_response": {"content": "done"}},
                use("PreToolUse", "d", "Bash"),
                {"hook_event_name": "PostToolUse"},
            ):
                assert await hook(event, None, None) == {}

        asyncio.run(main())
    assert {(c.tool, c.caller) for c in run.calls} == {("Agent", "agent"), ("Read", "Agent")}
    assert "Bash began, and nothing tells its end" in run.unseen
    assert any("could not be read" in line for line in run.unseen) and run.stop_reason is None
    assert agent_eval.judge(run, {"toolsNotCalled": ["Bash"]}).outcome == "inconclusive"
