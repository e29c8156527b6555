"""The other words, as Docs/expectations.md describes them."""
import hashlib
import json
import re
from fractions import Fraction

from calls import Board, as_list, bounds, counted, entry, fits, fits_caller, input_seen
from facts import OPEN
from matchers import (ABSENT, LOST, TOKEN, NotCovered, both, either, glob, is_operators, match, no, parsed,
                      pointed, same, seen)
from moments import is_ruling, moments


def at_most(limit, low, may_be_more):
    """The outcome of a number of which only the least may be known."""
    if low > limit:
        return "fail"
    return "unverifiable" if may_be_more else "pass"


# Stop and answer


def stop_reason(facts, asked):
    if facts.is_torn:
        return "unverifiable"
    if facts.stop is None or facts.goes_on_behind_end:
        return "unverifiable"
    return "pass" if facts.stop["data"]["reason"] in as_list(asked) else "fail"


def of_no_answer(matcher):
    """The outcome where there is no answer: one that only says what an answer must not be is not exercised."""
    if said_of_nothing(matcher):
        return "pass"
    return "not_exercised" if match(matcher, ABSENT, lambda _: ([], False)) else "fail"


def said_of_nothing(matcher):
    """Whether a matcher asks for nothing to be there, by more than what it says with a `$not`."""
    if not is_operators(matcher):
        return False
    holds = {"$absent": lambda one: one, "$allOf": lambda all: all != [] and every(all),
             "$anyOf": lambda some: any(said_of_nothing(one) for one in some),
             "$oneOf": lambda some: sum(said_of_nothing(one) for one in some) == 1}

    def every(all):
        return all_hold(all) and any(said_of_nothing(one) for one in all)

    def all_hold(all):
        return all_match(all)

    def all_match(all):
        return False not in [match(one, ABSENT, lambda _: ([], False)) for one in all]
    return any(name in holds and holds[name](matcher[name]) for name in matcher) and all_match(
        [{name: matcher[name]} for name in matcher])


def outcome_of(answer):
    return {True: "pass", False: "fail", None: "unverifiable"}[answer]


def is_answer_open(facts):
    """Whether the last answer may be another than the one that is seen."""
    return facts.hides_later(facts.answer["seq"] if facts.answer else -1) or facts.gives_another_answer()


def answer(facts, asked):
    if is_answer_open(facts):
        return "unverifiable"
    if facts.answer is None:
        return of_no_answer(asked)
    return outcome_of(match(asked, facts.answer["data"]["text"], facts.origins(facts.answer["seq"])))


def answer_json(facts, asked):
    if is_answer_open(facts):
        return "unverifiable"
    if facts.answer is None:
        return "fail"
    text = facts.answer["data"]["text"].strip()
    fence = re.fullmatch(r"```[a-z]*\n(.*)\n```", text, re.DOTALL)
    try:
        value = parsed(fence.group(1) if fence else text)
    except ValueError:
        return "fail"
    return outcome_of(match(asked, value))


# Counts


def max_steps(facts, limit):
    return at_most(limit, facts.steps(), facts.is_missing("decisions"))


def executed_calls(facts):
    """How many calls were executed for sure, and whether there may be more."""
    calls = [facts.executed(call) for call in facts.calls if not call.is_of_user]
    return calls.count(True), None in calls or facts.is_missing("decisions")


def max_tool_calls(facts, limit):
    return at_most(limit, *executed_calls(facts))


def max_invalid(facts, limit):
    count = sum(event["data"]["kind"] == "invalid" for event in facts.decisions)
    return at_most(limit, count, facts.is_missing("decisions"))


def attempts(call):
    told = call.result["data"].get("attempts", 0) if call.result else 0
    numbers = [int(start["data"].get("attempt", 1)) for start in call.starts]
    return max([len(call.starts), int(told), 1] + numbers)


def lacks_attempts(call):
    """Whether neither an attempt at a call was seen nor how many there were."""
    return not call.starts and not (call.result and call.result["data"].get("attempts"))


