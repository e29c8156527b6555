"""Records what happens within a block, by way of the program's own proxy and its own log."""

from __future__ import annotations

import asyncio
import contextvars
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

from . import _transports
from ._errors import (
    AgentEvalError,
    LogError,
    NotAsRecorded,
    NotSeen,
    ProgramFailed,
    RecordingEnded,
    RunsOverlap,
)
from ._program import UNKNOWN, UNTOLD, Running, program, shown
from ._reading import Call, _calls, events

# The command that the proxy lives as long as: it says which variables it was given, waits to be told how to end, and
# is killed where this process goes away without a word.
_HELPER = """\
import json, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.stdout.write(json.dumps(dict(os.environ)) + "\\n")
sys.stdout.flush()
line = sys.stdin.readline()
if not line.startswith("end "):
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(line[4:]))
"""
_OF_THE_HELPER = ("LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_")
# Where the proxy is told of requests that went past it, so that the log says that it lacks them.
_PAST = "went-past-the-proxy"
_START_SECONDS = 60.0
_END_SECONDS = 60.0
_STOPPED_BY_PROXY = ("policy_denied", "approval_required", "budget_exhausted")


class Run:
    """A run that is recorded, or was.

    Within its block it says where the proxy is; behind it, what is in the log.
    """

    def __init__(self, log: Path | None) -> None:
        self._log = log
        self._events: list[dict[str, Any]] | None = None
        self._is_over = False
        self._past: list[str] = []
        self.environment: dict[str, str] = {}
        """The variables that lead clients of other processes to the proxy, while the block lasts."""

    def __repr__(self) -> str:
        return f"<Run {self._log}>" if self._log else "<Run answered from a recording>"

    @property
    def log(self) -> Path:
        """The path of the log. It is closed when the block is over."""
        if self._log is None:
            raise AgentEvalError(
                "A run that is answered from a recording has no log of its own: what is in the recording, "
                "agent_eval.calls and agent_eval.events say."
            )
        return self._log

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events of the log, references resolved."""
        if not self._is_over:
            raise AgentEvalError("The run is not over yet: read it behind its block.")
        if self._events is None:
            self._events = list(events(self.log))
        return self._events

    @property
    def calls(self) -> list[Call]:
        """The calls of tools that models proposed, in their order, with what models were told came of them.

        The proxy sees what is said to models and by them. A tool that the agent runs by itself is not among these.
        """
        return _calls(self.events)

    @property
    def stop_reason(self) -> str | None:
        """Why the run stopped: ``success`` where the block ended without an exception; ``None`` where the log does not
        say."""
        return self._stop.get("reason")

    @property
    def stop_detail(self) -> str | None:
        """The stop's detail, such as ``exit:0``."""
        return self._stop.get("detail")

    @property
    def answer(self) -> str | None:
        """The last thing that was said in the agent's own conversation; ``None`` where there is none.

        Of several conversations the agent's own is the first that has tools, or goes on, else the one that is told most;
        ``main`` says which it is.
        """
        return self._stop.get("answer")

    @property
    def unseen(self) -> list[str]:
        """What went by and could not be read, or went past the proxy. What is here never counts as not done."""
        told = [e["data"].get("reason", "") for e in self.events if e["type"] == "unseen" and e["data"].get("channels")]
        told = [reason for reason in told if not self._past or _PAST not in reason]
        return told + self._past

    @property
    def _stop(self) -> dict[str, Any]:
        for event in reversed(self.events):
            if event["type"] == "stop":
                data: dict[str, Any] = event["data"]
                return data
        return {}


