"""Takes what a framework tells of its models and tools, and makes a log of it by the program's own import.

Each framework tells it in its own way (``_frameworks.py``); here it is kept as spans of OpenTelemetry, which ``agent-eval
import`` reads. Nothing is judged, paired or left out here. Why it is no part of what ``record`` writes stands in
Docs/decisions/0029-a-framework-is-a-witness-of-its-own.md.
"""

from __future__ import annotations

import contextvars
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ._errors import AgentEvalError, NotSeen, ProgramFailed
from ._program import call, path_of, plain, printed, program
from ._recording import Run, _ended, _exit_code, _is_cancelling, _log_path

Framework = Literal["langchain", "openai-agents", "pydantic-ai", "opentelemetry", "claude-agent-sdk"]

# What the program's import takes of one file, with room to spare.
_MOST_SPANS = 100_000
_MOST_BYTES = 192 * 1024 * 1024
_MOST_TOLD = 20

_current: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("agent_eval_trace", default=None)
_open: list[Trace] = []


def of_context(framework: str) -> Trace | None:
    """The trace that what begins here belongs to: the one of this context, else the only one that is open.

    Where several are open and none of them is this context's, each of them says that it lacks something.
    """
    mine = _current.get()
    if mine is not None and mine._framework == framework and mine in _open:
        return mine
    candidates = [t for t in tuple(_open) if t._framework == framework]
    if len(candidates) == 1:
        return candidates[0]
    for candidate in candidates:
        candidate._lack("something began in a context of no trace, while several were open")
    return None


def of_span(framework: str, key: str | None) -> Trace | None:
    """The open trace that has a span; none has that of no name."""
    if key is None:
        return None
    return next((t for t in tuple(_open) if t._framework == framework and key in t._ids), None)


