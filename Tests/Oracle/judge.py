"""An independent judge of runs by expectations: written from Docs/expectations.md, Docs/matchers.md,
Docs/log-format.md and Docs/eval-case-format.md alone, and sharing no code with the program.

    python3 judge.py LINES.jsonl EXPECTED.json [--open]

says of each check of EXPECTED (one mapping of expectations, or a list of them) what becomes of it on the run
whose events stand in LINES, one a line and said in full (`agent-eval replay LOG -c 'events'` is no such form;
the program at the end of "Said once" in Docs/log-format.md prints it). `exec` and `judge` are left out.
"""
import sys

import calls
import moments
import words
from facts import Facts
from matchers import NotCovered, parsed


def judge(facts, expected):
    """The outcome of each check, as pairs of its name and the outcome."""
    if isinstance(expected, list):
        return [("[%d].%s" % (place, name), outcome) for place, one in enumerate(expected)
                for name, outcome in judge(facts, one)]
    checks = []
    order = expected.get("order", "any")
    has_called = "toolsCalled" in expected
    for word, given in expected.items():
        checks += list(judged(facts, expected, word, given, order, has_called))
    return checks


def judged(facts, expected, word, given, order, has_called):
    """The checks of one word."""
    if word in ("toolsCalled", "toolsProposed"):
        proposed = word == "toolsProposed"
        if order == "any":
            yield from calls.positive(facts, given, proposed, word)
        else:
            yield word, calls.ordered(facts, given, proposed, "in_order" if proposed else order)
            if proposed and order == "exact" and not has_called:
                yield word, calls.no_others(facts, given)
    elif word in ("toolsNotCalled", "toolsNotProposed"):
        yield from calls.negative(facts, given, word == "toolsNotProposed", word)
    elif word == "extra" and given == "forbid":
        yield word, calls.extra(facts, expected["toolsCalled"])
    elif word == "eachCall":
        for place, one in enumerate(given):
            yield "eachCall[%d]" % place, calls.each_call(facts, one)
    elif word == "time":
        for place, one in enumerate(given):
            yield "time[%d]" % place, moments.rule(facts, one)
    elif word in ONE:
        yield word, ONE[word](facts, given)
    elif word == "noApprovalBypass":
        yield word, words.bypass(facts)
    elif word in MANY:
        if word == "context" and isinstance(given, list) and len(given) == 1:
            yield from words.context(facts, given[0], word)
        elif word == "context" and isinstance(given, list):
            for place, one in enumerate(given):
                yield from words.context(facts, one, "context[%d]" % place)
        else:
            yield from MANY[word](facts, given, word)
    elif word not in ("order", "extra", "severity"):
        raise NotCovered(word)


ONE = {"stopReason": words.stop_reason, "answer": words.answer, "answerJson": words.answer_json,
       "maxSteps": words.max_steps, "maxToolCalls": words.max_tool_calls, "maxInvalidDecisions": words.max_invalid,
       "maxRetries": words.max_retries, "noRepeatedSideEffect": words.repeated, "noLoops": words.loops}
MANY = {"budget": words.budget, "evidence": words.evidence, "state": words.state, "policy": words.policy,
        "context": words.context, "memory": words.memory}


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        events = [parsed(line) for line in lines if line.startswith('{"seq"')]
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = parsed(file.read())
    for name, outcome in judge(Facts(events, is_open="--open" in sys.argv), expected):
        print(outcome, name)


if __name__ == "__main__":
    main()
