"""A launch over SSH on three nodes, one of which does not come up: how soon the others run nothing of it any more."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from tests.harness.on_rig import RigDesk
from tests.rig.refusal import BAD, PROGRAMS, Refused, refused
from tests.rig.rig import ROOT, Rig, only_one

TITLE = "A node that does not come up at launch"
ROUNDS = int(os.environ.get("LAUNCH_ROUNDS", "3"))
LOOP = ROOT / "tests" / "runs" / "scripts" / "loop.py"
AIM_SECONDS = 5.0


def measure() -> str:
    """From the moment when a program on node 3 refuses to start to the last process of the run on the other two."""
    if os.geteuid():
        return "The rig needs root: nothing was measured."
    lines = [
        "| what does not come up on node 3 | named | the others' ranks gone, s | their supervisors too, s |",
        "|---|---|---|---|",
    ]
    slowest = 0.0
    with only_one(), Rig(3, shared=[sys.prefix]) as rig:
        for what in PROGRAMS:
            results = [once(rig, what) for _ in range(ROUNDS)]
            named = sum(right(result) for result in results)
            ranks = [r.ranks_seconds for r in results if r.ranks_seconds is not None]
            both = [r.all_seconds for r in results if r.all_seconds is not None]
            slowest = max([slowest, *(ranks or both)])
            lines.append(f"| {what} | {named} of {ROUNDS} | {shown(ranks)} | {shown(both)} |")
    lines.append(
        f"\nMedian (slowest) of {ROUNDS}. `named`: one finding that blocks, and it names the node. Supervisors stay "
        f"until the run's report is written. Slowest stop **{slowest:.1f} s** (aim ≤ {AIM_SECONDS:.0f})."
    )
    return "\n".join(lines)


def once(rig: Rig, what: str) -> Refused:
    with tempfile.TemporaryDirectory() as folder:
        return refused(rig, RigDesk(rig, Path(folder)), what, LOOP)


def right(result: Refused) -> bool:
    said = json.loads(result.said)
    findings = [one for run in said.get("runs") or [said] for one in run.get("findings", [])]
    blocking = [one["where"]["node"] for one in findings if one["verdict"] == "block"]
    return blocking == [f"node{BAD}"]


def shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} ({max(seconds):.1f})" if seconds else "none was started"
