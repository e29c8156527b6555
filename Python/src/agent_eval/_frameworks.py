"""How frameworks tell what they do: a callback handler, a processor of traces, a processor of spans, hooks.

Each is registered in its framework once and sorts what it hears to the traces that are open (``_tracing.py``); outside of
blocks it does nothing. Frameworks are imported when they are asked for, and a framework whose own code fails here goes
on: what was not taken is named.
"""

from __future__ import annotations

import functools
import json
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ._errors import AgentEvalError
from ._tracing import Trace, of_context, of_span, text

Remove = Callable[[], None]


def _need(module: str, package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise AgentEvalError(f"{package} cannot be imported ({error}): install it in this Python") from error


def _nothing() -> None:
    pass


# LangChain and LangGraph


class _OfContext:
    """Stands where LangChain has a variable of the context for a handler: it is asked at the beginning of each run."""

    def get(self) -> Any:
        found = of_context("langchain")
        return _handlers.get(found) if found is not None else None


_handlers: weakref.WeakKeyDictionary[Trace, Any] = weakref.WeakKeyDictionary()
_handler_class: Any = None


def _langchain(trace: Trace, provider: Any) -> Remove:
    global _handler_class
    base = _need("langchain_core.tracers.base", "langchain-core").BaseTracer
    if _handler_class is None:
        _handler_class = _make_handler(base)
        _need("langchain_core.tracers.context", "langchain-core").register_configure_hook(
            _OfContext(), True, _handler_class
        )
    _handlers[trace] = _handler_class(trace)
    return _nothing


def _make_handler(base: Any) -> Any:
    class Handler(base):  # type: ignore[misc]
        """Hears every run of a model, a tool and a chain."""

        # In the thread that runs, so that nothing is heard behind the end of a block.
        run_inline = True

        def __init__(self, trace: Trace | None = None) -> None:
            super().__init__(_schema_format="original+chat")
            self._to = trace

        def _persist_run(self, run: Any) -> None:
            pass

        def _on_run_create(self, run: Any) -> None:
            if self._to is not None:
                parent = str(run.parent_run_id) if run.parent_run_id else None
                self._to._begin(str(run.id), run.name or run.run_type, parent, _nanoseconds(run.start_time))

        def _on_run_update(self, run: Any) -> None:
            if self._to is not None:
                self._to._finish(str(run.id), _of_run(run), end=_nanoseconds(run.end_time), error=run.error)

    return Handler


def _of_run(run: Any) -> dict[str, Any]:
    kind = "llm" if run.run_type == "chat_model" else run.run_type
    told: dict[str, Any] = {"langsmith.span.kind": kind}
    if kind == "llm":
        told["gen_ai.request.model"] = ((run.extra or {}).get("metadata") or {}).get("ls_model_name")
    # Chains repeat the messages of the models in them.
    if kind in ("llm", "tool"):
        told["langsmith.inputs"] = _dumped(run.inputs)
        told["langsmith.outputs"] = _dumped(run.outputs) if run.outputs is not None else None
    if kind == "tool":
        told["gen_ai.tool.name"] = run.name
        if run.error is not None:
            told["langsmith.outputs"] = None
        elif run.outputs is not None:
            # It stands in a mapping of its own.
            output = run.outputs.get("output")
            told["langsmith.outputs"] = output if isinstance(output, str) else _dumped(output)
        told["langsmith.tool_call_id"] = (run.extra or {}).get("tool_call_id")
    return told


def _dumped(given: Any) -> str:
    """In LangChain's own form of its objects."""
    from langchain_core.load import dumpd

    try:
        # Messages of models are in that form already, in what else stands around them.
        return json.dumps(given, default=dumpd, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return text(given)


def _nanoseconds(moment: datetime | None) -> int:
    return time.time_ns() if moment is None else int(moment.timestamp() * 1_000_000) * 1000


# The SDK of OpenAI's agents


_heard_by: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _openai_agents(trace: Trace, provider: Any) -> Remove:
    tracing = _need("agents.tracing", "openai-agents")
    own = tracing.get_trace_provider()
    processors = getattr(getattr(own, "_multi_processor", None), "_processors", None)
    # set_trace_processors(…) takes away those that there were.
    if own not in _heard_by or (processors is not None and _heard_by[own] not in processors):
        _heard_by[own] = _heard_by.get(own) or _make_processor(tracing.TracingProcessor)
        own.register_processor(_heard_by[own])
        _note_unheard_spans(own)
    return _nothing


def _note_unheard_spans(provider: Any) -> None:
    """Has a trace say that it lacks what is done with tracing turned off, of which no processor hears."""
    create = provider.create_span
    if hasattr(create, "_agent_eval"):
        return

    @functools.wraps(create)
    def create_span(*arguments: Any, **named: Any) -> Any:
        made = create(*arguments, **named)
        if type(made).__name__ == "NoOpSpan" and (to := of_context("openai-agents")) is not None:
            to._lack("something was done with the tracing of openai-agents turned off")
        return made

    create_span._agent_eval = True  # type: ignore[attr-defined]
    provider.create_span = create_span


def _make_processor(base: Any) -> Any:
    class Processor(base):  # type: ignore[misc]
        """Hears every span."""

        def on_trace_start(self, trace: Any) -> None:
            pass

        def on_trace_end(self, trace: Any) -> None:
            pass

        def on_span_start(self, span: Any) -> None:
            to = of_span("openai-agents", span.parent_id) or of_context("openai-agents")
            if to is not None:
                to._begin(span.span_id, getattr(span.span_data, "name", None) or span.span_data.type, span.parent_id)

        def on_span_end(self, span: Any) -> None:
            to = of_span("openai-agents", span.span_id)
            if to is not None:
                error = (span.error or {}).get("message", "failed") if span.error else None
                if error is None and span.span_data.type == "function" and span.span_data.output is None:
                    error = to._broken_by(span.span_id)
                to._finish(span.span_id, _of_agents(span.span_data), error=error)

        def shutdown(self) -> None:
            pass

        def force_flush(self) -> None:
            pass

    return Processor()


def _of_agents(data: Any) -> dict[str, Any]:
    kind = data.type
    if kind == "agent":
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": data.name}
    if kind == "function":
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": data.name,
            "gen_ai.tool.call.arguments": data.input,
            "gen_ai.tool.call.result": None if data.output is None else _text(data.output),
        }
    if kind == "generation":
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": None if data.input is None else text(data.input),
            "gen_ai.output.messages": None if data.output is None else text(data.output),
            "gen_ai.request.model": data.model,
            "langsmith.usage_metadata": None if data.usage is None else text(data.usage),
        }
    if kind == "response":
        response = data.response
        asked = [{"role": "user", "content": data.input}] if isinstance(data.input, str) else data.input
        system = getattr(response, "instructions", None)
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": None if asked is None else text(asked),
            "gen_ai.system_instructions": system if isinstance(system, str) else None,
            "gen_ai.output.messages": None if response is None else text(response.output),
            "gen_ai.request.model": getattr(response, "model", None),
            "gen_ai.response.id": getattr(response, "id", None),
            "langsmith.usage_metadata": text(response.usage) if getattr(response, "usage", None) else None,
        }
    if kind == "handoff":
        return {
            "gen_ai.operation.name": "handoff",
            "gen_ai.handoff.from_agent": data.from_agent,
            "gen_ai.handoff.to_agent": data.to_agent,
        }
    return {"gen_ai.operation.name": "guardrail_check" if kind == "guardrail" else "unknown"}


def _text(given: Any) -> str:
    return given if isinstance(given, str) else text(given)


# OpenTelemetry, and pydantic-ai by it


_providers: weakref.WeakSet[Any] = weakref.WeakSet()
_pydantic: Any = None
_pydantic_blocks = 0


def _opentelemetry(trace: Trace, provider: Any) -> Remove:
    api = _need("opentelemetry.trace", "opentelemetry-api")
    _need("opentelemetry.sdk.trace", "opentelemetry-sdk")
    found = provider if provider is not None else api.get_tracer_provider()
    _listen(found, "opentelemetry")
    sampler = getattr(found, "sampler", None)
    described = sampler.get_description() if sampler is not None else "unknown"
    if not described.startswith(("AlwaysOnSampler", "ParentBased{root:AlwaysOnSampler")):
        trace._lack(f"the sampler ({described}) may leave spans out")
    return _nothing


def _listen(provider: Any, framework: str) -> None:
    if not hasattr(provider, "add_span_processor"):
        raise AgentEvalError(
            "This process has no TracerProvider of OpenTelemetry's SDK: set one with "
            "opentelemetry.trace.set_tracer_provider(…) before the block, or name it with trace(…, provider=…)"
        )
    if provider not in _providers:
        provider.add_span_processor(_make_span_processor(framework))
        _providers.add(provider)


