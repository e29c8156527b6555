"""What happened in a run, told from its events as Docs/log-format.md describes them."""
from fractions import Fraction

from matchers import ABSENT, LOST, all_pointed, glob, match, seen

OPEN = "open"  # the status of a call that is under way where an unfinished log ends


class Call:
    """A call that a decision proposes, and what became of it. One of which only a start or a result is there has
    that in the place of its decision."""

    def __init__(self, decision, number, data, unmarked=False):
        self.decision, self.number = decision, number
        self.callId, self.tool = data["callId"], data["name"]
        self.input = seen(data.get("input"))
        self.caller = decision["data"].get("caller") or "agent"
        # A simulated user's: marked, or in a log of before there were marks named so where no agent has a name.
        self.is_of_user = decision["data"].get("ofUser") is True or unmarked and self.caller == "user"
        self.is_invalid = decision["data"].get("kind") == "invalid"
        self.seq, self.step = decision["seq"], decision["step"]
        # No decision holds it: it was proposed, and perhaps begun, somewhere before what tells of it.
        self.is_stray = number is None
        # Without a tool it may be the result of another call, or of one that a simulated user made.
        self.may_be_another = self.is_stray and not self.tool
        self.verdicts, self.starts, self.result = [], [], None


class Facts:
    """A run. `gap` is the first and the last number of events that are missing."""

    def __init__(self, events, is_open=False, gap=None):
        self.events, self.gap = events, gap
        self.recorded = events[0]["data"].get("recorded") or {}
        self.stop = None
        for event in events:
            if event["type"] == "stop":
                self.stop = event
            elif event["type"] == "run_resumed":
                self.stop = None
        # Anything may follow where an unfinished log ends: one that is open, or that has no stop and does not say
        # that none was recorded.
        # One that went on behind its last stop has none.
        self.is_torn = is_open or (self.stop is None and "stop" not in self.recorded)
        self.decisions = [event for event in events if event["type"] == "decision"]
        source = events[0]["data"].get("source") or {}
        unmarked = source.get("format") in ("agentdojo", "openai-messages", "tau2")
        self.calls = [Call(event, number, data, unmarked) for number, event in enumerate(self.decisions)
                      for data in event["data"].get("calls") or []]
        self.by_id = {}
        proposed = {}
        for call in self.calls:
            proposed.setdefault(call.seq, []).append(call)
        if any(not call.tool and not call.is_invalid for call in self.calls):
            self.lack("calls")
        is_over = self.goes_on_behind_end = False
        for event in events:
            data = event["data"]
            if is_over and event["type"] in ("decision", "policy_decision", "tool_started", "tool_result", "stop"):
                self.goes_on_behind_end = True
                self.lack("stop")
            if event["type"] in ("stop", "run_resumed"):
                is_over = event["type"] == "stop" and data["final"]
            if event["type"] == "policy_decision" and data["status"] not in ("allow", "deny", "approval_required"):
                self.lack("policy")
            for held in proposed.get(event["seq"], []):
                if held.callId in self.by_id and self.by_id[held.callId].is_stray:
                    # It may be the call that something told of before, or another of its id.
                    self.lack("calls")
                self.by_id[held.callId] = held
            call = self.by_id.get(data.get("callId"))
            if event["type"] in ("tool_started", "tool_result") and (call is None or self.tells_of_another(call, event)):
                # It tells of a call whose decision is not there: nobody knows its input, unless it is one that
                # begins once more.
                stray = Call(event, None, {"callId": data["callId"], "name": data.get("tool") or ""}, unmarked)
                stray.input = LOST
                if call:
                    stray.caller, stray.is_of_user = call.caller, call.is_of_user
                    stray.tool = stray.tool or call.tool
                    if stray.tool == call.tool:
                        stray.input = call.input
                if not stray.tool:
                    # Any call may be meant.
                    self.lack("calls")
                self.calls.append(stray)
                self.by_id[stray.callId] = call = stray
            if call is None:
                continue
            if event["type"] == "policy_decision":
                if data.get("tool") and call.tool and data["tool"] != call.tool:
                    self.lack("policy")
                else:
                    call.verdicts.append(event)
            elif event["type"] == "tool_started":
                call.starts.append(event)
            elif event["type"] == "tool_result":
                if not self.is_understood(event):
                    self.lack("tools")
                call.result = event
        answers = [event for event in self.decisions if event["data"]["kind"] == "answer"]
        self.answer = answers[-1] if answers else None
        self.is_import = "source" in events[0]["data"] or "tools" in self.recorded

    def lack(self, channel):
        """Takes in that something of a channel is there and cannot be told."""
        if channel not in self.recorded:
            self.recorded = dict(self.recorded, **{channel: "partial"})

    @staticmethod
    def is_understood(result):
        """Whether the status of a result is one that is known."""
        return result["data"]["status"] in ("ok", "error", "refused", "returned")

    def gives_another_answer(self):
        """Whether the stop of a run that went well gives another answer than its last decision."""
        if self.stop is None or self.answer is None or self.stop["data"]["reason"] != "success":
            return False
        told, given = self.stop["data"].get("answer"), self.answer["data"]["text"]
        return isinstance(told, str) and isinstance(given, str) and "«redacted" not in told + given and told != given

    def tells_of_another(self, call, event):
        """Whether a start or a result tells of another call than the last of its id: it names another tool, or
        begins what has ended, or as an attempt that has begun."""
        data = event["data"]
        if data.get("tool") and call.tool and data["tool"] != call.tool:
            self.lack("calls")
            return True
        result = call.result
        status = result and ("unknown" if result["data"].get("effect") == "unknown" else result["data"]["status"])
        if event["type"] == "tool_result":
            if result and status != "unknown" and not any(start["seq"] > result["seq"] for start in call.starts):
                # The same is said twice, or it ran twice.
                self.lack("calls")
            return False
        known = self.tools().get(call.tool, {})
        if known.get("sideEffect") == "read" or known.get("idempotent"):
            return False
        if status in ("ok", "refused", "returned"):
            return True
        return (status != "error" and bool(call.starts)
                and data.get("attempt", 1) <= call.starts[-1]["data"].get("attempt", 1))

    # Calls

    def is_missing(self, *channels):
        """Whether events may be missing: behind the tear, in a gap, or of these channels. `decisions` stands for
        the channel `model` where that is `none` (a partial one holds every decision), and for `calls`."""
        return self.is_torn or self.gap is not None or any(self.lacks(name) for name in channels)

    def lacks(self, channel):
        """Whether something of a channel was not recorded."""
        if channel == "decisions":
            return self.recorded.get("model") == "none" or "calls" in self.recorded
        if channel == "answers":
            return self.recorded.get("model") == "none"
        return channel in self.recorded

    def executed(self, call):
        """Whether a call was executed; None where that cannot be seen. Nobody carries out those of a decision that
        could not be used; an import calls one invalid that it could not read, and a tool may have run all the
        same where results are missing."""
        if call.is_invalid and "tools" not in self.recorded:
            return False
        if call.may_be_another:
            return None
        if call.starts or (call.result and call.result["data"]["status"] in ("ok", "error", "returned")):
            return True
        if (call.result is None or not self.is_understood(call.result)) and self.may_hide_end(call):
            return None
        return False

    def hides_behind(self, seq):
        """Whether events behind one may be missing from the log itself."""
        return self.is_torn or (self.gap is not None and self.gap[1] > seq)

    def hole_behind(self, seq):
        """The first event behind one that may be missing from the log itself."""
        if self.gap is not None and self.gap[1] > seq:
            return max(self.gap[0], seq + 1)
        return self.events[-1]["seq"] + 1

    def end_of_hole(self, seq):
        """The last event behind one that may be missing from the log itself; none where it has no end."""
        return float("inf") if self.is_torn or self.gap is None else self.gap[1]

    def may_hide_end(self, call):
        """Whether the start and the result of a call may be missing: behind the tear, in a gap behind its
        proposal, or because results were not recorded."""
        return "tools" in self.recorded or self.hides_behind(call.seq)

    def status(self, call):
        """The status of a call; OPEN where it cannot be seen, None where the call has none."""
        if call.result and self.is_understood(call.result):
            data = call.result["data"]
            return "unknown" if data.get("effect") == "unknown" else data["status"]
        if call.result:
            return "unknown" if call.starts else OPEN
        if self.may_hide_end(call) and (not call.is_invalid or "tools" in self.recorded):
            return OPEN
        return "unknown" if call.starts else None

    def outcome(self, call):
        """The data where a call is ok, else the reason."""
        if call.result is None:
            return ABSENT
        data = call.result["data"]
        return seen(data.get("data", data.get("reason", ABSENT)))

    def begin(self, call):
        """The number of the event at which a call begins, the step of it."""
        event = call.starts[0] if call.starts else call.decision
        return event["seq"], event["step"]

    def begins(self, call):
        """The first and the last number at which a call may have begun."""
        seq = self.begin(call)[0]
        return (0, seq - 1) if call.is_stray and not call.starts else (seq, seq)

    def tools(self):
        """What the run says of its tools, by name."""
        known = {}
        for event in self.events:
            if event["type"] in ("run_started", "tools_listed"):
                for tool in event["data"].get("tools") or []:
                    known[tool["name"]] = tool
        return known

    def origins(self, seq):
        """What `$from` leads to for what stands at an event: values, and whether there may be more."""
        def lead(asked):
            values = []
            more = (self.recorded.get("model") == "none" or self.recorded.get("tools") == "none" or "calls" in self.recorded
                    or (self.gap is not None and self.gap[0] < seq))
            for call in self.calls:
                if not glob(asked["tool"], call.tool):
                    continue
                fits = match(asked["input"], call.input) if "input" in asked else True
                if call.result is None or call.result["seq"] > seq:
                    continue
                if call.result["data"]["status"] == "returned":
                    more = True
                if call.result["data"]["status"] != "ok" or fits is False:
                    continue
                for value in all_pointed(seen(call.result["data"].get("data")), asked["path"]):
                    if value is LOST or fits is None:
                        more = True
                    else:
                        values.append(value)
            return values, more
        return lead

    def hides_later(self, seq):
        """Whether events behind one may be missing."""
        return (self.is_torn or self.recorded.get("model") == "none"
                or (self.gap is not None and self.gap[1] >= seq))

    # Figures

    def steps(self):
        return len({event["step"] for event in self.decisions})

    def completed_steps(self):
        """The number of the last step that was completed: by an answer, a question or a stop of the model, or by
        the last result of its calls."""
        last = 0
        for number, event in enumerate(self.decisions):
            behind = self.decisions[number + 1]["seq"] if number + 1 < len(self.decisions) else None
            calls = [call for call in self.calls if call.decision is event]
            if event["data"]["kind"] in ("answer", "ask_human", "stop") or (
                    event["data"]["kind"] == "tool" and not calls):
                last = max(last, event["step"])
            elif event["data"]["kind"] == "tool" and all(
                    call.result and (behind is None or call.result["seq"] < behind) for call in calls):
                last = max(last, event["step"])
        return last

    def totals(self):
        """What a run used, as the state and the summary say it."""
        results = [event for event in self.events if event["type"] == "model_result"]
        usage = [event["data"].get("usage") or {} for event in results]
        costs = [event["data"].get("cost") for event in results]
        totals = {"steps": self.completed_steps(),
                  "toolCalls": sum(bool(call.starts) or (call.result is not None and call.result["data"]["status"]
                                                         in ("ok", "error", "returned"))
                                   for call in self.calls if not call.is_stray),
                  "modelCalls": len(results),
                  "inputTokens": sum(one.get("inputTokens", 0) for one in usage),
                  "outputTokens": sum(one.get("outputTokens", 0) for one in usage)}
        if costs and None not in costs:
            totals["cost"] = Fraction(sum(float(one) for one in costs))  # summed as doubles
        return totals

    def summary(self):
        """The mark that stands in the closing block."""
        data = {"calls": [], "totals": self.totals(), "stop": None}
        for call in self.calls:
            status = self.status(call)
            row = {"callId": call.callId, "caller": call.caller, "tool": call.tool,
                   "status": "unknown" if call.starts and status == OPEN else None if status == OPEN else status,
                   "verdict": call.verdicts[-1]["data"]["status"] if call.verdicts else None, "seq": call.seq,
                   "resultSeq": call.result["seq"] if call.result else None}
            data["calls"].append(row)
        if self.stop:
            data["stop"] = {key: self.stop["data"][key] for key in ("reason", "detail", "final")
                            if key in self.stop["data"]}
        if self.stop and "answer" in self.stop["data"]:
            data["answer"] = self.stop["data"]["answer"]
        if self.gap:
            data["mayHideCalls"] = True
        if self.recorded:
            data["recorded"] = self.recorded
        return data
