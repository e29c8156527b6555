#!/usr/bin/env python3
"""Puts the licences and notices of what is linked in into one text: each text once, below the names it is for.

    third_party.py NAME=FOLDER… >THIRD-PARTY.txt

Of each folder those files are taken that are named LICENSE or NOTICE, with or without an ending, at its top and
in Sources/*.
"""

import pathlib
import re
import sys


def main():
    texts = {}
    for argument in sorted(sys.argv[1:]):
        name, _, folder = argument.partition("=")
        files = [
            path for pattern in ("*", "Sources/*/*") for path in sorted(pathlib.Path(folder).glob(pattern))
            if path.is_file() and re.fullmatch(r"(LICEN[CS]E|NOTICE|COPYING)(\.(txt|md))?", path.name)
        ]
        if not files:
            sys.exit(f"third_party.py: no licence in {folder}: name the folder that holds the sources of {name}")
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            texts.setdefault(text, []).append(f"{name}: {path.relative_to(folder)}")
    print("What is linked into agent-eval, and the licences and notices that come with it.")
    for text, names in sorted(texts.items(), key=lambda item: item[1]):
        print("\n" + "=" * 78, *names, "=" * 78, "", text, sep="\n")


if __name__ == "__main__":
    main()
