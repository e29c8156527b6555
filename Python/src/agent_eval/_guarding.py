"""Holds calls of tools back that would break what is expected.

The program judges: each call is put to it, behind all that the guard has seen before, as an agent whose decisions are
those calls and whose ``guard`` is what is expected (Docs/agent-files.md). Nothing is judged here.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

from ._errors import AgentEvalError, Forbidden, GuardError, LogError, ProgramFailed
from ._program import call, plain
from ._reading import events

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KEYS = (
    "toolsNotCalled",
    "toolsNotProposed",
    "maxToolCalls",
    "eachCall",
    "time",
    "noRepeatedSideEffect",
    "noLoops",
)
_MOMENTS = ("called", "returned")
_EFFECTS = ("read", "draft", "write")
_current: contextvars.ContextVar[Guard | None] = contextvars.ContextVar("agent_eval_guard", default=None)
_in_force: list[Guard] = []


@dataclass(eq=False)
class Ticket:
    """A call that a guard let through; give it back to ``after`` with what came of it."""

    tool: str
    input: dict[str, Any]
    result: Any = None
    error: str | None = None
    is_over: bool = False


class Guard:
    """What no call of a tool may break; made by ``guard``.

    ``before`` and ``after`` stand around each call. Within ``with`` the functions that ``tool`` decorates are guarded, in
    every thread; where several are in force at once, each in its own context.
    It may be used by several threads and tasks; calls that are under way count as begun, and as not yet returned. A
    call that it refuses has not happened: nothing later counts it.
    """

    def __init__(self, expected: Mapping[str, Any], side_effects: Mapping[str, str] | None = None) -> None:
        self._expected: dict[str, Any] = plain(expected, "expected")
        self._effects = dict(side_effects or {})
        for name, effect in self._effects.items():
            if effect not in _EFFECTS:
                raise ValueError(f"side_effects[{name!r}] is {effect!r}; it is one of {', '.join(_EFFECTS)}")
        _look_at(self._expected)
        self._lock = threading.Lock()
        self._calls: list[Ticket] = []
        self._token: contextvars.Token[Guard | None] | None = None
        with tempfile.TemporaryDirectory(prefix="agent-eval-") as folder:
            path = Path(folder) / "guard.json"
            path.write_text(json.dumps(self._agent([], [Ticket("any", {})])), encoding="utf-8")
            checked = call(["check", str(path)], expect=(0, 1, 2))
            if checked.returncode != 0:
                told = checked.stdout + checked.stderr
                mistakes = [line.split(" error: ", 1)[-1] for line in told.splitlines() if " error: " in line]
                raise ProgramFailed("; ".join(mistakes) or told.strip(), checked.returncode)

    def before(self, tool: str, input: Mapping[str, Any], *, side_effect: str | None = None) -> Ticket:
        """Raises ``Forbidden`` where the call would break what is expected, ``GuardError`` where that cannot be told.

        Returns what ``after`` wants to have when the call has ended.
        """
        ticket = Ticket(tool, plain(dict(input), f"the input of {tool}"))
        with self._lock:
            if side_effect is not None:
                if side_effect not in _EFFECTS:
                    raise ValueError(f"side_effect is {side_effect!r}; it is one of {', '.join(_EFFECTS)}")
                self._effects.setdefault(tool, side_effect)
            if self._expected.get("noRepeatedSideEffect") is True and tool not in self._effects:
                raise GuardError(
                    f"noRepeatedSideEffect has to know what {tool} does to the world: say it with "
                    f"side_effects={{{tool!r}: 'read', 'draft' or 'write'}}"
                )
            done = [t for t in self._calls if t.is_over]
            under_way = [t for t in self._calls if not t.is_over]
            self._ask(done, [*under_way, ticket])
            if under_way:
                # Calls side by side have no order; that those under way began before this one counts as well.
                self._ask([*done, *under_way], [ticket])
            self._calls.append(ticket)
        return ticket

    def after(self, ticket: Ticket, result: Any = None, *, error: str | BaseException | None = None) -> None:
        """Says what came of a call: its result, or why it failed. What JSON cannot say of a result is its text."""
        try:
            told = plain(result, "result")
        except (TypeError, ValueError):
            told = str(result)
        with self._lock:
            ticket.is_over = True
            if error is not None:
                ticket.error = str(error) or type(error).__name__
            else:
                ticket.result = told
            self._calls.remove(ticket)
            # In the order in which they ended.
            self._calls.insert(sum(t.is_over for t in self._calls), ticket)

    def forget(self, ticket: Ticket) -> None:
        """Says that a call that was let through never began."""
        with self._lock:
            if ticket in self._calls and not ticket.is_over:
                self._calls.remove(ticket)

    def tool(self, function: _Function) -> _Function:
        """Guards a function, by this guard alone; see ``agent_eval.tool``."""
        return _guarded(function, None, (), None, lambda: self)

    def __enter__(self) -> Guard:
        if self._token is not None:
            raise AgentEvalError("This guard is in force already: make another one with guard(…).")
        self._token = _current.set(self)
        _in_force.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _in_force.remove(self)
            try:
                _current.reset(self._token)
            except ValueError:
                # It ends in another context than it began in, where it is not in force any more.
                pass
            self._token = None

    def _agent(self, done: list[Ticket], last: list[Ticket]) -> dict[str, Any]:
        """An agent file whose decisions are these calls."""
        tools: dict[str, dict[str, Any]] = {}
        script = []
        steps = [[ticket] for ticket in done] + [last]
        for index, tickets in enumerate(steps):
            for ticket in tickets:
                tool = tools.setdefault(
                    ticket.tool,
                    {
                        "name": ticket.tool,
                        "sideEffect": self._effects.get(ticket.tool, "write"),
                        "inputSchema": {"type": "object"},
                        "scripted": [],
                    },
                )
                if index < len(done):
                    said = {"error": ticket.error} if ticket.error is not None else {"ok": ticket.result}
                    tool["scripted"].append({"when": {"step": index + 1}, **_literal(said)})
            script.append({"calls": [{"tool": t.tool, "input": _literal(t.input)} for t in tickets]})
        for tool in tools.values():
            tool["scripted"].append({"ok": None})
        return {
            "name": "guarded",
            "goal": "guarded",
            "tools": list(tools.values()),
            "limits": {"maxSteps": len(steps) + 1},
            # Nobody looks at what a model would be shown.
            "context": {"tokenBudget": 1, "observationLimit": 1},
            "failures": {"maxDenials": 1_000_000, "maxToolErrors": 1_000_000},
            "policy": {"rules": [{"id": "guarded", "tool": "*", "verdict": "allow"}]},
            "guard": self._expected,
            "model": {"script": script},
        }

    def _ask(self, done: list[Ticket], last: list[Ticket]) -> None:
        """Puts the last call of a decision to the program."""
        ticket = last[-1]
        with tempfile.TemporaryDirectory(prefix="agent-eval-") as folder:
            path, log = Path(folder) / "guard.json", Path(folder) / "guard.jsonl.gz"
            path.write_text(json.dumps(self._agent(done, last)), encoding="utf-8")
            ran = call(
                ["record", str(path), "--out", str(log), "--memory", "none", "--durability", "none", "--fixed-clock",
                 "--json"],
                expect=(0, 1, 2),
            )  # fmt: skip
            try:
                found = list(events(log))
            except LogError:
                raise GuardError(f"{ticket.tool} cannot be judged: {ran.stderr.strip()}") from None
        step = len(done) + 1
        verdict: dict[str, Any] | None = None
        for event in found:
            data = event["data"]
            is_last = event["step"] == step and str(data.get("callId", "")).endswith(f".{len(last) - 1}")
            if event["type"] == "policy_decision" and is_last:
                verdict = data
                if data.get("status") == "deny":
                    expectation = str(data.get("ruleId", "")).removeprefix("guard:")
                    raise Forbidden(ticket.tool, ticket.input, expectation, data.get("reason", ""))
            if event["type"] == "stop" and verdict is None:
                detail = str(data.get("detail", ""))
                if detail.startswith("rule:guard:"):
                    raise Forbidden(ticket.tool, ticket.input, detail.removeprefix("rule:guard:"), "it was proposed")
        if verdict is None or verdict.get("status") != "allow":
            raise GuardError(
                f"{ticket.tool} cannot be judged: the program gave no verdict. {ran.stderr.strip()}".strip()
            )


def _literal(value: Any) -> Any:
    """A value in a script, in which ``${…}`` would be filled in."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    return value


