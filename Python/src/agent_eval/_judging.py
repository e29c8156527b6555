"""Judges runs, logs and lists of messages by what is expected of them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import LogError, ProgramFailed
from ._program import call, path_of, path_text, plain, shown
from ._recording import Run


@dataclass(frozen=True)
class Check:
    """What the judge says of one expectation."""

    expectation: str
    """Its place below ``expected``, such as ``toolsCalled[1]``."""
    outcome: str
    """``pass``, ``fail``, ``unverifiable`` (the answer may lie in what the log does not show) or ``not_exercised`` (what
    it speaks of never arose)."""
    message: str
    """One sentence for a person."""
    expected: str | None = None
    """What was asked."""
    actual: str | None = None
    """What was there."""
    events: tuple[int, ...] = ()
    """The numbers of the fewest events that show it."""
    severity: str = "error"
    """``warning`` where the whole does not fail by it."""

    @property
    def text(self) -> str:
        """All of it, in lines."""
        word = {"pass": "passed", "fail": "failed", "not_exercised": "not exercised"}.get(self.outcome, self.outcome)
        lines = [f"{self.expectation} {word}: {self.message}"]
        if self.expected is not None:
            lines.append(f"  expected  {self.expected}")
        if self.actual is not None:
            lines.append(f"  actual    {self.actual}")
        if self.events:
            lines.append(f"  events    {' '.join(map(str, self.events))}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Outcome:
    """What the judge says of a run. True where it passed, and only then."""

    outcome: str
    """``pass``, ``fail``, ``inconclusive`` (something is unverifiable, or nothing was exercised) or ``error`` (it could
    not be judged)."""
    checks: tuple[Check, ...] = ()
    """One for each expectation."""
    log: Path | None = None
    """The log that was judged; ``None`` where it was made of messages and is not kept."""
    run_id: str | None = None
    """The run in it."""
    error: str | None = None
    """Why it could not be judged."""
    warnings: tuple[str, ...] = ()
    """What is probably a slip in what was expected."""
    unseen: tuple[str, ...] = ()
    """Requests of the run that went past the proxy: with any, nothing passes."""

    @property
    def passed(self) -> bool:
        """Whether everything that was expected is shown to hold."""
        return self.outcome == "pass"

    @property
    def failures(self) -> tuple[Check, ...]:
        """What failed and counts."""
        return tuple(c for c in self.checks if c.outcome == "fail" and c.severity == "error")

    @property
    def unverifiable(self) -> tuple[Check, ...]:
        """What the log cannot show."""
        return tuple(c for c in self.checks if c.outcome == "unverifiable")

    @property
    def evidence(self) -> tuple[Check, ...]:
        """What speaks against a pass; of a pass, the checks that it rests on."""
        against = tuple(c for c in self.checks if c.outcome != "pass" and c.severity == "error")
        return against if not self.passed else tuple(c for c in self.checks if c.outcome == "pass")

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        if self.passed:
            return f"<Outcome pass: {len(self.checks)} checks>"
        first = next(iter(self.failures or self.evidence), None)
        told = self.error or (f"{first.expectation}: {first.message}" if first else "; ".join(self.unseen))
        return f"<Outcome {self.outcome}: {told}>"

    def __str__(self) -> str:
        passed = sum(c.outcome == "pass" for c in self.checks)
        first = next(iter(self.failures or (self.evidence if not self.passed else ())), None)
        told = f": {first.expectation}: {first.message}" if first else ""
        lines = [f"{self.outcome}: {self.error}"] if self.error else []
        lines = lines or [f"{self.outcome}{told} ({passed} of {len(self.checks)} checks passed)"]
        lines += [check.text for check in self.evidence if not self.passed]
        # A pass with less than all checks says which only warn.
        lines += [f"warning: {check.text}" for check in self.checks if self.passed and check.outcome != "pass"]
        lines += [f"not seen: {request}" for request in self.unseen]
        lines += [f"warning: {warning}" for warning in self.warnings]
        if self.log is not None and not self.passed and not self.error:
            lines.append(f"more: agent-eval show {shown(self.log)}")
        return "\n".join(lines)

    def check(self) -> Outcome:
        """Raises ``AssertionError`` that tells everything unless it passed; else is the outcome itself."""
        __tracebackhide__ = True
        if not self.passed:
            raise AssertionError(str(self))
        return self


@dataclass
class _Kept:
    folder: tempfile.TemporaryDirectory[str] | None = None
    log: Path | None = None
    past: tuple[str, ...] = field(default=())


def judge(
    subject: Run | str | os.PathLike[str] | Sequence[Any],
    expected: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    out: str | os.PathLike[str] | None = None,
    format: str | None = None,
    exec: bool = False,
    ask_models: bool = False,
) -> Outcome:
    """Judges a run by what is expected of it, as ``expected`` of a case says it.

    ``subject`` is a ``Run`` that is over, the path of a log, the path of another tool's trace that ``agent-eval
    import`` reads, or a list of messages (mappings, or objects with ``model_dump``). ``format`` is the importer's name
    of the trace or the messages; without it that is told by what stands in them. ``out`` is a folder that keeps the log
    that is made of them; the log of messages is named by what stands in them.

    ``exec`` starts the programs by which ``expected`` judges, ``ask_models`` asks its models; their paths start from
    the folder that this process works in.

    What a log does not show is unverifiable and never passes. Of a run of which requests went past the proxy nothing
    passes. Raises ``LogError`` where there is nothing to judge, and ``ProgramFailed`` where ``expected`` has a mistake.
    """
    kept = _log_of(subject, out, format)
    try:
        case = {"caseId": "judged", "recording": path_text(kept.log or ""), "expected": plain(expected, "expected")}
        arguments = ["run", "--files-from", "-", "--no-summary", "--jobs", "1"]
        if exec:
            arguments.append("--exec")
        if ask_models:
            arguments.append("--judge")
        # The code follows the outcome, which the line says too.
        answered = call(arguments, input=json.dumps(case) + "\n", expect=(0, 1, 2, 3))
        if not answered.stdout.strip():
            raise ProgramFailed(answered.stderr.strip(), answered.returncode)
        line = json.loads(answered.stdout)
    finally:
        if kept.folder is not None:
            kept.folder.cleanup()
    if "error" in line:
        raise ProgramFailed(_without_place(line["error"]), 2)
    found = read_case(line["cases"][0], keeps_log=kept.folder is None)
    if found.outcome == "error" and not found.checks and _is_about_log(found.error, path_text(kept.log or "")):
        raise LogError(found.error or "", 2)
    if kept.past:
        found = Outcome(
            "inconclusive" if found.passed else found.outcome,
            found.checks,
            found.log,
            found.run_id,
            found.error,
            found.warnings,
            tuple(f"{past}; say where it is with record(upstream={{…}})" for past in kept.past),
        )
    return found


def read_case(case: Mapping[str, Any], keeps_log: bool = True) -> Outcome:
    """The outcome of a case as the program's results tell it; of several runs, the one that decided."""
    trials = case.get("trials", [])
    worst = {"error": 3, "fail": 2, "inconclusive": 1}
    trial: Mapping[str, Any] = max(trials, key=lambda t: worst.get(str(t.get("outcome")), 0), default={})
    log = trial.get("log")
    return Outcome(
        outcome=case["outcome"],
        checks=tuple(
            Check(
                expectation=e["expectation"],
                outcome=e["outcome"],
                message=e["message"],
                expected=e.get("expected"),
                actual=e.get("actual"),
                events=tuple(e.get("events", ())),
                severity=e.get("severity", "error"),
            )
            for e in trial.get("expectations", [])
        ),
        log=Path(path_of(log)) if log and keeps_log else None,
        run_id=trial.get("runId"),
        error=case.get("error") or trial.get("error"),
        warnings=tuple(trial.get("warnings", ())),
    )


