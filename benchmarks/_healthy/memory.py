"""Whether a keeper grows: one hears many heartbeats, and its memory and descriptors are read early and at the end.

`python -m benchmarks._healthy.memory BEATS`. It runs in namespaces of its own; two ranks take a step a beat.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from allranks.core import Event
from allranks.output.report_live import Live
from benchmarks._healthy.spaces import apart, outcome_of

BEATS = 60_000
EARLY = 10
"""Read for the first time after the tenth part: the first beats load what is needed of the code."""


def made(beats: int = BEATS) -> dict[str, Any]:
    return outcome_of(apart("benchmarks._healthy.memory", str(beats)), 1200.0)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def measured(beats: int) -> dict[str, Any]:
    from tests.harness.keeper import KeptRun

    home, folder = Path("/tmp/home"), Path("/tmp/kept")
    home.mkdir(mode=0o700)
    folder.mkdir()
    kept = KeptRun(home, folder, begin=False)
    kept.keeper.report = live = Live(2)
    live.root = kept.directory.root  # type: ignore[attr-defined]
    kept.keeper.start()
    nodes = kept.both()
    read: list[tuple[int, int]] = []
    with contextlib.closing(kept):
        for rank, node in enumerate(nodes):
            node.say("start", rank, pid=os.getpid(), start_time=1, world_size=2)
        for number in range(beats // 2):
            for rank, node in enumerate(nodes):
                step = [number, 3.0 / (1 + number), 0.2, 0.0, 512, 1e-4]
                beat = {"phase": "training", "step": number, "steps": [step], "rss_bytes": 1 << 30}
                node.dial.send({"event": Event(time.time(), "beat", node.node, rank, beat).as_json()})
                if number % 50 == 0:
                    while not node.dial.drain(0.05):
                        pass
                    node.dial.poll(0)
            if number * 2 in (beats // EARLY, beats - 2):
                wait_for(kept, number)
                read.append((resident(), open_files()))
    (early, opened), (late, left) = read
    return {"keeper": [early, late], "open": [opened, left], "beats": beats, "ranks": 2, "steps": beats}


def wait_for(kept: Any, step: int) -> None:
    """Until the keeper has heard of this step."""
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline and kept.keeper.attempt.watch.run.step < step:
        time.sleep(0.2)


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))), flush=True)