def _look_at(expected: Mapping[str, Any]) -> None:
    """Refuses what a guard that sees calls alone would let through without a word."""
    if not expected:
        raise ValueError("expected names nothing that a call could break")
    for key in expected:
        if key not in _KEYS:
            raise ValueError(
                f"a guard sees calls of tools and nothing else, so that {key} cannot be guarded; it takes "
                f"{', '.join(_KEYS)}. judge takes all others, behind the run"
            )
    rules = expected.get("time", [])
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        for word, moment in rule.items() if isinstance(rule, dict) else ():
            if word == "within":
                raise ValueError(f"time[{index}].within counts steps, which a guard does not see")
            for one in moment if isinstance(moment, list) else [moment]:
                if isinstance(one, dict) and "tool" not in one and not any(key in one for key in _MOMENTS):
                    raise ValueError(
                        f"time[{index}].{word}: a guard sees calls of tools and nothing else; it takes a call, or "
                        f"{', '.join(_MOMENTS)}"
                    )


def guard(expected: Mapping[str, Any], *, side_effects: Mapping[str, str] | None = None) -> Guard:
    """A guard that lets no tool run that would break what is expected.

    ``expected`` is as in a case; of its keys a guard takes those that a call can break: ``toolsNotCalled``,
    ``toolsNotProposed``, ``maxToolCalls``, ``eachCall``, ``time`` (of calls), ``noRepeatedSideEffect`` and ``noLoops``.
    ``side_effects`` says what tools do to the world (``read``, ``draft`` or ``write``), which ``noRepeatedSideEffect``
    has to know.

    Raises ``ValueError`` for what cannot be guarded, and ``ProgramFailed`` where ``expected`` has a mistake.
    """
    return Guard(expected, side_effects)


