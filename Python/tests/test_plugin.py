"""The plugin for pytest, run by pytest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_judging import MESSAGES

import agent_eval

GOOD = """\
- {caseId: good, input: hi, recording: ../kept/messages.jsonl.gz, expected: {toolsCalled: [look]}}
"""
BAD = """\
- {caseId: bad, input: hi, recording: ../kept/messages.jsonl.gz, expected: {toolsNotCalled: ["delete_*"], maxSteps: 9}}
"""
LATER = """\
- {caseId: later, input: hi, skip: {reason: not today}, expected: {maxSteps: 1}}
"""
OPEN = """\
- {caseId: open, input: hi, recording: ../kept/messages.jsonl.gz, expected: {maxRetries: 0}}
"""
CASES = GOOD + BAD + LATER + OPEN


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with a recorded run."""
    for name in ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(pytester.path)
    log = agent_eval.judge(MESSAGES, {"maxSteps": 9}, out="kept").log
    assert log is not None
    log.rename("kept/messages.jsonl.gz")
    pytester.mkdir("EvalCases")
    return pytester


def write(project: pytest.Pytester, name: str, text: str) -> Path:
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_cases_are_tests(project: pytest.Pytester) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    found = run(project, "EvalCases", "-rsf")
    found.assert_outcomes(passed=1, failed=2, skipped=1)
    found.stdout.fnmatch_lines(
        [
            "*case bad*",
            "fail: toolsNotCalled[[]0]: delete_[*] was called once. (1 of 2 checks passed)",
            "toolsNotCalled[[]0] failed: *",
            "  expected  not called: delete_[*]",
            '  actual    delete_note {"name":"x"} *',
            "  events    4 6",
            "more: agent-eval show *messages.jsonl.gz",
            "      agent-eval replay *messages.jsonl.gz --event 4",
            "*case open*",
            "inconclusive: maxRetries: *",
            "SKIPPED*EvalCases/cases.yaml*not today*",
            "FAILED EvalCases/cases.yaml::bad - fail: *",
        ]
    )
    run(project, "EvalCases/cases.yaml::good").assert_outcomes(passed=1)
    run(project, "EvalCases", "-k", "bad").assert_outcomes(failed=1, deselected=3)


