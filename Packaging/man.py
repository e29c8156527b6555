#!/usr/bin/env python3
"""Writes man pages from what `agent-eval --experimental-dump-help` prints.

    man.py HELP.json FOLDER --version 0.1.0 --date 2026-01-31

One page for the program and one for each verb, in the macros of man(7). Same input, same bytes.
"""

import argparse
import json
import pathlib
import re
import sys

NAMED = {"“": r"\(lq", "”": r"\(rq", "‘": r"\(oq", "’": r"\(cq", "…": "...", "–": r"\(en", "→": r"\(->", "×": r"\(mu"}


def text(words):
    """Text of a paragraph: nothing in it is a request or an escape."""
    line = " ".join(words.split()).replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    line = line.replace("~", r"\(ti").replace("^", r"\(ha").replace('"', r"\(dq")
    line = "".join(NAMED.get(c, c if ord(c) < 128 else rf"\[u{ord(c):04X}]") for c in line)
    return r"\&" + line if line.startswith(".") else line


def paragraphs(words):
    return [text(part) for part in re.split(r"\n\s*\n", words.strip()) if part.strip()]


def examples(discussion):
    """What stands before the examples of a discussion, and those as (command line, what it does)."""
    before, _, after = (discussion or "").partition("EXAMPLES:\n")
    lines = after.splitlines()
    pairs = [(a.strip(), b.strip()) for a, b in zip(lines, lines[1:]) if a.startswith("  agent-eval ")]
    return before, pairs


def example_lines(pairs):
    lines = [".SH EXAMPLES"] if pairs else []
    for command, does in pairs:
        lines += [".TP", rf"\fB{text(command)}\fR", text(does)]
    return lines


def option_names(argument, value):
    """How an option is written, the short one first."""
    names = sorted(argument.get("names", []), key=lambda name: (name["kind"] != "short", name["name"]))
    written = []
    for name in names:
        dashes = "--" if name["kind"] == "long" else "-"
        written.append(rf"\fB{text(dashes + name['name'])}\fR" + (rf" \fI{value}\fR" if value else ""))
    return ", ".join(written)


def synopsis_part(argument):
    value = text(argument.get("valueName", ""))
    if argument["kind"] == "positional":
        part = rf"\fI{value}\fR" + (" ..." if argument["isRepeating"] else "")
        if argument.get("parsingStrategy") == "postTerminator":
            part = rf"\fB\-\-\fR {part}"
    else:
        name = argument["preferredName"]
        part = rf"\fB{text(('--' if name['kind'] == 'long' else '-') + name['name'])}\fR"
        part += rf" \fI{value}\fR" if argument["kind"] == "option" else ""
        part += " ..." if argument["isRepeating"] else ""
    return f"[{part}]" if argument["isOptional"] else part


def describe(argument):
    value = text(argument.get("valueName", "")) if argument["kind"] != "flag" else ""
    head = rf"\fI{value}\fR" if argument["kind"] == "positional" else option_names(argument, value)
    lines = [".TP", head]
    body = paragraphs(argument.get("abstract", "") or "") + paragraphs(argument.get("discussion", "") or "")
    notes = []
    if argument.get("allValues"):
        notes.append("One of: " + text(", ".join(argument["allValues"])) + ".")
    if argument.get("defaultValue") not in (None, ""):
        notes.append(rf"Without it: \fB{text(argument['defaultValue'])}\fR")
    if not body and not notes:
        body = [r"\&"]
    for index, paragraph in enumerate(body + ([" ".join(notes)] if notes else [])):
        lines += ([".sp"] if index and index < len(body) else []) + [paragraph]
    return lines


def shown(items):
    return [item for item in items or [] if item.get("shouldDisplay", True)]


def page(command, path, see, options):
    name = "-".join(path)
    lines = [
        f'.TH "{text(name.upper())}" "1" "{options.date}" "agent\\-eval {text(options.version)}" "agent\\-eval"',
        ".SH NAME",
        rf"{text(name)} \- {text(command.get('abstract', '').rstrip('.')) or 'part of agent-eval'}",
    ]
    sections = [(path, command)]
    for inner in shown(command.get("subcommands")):
        if len(path) > 1:
            sections.append((path + [inner["commandName"]], inner))
    lines.append(".SH SYNOPSIS")
    for index, (words, item) in enumerate(sections):
        if item.get("subcommands") and (len(path) > 1 or len(sections) == 1):
            parts = [r"\fIsubcommand\fR", "..."]
        else:
            parts = [synopsis_part(a) for a in shown(item.get("arguments")) if not is_everywhere(a)]
        lines += ([".br"] if index else []) + [" ".join([rf"\fB{text(' '.join(words))}\fR", *parts])]
    lines.append(".SH DESCRIPTION")
    discussion, pairs = examples(command.get("discussion"))
    body = paragraphs(discussion) or paragraphs(command.get("abstract") or "")
    for index, paragraph in enumerate(body):
        lines += ([".PP"] if index else []) + [paragraph]
    for words, item in sections[1:]:
        lines += [f'.SH "{text(" ".join(words[1:]).upper())}"']
        inner_discussion, inner_pairs = examples(item.get("discussion"))
        pairs = pairs + inner_pairs
        body = paragraphs(item.get("abstract") or "") + paragraphs(inner_discussion)
        for index, paragraph in enumerate(body):
            lines += ([".PP"] if index else []) + [paragraph]
        for argument in shown(item.get("arguments")):
            lines += describe(argument)
    own = shown(command.get("arguments"))
    for title, chosen in [
        ("ARGUMENTS", [a for a in own if a["kind"] == "positional"]),
        ("OPTIONS", [a for a in own if a["kind"] != "positional"]),
    ]:
        if chosen:
            lines.append(f".SH {title}")
            for argument in chosen:
                lines += describe(argument)
    if len(path) == 1:
        lines.append(".SH VERBS")
        for inner in shown(command.get("subcommands")):
            if inner["commandName"] != "help":
                lines += [".TP", rf"\fB{text(inner['commandName'])}\fR", text(inner.get("abstract", "")) or r"\&"]
    lines += example_lines(pairs)
    lines += [
        ".SH EXIT STATUS",
        "0 fine; 1 a case failed, a run did not succeed or a log is damaged; 2 it could not be done;",
        "3 inconclusive; 64 wrong usage.",
        ".SH SEE ALSO",
        ",\n".join(rf"\fB{text(other)}\fR(1)" for other in see if other != name),
        ".PP",
        "https://github.com/agent\\-eval/agent\\-eval",
    ]
    return "\n".join(lines) + "\n"


def is_everywhere(argument):
    """Of --help and --version it is enough to speak once."""
    return {name["name"] for name in argument.get("names", [])} & {"help", "version"} != set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("help_file", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    try:
        root = json.loads(options.help_file.read_text(encoding="utf-8"))["command"]
        verbs = [v for v in shown(root.get("subcommands")) if v["commandName"] != "help"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"man.py: {options.help_file} is not what agent-eval --experimental-dump-help prints: {error!r}")
    options.folder.mkdir(parents=True, exist_ok=True)
    top = root["commandName"]
    names = [f"{top}-{verb['commandName']}" for verb in verbs]
    (options.folder / f"{top}.1").write_text(page(root, [top], names, options), encoding="ascii")
    for verb, name in zip(verbs, names):
        content = page(verb, [top, verb["commandName"]], [top], options)
        (options.folder / f"{name}.1").write_text(content, encoding="ascii")
    print(f"{len(names) + 1} man pages")


if __name__ == "__main__":
    main()
