"""The rules about time, as Docs/expectations.md describes them under Time."""
from calls import as_list, entry, fits, fits_caller, input_seen
from facts import OPEN
from matchers import both, either, glob, match, no, seen

WORDS = ("called", "proposed", "returned", "verdict", "approval", "reply", "answer", "stop", "invalidDecision")


def sort_of(given):
    """The sort of a moment, and what is asked of it."""
    if isinstance(given, str):
        return "called", {"tool": given}
    for word in WORDS:
        if word in given:
            if word in ("called", "proposed", "returned"):
                return word, entry(given[word])
            return word, given
    return "called", given


EVER = float("inf")


class Moment:
    """A moment: the first and the last number that it may have, the first and the last step in which it may be,
    the call or the event that it is.

    One that is not sure may not have been. One whose event and call are missing may be any: it stands for all that
    may lie behind a tear, in a gap or in a channel that was not recorded."""

    def __init__(self, sort, span, steps, call=None, event=None, sure=True):
        self.sort, self.span, self.steps, self.call, self.event, self.sure = sort, span, steps, call, event, sure

    @property
    def is_blank(self):
        return self.call is None and self.event is None


CHANNELS = {"called": ("decisions",), "proposed": ("decisions",), "returned": ("decisions",),
            "verdict": ("policy", "calls"), "approval": ("policy", "calls"), "reply": (), "answer": ("answers",),
            "stop": ("stop",), "invalidDecision": ("decisions",)}


def blanks(facts, sort, given):
    """What may lie where nothing is seen."""
    if facts.is_torn:
        last = facts.events[-1]
        yield Moment(sort, (last["seq"] + 1, EVER), (last["step"], EVER), sure=False)
    if facts.gap:
        first, last = facts.gap
        before = [event["step"] for event in facts.events if event["seq"] < first]
        behind = [event["step"] for event in facts.events if event["step"] > before[-1]]
        yield Moment(sort, (first, last), (before[-1], behind[0] if behind else max(before[-1], facts.events[-1]["step"])), sure=False)
    if any(facts.lacks(name) for name in CHANNELS[sort]):
        yield Moment(sort, (-1, EVER), (0, EVER), sure=False)
    if sort == "returned" and "tools" in facts.recorded:
        # Results that were not recorded.
        for call in facts.calls:
            if call.result is None and any(
                    fits(facts, sort_of(one)[1], call) is not False for one in given if sort_of(one)[0] == sort):
                yield Moment(sort, (call.seq + 1, EVER), (call.step, EVER), sure=False)


def moments(facts, sort):
    """Every moment of a sort that is seen."""
    found = []
    if sort in ("called", "proposed", "returned"):
        for call in facts.calls:
            at = (call.step, call.step)
            before, until = (0, call.seq - 1), (0, call.step)
            if sort == "proposed":
                found.append(Moment(sort, before, until, call) if call.is_stray else
                             Moment(sort, (call.seq, call.seq), at, call))
            elif sort == "called" and call.is_stray and not call.starts:
                if facts.executed(call) is not False:
                    found.append(Moment(sort, before, until, call, sure=facts.executed(call) is True))
            elif sort == "called" and facts.executed(call) is not False:
                seq, step = facts.begin(call)
                # Where the start may be hidden it is somewhere behind the proposal.
                is_placed = call.starts or not facts.hides_behind(call.seq)
                hole = (facts.hole_behind(seq), facts.end_of_hole(seq))
                found.append(Moment(sort, (seq, seq) if is_placed else hole, (step, step), call,
                                    sure=facts.executed(call) is True))
            elif sort == "returned" and call.result:
                seq, step = call.result["seq"], call.result["step"]
                found.append(Moment(sort, (seq, seq), (step, step), call))
        return found
    types = {"verdict": "policy_decision", "approval": "approval", "reply": "human_replied", "stop": "stop"}
    for event in facts.events:
        data, at, span = event["data"], (event["step"], event["step"]), (event["seq"], event["seq"])
        if sort in types:
            if event["type"] == types[sort]:
                found.append(Moment(sort, span, at, facts.by_id.get(data.get("callId")), event))
        elif event["type"] == "decision" and data["kind"] == ("answer" if sort == "answer" else "invalid"):
            found.append(Moment(sort, span, at, None, event))
        elif (sort == "answer" and event["type"] == "decision" and data["kind"] == "ask_human"
              and "model" in facts.recorded and data.get("caller", "agent") == "agent"):
            # Of a run that somebody saw go by nobody can tell a question from an answer that more follows.
            found.append(Moment(sort, span, at, None, event, sure=False))
    return found


