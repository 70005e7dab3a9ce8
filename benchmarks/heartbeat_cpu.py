"""What the heartbeats cost: CPU of the same training steps with `inside` and without it, in alternating pairs."""

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
PAIRS = 15
STEPS = 400
STEP = Path(__file__).parent / "_heartbeat_loop.py"


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="heartbeat-") as folder:
        zip_path = Path(folder) / "bundle.zip"
        zip_path.write_bytes(bundle.build())
        seconds(folder, zip_path, with_beats=True), seconds(folder, zip_path, with_beats=False)
        pairs = []
        for number in range(PAIRS):
            order = (True, False) if number % 2 else (False, True)
            found = {beats: seconds(folder, zip_path, beats) for beats in order}
            pairs.append((found[True], found[False]))
        beats = len(Path(folder, "rank-0.jsonl").read_text().splitlines())
    costs = [100 * (with_ / without - 1) for with_, without in pairs]
    low, high = interval(costs)
    step = statistics.median(without for _, without in pairs) / STEPS
    return (
        f"{PAIRS} pairs of {STEPS} steps of {1e3 * step:.1f} ms of CPU each, order alternating, one beat a second "
        f"({beats} lines written in all). CPU (user and system) with heartbeats against without: median "
        f"**{statistics.median(costs):+.2f} %**, 95 % interval of the median {low:+.2f} % to {high:+.2f} % "
        f"(bootstrap; aim ≤ 1 %)."
    )


def seconds(folder: str, zip_path: Path, with_beats: bool) -> float:
    """CPU seconds of the steps alone, as the process itself counts them."""
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
    result = Path(folder) / "result.json"
    subprocess.run([sys.executable, str(STEP), str(result)], env=environment, check=True)
    return float(json.loads(result.read_text())["cpu_seconds"])


def interval(values: list[float], rounds: int = 4000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]
