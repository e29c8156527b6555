"""What recorded runs hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._errors import AgentEvalError, LogError
from ._program import call, lines


def events(log: str | os.PathLike[str], *, marks: bool = False) -> Iterator[dict[str, Any]]:
    """The events of a log in their order, each a mapping with ``seq``, ``step``, ``type`` and ``data``, references
    resolved; with ``marks`` its marks as well.

    What is whole of a damaged log comes first; then ``LogError`` is raised, as it is where there is no log.
    """
    for line in lines(["show", "--json", "--", os.fspath(log)], LogError):
        if marks or "seq" in line:
            yield line


@dataclass(frozen=True)
class Call:
    """A call of a tool that a decision proposed."""

    tool: str
    """The name of the tool."""
    input: Any
    """What it was given."""
    status: str | None
    """What became of it: ``ok``, ``error``, ``refused``, or ``returned`` where nobody says whether it succeeded.

    ``None`` where the log tells nothing of that: it may have run all the same.
    """
    result: Any
    """The data of its result, or the reason where it is none."""
    call_id: str
    """Its name in the log."""
    caller: str
    """Who called: ``agent``, ``user`` for a simulated user, or a sub-agent."""
    step: int
    """The step of its decision."""
    event: int
    """The number of the event that proposed it."""
    result_event: int | None
    """The number of the event with its result."""


def calls(log: str | os.PathLike[str]) -> list[Call]:
    """The calls of a log in the order in which they were proposed."""
    return _calls(list(events(log)))


def _calls(found: list[dict[str, Any]]) -> list[Call]:
    results: dict[str, dict[str, Any]] = {}
    for event in found:
        if event["type"] == "tool_result":
            results[event["data"].get("callId", "")] = event
    made = []
    for event in found:
        if event["type"] != "decision" or event["data"].get("kind") != "tool":
            continue
        data = event["data"]
        for proposed in data.get("calls", []):
            result = results.get(proposed.get("callId", ""))
            told = result["data"] if result else {}
            made.append(
                Call(
                    tool=proposed.get("name", ""),
                    input=proposed.get("input"),
                    status=told.get("status"),
                    result=told.get("data", told.get("reason")),
                    call_id=proposed.get("callId", ""),
                    caller=data.get("caller", "agent"),
                    step=event["step"],
                    event=event["seq"],
                    result_event=result["seq"] if result else None,
                )
            )
    return made


def table(
    folder: str | os.PathLike[str],
    statement: str = "SELECT * FROM runs ORDER BY path",
    *,
    to: str | None = None,
    limit: int = 1_000_000,
) -> Any:
    """The runs of a folder as a list of mappings, or what another ``SELECT`` says of its tables ``runs``, ``calls``
    and ``tags``.

    ``to`` makes something else of it: ``pyarrow`` a table, ``pandas`` or ``polars`` a data frame; the package of that
    name has to be there. The folder gets an index (``.index.sqlite``), from which the next call reads. Raises
    ``ProgramFailed`` where the statement is wrong, a log cannot be read whole, or there are more rows than ``limit``.
    """
    if to not in (None, "pyarrow", "pandas", "polars"):
        raise AgentEvalError(f"to is pyarrow, pandas or polars, not {to!r}")
    import json

    answered = call(["query", "--json", "--limit", str(limit), "--", os.fspath(folder), statement])
    rows = [json.loads(line) for line in answered.stdout.splitlines()]
    if to is None:
        return rows
    import importlib

    try:
        package = importlib.import_module(to)
    except ImportError as error:
        raise AgentEvalError(f"{to} is not installed: leave to out for a list, or install it") from error
    if to == "pyarrow":
        return package.Table.from_pylist(rows)
    if to == "polars":
        return package.DataFrame(rows, infer_schema_length=None)
    return package.DataFrame(rows)