def retries(facts, calls):
    count = sum(attempts(call) - 1 for call in calls if facts.executed(call) is not False)
    unknown = any(facts.executed(call) is not False and (facts.status(call) in ("returned", OPEN) or lacks_attempts(call))
                  for call in calls)
    return count, unknown or facts.is_missing("tools", "decisions")


def agents(facts):
    return [call for call in facts.calls if not call.is_of_user]


def max_retries(facts, limit):
    return at_most(limit, *retries(facts, agents(facts)))


# Budget


def used(facts, measure):
    """How much is used for sure, and whether it may be more."""
    results = [event["data"] for event in facts.events if event["type"] == "model_result"]
    model_open = facts.is_missing("model", "calls")
    if measure == "steps":
        return facts.steps(), facts.is_missing("decisions")
    if measure == "calls":
        return executed_calls(facts)
    if measure == "modelCalls":
        return len(results), model_open
    if measure in ("tokens", "inputTokens", "outputTokens"):
        keys = ["inputTokens", "outputTokens"] if measure == "tokens" else [measure]
        numbers = [(one.get("usage") or {}).get(key) for one in results for key in keys]
        return sum(one for one in numbers if one is not None), None in numbers or model_open
    if measure == "cost":
        costs = [one.get("cost") for one in results]
        return sum(Fraction(str(one)) for one in costs if one is not None), None in costs or model_open
    if measure == "seconds":
        return (Fraction(max(event["t"] for event in facts.events), 10**6), facts.is_missing("time", "decisions"))
    return used_by(facts, agents(facts), measure)


def used_by(facts, calls, measure):
    executed = [facts.executed(call) for call in calls]
    is_open = facts.is_missing("decisions")
    if measure == "calls":
        return executed.count(True), None in executed or is_open
    calls = [call for call in calls if facts.executed(call) is not False]
    if measure == "retries":
        return retries(facts, calls)
    if measure == "errors":
        statuses = [facts.status(call) for call in calls]
        return (sum(one in ("error", "unknown") for one in statuses),
                any(one in ("returned", OPEN) for one in statuses) or is_open or facts.is_missing("tools"))
    if measure == "seconds":
        spent, unknown = Fraction(0), False
        for call in calls:
            took = call.result["data"].get("elapsedMicroseconds") if call.result else None
            if took is None:
                unknown = True
            else:
                spent += Fraction(took, 10**6)
        return spent, unknown or is_open or facts.is_missing("tools")
    raise NotCovered(measure)


def budget(facts, asked, prefix):
    for measure, limit in asked.items():
        if measure == "tools":
            for tool, limits in limit.items():
                calls = [call for call in agents(facts) if glob(tool, call.tool)]
                for one, most in limits.items():
                    yield "%s.tools.%s.%s" % (prefix, tool, one), at_most(most, *used_by(facts, calls, one))
        elif measure != "subRuns":
            yield "%s.%s" % (prefix, measure), at_most(limit, *used(facts, measure))


# Repetition


def repeated(facts, asked):
    """No write twice with the same input."""
    tools, is_unknown, failed = facts.tools(), False, False
    calls = [call for call in agents(facts) if facts.executed(call) is not False]
    for place, later in enumerate(calls):
        if asked is True:
            effect = tools.get(later.tool, {}).get("sideEffect")
            if effect in ("read", "draft"):
                continue
        else:
            effect = "write"
            if not any(glob(one, later.tool) for one in as_list(asked)):
                continue
        for earlier in calls:
            if earlier is later or earlier.tool != later.tool:
                continue
            equal = equal_before_withholding(earlier.input, later.input)
            begun, again = facts.begins(earlier), facts.begins(later)
            if equal is False or (begun[0], calls.index(earlier)) > (again[1], calls.index(later)):
                continue
            bad = is_again(facts, earlier, later)
            if bad and not earlier.starts and facts.gap and facts.gap[1] > earlier.seq and \
                    facts.status(later) in ("error", "returned"):
                # Its start is in the gap: perhaps it began when the other had failed.
                bad = None
            if effect is None or equal is None or facts.executed(earlier) is None or facts.executed(later) is None:
                bad = None if bad is not False else False
            failed = failed or bad is True
            is_unknown = is_unknown or bad is None
    if failed:
        return "fail"
    return "unverifiable" if is_unknown or facts.is_missing("decisions") else "pass"