def test_one_call_of_the_program_judges_a_folder(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(5):
        text = "".join(
            f"- {{caseId: c{index}-{n}, input: hi, recording: ../kept/messages.jsonl.gz, expected: {{maxSteps: 9}}}}\n"
            for n in range(20)
        )
        write(project, f"EvalCases/{index}.yaml", text)
    counting = write(
        project, "counting", f'#!/bin/sh\necho "$1" >> {project.path}/calls\nexec {agent_eval.program()} "$@"\n'
    )
    counting.chmod(0o755)
    monkeypatch.setenv("AGENT_EVAL_BINARY", str(counting))
    run(project, "EvalCases").assert_outcomes(passed=100)
    assert (project.path / "calls").read_text() == "run\n"


def test_only_case_files_are_taken(project: pytest.Pytester) -> None:
    write(project, "EvalCases/compose.yaml", "services: {web: {image: x}}\n")
    write(project, "EvalCases/template.yaml", "a: {{ b }}\n- [\n")
    write(project, "EvalCases/defaults.yaml", "defaults: {tags: [all]}\n")
    write(project, "EvalCases/results.json", json.dumps({"cases": [{"caseId": "x", "outcome": "pass"}]}))
    write(project, "EvalCases/outcomes.jsonl", json.dumps({"caseId": "x", "outcome": "pass"}) + "\n")
    case = {"caseId": "line", "input": "hi", "recording": "../kept/messages.jsonl.gz", "expected": {"maxSteps": 9}}
    write(project, "EvalCases/lines.jsonl", json.dumps(case) + "\n")
    write(project, "EvalCases/whole.json", json.dumps([{**case, "caseId": "whole"}]))
    write(project, "EvalCases/talk.yaml", "note: 'a caseId: is what we call it'\n")
    found = run(project, "EvalCases")
    found.assert_outcomes(passed=1, warnings=1)
    found.stdout.fnmatch_lines(["*not collected: *talk.yaml*"])
    (project.path / "EvalCases/talk.yaml").unlink()
    run(project, "EvalCases").assert_outcomes(passed=1)
    run(project, "EvalCases/whole.json").assert_outcomes(passed=1)
    write(project, "pytest.ini", "[pytest]\nagent_eval_paths = EvalCases/wh*.json\n")
    run(project, "EvalCases").assert_outcomes(passed=2)
    assert run(project, "EvalCases/compose.yaml").ret == 2


CASE = {"input": "hi", "recording": "../kept/messages.jsonl.gz", "expected": {"maxSteps": 9}}
REST = 'input: hi\nrecording: ../kept/messages.jsonl.gz\nexpected: {maxSteps: 9}\n'


def test_what_the_program_takes_is_taken(project: pytest.Pytester) -> None:
    line = json.dumps({"caseId": "x", **CASE})
    texts = {
        "empty-first.jsonl": "\n  \n" + line,
        "long.jsonl": json.dumps({**CASE, "notes": "n" * (2 << 20), "caseId": "x"}),
        "escaped.jsonl": line.replace("caseId", "case\\u0049d"),
        "mark.jsonl": "\ufeff" + line,
        "escaped.yaml": '"case\\u0049d": x\n' + REST,
        "short.yaml": '"\\x63a\\x73eId": x\n' + REST,
        "folded.yaml": '? "ca\\\n  seId"\n: x\n' + REST,
        "far.yaml": "? caseId # the name\n: x\n" + REST,
        "across.yaml": "#" * ((1 << 20) - 5) + "\ncaseId: x\n" + REST,
        "mark.yaml": "\ufeffcaseId: x\n" + REST,
    }
    names = {name: f"c{index}" for index, name in enumerate(texts)}
    for name, text in texts.items():
        text = text.replace('"x"', f'"{names[name]}"').replace(": x\n", f": {names[name]}\n")
        write(project, f"EvalCases/{name}", text)
    asked = subprocess.run([agent_eval.program(), "run", "EvalCases"], capture_output=True, text=True, check=False)
    assert asked.stdout.splitlines()[-1].startswith(f"{len(texts)} cases: {len(texts)} passed"), asked
    found = run(project, "EvalCases", "-v")
    found.assert_outcomes(passed=len(texts), warnings=0)
    for name, case in names.items():
        assert f"{name}::{case} PASSED" in found.stdout.str()


def test_what_cannot_be_taken_is_told(project: pytest.Pytester) -> None:
    write(project, "EvalCases/good.yaml", GOOD)
    write(project, "EvalCases/forgotten.yaml", REST)
    write(project, "EvalCases/forgotten.jsonl", json.dumps(CASE))
    write(project, "EvalCases/other.yaml", 'colour: "\\x41"\ntext: "ca\\\n  t"\n')
    found = run(project, "EvalCases")
    found.assert_outcomes(passed=1, warnings=2)
    told = found.stdout.str()
    for name in ("forgotten.yaml", "forgotten.jsonl"):
        assert f"{name}:1:1: error: the key “caseId” is missing" in told


def test_a_file_with_a_mistake_keeps_no_other_from_being_judged(project: pytest.Pytester) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    write(project, "EvalCases/typo.yaml", "caseId: typo\ninput: hi\nexpected: {toolsCaled: [x]}\n")
    found = run(project, "EvalCases", "--continue-on-collection-errors")
    found.assert_outcomes(passed=1, failed=2, skipped=1, errors=1)
    found.stdout.fnmatch_lines(["*typo.yaml:3:12: error: *did you mean “toolsCalled”*"])


def test_an_id_that_two_files_have_is_an_error(project: pytest.Pytester) -> None:
    write(project, "EvalCases/one.yaml", CASES)
    write(project, "EvalCases/two.yaml", CASES)
    found = run(project, "EvalCases")
    assert found.ret == 2
    found.stdout.fnmatch_lines(["*the case id “good” is there already*"])


def test_without_the_program_cases_are_errors(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    write(project, "test_other.py", "def test_other(): pass\n")
    monkeypatch.setenv("AGENT_EVAL_BINARY", "/nowhere")
    found = run(project, "--continue-on-collection-errors")
    found.assert_outcomes(passed=1, errors=1)
    found.stdout.fnmatch_lines(["*AGENT_EVAL_BINARY names “/nowhere”*"])


def test_a_case_without_a_recording_is_no_pass(project: pytest.Pytester) -> None:
    write(project, "EvalCases/case.yaml", "caseId: messages\ninput: hi\nexpected: {maxSteps: 9}\n")
    found = run(project, "EvalCases")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["error: *neither a recording nor an agent*"])


def test_only_regressions_fail_against_what_was_accepted(project: pytest.Pytester) -> None:
    cases = write(project, "EvalCases/cases.yaml", GOOD + BAD + LATER)
    found = run(project, "EvalCases", "--agent-eval-accept")
    found.assert_outcomes(passed=1, xfailed=1, skipped=1)
    found.stdout.fnmatch_lines(["agent-eval: 3 accepted", "did not pass, as accepted: EvalCases/cases.yaml::bad"])
    assert (project.path / "EvalCases/accepted/bad.txt").exists()
    run(project, "EvalCases").assert_outcomes(passed=1, failed=1, skipped=1)
    run(project, "EvalCases", "--agent-eval-against", "accepted").assert_outcomes(passed=1, xfailed=1, skipped=1)
    other = agent_eval.judge([MESSAGES[0], {"role": "assistant", "content": "No."}], {"maxSteps": 9}, out="other").log
    assert other is not None
    other.rename("kept/messages.jsonl.gz")
    found = run(project, "EvalCases", "--agent-eval-against", "accepted")
    assert found.ret == 1
    found.stdout.fnmatch_lines(["against what was accepted: regressed", "  worse  *", "accepted  *good.txt"])
    cases.write_text(GOOD)
    found = run(project, "EvalCases", "--agent-eval-against", "accepted")
    found.stdout.fnmatch_lines(["There is a baseline of the case bad, and no case: *"])


def test_settings_that_decide_are_told(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "EvalCases/cases.yaml", GOOD + BAD)
    run(project, "EvalCases", "--agent-eval-accept").assert_outcomes(passed=1, xfailed=1)
    assert "note: " not in run(project, "EvalCases").stdout.str()
    monkeypatch.setenv("AGENT_EVAL_AGAINST", "accepted")
    for workers in ("0", "2"):
        found = run(project, "EvalCases", "-n", workers, "-rx")
        found.assert_outcomes(passed=1, xfailed=1)
        found.stdout.fnmatch_lines(
            [
                "note: settings decide here: against accepted (AGENT_EVAL_AGAINST)",
                "did not pass, as accepted: EvalCases/cases.yaml::bad",
            ]
        )
        assert "fail, as accepted (same)" in found.stdout.str()
    monkeypatch.delenv("AGENT_EVAL_AGAINST")
    write(project, ".agent-eval.yaml", "against: accepted\n")
    found = run(project, "EvalCases/cases.yaml::good")
    found.assert_outcomes(passed=1)
    found.stdout.fnmatch_lines(["note: settings decide here: against accepted (.agent-eval.yaml:1)"])


def test_accepting_half_a_file_is_refused(project: pytest.Pytester) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    found = run(project, "EvalCases", "--agent-eval-accept", "-k", "good")
    assert found.ret == 4 and "takes whole files" in found.stderr.str()
    assert not (project.path / "EvalCases/accepted").exists()
    assert run(project, "EvalCases", "--agent-eval-accept", "-n", "2").ret == 4
    run(project, "EvalCases", "--agent-eval-accept", "--collect-only")
    assert not (project.path / "EvalCases/accepted").exists()


def test_files_beside_those_that_are_named_are_nobodys_business(project: pytest.Pytester) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    write(project, "EvalCases/others.yaml", GOOD + BAD)
    write(project, "EvalCases/skipped.yaml", LATER.replace("later", "much-later"))
    # An id of it stands in another file, which is not asked for.
    run(project, "EvalCases/cases.yaml").assert_outcomes(passed=1, failed=2, skipped=1)
    run(project, "--rootdir", "/", "EvalCases/others.yaml").assert_outcomes(passed=1, failed=1)
    run(project, "-n", "2", "EvalCases/others.yaml").assert_outcomes(passed=1, failed=1)
    found = run(project, "EvalCases/others.yaml", "--agent-eval-accept")
    found.assert_outcomes(passed=1, xfailed=1)
    found.stdout.fnmatch_lines(["agent-eval: 2 accepted"])


def test_nothing_is_accepted_in_continuous_integration(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    monkeypatch.setenv("CI", "true")
    found = run(project, "EvalCases", "--agent-eval-accept")
    assert found.ret == 4 and "nothing was accepted" in found.stderr.str()


TRIALS = """\
import itertools, pytest
made = itertools.count()
@pytest.fixture
def number():
    return next(made)
@pytest.mark.trials({plan})
def test_it(number):
    print("trial", number)
    assert number {condition}
"""


@pytest.mark.parametrize(
    ("plan", "condition", "passes", "told"),
    [
        ("5, pass_rate=0.8", "!= 1", True, "4 of 5 trials passed, 4 of 5 needed"),
        ("5, pass_rate=0.8", "not in (1, 2)", False, "1 of 3 trials passed, 4 of 5 needed; trial 2 failed first:"),
        ("5", "< 9", True, "5 of 5 trials passed, 5 of 5 needed"),
        ("5", "< 0", False, "0 of 1 trials passed, 5 of 5 needed; trial 1 failed first:"),
        ("number=3, pass_rate=0.3", "== 0", True, "1 of 1 trials passed, 1 of 3 needed"),
    ],
)
def test_trials(project: pytest.Pytester, plan: str, condition: str, passes: bool, told: str) -> None:
    project.makepyfile(TRIALS.format(plan=plan, condition=condition))
    found = run(project, "-rP")
    found.assert_outcomes(passed=int(passes), failed=int(not passes))
    assert told in found.stdout.str()


def test_what_a_trial_leaves_in_the_object_of_its_class_is_gone_for_the_next(project: pytest.Pytester) -> None:
    body = "        self.seen = getattr(self, 'seen', 0) + 1\n        assert self.seen == 1\n"
    project.makepyfile(
        "import pytest, unittest\n"
        "class TestPlain:\n    @pytest.mark.trials(3)\n    @pytest.mark.parametrize('a', [1, 2])\n"
        f"    def test_it(self, a):\n{body}"
        f"class TestUnit(unittest.TestCase):\n    @pytest.mark.trials(3)\n    def test_it(self):\n{body}"
    )
    found = run(project, "-rP")
    found.assert_outcomes(passed=3)
    assert found.stdout.str().count("3 of 3 trials passed") == 3


def test_trials_work_with_xdist(project: pytest.Pytester) -> None:
    write(project, "EvalCases/cases.yaml", CASES)
    project.makepyfile(TRIALS.format(plan="5, pass_rate=0.8", condition="!= 1"))
    run(project, "-n", "2").assert_outcomes(passed=2, failed=2, skipped=1)


def test_a_plan_that_says_nothing_fails_its_test_alone(project: pytest.Pytester) -> None:
    plans = ["", "0", "2.5", "5, 0", "5, pass_rate=2", "5, rate=1", "5, 1, 1", "True", "[5]", "5, pass_rate='x'"]
    tests = [f"@pytest.mark.trials({plan})\ndef test_{index}(): pass\n" for index, plan in enumerate(plans)]
    project.makepyfile("import pytest\n" + "".join(tests) + "def test_other(): pass\n")
    write(project, "EvalCases/cases.yaml", GOOD)
    write(
        project, "conftest.py",
        "import pytest\ndef pytest_itemcollected(item):\n"
        "    if item.name == 'good': item.add_marker(pytest.mark.trials(3))\n",
    )  # fmt: skip
    for workers in ("0", "2"):
        found = run(project, "-n", workers)
        found.assert_outcomes(passed=1, errors=len(plans) + 1)
        assert found.ret == 1 and "INTERNALERROR" not in found.stdout.str() + found.stderr.str()
        for told in ("test_0: trials takes number and pass_rate", "test_1: trials: number is a whole number from 1 to",
                     "test_4: trials: pass_rate is above 0", "cases.yaml::good: trials is for test functions"):
            assert told in found.stdout.str()
        assert "another exception occurred" not in found.stdout.str()


def test_what_is_no_trial_is_told_as_it_is(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.fixture
        def broken(): raise ZeroDivisionError
        @pytest.mark.trials(3)
        def test_broken(broken): pass
        @pytest.mark.trials(3)
        def test_skipped(): pytest.skip("not here")
        @pytest.mark.trials(3)
        @pytest.mark.xfail
        def test_expected(): assert False
        def test_behind(): pass
        """
    )
    run(project).assert_outcomes(passed=1, errors=1, skipped=1, xfailed=1)


AGENT = """\
import openai, pytest, agent_eval, sys
sys.path.insert(0, {tests!r})
import ours as agents

@pytest.mark.trials(2)
def test_good(agent_run):
    with agent_run() as run:
        agents.openai_agent(openai.OpenAI(), "one")
    agent_eval.judge(run, {{"toolsCalled": ["look"]}}).check()
    with agent_run(replay=run.log):
        agents.openai_agent(openai.OpenAI(), "one")

def test_bad(agent_run):
    with agent_run(name="mine") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    agent_eval.judge(run, {{"toolsNotCalled": ["look"]}}).check()
"""


def test_all_runs_of_trials_that_failed_are_told(project: pytest.Pytester, provider: Any) -> None:
    pytest.importorskip("openai")
    project.makepyfile(
        f"""
        import openai, pytest, agent_eval, sys, itertools
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import ours as agents
        made = itertools.count(1)
        @pytest.mark.trials(4, pass_rate=0.5)
        def test_it(agent_run):
            number = next(made)
            with agent_run(out=f"runs/{{number}}.jsonl.gz") as run:
                agents.openai_agent(openai.OpenAI(), "one")
            assert number == 2, f"number {{number}}"
        """
    )
    for workers in ("0", "2"):
        found = run(project, "-n", workers)
        found.assert_outcomes(failed=1)
        told = found.stdout.str()
        for number in (1, 3, 4):
            assert f"AssertionError: number {number}" in told and f"runs/{number}.jsonl.gz" in told
        assert "runs/2.jsonl.gz" not in told
        for log in (project.path / "runs").iterdir():
            log.unlink()


def test_runs_of_tests_are_recorded(project: pytest.Pytester, provider: Any) -> None:
    pytest.importorskip("openai")
    project.makepyfile(AGENT.format(tests=str(Path(__file__).parent)))
    found = run(project)
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(
        [
            "E *AssertionError: fail: toolsNotCalled[[]0]: look was called once. *",
            "*agent-eval show *.agent-eval/pytest/*test_bad/*.jsonl.gz",
        ]
    )
    logs = sorted((project.path / ".agent-eval/pytest").glob("*/*.jsonl.gz"))
    assert [log.parent.name.rpartition("-")[2] for log in logs] == ["test_bad", "test_good", "test_good"]
    run(project, "--agent-eval-out", "elsewhere", "-n", "2").assert_outcomes(passed=1, failed=1)
    assert len(list((project.path / "elsewhere").glob("*/*.jsonl.gz"))) == 3


def test_a_run_that_a_test_leaves_open_is_its_error_and_no_other_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_leaves_it(agent_run): agent_run().__enter__()
        def test_behind(agent_run):
            with agent_run() as run: pass
            assert run.log.exists()
        """
    )
    found = run(project)
    found.assert_outcomes(passed=2, errors=1)
    found.stdout.fnmatch_lines(["*agent_run began a run that the test did not end*"])
