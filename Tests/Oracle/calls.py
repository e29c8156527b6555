"""The words about calls, as Docs/expectations.md describes them under Calls and Order.

What cannot be seen is settled by trying: every way in which it may be is judged, and what all of them say is
the outcome; where they differ it is unverifiable.
"""
import itertools

from facts import OPEN
from matchers import ABSENT, LOST, NotCovered, both, either, glob, is_operators, match, same

MOST_WAYS = 4096


def entry(given):
    return {"tool": given} if isinstance(given, str) else given


def as_list(value):
    return value if isinstance(value, list) else [value]


def bounds(times, least=1):
    """How often: least and most (None for any number)."""
    if times is None:
        return least, None
    if isinstance(times, dict):
        return times.get("min", 0), times.get("max")
    return times, times


def fits_caller(asked, call):
    if "caller" in asked:
        return glob(asked["caller"], call.caller if call else "agent")
    return not (call and call.is_of_user)


def input_seen(asked, value):
    """A call's input as `defaults` and `ignore` let `input` see it."""
    if not isinstance(value, dict):
        return value
    spoken = spoken_keys(asked.get("input"))
    value = {key: inner for key, inner in value.items()
             if not any(glob(one, key) for one in as_list(asked.get("ignore", [])))}
    for key, usual in asked.get("defaults", {}).items():
        if key not in value or same(usual, value[key]):
            value.pop(key, None)
            if key in spoken:
                value[key] = usual
    return value


def spoken_keys(matcher):
    """The keys of which a matcher speaks at its top level."""
    if not isinstance(matcher, dict):
        return set()
    if not is_operators(matcher):
        return set(matcher)
    keys = set()
    for name, inner in matcher.items():
        if name in ("$exact", "$literal", "$subsetOf"):
            keys |= set(inner) if isinstance(inner, dict) else set()
        elif name == "$not":
            keys |= spoken_keys(inner)
        elif name in ("$allOf", "$anyOf", "$oneOf"):
            for one in inner:
                keys |= spoken_keys(one)
    return keys


def fits_status(facts, asked, call):
    wanted = as_list(asked["status"])
    status = facts.status(call)
    if status == OPEN:  # What began is not refused any more.
        return False if call.starts and wanted == ["refused"] else None
    if status == "returned":
        return True if "returned" in wanted else None if {"ok", "error"} & set(wanted) else False
    if status == "unknown":
        return True if "unknown" in wanted else None
    return status in wanted


def fits_tool(facts, asked, tool):
    """Whether a glob matches a tool. One without a name may be any where the log does not show all calls."""
    if glob(asked, tool):
        return True
    return None if not tool and ("calls" in facts.recorded or facts.is_torn or facts.gap is not None) else False


def fits(facts, asked, call):
    """Whether a call is as an entry says, whatever became of it: True, False or None."""
    is_tool = fits_tool(facts, asked["tool"], call.tool)
    if is_tool is False or not fits_caller(asked, call):
        return False
    answers = [None if call.may_be_another else is_tool]
    if "input" in asked:
        answers.append(match(asked["input"], input_seen(asked, call.input), facts.origins(call.seq)))
    if "status" in asked:
        answers.append(fits_status(facts, asked, call))
    if "result" in asked:
        if call.result is None and facts.status(call) in (OPEN, "unknown"):
            answers.append(None)
        else:
            answers.append(match(asked["result"], facts.outcome(call)))
    return both(answers)


def proof(facts, asked, call):
    """Whether an executed call is proof that an entry is met: one of unknown effect is none, unless the entry
    asks for such a call."""
    answer = fits(facts, asked, call)
    if answer and facts.status(call) in ("unknown", OPEN) and "unknown" not in as_list(asked.get("status", [])):
        return None
    return answer


class Board:
    """The calls that a list of entries may speak of, and which of them fits which entry."""

    def __init__(self, facts, entries, proposed):
        self.entries, self.proposed = entries, proposed
        self.calls = facts.calls if proposed else [call for call in facts.calls if facts.executed(call) is not False]
        if proposed:
            self.made = [True for _ in self.calls]
            self.cells = [[fits(facts, asked, call) for call in self.calls] for asked in entries]
            self.like = self.cells
        else:
            self.made = [facts.executed(call) for call in self.calls]
            self.cells = [[proof(facts, asked, call) for call in self.calls] for asked in entries]
            self.like = [[fits(facts, asked, call) for call in self.calls] for asked in entries]
        self.is_open = facts.is_missing("decisions")

    def ways(self):
        """Every way in which what cannot be seen may be: which calls were made, which cells hold."""
        calls = [place for place, made in enumerate(self.made) if made is None]
        # What is not known but whether it was made fits where it was.
        base = [[True if cell is None and self.made[column] is None and self.like[row][column] is True else cell
                 for column, cell in enumerate(line)] for row, line in enumerate(self.cells)]
        cells = [(row, column) for row, line in enumerate(base)
                 for column, cell in enumerate(line) if cell is None]
        if 2 ** (len(calls) + len(cells)) > MOST_WAYS:
            raise NotCovered("so much that cannot be seen")
        for choice in itertools.product([False, True], repeat=len(calls) + len(cells)):
            made, lines = list(self.made), [list(line) for line in base]
            for place, value in zip(calls, choice):
                made[place] = value
            for (row, column), value in zip(cells, choice[len(calls):]):
                lines[row][column] = value
            for line in lines:
                for column, value in enumerate(made):
                    line[column] = line[column] and value
            yield made, lines


