"""What the keeper itself costs, with its listener, its journal and its report: a real one, fed over TCP in real time.

    python -m benchmarks keeper_cpu
    BEAT=1 …                              the ranks of the large run beat every second, as those of a small one do

Another process is all supervisors: it dials once a node and sends what simulated ranks say (`_simulated.py`), with as
many beats as the ranks of so large a run have (`launch/jobs.py`), a sample a node every five seconds and the nodes'
own words each second. CPU is this process's own.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from allranks.core import Event
from allranks.launch.jobs import beat_seconds
from allranks.node.keeper_link import KeeperLink
from allranks.node.paths import RunDirectory
from allranks.output.report_live import Live
from allranks.runs.keeper import Keeper
from benchmarks._simulated import Shape, events

TITLE = "The keeper's own cost"
KEY = bytes(32)
RUN = "cost-1121-abcd"
BEAT = float(os.environ.get("BEAT") or beat_seconds(8000))
SHAPES = {
    "3 nodes × 8 ranks": Shape(3, 8, seconds=60.0, load_seconds=5.0, late=0.0),
    "1,000 nodes × 8 ranks": Shape(1000, 8, seconds=40.0, load_seconds=5.0, late=0.0, beat=BEAT),
}
SETTLE_SECONDS = 10.0
"""Joining and the first phases are not what a long run costs."""


class Hearing(Live):
    """The report as a run has it, and how late the newest beat was, against the least late of all."""

    def __init__(self, world_size: int):
        super().__init__(world_size)
        self.late: list[float] = []
        self.beats = 0

    def add(self, event: Any) -> None:
        super().add(event)
        if event["kind"] == "beat":
            self.beats += 1
            self.late.append(time.time() - event["at"])


def feed(port: int, shape: Shape, begin: Any, ended: Any) -> None:
    """All supervisors in one process: what is said is sent when it is due."""
    names = sorted({str(e.node) for e in events(replace(shape, seconds=1.0))} | names_of(shape))
    dials = {name: KeeperLink(KEY, "127.0.0.1", port, name) for name in names}
    for dial in dials.values():
        assert dial.connect(30.0)
    began = time.time()
    begin.set()
    alive_at = began
    for event in events(shape):
        while time.time() < began + event.at:
            time.sleep(min(0.05, max(0.0, began + event.at - time.time())))
        if time.time() >= alive_at:
            alive_at += 1.0
            for dial in dials.values():
                dial.tell({"alive": time.time()})
                dial.poll(0)
        if event.node in dials:
            told = Event(time.time(), event.kind, event.node, event.rank, event.data)
            dials[event.node].send({"event": told.as_json()})
    ended.set()
    for name, dial in dials.items():
        for kind, data in (("torchrun-ended", {"code": 0, "failures": []}), ("swept", {"why": "ended"})):
            dial.send({"event": Event(time.time(), kind, name, None, data).as_json()})
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline and any(not dial.drain(0.2) for dial in dials.values()):
        pass


def names_of(shape: Shape) -> set[str]:
    return {str(e.node) for e in events(replace(shape, seconds=shape.load_seconds + 2.0)) if e.node}


def job_of(shape: Shape, names: list[str], output: Path) -> dict[str, Any]:
    keep = {"name": "cost", "file": None, "nodes": names, "join_seconds": 120.0, "output_dir": str(output)}
    expect = {"world_size": shape.nodes * shape.per_node}
    return {
        "run_id": RUN,
        "node": names[0],
        "keeper": {"host": "127.0.0.1", "port": 0},
        "grace_seconds": 1.0,
        "lease_seconds": 60.0,
        "inside": "",
        "env": {},
        "keep": {**keep, "keep": 2, "python": "python3", "expect": expect, "adapter": None},
    }


def cost(
    shape: Shape, beside: Callable[[str], AbstractContextManager[Any]] | None = None
) -> dict[str, float]:
    """CPU seconds a second while all ranks train, microseconds a beat, how late beats were, MiB at most. `beside(home)`
    is entered before the time is taken: somebody who looks at the run."""
    names = sorted(names_of(shape))
    with tempfile.TemporaryDirectory(prefix="keeper-") as folder:
        directory = RunDirectory(RUN, folder)
        directory.create(node=names[0], keeper=True)
        hearing = Hearing(shape.nodes * shape.per_node)
        keeper = Keeper(directory, job_of(shape, names, Path(folder, "output")), KEY, hearing)
        keeper.start()
        spawn = multiprocessing.get_context("spawn")
        begin, ended = spawn.Event(), spawn.Event()
        feeder = spawn.Process(target=feed, args=(keeper.port, shape, begin, ended), daemon=True)
        feeder.start()
        begin.wait(300.0)
        time.sleep(shape.load_seconds)
        with beside(folder) if beside else contextlib.nullcontext():
            time.sleep(SETTLE_SECONDS)
            spent, at, beats, first = time.process_time(), time.time(), hearing.beats, len(hearing.late)
            ended.wait(600.0)
            spent, seconds = time.process_time() - spent, time.time() - at
            told, late = hearing.beats - beats, hearing.late[first:]
        keeper.join(180.0)
        state = json.loads(Path(directory.keeper.state).read_text())
        feeder.terminate()
        if state["state"] not in ("succeeded", "failed"):
            raise RuntimeError(f"the keeper did not end: {state['state']} {state['why']}")
    alarms = [f["id"] for f in state["findings"] if f["verdict"] in ("warn", "block")]
    late.sort()
    return {
        "share": spent / seconds,
        "each": spent / max(1, told) * 1e6,
        "beats": told / seconds,
        "late": late[int(0.99 * len(late))] - min(late) if late else float("inf"),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "alarms": float(len(alarms)),
    }


def measure() -> str:
    rows = []
    for name, shape in SHAPES.items():
        found = cost(shape)
        rows.append(
            f"- {name}: **{found['share']:.1%}** of a core at {found['beats']:,.0f} beats a second "
            f"({found['each']:.0f} µs each, journal, judgement and report included); 99 % of the beats were in the"
            f" journal within {found['late']:.2f} s of the quickest; {found['memory']:.0f} MiB;"
            f" {found['alarms']:.0f} alarms"
        )
    return "\n".join([*rows, "", "Aim: ≤ 5 % of a core at 24 ranks; 1,000 nodes × 8 ranks in real time."])
