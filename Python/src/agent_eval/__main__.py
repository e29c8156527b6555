"""``python -m agent_eval``: the program itself."""

from __future__ import annotations

import os
import sys

from ._errors import ProgramNotFound
from ._program import program


def main() -> int:
    """Becomes the program, with the arguments of this process."""
    try:
        path = program()
    except ProgramNotFound as error:
        print(f"agent-eval: {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        print(f"agent-eval: {path} could not be started: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
