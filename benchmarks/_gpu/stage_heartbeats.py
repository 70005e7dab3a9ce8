"""What the heartbeats cost a step on a GPU, the events of a rank's own time among it: `_heartbeat_loop.py` with
DEVICE, whose gradients NCCL reduces, with everything of ours in torch and with all of it taken out, in turns."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from allranks.node import bundle
from benchmarks import heartbeat_cpu as ours
from benchmarks._gpu.parts import Machine, Part

TITLE = "Heartbeats: time of a GPU's step with them and without"
AIM = 1.0
"""Percent of a step, at most."""

TINY = {"WIDTH": "16", "LAYERS": "2", "BLOCKS": "2", "STEPS": "2"}


def measure(layers: int, blocks: int, steps: int) -> Any:
    def measured(machine: Machine) -> dict[str, Any]:
        sizes = {"WIDTH": "4096", "LAYERS": str(layers), "BLOCKS": str(blocks), "STEPS": str(steps)}
        return cost(machine, TINY if machine.tiny else sizes, 1 if machine.tiny else 3)

    return measured


def cost(machine: Machine, sizes: dict[str, str], processes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gpu-beats-") as folder:
        zip_path = Path(folder) / "bundle.zip"
        zip_path.write_bytes(bundle.build())
        env = {"DEVICE": machine.device, "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo", **sizes}
        loops = [ours.loop(folder, zip_path, env) for _ in range(processes)]
        counted = ours.steps_told(Path(folder))
        own = own_times(Path(folder))
    blocks, steps = int(sizes["BLOCKS"]), int(sizes["STEPS"])
    expected = processes * (blocks + 1) * steps
    if counted != expected:
        raise RuntimeError(
            f"{counted} steps told instead of {expected}: with and without are not what they say"
        )
    # On a GPU the clock holds the heart's thread, too; on a CPU it is counted apart.
    pairs = [pair for one in loops for pair in one["pairs"]]
    costs = [100 * (with_ / without - 1) for with_, without in pairs]
    low, high = ours.interval(costs)
    middle = statistics.median(costs)
    return {
        "percent": middle,
        "interval": [low, high],
        "step_seconds": statistics.median(without for _, without in pairs) / steps,
        "pairs": len(pairs),
        "processes": processes,
        "own_times_told": own,
        "met": None if machine.tiny else bool(middle <= AIM and own > 0),
    }


def own_times(folder: Path) -> int:
    """How many steps told their own time: on a GPU each of them cost two events."""
    events = [
        json.loads(line) for path in folder.glob("rank-*.jsonl") for line in path.read_text().splitlines()
    ]
    return sum(
        len(step) > 6 and step[6] is not None
        for event in events
        if event["kind"] == "beat"
        for step in event["data"]["steps"]
    )


PARTS = (
    Part("short", measure(8, 30, 25), 150.0, ("torch",)),
    Part("usual", measure(40, 25, 8), 180.0, ("torch",)),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    lines = [f"A step's time with heartbeats against without, a beat every second; aim ≤ {AIM:g} %.", ""]
    for one in parts.values():
        low, high = one["interval"]
        lines.append(
            f"- A step of {1e3 * one['step_seconds']:.1f} ms: median **{one['percent']:+.2f} %**, 95 % interval "
            f"{low:+.2f} % to {high:+.2f} % (bootstrap) of {one['pairs']} pairs in {one['processes']} processes; "
            f"{one['own_times_told']} steps told their own time by CUDA events."
        )
    return "\n".join(lines)