def matched(lines, rows):
    """The most rows that can have a column of their own."""
    owner = {}

    def place(row, tried):
        for column, cell in enumerate(lines[row]):
            if cell and column not in tried:
                tried.add(column)
                if column not in owner or place(owner[column], tried):
                    owner[column] = row
                    return True
        return False
    return sum(place(row, set()) for row in rows)


def counted(least, most, low, high):
    """The outcome of a number that lies between two."""
    if low >= least and (most is None or (high is not None and high <= most)):
        return "pass"
    if (high is not None and high < least) or (most is not None and low > most):
        return "fail"
    return "unverifiable"


def positive(facts, given, proposed, name):
    """A positive list without an order: the outcome of each entry with `times`; of the others together, how
    many have which outcome."""
    entries = [entry(one) for one in given]
    board = Board(facts, entries, proposed)
    alone = [row for row, asked in enumerate(entries) if "times" not in asked]
    yes = [[cell is True and made is True for cell, made in zip(line, board.made)] for line in board.cells]
    maybe = [[cell is not False for cell in line] for line in board.cells]
    passed, possible = matched(yes, alone), matched(maybe, alone)
    if board.is_open:
        possible = len(alone)
    outcomes = (["pass"] * passed + ["unverifiable"] * (possible - passed) + ["fail"] * (len(alone) - possible))
    checks = [("%s[%d]" % (name, row), outcome) for row, outcome in zip(alone, outcomes)]
    for row, asked in enumerate(entries):
        if "times" in asked:
            checks.append(("%s[%d]" % (name, row), number(board, row, bounds(asked["times"]))))
    return checks


def number(board, row, wanted):
    low = sum(cell is True and made is True for cell, made in zip(board.cells[row], board.made))
    high = None if board.is_open else sum(cell is not False for cell in board.cells[row])
    return counted(*wanted, low, high)


def negative(facts, given, proposed, name):
    """A negative list: each entry fails where it would hold in a positive one."""
    checks = []
    for row, one in enumerate(given):
        asked = entry(one)
        board = Board(facts, [asked], proposed)
        board.cells = board.like
        turned = {"pass": "fail", "fail": "pass", "unverifiable": "unverifiable"}
        checks.append(("%s[%d]" % (name, row), turned[number(board, 0, bounds(asked.get("times")))]))
    return checks


def ordered(facts, given, proposed, order):
    """A list in an order."""
    entries = [entry(one) for one in given]
    board = Board(facts, entries, proposed)
    considered = [any(fits_caller(asked, call) for asked in entries or [{}]) for call in board.calls]
    limited = order == "exact" or any(is_limited(asked) for asked in entries)
    slots = list(hidden_slots(facts)) if board.is_open else []
    sure, possible = True, False
    for made, lines in board.ways():
        for places, is_known in orders(board, made, lines, considered, order == "exact"):
            # Where calls may stand anywhere, so may those that are not seen.
            around = slots if is_known or not slots else [(-1, float("inf"))]
            done = stand(board, entries, places, lines, considered, order == "exact", [])
            sure = sure and done and not (slots and limited)
            possible = possible or done or (bool(slots) and stand(
                board, entries, places, lines, considered, order == "exact", around))
    return "pass" if sure else "unverifiable" if possible else "fail"


def is_limited(asked):
    """Whether an entry says how often at most."""
    return "times" in asked and bounds(asked["times"])[1] is not None


def hidden_slots(facts):
    """Where calls may lie that are not seen: behind which event, until which."""
    if facts.lacks("decisions"):
        yield -1, float("inf")
    if facts.gap:
        yield facts.gap
    if facts.is_torn:
        yield facts.events[-1]["seq"] + 1, float("inf")


