#!/usr/bin/env python3
"""What a task of a pipeline costs beside LangGraph with its SQLite saver, DBOS on SQLite and Prefect: a chain and a
fan-out of tasks that do nothing, each engine in a process of its own, in turns, on one machine.

    python3 -m venv /tmp/engines && /tmp/engines/bin/pip install -r Benchmarks/requirements.txt
    swift build -c release --static-swift-stdlib --package-path Benchmarks --product bench
    /tmp/engines/bin/python Benchmarks/beside_others.py --bench Benchmarks/.build/release/bench

Of each figure, what the same engine takes for one task is taken away: its start is not what is asked. CPU time is that of
the process and of every process that it started; bytes are those of all files that it kept.
"""

import argparse
import ctypes
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ENGINES = ("agent-eval", "langgraph", "dbos", "prefect")
SHAPES = ("chain", "fan-out")
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "dbos", "prefect")


# The engines: each runs a shape with so many tasks, and keeps what it keeps in the folder that it stands in.


def langgraph_chain(count):
    from typing import TypedDict

    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        x: int

    graph = StateGraph(State)
    for number in range(count):
        graph.add_node(f"t{number}", lambda state: {"x": state["x"] + 1})
        graph.add_edge(START if number == 0 else f"t{number - 1}", f"t{number}")
    graph.add_edge(f"t{count - 1}", END)
    return graph, {"x": 0}, lambda end: end["x"] == count


def langgraph_fan_out(count):
    import operator
    from typing import Annotated, TypedDict

    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    class State(TypedDict):
        out: Annotated[list, operator.add]

    graph = StateGraph(State)
    graph.add_node("each", lambda given: {"out": [given["i"]]})
    graph.add_conditional_edges(
        START, lambda state: [Send("each", {"i": number}) for number in range(count)], ["each"]
    )
    graph.add_edge("each", END)
    return graph, {"out": []}, lambda end: len(end["out"]) == count


def run_langgraph(shape, count):
    from langgraph.checkpoint.sqlite import SqliteSaver

    make = langgraph_chain if shape == "chain" else langgraph_fan_out
    graph, start, is_right = make(count)
    with SqliteSaver.from_conn_string("langgraph.sqlite") as saver:
        app = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": count + 10}
        begun = time.monotonic()
        end = app.invoke(start, config, durability="sync")
        seconds = time.monotonic() - begun
    assert is_right(end)
    return seconds


def run_dbos(shape, count):
    import asyncio

    from dbos import DBOS

    DBOS(
        config={
            "name": "bench",
            "system_database_url": "sqlite:///dbos.sqlite",
            "log_level": "ERROR",
            "run_migrations": True,
        }
    )

    @DBOS.step()
    def step(x):
        return x + 1

    @DBOS.step()
    async def step_aside(x):
        return x + 1

    @DBOS.workflow()
    def chain():
        x = 0
        for _ in range(count):
            x = step(x)
        return x

    @DBOS.workflow()
    async def fan_out():
        return len(await asyncio.gather(*(step_aside(number) for number in range(count))))

    DBOS.launch()
    begun = time.monotonic()
    if shape == "chain":
        assert chain() == count
    else:
        assert asyncio.run(fan_out()) == count
    seconds = time.monotonic() - begun
    DBOS.destroy()
    return seconds


def run_prefect(shape, count):
    from prefect import flow, task

    @task
    def step(x):
        return x + 1

    @flow
    def work():
        if shape == "chain":
            x = 0
            for _ in range(count):
                x = step(x)
            return x
        return len(step.map(range(count)).result())

    @flow
    def nothing():
        return 0

    # Its server starts with the first flow.
    nothing()
    begun = time.monotonic()
    assert work() == count
    return time.monotonic() - begun


# What each costs.


def be_heir():
    """Processes whose parents have ended become children of this one (PR_SET_CHILD_SUBREAPER): their time counts."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def bytes_of(folder):
    return sum(
        os.path.getsize(os.path.join(where, name))
        for where, _, names in os.walk(folder)
        for name in names
        if not name.endswith((".log", ".toml"))
    )


def cost(command, own_wall):
    """CPU seconds, seconds and bytes of a command that runs in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="beside-")
    home = os.path.join(folder, "home")
    os.mkdir(home)
    environment = dict(
        os.environ,
        HOME=home,
        PREFECT_HOME=home,
        PREFECT_LOGGING_LEVEL="CRITICAL",
        PREFECT_LOGGING_TO_API_ENABLED="false",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS="120",
        DO_NOT_TRACK="1",
    )
    begun = time.monotonic()
    process = subprocess.Popen(
        [part.replace("FOLDER", folder) for part in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output = process.stdout.read()
    seconds = time.monotonic() - begun
    cpu = 0.0
    status = 1
    while True:
        try:
            pid, ended, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        cpu += usage.ru_utime + usage.ru_stime
        if pid == process.pid:
            process.returncode = status = os.waitstatus_to_exitcode(ended)
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    size = bytes_of(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return cpu, json.loads(output) if own_wall else seconds, size


def command_of(engine, shape, count, bench):
    if engine == "agent-eval":
        return [bench, "work", "pipeline", "FOLDER", shape, str(count)]
    return [sys.executable, os.path.abspath(__file__), "--work", engine, shape, str(count)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--bench", help="the built bench program")
    arguments.add_argument("--tasks", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", choices=ENGINES)
    arguments.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.work:
        engine, shape, count = given.work
        run = {"langgraph": run_langgraph, "dbos": run_dbos, "prefect": run_prefect}[engine]
        print(json.dumps(run(shape, int(count))))
        return
    bench = os.path.abspath(given.bench) if given.bench else None
    engines = [given.only] if given.only else [e for e in ENGINES if bench or e != "agent-eval"]
    be_heir()
    print(f"{given.tasks} tasks, medians of {given.rounds} rounds; Python {sys.version.split()[0]}, " +
          ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES))
    print("| engine | shape | CPU µs a task | wall µs a task | bytes a task |")
    print("|---|---|---|---|---|")
    found = {(engine, shape): [] for shape in SHAPES for engine in engines}
    for _ in range(given.rounds):
        for engine, shape in found:
            one, many = (
                cost(command_of(engine, shape, count, bench), engine != "agent-eval")
                for count in (1, given.tasks)
            )
            found[engine, shape].append([more - less for more, less in zip(many, one)])
    for (engine, shape), differences in found.items():
        cpu, wall, size = (statistics.median(column) / given.tasks for column in zip(*differences))
        print(f"| {engine} | {shape} | {cpu * 1e6:.0f} | {wall * 1e6:.0f} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
