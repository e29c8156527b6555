"""Record, judge and guard LLM agents by their traces."""

from __future__ import annotations

from ._errors import (
    AgentEvalError,
    Forbidden,
    GuardError,
    LogError,
    NotAsRecorded,
    NotSeen,
    ProgramFailed,
    ProgramNotFound,
    RecordingEnded,
    RunsOverlap,
)
from ._guarding import Guard, guard, tool
from ._judging import Check, Outcome, judge
from ._program import program
from ._reading import Call, calls, events, table
from ._recording import Run, record
from ._tracing import Trace, trace
from ._transports import inherit as _inherit

__all__ = [
    "AgentEvalError",
    "Call",
    "Check",
    "Forbidden",
    "Guard",
    "GuardError",
    "LogError",
    "NotAsRecorded",
    "NotSeen",
    "Outcome",
    "ProgramFailed",
    "ProgramNotFound",
    "RecordingEnded",
    "Run",
    "RunsOverlap",
    "Trace",
    "calls",
    "events",
    "guard",
    "judge",
    "program",
    "record",
    "table",
    "tool",
    "trace",
]

# Within a block of the process that started this one, its run goes on here.
_inherit()
