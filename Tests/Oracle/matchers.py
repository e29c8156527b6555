"""Matchers, as Docs/matchers.md describes them: plain and slow, and sharing no code with the program.

Three answers: True, False, and None where it cannot be seen. Numbers are exact fractions. `$regex` covers
what means the same in Python's `re`, `$schema` a few keywords; what is not covered raises NotCovered.
"""
import json
import re
from fractions import Fraction


class NotCovered(Exception):
    """The judge does not know what this means: nothing may be said of it."""


class Absent:
    """No value stands there."""

    def __repr__(self):
        return "absent"


class Lost:
    """A value that stands there and cannot be seen."""

    def __repr__(self):
        return "lost"


ABSENT, LOST = Absent(), Lost()
TOKEN = re.compile("«redacted:[^»]*»")


def parsed(text):
    """JSON with every number as an exact fraction."""
    return json.loads(text, parse_int=Fraction, parse_float=Fraction, parse_constant=Fraction)


def seen(value):
    """A value of a log as it is meant: lost ones marked, escaped keys unescaped."""
    if isinstance(value, list):
        return [seen(element) for element in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$lost"}:
        return LOST
    if set(value) in ({"$cut"}, {"$bytes"}):
        raise NotCovered("cut values and bytes")
    return {re.sub(r"^\$(\$+(same|list|bytes|lost|cut))$", r"\1", key): seen(inner)
            for key, inner in value.items()}


def both(answers):
    """Kleene's and."""
    answers = list(answers)
    return False if False in answers else None if None in answers else True


def either(answers):
    """Kleene's or."""
    answers = list(answers)
    return True if True in answers else None if None in answers else False


def no(answer):
    """Kleene's not."""
    return None if answer is None else not answer


def is_number(value):
    return isinstance(value, Fraction)


def same(one, other):
    """Deep equality: the same keys and no others, numbers by value."""
    if other is LOST or one is LOST:
        return None if ABSENT not in (one, other) else False
    if isinstance(other, str) and TOKEN.search(other):
        return same_as_withheld(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return both([set(one) == set(other)] + [same(one[key], other[key]) for key in one if key in other])
    if isinstance(one, list) and isinstance(other, list):
        return both([len(one) == len(other)] + [same(a, b) for a, b in zip(one, other)])
    return type(one) is type(other) and one == other


def same_as_withheld(asked, text):
    """Whether what is asked may be a text of which something was withheld."""
    if TOKEN.fullmatch(text):
        return True if asked == text else None
    if not isinstance(asked, str):
        return False
    if asked == text:
        return True
    around = ".*".join(re.escape(part) for part in TOKEN.split(text))
    return None if re.fullmatch(around, asked, re.DOTALL) else False


def literal(asked, value, match):
    """A literal: other keys of objects are free."""
    if isinstance(asked, dict):
        if value is LOST or (isinstance(value, str) and TOKEN.fullmatch(value)):
            return None
        if not isinstance(value, dict):
            return False
        return both(match(asked[key], value.get(key, ABSENT)) for key in asked)
    if isinstance(asked, list):
        if value is LOST or (isinstance(value, str) and TOKEN.fullmatch(value)):
            return None
        if not isinstance(value, list) or len(value) != len(asked):
            return False
        return both(match(a, v) for a, v in zip(asked, value))
    return same(asked, value)


def plainly(asked, value):
    """A `$literal`: nothing in it is an operator."""
    return literal(asked, value, plainly)


def is_operators(matcher):
    return isinstance(matcher, dict) and any(key.startswith("$") for key in matcher)


def match(matcher, value, origins=None):
    """Whether a value matches. `origins` says what `$from` may lead to: a mapping to values and whether
    there may be more."""
    if not is_operators(matcher):
        return literal(matcher, value, lambda asked, found: match(asked, found, origins))
    return both(operator(name, matcher[name], value, origins) for name in matcher)


def operator(name, asked, value, origins):
    if name == "$absent":
        return (value is ABSENT) == asked
    if name == "$not":
        return no(match(asked, value, origins))
    if name == "$allOf":
        return both(match(one, value, origins) for one in asked)
    if name == "$anyOf":
        return either(match(one, value, origins) for one in asked)
    if name == "$oneOf":
        return exactly_one([match(one, value, origins) for one in asked])
    if value is ABSENT:
        return False
    if name == "$any":
        return True
    if value is LOST:
        return None
    if isinstance(value, str) and TOKEN.search(value):
        return of_withheld(name, asked, value, origins)
    return of_value(name, asked, value, origins)


def exactly_one(answers):
    if answers.count(True) > 1:
        return False
    if None in answers:
        return None
    return answers.count(True) == 1


def of_value(name, asked, value, origins):
    if name == "$regex":
        return isinstance(value, str) and found(asked, value)
    if name == "$glob":
        return isinstance(value, str) and glob(asked, value)
    if name == "$ignoreCase":
        return isinstance(value, str) and value.lower() == asked.lower()
    if name == "$contains":
        if isinstance(value, str):
            return isinstance(asked, str) and asked in value
        return isinstance(value, list) and either(match(asked, one, origins) for one in value)
    if name in ("$gt", "$gte", "$lt", "$lte"):
        return is_number(value) and {"$gt": value > asked, "$gte": value >= asked, "$lt": value < asked,
                                     "$lte": value <= asked}[name]
    if name == "$approx":
        middle = asked if is_number(asked) else asked["value"]
        room = abs(middle) / 10**9
        if isinstance(asked, dict):
            room = asked.get("tolerance", room)
        return is_number(value) and abs(value - middle) <= room
    if name == "$length":
        return isinstance(value, (str, list, dict)) and match(asked, Fraction(len(value)))
    if name == "$type":
        return any(is_type(one, value) for one in ([asked] if isinstance(asked, str) else asked))
    if name == "$schema":
        if hides(value):
            raise NotCovered("$schema of what cannot be seen whole")
        return schema(asked, value)
    if name == "$exact":
        return same(asked, value)
    if name == "$literal":
        return plainly(asked, value)
    if name == "$subsetOf":
        if not isinstance(value, dict):
            return False
        return both((match if is_operators(asked[key]) else same)(asked[key], inner) if key in asked else False
                    for key, inner in value.items())
    if name == "$from":
        if origins is None:
            raise NotCovered("$from here")
        values, may_be_more = origins(asked)
        return either([same(value, one) for one in values] + ([None] if may_be_more else []))
    raise NotCovered(name)


def of_withheld(name, asked, value, origins):
    """Operators on a text in which something was withheld."""
    is_all = TOKEN.fullmatch(value) is not None
    if name in ("$exact", "$literal"):
        if isinstance(asked, (dict, list)):
            return None if is_all else False
        return same(asked, value)
    if name == "$contains" and isinstance(asked, str):
        return True if any(asked in part for part in TOKEN.split(value)) else None
    if name == "$from":
        raise NotCovered("$from and withheld values")
    if name in ("$regex", "$glob", "$ignoreCase", "$length"):
        return None
    if name == "$schema":
        raise NotCovered("$schema of what cannot be seen whole")
    if name == "$type":
        return None if is_all else "string" in ([asked] if isinstance(asked, str) else asked)
    if is_all:
        return None
    return of_value(name, asked, value, origins)


def hides(value):
    """Whether a part of a value cannot be seen."""
    if isinstance(value, (dict, list)):
        return any(hides(one) for one in (value.values() if isinstance(value, dict) else value))
    return value is LOST or (isinstance(value, str) and TOKEN.search(value) is not None)


def is_type(name, value):
    return {
        "null": value is None, "boolean": isinstance(value, bool), "string": isinstance(value, str),
        "number": is_number(value), "integer": is_number(value) and value.denominator == 1,
        "array": isinstance(value, list), "object": isinstance(value, dict),
    }[name]


def found(pattern, text):
    """Whether a pattern is found anywhere. `$` is the very end here, as it is there."""
    if re.search(r"\\[AzZpPG-LQ-RX]|\[\[|\(\?[^:imsx]|[*+?}]\+", pattern):
        raise NotCovered("the pattern " + pattern)
    return re.search(re.sub(r"(?<!\\)\$", r"\\Z", pattern), text) is not None


def glob(pattern, text):
    """Whether a glob fits the whole text."""
    return any(fits_glob(one, text) for one in spelled_out(pattern))


def spelled_out(pattern):
    """A glob with each choice of its braces."""
    depth, start, cuts, place = 0, None, [], 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 1
        elif sign == "{":
            if depth == 0:
                start, cuts = place, [place]
            depth += 1
        elif sign == "," and depth == 1:
            cuts.append(place)
        elif sign == "}" and depth:
            depth -= 1
            if depth == 0:
                cuts.append(place)
                choices = [pattern[a + 1:b] for a, b in zip(cuts, cuts[1:])]
                return [whole for choice in choices
                        for whole in spelled_out(pattern[:start] + choice + pattern[place + 1:])]
        place += 1
    return [pattern]


def fits_glob(pattern, text):
    if not pattern:
        return not text
    sign, rest = pattern[0], pattern[1:]
    if sign == "*":
        return any(fits_glob(rest, text[cut:]) for cut in range(len(text) + 1))
    if not text:
        return False
    if sign == "?":
        return fits_glob(rest, text[1:])
    if sign == "[":
        end = rest.index("]", 2 if rest.startswith("!") else 1)
        chosen, rest = rest[:end], rest[end + 1:]
        is_not = chosen.startswith("!")
        return in_class(chosen[is_not:], text[0]) != is_not and fits_glob(rest, text[1:])
    if sign == "\\":
        sign, rest = rest[0], rest[1:]
    return text[0] == sign and fits_glob(rest, text[1:])


def in_class(chosen, sign):
    place = 0
    while place < len(chosen):
        if chosen[place + 1:place + 2] == "-" and place + 2 < len(chosen):
            if chosen[place] <= sign <= chosen[place + 2]:
                return True
            place += 3
        else:
            if chosen[place] == sign:
                return True
            place += 1
    return False


def schema(asked, value):
    """A JSON Schema of a few keywords."""
    if isinstance(asked, bool):
        return asked
    answers = []
    for word, wanted in asked.items():
        if word == "type":
            answers.append(any(is_type(one, value) for one in ([wanted] if isinstance(wanted, str) else wanted)))
        elif word == "const":
            answers.append(same(wanted, value))
        elif word == "enum":
            answers.append(either(same(one, value) for one in wanted))
        elif word == "minimum":
            answers.append(not is_number(value) or value >= wanted)
        elif word == "maximum":
            answers.append(not is_number(value) or value <= wanted)
        elif word == "minLength":
            answers.append(not isinstance(value, str) or len(value) >= wanted)
        elif word == "required":
            answers.append(not isinstance(value, dict) or all(key in value for key in wanted))
        elif word == "properties":
            answers += [schema(inner, value[key]) for key, inner in wanted.items()
                        if isinstance(value, dict) and key in value]
        elif word == "items":
            answers += [schema(wanted, one) for one in value] if isinstance(value, list) else []
        else:
            raise NotCovered("the keyword " + word)
    return both(answers)


def pointed(value, pointer):
    """What a JSON Pointer leads to."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", part) and int(part) < len(value):
            value = value[int(part)]
        elif value is LOST:
            return LOST
        else:
            return ABSENT
    return value


def all_pointed(value, path):
    """All that a pointer leads to in which `*` stands for every key or element."""
    values = [value]
    for part in path.split("/")[1:]:
        if part == "*":
            values = [inner for one in values
                      for inner in ([LOST] if one is LOST else one.values() if isinstance(one, dict)
                                    else one if isinstance(one, list) else [])]
        else:
            values = [pointed(one, "/" + part) for one in values]
    return [one for one in values if one is not ABSENT]
