"""Writes run logs as Docs/log-format.md describes them, and reads those that say nothing twice.

The writer makes one block of the events before the closing one. It uses no `$same` and no `$list` runs, which
a writer may leave out, and no checkpoint.
"""
import gzip
import hashlib
import json
import struct
import zlib
from fractions import Fraction

LISTS = ["evidenceRefs", "included", "memoryRefs", "observations", "omittedRefs", "toolsDisclosed"]


class Token(str):
    """A number as it was written: `5.0` keeps its digits."""


def canonical(value):
    """Canonical JSON; keys sorted by their bytes."""
    if isinstance(value, Token):
        return str(value)
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode())
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(one) for one in value) + "]"
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(float(value))
    return json.dumps(value, ensure_ascii=False)


def line(event):
    """The line of an event."""
    data = event["data"]
    if event["type"] == "context_built":
        data = {key: {"$list": value} if key in LISTS else value for key, value in data.items()}
        if "prompt" in data:
            data["prompt"] = {"messages": {"$list": data["prompt"]["messages"]}}
    head = ('{"seq":%d,"step":%d,"type":"%s","runId":"%s","t":%d,"data":'
            % (event["seq"], event["step"], event["type"], event["runId"], event["t"]))
    return head + canonical(data) + "}\n"


class Writer:
    """The members of a log, one behind the other."""

    def __init__(self):
        self.members, self.seal_line, self.digest = [], "", "0" * 64

    def header(self, first):
        last = self.members[-1] if self.members else None
        fields = struct.pack("<QII", first, len(last) if last else 0, zlib.crc32(last) if last else 0)
        return (bytes.fromhex("1f8b080400000000" + "00ff" + "1800" + "4145" + "1400") + fields
                + struct.pack("<I", zlib.crc32(fields)))

    def block(self, first, lines, count):
        """A block of lines, sealed."""
        text = "".join(lines)
        digest = hashlib.sha256(("agent-eval/1\n" + self.digest + self.seal_line + text).encode()).hexdigest()
        seal = '{"mark":"seal","data":%s}\n' % canonical(
            {"digest": digest, "first": first, "last": first + count - 1, "prev": self.digest})
        self.seal_line, self.digest = seal, digest
        body = (text + seal).encode()
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(body) + packer.flush(zlib.Z_FINISH)
        self.members.append(self.header(first) + packed + struct.pack("<II", zlib.crc32(body), len(body)))

    def torn(self, first, lines):
        """A last block that its writer left behind, cut at a whole flush."""
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress("".join(lines).encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
        self.members.append(self.header(first) + packed)

    def trailer(self, next):
        self.members.append(self.header(next) + bytes.fromhex("0300" + "00" * 8))


def write(path, events, gap=None, is_open=False, summary=None):
    """Writes a log; an open one gets `.open` behind its name.

    Of a gap, the numbers of the first and the last event that are missing."""
    writer, lines = Writer(), [line(event) for event in events]
    mark = ['{"mark":"summary","data":%s}\n' % canonical(summary)]
    if is_open:
        writer.torn(events[0]["seq"], lines)
    else:
        closing = len(events) - (events[-1]["type"] == "stop")
        cut = closing
        marks = []
        if gap:
            cut = sum(event["seq"] < gap[0] for event in events)
            marks = ['{"mark":"gap","data":{"first":%d,"last":%d,"reason":"lost"}}\n' % gap]
        if cut:
            writer.block(0, lines[:cut], cut)
        if marks:
            closing = max(closing, cut)
            if closing > cut:
                writer.block(gap[1] + 1, marks + lines[cut:closing], closing - cut)
                marks = []
        last = events[-1]["seq"] + 1 if not (gap and cut == len(events)) else gap[1] + 1
        if closing < len(events) or marks:
            first = events[closing]["seq"] if closing < len(events) else last
            writer.block(first, marks + lines[closing:] + mark, len(events) - closing)
        else:
            writer.block(last, mark, 0)
        writer.trailer(last)
    with open(path + (".open" if is_open else ""), "wb") as file:
        file.write(b"".join(writer.members))
