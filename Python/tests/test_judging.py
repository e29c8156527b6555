"""Runs, logs and messages are judged by the program, and nothing that is not shown passes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import agent_eval

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "What colour is Graz?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"city": "Graz"}'}},
            {"id": "b", "type": "function", "function": {"name": "delete_note", "arguments": '{"name": "x"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "blue"},
    {"role": "tool", "tool_call_id": "b", "content": "deleted"},
    {"role": "assistant", "content": "It is blue."},
]


def test_what_holds_passes() -> None:
    outcome = agent_eval.judge(MESSAGES, {"toolsCalled": ["look"], "answer": {"$contains": "blue"}})
    assert outcome and outcome.passed and outcome.outcome == "pass" and outcome.check() is outcome
    assert [check.outcome for check in outcome.checks] == ["pass", "pass"]
    assert outcome.evidence == outcome.checks and outcome.failures == ()
    assert repr(outcome) == "<Outcome pass: 2 checks>"


def test_what_does_not_hold_fails_with_its_evidence() -> None:
    outcome = agent_eval.judge(MESSAGES, {"toolsNotCalled": ["delete_*"], "maxSteps": 1})
    assert not outcome and outcome.outcome == "fail"
    first, second = outcome.failures
    assert (first.expectation, first.expected) == ("toolsNotCalled[0]", "not called: delete_*")
    assert "delete_note" in (first.actual or "") and first.events
    assert second.expectation == "maxSteps"
    with pytest.raises(AssertionError) as raised:
        outcome.check()
    for part in ("fail: toolsNotCalled[0]: delete_* was called once.", "expected", "actual", "events"):
        assert part in str(raised.value)
    with pytest.raises(AssertionError, match="toolsNotCalled"):
        assert outcome, outcome


def test_a_pass_tells_which_checks_only_warn() -> None:
    outcome = agent_eval.judge(MESSAGES, [{"toolsCalled": ["look"]}, {"severity": "warning", "maxSteps": 1}])
    assert outcome.passed
    first, second = str(outcome).splitlines()[:2]
    assert first == "pass (1 of 2 checks passed)" and second.startswith("warning: [1].maxSteps failed: ")


def test_what_cannot_be_verified_is_neither() -> None:
    outcome = agent_eval.judge(MESSAGES, {"maxRetries": 0, "toolsCalled": ["look"]})
    assert outcome.outcome == "inconclusive" and not outcome.passed and not outcome
    assert [check.expectation for check in outcome.unverifiable] == ["maxRetries"]
    assert outcome.failures == () and outcome.evidence == outcome.unverifiable
    with pytest.raises(AssertionError, match="maxRetries unverifiable"):
        outcome.check()


def test_what_was_not_exercised_does_not_pass() -> None:
    outcome = agent_eval.judge(MESSAGES, {"eachCall": [{"tool": "pay", "input": {"amount": 1}}]})
    assert outcome.outcome == "inconclusive" and outcome.evidence[0].outcome == "not_exercised"


def test_a_warning_does_not_fail() -> None:
    outcome = agent_eval.judge(MESSAGES, [{"maxSteps": 9}, {"severity": "warning", "maxToolCalls": 1}])
    assert outcome.passed and outcome.failures == ()


def test_a_probable_slip_is_told() -> None:
    outcome = agent_eval.judge(MESSAGES, {"toolsNotCalled": ["erase_.*"], "toolsCalled": ["look"]})
    assert outcome.passed and "erase_*" in outcome.warnings[0] and "warning: " in str(outcome)


def test_a_mistake_in_what_is_expected_is_an_error() -> None:
    with pytest.raises(agent_eval.ProgramFailed, match="did you mean “toolsCalled”") as raised:
        agent_eval.judge(MESSAGES, {"toolsCaled": ["look"]})
    assert "-:1" not in str(raised.value)
    with pytest.raises(agent_eval.ProgramFailed):
        agent_eval.judge(MESSAGES, {})
    with pytest.raises(TypeError, match=r"expected\.answer is a set"):
        agent_eval.judge(MESSAGES, {"answer": {1, 2}})
    with pytest.raises(TypeError, match="expected.maxSteps is nan"):
        agent_eval.judge(MESSAGES, {"maxSteps": float("nan")})


def test_logs_are_kept_where_that_is_asked_for(folder: Path) -> None:
    assert agent_eval.judge(MESSAGES, {"maxSteps": 9}).log is None
    outcome = agent_eval.judge(MESSAGES, {"maxSteps": 1}, out="kept")
    assert outcome.log is not None and outcome.log.is_relative_to(folder / "kept")
    assert f"agent-eval show {outcome.log}" in str(outcome)
    again = agent_eval.judge(outcome.log, {"maxSteps": 1})
    assert again.checks == outcome.checks and again.run_id == outcome.run_id
    assert os.listdir(folder) == ["kept"]


def test_traces_are_judged(folder: Path) -> None:
    (folder / "trace.json").write_text(json.dumps({"messages": MESSAGES}))
    assert agent_eval.judge("trace.json", {"toolsCalled": ["look"]}).passed
    assert agent_eval.judge(folder / "trace.json", {"toolsCalled": ["look"]}, format="openai-messages").passed
    (folder / "two.jsonl").write_text((json.dumps({"messages": MESSAGES}) + "\n") * 2)
    with pytest.raises(agent_eval.LogError, match="2 runs stand in it"):
        agent_eval.judge("two.jsonl", {"toolsCalled": ["look"]})
    (folder / "many").mkdir()
    for number in range(9):
        (folder / "many" / f"{number}.json").write_text(json.dumps({"nothing": number}))
    with pytest.raises(agent_eval.LogError, match="9 runs or files stand in it") as told:
        agent_eval.judge("many", {"toolsCalled": ["look"]})
    assert len(str(told.value)) < 2000
    with pytest.raises(agent_eval.LogError, match="an empty path"):
        agent_eval.judge("", {"toolsCalled": ["look"]})


def test_a_folder_of_logs_is_told_as_that(folder: Path) -> None:
    agent_eval.judge(MESSAGES, {"maxSteps": 4}, out="runs")
    with pytest.raises(agent_eval.LogError, match="runs is a folder that holds logs, and judge takes one run"):
        agent_eval.judge("runs", {"maxSteps": 4})


def test_a_log_is_told_by_what_stands_in_it(folder: Path) -> None:
    for name, value in (("t.jsonl.gz", {"messages": MESSAGES}), ("t.jsonl.gz.open", MESSAGES), ("t.gz", MESSAGES)):
        (folder / name).write_bytes(gzip.compress(json.dumps(value).encode()))
        outcome = agent_eval.judge(name, {"toolsCalled": ["look"], "toolsNotCalled": ["pay"]})
        assert outcome.passed and outcome.log is None, name
    log = agent_eval.judge(MESSAGES, {"maxSteps": 9}, out="kept").log
    assert log is not None
    for name in ("log", "log.json", "log.gz"):
        shutil.copy(log, name)
        assert agent_eval.judge(name, {"toolsCalled": ["look"]}).log == folder / name
    # Packed anew it is no trace of another tool.
    (folder / "anew.jsonl.gz").write_bytes(gzip.compress(gzip.decompress(log.read_bytes())))
    with pytest.raises(agent_eval.LogError, match="anew"):
        agent_eval.judge("anew.jsonl.gz", {"toolsCalled": ["look"]})


def test_lists_of_messages_are_kept_beside_each_other(folder: Path) -> None:
    other = [MESSAGES[0], {"role": "assistant", "content": "No."}]
    logs = [agent_eval.judge(messages, {"maxSteps": 9}, out="kept").log for messages in (MESSAGES, other, MESSAGES)]
    assert logs[0] == logs[2] != logs[1] and len(os.listdir("kept")) == 2
    assert [len(agent_eval.calls(log)) for log in logs if log is not None] == [2, 0, 2]


def test_messages_may_be_objects() -> None:
    types = pytest.importorskip("openai.types.chat")
    message = types.ChatCompletionMessage.model_validate(MESSAGES[1])
    assert agent_eval.judge([MESSAGES[0], message, *MESSAGES[2:]], {"toolsCalled": ["look"]}).passed


def test_a_bad_log_is_an_error(folder: Path) -> None:
    (folder / "bad.jsonl.gz").write_bytes(b"this is no log")
    (folder / "empty.jsonl.gz").write_bytes(b"")
    for name in ("bad.jsonl.gz", "empty.jsonl.gz", "nothing.jsonl.gz", "nothing.json"):
        with pytest.raises(agent_eval.LogError, match=name.replace(".", r"\.")):
            agent_eval.judge(name, {"toolsNotCalled": ["x"]})
    with pytest.raises(agent_eval.LogError):
        agent_eval.judge([], {"toolsNotCalled": ["x"]})
    with pytest.raises(agent_eval.LogError):
        agent_eval.judge([{"no": "role"}], {"toolsNotCalled": ["x"]})
    with pytest.raises(TypeError, match="not int"):
        agent_eval.judge(5, {"maxSteps": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"messages\[0\] is a object"):
        agent_eval.judge([object()], {"maxSteps": 1})


def test_names_need_not_be_utf_8(folder: Path) -> None:
    odd = os.fsdecode(b"r\xff '\xf4\x8f\xbb\xbf")
    (folder / f"{odd}.json").write_text(json.dumps({"messages": MESSAGES}))
    for subject, out in ((MESSAGES, odd), (folder / f"{odd}.json", "kept"), (folder / f"{odd}.json", odd)):
        outcome = agent_eval.judge(subject, {"maxSteps": 1}, out=out)
        assert outcome.outcome == "fail" and outcome.log is not None and outcome.log.parent == folder / out
        assert outcome.log.exists() and len(agent_eval.calls(outcome.log)) == 2
        again = agent_eval.judge(outcome.log, {"maxSteps": 1})
        assert again.checks == outcome.checks and again.log == outcome.log
        more = str(again).encode().decode().splitlines()[-1].removeprefix("more: agent-eval ")
        command = ["bash", "-c", f'"$0" {more} >/dev/null', agent_eval.program()]
        assert subprocess.run(command, check=False).returncode == 0
    assert len(agent_eval.table(odd)) == 2
    with pytest.raises(agent_eval.LogError):
        agent_eval.judge(folder / odd / "nothing.jsonl.gz", {"maxSteps": 1})


def test_a_log_that_was_changed_is_not_judged(folder: Path) -> None:
    log = agent_eval.judge(MESSAGES, {"maxSteps": 9}, out="kept").log
    assert log is not None
    shutil.copy(log, "changed.jsonl.gz")
    data = bytearray(Path("changed.jsonl.gz").read_bytes())
    data[len(data) // 3] ^= 1
    Path("changed.jsonl.gz").write_bytes(data)
    with pytest.raises(agent_eval.LogError, match=r"changed\.jsonl\.gz"):
        agent_eval.judge("changed.jsonl.gz", {"toolsNotCalled": ["x"]})
    with pytest.raises(agent_eval.LogError, match="damaged"):
        list(agent_eval.events("changed.jsonl.gz"))


def test_text_of_a_trace_is_data(folder: Path) -> None:
    words = "\x1b[31m ‮ ${goal} {{x}} </script> -- $(touch pwned)"
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
    outcome = agent_eval.judge(messages, {"answer": words})
    assert outcome.passed
    assert "\x1b" not in str(agent_eval.judge(messages, {"answer": "other"}))
    assert os.listdir(folder) == []


def test_programs_judge_only_where_that_is_asked_for(folder: Path) -> None:
    (folder / "judge.sh").write_text('#!/bin/sh\ncat >/dev/null\necho \'{"outcome": "pass", "message": "fine"}\'\n')
    (folder / "judge.sh").chmod(0o755)
    expected = {"exec": [{"command": ["./judge.sh"]}]}
    assert agent_eval.judge(MESSAGES, expected).outcome == "inconclusive"
    assert agent_eval.judge(MESSAGES, expected, exec=True).passed


def test_events_come_resolved(folder: Path) -> None:
    log = agent_eval.judge(MESSAGES, {"maxSteps": 9}, out="kept").log
    assert log is not None
    found = list(agent_eval.events(log))
    assert [event["seq"] for event in found] == list(range(len(found)))
    assert found[0]["type"] == "run_started" and "$same" not in json.dumps(found)
    assert len(list(agent_eval.events(log, marks=True))) > len(found)
    iterator = agent_eval.events(log)
    next(iterator)
    iterator.close()  # type: ignore[attr-defined]
    assert [call.tool for call in agent_eval.calls(log)] == ["look", "delete_note"]
    with pytest.raises(agent_eval.LogError, match="no such log"):
        list(agent_eval.events("--help"))


def test_a_folder_is_a_table() -> None:
    for index in range(3):
        messages = [*MESSAGES[:-1], {"role": "assistant", "content": f"{index}"}]
        log = agent_eval.judge(messages, {"maxSteps": 9}, out="kept").log
        assert log is not None
        log.rename(f"kept/{index}.jsonl.gz")
    rows = agent_eval.table("kept")
    assert [row["path"] for row in rows] == ["0.jsonl.gz", "1.jsonl.gz", "2.jsonl.gz"]
    counted = agent_eval.table("kept", "SELECT tool, count(*) AS n FROM calls GROUP BY tool ORDER BY tool")
    assert counted == [{"tool": "delete_note", "n": 3}, {"tool": "look", "n": 3}]
    with pytest.raises(agent_eval.ProgramFailed, match="no such column"):
        agent_eval.table("kept", "SELECT missing FROM runs")
    with pytest.raises(agent_eval.ProgramFailed):
        agent_eval.table("kept", "SELECT * FROM calls", limit=2)
    with pytest.raises(agent_eval.ProgramFailed, match="nowhere"):
        agent_eval.table("nowhere")
    with pytest.raises(agent_eval.AgentEvalError, match="pyarrow, pandas or polars"):
        agent_eval.table("kept", to="excel")


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars"])
def test_a_table_is_given_to_others(package: str) -> None:
    agent_eval.judge(MESSAGES, {"maxSteps": 9}, out="kept")
    try:
        __import__(package)
    except ImportError:
        with pytest.raises(agent_eval.AgentEvalError, match=f"{package} is not installed"):
            agent_eval.table("kept", to=package)
        return
    assert agent_eval.table("kept", to=package).shape[0] == 1