def is_such(facts, given, moment):
    """Whether a moment is as asked: True, False or None."""
    sort, asked = sort_of(given)
    if sort != moment.sort:
        return False
    if moment.is_blank:
        return None
    if sort in ("called", "proposed", "returned"):
        return fits(facts, asked, moment.call)
    data = moment.event["data"]
    if sort in ("verdict", "approval"):
        return is_ruling(facts, asked, moment)
    if sort == "reply":
        return both([match(asked["reply"], seen(data.get("text"))),
                     "by" not in asked or glob(asked["by"], data.get("by") or "")])
    if sort == "answer":
        return match(asked["answer"], data.get("text", data.get("question")), facts.origins(moment.span[0]))
    if sort == "stop":
        return asked["stop"] is True or data["reason"] in as_list(asked["stop"])
    return True


def is_ruling(facts, asked, moment):
    """Whether a verdict or an approval is as asked."""
    data, call, answers = moment.event["data"], moment.call, []
    if "verdict" in asked:
        answers.append(data["status"] in as_list(asked["verdict"]))
    if asked.get("approval") in ("granted", "denied"):
        answers.append(data["granted"] == (asked["approval"] == "granted"))
    if "tool" in asked:
        answers.append(glob(asked["tool"], data.get("tool") or (call.tool if call else "")))
    if "input" in asked:
        answers.append(match(asked["input"], input_seen(asked, call.input), facts.origins(call.seq)) if call else None)
    answers.append(fits_caller(asked, call))
    if "rule" in asked:
        answers.append("ruleId" in data and glob(asked["rule"], data["ruleId"]))
    if "reason" in asked:
        answers.append(match(asked["reason"], data.get("reason")))
    if "by" in asked:
        answers.append(glob(asked["by"], data.get("by") or ""))
    return both(answers)


def precedes(one, other):
    """Whether a moment stands before another; None where that is not known."""
    if (one.call is not None and other.call is not None and one.call is not other.call
            and one.call.is_stray and other.call.is_stray
            and (one.sort == other.sort == "verdict" or {one.sort, other.sort} <= {"called", "proposed", "returned"})):
        # One decision that is lost may hold both, and then they have no order.
        return False if one.span[0] >= other.span[1] else None
    if one.call is not None and other.call is not None and one.call.decision is other.call.decision:
        ranks = {"proposed": 0, "verdict": 1, "called": 2, "returned": 3}
        if one.sort in ranks and other.sort in ranks:
            is_placed = one.span[0] == one.span[1] and other.span[0] == other.span[1]
            if one.call is not other.call:
                if one.sort == other.sort or "verdict" not in (one.sort, other.sort):
                    return False
            elif not is_placed and one.sort != other.sort and {one.sort, other.sort} != {"proposed", "called"}:
                return ranks[one.sort] < ranks[other.sort]
    if one.span[1] < other.span[0]:
        return True
    return False if one.span[0] >= other.span[1] else None


def near(one, other, within):
    """Whether two moments lie within so many steps of each other; None where that is not known."""
    if within is None:
        return True
    least = max(one.steps[0] - other.steps[1], other.steps[0] - one.steps[1], 0)
    most = max(one.steps[1] - other.steps[0], other.steps[1] - one.steps[0])
    return True if most <= within else False if least > within else None


def of(facts, given, is_proof=True):
    """The moments that a word speaks of, each with whether it is one; without those that are none. A call of
    unknown effect is no proof that it happened."""
    found = []
    for moment, answer in all_of(facts, given):
        if is_proof and answer and not is_proven(facts, given, moment):
            answer = None
        if answer is not False:
            found.append((moment, answer))
    return found