def _without_place(text: str) -> str:
    """Mistakes in what was expected, without places in a line that nobody wrote."""
    return "\n".join(re.sub(r"^-:\d+:\d+: ", "", line) for line in text.splitlines())


def _is_about_log(error: str | None, log: str) -> bool:
    return error is not None and error.startswith(log)


def _log_of(subject: Any, out: str | os.PathLike[str] | None, format: str | None) -> _Kept:
    if isinstance(subject, Run):
        if not subject._is_over:
            raise LogError("The run is not over yet: judge it behind its block.")
        return _Kept(log=subject.log, past=tuple(subject._past))
    if isinstance(subject, (str, os.PathLike)):
        if not os.fspath(subject):
            raise LogError("judge was given an empty path", 2)
        path = Path(os.fspath(subject)).absolute()
        if format is None and _is_log(path):
            return _Kept(log=path)
        if not path.exists():
            raise LogError(f"{shown(path)}: there is no such file", 2)
        try:
            return _import(path, out, format)
        except LogError as error:
            # Nothing is imported of logs, and that would not say why there is nothing to judge.
            if not path.is_dir() or not any(_is_log(found) for found in path.rglob("*.jsonl.gz")):
                raise
            raise LogError(
                f"{shown(path)} is a folder that holds logs, and judge takes one run: name its log; "
                "agent-eval run RULES.yaml --on FOLDER judges all",
                2,
            ) from error
    if isinstance(subject, Sequence) and not isinstance(subject, (bytes, bytearray)):
        messages = [plain(message, f"messages[{index}]") for index, message in enumerate(subject)]
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(messages).encode()
            # Lists have no names: what stands in one is its name, so that each has a log of its own.
            path = Path(folder) / f"messages-{hashlib.sha256(text).hexdigest()[:16]}.json"
            path.write_bytes(text)
            return _import(path, out, format)
    raise TypeError(
        f"judge takes a run, the path of a log or a trace, or a list of messages, not {type(subject).__name__}"
    )


