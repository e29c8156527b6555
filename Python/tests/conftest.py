from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from provider import Provider

pytest_plugins = ["pytester"]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    """A provider to which the variables of the usual clients lead, and keys for it."""
    made = Provider()
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "AWS_", "GEMINI_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_BASE_URL", made.url + "/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", made.url)
    monkeypatch.setenv("GEMINI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
