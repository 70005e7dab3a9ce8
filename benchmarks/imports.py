"""CPU time of the imports of one LLaMA-Factory rank, with and without Python's full garbage collections.

    python -m benchmarks imports        # ROUNDS=5

A plain process imports what LLaMA-Factory's start script imports; the other one puts the full collections off first,
as a rank does. In turns, after one of each to warm the files.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

TITLE = "Imports of a rank, without full garbage collections"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SOURCE = Path(__file__).resolve().parent.parent / "src"
CODE = """
import resource, sys, time
sys.path.insert(0, {source!r})
{before}
began = time.process_time()
import llamafactory.train.tuner
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
PUT_OFF = "from allranks.worker.garbage import PutOff\nPutOff().begin()"


def one(before: str) -> tuple[float, float]:
    """(seconds of CPU, MiB at most) of one process."""
    code = CODE.format(source=str(SOURCE), before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, memory = done.stdout.split("\n")[-2].split()
    return float(seconds), float(memory)


def measure() -> str:
    rounds = [(one(""), one(PUT_OFF)) for _ in range(ROUNDS + 1)][1:]
    plain, ours = ([pair[way] for pair in rounds] for way in (0, 1))
    rows = ["| imports of LLaMA-Factory | s of CPU | MiB |", "|---|---|---|"]
    for said, found in (("with full collections", plain), ("put off", ours)):
        seconds, memory = (statistics.median(values) for values in zip(*found, strict=True))
        rows.append(f"| {said} | {seconds:.2f} | {memory:,.0f} |")
    ratios = sorted(b[0] / a[0] for a, b in rounds)
    return (
        "\n".join(rows)
        + f"\n\n{ROUNDS} pairs in turns, medians. Ratio **{statistics.median(ratios):.2f}** "
        + f"({ratios[0]:.2f} to {ratios[-1]:.2f})."
    )