def orders(board, made, lines, considered, is_exact):
    """Every order in which the calls may stand: the columns of each decision behind its number, and whether that is
    what the log shows. A call that no decision holds stands beside or between those of the decisions before it."""
    matters = [made[column] and (considered[column] if is_exact else any(line[column] for line in lines))
               for column in range(len(board.calls))]
    decisions, strays = {}, []
    for column, call in enumerate(board.calls):
        if matters[column]:
            if call.is_stray:
                strays.append(column)
            else:
                decisions.setdefault(call.number, []).append(column)
    places = sorted([(board.calls[columns[0]].seq, columns) for columns in decisions.values()], key=lambda one: one[0])
    if not strays:
        yield places, True
        return
    ways = [[columns for _, columns in places]]
    for stray in strays:
        more = []
        for way in ways:
            end = max([0] + [at + 1 for at, columns in enumerate(way)
                             if board.calls[columns[0]].seq < board.calls[stray].seq])
            more += [way[:at] + [[stray]] + way[at:] for at in range(end + 1)]
            more += [way[:at] + [way[at] + [stray]] + way[at + 1:] for at in range(end)]
            if len(more) > MOST_WAYS:
                raise NotCovered("so many orders")
        ways = more
    if len(ways) > 1024:
        raise NotCovered("so many orders")
    for way in ways:
        yield list(enumerate(way)), False


def stand(board, entries, places, lines, considered, is_exact, slots):
    """Whether calls can be shared out to the entries; `slots` say where any others may stand as well."""
    wants = [bounds(asked["times"]) if "times" in asked else (1, 1) for asked in entries]
    limited = [is_limited(asked) for asked in entries]
    states, behind = {(0, 0)}, -1
    for seq, columns in places:
        if any(first < seq and last > behind for first, last in slots):
            states = anything(states, wants)
        after = set()
        for order in itertools.permutations(columns):
            now = states
            for column in order:
                now = {later for state in now
                       for later in taken(state, column, board, lines, wants, limited, considered, is_exact)}
            after |= now
        states, behind = after, seq
    if any(last > behind for _, last in slots):
        states = anything(states, wants)
    return any(all((count if row == at else 0) >= least for row, (least, _) in enumerate(wants) if row >= at)
               for at, count in states)


def anything(states, wants):
    """Where sharing out may stand behind calls that are not seen and may be any."""
    reached = set(states)
    for at, count in states:
        for row in range(at, len(wants)):
            most = wants[row][1]
            top = int(max(wants[row][0], most if most is not None else wants[row][0], count if row == at else 0))
            reached |= {(row, one) for one in range(int(count) if row == at else 0, top + 1)}
        reached.add((len(wants), 0))
    return reached


def taken(state, column, board, lines, wants, limited, considered, is_exact):
    """What may become of a call: it is left over, or goes to this entry or a later one."""
    at, count = state
    left_over = not any(lines[row][column] for row in range(len(wants)) if limited[row])
    if is_exact:
        left_over = not considered[column]
    if left_over:
        yield state
    while at < len(wants):
        least, most = wants[at]
        if lines[at][column] and (most is None or count < most):
            yield at, count + 1
        if count < least:
            return
        at, count = at + 1, 0


def no_others(facts, given):
    """Of proposals that stand in order, whether whatever was executed is one of them."""
    entries = [entry(one) for one in given]
    board = Board(facts, entries, False)
    answers = [either(line[column] for line in board.like) if made else
               either([False, *(line[column] for line in board.like)]) or None
               for column, (call, made) in enumerate(zip(board.calls, board.made))
               if any(fits_caller(asked, call) for asked in entries)]
    if False in answers:
        return "fail"
    return "unverifiable" if None in answers or board.is_open else "pass"


def extra(facts, given):
    """Whether each executed call has a place of its own."""
    entries = [entry(one) for one in given]
    board = Board(facts, entries, False)
    considered = [any(fits_caller(asked, call) for asked in entries) for call in board.calls]
    says = set()
    board.cells = board.like
    for made, lines in board.ways():
        columns = [column for column, is_made in enumerate(made) if is_made and considered[column]]
        places = []
        for row, asked in enumerate(entries):
            most = bounds(asked["times"])[1] if "times" in asked else 1
            for _ in range(len(columns) if most is None else min(int(most), len(columns))):
                places.append(row)
        rows = [[lines[row][column] for row in places] for column in columns]
        says.add(matched(rows, range(len(rows))) == len(rows))
    if says == {False}:
        return "fail"
    return "pass" if says == {True} and not board.is_open else "unverifiable"


def each_call(facts, asked):
    """Each executed call of the tool is so."""
    board = Board(facts, [{key: asked[key] for key in ("tool", "caller") if key in asked}], False)
    answers = []
    for call, made, cell in zip(board.calls, board.made, board.cells[0]):
        is_one = cell if cell is False else made
        if is_one is False:
            continue
        answer = fits(facts, asked, call)
        answers.append(answer if made else None if answer is not True else "perhaps")
    if False in answers:
        return "fail"
    if None in answers or "perhaps" in answers or board.is_open:
        return "unverifiable"
    return "pass" if answers else "not_exercised"