# How each log begins: gzip with a field of the program's own.
_LOG_HEAD = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x18\x00AE\x14\x00"
_LOG_NAMES = (".jsonl.gz", ".jsonl.gz.open")


def _is_log(path: Path) -> bool:
    """Whether a file begins as a log does. One of such a name that is missing or damaged is one, about which there is
    something to say; a trace of another tool that is packed is none, whatever its name."""
    is_named = path.name.endswith(_LOG_NAMES)
    if not path.is_file():
        return is_named
    try:
        with path.open("rb") as file:
            head = file.read(len(_LOG_HEAD))
        if head == _LOG_HEAD or not is_named:
            return head == _LOG_HEAD
        with gzip.open(path) as unpacked:
            first = unpacked.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    except (OSError, EOFError, zlib.error):
        return is_named
    # A log that was packed anew begins so as well.
    return not first[:1] in (b"{", b"[") or re.match(rb'\{"seq":\d+,"step":\d+,"type":', first) is not None


def _import(path: Path, out: str | os.PathLike[str] | None, format: str | None) -> _Kept:
    temporary = tempfile.TemporaryDirectory(prefix="agent-eval-") if out is None else None
    folder = Path(temporary.name if temporary is not None else os.fspath(out or "")).absolute()
    try:
        arguments = ["import", *([format] if format else []), str(path), "--out", str(folder), "--json"]
        answered = call(arguments, expect=(0, 2), error=LogError)
        runs = [json.loads(line) for line in answered.stdout.splitlines() if line.startswith("{")]
        wrong = [run["error"] for run in runs if "error" in run]
        if answered.returncode != 0 or wrong or len(runs) != 1:
            kinds = list(dict.fromkeys(wrong))
            told = "; ".join(kinds[:3]) or answered.stderr.strip()
            if len(kinds) > 3:
                told += f"; and {len(kinds) - 3} more"
            if len(runs) > 1:
                several = (
                    f"{len(runs)} {'runs or files' if wrong else 'runs'} stand in it, and judge takes one run; "
                    "agent-eval import makes a log of each, agent-eval run RULES.yaml --on FOLDER judges all"
                )
                told = f"{several} ({told})" if told else several
            raise LogError(f"{path.name}: {told}", 2)
        log = Path(path_of(runs[0]["log"]))
        return _Kept(folder=temporary, log=log if log.is_absolute() else Path.cwd() / log)
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise
