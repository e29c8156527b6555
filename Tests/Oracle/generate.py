"""Random runs, as Docs/log-format.md allows them, and random expectations that mostly speak of what is in them."""
import hashlib
import random

from runlog import Token, canonical

TOOLS = {"search": "read", "lookup": "read", "pay": "write", "mail": "write", "draft_note": "draft",
         "delete_db": "write"}
CALLERS = ["agent", "agent", "agent", "agent", "agent-2", "user"]
REASONS = ["success", "blocked", "approval_required", "budget_exhausted", "invalid_decision", "policy_denied",
           "tool_failure", "model_failure", "cancelled"]
TEXTS = ["done", "order 1 is on its way", '{"ok":true,"n":1}', '```json\n{"ok":false}\n```', "1", "2", "I see nothing"]
WORDS = ["yes, do", "no", "which order?", "order 1"]
SECRET = "«redacted:token:1»"


class World:
    """One random run."""

    def __init__(self, dice):
        self.dice, self.events, self.step, self.clock, self.granted = dice, [], 0, 0, {}
        self.is_import = dice.random() < 0.2
        # Without a mark, who is called so is an agent, unless the source has no agents with names.
        self.marks_user = dice.random() < 0.7
        self.has_policy = not self.is_import and dice.random() < 0.7
        self.is_hazy = dice.random() < 0.15
        self.is_calm = dice.random() < 0.5
        self.tools = dice.sample(sorted(TOOLS), dice.randint(1, 4))
        self.inputs = [self.input() for _ in range(dice.randint(1, 3))]
        self.is_paused = False
        self.start()
        for _ in range(dice.choice([0, 1, 1, 2, 2, 3, 3, 4, 5])):
            if not self.turn():
                break
        self.end()

    def add(self, type, data):
        self.clock += self.dice.choice([0, 1000, 250000, 1000000])
        self.events.append({"seq": len(self.events), "step": self.step, "type": type, "runId": "run",
                            "t": self.clock, "data": data})
        return self.events[-1]

    def input(self):
        dice = self.dice
        value = dice.choice([
            {}, {"id": "1"}, {"id": "2"}, {"amount": 5}, {"amount": Token("5.0")}, {"amount": 50, "currency": "EUR"},
            {"q": "x", "traceId": "t%d" % dice.randint(1, 2)}, {"items": [1, 2]}, {"id": "1", "force": True},
            {"note": None, "amount": Token("9007199254740993")}])
        if self.is_hazy and dice.random() < 0.3:
            value = dict(value, **{dice.choice(["id", "amount"]): dice.choice([{"$lost": "0/x"}, SECRET, "a" + SECRET])})
        return value

    def result(self):
        dice = self.dice
        if self.is_hazy and dice.random() < 0.3:
            return dice.choice([{"$lost": "0/x"}, {"n": {"$lost": "0/x"}}, {"status": SECRET}])
        return dice.choice([{"orders": [{"id": "1"}, {"id": "2"}]}, {"n": 1}, {"n": Token("1.0")}, "wait", None,
                            {"status": "done"}, {"orders": []}, {"status": "done", "n": 2}])

    def start(self):
        dice = self.dice
        data = {"formatVersion": 2, "agent": {"name": "oracle"}, "goal": "a goal"}
        if dice.random() < 0.8:
            data["tools"] = [{"name": name, "sideEffect": TOOLS[name]} for name in sorted(TOOLS)
                             if dice.random() < 0.9]
        if self.is_import:
            data["source"] = {"format": "openai-messages", "file": "runs.json"}
            data["recorded"] = {}
            for channel, chance in [("policy", 0.7), ("tools", 0.3), ("model", 0.6), ("context", 0.5), ("stop", 0.3),
                                    ("time", 0.4), ("calls", 0.15)]:
                if dice.random() < chance:
                    data["recorded"][channel] = "partial" if channel == "calls" else dice.choice(["none", "partial"])
        self.recorded = data.get("recorded", {})
        self.add("run_started", data)
        if dice.random() < 0.2 and not self.is_import:
            self.add("memory_read", {"scope": "actor", "key": "allergies", "value": ["nuts"]})

    def turn(self):
        """One step; whether the run goes on."""
        dice = self.dice
        self.step += 1
        self.tries = 0
        caller = dice.choice(CALLERS) if dice.random() < 0.4 else "agent"
        if dice.random() < 0.8 and caller != "user" and self.recorded.get("context") != "none":
            self.context()
        if caller != "user" and dice.random() < 0.9:
            self.think()
        roll = dice.random()
        while roll > 0.9 and self.tries < 2:
            self.decide("invalid", caller)
            roll = dice.random()
        if roll < 0.08:
            self.add("decision", {"kind": "ask_human", "question": "which order?"})
            self.hear()
            return True
        if roll < 0.16 and caller == "agent":
            self.answer()
            if dice.random() < 0.8:
                self.hear()
            return True
        self.decide("tool", caller)
        if dice.random() < 0.15:
            self.hear()
        if self.dice.random() < 0.1 and not self.is_import:
            self.add("memory_written", {"scope": dice.choice(["actor", "run"]), "key": dice.choice(["city", "last_table"]),
                                        **({"value": "Rome"} if dice.random() < 0.8 else {})})
        return not self.is_paused or self.resume()

    def hear(self):
        self.add("human_replied", {"text": self.dice.choice(WORDS), "by": self.dice.choice(["ana", "bo"])})

    def context(self):
        dice = self.dice
        ids = [event["data"]["callId"] for event in self.events if event["type"] == "tool_result"]
        shown = [one for one in ids if dice.random() < 0.7]
        data = {"runId": "run", "goal": "a goal", "evidenceRefs": shown, "memoryRefs": [], "observations": [],
                "included": [{"ref": one, "reason": "it fits"} for one in ids if one in shown or dice.random() < 0.5],
                "omittedRefs": [{"ref": one, "reason": dice.choice(["budget", "old"])} for one in ids if one not in shown],
                "toolsDisclosed": dice.sample(sorted(TOOLS), dice.randint(0, 4)), "stateSummary": {},
                "prompt": {"messages": [{"role": "user", "content": [
                    {"type": "text", "text": dice.choice(["hello", "the key is s3cret", "order 1", SECRET])}]}
                    for _ in range(dice.randint(1, 2))]},
                "tokens": {"estimate": dice.choice([10, 20, 40])}}
        self.add("context_built", data)

    def think(self):
        dice = self.dice
        for attempt in range(1, dice.choice([1, 1, 1, 1, 2]) + 1):
            data = {"purpose": "decide", "attempt": attempt}
            if dice.random() < 0.85:
                data["usage"] = {"inputTokens": dice.choice([10, 20, 100]), "outputTokens": dice.choice([0, 5])}
            if dice.random() < 0.7:
                data["cost"] = Token(dice.choice(["0.01", "0.02", "0.5"]))
            self.add("model_result", {**data, "reply": {"text": "hm"}})

    def answer(self):
        ids = [event["data"]["callId"] for event in self.events if event["type"] == "tool_result"] + ["7.1.0"]
        refs = [one for one in ids if self.dice.random() < (0.5 if one != "7.1.0" else 0.1)]
        self.add("decision", {"kind": "answer", "text": self.dice.choice(TEXTS), "evidenceRefs": refs})

    def decide(self, kind, caller):
        dice = self.dice
        self.tries += 1
        calls = [{"callId": "%d.%d.%d" % (self.step, self.tries, place), "name": dice.choice(self.tools),
                  "input": dice.choice(self.inputs) if dice.random() < 0.8 else self.input()}
                 for place in range(dice.choice([1, 1, 1, 2, 2, 3]) if kind == "tool" else dice.choice([0, 1]))]
        data = {"kind": kind, "calls": calls}
        if kind == "invalid":
            data["reason"] = "bad"
            if not calls:
                del data["calls"]
        if caller != "agent":
            data["caller"] = caller
        if caller == "user" and self.marks_user:
            data["ofUser"] = True
        self.add("decision", data)
        if kind == "tool":
            self.carry_out(calls, caller)

    def carry_out(self, calls, caller):
        """Verdicts, approvals, starts and results of a decision's calls."""
        dice = self.dice
        fates = {}
        for call in calls:
            fates[call["callId"]] = self.rule(call) if self.has_policy and caller != "user" else "run"
        for call in calls:
            if fates[call["callId"]] == "ask":
                fates[call["callId"]] = self.approve(call, caller)
        running, waiting = [], [call for call in calls]
        dice.shuffle(waiting)
        is_parallel = dice.random() < 0.5
        last = []
        for call in waiting:
            fate = fates[call["callId"]]
            if fate == "wait":
                self.is_paused = True
                self.pending = call, caller
            elif fate == "refuse":
                last.append((call, "refused"))
            else:
                if not self.is_import:
                    self.begin(call, 1)
                if is_parallel:
                    running.append(call)
                else:
                    self.finish(call, caller)
        dice.shuffle(running)
        for call in running:
            self.finish(call, caller)
        for call, _ in last:
            self.add("tool_result", self.told(call, caller, {"status": "refused", "reason": dice.choice(["no", "not now"])}))

    def rule(self, call):
        dice = self.dice
        status = dice.choice(["allow", "allow", "allow", "deny", "approval_required", "approval_required"])
        data = {"callId": call["callId"], "tool": call["name"], "status": status, "reason": "a rule says so",
                "context": {"approvedActionIds": []}}
        if dice.random() < 0.7:
            data["ruleId"] = dice.choice(["no-rm", "ask-first", "reads-are-free"])
        resting = [one for one in self.granted.get(action(call), [])]
        if status == "allow" and resting and dice.random() < 0.7:
            data["context"] = {"approval": {"callId": dice.choice(resting)}, "approvedActionIds": [action(call)]}
        self.add("policy_decision", data)
        if status == "allow":
            return "run"
        if status == "deny":
            return "refuse" if dice.random() < 0.9 else "run"
        return "ask" if dice.random() < 0.85 else "run"

    def grant(self, call, granted):
        data = {"callId": call["callId"], "actionId": action(call), "granted": granted,
                "by": self.dice.choice(["ana", "bo"])}
        scope = self.dice.choice([{"calls": 1}, {"calls": 1}, {"calls": 2}, "input", None])
        if scope is not None:
            data["scope"] = scope
        self.add("approval", data)
        if granted:
            self.granted.setdefault(action(call), []).append(call["callId"])

    def approve(self, call, caller):
        dice = self.dice
        roll = dice.random()
        if roll < 0.3:
            return "wait" if not self.is_paused else "refuse"
        granted = dice.random() < 0.7
        self.grant(call, granted)
        if granted and dice.random() < 0.8:
            self.allow(call)
        return "run" if granted or dice.random() < 0.1 else "refuse"

    def allow(self, call):
        context = {"approval": {"callId": call["callId"]}, "approvedActionIds": [action(call)]}
        self.add("policy_decision", {"callId": call["callId"], "tool": call["name"], "status": "allow",
                                     "reason": "approved by a person", "context": context})

    def resume(self):
        """Stops and goes on, perhaps; whether the run goes on."""
        dice = self.dice
        call, caller = self.pending
        self.add("stop", {"reason": "approval_required", "detail": "tool:" + call["name"], "final": False})
        self.has_stopped = True
        if dice.random() < 0.5:
            return False
        self.grant(call, dice.random() < 0.8)
        if dice.random() < 0.2:
            return False
        self.add("run_resumed", {"why": "after approval_required"})
        self.is_paused = False
        self.has_stopped = False
        if self.events[-2]["data"]["granted"]:
            self.allow(call)
            self.begin(call, 1)
            self.finish(call, caller)
        else:
            self.add("tool_result", self.told(call, caller, {"status": "refused", "reason": "no"}))
        return True

    has_stopped = False

    def begin(self, call, attempt):
        self.add("tool_started", {"callId": call["callId"], "tool": call["name"], "attempt": attempt,
                                  "idempotencyKey": "run/" + call["callId"]})

    def told(self, call, caller, data):
        data = dict(data, callId=call["callId"], tool=call["name"])
        if caller != "agent":
            data["caller"] = caller
        if caller == "user" and self.marks_user:
            data["ofUser"] = True
        return data

    def finish(self, call, caller):
        dice = self.dice
        attempts = 1
        if self.is_import:
            if self.recorded.get("tools") and dice.random() < 0.3:
                return
        else:
            while dice.random() < 0.12 and attempts < 3:
                attempts += 1
                self.begin(call, attempts)
        roll = dice.random()
        if roll < 0.7:
            data = {"status": "ok", "data": self.result()}
            if self.is_import and dice.random() < 0.4:
                data["status"] = "returned"
        elif roll < 0.85:
            data = {"status": "error", "reason": dice.choice(["failed", "not found"])}
        elif self.is_import:
            data = {"status": "returned", "data": self.result()}
        else:
            data = {"status": "error", "reason": "cut off", "effect": "unknown"}
        if not self.is_import:
            data["attempts"] = attempts
            data["elapsedMicroseconds"] = dice.choice([0, 250000, 1000000])
        self.add("tool_result", self.told(call, caller, data))

    def end(self):
        dice = self.dice
        if self.has_stopped:
            return
        if dice.random() < 0.75:
            self.step += 1
            if dice.random() < 0.7 and self.recorded.get("context") != "none":
                self.context()
            self.answer()
        if self.recorded.get("stop") != "none":
            last = self.events[-1]
            said = {}
            if last["type"] == "decision" and last["data"]["kind"] == "answer":
                said = {"answer": last["data"]["text"], "evidenceRefs": last["data"]["evidenceRefs"]}
            self.add("stop", {**said, "reason": dice.choice(REASONS[:1] * 6 + REASONS), "detail": "so", "final": True})


def run(dice):
    """A run: its events, whether it is open at its end, the gap in it."""
    world = World(dice)
    events, is_open, gap = world.events, False, None
    if dice.random() < 0.15 and len(events) > 1 and not world.is_import:
        kept = dice.randint(1, len(events) - 1)
        if events[kept - 1]["type"] != "stop":
            events, is_open = events[:kept], True
    elif world.is_import and dice.random() < 0.3:
        lose_call(dice, events)
    elif dice.random() < 0.06 and len(events) > 4 and not world.is_import:
        first = dice.randint(2, len(events) - 2)
        last = min(len(events) - 2, first + dice.choice([0, 1, 3]))
        events, gap = [event for event in events if not first <= event["seq"] <= last], (first, last)
    return events, is_open, gap


def lose_call(dice, events):
    """Takes a call out of its decision, as an import does that could not read it; its result stays."""
    holders = [event for event in events if event["type"] == "decision" and event["data"].get("calls")]
    if not holders:
        return
    calls = dice.choice(holders)["data"]["calls"]
    lost = dice.choice(calls)
    calls.remove(lost)
    is_nameless = dice.random() < 0.2
    for event in events:
        if is_nameless and event["type"] == "tool_result" and event["data"]["callId"] == lost["callId"]:
            event["data"]["tool"] = ""
    # Importers say so where nobody knows which tool it was.
    if is_nameless or dice.random() < 0.5:
        events[0]["data"]["recorded"]["calls"] = "partial"


class Speaker:
    """Random expectations of a run."""

    def __init__(self, dice, events):
        self.dice, self.events = dice, events
        self.calls = [call for event in events if event["type"] == "decision" for call in event["data"].get("calls", [])]
        self.results = {event["data"]["callId"]: event["data"] for event in events if event["type"] == "tool_result"}

    def chance(self, share):
        return self.dice.random() < share

    def tool(self):
        dice = self.dice
        if self.calls and self.chance(0.75):
            name = dice.choice(self.calls)["name"]
        else:
            name = dice.choice(sorted(TOOLS))
        roll = dice.random()
        return name if roll < 0.8 else name[:2] + "*" if roll < 0.9 else "*" if roll < 0.95 else "{%s,pay}" % name

    def call(self, status=True, plain=0.4):
        dice = self.dice
        if self.chance(plain):
            return self.tool()
        entry = {"tool": self.tool()}
        made = dice.choice(self.calls) if self.calls and self.chance(0.8) else None
        if made and self.chance(0.7):
            entry["tool"] = made["name"]
        if self.chance(0.5):
            entry["input"] = self.of_input(made["input"] if made else {"id": "1"})
            if self.chance(0.15):
                entry["defaults"] = dice.choice([{"currency": "EUR"}, {"amount": 5}, {"force": True}])
            if self.chance(0.15):
                entry["ignore"] = dice.choice([["trace*"], ["id"], "note"])
        if status and self.chance(0.25):
            entry["status"] = self.status(status)
        if status and self.chance(0.2):
            result = self.results.get(made["callId"]) if made else None
            entry["result"] = self.of_value((result or {}).get("data", (result or {}).get("reason", "wait")))
        if self.chance(0.12):
            entry["caller"] = dice.choice(["agent", "agent*", "user", "*"])
        return entry

    def status(self, kind):
        words = ["ok", "error", "unknown", "returned"] + (["refused"] if kind == "all" else [])
        return self.dice.choice(words + ["ok", "ok", ["ok", "error"], ["error", "unknown"]])

    def times(self):
        dice = self.dice
        return dice.choice([0, 1, 1, 1, 2, {"min": 1}, {"max": 1}, {"max": 0}, {"min": 1, "max": 2}, {"min": 2}])

    def entry(self, status=True):
        entry = self.call(status)
        if self.chance(0.3):
            entry = {"tool": entry} if isinstance(entry, str) else entry
            entry["times"] = self.times()
        return entry

    def of_input(self, value):
        """A matcher for an input."""
        dice = self.dice
        if self.chance(0.15):
            return {"id": self.origin()}
        return self.of_value(value)

    def origin(self):
        asked = {"tool": self.tool(), "path": self.dice.choice(["/orders/*/id", "/orders/0/id", "/n", "/status", ""])}
        if self.chance(0.2):
            asked["input"] = self.of_value(self.dice.choice(self.calls)["input"] if self.calls else {})
        return {"$from": asked}

    def of_value(self, value, depth=0):
        """A matcher that often matches a value."""
        dice = self.dice
        if isinstance(value, dict) and set(value) & {"$lost"}:
            value = dice.choice(["1", 5, {"n": 1}])
        roll = dice.random()
        if roll < 0.08:
            return {"$not": self.of_value(value, depth + 1)}
        if roll < 0.16:
            name = dice.choice(["$anyOf", "$allOf", "$oneOf"])
            # What contradicts itself is refused.
            second = {"$not": "done"} if name == "$allOf" else self.of_value(value, depth + 1)
            return {name: [self.of_value(value, depth + 1), second]}
        if roll < 0.2:
            return dice.choice([{"$any": True}, {"$absent": True}, {"$absent": False}])
        if roll < 0.26:
            return {"$type": dice.choice(["object", "string", "number", "integer", ["string", "null"], "array"])}
        if roll < 0.3:
            return {"$schema": dice.choice([
                {"type": "object", "required": ["id"]}, {"type": ["string", "number"]}, {"enum": ["1", 5, None]},
                {"properties": {"amount": {"type": "number", "minimum": 6}, "id": {"const": "1"}}},
                {"type": "string", "minLength": 2}])}
        if isinstance(value, bool) or value is None:
            return value if self.chance(0.8) else {"$exact": value}
        if isinstance(value, (int, Token)):
            return dice.choice([value, 5, {"$gt": 4}, {"$gte": 5}, {"$lt": 6, "$gt": 0}, {"$approx": 5}, {"$lte": 1},
                                {"$approx": {"value": 5, "tolerance": Token("0.5")}}, {"$exact": value}, Token("10e-1")])
        if isinstance(value, str):
            return dice.choice([value, value, "done", {"$contains": value[:2]}, {"$glob": value[:1].strip("«") + "*"},
                                {"$ignoreCase": value.upper()} if value.isascii() else value,
                                {"$regex": dice.choice(["^[0-9]+$", "(?i)ORDER", "do|wai", "^.$"])},
                                {"$length": {"$gte": 2}}, {"$literal": value}, {"$contains": "1"}])
        if isinstance(value, list):
            return dice.choice([[self.of_value(one, depth + 1) for one in value], {"$length": len(value)},
                                {"$contains": self.of_value(value[0], depth + 1) if value else 1}, {"$exact": value}])
        if isinstance(value, dict):
            some = {key: self.of_value(inner, depth + 1) for key, inner in value.items() if self.chance(0.7)}
            if self.chance(0.15):
                some["force"] = dice.choice([{"$absent": True}, {"$not": True}, True])
            plain = {key: inner for key, inner in value.items() if not hazy(inner)}
            return dice.choice([some, some, some, {"$exact": plain}, {"$subsetOf": dict(plain, id="1")},
                                {"$literal": plain}, {"$length": len(value)}])
        return value

    def moment(self):
        dice = self.dice
        roll = dice.random()
        if roll < 0.35:
            return self.call("all", plain=0.8)
        if roll < 0.45:
            return {"proposed": self.call("all", plain=0.7)}
        if roll < 0.55:
            return {"returned": self.call("all", plain=0.5)}
        if roll < 0.67:
            return self.verdict()
        if roll < 0.76:
            return self.approval()
        if roll < 0.84:
            return {"reply": self.of_value(dice.choice(WORDS)), **({"by": "ana"} if self.chance(0.3) else {})}
        if roll < 0.9:
            return {"answer": self.of_value(dice.choice(TEXTS))}
        if roll < 0.96:
            return {"stop": dice.choice([True, "success", ["success", "approval_required"]])}
        return {"invalidDecision": True}

    def some(self):
        return self.moment() if self.chance(0.85) else [self.moment(), self.moment()]

    def verdict(self):
        dice = self.dice
        asked = {"verdict": dice.choice(["allow", "deny", "approval_required", ["allow", "deny"]])}
        if self.chance(0.4):
            asked["tool"] = self.tool()
        if self.chance(0.15):
            asked["input"] = self.of_value(dice.choice(self.calls)["input"] if self.calls else {})
        if self.chance(0.2):
            asked["rule"] = dice.choice(["no-*", "ask-first", "*"])
        if self.chance(0.1):
            asked["reason"] = dice.choice([{"$contains": "rule"}, "a rule says so"])
        if self.chance(0.1):
            asked["caller"] = dice.choice(["agent", "agent-2", "*"])
        return asked

    def approval(self):
        asked = {"approval": self.dice.choice(["granted", "denied", "any"])}
        if self.chance(0.4):
            asked["tool"] = self.tool()
        if self.chance(0.3):
            asked["by"] = self.dice.choice(["ana", "b*"])
        if self.chance(0.15):
            asked["input"] = self.of_value(self.dice.choice(self.calls)["input"] if self.calls else {})
        return asked

    def rule(self):
        dice = self.dice
        kind = dice.choice(["eventually", "never", "only", "before", "after", "never after", "never before",
                            "never until", "only after", "only before", "only until"])
        if kind in ("eventually", "never", "only"):
            rule = {kind: self.some()}
        elif kind in ("before", "after"):
            rule = {"expect": self.some(), kind: self.some()}
        else:
            word, side = kind.split()
            rule = {word: self.some(), side: self.some()}
        if ("eventually" in rule or "expect" in rule or "after" in rule) and self.chance(0.3):
            rule["within"] = dice.choice([0, 1, 2, 3]) if "eventually" not in rule else dice.choice([1, 2, 3])
        return rule

    def word(self, word):
        """What is expected by a word."""
        dice = self.dice
        few = range(dice.choice([1, 1, 2, 3]))
        if word == "stopReason":
            return {word: dice.choice([dice.choice(REASONS[:4]), ["success", dice.choice(REASONS)]])}
        if word in ("toolsCalled", "toolsProposed"):
            said = {word: [self.entry("all" if word == "toolsProposed" else True) for _ in few]}
            if self.chance(0.5):
                said["order"] = dice.choice(["in_order", "exact"])
                if self.chance(0.6):
                    said[word] = self.in_order(word)
                if word == "toolsCalled" and said["order"] == "exact" and self.chance(0.08):
                    said[word] = []
            if word == "toolsCalled" and said.get("order") != "exact" and self.chance(0.3):
                said["extra"] = "forbid"
                if self.chance(0.6):
                    said[word] = self.in_order(word)
            return said
        if word in ("toolsNotCalled", "toolsNotProposed"):
            return {word: [self.entry("all" if word == "toolsNotProposed" else True) for _ in few]}
        if word == "eachCall":
            return {word: [self.each() for _ in few]}
        if word == "time":
            return {word: [self.rule() for _ in few]}
        if word in ("maxSteps", "maxToolCalls", "maxInvalidDecisions", "maxRetries"):
            return {word: dice.choice([0, 1, 2, 3, 4])}
        if word == "answer":
            return {word: self.origin() if self.chance(0.15) else self.of_value(dice.choice(TEXTS))}
        if word == "answerJson":
            return {word: dice.choice([{"ok": True}, {"n": {"$lte": 1}}, {"$any": True}, {"$type": "object"}, 1,
                                       {"$not": {"ok": True}}, {"$absent": True}])}
        if word == "budget":
            return {word: self.budget()}
        if word == "noRepeatedSideEffect":
            return {word: dice.choice([True, True, [self.tool()], ["*"]])}
        if word == "noLoops":
            return {word: dice.choice([True, 2, 2, 3])}
        if word == "evidence":
            asked = {"observed": True, "min": dice.choice([1, 2]), "cites": [self.call("all", plain=0.6)]}
            return {word: {key: asked[key] for key in asked if self.chance(0.7)} or {"min": 1}}
        if word == "state":
            places = {"/totals/steps": dice.choice([1, 2, {"$lte": 3}]), "/stop/reason": dice.choice(["success", "blocked"]),
                      "/totals/toolCalls": dice.choice([0, 1, 2]), "/goal": "a goal", "/question": {"$absent": True},
                      "/totals/modelCalls": {"$lte": 2}, "/runId": {"$any": True}, "/stop/final": True}
            places = {key: places[key] for key in places if self.chance(0.25)}
            return {word: places or {"/totals/steps": 2}}
        if word == "policy":
            asked = {"given": [self.listed(self.verdict())], "notGiven": [self.listed(self.verdict())],
                     "approvals": [self.listed(self.approval())], "noApprovals": [self.listed(self.approval())]}
            return {word: {key: asked[key] for key in asked if self.chance(0.5)} or {"given": [{"verdict": "deny"}]}}
        if word == "noApprovalBypass":
            return {word: True}
        if word == "context":
            return {word: self.context() if self.chance(0.8) else [self.context(), self.context()]}
        if word == "memory":
            note = [{"key": "allergies"}, {"key": "c*", "scope": "actor"}, {"key": "city", "value": {"$contains": "R"}},
                    {"key": "*", "times": self.times()}, {"key": "allergies", "value": {"$absent": True}}, "last_*"]
            asked = {key: [dice.choice(note)] for key in ("read", "notRead", "written", "notWritten") if self.chance(0.5)}
            return {word: asked or {"read": ["allergies"]}}
        raise KeyError(word)

    def listed(self, asked):
        return dict(asked, times=self.times()) if self.chance(0.3) else asked

    def in_order(self, word):
        """Entries that often stand in the order of the run."""
        entries = []
        for call in self.calls[:4]:
            if self.chance(0.85):
                entry = {"tool": call["name"]}
                if self.chance(0.2):
                    entry["input"] = self.of_value(call["input"])
                if self.chance(0.3):
                    entry["times"] = self.times()
                entries.append(entry)
        return entries or [self.entry()]

    def each(self):
        asked = self.call(plain=0)
        if not set(asked) & {"input", "status", "result"}:
            asked["status"] = self.dice.choice(["ok", ["ok", "error"]])
        return asked

    def budget(self):
        dice = self.dice
        limits = {"steps": [0, 1, 2, 3, 5], "calls": [0, 1, 2, 4], "modelCalls": [0, 1, 3, 5],
                  "tokens": [0, 50, 200, 500], "inputTokens": [50, 200], "outputTokens": [0, 5, 20],
                  "cost": [Token("0.01"), Token("0.05"), 1, 2], "seconds": [0, 1, 3, 10], "retries": [0, 1], "errors": [0, 1]}
        asked = {key: dice.choice(limits[key]) for key in limits if self.chance(0.2)}
        if self.chance(0.4) or not asked:
            asked["tools"] = {self.tool(): {key: dice.choice(limits[key]) for key in
                                            dice.sample(["calls", "seconds", "retries", "errors"], dice.randint(1, 3))}}
        return asked

    def context(self):
        dice = self.dice
        asked = {"offers": [self.tool()], "neverOffers": [self.tool()], "contains": dice.choice(["hello", "s3cret", {"$regex": "key|order"}]),
                 "neverContains": dice.choice(["s3cret", {"$contains": "order"}]), "evidence": [self.call("all")],
                 "omits": [dice.choice(["*", "1.*", {"ref": "*", "reason": "budget"}])],
                 "neverOmits": dice.choice([["2.*"], "*", [{"ref": "1.*", "reason": "old"}]]), "maxTokens": dice.choice([10, 20, 40])}
        asked = {key: asked[key] for key in asked if self.chance(0.35)} or {"maxTokens": 20}
        if self.chance(0.35):
            asked["steps"] = dice.choice([1, 2, {"min": 2}, {"max": 1}, {"min": 1, "max": 2}])
        return asked


def action(call):
    """What an approval names: the tool and the input."""
    return hashlib.sha256(canonical([call["name"], call["input"]]).encode()).hexdigest()


def hazy(value):
    return "lost" in canonical(value) or "«" in canonical(value)


EVERY = ["stopReason", "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed", "maxSteps",
         "maxToolCalls", "answer", "eachCall", "time", "time", "budget", "noRepeatedSideEffect", "noLoops",
         "maxInvalidDecisions", "maxRetries", "answerJson", "evidence", "state", "policy", "noApprovalBypass",
         "context", "memory"]


def expectations(dice, events):
    """Expectations of a run: some words, perhaps a list of two mappings."""
    speaker = Speaker(dice, events)

    def some():
        said = {}
        for word in dice.sample(EVERY, dice.randint(2, 5)):
            more = speaker.word(word)
            if "order" in said:
                more.pop("order", None), more.pop("extra", None)
            said.update(more)
        return said or speaker.word("maxSteps")
    return some() if dice.random() < 0.9 else [some(), dict(some(), severity="warning")]
