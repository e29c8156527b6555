"""What a call takes longer within a block, in microseconds: medians of calls to a server of this machine, and of tools.

``python tests/overhead.py``. The program is taken from AGENT_EVAL_BINARY, or from PATH.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from provider import Provider

import agent_eval

ROUNDS = 12
TIMES = 60


def take(act: Callable[[], object], into: list[float]) -> None:
    for _ in range(5):
        act()
    for _ in range(TIMES):
        begin = time.perf_counter_ns()
        act()
        into.append((time.perf_counter_ns() - begin) / 1000)


def tell(what: str, act: Callable[[], object], block: Callable[[], Any]) -> None:
    """In turns, so that other work of the machine is in both."""
    without: list[float] = []
    within: list[float] = []
    for _ in range(ROUNDS):
        take(act, without)
        with block():
            take(act, within)
    none, some = statistics.median(without), statistics.median(within)
    print(f"{what}: {none:.0f} µs without, {some:.0f} µs within, {some - none:+.0f} µs")


def main() -> None:
    provider = Provider()
    os.environ.update(OPENAI_BASE_URL=provider.url + "/v1", OPENAI_API_KEY="sk-none")
    with tempfile.TemporaryDirectory() as folder:
        from openai import OpenAI

        client = OpenAI()

        def ask() -> Any:
            return client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": "?"}])

        tell("a model by the proxy (record)", ask, lambda: agent_eval.record(folder))
        tools(folder)
    provider.close()


def tools(folder: str) -> None:
    made: list[tuple[Any, Callable[[], object]]] = []
    if importlib.util.find_spec("langchain_core"):
        from langchain_core.tools import tool

        @tool
        def look(city: str) -> str:
            """What colour a city is."""
            return f"{city} is blue"

        made.append(("langchain", lambda: look.invoke({"city": "Graz"})))
    if importlib.util.find_spec("agents"):
        from agents.tracing import function_span, set_trace_processors, trace

        set_trace_processors([])

        def act() -> None:
            with function_span("look", '{"city": "Graz"}') as span:
                span.span_data.output = "Graz is blue"

        made.append(("openai-agents", act))
    if importlib.util.find_spec("opentelemetry.sdk"):
        from opentelemetry import trace as api
        from opentelemetry.sdk.trace import TracerProvider

        api.set_tracer_provider(TracerProvider())
        tracer = api.get_tracer("overhead")

        def span() -> None:
            with tracer.start_as_current_span("execute_tool look") as one:
                one.set_attribute("gen_ai.operation.name", "execute_tool")
                one.set_attribute("gen_ai.tool.name", "look")

        made.append(("opentelemetry", span))
    for framework, act in made:
        with contextlib.ExitStack() as around:
            if framework == "openai-agents":
                around.enter_context(trace("work"))
            tell(f"a tool of {framework} (trace)", act, functools.partial(agent_eval.trace, folder, framework))


if __name__ == "__main__":
    main()