def is_proven(facts, given, moment):
    """Whether a moment is more than the beginning of a call of unknown effect, or such a call is asked for."""
    if moment.sort != "called" or facts.status(moment.call) not in ("unknown", OPEN):
        return True
    return any("unknown" in as_list(sort_of(one)[1].get("status", [])) and is_such(facts, one, moment)
               for one in as_list(given) if sort_of(one)[0] == "called")


def all_of(facts, given):
    given = as_list(given)
    sorts = [sort_of(one)[0] for one in given]
    for place, sort in enumerate(sorts):
        if sort not in sorts[:place]:
            for moment in [*moments(facts, sort), *blanks(facts, sort, given)]:
                answer = either(is_such(facts, one, moment) for one in given)
                yield moment, answer if moment.sure else both([answer, None])


def others(facts, given):
    """The moments of the same sorts that are none of these."""
    given, found = as_list(given), []
    for moment, _ in all_of(facts, given):
        if moment.sort in ("called", "proposed", "returned") and moment.call is not None and not any(fits_caller(sort_of(one)[1], moment.call)
                                               for one in given if sort_of(one)[0] == moment.sort):
            continue  # It speaks of other callers.
        is_it = no(either(is_such(facts, one, moment) for one in given))
        if not moment.sure:
            # What may be an answer is none that a rule does not allow where it is one that it does.
            is_it = both([is_it, None]) if moment.sort == "answer" and not moment.is_blank else None
        if is_it is not False:
            found.append((moment, is_it))
    return found


def rule(facts, given):
    """The outcome of a rule."""
    within = given.get("within")
    if "eventually" in given:
        begin = Moment("begin", (-1, -1), (0, 0))
        answer = either(both([answer, near(begin, moment, within)]) for moment, answer in of(facts, given["eventually"]))
        return {True: "pass", None: "unverifiable", False: "fail"}[answer]
    if "expect" in given:
        return expected(facts, given, within)
    what = others(facts, given["only"]) if "only" in given else of(facts, given["never"], False)
    if "after" in given:
        return never_after(what, of(facts, given["after"]), within)
    if "before" in given:
        return never_before(what, of(facts, given["before"]), False)
    if "until" in given:
        return never_before(what, of(facts, given["until"]), True)
    answer = either(answer for _, answer in what)
    return {True: "fail", None: "unverifiable", False: "pass"}[answer]


def expected(facts, given, within):
    side = "before" if "before" in given else "after"
    what, marks = of(facts, given["expect"]), of(facts, given[side], False)
    answers = []
    for mark, is_mark in marks:
        has = either(both([answer, near(moment, mark, within),
                           precedes(moment, mark) if side == "before" else precedes(mark, moment)])
                     for moment, answer in what)
        answers.append((is_mark, has))
    if (True, False) in answers:
        return "fail"
    if any(has is not True for _, has in answers):
        return "unverifiable"
    if any(is_mark for is_mark, _ in answers):
        return "pass"
    return "unverifiable" if answers else "not_exercised"


def never_after(what, marks, within):
    pairs = [both([answer, is_mark, precedes(mark, moment), near(mark, moment, within)])
             for moment, answer in what for mark, is_mark in marks]
    if True in pairs:
        return "fail"
    if None in pairs:
        return "unverifiable"
    if any(is_mark for _, is_mark in marks):
        return "pass"
    return "unverifiable" if marks else "not_exercised"


def never_before(what, marks, is_until):
    answers = [both([answer, no(either(both([is_mark, precedes(mark, moment)]) for mark, is_mark in marks))])
               for moment, answer in what]
    comes = either(is_mark for _, is_mark in marks)
    if True in answers or (is_until and comes is False):
        return "fail"
    if None in answers or (is_until and comes is None):
        return "unverifiable"
    if not is_until and comes is not True and not any(answer for _, answer in what):
        return "unverifiable" if comes is None else "not_exercised"
    return "pass"
