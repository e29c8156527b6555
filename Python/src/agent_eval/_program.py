"""Where the program is, and how it is called."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._errors import ProgramFailed, ProgramNotFound

# The character that stands for the byte 0 of a name that is no UTF-8.
_BYTES = 0x10FE00
_BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "agent-eval")


def program() -> str:
    """The path of the program: what AGENT_EVAL_BINARY names, else the one in this package, else the one in PATH.

    Raises ``ProgramNotFound`` where there is none.
    """
    named = os.environ.get("AGENT_EVAL_BINARY")
    if named:
        if _is_program(named):
            return os.path.abspath(named)
        raise ProgramNotFound(
            f"AGENT_EVAL_BINARY names “{named}”, which is no program. Let it name agent-eval, or take it away."
        )
    if _is_program(_BESIDE):
        return _BESIDE
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "agent-eval")
        if _is_program(path) and not _is_our_script(path):
            return os.path.abspath(path)
    raise ProgramNotFound(
        "The program agent-eval was not found: AGENT_EVAL_BINARY is not set, this package came without it "
        f"({_BESIDE}), and no folder of PATH has it. Install a wheel of agent-eval for this system, or set "
        "AGENT_EVAL_BINARY to the path of the program."
    )


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


def _is_our_script(path: str) -> bool:
    """Whether a file is the console script of this package, which would start itself for ever."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return True
    return head.startswith(b"#!") and b"agent_eval" in head


class Running(subprocess.Popen[Any]):
    """A process whose end is no success where nobody can tell how it ended: in a process that ignores ``SIGCHLD``, or
    that waits for all its children, the system gives its code to nobody, and ``subprocess`` takes that for 0."""

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            return os.waitpid(self.pid, wait_flags)
        except ChildProcessError:
            return self.pid, UNKNOWN << 8

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None


UNKNOWN = 255
"""The code of an end of which nobody can tell. The program has none that is so high."""
UNTOLD = (
    "how it ended cannot be told: this process ignores SIGCHLD, or waits for children that are not its own. "
    "signal.signal(signal.SIGCHLD, signal.SIG_DFL) mends the first"
)


def call(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    expect: Sequence[int] = (0,),
    input: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    error: type[ProgramFailed] = ProgramFailed,
) -> subprocess.CompletedProcess[str]:
    """Calls the program and waits for its end; raises ``error`` where it ends with a code that is not expected."""
    asked = [program(), *arguments]
    with Running(
        asked,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
        cwd=cwd,
    ) as running:
        try:
            told, said = running.communicate(input if input is not None else "")
        except BaseException:
            running.kill()
            raise
    found = subprocess.CompletedProcess[str](asked, running.returncode, told, said)
    if found.returncode not in expect:
        raise error(_said(found), found.returncode)
    return found


def _said(found: subprocess.CompletedProcess[str]) -> str:
    verb = found.args[1] if len(found.args) > 1 else ""
    if found.returncode == UNKNOWN:
        return f"agent-eval {verb}: {UNTOLD}"
    said = found.stderr.strip() or found.stdout.strip()[-2000:]
    return said or f"agent-eval {verb} ended with {found.returncode} and said nothing"


def lines(
    arguments: Sequence[str | os.PathLike[str]], error: type[ProgramFailed] = ProgramFailed
) -> Iterator[Any]:
    """What the program prints, a value of JSON a line, as it comes; raises ``error`` at the end where it failed."""
    import tempfile

    with tempfile.TemporaryFile() as said:
        with Running(
            [program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        ) as running:
            assert running.stdout is not None
            ended = False
            try:
                for line in running.stdout:
                    yield json.loads(line)
                ended = True
            finally:
                if not ended:
                    running.kill()
        if running.returncode != 0:
            said.seek(0)
            text = said.read().decode("utf-8", "replace").strip()
            if running.returncode == UNKNOWN:
                text = f"agent-eval {arguments[0]}: {text or UNTOLD}"
            raise error(
                text or f"agent-eval {arguments[0]} ended with {running.returncode}", running.returncode
            )


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as the program takes it in JSON: a byte that belongs to no UTF-8 is a character from U+10FE00 on, as
    Docs/command-line.md says of names of files."""
    text = os.fspath(path)
    if not any(_BYTES <= ord(character) <= _BYTES + 0xFF or 0xDC80 <= ord(character) <= 0xDCFF for character in text):
        return text
    made = []
    for character in text:
        number = ord(character)
        if 0xDC80 <= number <= 0xDCFF:
            made.append(chr(_BYTES + number - 0xDC00))
        elif _BYTES <= number <= _BYTES + 0xFF:
            made += [chr(_BYTES + byte) for byte in character.encode()]
        else:
            made.append(character)
    return "".join(made)


def path_of(text: str) -> str:
    """The path that the program's JSON tells."""
    data = b"".join(
        bytes([ord(character) - _BYTES])
        if _BYTES <= ord(character) <= _BYTES + 0xFF
        else character.encode("utf-8", "surrogateescape")
        for character in text
    )
    return os.fsdecode(data)


def shown(path: str | os.PathLike[str]) -> str:
    """A path in a text for people: bytes that are no UTF-8 as ``\\xff``, in quotes that a shell takes for the bytes."""
    text = os.fspath(path)
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        quoted = os.fsencode(text.replace("\\", "\\\\").replace("'", "\\'")).decode("utf-8", "backslashreplace")
        return f"$'{quoted}'"


def plain(value: Any, place: str = "value", *, is_whole: bool = False) -> Any:
    """A value as JSON can say it: models of pydantic and data classes become mappings, tuples lists.

    Members of models that are ``None`` are left out, as they are of messages that are sent, unless ``is_whole``. Raises
    ``TypeError`` that names the place of what JSON cannot say.
    """
    import dataclasses
    import math

    if value is None or isinstance(value, (str, bool, int)):
        # What it holds: an enumeration of texts prints as the name of its member.
        return str.__str__(value) if isinstance(value, str) else value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise TypeError(f"{place} is {value}, which JSON cannot say")
    if isinstance(value, Mapping):
        made = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place} has the key {key!r}; keys are texts")
            name = str.__str__(key)
            made[name] = plain(item, f"{place}.{name}", is_whole=is_whole)
        return made
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{place}[{index}]", is_whole=is_whole) for index, item in enumerate(value)]
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(mode="json", exclude_none=not is_whole), place, is_whole=is_whole)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value), place, is_whole=is_whole)
    raise TypeError(f"{place} is a {type(value).__name__}, which JSON cannot say")


def printed(value: Any, by: Callable[[Any], str] = str) -> str:
    """What Python prints of a value, whatever that raises, as a text that UTF-8 can say."""
    try:
        text = by(value)
    except Exception:  # noqa: BLE001 - code of others, which may raise anything
        text = object.__repr__(value)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