class Trace(Run):
    """A run as its framework tells it; made by ``trace``. Behind its block it is read and judged as a ``Run`` is."""

    def __init__(self, log: Path, framework: str, name: str) -> None:
        super().__init__(log)
        self._framework = framework
        self._lock = threading.Lock()
        # Ids of this trace for the framework's, of what began; the root has that of None.
        self._ids: dict[str | None, str] = {None: f"{1:016x}"}
        self._begun: dict[str, tuple[str, str | None, int, int]] = {}
        self._spans: list[str] = []
        self._bytes = 0
        self._lost: dict[str, int] = {}
        self._name = name
        self._began = time.time_ns()
        self._ended_by: str | None = None

    def __repr__(self) -> str:
        return f"<Trace {self._log}>"

    @property
    def unseen(self) -> list[str]:
        """What the framework told of and is not in the log whole. With any, nothing that speaks against calls passes."""
        told = [e["data"].get("reason", "") for e in self.events if e["type"] == "unseen" and e["data"].get("channels")]
        return told + [f"{what} ({count} times)" if count > 1 else what for what, count in self._lost.items()]

    def hooks(self, others: Mapping[Any, list[Any]] | None = None) -> dict[Any, list[Any]]:
        """The hooks for ``ClaudeAgentOptions(hooks=…)``, beside others that there are."""
        from . import _frameworks

        if self._framework != "claude-agent-sdk":
            raise AgentEvalError(f"hooks are for claude-agent-sdk, not for {self._framework}")
        return _frameworks.claude_hooks(self, others or {})

    def _lack(self, what: str) -> None:
        with self._lock:
            if what in self._lost or len(self._lost) < _MOST_TOLD:
                self._lost[what] = self._lost.get(what, 0) + 1

    def _begin(self, key: str, name: str, parent: str | None, start: int | None = None) -> None:
        with self._lock:
            if len(self._ids) <= _MOST_SPANS:
                self._ids.setdefault(key, f"{len(self._ids) + 1:016x}")
                within = parent if parent in self._ids else None
                self._begun[key] = (name, within, start or time.time_ns(), id(sys.exc_info()[1]))
                return
        self._lack(f"more than {_MOST_SPANS} spans")

    def _broken_by(self, key: str) -> str | None:
        """The exception that ends what began, where its framework says nothing of that: of cancelling most do not.

        It is the one that is handled now and was not when it began: an agent may run in a handler of its own.
        """
        with self._lock:
            begun = self._begun.get(key)
        error = sys.exc_info()[1]
        return None if begun is None or error is None or id(error) == begun[3] else type(error).__name__

    def _finish(
        self,
        key: str,
        attributes: Mapping[str, Any],
        *,
        name: str | None = None,
        end: int | None = None,
        error: str | None = None,
        further: Mapping[str, Any] | None = None,
    ) -> None:
        """Ends what began. ``further`` are members of the span in OTLP."""
        with self._lock:
            begun = self._begun.pop(key, None)
        if begun is None:
            return
        known, parent, start, _ = begun
        span: dict[str, Any] = {
            "traceId": f"{1:032x}",
            "spanId": self._ids[key],
            "parentSpanId": self._ids[parent],
            "name": name or known,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(max(end or time.time_ns(), start)),
            "attributes": [{"key": k, "value": value(v)} for k, v in attributes.items() if v is not None],
            **(further or {}),
        }
        if error is not None:
            span["status"] = {"code": 2, "message": error}
        text = json.dumps(span)
        with self._lock:
            if self._bytes + len(text) <= _MOST_BYTES:
                self._bytes += len(text)
                self._spans.append(text)
                return
        self._lack(f"more than {_MOST_BYTES} bytes of spans")

    def _root(self, error: BaseException | None) -> str:
        """The span around all others: the block."""
        attributes: dict[str, Any] = {"openinference.span.kind": "CHAIN"}
        if self._lost:
            attributes["agent_eval.partial"] = True
        if _is_cancelling(error):
            attributes["agent_eval.stop.reason"] = "cancelled"
        elif error is None and self._ended_by is not None:
            attributes["agent_eval.stop.reason"] = "success"
            attributes["agent_eval.stop.detail"] = self._ended_by
        span: dict[str, Any] = {
            "traceId": f"{1:032x}",
            "spanId": self._ids[None],
            "name": self._name,
            "startTimeUnixNano": str(self._began),
            "endTimeUnixNano": str(max(time.time_ns(), self._began)),
            "attributes": [{"key": k, "value": value(v)} for k, v in attributes.items()],
        }
        if _exit_code(error) != 0:
            span["status"] = {"code": 2, "message": f"{type(error).__name__}: {printed(error)}"}
        return json.dumps(span)

    def _write(self, error: BaseException | None) -> None:
        """Makes the log. What began and has not ended stands in it as a step of which nothing is known."""
        for key, (name, *_) in list(self._begun.items()):
            self._lack(f"{name} began, and nothing tells its end")
            self._finish(key, {"openinference.span.kind": "CHAIN"})
        if not self._spans:
            raise NotSeen(
                f"{self._framework} told nothing within the block: there is no log. Its agent was not run there, or its "
                "tracing is turned off, or goes another way"
            )
        with tempfile.TemporaryDirectory(prefix="agent-eval-") as folder:
            source = Path(folder) / f"{self.log.name.removesuffix('.jsonl.gz')}.json"
            with source.open("w", encoding="utf-8") as file:
                file.write('{"resourceSpans":[{"scopeSpans":[{"spans":[')
                file.write(self._root(error))
                for span in self._spans:
                    file.write(",\n" + span)
                file.write("]}]}]}")
            self._spans = []
            made = Path(folder) / "made"
            answered = call(["import", "otlp", str(source), "--out", str(made), "--json"], expect=(0, 2))
            runs = [json.loads(line) for line in answered.stdout.splitlines() if line.startswith("{")]
            wrong = [run["error"] for run in runs if "error" in run]
            if wrong or answered.returncode != 0:
                raise ProgramFailed("; ".join(wrong) or answered.stderr.strip(), answered.returncode)
            if len(runs) != 1:
                raise NotSeen(f"{self._framework} told of no model, tool or agent within the block: there is no log")
            self.log.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path.cwd() / path_of(runs[0]["log"]), self.log)


