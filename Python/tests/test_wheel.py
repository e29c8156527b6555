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
NAMING = PACKAGE.parent / "CI/name-wheel"


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


@pytest.mark.skipif(not NAMING.exists(), reason="the scripts are not beside the package")
def test_a_wheel_may_have_another_name_on_an_index(folder: Path) -> None:
    program = folder / "agent-eval"
    program.write_text("#!/bin/sh\necho the program\n")
    program.chmod(0o755)
    assert build(folder, AGENT_EVAL_WHEEL_BINARY=str(program), AGENT_EVAL_WHEEL_PLATFORM="linux_x86_64").returncode == 0
    [wheel] = (folder / "dist").glob("*.whl")

    def name(*arguments: str) -> int:
        command = [sys.executable, str(NAMING), *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert name("Our.Agent--eval", "named", str(wheel)) == 0
    named = folder / "named/our_agent_eval-0.1.0-py3-none-linux_x86_64.whl"
    there = folder / "there"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(there)]
    # For any machine that these tests run on.
    subprocess.run([sys.executable, *install, "--platform", "linux_x86_64", "--only-binary", ":all:", str(named)], check=True)
    assert "Name: Our.Agent--eval\n" in (there / "our_agent_eval-0.1.0.dist-info/METADATA").read_text()
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(named) as after:
        assert [e.external_attr for e in before.infolist()] == [e.external_attr for e in after.infolist()]
        assert len(before.namelist()) == len(after.namelist()) and not [n for n in after.namelist() if "agent_eval-0" in n
                                                                      and not n.startswith("our_")]  # fmt: skip
        assert before.read("agent_eval/_bin/agent-eval") == after.read("agent_eval/_bin/agent-eval")
    for wrong, code in (("", 64), ("a b", 64), ("../x", 64), ("-x", 64)):
        assert name(wrong, "named", str(wheel)) == code
    (folder / "x-1-py3-none-any.whl").write_bytes(b"none")
    assert name("ours", "named", str(folder / "x-1-py3-none-any.whl")) == 2
