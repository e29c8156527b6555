"""The plugin for pytest: case files are collected as tests, and tests of agents are recorded and tried several times.

The program judges all case files of a folder in one call, when they are collected; a test tells what it said.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import math
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from ._errors import AgentEvalError, ProgramFailed
from ._judging import Outcome, read_case
from ._program import call, path_of, shown
from ._recording import Run, record

_NOTE, _ACCEPTED = "agent-eval", "agent-eval-accepted"
_LOOKS_LIKE_CASES = re.compile(rb"\bcase[-_ ]?id\b[\"']?\s*:", re.IGNORECASE)
# Letters of a key may be escaped, and it may be far from its colon: then the program is asked.
_MAY_BE_A_CASE = re.compile(
    rb"\"[^\"\n]{0,60}\\(?:x|u00|U000000)[467][0-9a-f]|\"c?a?s?e?I?\\\r?\n|"
    rb"\bcase[-_ ]?id\b[\"']?[ \t]*(?:#|\r?$)|^\?[^\n]*\bcase",
    re.IGNORECASE | re.MULTILINE,
)
# Of these a case consists, so that one that forgot its id is no other file.
_BEGINS = frozenset(("input", "recording", "agent", "pipeline"))
_WITHOUT_ID = (
    re.compile(rb"^(?:- |  )?(?:input|recording|agent|pipeline):", re.MULTILINE),
    re.compile(rb"^(?:- |  )?expected:[ \t]*(?:\{|#|\r?$)", re.MULTILINE),
)
_LONGEST_LINE = 64 << 20


class AgentRun(Protocol):
    """What the fixture ``agent_run`` is: ``record``, with a folder for the test's logs."""

    def __call__(self, **options: Any) -> record: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and settings."""
    group = parser.getgroup("agent-eval", "judging agents (agent-eval)")
    group.addoption(
        "--agent-eval-against",
        metavar="PATH",
        help="compare case files with what was accepted of them, and fail on regressions only: “accepted”, a folder, "
        "or a file with earlier results",
    )
    group.addoption(
        "--agent-eval-accept",
        action="store_true",
        help="accept what the collected case files do now as their baselines, and compare with these",
    )
    group.addoption("--agent-eval-runs", metavar="DIR", help="a folder of recorded runs, for cases that name none")
    group.addoption(
        "--agent-eval-out", metavar="DIR", help="where agent_run records (default: .agent-eval/pytest)"
    )
    parser.addini(
        "agent_eval_paths",
        "globs of case files, from the root: JSON, too, is collected there",
        type="linelist",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known, and refuses options that contradict each other."""
    config.addinivalue_line(
        "markers",
        "trials(number, pass_rate=1.0): run the test so often; it passes where that share of the trials passes",
    )
    if config.getoption("agent_eval_accept"):
        if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("--agent-eval-accept writes baselines beside the cases: leave -n away for it")
        if config.getoption("agent_eval_against") not in (None, "accepted"):
            raise pytest.UsageError("--agent-eval-accept goes with --agent-eval-against accepted, or without it")


# Case files


class CaseFailed(Exception):
    """A case did not pass; the text tells everything."""


