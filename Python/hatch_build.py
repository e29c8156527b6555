"""Puts the program into the wheel: the file that AGENT_EVAL_WHEEL_BINARY names becomes agent_eval/_bin/agent-eval.

AGENT_EVAL_WHEEL_PLATFORM says for what system the wheel is (as in manylinux_2_34_x86_64); without it, linux and the
kind of this machine. Without AGENT_EVAL_WHEEL_BINARY the wheel has no program and is for any system.
"""

import os
import platform
import re
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binary = os.environ.get("AGENT_EVAL_WHEEL_BINARY")
        if not binary or self.target_name != "wheel":
            return
        if not os.path.isfile(binary) or not os.access(binary, os.X_OK):
            raise SystemExit(f"AGENT_EVAL_WHEEL_BINARY names no program: {binary}")
        system = os.environ.get("AGENT_EVAL_WHEEL_PLATFORM") or f"linux_{platform.machine()}"
        if not re.fullmatch(r"[a-z0-9_]+", system):
            raise SystemExit(f"AGENT_EVAL_WHEEL_PLATFORM is not the name of a system: {system}")
        build_data["force_include"][os.path.abspath(binary)] = "agent_eval/_bin/agent-eval"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}"