@overload
def tool(function: _Function) -> _Function: ...


@overload
def tool(
    *, name: str | None = None, ignore: Iterable[str] = (), side_effect: str | None = None
) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None,
    *,
    name: str | None = None,
    ignore: Iterable[str] = (),
    side_effect: str | None = None,
) -> Any:
    """Decorates a function that an agent calls as a tool, so that the guard in force looks at each call before it runs.

    ``name`` is the tool's name, that of the function without it. ``ignore`` names parameters that are no input, such as
    a connection; ``self`` is none. ``side_effect`` says what the tool does to the world: ``read``, ``draft`` or
    ``write``.

    Without a guard in force the function runs as it is. The decorator writes nothing to a log: what a recording tells
    of tools is what models are told of them.
    """
    names = tuple(ignore)
    if side_effect is not None and side_effect not in _EFFECTS:
        raise ValueError(f"side_effect is {side_effect!r}; it is one of {', '.join(_EFFECTS)}")

    def decorate(function: _Function) -> _Function:
        return _guarded(function, name, names, side_effect, _find)

    return decorate(function) if function is not None else decorate


def _find() -> Guard | None:
    """The guard of this context; in a thread that was begun without one, the guard that is in force anywhere."""
    own = _current.get()
    if own is not None and own in _in_force:
        return own
    found = list(_in_force)
    if len(found) > 1:
        raise GuardError(
            "Several guards are in force, and this thread was begun in the context of none of them: begin it with "
            "contextvars.copy_context().run"
        )
    return found[0] if found else None


def _forget(asked: Any) -> None:
    """Takes back what was let through while nobody waited for it any more."""
    if not asked.cancelled() and asked.exception() is None and asked.result() is not None:
        guard, ticket = asked.result()
        guard.forget(ticket)


def _guarded(
    function: _Function,
    name: str | None,
    ignore: tuple[str, ...],
    side_effect: str | None,
    in_force: Callable[[], Guard | None],
) -> _Function:
    called = name or str(getattr(function, "__name__", "tool"))
    signature = inspect.signature(function)
    unknown = [parameter for parameter in ignore if parameter not in signature.parameters]
    if unknown:
        raise ValueError(f"{called} has no parameter {unknown[0]!r} to ignore")

    def begin(arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Guard, Ticket] | None:
        guard = in_force()
        if guard is None:
            return None
        bound = signature.bind(*arguments, **named)
        given: dict[str, Any] = {}
        for parameter, value in bound.arguments.items():
            if parameter in ignore or (parameter == "self" and parameter == next(iter(signature.parameters))):
                continue
            if signature.parameters[parameter].kind is inspect.Parameter.VAR_KEYWORD:
                given.update(value)
            else:
                given[parameter] = value
        return guard, guard.before(called, given, side_effect=side_effect)

    wrapper: Any
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def asynchronous(*arguments: Any, **named: Any) -> Any:
            import asyncio

            context = contextvars.copy_context()
            asking = asyncio.ensure_future(asyncio.to_thread(context.run, begin, arguments, named))
            try:
                begun = await asyncio.shield(asking)
            except asyncio.CancelledError:
                asking.add_done_callback(_forget)
                raise
            try:
                result = await function(*arguments, **named)
            except BaseException as error:
                if begun is not None:
                    begun[0].after(begun[1], error=error)
                raise
            if begun is not None:
                begun[0].after(begun[1], result)
            return result

        wrapper = asynchronous
    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{called} is a generator, whose call has no result that a guard could see")
    else:

        @functools.wraps(function)
        def synchronous(*arguments: Any, **named: Any) -> Any:
            begun = begin(arguments, named)
            try:
                result = function(*arguments, **named)
            except BaseException as error:
                if begun is not None:
                    begun[0].after(begun[1], error=error)
                raise
            if begun is not None:
                begun[0].after(begun[1], result)
            return result

        wrapper = synchronous
    guarded: _Function = wrapper
    return guarded