def equal_before_withholding(one, other):
    """Whether two inputs of a run are the same; within a run equal values have equal tokens, and others have
    others."""
    if isinstance(one, str) and isinstance(other, str) and TOKEN.fullmatch(one) and TOKEN.fullmatch(other):
        return one.rsplit(":", 1)[1] == other.rsplit(":", 1)[1]
    if isinstance(one, dict) and isinstance(other, dict):
        return both([set(one) == set(other)] + [equal_before_withholding(one[key], other[key])
                                                for key in one if key in other])
    if isinstance(one, list) and isinstance(other, list):
        return both([len(one) == len(other)] + [equal_before_withholding(a, b) for a, b in zip(one, other)])
    return either([same(one, other), same(other, one)])


def is_again(facts, earlier, later):
    """Whether a call begins while an equal one runs, or after it was done."""
    again = facts.begins(later)[0]
    if earlier.result is None:
        # It may have failed where that cannot be seen.
        return None if facts.gap and earlier.seq < facts.gap[1] and facts.gap[0] < again else True
    if earlier.result["seq"] > again:
        is_failed = earlier.result["data"]["status"] == "error" and facts.status(earlier) == "error"
        return None if is_failed and not later.starts and facts.gap and facts.gap[1] > later.seq else True
    status = facts.status(earlier)
    if status in ("ok", "unknown"):
        return True
    return None if status == "returned" else False


def loops(facts, asked):
    """No caller makes the same call so often and gets the same result with nothing new in between."""
    most = 3 if asked is True else asked
    if any(call.is_stray for call in facts.calls):
        raise NotCovered("equal calls, of one of which nobody knows the input")
    if goes_in_circles(facts, most, is_certain=True):
        return "fail"
    if facts.is_missing("decisions"):
        return "unverifiable"
    if "tools" in facts.recorded:  # A result that is not seen may be the same again, or something new.
        if goes_in_circles(facts, most, is_certain=False):
            return "unverifiable"
    made = {}
    for call in facts.calls:
        if facts.executed(call) is not False or call.result:
            made.setdefault((call.caller, call.tool, key_of(call.input)), []).append(call)
    for calls in made.values():
        # Those of the last decision may have no result yet.
        lacking = [call for call in calls if not call.result
                   and ("tools" in facts.recorded or call.decision is not facts.calls[-1].decision)]
        if len(calls) >= most and lacking:
            return "unverifiable"
    return "pass"


def goes_in_circles(facts, most, is_certain):
    """Whether some caller does; where not certain, whatever may have told something new told nothing."""
    had, counts, heard, before = {}, {}, {}, 0
    valid = [event for event in facts.decisions if event["data"]["kind"] != "invalid" and event["data"].get("calls")]
    for event in valid:
        calls = [call for call in facts.calls if call.decision is event]
        caller, ended = calls[0].caller, [call for call in calls if call.result]
        is_whole = len(ended) == len(calls)
        if not is_whole and event is valid[-1] and not (facts.answer and facts.answer["seq"] > event["seq"]):
            break  # Nothing is learned of it before all of its results are there.
        words = sum(one["type"] == "human_replied" and one["seq"] < event["seq"] for one in facts.events)
        if words > heard.get(caller, 0):
            heard[caller], counts[caller] = words, {}
        last = max([call.result["seq"] for call in ended] or [event["seq"]]) if is_whole else float("inf")
        may_hide_news = is_certain and (
            "calls" in facts.recorded
            or (facts.gap is not None and facts.gap[0] <= last and facts.gap[1] >= before)
            or ("tools" in facts.recorded
                and any(not call.result and facts.executed(call) is not False for call in calls)))
        before = event["seq"]
        if may_hide_news:
            counts = {}
        results = [(call.tool, key_of(call.input), call.result["data"]["status"], str(facts.status(call)),
                    key_of(facts.outcome(call))) for call in ended]
        if any(one not in had.setdefault(caller, set()) for one in results):
            counts[caller] = {}
        had.setdefault(caller, set()).update(results)
        mine = counts.setdefault(caller, {})
        for one in results:
            mine[one] = mine.get(one, 0) + 1
            if mine[one] >= most and not may_hide_news:
                return True
        if may_hide_news:
            counts[caller] = {}
    return False


