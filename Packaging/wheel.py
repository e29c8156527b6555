#!/usr/bin/env python3
"""Writes a wheel anew for one kind of machine: its tag, fixed times and modes, files in order.

    wheel.py IN.whl FOLDER --platform manylinux_2_34_x86_64 --epoch SECONDS

Prints the path of the new wheel. Same content, same bytes, whichever tool made the first one.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys
import time
import zipfile

PROGRAM = "agent_eval/_bin/agent-eval"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        modes = {name: archive.getinfo(name).external_attr >> 16 for name in files}
    if PROGRAM not in files:
        sys.exit(f"wheel.py: {options.wheel.name} holds no {PROGRAM}; the build of Python/ takes the program from "
                 "the variable AGENT_EVAL_WHEEL_BINARY")
    info = next((n.split("/")[0] for n in files if re.fullmatch(r"[^/]+\.dist-info/WHEEL", n)), None)
    if sum(name.startswith(f"{info}/licenses/") for name in files) < 2:
        sys.exit(f"wheel.py: {options.wheel.name} lacks the licences of what it holds (LICENSE, NOTICE-THIRD-PARTY.txt "
                 "beside pyproject.toml): see license-files there")
    match = re.fullmatch(r"(?P<name>[^-]+)-(?P<version>[^-]+)-(?P<python>[^-]+)-[^-]+-[^-]+\.whl", options.wheel.name)
    if info is None or match is None:
        sys.exit(f"wheel.py: {options.wheel.name} is not a wheel: NAME-VERSION-PYTHON-ABI-PLATFORM.whl")
    # It runs a program and has no extension module: any Python 3 will do.
    tag = f"py3-none-{options.platform}"
    lines = [line for line in files[f"{info}/WHEEL"].decode().splitlines()
             if line and not line.startswith(("Tag:", "Root-Is-Purelib:", "Build:"))]
    files[f"{info}/WHEEL"] = "\n".join([*lines, "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()
    record = f"{info}/RECORD"
    files.pop(record, None)
    # The metadata comes last, as the format asks.
    order = sorted(files, key=lambda name: (name.startswith(info + "/"), name))
    rows = []
    for name in order:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(files[name])}")
    files[record] = ("\n".join([*rows, f"{record},,"]) + "\n").encode()
    target = options.folder / f"{match['name']}-{match['version']}-{tag}.whl"
    date = max(time.gmtime(options.epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in [*order, record]:
            entry = zipfile.ZipInfo(name, date)
            entry.create_system = 3
            executable = name == PROGRAM or modes.get(name, 0) & 0o111
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], compresslevel=9)
    print(target)


if __name__ == "__main__":
    main()
