"""Holds the program against the independent judge of this folder, on random pairs of run and expectation.

    python3 oracle.py --binary agent-eval [--pairs 2000] [--seeds 1,2] [--table]

Exits with 0 where both say the same of every check, with 1 where they do not: then the first disagreements
are shown, made small, with all that is needed to see them again.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import generate
import runlog
from facts import Facts
from judge import judge
from matchers import NotCovered, parsed
from runlog import canonical

PAIRS_OF_A_RUN = 4
# Under these the program reads no summaries.
CI = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "TF_BUILD")


class Pair:
    """A run and an expectation of it."""

    def __init__(self, events, is_open, gap, expected, seed):
        self.events, self.is_open, self.gap, self.expected, self.seed = events, is_open, gap, expected, seed

    def facts(self):
        return Facts([parsed(runlog.canonical(event)) for event in self.events], self.is_open, self.gap)

    def judged(self):
        return judge(self.facts(), parsed(canonical(self.expected)))


def made(seed, number):
    """The pairs of a seed."""
    dice = random.Random(seed)
    while number > 0:
        events, is_open, gap = generate.run(dice)
        for _ in range(min(PAIRS_OF_A_RUN, number)):
            yield Pair(events, is_open, gap, generate.expectations(dice, events), seed)
            number -= 1


def said(binary, pairs, folder, extra=()):
    """What the program says of each pair: the outcomes by check, or an error; and from what it was told."""
    runs, cases = {}, []
    for place, pair in enumerate(pairs):
        key = id(pair.events), pair.is_open, pair.gap
        if key not in runs:
            runs[key] = os.path.join(folder, "%d.jsonl.gz" % len(runs))
            runlog.write(runs[key], pair.events, pair.gap, pair.is_open, pair.facts().summary())
        cases.append('{"caseId":"%d","recording":%s,"expected":%s}\n'
                     % (place, json.dumps(runs[key]), canonical(pair.expected)))
    path = os.path.join(folder, "cases.jsonl")
    answers = {}
    results = {"cases": []}
    while any(case != "\n" for case in cases):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(cases)
        result = subprocess.run([binary, "run", path, "--json", *extra], capture_output=True, text=True,
                                env={name: value for name, value in os.environ.items() if name not in CI})
        if result.stdout:
            results = json.loads(result.stdout)
            break
        # Expectations that the program calls a mistake: those are told apart, and the others judged.
        wrong = {int(line): text for line, text in re.findall(r"cases.jsonl:(\d+):\d+: error: (.*)", result.stderr)
                 if cases[int(line) - 1] != "\n"}
        if not wrong:
            sys.exit("%s %s\n%s" % (binary, path, result.stderr[:4000]))
        for line, text in wrong.items():
            cases[line - 1] = "\n"
            answers[line - 1] = text, "mistake"
    for case in results["cases"]:
        trial = (case.get("trials") or [{}])[0]
        if "error" in case or "expectations" not in trial:
            answers[int(case["caseId"])] = (case.get("error") or trial.get("error") or "no outcome"), None
        else:
            answers[int(case["caseId"])] = [(one["expectation"], one["outcome"], one["message"])
                                            for one in trial["expectations"]], trial["judgedFrom"]
    return [answers.get(place, ("no case", None)) for place in range(len(pairs))]


def grouped(checks, expected):
    """The outcomes by check. Of entries without `times`, which share the calls out among themselves, only how
    many have which outcome is told, not which."""
    told = {}
    for name, outcome in checks:
        told.setdefault(shared(name, expected) or name, []).append(outcome)
    return {name: sorted(outcomes) for name, outcomes in told.items()}


def shared(name, expected):
    """The name under which an entry that shares calls with others counts."""
    prefix, mapping = "", expected
    if isinstance(expected, list):
        place = int(name[1:name.index("]")])
        prefix, mapping, name = "[%d]." % place, expected[place], name[name.index("]") + 2:]
    for word in ("toolsCalled", "toolsProposed"):
        if name.startswith(word + "["):
            entry = mapping[word][int(name[len(word) + 1:-1])]
            if isinstance(entry, str) or "times" not in entry:
                return prefix + word + "[…]"
    return None


def word_of(name):
    name = name.split("].", 1)[1] if name.startswith("[") else name
    name = name.replace("state ", "state", 1) if name.startswith("state ") else name
    name = re.sub(r"\[[0-9…]*\]", "", name)
    return name if not name.startswith("budget.tools") else "budget.tools." + name.rsplit(".", 1)[1]


def compared(pair, answer):
    """The checks on which the two do not agree."""
    checks, _ = answer
    if answer[1] == "mistake":
        return None
    if isinstance(checks, str):
        return {"error": ("", checks)}
    try:
        mine = grouped(pair.judged(), pair.expected)
    except NotCovered:
        return None
    theirs = grouped([(name, outcome) for name, outcome, _ in checks], pair.expected)
    return {name: (mine.get(name), theirs.get(name)) for name in {**mine, **theirs}
            if mine.get(name) != theirs.get(name)}


def smaller(binary, pair, name):
    """The pair made small, as long as the two do not agree on the check."""
    word = word_of(name)

    def tries(pair):
        expected = pair.expected
        if isinstance(expected, list):
            for one in expected:
                yield Pair(pair.events, pair.is_open, pair.gap, one, pair.seed)
        else:
            for cut in without(expected):
                yield Pair(pair.events, pair.is_open, pair.gap, cut, pair.seed)
        if pair.gap is None:
            for place in reversed(range(1, len(pair.events))):
                events = [dict(event) for event in pair.events[:place] + pair.events[place + 1:]]
                for number, event in enumerate(events):
                    event["seq"] = number
                yield Pair(events, pair.is_open, None, expected, pair.seed)
            for place, event in enumerate(pair.events):
                for data in plainer(event):
                    events = list(pair.events)
                    events[place] = dict(event, data=data)
                    yield Pair(events, pair.is_open, None, expected, pair.seed)

    def differs(candidates):
        with tempfile.TemporaryDirectory() as folder:
            for candidate, answer in zip(candidates, said(binary, candidates, folder)):
                if isinstance(answer[0], str):
                    continue
                found = compared(candidate, answer)
                if found and any(word_of(one) == word for one in found):
                    return candidate
        return None
    for _ in range(60):
        candidates = [one for one in tries(pair) if is_possible(one)][:400]
        better = differs(candidates) if candidates else None
        if better is None:
            return pair
        pair = better
    return pair


def plainer(event):
    """The data of an event with something less in it."""
    data = event["data"]
    if event["type"] == "decision":
        calls = data.get("calls") or []
        for place, call in enumerate(calls):
            yield dict(data, calls=calls[:place] + calls[place + 1:])
            if call["input"]:
                yield dict(data, calls=calls[:place] + [dict(call, input={})] + calls[place + 1:])
    if event["type"] == "run_started":
        for key in ("tools", "recorded", "source", "agent"):
            if key in data:
                yield {other: inner for other, inner in data.items() if other != key}
        for inner in without(data.get("recorded") or {}):
            yield dict(data, recorded=inner)
    if event["type"] == "context_built":
        for key in ("included", "omittedRefs", "toolsDisclosed"):
            if data[key]:
                yield dict(data, **{key: []})


def is_possible(pair):
    """Whether a pair that was made small is still a run."""
    try:
        facts = pair.facts()
        facts.summary()
        pair.judged()
        if any("callId" in event["data"] and event["data"]["callId"] not in facts.by_id for event in facts.events):
            return False
        for event in pair.events:
            if event["type"] == "approval":
                call = next(call for one in pair.events for call in one["data"].get("calls", [])
                            if call["callId"] == event["data"]["callId"])
                if generate.action(call) != event["data"]["actionId"]:
                    return False
    except NotCovered:
        return False
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        return False
    return True


def without(value):
    """A value with one part less."""
    if isinstance(value, dict):
        for key in value:
            yield {other: inner for other, inner in value.items() if other != key}
        for key in value:
            for inner in without(value[key]):
                yield dict(value, **{key: inner})
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1:]
        for place in range(len(value)):
            for inner in without(value[place]):
                yield value[:place] + [inner] + value[place + 1:]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--binary", default="agent-eval")
    options.add_argument("--pairs", type=int, default=2000)
    options.add_argument("--seeds", default="1")
    options.add_argument("--show", type=int, default=3)
    options.add_argument("--word", help="show only disagreements on this word")
    options.add_argument("--table", action="store_true")
    options.add_argument("--plain", action="store_true", help="show disagreements as they are, not made small")
    given = options.parse_args()
    table = collections.defaultdict(collections.Counter)
    bad, seen, uncovered, by_word, told_from = [], 0, 0, collections.Counter(), collections.Counter()
    kinds = collections.Counter()
    seeds = [int(one) for one in given.seeds.split(",")]
    for seed in seeds:
        pairs, batch = made(seed, given.pairs // len(seeds)), []
        while True:
            batch = [pair for _, pair in zip(range(5000), pairs)]
            if not batch:
                break
            for extra in ([], ["--no-summary"]):
                with tempfile.TemporaryDirectory() as folder:
                    answers = said(given.binary, batch, folder, extra)
                for pair, answer in zip(batch, answers):
                    found = compared(pair, answer)
                    told_from[answer[1]] += 1
                    if extra:
                        seen += found is not None
                        uncovered += found is None
                        if not isinstance(answer[0], str):
                            for name, outcome, _ in answer[0]:
                                table[word_of(name)][outcome] += 1
                    if found:
                        bad.append((pair, found, extra, answer))
                        for name in {word_of(name) for name in found}:
                            by_word[name] += 1
                        for name, two in found.items():
                            kinds[word_of(name), str(two)] += 1
    if given.table:
        print("%-28s %8s %8s %14s %14s" % ("", "pass", "fail", "not_exercised", "unverifiable"))
        for word in sorted(table):
            print("%-28s %8d %8d %14d %14d" % (word, *[table[word][one] for one in
                                               ("pass", "fail", "not_exercised", "unverifiable")]))
    print("%d pairs of seeds %s, %d checks: %d pairs without agreement; %d pairs not covered; judged from %s"
          % (seen + uncovered, given.seeds, sum(sum(one.values()) for one in table.values()), len({id(one[0]) for one in bad}),
             uncovered, dict(told_from)))
    if by_word:
        print("pairs by word:", dict(by_word.most_common()))
        for (word, two), count in kinds.most_common(40):
            print("%6d %-20s oracle, program: %s" % (count, word, two))
    shown = 0
    for pair, found, extra, answer in bad:
        names = [name for name in found if given.word is None or word_of(name) == given.word]
        if not names or shown >= given.show:
            continue
        shown += 1
        if not given.plain and names[0] != "error" and not extra:
            pair = smaller(given.binary, pair, names[0])
            with tempfile.TemporaryDirectory() as folder:
                answer = said(given.binary, [pair], folder)[0]
            found = compared(pair, answer) or {}
        print("\nseed %d %s %s%s" % (pair.seed, extra, "open " if pair.is_open else "", pair.gap or ""))
        for event in pair.events:
            print("  %2d %d %-15s %s" % (event["seq"], event["step"], event["type"], canonical(event["data"])))
        print("  expected", canonical(pair.expected))
        for name, (mine, theirs) in found.items():
            print("  %s: oracle %s, program %s" % (name, mine, theirs))
        if not isinstance(answer[0], str):
            for name, _, message in answer[0]:
                if any(name == one or shared(name, pair.expected) == one for one in found):
                    print("    %s" % message)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
