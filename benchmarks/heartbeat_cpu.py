"""What the heartbeats cost: CPU of the same training steps with `inside` and without it.

The two of a pair run at the same time, each on a core of its own, so that whatever else the machine does in that
minute slows both; which core has which alternates.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from allranks.node import bundle

TITLE = "Heartbeats: CPU of a step with them and without"
PAIRS = 12
STEPS = 440
STEP = Path(__file__).parent / "_heartbeat_loop.py"


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="heartbeat-") as folder:
        zip_path = Path(folder) / "bundle.zip"
        zip_path.write_bytes(bundle.build())
        pair(folder, zip_path, swapped=False)
        pairs = [pair(folder, zip_path, swapped=bool(number % 2)) for number in range(PAIRS)]
        beats = len(Path(folder, "rank-0.jsonl").read_text().splitlines())
    costs = [100 * (with_ / without - 1) for with_, without in pairs]
    low, high = interval(costs)
    step = statistics.median(without for _, without in pairs) / STEPS
    return (
        f"{PAIRS} pairs of {STEPS} steps of {1e3 * step:.1f} ms of CPU each, both at once, cores alternating, a beat a "
        f"second "
        f"({beats} lines written in all). CPU (user and system) with heartbeats against without: median "
        f"**{statistics.median(costs):+.2f} %**, 95 % interval of the median {low:+.2f} % to {high:+.2f} % "
        f"(bootstrap; aim ≤ 1 %)."
    )


def pair(folder: str, zip_path: Path, swapped: bool) -> tuple[float, float]:
    """CPU seconds of the steps with heartbeats and without, as the two processes themselves count them."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    with_, without = (cores[-1], cores[0]) if swapped else (cores[0], cores[-1])
    started = [start(folder, zip_path, True, with_), start(folder, zip_path, False, without)]
    for process, _ in started:
        if process.wait() != 0:
            raise RuntimeError("the loop failed")
    beats, none = (json.loads(result.read_text())["cpu_seconds"] for _, result in started)
    return float(beats), float(none)


def start(folder: str, zip_path: Path, with_beats: bool, core: int) -> tuple[subprocess.Popen, Path]:
    """The loop on one core, and the file that it writes its result to."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    environment["STEPS"] = str(STEPS)
    if with_beats:
        environment.update(
            PYTHONPATH=str(zip_path),
            ALLRANKS_RUN_ID="bench",
            ALLRANKS_NODE="node-0",
            ALLRANKS_RANKS_DIR=folder,
            ALLRANKS_LOGS_DIR="",
            ALLRANKS_STACKS_DIR=folder,
            ALLRANKS_BEAT_SECONDS="1.0",
        )
    result = Path(folder) / f"result-{with_beats}.json"
    command = ["taskset", "-c", str(core), sys.executable, str(STEP), str(result)]
    return subprocess.Popen(command, env=environment), result


def interval(values: list[float], rounds: int = 4000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]