def key_of(value):
    """A text that is the same for equal values, numbers by value."""
    if isinstance(value, Fraction):
        return "number %s" % value
    if isinstance(value, dict):
        return "{%s}" % ",".join(sorted(repr(key) + key_of(inner) for key, inner in value.items()))
    if isinstance(value, list):
        return "[%s]" % ",".join(key_of(inner) for inner in value)
    if value is LOST:
        raise NotCovered("equal calls with lost values")
    return repr(value)


# Evidence, state


def evidence(facts, asked, prefix):
    hidden = is_answer_open(facts)
    cited = list((facts.answer["data"].get("evidenceRefs") or [])) if facts.answer else []
    lacking = "unverifiable" if facts.answer and "context" in facts.recorded else "fail"
    if "observed" in asked:
        yield prefix + ".observed", observed(facts, cited, hidden)
    if "min" in asked:
        if hidden:
            yield prefix + ".min", "unverifiable"
        else:
            yield prefix + ".min", "pass" if len(set(cited)) >= asked["min"] else lacking
    for place, one in enumerate(asked.get("cites", [])):
        answers = [both([fits(facts, entry(one), facts.by_id[ref]), returned(facts, facts.by_id[ref])])
                   if ref in facts.by_id else False for ref in cited]
        outcome = outcome_of(either(answers))
        yield "%s.cites[%d]" % (prefix, place), ("unverifiable" if hidden else lacking if outcome == "fail"
                                                 else outcome)


def returned(facts, call):
    """Whether a call has a result; None where it may be hidden."""
    return True if call.result else None if facts.may_hide_end(call) else False


def observed(facts, cited, hidden):
    if hidden:
        return "unverifiable"
    if not cited:
        return "unverifiable" if facts.answer and "context" in facts.recorded else "not_exercised"
    came = {event["data"]["callId"] for event in facts.events
            if event["type"] == "tool_result" and event["seq"] < facts.answer["seq"]}
    if any(ref not in came for ref in cited):
        return "unverifiable" if (facts.gap or facts.recorded.get("tools") == "none"
                                  or "calls" in facts.recorded) else "fail"
    if "context" in facts.recorded:
        return "unverifiable"
    decision = facts.answer
    contexts = [event for event in facts.events if event["type"] == "context_built"
                and event["seq"] < decision["seq"] and event["step"] == decision["step"]]
    if not contexts:
        return "unverifiable"
    data = contexts[-1]["data"]
    shown = set(data.get("evidenceRefs") or [])
    placed = {one["ref"] for one in data.get("included") or []}
    for ref in cited:
        call = facts.by_id.get(ref)
        if ref in shown:
            continue
        is_result = call is not None and call.result is not None and call.result["data"]["status"] == "ok"
        if ref in placed and not is_result:
            continue
        return "fail"
    return "pass"


def state(facts, asked, prefix):
    for place, matcher in asked.items():
        if facts.is_missing(*rests_on(facts, place)):
            yield "%s %s" % (prefix, place), "unverifiable"
        else:
            yield "%s %s" % (prefix, place), outcome_of(match(matcher, pointed(final_state(facts), place)))


def rests_on(facts, place):
    """The channels that a place of the state rests on."""
    parts = place.split("/")[1:]
    first = parts[0] if parts else None
    if first in ("runId", "goal", "policyContext", "maxSteps"):
        return []
    if first == "totals" and len(parts) > 1 and parts[1] not in ("steps", "toolCalls"):
        return ["model", "calls"]
    return {"elapsedMicroseconds": ["time"], "stop": ["stop"], "question": ["answers"], "approvals": ["policy"],
            "approvedActionIds": ["policy"], "breakers": ["tools", "calls"],
            "steps": ["model", "tools", "calls"], "totals": ["model", "tools", "calls"],
            "counters": ["model", "policy", "tools", "calls"]}.get(
                first, ["model", "policy", "stop", "time", "tools", "calls"])


