"""The examples of Docs/python.md run."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from provider import Provider

pytest.importorskip("openai")
ROOT = Path(__file__).resolve().parents[2]
PAGES = [path for path in (ROOT / "Docs/python.md", ROOT / "Python/README.md") if path.exists()]
BLOCKS = [
    (page.name, number, block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text(), re.S))
]


@pytest.mark.skipif(not BLOCKS, reason="the documents are not beside the package")
@pytest.mark.parametrize(("page", "number", "block"), BLOCKS, ids=lambda value: str(value)[:12].split("\n")[0])
def test_an_example_runs(provider: Provider, folder: Path, page: str, number: int, block: tuple[str, str]) -> None:
    code, printed = block
    for module in re.findall(r"^(?:from|import) (\w+)", code, re.M):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    named = re.match(r"# (\S+\.py)\n", code)
    if named:
        (folder / named[1]).write_text(code)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", named[1]]
    else:
        command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    if printed:
        assert ran.stdout == printed
