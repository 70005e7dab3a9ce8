"""What the heartbeats cost: CPU of the same training steps with `inside` and without it.

Two processes differ by several percent for life (addresses, caches), far more than what is looked for. So one process
takes what `inside` put into torch out and in again, a short block of steps each, and the thread that writes the beats
is counted for itself by the kernel.

Twice: with the step of the demo (its model, adapter and batch), and with the shortest that anybody would train.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from allranks.node import bundle

TITLE = "Heartbeats: CPU of a step with them and without"
PROCESSES = 5
MODEL = Path(__file__).resolve().parent.parent / ".cache" / "tiny-deepseek-v3" / "model"
LOOP = Path(__file__).parent / "_heartbeat_loop.py"


def measure() -> str:
    demo = measured(
        "The demo's model, adapter and batch under DeepSpeed ZeRO-3", str(MODEL), blocks=120, steps=2
    )
    short = measured("Two layers of 512 × 512", "", blocks=100, steps=15)
    return (
        f"CPU with heartbeats against without, a beat every second; aim ≤ 1 % of the step's.\n\n- {demo}\n- {short}\n\n"
        "The cost is per step: longer steps make the share smaller."
    )


def measured(what: str, model: str, blocks: int, steps: int) -> str:
    with tempfile.TemporaryDirectory(prefix="heartbeat-") as folder:
        zip_path = Path(folder) / "bundle.zip"
        zip_path.write_bytes(bundle.build())
        sizes = {"MODEL": model, "BLOCKS": str(blocks), "STEPS": str(steps)}
        loops = [loop(folder, zip_path, sizes) for _ in range(PROCESSES)]
        counted = steps_told(Path(folder))
    expected = PROCESSES * (blocks + 1) * steps
    if counted != expected:
        raise RuntimeError(
            f"{counted} steps told instead of {expected}: with and without are not what they say"
        )
    costs = [cost for one in loops for cost in costs_of(one)]
    low, high = interval(costs)
    step = statistics.median(without for one in loops for _, without in one["pairs"]) / steps
    thread = statistics.median(100 * one["heart"] / one["wall"] for one in loops)
    more = 1e6 * step * statistics.median(costs) / 100
    return (
        f"{what}, a step of {1e3 * step:.1f} ms of CPU: median **{statistics.median(costs):+.2f} %**, 95 % interval "
        f"{low:+.2f} % to {high:+.2f} % (bootstrap), {more:.0f} µs a step, in it {thread:.2f} % of the thread that "
        f"writes the beats. {PROCESSES} processes, in each {blocks} times a block of {steps} steps with and one "
        "without, in turns."
    )


def loop(folder: str, zip_path: Path, sizes: dict[str, str]) -> dict:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        **sizes,
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def costs_of(one: dict) -> list[float]:
    """Percent a pair: what the others' threads take more, and the heart's share of the time the process ran."""
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
