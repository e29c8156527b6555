"""Where the program is found, and what is said where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from provider import Provider

import agent_eval
from agent_eval import _program


def test_the_variable_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    monkeypatch.setenv("AGENT_EVAL_BINARY", str(other))
    assert agent_eval.program() == str(other)


def test_a_variable_that_names_no_program_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENT_EVAL_BINARY", str(tmp_path))
    with pytest.raises(agent_eval.ProgramNotFound, match="names “.*”, which is no program"):
        agent_eval.program()


def test_the_package_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AGENT_EVAL_BINARY", raising=False)
    for name in ("within", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent-eval").write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name / "agent-eval").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert agent_eval.program() == str(tmp_path / "path" / "agent-eval")
    monkeypatch.setattr(_program, "_BESIDE", str(tmp_path / "within" / "agent-eval"))
    assert agent_eval.program() == str(tmp_path / "within" / "agent-eval")


def test_the_console_script_is_not_taken_for_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AGENT_EVAL_BINARY", raising=False)
    monkeypatch.setattr(_program, "_BESIDE", str(tmp_path / "nothing"))
    script = tmp_path / "agent-eval"
    script.write_text("#!/usr/bin/python3\nfrom agent_eval.__main__ import main\nmain()\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(agent_eval.ProgramNotFound, match="AGENT_EVAL_BINARY is not set.*Install a wheel"):
        agent_eval.program()


def test_without_a_program_every_door_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EVAL_BINARY", "/nowhere")
    before = dict(os.environ)
    with pytest.raises(agent_eval.ProgramNotFound):
        with agent_eval.record():
            pytest.fail("the block must not run")
    with pytest.raises(agent_eval.ProgramNotFound):
        agent_eval.judge("log.jsonl.gz", {"maxSteps": 1})
    with pytest.raises(agent_eval.ProgramNotFound):
        agent_eval.guard({"toolsNotCalled": ["x"]})
    with pytest.raises(agent_eval.ProgramNotFound):
        list(agent_eval.events("log.jsonl.gz"))
    assert dict(os.environ) == before
    ran = subprocess.run([sys.executable, "-m", "agent_eval", "--version"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and ran.stderr.startswith("agent-eval: AGENT_EVAL_BINARY names")


def test_the_module_is_the_program() -> None:
    direct = subprocess.run([agent_eval.program(), "schema", "nothing"], capture_output=True, text=True, check=False)
    ran = subprocess.run(
        [sys.executable, "-m", "agent_eval", "schema", "nothing"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (direct.returncode, direct.stdout, direct.stderr)
    assert ran.returncode == 64


HOW = {
    "ignores": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "reaps": (
        "def reap(*_):\n"
        "    try:\n"
        "        while os.waitpid(-1, os.WNOHANG)[0]: pass\n"
        "    except ChildProcessError: pass\n"
        "signal.signal(signal.SIGCHLD, reap)"
    ),
}


@pytest.mark.parametrize("how", HOW)
def test_where_nobody_can_tell_how_the_program_ended_nothing_is_taken_for_well(provider: Provider, how: str) -> None:
    openai = pytest.importorskip("openai")
    with agent_eval.record("log.jsonl.gz"):
        openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "one"}])
    script = (
        "import agent_eval, openai, os, signal, time\n"
        f"{HOW[how]}\n"
        "def raises(kind, what):\n"
        "    try:\n"
        "        what()\n"
        "    except kind as error:\n"
        "        return str(error)\n"
        "    raise AssertionError(what)\n"
        "def replays():\n"
        "    with agent_eval.record(replay='log.jsonl.gz'):\n"
        "        pass\n"
        "assert raises(agent_eval.NotAsRecorded, replays)\n"
        "assert raises(agent_eval.LogError, lambda: list(agent_eval.events('none.jsonl.gz')))\n"
        "guards = lambda: agent_eval.guard({'maxToolCalls': -1})\n"
        "assert raises(agent_eval.ProgramFailed, guards)\n"
        "with agent_eval.record('second.jsonl.gz') as run:\n"
        "    said = [{'role': 'user', 'content': 'one'}]\n"
        "    openai.OpenAI().chat.completions.create(model='m', messages=said)\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_DFL)\n"
        "assert run.answer == 'blue, one'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