class record:
    """Records what happens within a block as one run: ``with agent_eval.record("runs/") as run: …``.

    The program's proxy is started on this machine, and clients are led to it: new ones by their base-URL variables,
    which this process (and what it starts) has for as long as the block lasts; those that are there already by
    wrapping httpx, httpx2, requests and aiohttp. When the block ends, however it does, the log is closed. Goes with
    ``async with`` as well.

    ``out`` is the folder of the log, or its file (``….jsonl.gz``); without it, ``.agent-eval/runs``. ``name`` is what
    the log calls the agent, and the id of the case for which ``run --runs`` takes it.

    ``replay`` names a log to answer from, without a key or a network; then nothing is recorded, what the run says of its
    log raises ``AgentEvalError``, and ``NotAsRecorded`` is raised at the end where something else was asked than is in it, or not all of it.

    ``upstream`` says where further providers are, or the usual ones: ``{"groq": "https://api.groq.com/openai/v1"}``.
    ``policy`` is a policy file: calls that it denies are taken out of what models reply. With a policy, as with
    ``replay``, a request that would go past the proxy is refused with status 403. ``main``, ``callers`` and
    ``answer_from`` are ``--main``, ``--caller`` and ``--answer-from`` of ``agent-eval record``.

    ``environment=False`` leaves the variables alone, so that several runs can be recorded at once, each in a thread or
    a task of its own: only requests by httpx, httpx2, requests and aiohttp in the context of the block are recorded
    then, and other processes only if they are given ``run.environment``. A second run beside one that has the variables
    is refused with ``RunsOverlap``.

    ``require_complete`` raises ``NotSeen`` at the end where something went by that could not be read, or past the
    proxy.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        name: str | None = None,
        replay: str | os.PathLike[str] | None = None,
        upstream: Mapping[str, str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        main: str | None = None,
        callers: Mapping[str, str] | None = None,
        answer_from: str | None = None,
        environment: bool = True,
        require_complete: bool = False,
    ) -> None:
        if replay is not None and out is not None:
            raise ValueError("replay answers from a recording and records nothing: leave out away")
        self._replay = os.fspath(replay) if replay is not None else None
        self._upstream = dict(upstream or {})
        self._everywhere = environment
        self._require_complete = require_complete
        log = None if replay is not None else _log_path(out)
        self._arguments = ["record", "--proxy"]
        if log is not None:
            self._arguments += ["--out", str(log)]
        if self._replay is not None:
            self._arguments += ["--replay", self._replay]
        for key, url in self._upstream.items():
            self._arguments += ["--upstream", f"{key}={url}"]
        for flag, value in (("--name", name), ("--main", main), ("--answer-from", answer_from)):
            if value is not None:
                self._arguments += [flag, value]
        if policy is not None:
            self._arguments += ["--policy", os.fspath(policy)]
        for key, matcher in (callers or {}).items():
            self._arguments += ["--caller", f"{key}={matcher}"]
        self._run = Run(log)
        self._route = _transports.Route([], is_only_way=policy is not None or replay is not None)
        self._process: Running | None = None
        self._said: Any = None
        self._token: contextvars.Token[_transports.Route | None] | None = None
        self._before: dict[str, str | None] = {}
        self._owner = 0
        self._past: socket.socket | None = None
        self._past_base = ""

    def __enter__(self) -> Run:
        self._start()
        self._take_context()
        return self._run

    async def __aenter__(self) -> Run:
        starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError as error:
            # What was begun is ended; whoever cancels waits for that.
            if not starting.cancelled() and await _is_done_well(starting):
                await asyncio.to_thread(self._end, error)
            raise
        self._take_context()
        return self._run

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave_context()
        self._end(error)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave_context()
        await _ended(self._end, error)

    def _take_context(self) -> None:
        self._token = _transports.current.set(self._route)

    def _leave_context(self) -> None:
        if self._token is not None:
            try:
                _transports.current.reset(self._token)
            except ValueError:
                # The block ends in another context than it began in, as fixtures of asynchronous tests do.
                if _transports.current.get() is self._route:
                    _transports.current.set(None)
            self._token = None

    def _start(self) -> None:
        if self._process is not None:
            raise AgentEvalError("This recording was begun already: make another one with record(…).")
        if not _transports.open_route(self._route, self._everywhere):
            raise RunsOverlap(
                "Another run is being recorded in this process, and the variables that lead clients to the proxy are "
                "the process's: the two would mix. End that one first, or record both with environment=False, each in "
                "a thread or a task of its own."
            )
        self._owner = os.getpid()
        try:
            self._lead()
        except BaseException:
            _transports.close_route(self._route)
            self._restore()
            self._kill()
            raise

    def _lead(self) -> None:
        """Starts the proxy, and leads clients there."""
        within = self._launch()
        before = dict(os.environ)
        self._route.bases = _transports.bases(before, within, self._upstream, self._replay is None)
        _transports.know(self._route)
        changed = {n: v for n, v in within.items() if before.get(n) != v and n not in _OF_THE_HELPER}
        changed[_transports.VARIABLE] = _transports.told(self._route)
        self._run.environment = changed
        if self._everywhere:
            for name in sorted({*changed, *(n for n in before if n not in within and n not in _OF_THE_HELPER)}):
                self._before[name] = before.get(name)
                if name in changed:
                    os.environ[name] = changed[name]
                else:
                    del os.environ[name]
        _transports.install()

    def _launch(self) -> dict[str, str]:
        """Starts the program; says which variables its command was given."""
        arguments = list(self._arguments)
        file, notes = tempfile.mkstemp(prefix="agent-eval-", suffix=".notes")
        os.close(file)
        self._route.owner, self._route.notes = os.getpid(), [notes, *_transports.around()]
        if self._replay is None:
            self._past = socket.create_server(("127.0.0.1", 0))
            arguments += ["--upstream", f"{_PAST}=http://127.0.0.1:{self._past.getsockname()[1]}"]
        self._said = tempfile.TemporaryFile()
        helper = [sys.executable or "python3", "-I", "-S", "-c", _HELPER]
        # A session of its own: what the terminal says to this process is for the block to hear.
        self._process = Running(
            [program(), *arguments, "--", *helper],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = b""
        limit = time.monotonic() + _START_SECONDS
        while not line.endswith(b"\n"):
            left = limit - time.monotonic()
            # Unlike select, it takes descriptors of any number: a server may have thousands of connections.
            poll = select.poll()
            poll.register(self._process.stdout, select.POLLIN)
            if not poll.poll(max(left, 0) * 1000):
                raise ProgramFailed(f"agent-eval record did not start within {_START_SECONDS:.0f} seconds")
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                self._process.wait()
                raise ProgramFailed(self._words() or "agent-eval record did not start", self._process.returncode)
            line += piece
        found: dict[str, str] = json.loads(line)
        self._past_base = found.pop(_PAST.upper().replace("-", "_") + "_BASE_URL", "")
        return found

    def _tell_past(self) -> None:
        """Has the log say that requests went past the proxy: as requests of which nobody knows what they asked."""
        if self._past is None or not self._past_base:
            return
        listening, base = self._past, urlsplit(self._past_base)

        def answer() -> None:
            try:
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        connection.settimeout(5)
                        received = b""
                        while b"\r\n\r\n" not in received and (piece := connection.recv(65536)):
                            received += piece
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                # The socket was closed: there is no more to tell.
                return

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            for request in self._route.past[:20]:
                method, _, url = request.partition(" ") if "://" in request else ("POST", "", "")
                parts = urlsplit(url)
                told = http.client.HTTPConnection("127.0.0.1", base.port, timeout=5)
                told.request(method, f"{base.path}/{_PAST}/{parts.netloc}{quote(parts.path)}", b"")
                told.getresponse().read()
                told.close()
        except (OSError, http.client.HTTPException):
            # The proxy is gone. The run knows it all the same, and passes nothing.
            pass
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)

    def _words(self) -> str:
        """What the program said so far."""
        self._said.seek(0)
        text: str = self._said.read().decode("utf-8", "replace").strip()
        return text

    def _kill(self) -> None:
        self._forget_notes()
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        if self._said is not None:
            self._said.close()
        if self._past is not None:
            self._past.close()

    def _forget_notes(self) -> None:
        """From here on other processes tell nothing any more."""
        for path in self._route.notes[:1]:
            try:
                os.unlink(path)
            except OSError:
                # Whoever cleans up in the folder for temporary files was faster.
                pass
        self._route.notes = []

    def _restore(self) -> None:
        for name, value in self._before.items():
            # What the block itself has set stays.
            if os.environ.get(name) == self._run.environment.get(name):
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        self._before = {}

    def _end(self, error: BaseException | None) -> None:
        process = self._process
        assert process is not None and process.stdin is not None
        if os.getpid() != self._owner:
            # A copy of the process that fork made; the run is its parent's.
            return
        _transports.close_route(self._route)
        self._restore()
        early = process.poll() is not None
        try:
            self._route.gather()
            if self._route.past and not early:
                self._tell_past()
            try:
                if _is_cancelling(error):
                    process.send_signal(signal.SIGINT)
                else:
                    process.stdin.write(f"end {_exit_code(error)}\n".encode())
                    process.stdin.flush()
            except (BrokenPipeError, ProcessLookupError):
                early = True
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                raise RecordingEnded(
                    f"agent-eval record did not end within {_END_SECONDS:.0f} seconds and was killed. {self._left()}"
                ) from error
            words = self._words()
        finally:
            self._route.gather()
            self._kill()
        self._run._is_over = True
        self._run._past = self._route.words()
        self._run.environment = {}
        self._tell(error, words, process.returncode, early)

    def _left(self) -> str:
        """What there is of the log of a proxy that ended too early."""
        log = self._run._log
        if log is None:
            return "It recorded nothing"
        begun = log.with_name(log.name + ".open")
        if log.exists():
            return f"Its log is {shown(log)}"
        if not begun.exists():
            return "There is no log"
        return f"The log that it had begun is {shown(begun)}; agent-eval repair {shown(begun)} writes what is whole of it"

    def _tell(self, error: BaseException | None, words: str, code: int, early: bool) -> None:
        """Raises what there is to say of the recording; of a block that failed its own exception is enough."""
        found: AgentEvalError | None = None
        if self._replay is not None:
            if code != 0 and (error is None or "diverged" in words):
                words = f"{words}\nagent-eval record: {UNTOLD}".strip() if code == UNKNOWN else words
                found = NotAsRecorded(words or f"agent-eval record ended with {code}")
            elif self._run._past:
                found = NotAsRecorded("Asked past the recording:\n" + "\n".join(self._run._past))
        elif self._run._log is None or not self._run._log.exists():
            found = RecordingEnded(
                f"The proxy ended before the block did: {words or f'agent-eval record ended with {code}'}. {self._left()}"
            )
        elif early and self._run.stop_reason not in _STOPPED_BY_PROXY:
            found = RecordingEnded(f"The proxy ended before the block did: {words}. {self._left()}")
        if found is None and self._require_complete and self._run._log is not None and self._run.unseen:
            found = NotSeen("Not all of the run was seen:\n" + "\n".join(f"- {line}" for line in self._run.unseen))
        if found is None:
            return
        if error is None:
            raise found
        if hasattr(error, "add_note"):
            error.add_note(f"agent-eval: {found}")


async def _is_done_well(task: asyncio.Future[None]) -> bool:
    try:
        await task
    except Exception:  # noqa: BLE001 - there is nothing to end, and the cancellation is told
        return False
    return True


def _log_path(out: str | os.PathLike[str] | None) -> Path:
    path = Path(out if out is not None else ".agent-eval/runs")
    if not re.search(r"\.jsonl\.gz$", path.name):
        path = path / f"{uuid.uuid4()}.jsonl.gz"
    elif path.exists():
        raise LogError(f"{shown(path)} is there already: name another file, or a folder")
    return path.absolute()


async def _ended(end: Callable[[BaseException | None], None], error: BaseException | None) -> None:
    """Ends a run beside the loop, and wholly, also where the task is cancelled meanwhile."""
    ending = asyncio.ensure_future(asyncio.to_thread(end, error))
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise


def _is_cancelling(error: BaseException | None) -> bool:
    return isinstance(error, (KeyboardInterrupt, asyncio.CancelledError))


def _exit_code(error: BaseException | None) -> int:
    if error is None or isinstance(error, GeneratorExit):
        return 0
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        # Of a number of which the system keeps nothing (256) it is still no success.
        return (error.code & 255 or min(abs(error.code), 1)) if isinstance(error.code, int) else 1
    return 1
