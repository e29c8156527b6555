"""A wheel holds the program that it is given."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("build")
PACKAGE = Path(__file__).resolve().parents[1]


def build(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_EVAL_WHEEL")}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(PACKAGE)]
    return subprocess.run(command, env={**kept, **variables}, capture_output=True, text=True, check=False)


def test_a_wheel_holds_the_program(folder: Path) -> None:
    program = folder / "any-name"
    program.write_text("#!/bin/sh\necho the program \"$@\"\n")
    program.chmod(0o755)
    ran = build(folder, AGENT_EVAL_WHEEL_BINARY=str(program), AGENT_EVAL_WHEEL_PLATFORM="manylinux_2_34_x86_64")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    wheel = folder / "dist/agent_eval-0.1.0-py3-none-manylinux_2_34_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = archive.getinfo("agent_eval/_bin/agent-eval")
        assert held.external_attr >> 16 & 0o111 and archive.read(held) == program.read_bytes()
        assert "agent_eval/py.typed" in archive.namelist()
    first = wheel.read_bytes()
    assert build(folder, AGENT_EVAL_WHEEL_BINARY=str(program), AGENT_EVAL_WHEEL_PLATFORM="manylinux_2_34_x86_64")
    assert wheel.read_bytes() == first
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder / "there"), str(wheel)]
    subprocess.run([sys.executable, *install], check=True)
    kept = {name: value for name, value in os.environ.items() if name != "AGENT_EVAL_BINARY"}
    said = subprocess.run(
        [sys.executable, "-m", "agent_eval", "run", "x y"],
        env={**kept, "PYTHONPATH": str(folder / "there")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.stdout == "the program run x y\n"


def test_a_wheel_without_a_program_is_for_any_system(folder: Path) -> None:
    ran = build(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with zipfile.ZipFile(folder / "dist/agent_eval-0.1.0-py3-none-any.whl") as archive:
        assert not [name for name in archive.namelist() if "_bin" in name]


@pytest.mark.parametrize(("name", "value"), [("BINARY", "/nowhere"), ("PLATFORM", "any/../x")])
def test_mistakes_are_told(folder: Path, name: str, value: str) -> None:
    variables = {"AGENT_EVAL_WHEEL_BINARY": "/bin/sh", f"AGENT_EVAL_WHEEL_{name}": value}
    ran = build(folder, **variables)
    assert ran.returncode != 0 and f"AGENT_EVAL_WHEEL_{name}" in ran.stdout + ran.stderr
