"""How long `allranks --help` takes against a bare interpreter's start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

TITLE = "`allranks --help` against a bare interpreter"
ROUNDS = 21


def measure() -> str:
    command = [str(Path(sys.executable).parent / "allranks"), "--help"]
    bare = [sys.executable, "-c", "pass"]
    pairs = [(seconds(bare), seconds(command)) for _ in range(ROUNDS + 1)][1:]
    ratios = [ours / theirs for theirs, ours in pairs]
    return (
        f"Median of {ROUNDS} alternating pairs: bare {statistics.median(p[0] for p in pairs) * 1e3:.0f} ms, "
        f"`--help` {statistics.median(p[1] for p in pairs) * 1e3:.0f} ms, "
        f"ratio **{statistics.median(ratios):.1f}** (aim ≤ 8)."
    )


def seconds(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin
