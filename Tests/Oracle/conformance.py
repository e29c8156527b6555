"""Judges the rows of Conformance/*.json (Docs/conformance.md) by the judge of this folder.

    python3 conformance.py FOLDER

Exits with 0 where it has the outcome of every row that it covers; names the others that it does not.
"""
import os
import sys

import runlog
from facts import Facts
from judge import judge
from matchers import NotCovered, parsed


def summed(outcomes):
    """What several outcomes say together."""
    return next((one for one in ("fail", "unverifiable", "pass") if one in outcomes), "not_exercised")


def outcome(row):
    """The outcome of a row."""
    if row["outcome"] == "error" or "lines" not in row:
        raise NotCovered("mistakes in expectations")
    facts = Facts(row["lines"], is_open=row.get("torn", False))
    return summed([said for _, said in judge(facts, row["expected"])])


def main():
    folder, wrong, covered, left_out = sys.argv[1], 0, 0, {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            rows = parsed(file.read())
        for row in rows["rows"]:
            try:
                mine = outcome(row)
            except NotCovered as reason:
                left_out[str(reason)] = left_out.get(str(reason), 0) + 1
                continue
            covered += 1
            if mine != row["outcome"]:
                wrong += 1
                print("%s: %s: %s here, %s there: %s" % (rows["rule"], row["title"], mine, row["outcome"],
                                                         runlog.canonical(row["expected"])))
    print("%d rows %s; left out: %s" % (covered, "agree" if not wrong else "of which %d do not agree" % wrong,
                                        ", ".join("%s %d" % one for one in sorted(left_out.items()))))
    sys.exit(1 if wrong or not covered else 0)


if __name__ == "__main__":
    main()