class CaseTest(pytest.Item):
    """A case of a case file."""

    def __init__(
        self, *, line: int, verdict: Callable[[], tuple[str, str]], notes: Iterable[str] = (), **named: Any
    ) -> None:
        super().__init__(**named)
        self._line = line
        self.verdict = verdict
        # With the reports, so that they come from other processes as well, and stand in reports of JUnit.
        self.user_properties += [(_NOTE, note) for note in notes]

    def runtest(self) -> None:
        """Tells what the program said."""
        word, text = self.verdict()
        if word == "skip":
            raise pytest.skip.Exception(text, _use_item_location=True)
        if word == "accepted":
            self.user_properties.append((_ACCEPTED, self.nodeid))
            raise pytest.xfail.Exception(text)
        if word != "pass":
            raise CaseFailed(text)
        if text:
            self.add_report_section("call", "agent-eval", text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Expected against actual, and the command that shows more; no trace of Python."""
        if isinstance(excinfo.value, (CaseFailed, pytest.xfail.Exception)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands."""
        return self.path, self._line, f"case {self.name}"


class CaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each case."""
        suite = self.config.stash[_suite]
        try:
            found = suite.of(self.path)
        except AgentEvalError as error:
            if "holds no case" in str(error) and not self.session.isinitpath(self.path):
                # It only looked like one.
                self.warn(pytest.PytestCollectionWarning(f"not collected: {error}"))
                return
            raise self.CollectError(str(error)) from error
        if not found:
            raise self.CollectError(f"agent-eval found no case in {self.path}")
        for name, line in found:

            def verdict(name: str = name) -> tuple[str, str]:
                return suite.verdict(self.path, name)

            yield CaseTest.from_parent(self, name=name, line=line, verdict=verdict, notes=suite.notes)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Takes what looks like a case file; the program then says whether it is one."""
    suffix = file_path.suffix.lower()
    if suffix not in (".yaml", ".yml", ".json", ".jsonl") or file_path.name.startswith("."):
        return None
    is_named = parent.session.isinitpath(file_path)
    globs = parent.config.getini("agent_eval_paths")
    relative = os.path.relpath(file_path, parent.config.rootpath)
    if suffix == ".json" and not is_named and not any(fnmatch.fnmatch(relative, glob) for glob in globs):
        return None
    look = "case" if is_named else _look_at_lines(file_path) if suffix == ".jsonl" else _look_at(file_path)
    if look is None:
        return None
    config = parent.config
    if _suite not in config.stash:
        config.stash[_suite] = Suite(config)
    # Of the folders around what is named pytest shows all files, and takes none but those.
    is_asked = any(parent.session.isinitpath(path) for path in (file_path, *file_path.parents))
    if look == "unsure" and is_asked and not _is_taken(config.stash[_suite], file_path, parent):
        return None
    if is_asked:
        config.stash[_suite].add(file_path)
    file: pytest.Collector = CaseFile.from_parent(parent, path=file_path)
    return file


def _is_taken(suite: Suite, path: Path, parent: pytest.Collector) -> bool:
    """Whether the program takes a file that does not show at once what it is. What it cannot read is told."""
    try:
        return suite.holds_cases(path)
    except AgentEvalError as error:
        parent.warn(pytest.PytestCollectionWarning(f"not collected: {error}"))
        return False


def _look_at(path: Path) -> str | None:
    """Whether YAML or JSON holds a “case”, none, or is “unsure”: its keys may be written in another way."""
    is_unsure = False
    parts: set[re.Pattern[bytes]] = set()
    try:
        with open(path, "rb") as file:
            before = b""
            while piece := file.read(1 << 20):
                text = before + piece
                if _LOOKS_LIKE_CASES.search(text):
                    return "case"
                is_unsure = is_unsure or _MAY_BE_A_CASE.search(text) is not None
                parts.update(part for part in _WITHOUT_ID if part.search(text))
                # A key may lie across.
                before = text[-256:]
    except OSError:
        return "case"
    return "unsure" if is_unsure or len(parts) == len(_WITHOUT_ID) else None


def _look_at_lines(path: Path) -> str | None:
    """Whether the first line that is not empty is a case, as the program tells it: results, outcomes and data in JSON
    speak of cases as well."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(_LONGEST_LINE):
                if text := line.removeprefix(b"\xef\xbb\xbf").strip():
                    break
            else:
                return None
    except OSError:
        return "case"
    try:
        first = json.loads(text)
    except (ValueError, RecursionError):
        return "unsure" if _LOOKS_LIKE_CASES.search(text) or _MAY_BE_A_CASE.search(text) else None
    if not isinstance(first, dict) or "outcome" in first:
        return None
    if "caseId" in first or isinstance(first.get("cases"), list):
        return "case" if "caseId" in first else "unsure"
    return "unsure" if isinstance(first.get("expected"), dict) and not _BEGINS.isdisjoint(first) else None


class Suite:
    """What the program says of all case files that are collected."""

    def __init__(self, config: pytest.Config) -> None:
        self._folder = Path(config.invocation_params.dir)
        self._against = config.getoption("agent_eval_against")
        self._runs = config.getoption("agent_eval_runs")
        self._waiting: dict[Path, None] = {}
        self._errors: dict[Path, AgentEvalError] = {}
        self._cases: dict[Path, dict[str, tuple[int, str, str]]] = {}
        # What the program said of how it judged, such as which settings decided; each once.
        self._notes: dict[str, None] = {}
        self.calls = 0

    def add(self, path: Path) -> None:
        """Another file that is to be judged."""
        if path not in self._cases and path not in self._errors:
            self._waiting[path] = None

    def holds_cases(self, path: Path) -> bool:
        """Whether the program finds cases in a file; raises ``AgentEvalError`` where that cannot be told."""
        try:
            results, _, _ = self._judge([path])
        except ProgramFailed as error:
            if "holds no case" in str(error):
                return False
            raise
        return bool(results["cases"] or results["skipped"])

    def of(self, path: Path) -> list[tuple[str, int]]:
        """The cases of a file, and their lines from 0."""
        self.add(path)
        if path in self._waiting:
            waiting, self._waiting = list(self._waiting), {}
            self._judge_together(waiting)
        if path in self._errors:
            raise self._errors[path]
        return [(name, line) for name, (line, _, _) in self._cases.get(path, {}).items()]

    def verdict(self, path: Path, name: str) -> tuple[str, str]:
        """Whether a case passed, and what there is to say of it."""
        _, word, text = self._cases[path][name]
        return word, text

    @property
    def notes(self) -> list[str]:
        """What the program said of how it judged, such as that settings decided, and where they stand."""
        return list(self._notes)

    @property
    def files(self) -> list[Path]:
        """All files that hold cases."""
        return [path for path, cases in self._cases.items() if cases]

    def accept(self) -> str:
        """Accepts what the files do, and judges them again; returns what the program said."""
        files = self.files
        accepted = call(["accept", "--all", *self._options(), *map(self._named, files)], cwd=self._folder)
        self._against = "accepted"
        self._judge_together(files)
        for path in files:
            if path in self._errors:
                raise self._errors[path]
        return accepted.stdout.strip().splitlines()[-1] if accepted.stdout.strip() else ""

    def _named(self, path: Path) -> str:
        relative = os.path.relpath(path, self._folder)
        return str(path) if relative.startswith("..") else os.path.join(".", relative)

    def _options(self) -> list[str]:
        return ["--runs", self._runs] if self._runs else []

    def _judge_together(self, paths: list[Path]) -> None:
        try:
            found = self._judge(paths)
        except ProgramFailed as error:
            if len(paths) == 1:
                self._errors[paths[0]] = error
                return
            for path in paths:
                self._judge_together([path])
            if not any(path in self._errors for path in paths):
                # What is wrong lies between the files, such as an id that two have.
                for path in paths:
                    self._errors[path] = error
            return
        except AgentEvalError as error:
            for path in paths:
                self._errors[path] = error
            return
        if len(paths) > 1 and found[0]["skipped"]:
            # The results do not say where a skipped case stands.
            for path in paths:
                self._judge_together([path])
            return
        self._take(paths, *found)

    def _judge(self, paths: list[Path]) -> tuple[dict[str, Any], int, str]:
        arguments = ["run", "--json", "--no-summary", *self._options()]
        if self._against:
            arguments += ["--against", self._against]
        self.calls += 1
        ran = call([*arguments, *map(self._named, paths)], expect=(0, 1, 2, 3), cwd=self._folder)
        try:
            results = json.loads(ran.stdout)
        except ValueError:
            raise ProgramFailed(ran.stderr.strip() or ran.stdout.strip(), ran.returncode) from None
        self._notes.update(dict.fromkeys(line for line in ran.stderr.splitlines() if line.startswith("note: ")))
        return results, ran.returncode, ran.stderr.strip()

    def _take(self, paths: list[Path], results: dict[str, Any], code: int, said: str) -> None:
        for path in paths:
            self._cases[path] = {}
            self._errors.pop(path, None)
        places = {os.path.realpath(path): path for path in paths}
        for case in results["cases"]:
            place, _, line = str(case.get("position", "")).rpartition(":")
            path = places.get(os.path.realpath(self._folder / path_of(place)), paths[0])
            word, text = _verdict(case, is_compared="comparison" in results)
            self._cases[path][case["caseId"]] = (max(int(line) - 1, 0) if line.isdigit() else 0, word, text)
        for case in results["skipped"]:
            self._cases[paths[0]][case["caseId"]] = (0, "skip", case.get("reason", "skipped"))
        comparison = results.get("comparison", {})
        for gone in comparison.get("gone", []):
            name = f"gone: {gone['caseId']}"
            text = (
                f"There is a baseline of the case {gone['caseId']}, and no case: {gone['path']}\n"
                "more: agent-eval accept --delete-orphans"
            )
            self._cases[paths[0]][name] = (0, "fail", text)
        words = [word for path in paths for _, word, _ in self._cases[path].values()]
        if code != 0 and results["cases"] and not any(word == "fail" for word in words):
            self._cases[paths[0]]["suite"] = (0, "fail", said or f"agent-eval run ended with {code}")


def _verdict(case: Mapping[str, Any], is_compared: bool) -> tuple[str, str]:
    """Whether a case of the program's results passed, and what there is to say of it."""
    outcome = read_case(case)
    comparison = case.get("comparison")
    if not is_compared or comparison is None:
        return ("pass" if outcome.passed else "fail"), _told(outcome, case)
    kind = comparison["kind"]
    differences = []
    for difference in comparison.get("differences", []):
        sign = {"regression": "worse", "improvement": "better"}.get(difference["effect"], "other")
        was, now = difference.get("accepted", "nothing"), difference.get("actual", "nothing")
        differences.append(f"  {sign}  {difference['place']} ({difference['kind']}): {was} → {now}")
    fails = (
        kind in ("regressed", "not_compared")
        or (kind == "changed" and comparison.get("strict", False))
        or (kind == "new" and (comparison.get("fault", False) or not outcome.passed))
    )
    lines = [f"against what was accepted: {kind}"]
    if not fails and not outcome.passed:
        lines = [f"{outcome.outcome}, as accepted ({kind})"]
    if comparison.get("reason"):
        lines.append(comparison["reason"])
    lines += differences
    if fails and comparison.get("path"):
        lines.append(f"accepted  {comparison['path']}")
    told = _told(outcome, case)
    if told and (fails or not outcome.passed):
        lines.append(told)
    if not fails and not outcome.passed:
        return "accepted", "\n".join(lines)
    return ("fail" if fails else "pass"), "\n".join(lines) if fails or kind != "same" else ""


def _told(outcome: Outcome, case: Mapping[str, Any]) -> str:
    """What there is to say of an outcome, with the commands that show more."""
    if outcome.passed:
        return "\n".join(f"warning: {warning}" for warning in outcome.warnings)
    if case.get("notRun"):
        return f"not run: {case['notRun']}"
    trials = len(case.get("trials", []))
    lines = [str(outcome) + (f"\nof {trials} runs, the first of the worst is told" if trials > 1 else "")]
    event = next((c.events[0] for c in outcome.evidence if c.events), None)
    if outcome.log is not None and event is not None:
        lines.append(f"      agent-eval replay {shown(outcome.log)} --event {event}")
    return "\n".join(lines)


_suite: pytest.StashKey[Suite] = pytest.StashKey()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Accepts, where that is asked for."""
    config = session.config
    if not config.getoption("agent_eval_accept") or config.option.collectonly or _suite not in config.stash:
        return
    suite = config.stash[_suite]
    chosen = {(item.path, item.name) for item in session.items if isinstance(item, CaseTest)}
    if not chosen:
        return
    all_cases = {(path, name) for path in suite.files for name, _ in suite.of(path)}
    if chosen != all_cases:
        raise pytest.UsageError(
            "--agent-eval-accept takes whole files: name these alone, or use agent-eval accept --filter"
        )
    try:
        said = suite.accept()
    except AgentEvalError as error:
        raise pytest.UsageError(f"nothing was accepted: {error}") from error
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and said:
        reporter.write_line(f"agent-eval: {said}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tells what decided over cases beside the command line, and which of them did not pass and are taken as accepted."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    properties = [pair for report in reports for pair in getattr(report, "user_properties", ())]
    notes = list(dict.fromkeys(value for name, value in properties if name == _NOTE))
    accepted = list(dict.fromkeys(value for name, value in properties if name == _ACCEPTED))
    if not notes and not accepted:
        return
    terminalreporter.section("agent-eval")
    for note in notes:
        terminalreporter.write_line(note)
    for case in accepted:
        terminalreporter.write_line(f"did not pass, as accepted: {case}")


# Tests of agents

_recorded: pytest.StashKey[list[Run]] = pytest.StashKey()
_SECTION = "agent-eval"


@pytest.fixture
def agent_run(request: pytest.FixtureRequest) -> Iterator[AgentRun]:
    """Records the test's runs: ``with agent_run() as run: …``, with the options of ``agent_eval.record``.

    Logs go to a folder of the test's own below ``.agent-eval/pytest``, or below ``--agent-eval-out``. A test that fails
    tells the commands that show them.
    """
    asked = request.config.getoption("agent_eval_out")
    root = Path(request.config.invocation_params.dir) / (asked or ".agent-eval/pytest")
    folder = root / re.sub(r"[^\w.-]+", "-", request.node.nodeid).strip("-")[-150:]
    runs = request.node.stash.setdefault(_recorded, [])
    begun: list[record] = []

    def begin(**options: Any) -> record:
        if "replay" not in options:
            options.setdefault("out", folder)
        made = record(**options)
        runs.append(made._run)
        begun.append(made)
        return made

    yield begin
    left = [made for made in begun if made._process is not None and made._process.poll() is None]
    for made in left:
        # It would go on into the tests behind this one, and they would fail for it.
        made._leave_context()
        made._end(None)
    if left:
        pytest.fail("agent_run began a run that the test did not end: write “with agent_run() as run: …”", pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Tells of a failed test where its runs can be looked at."""
    outcome = yield
    report = outcome.get_result()
    runs = item.stash.get(_recorded, [])
    if report.when == "call" and report.failed and runs:
        logs = [run._log for run in runs if run._log is not None and run._log.exists()]
        if logs:
            report.sections.append((_SECTION, "\n".join(f"agent-eval show {shown(log)}" for log in logs)))
    if report.when == "teardown":
        runs.clear()


class WrongMarker(Exception):
    """A marker says nothing that could be done; the text says what."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test with such a marker is an error of that test, and of no other."""
    try:
        _plan(item)
        return
    except WrongMarker as wrong:
        told = str(wrong)
    # Behind the handler, so that nothing is told of an exception that another one came of.
    pytest.fail(told, pytrace=False)


def _plan(item: pytest.Item) -> tuple[int, int] | None:
    """How many trials the marker asks for, and how many have to pass; raises ``WrongMarker``."""
    marker = item.get_closest_marker("trials")
    if marker is None:
        return None
    place = f"{item.nodeid}: trials"
    values = dict(zip(("number", "pass_rate"), marker.args, strict=False)) | dict(marker.kwargs)
    if len(marker.args) > 2 or set(values) - {"number", "pass_rate"} or "number" not in values:
        raise WrongMarker(f"{place} takes number and pass_rate, as in trials(5, pass_rate=0.8)")
    number, rate = values["number"], values.get("pass_rate", 1.0)
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 1000:
        raise WrongMarker(f"{place}: number is a whole number from 1 to 1000, not {number!r}")
    if not isinstance(rate, (int, float)) or isinstance(rate, bool) or not 0 < rate <= 1:
        raise WrongMarker(f"{place}: pass_rate is above 0 and at most 1, not {rate!r}")
    if not isinstance(item, pytest.Function):
        raise WrongMarker(f"{place} is for test functions; cases say trials themselves")
    return number, math.ceil(number * rate - 1e-9)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Tries a test several times, each with fixtures of its own, until it is decided."""
    try:
        plan = _plan(item)
    except WrongMarker:
        # Told when the test is set up.
        return None
    if plan is None or not isinstance(item, pytest.Function):
        return None
    from _pytest.runner import runtestprotocol

    number, needed = plan
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    passed, failures = 0, []
    duration = 0.0
    made = 0
    reports: list[pytest.TestReport] = []
    for index in range(number):
        if index > 0:
            item._initrequest()
            if isinstance(item.parent, pytest.Class):
                # What a trial leaves in the object of its class is not there for the next one.
                for name in ("_instance", "_obj"):
                    vars(item).pop(name, None)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        made += 1
        call = next((report for report in reports if report.when == "call"), None)
        duration += sum(report.duration for report in reports)
        others = [report for report in reports if report.when != "call" and report.failed]
        if call is None or others or call.skipped or hasattr(call, "wasxfail"):
            # A fixture failed, or the test says that it is not to be judged: that is no trial.
            _log(item, reports)
            return True
        if call.passed:
            passed += 1
        else:
            failures.append((index + 1, call))
        if passed >= needed or passed + (number - made) < needed:
            break
    _log(item, [_together(r, made, passed, needed, number, failures, duration) if r.when == "call" else r
                for r in reports])  # fmt: skip
    return True


def _together(
    last: pytest.TestReport,
    made: int,
    passed: int,
    needed: int,
    number: int,
    failures: list[tuple[int, pytest.TestReport]],
    duration: float,
) -> pytest.TestReport:
    """One report of all trials."""
    report = copy.copy(last)
    told = f"{passed} of {made} trials passed, {needed} of {number} needed"
    report.duration = duration
    report.user_properties = [*last.user_properties, ("trials", told)]
    if passed >= needed:
        report.outcome, report.longrepr = "passed", None
        report.sections = [*last.sections, ("agent-eval", told)]
    else:
        index, first = failures[0]
        report.outcome = "failed"
        report.longrepr = f"{told}; trial {index} failed first:\n{first.longreprtext}"
        report.sections = list(first.sections)
        for index, further in failures[1:]:
            # Of each what it came to, and where its runs can be looked at.
            crash = getattr(further.longrepr, "reprcrash", None)
            words = [str(crash.message) if crash is not None else further.longreprtext]
            words += [text for name, text in further.sections if name == _SECTION]
            report.sections.append((f"{_SECTION}: trial {index} failed", "\n".join(words)))
    return report


def _log(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
