"""CPU time of the imports of one LLaMA-Factory rank, with and without Python's full garbage collections.

    python -m benchmarks imports        # ROUNDS=5

A plain process imports what LLaMA-Factory's start script imports; the other one puts the full collections off first,
and keeps what was imported away from later ones, as a rank does. In turns, after one of each to warm the files. Each
then collects fully once.
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
import gc, resource, sys, time
sys.path.insert(0, {source!r})
{before}
began = time.process_time()
import llamafactory.train.tuner
took = time.process_time() - began
{after}
began = time.process_time()
gc.collect()
print(took, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
PLAIN = "", ""
OURS = (
    "from allranks.worker.garbage import PutOff\nput_off = PutOff()\nput_off.begin()",
    "put_off.keep_imports()",
)


def one(before: str, after: str) -> tuple[float, ...]:
    """(seconds of CPU of the imports, of a full collection after them, MiB at most) of one process."""
    code = CODE.format(source=str(SOURCE), before=before, after=after)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return tuple(map(float, done.stdout.split("\n")[-2].split()))


def measure() -> str:
    rounds = [(one(*PLAIN), one(*OURS)) for _ in range(ROUNDS + 1)][1:]
    plain, ours = ([pair[way] for pair in rounds] for way in (0, 1))
    rows = [
        "| imports of LLaMA-Factory | s of CPU | a full collection after them, s | MiB |",
        "|---|---|---|---|",
    ]
    for said, found in (
        ("with full collections", plain),
        ("put off, and what was imported kept apart", ours),
    ):
        seconds, later, memory = (statistics.median(values) for values in zip(*found, strict=True))
        rows.append(f"| {said} | {seconds:.2f} | {later:.3f} | {memory:,.0f} |")
    ratios = sorted(b[0] / a[0] for a, b in rounds)
    return (
        "\n".join(rows)
        + f"\n\n{ROUNDS} pairs in turns, medians. Ratio **{statistics.median(ratios):.2f}** "
        + f"({ratios[0]:.2f} to {ratios[-1]:.2f})."
    )
