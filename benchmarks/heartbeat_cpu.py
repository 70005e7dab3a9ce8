"""What the heartbeats cost: CPU of the same training steps with `inside` and without it.

Two processes differ by several percent for life (addresses, caches), far more than what is looked for. So one process
takes what `inside` put into torch out and in again, a short block of steps each, and the thread that writes the beats
is counted for itself by the kernel.
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
PROCESSES = 5
BLOCKS = 100
STEPS = 15
LOOP = Path(__file__).parent / "_heartbeat_loop.py"


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="heartbeat-") as folder:
        zip_path = Path(folder) / "bundle.zip"
        zip_path.write_bytes(bundle.build())
        loops = [loop(folder, zip_path) for _ in range(PROCESSES)]
        counted = steps_told(Path(folder))
    expected = PROCESSES * (BLOCKS + 1) * STEPS
    if counted != expected:
        raise RuntimeError(
            f"{counted} steps told instead of {expected}: with and without are not what they say"
        )
    costs = [cost for one in loops for cost in costs_of(one)]
    low, high = interval(costs)
    step = statistics.median(without for one in loops for _, without in one["pairs"]) / STEPS
    thread = statistics.median(100 * one["heart"] / one["wall"] for one in loops)
    more = 1e6 * step * statistics.median(costs) / 100
    return (
        f"{PROCESSES} processes, in each {BLOCKS} times a block of {STEPS} steps with and one without, in turns; a "
        f"step costs {1e3 * step:.1f} ms of CPU, a beat is written every second. CPU with heartbeats against without: "
        f"median **{statistics.median(costs):+.2f} %**, 95 % interval {low:+.2f} % to {high:+.2f} % (bootstrap; aim "
        f"≤ 1 %), {more:.0f} µs a step. In it {thread:.2f} % of the thread that writes the beats. The cost is per "
        f"step: longer steps make the share smaller."
    )


def loop(folder: str, zip_path: Path) -> dict:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "STEPS": str(STEPS),
        "BLOCKS": str(BLOCKS),
        "PYTHONPATH": str(zip_path),
        "ALLRANKS_RUN_ID": "bench",
        "ALLRANKS_NODE": "node-0",
        "ALLRANKS_RANKS_DIR": folder,
        "ALLRANKS_LOGS_DIR": "",
        "ALLRANKS_STACKS_DIR": folder,
        "ALLRANKS_BEAT_SECONDS": "1.0",
    }
    done = subprocess.run(
        [sys.executable, str(LOOP)], env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def costs_of(one: dict) -> list[float]:
    """Percent a pair: the main thread's more, and the heart's share of the time the process ran."""
    thread = one["heart"] / one["wall"]
    return [100 * (with_ / without - 1 + thread) for with_, without in one["pairs"]]


def steps_told(folder: Path) -> int:
    events = [
        json.loads(line) for path in folder.glob("rank-*.jsonl") for line in path.read_text().splitlines()
    ]
    return sum(len(event["data"]["steps"]) for event in events if event["kind"] == "beat")


def interval(values: list[float], rounds: int = 2000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]