def final_state(facts):
    """The part of a state that Docs/log-format.md tells without the fold's digests."""
    started = facts.events[0]["data"]
    folded = {"runId": facts.events[0]["runId"], "steps": 0, "totals": {}}
    if "goal" in started:
        folded["goal"] = seen(started["goal"])
    if facts.stop:
        folded["stop"] = {key: facts.stop["data"][key] for key in ("reason", "detail", "final")
                          if key in facts.stop["data"]}
    totals = facts.totals()
    if "cost" in totals:  # the log adds doubles; what is asked of a state counts decimals, as budgets do
        totals["cost"] = sum(Fraction(str(event["data"]["cost"])) for event in facts.events
                             if event["type"] == "model_result")
    folded["totals"] = totals
    folded["steps"] = totals["steps"]
    folded["elapsedMicroseconds"] = max(event["t"] for event in facts.events)
    return json_numbers(folded)


def json_numbers(value):
    if isinstance(value, dict):
        return {key: json_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [json_numbers(inner) for inner in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Fraction(str(value))
    return value


# Policy, people


def policy(facts, asked, prefix):
    kinds = {"given": ("verdict", True), "notGiven": ("verdict", False), "approvals": ("approval", True),
             "noApprovals": ("approval", False)}
    for word, (sort, is_wanted) in kinds.items():
        for place, one in enumerate(asked.get(word, [])):
            answers = [is_ruling(facts, one, moment) for moment in moments(facts, sort)]
            yield ("%s.%s[%d]" % (prefix, word, place),
                   listed(answers, one.get("times"), is_wanted, facts.is_missing("policy", "calls")))


def listed(answers, times, is_wanted, may_be_more):
    """The outcome of an entry with `times` in a positive or a negative list."""
    high = None if may_be_more else sum(one is not False for one in answers)
    outcome = counted(*bounds(times), answers.count(True), high)
    return outcome if is_wanted else {"pass": "fail", "fail": "pass"}.get(outcome, outcome)


def bypass(facts):
    """No call runs without the approval that policy asked for."""
    granted, is_asked, failed, is_unknown = [], False, False, False
    asked, denied, named, begun = set(), set(), {}, set()
    for event in facts.events:
        data = event["data"]
        call = facts.by_id.get(data.get("callId"))
        if event["type"] == "approval":
            if data["granted"]:
                scope = data.get("scope", "input")
                granted.append({"id": data["callId"], "call": call,
                                "left": None if scope == "input" else scope["calls"]})
        elif event["type"] == "policy_decision" and call is not None:
            denied.discard(call.callId)
            rests = (data.get("context") or {}).get("approval")
            if data["status"] == "deny":
                denied.add(call.callId)
            elif data["status"] == "approval_required" or rests:
                asked.add(call.callId)
                is_asked = True
                named[call.callId] = rests["callId"] if rests else None
        elif call is not None and call.callId not in begun and facts.executed(call) and (
                event["type"] == "tool_started" or event["type"] == "tool_result" and not call.starts):
            begun.add(call.callId)
            failed = failed or call.callId in denied
            if call.callId in asked and is_lost(call.input):
                if named[call.callId]:
                    raise NotCovered("an approval that says of which input it is, where the call does not")
                is_unknown = True
            elif call.callId in asked and not is_covered(call, granted, named[call.callId]):
                # What was granted may stand where the log has a hole.
                if facts.gap and facts.gap[0] < event["seq"]:
                    is_unknown = True
                else:
                    failed = True
    if failed:
        return "fail"
    if is_unknown or facts.is_missing("policy", "decisions"):
        return "unverifiable"
    return "pass" if is_asked else "not_exercised"


def is_lost(value):
    """Whether a part of a value is lost."""
    if isinstance(value, (dict, list)):
        return any(is_lost(one) for one in (value.values() if isinstance(value, dict) else value))
    return value is LOST


def is_covered(call, granted, named):
    """Whether a call that begins has an approval that covers it; of that one, less is left then."""
    covering = [one for one in granted if one["left"] != 0 and one["call"] is not None
                and one["call"].tool == call.tool and same(one["call"].input, call.input)
                and (one["id"] == call.callId or one["left"] != 1 or one.get("used"))]
    chosen = [one for one in covering if one["id"] == named] or [
        one for one in covering if one["id"] == call.callId] or covering
    if not chosen:
        return False
    if chosen[0]["left"] is not None:
        chosen[0]["left"] -= 1
    chosen[0]["used"] = True
    return True


# Context, memory


def context(facts, asked, prefix):
    contexts = [event for event in facts.events if event["type"] == "context_built"]
    if "steps" in asked:
        steps = asked["steps"]
        low, high = bounds(steps, 0)
        contexts = [event for event in contexts if event["step"] >= low and (high is None or event["step"] <= high)]
    hidden = facts.is_missing("context")
    if "steps" in asked and "context" not in facts.recorded:
        hidden = any(low <= last and (high is None or first <= high) for first, last in hidden_steps(facts))
    kinds = {"offers": offers, "contains": contains, "evidence": shows, "omits": omits,
             "neverOffers": offers, "neverContains": contains, "neverOmits": omits}
    for word, check in kinds.items():
        for place, one in enumerate(as_list(asked.get(word, []))):
            answer = either(check(facts, event["data"], one) for event in contexts)
            is_never = word.startswith("never")
            yield "%s.%s[%d]" % (prefix, word, place), of_contexts(answer, is_never, contexts, hidden)
    if "maxTokens" in asked:
        sizes = [(event["data"].get("tokens") or {}).get("estimate") for event in contexts]
        answer = either(None if one is None else one > asked["maxTokens"] for one in sizes)
        yield prefix + ".maxTokens", of_contexts(answer, True, contexts, hidden)


def hidden_steps(facts):
    """The first and the last step in which something may lie that is not seen."""
    if facts.is_torn:
        yield facts.events[-1]["step"], float("inf")
    if facts.gap:
        before = [event["step"] for event in facts.events if event["seq"] < facts.gap[0]]
        behind = [event["step"] for event in facts.events if event["step"] > before[-1]]
        yield before[-1], behind[0] if behind else float("inf")


def of_contexts(answer, is_never, contexts, hidden):
    if answer is True:
        return "fail" if is_never else "pass"
    if hidden or answer is None:
        return "unverifiable"
    if not contexts:
        return "not_exercised"
    return "pass" if is_never else "fail"


def offers(facts, data, asked):
    return any(glob(asked, tool) for tool in data.get("toolsDisclosed") or [])


def contains(facts, data, asked):
    texts = [one for message in (data.get("prompt") or {}).get("messages") or [] for one in texts_of(message)]
    asked = {"$contains": asked} if isinstance(asked, str) else asked
    return either(match(asked, text) for text in texts)


def texts_of(message):
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part.get("text"), str)]


