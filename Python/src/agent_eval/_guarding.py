"""Holds calls of tools back that would break what is expected.

The program judges: each call is put to it, behind all that the guard has seen before, as an agent whose decisions are
those calls and whose ``guard`` is what is expected (Docs/agent-files.md). Nothing is judged here.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import itertools
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

from ._errors import AgentEvalError, Forbidden, GuardError, LogError, ProgramFailed
from ._program import call, plain, printed
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
# What the program takes of one call, and of one file.
_INPUT_KIB = 512
_LEVELS = 64
_FILE_BYTES = 16 << 20
_MOMENTS = ("called", "returned")
_EFFECTS = ("read", "draft", "write")
_open: contextvars.ContextVar[tuple[Guard, ...]] = contextvars.ContextVar("agent_eval_guards", default=())
"""The guards whose blocks this context is in, the outermost first."""
_in_force: list[Guard] = []
_numbers = itertools.count()
_all: weakref.WeakSet[Guard] = weakref.WeakSet()


def _after_fork() -> None:
    """A copy of the process may have been made while another thread held a lock."""
    for guard in list(_all):
        guard._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


@dataclass(eq=False)
class Ticket:
    """A call that a guard let through; give it back to ``after`` with what came of it."""

    tool: str
    input: dict[str, Any]
    result: Any = None
    error: str | None = None
    is_effect_unknown: bool = False
    is_over: bool = False


class Guard:
    """What no call of a tool may break; made by ``guard``.

    ``before`` and ``after`` stand around each call. Within ``with`` the functions that ``tool`` decorates are guarded, in
    every thread, whoever opened it. Guards that are in force together hold together: a call runs where none of them holds
    it back, and counts for each. One that was made with ``everywhere=False`` holds in its own context alone.
    It may be used by several threads and tasks; calls that are under way count as begun, and as not yet returned. A
    call that it refuses has not happened: nothing later counts it.
    """

    def __init__(
        self, expected: Mapping[str, Any], side_effects: Mapping[str, str] | None = None, everywhere: bool = True
    ) -> None:
        self._everywhere = everywhere
        self._expected: dict[str, Any] = plain(expected, "expected")
        self._effects = dict(side_effects or {})
        for name, effect in self._effects.items():
            if effect not in _EFFECTS:
                raise ValueError(f"side_effects[{name!r}] is {effect!r}; it is one of {', '.join(_EFFECTS)}")
        # Where noRepeatedSideEffect names tools: what tells them from others, and what it told.
        self._names: Guard | None = None
        self._named: dict[str, bool] = {}
        self._said = frozenset(self._effects)
        _look_at(self._expected)
        self._lock = threading.Lock()
        self._calls: list[Ticket] = []
        self._number = next(_numbers)
        self._token: contextvars.Token[tuple[Guard, ...]] | None = None
        self._around: tuple[Guard, ...] = ()
        _all.add(self)
        with tempfile.TemporaryDirectory(prefix="agent-eval-") as folder:
            path = Path(folder) / "guard.json"
            path.write_text(json.dumps(self._agent([], [Ticket("any", {})])), encoding="utf-8")
            checked = call(["check", str(path)], expect=(0, 1, 2))
            if checked.returncode != 0:
                told = checked.stdout + checked.stderr
                mistakes = [line.split(" error: ", 1)[-1] for line in told.splitlines() if " error: " in line]
                raise ProgramFailed("; ".join(mistakes) or told.strip(), checked.returncode)
        held = self._expected.get("noRepeatedSideEffect")
        if isinstance(held, list):
            self._names = Guard({"toolsNotCalled": held})

    def before(self, tool: str, input: Mapping[str, Any], *, side_effect: str | None = None) -> Ticket:
        """Raises ``Forbidden`` where the call would break what is expected, ``GuardError`` where that cannot be told.

        Returns what ``after`` wants to have when the call has ended.
        """
        return _let_through([self], tool, input, side_effect)[0][1]

    def _judge(self, ticket: Ticket, side_effect: str | None) -> None:
        """Raises where the call may not run; the lock is held."""
        tool = ticket.tool
        known = self._effects.get(tool)
        if side_effect is not None and tool not in self._said:
            # Two functions may have one name: what either of them does is what may have been done.
            self._effects[tool] = max(side_effect, known or side_effect, key=_EFFECTS.index)
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

    def after(
        self,
        ticket: Ticket,
        result: Any = None,
        *,
        error: str | BaseException | None = None,
        effect: str = "unknown",
    ) -> None:
        """Says what came of a call: its result, or why it failed. What JSON cannot say of a result is its text.

        With ``error``, ``effect`` says whether nothing was done (``none``); else nobody knows (``unknown``), and
        ``noRepeatedSideEffect`` lets no equal call of a tool that does more than read begin again.
        """
        if not isinstance(ticket, Ticket):
            raise TypeError(f"after takes what before returned, not {type(ticket).__name__}")
        if effect not in ("none", "unknown"):
            raise ValueError(f"effect is {effect!r}; it is none or unknown")
        told, failed = _result(result), None if error is None else printed(error) or type(error).__name__
        with self._lock:
            if ticket not in self._calls:
                raise ValueError("after was given a call that this guard did not let through")
            ticket.is_over = True
            if failed is not None:
                ticket.error = failed
                ticket.is_effect_unknown = effect == "unknown"
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
        """Guards a function, by this guard and those in force; see ``agent_eval.tool``."""
        return _guarded(function, None, (), None, (), lambda: [*(g for g in _find() if g is not self), self])

    def __enter__(self) -> Guard:
        if self._token is not None:
            raise AgentEvalError("This guard is in force already: make another one with guard(…).")
        self._around = tuple(guard for guard in _open.get() if guard in _in_force)
        self._token = _open.set((*self._around, self))
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
                _open.reset(self._token)
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
                is_held = self._is_held(ticket.tool)
                tool = tools.setdefault(
                    ticket.tool,
                    {
                        "name": ticket.tool,
                        "sideEffect": "write" if is_held else self._effects.get(ticket.tool, "write"),
                        "inputSchema": {"type": "object"},
                        "scripted": [],
                    },
                )
                if index < len(done):
                    said = {"error": ticket.error} if ticket.error is not None else {"ok": ticket.result}
                    if ticket.is_effect_unknown and is_held:
                        said["effect"] = "unknown"
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

    def _is_held(self, tool: str) -> bool:
        """Whether ``noRepeatedSideEffect`` speaks of a tool: it does of those that it names, else of all that do more
        than read. A call of one that may have done something counts as one that did."""
        held = self._expected.get("noRepeatedSideEffect")
        if self._names is None:
            return held is True and self._effects.get(tool) != "read"
        if tool not in self._named:
            # Which tools a glob names the program says.
            try:
                self._names._ask([], [Ticket(tool, {})])
                self._named[tool] = False
            except Forbidden:
                self._named[tool] = True
        return self._named[tool]

    def _ask(self, done: list[Ticket], last: list[Ticket]) -> None:
        """Puts the last call of a decision to the program."""
        ticket = last[-1]
        with tempfile.TemporaryDirectory(prefix="agent-eval-") as folder:
            path, log = Path(folder) / "guard.json", Path(folder) / "guard.jsonl.gz"
            written = _json(self._agent(done, last))
            if len(written) > _FILE_BYTES:
                raise GuardError(
                    f"{ticket.tool} cannot be judged: this call, and the calls and results that this guard has seen, are "
                    f"{len(written)} bytes of JSON, and {_FILE_BYTES >> 20} MiB can be judged. Have tools return less, "
                    "such as the path of a file, or begin another guard"
                )
            path.write_bytes(written)
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
            raise GuardError(f"{ticket.tool} cannot be judged: {_why(found, step) or ran.stderr.strip()}")


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        # Half of a surrogate pair, of which the program says that it is none of JSON.
        return json.dumps(value).encode("ascii")


def _result(result: Any) -> Any:
    """A result as JSON says it, else its text: the tool has run, so that nothing here may fail, then or later."""
    try:
        told = plain(result, "result", is_whole=True)
        json.dumps(told, ensure_ascii=False).encode("utf-8")
        return told if _levels(told) <= _LEVELS else printed(result)
    except Exception:  # noqa: BLE001 - code of others, which may raise anything
        return printed(result)


def _levels(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max((1 + _levels(item) for item in items), default=0)


def _why(found: list[dict[str, Any]], step: int) -> str:
    """Why the program gave no verdict on a call."""
    for event in found:
        if event["type"] == "decision" and event["step"] == step and event["data"].get("kind") == "invalid":
            return (
                f"{event['data'].get('reason', 'it is no call')}. A guard judges inputs of up to {_INPUT_KIB} KiB of JSON, "
                f"{_LEVELS} levels deep, and 1 MiB of the calls that are under way together: give the tool the path of what is "
                "larger, or leave the parameter out with ignore=[…]"
            )
    return "the program gave no verdict"


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


def guard(
    expected: Mapping[str, Any], *, side_effects: Mapping[str, str] | None = None, everywhere: bool = True
) -> Guard:
    """A guard that lets no tool run that would break what is expected.

    ``expected`` is as in a case; of its keys a guard takes those that a call can break: ``toolsNotCalled``,
    ``toolsNotProposed``, ``maxToolCalls``, ``eachCall``, ``time`` (of calls), ``noRepeatedSideEffect`` and ``noLoops``.
    ``side_effects`` says what tools do to the world (``read``, ``draft`` or ``write``), which ``noRepeatedSideEffect``
    has to know.

    It holds in every thread and task of the process, beside all others that are in force. ``everywhere=False`` makes it
    one of its own context (a thread, or a task with those that it starts), for several agents at once.

    Raises ``ValueError`` for what cannot be guarded, and ``ProgramFailed`` where ``expected`` has a mistake.
    """
    return Guard(expected, side_effects, everywhere)


@overload
def tool(function: _Function) -> _Function: ...


@overload
def tool(
    *,
    name: str | None = None,
    ignore: Iterable[str] = (),
    side_effect: str | None = None,
    no_effect_errors: Iterable[type[BaseException]] = (),
) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None,
    *,
    name: str | None = None,
    ignore: Iterable[str] = (),
    side_effect: str | None = None,
    no_effect_errors: Iterable[type[BaseException]] = (),
) -> Any:
    """Decorates a function that an agent calls as a tool, so that the guard in force looks at each call before it runs.

    ``name`` is the tool's name, that of the function without it. ``ignore`` names parameters that are no input, such as
    a connection; ``self`` and the ``cls`` of a class method are none. What a call leaves out is given with its default,
    but for defaults that JSON cannot say. ``side_effect`` says what the tool does to the world: ``read``, ``draft`` or
    ``write``. ``no_effect_errors`` names the exceptions by which it says that nothing was done; after any other nobody
    knows, cancelling and time limits included.

    Without a guard in force the function runs as it is; with several all of them look at the call. The decorator writes
    nothing to a log: what a recording tells of tools is what models are told of them.
    """
    names, harmless = tuple(ignore), tuple(no_effect_errors)
    if side_effect is not None and side_effect not in _EFFECTS:
        raise ValueError(f"side_effect is {side_effect!r}; it is one of {', '.join(_EFFECTS)}")
    for kind in harmless:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"no_effect_errors holds {kind!r}, which is no class of exceptions")

    def decorate(function: _Function) -> _Function:
        return _guarded(function, name, names, side_effect, harmless, _find)

    return decorate(function) if function is not None else decorate


def _find() -> list[Guard]:
    """The guards that hold here, the first that was opened first: those that hold everywhere, and those of this context;
    in a thread that was begun without any of the latter, those that are in force anywhere, if they are within each
    other."""
    found = list(_in_force)
    own = [guard for guard in found if not guard._everywhere and guard in _open.get()]
    others = [guard for guard in found if not guard._everywhere]
    if own or not others:
        return [guard for guard in found if guard._everywhere or guard in own]
    innermost = max(others, key=lambda guard: len(guard._around))
    chain = [*innermost._around, innermost]
    if any(guard not in chain for guard in others):
        raise GuardError(
            "Several guards are in force beside each other, and this thread was begun in the context of none of them: "
            "begin it with contextvars.copy_context().run"
        )
    return found


def _let_through(
    guards: Sequence[Guard],
    tool: str,
    input: Mapping[str, Any],
    side_effect: str | None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> list[tuple[Guard, Ticket]]:
    """Puts a call to each of the guards; it counts for all of them, or, where one holds it back, for none.

    A call that nobody wants any more when it was judged counts for none either.
    """
    if side_effect is not None and side_effect not in _EFFECTS:
        raise ValueError(f"side_effect is {side_effect!r}; it is one of {', '.join(_EFFECTS)}")
    if not isinstance(input, Mapping):
        raise TypeError(f"the input of {tool} is a {type(input).__name__}; it is a mapping of names to values")
    given = plain(dict(input), f"the input of {tool}", is_whole=True)
    begun = [(guard, Ticket(tool, given)) for guard in guards]
    with ExitStack() as locks:
        # Always in the same order, so that no two threads wait for each other.
        for guard in sorted(guards, key=lambda guard: guard._number):
            locks.enter_context(guard._lock)
        for guard, ticket in begun:
            guard._judge(ticket, side_effect)
        if not is_wanted():
            return []
        for guard, ticket in begun:
            guard._calls.append(ticket)
    return begun


def _forget(asked: Any) -> None:
    """Takes back what was let through while nobody waited for it any more."""
    if not asked.cancelled() and asked.exception() is None:
        for guard, ticket in asked.result():
            guard.forget(ticket)


def _guarded(
    function: _Function,
    name: str | None,
    ignore: tuple[str, ...],
    side_effect: str | None,
    harmless: tuple[type[BaseException], ...],
    in_force: Callable[[], list[Guard]],
) -> _Function:
    if isinstance(function, (classmethod, staticmethod)):
        # Under the decorator that binds, where the call has its arguments.
        bound: Any = type(function)(_guarded(function.__func__, name, ignore, side_effect, harmless, in_force))
        return bound  # type: ignore[no-any-return]
    # What a partial has filled in is given as well.
    inner: Any = function
    filled: tuple[Any, ...] = ()
    named_before: dict[str, Any] = {}
    while isinstance(inner, functools.partial):
        filled, named_before, inner = (*inner.args, *filled), {**inner.keywords, **named_before}, inner.func
    called = name or str(getattr(inner, "__name__", ""))
    signature = _signature(inner)
    unknown = [parameter for parameter in ignore if parameter not in signature.parameters]
    if unknown:
        raise ValueError(f"{called} has no parameter {unknown[0]!r} to ignore")
    if called in ("", "<lambda>"):
        # Under a name that nobody gave it no rule would ever find it.
        raise ValueError(f"{inner!r} has no name by which a guard could know it: say it with tool(name=…)")

    def begin(
        arguments: tuple[Any, ...], named: dict[str, Any], is_wanted: Callable[[], bool] = lambda: True
    ) -> list[tuple[Guard, Ticket]]:
        guards = in_force()
        if not guards:
            return []
        given = _input(called, signature, ignore, (*filled, *arguments), {**named_before, **named})
        return _let_through(guards, called, given, side_effect, is_wanted)

    def end(begun: list[tuple[Guard, Ticket]], result: Any = None, error: BaseException | None = None) -> None:
        for guard, ticket in begun:
            guard.after(ticket, result, error=error, effect="none" if isinstance(error, harmless) else "unknown")

    wrapper: Any
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def asynchronous(*arguments: Any, **named: Any) -> Any:
            import asyncio

            context = contextvars.copy_context()
            given_up = threading.Event()
            asking = asyncio.ensure_future(
                asyncio.to_thread(context.run, begin, arguments, named, lambda: not given_up.is_set())
            )
            try:
                begun = await asyncio.shield(asking)
            except asyncio.CancelledError:
                given_up.set()
                asking.add_done_callback(_forget)
                raise
            try:
                result = await function(*arguments, **named)
            except BaseException as error:
                end(begun, error=error)
                raise
            end(begun, result)
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
                end(begun, error=error)
                raise
            if inspect.isawaitable(result):
                # Nothing has come back yet: it does to whoever awaits it.
                return _ending(result, lambda value=None, error=None: end(begun, value, error))
            end(begun, result)
            return result

        wrapper = synchronous
    guarded: _Function = wrapper
    return guarded


def _ending(awaitable: Any, end: Callable[..., None]) -> Any:
    """What is awaited in the place of what a call gave: it tells what came of it."""
    import asyncio

    if asyncio.isfuture(awaitable):

        def tell(future: Any) -> None:
            try:
                value = future.result()
            except BaseException as error:  # noqa: BLE001 - cancelled, or whatever it ended with
                end(error=error)
            else:
                end(value)

        awaitable.add_done_callback(tell)
        return awaitable

    async def awaited() -> Any:
        try:
            value = await awaitable
        except BaseException as error:
            end(error=error)
            raise
        end(value)
        return value

    return awaited()


def _signature(function: Any) -> inspect.Signature:
    """What a function is called with. A decorator under this one may give its function what the caller does not: then
    its own parameters count, where it names them all, rather than those of the function."""
    whole = inspect.signature(function)
    while (within := getattr(function, "__wrapped__", None)) is not None:
        try:
            own = inspect.signature(function, follow_wrapped=False)
        except ValueError:
            # One of C, such as a cache, which passes on what it is given.
            function = within
            continue
        if not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own.parameters.values()):
            return own
        function = within
    return whole


def _input(
    tool: str,
    signature: inspect.Signature,
    ignore: tuple[str, ...],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> dict[str, Any]:
    """What a function is given, its defaults included.

    A default of which JSON says nothing, such as a mark for “not given” or a context, is left out; the same as an
    argument is refused.
    """
    bound = signature.bind(*arguments, **named)
    told = set(bound.arguments)
    bound.apply_defaults()
    given: dict[str, Any] = {}
    for position, (parameter, value) in enumerate(bound.arguments.items()):
        is_bound = position == 0 and (parameter == "self" or (parameter == "cls" and isinstance(value, type)))
        if parameter in ignore or is_bound:
            continue
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            twice = sorted(set(given) & set(value))
            if twice:
                raise GuardError(f"{tool} cannot be judged: it is given two things of the name {twice[0]!r}")
            given.update(value)
        elif parameter in told:
            given[parameter] = value
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            try:
                given[parameter] = plain(value, is_whole=True)
            except Exception:  # noqa: BLE001 - a default may be an object of any kind, whose own code may raise anything
                continue
    return given