class trace:
    """Makes a log of what a framework tells of its agent: ``with agent_eval.trace("runs/", "langchain") as run: …``.

    ``framework`` is ``langchain`` (LangGraph too), ``openai-agents``, ``pydantic-ai``, ``opentelemetry`` or
    ``claude-agent-sdk``. The first four need no change to the agent; for the last, ``run.hooks()`` are its hooks. Goes
    with ``async with`` as well, and around or within ``record``.

    ``out`` is the folder of the log, or its file (``….jsonl.gz``); without it, ``.agent-eval/runs``. ``provider`` is the
    ``TracerProvider`` of OpenTelemetry, where it is not the process's; it keeps a processor, which does nothing outside
    of blocks.

    What is told is kept in memory until the end, at most 100,000 spans and 192 MiB; what goes beyond that, and what
    began and did not end, is in ``run.unseen``, and the log says that it is not whole. Raises ``NotSeen`` at the end
    where nothing was told.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        framework: Framework | None = None,
        *,
        name: str = "trace",
        provider: Any = None,
    ) -> None:
        from . import _frameworks

        if framework is None or framework not in _frameworks.INSTALL:
            known = ", ".join(_frameworks.INSTALL)
            raise ValueError(f"framework is {framework!r}; it is one of {known}")
        if provider is not None and framework != "opentelemetry":
            raise ValueError("provider is for opentelemetry")
        self._provider = provider
        self._install = _frameworks.INSTALL[framework]
        self._trace = Trace(_log_path(out), framework, name)
        self._token: contextvars.Token[Trace | None] | None = None
        self._remove: Callable[[], None] | None = None
        self._owner = 0

    def __enter__(self) -> Trace:
        if self._remove is not None:
            raise AgentEvalError("This trace was begun already: make another one with trace(…).")
        # Said before the agent runs, rather than when all of it was for nothing.
        program()
        self._owner = os.getpid()
        self._remove = self._install(self._trace, self._provider)
        self._trace._began = time.time_ns()
        _open.append(self._trace)
        self._token = _current.set(self._trace)
        return self._trace

    async def __aenter__(self) -> Trace:
        return self.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._close():
            self._end(error)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._close():
            return
        await _ended(self._end, error)

    def _close(self) -> bool:
        """Takes nothing more in; says whether this process is the one that has the run."""
        if self._token is not None:
            try:
                _current.reset(self._token)
            except ValueError:
                # The block ends in another context than it began in, as fixtures of asynchronous tests do.
                if _current.get() is self._trace:
                    _current.set(None)
            self._token = None
        if self._trace in _open:
            _open.remove(self._trace)
        if self._remove is not None:
            self._remove()
        return os.getpid() == self._owner

    def _end(self, error: BaseException | None) -> None:
        try:
            self._trace._is_over = True
            self._trace._write(error)
        except AgentEvalError as found:
            # Of a block that failed its own exception is enough.
            if error is None:
                raise
            if hasattr(error, "add_note"):
                error.add_note(f"agent-eval: {found}")


def value(given: Any) -> dict[str, Any]:
    """A value of an attribute in OTLP; what it has no word for is a text of JSON."""
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, str):
        return {"stringValue": str.__str__(given)}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given if given == given and abs(given) != float("inf") else str(given)}
    if isinstance(given, (list, tuple)) and all(isinstance(item, (str, bool, int, float)) for item in given):
        return {"arrayValue": {"values": [value(item) for item in given]}}
    return {"stringValue": text(given)}


def text(given: Any) -> str:
    """A value as a text of JSON; what JSON cannot say of it as what Python prints of that."""
    try:
        return json.dumps(plain(given), ensure_ascii=False)
    except Exception:  # noqa: BLE001 - code of others, which may raise anything
        return json.dumps(_printed(given, 0), ensure_ascii=False)


def _printed(given: Any, depth: int) -> Any:
    if depth < 50 and isinstance(given, Mapping):
        return {printed(key): _printed(item, depth + 1) for key, item in given.items()}
    if depth < 50 and isinstance(given, (list, tuple)):
        return [_printed(item, depth + 1) for item in given]
    try:
        return plain(given)
    except Exception:  # noqa: BLE001 - code of others, which may raise anything
        return printed(given, repr)
