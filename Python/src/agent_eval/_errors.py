"""What this package raises."""

from __future__ import annotations


class AgentEvalError(Exception):
    """Something could not be done; the text says what, where, and what to do next."""


class ProgramNotFound(AgentEvalError):
    """The program agent-eval is nowhere that it is looked for."""


class ProgramFailed(AgentEvalError):
    """The program could not do what it was asked; the text is what it said.

    ``exit_code`` is the code that it ended with.
    """

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class LogError(ProgramFailed):
    """A log is missing, damaged, or no log."""


class RunsOverlap(AgentEvalError):
    """A run would be recorded beside another one in a way that could mix the two."""


class RecordingEnded(AgentEvalError):
    """The recording ended before its block did: what came after is not in the log."""


class NotSeen(AgentEvalError):
    """A run had to be recorded whole, and something was not seen."""


class NotAsRecorded(AgentEvalError):
    """What was answered from a recording asked what is not in it, or did not ask what is."""


class Forbidden(AgentEvalError):
    """A guard does not let a tool run. It has not run.

    ``tool`` and ``input`` are the call, ``expectation`` is what it would break, such as ``toolsNotCalled[0]``, and
    ``reason`` says how.
    """

    def __init__(self, tool: str, input: object, expectation: str, reason: str) -> None:
        super().__init__(f"{tool} may not run: {reason} ({expectation})")
        self.tool = tool
        self.input = input
        self.expectation = expectation
        self.reason = reason

    def __reduce__(self) -> tuple[type[Forbidden], tuple[str, object, str, str]]:
        """So that it comes back from other processes: a pool that cannot read it breaks, or waits for ever."""
        return type(self), (self.tool, self.input, self.expectation, self.reason)


class GuardError(AgentEvalError):
    """A guard cannot tell whether a call may run, so that it does not run."""