def _make_span_processor(framework: str) -> Any:
    class Processor(_need("opentelemetry.sdk.trace", "opentelemetry-sdk").SpanProcessor):  # type: ignore[misc]
        """Hears every span that is sampled."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            key, parent = _key(span.context), _key(span.parent)
            to = of_span(framework, parent) or of_context(framework)
            if to is not None and key is not None:
                to._begin(key, span.name, parent, span.start_time)

        def on_end(self, span: Any) -> None:
            key = _key(span.context)
            to = of_span(framework, key)
            if to is None or key is None:
                return
            error = (span.status.description or "failed") if span.status.status_code.name == "ERROR" else None
            if error is None and _is_tool(span.attributes or {}):
                error = to._broken_by(key)
            further = {
                "droppedAttributesCount": span.dropped_attributes,
                "events": [
                    {"name": e.name, "timeUnixNano": str(e.timestamp), "attributes": _attributes(e.attributes)}
                    for e in span.events
                ],
            }
            to._finish(key, span.attributes or {}, name=span.name, end=span.end_time, error=error, further=further)

    return Processor()


def _is_tool(attributes: Mapping[str, Any]) -> bool:
    kinds = (attributes.get("gen_ai.operation.name"), attributes.get("openinference.span.kind"))
    return "execute_tool" in kinds or "TOOL" in kinds


def _key(context: Any) -> str | None:
    return None if context is None else f"{context.trace_id:032x}{context.span_id:016x}"


def _attributes(given: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    from ._tracing import value

    return [{"key": key, "value": value(item)} for key, item in (given or {}).items()]


def _pydantic_ai(trace: Trace, provider: Any) -> Remove:
    """Instruments all agents that have no instrumentation of their own, for as long as a block lasts."""
    global _pydantic, _pydantic_blocks
    package = _need("pydantic_ai", "pydantic-ai")
    sdk = _need("opentelemetry.sdk.trace", "opentelemetry-sdk")
    if _pydantic_blocks == 0:
        if getattr(package.Agent, "_instrument_default", False):
            raise AgentEvalError(
                "Agents of pydantic-ai are instrumented in this process already: take "
                "trace(…, 'opentelemetry', provider=…) with the provider that their spans go to"
            )
        if _pydantic is None:
            _pydantic = sdk.TracerProvider(_need("opentelemetry.sdk.trace.sampling", "opentelemetry-sdk").ALWAYS_ON)
            _listen(_pydantic, "pydantic-ai")
        package.Agent.instrument_all(package.InstrumentationSettings(tracer_provider=_pydantic))
        _note_unheard_agents(package.Agent)
    _pydantic_blocks += 1

    def remove() -> None:
        global _pydantic_blocks
        _pydantic_blocks -= 1
        if _pydantic_blocks == 0:
            package.Agent.instrument_all(False)

    return remove


def _note_unheard_agents(kind: Any) -> None:
    """Has a trace say that it lacks the runs of agents with instrumentation of their own, which tell it nothing."""
    begin = kind.iter
    if hasattr(begin, "_agent_eval"):
        return

    @functools.wraps(begin)
    def iterate(self: Any, *arguments: Any, **named: Any) -> Any:
        is_own = getattr(self, "instrument", None) is not None
        is_own = is_own or type(getattr(self, "model", None)).__name__ == "InstrumentedModel"
        if is_own and (to := of_context("pydantic-ai")) is not None:
            to._lack("an agent ran that has instrumentation of its own")
        return begin(self, *arguments, **named)

    iterate._agent_eval = True  # type: ignore[attr-defined]
    kind.iter = iterate


# The SDK of Claude's agents


def _claude(trace: Trace, provider: Any) -> Remove:
    _need("claude_agent_sdk", "claude-agent-sdk")
    # A call with wrong arguments, or of a tool that is not there, is refused before any hook.
    trace._lack("hooks are told of calls that may run, not of all that a model asks for")
    return _nothing


def claude_hooks(trace: Trace, others: Mapping[Any, list[Any]]) -> dict[Any, list[Any]]:
    """Hooks that tell a trace what tools are given and what comes of them."""
    sdk = _need("claude_agent_sdk", "claude-agent-sdk")
    hears = _ClaudeHooks(trace)
    made = {event: list(matchers) for event, matchers in others.items()}
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"):
        made.setdefault(event, []).append(sdk.HookMatcher(hooks=[hears.hear]))
    return made


class _ClaudeHooks:
    def __init__(self, trace: Trace) -> None:
        self._to = trace
        self._asked: dict[str, Mapping[str, Any]] = {}
        self._prompts: list[str] = []

    async def hear(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Says nothing of its own to the agent, whatever happens."""
        try:
            self._take(given)
        except Exception as error:  # noqa: BLE001 - an agent does not fail by who looks at it
            self._to._lack(f"a hook could not be read: {error!r}")
        return {}

    def _take(self, given: Mapping[str, Any]) -> None:
        event = given["hook_event_name"]
        if event == "UserPromptSubmit":
            self._prompts.append(given["prompt"])
            return
        if event == "Stop":
            self._reply(given.get("last_assistant_message"))
            self._to._ended_by = "claude:Stop"
            return
        key, self._to._ended_by = given["tool_use_id"], None
        if event == "PreToolUse":
            self._asked[key] = given
            self._to._begin(key, given["tool_name"], self._caller(given))
            return
        if self._asked.pop(key, None) is None:
            # It began before the block, or nothing told of that: it ran all the same.
            self._to._begin(key, given["tool_name"], self._caller(given))
        failed = event == "PostToolUseFailure"
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": given["tool_name"],
            "gen_ai.tool.call.id": key,
            "gen_ai.tool.call.arguments": text(given["tool_input"]),
            "gen_ai.tool.call.result": None if failed else _text(given.get("tool_response")),
        }
        self._to._finish(key, told, error=str(given.get("error") or "failed") if failed else None)

    def _caller(self, given: Mapping[str, Any]) -> str | None:
        """The call by which a sub-agent runs, of whose kind only one may be under way."""
        kind = given.get("agent_type")
        if not given.get("agent_id") or kind is None:
            return None
        found = [k for k, asked in self._asked.items() if asked["tool_input"].get("subagent_type") == kind]
        return found[0] if len(found) == 1 else None

    def _reply(self, said: str | None) -> None:
        if not said:
            return
        key = str(uuid.uuid4())
        self._to._begin(key, "reply", None)
        asked = [{"role": "user", "content": prompt} for prompt in self._prompts]
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": text(asked) if asked else None,
            "gen_ai.output.messages": text([{"role": "assistant", "content": said}]),
        }
        self._to._finish(key, told)


INSTALL: Mapping[str, Callable[[Trace, Any], Remove]] = {
    "langchain": _langchain,
    "openai-agents": _openai_agents,
    "pydantic-ai": _pydantic_ai,
    "opentelemetry": _opentelemetry,
    "claude-agent-sdk": _claude,
}