def shows(facts, data, asked):
    return either(fits(facts, entry(asked), facts.by_id[ref]) for ref in data.get("evidenceRefs") or []
                  if ref in facts.by_id)


def omits(facts, data, asked):
    asked = {"ref": asked} if isinstance(asked, str) else asked
    return any(glob(asked.get("ref", "*"), one["ref"]) and glob(asked.get("reason", "*"), one["reason"])
               for one in data.get("omittedRefs") or [])


def memory(facts, asked, prefix):
    kinds = {"read": ("memory_read", True), "notRead": ("memory_read", False),
             "written": ("memory_written", True), "notWritten": ("memory_written", False)}
    for word, (kind, is_wanted) in kinds.items():
        for place, one in enumerate(as_list(asked.get(word, []))):
            one = {"key": one} if isinstance(one, str) else one
            answers = [is_note(one, event["data"]) for event in facts.events if event["type"] == kind]
            yield ("%s.%s[%d]" % (prefix, word, place),
                   listed(answers, one.get("times"), is_wanted, facts.is_missing(*facts.recorded)))


def is_note(asked, data):
    answers = ["scope" not in asked or asked["scope"] == data["scope"],
               "key" not in asked or glob(asked["key"], data["key"])]
    if "value" in asked:
        answers.append(match(asked["value"], seen(data["value"]) if "value" in data else ABSENT))
    return both(answers)
