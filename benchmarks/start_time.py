"""From the end of the checks to the first optimizer step, against three torchruns started by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TITLE = "From the checks to the first step, against three torchruns by hand"
ROOT = Path(__file__).resolve().parent.parent
RUN_FILE = ROOT / "examples" / "tiny-deepseek-v3.yaml"
ROUNDS = 5
LIMIT_SECONDS = 240.0
BEGINS = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) >> \*{5} Running training \*{5}")
"""transformers' line before the first step, with its milliseconds."""


def measure() -> str:
    """Both sides train the same model with the same arguments; the first step is the first line of the
    trainer's own log, so the same thing is timed by the same means."""
    by_hand(), ours()
    pairs = [(by_hand(), ours()) for _ in range(ROUNDS)]
    ratios = [mine[0] / theirs for theirs, mine in pairs]
    lines = [
        "| round | by hand, s | allranks, s | ratio | its checks before that, s |",
        "|---|---|---|---|---|",
    ]
    for number, (theirs, mine) in enumerate(pairs, 1):
        lines.append(f"| {number} | {theirs:.2f} | {mine[0]:.2f} | {mine[0] / theirs:.3f} | {mine[1]:.2f} |")
    lines.append(
        f"\nMedian ratio **{statistics.median(ratios):.3f}** (aim ≤ 1.10), after one round of warm-up."
    )
    return "\n".join(lines)


def by_hand(
    base: Path | None = None, limit: float = LIMIT_SECONDS, begun: list[float] | None = None
) -> float:
    """Seconds from starting `benchmarks/by_hand.sh` to the first line of its trainer_log.jsonl. `base`: a folder with
    another model and data; `begun` gets the seconds until the first step begins."""
    folder = Path(tempfile.mkdtemp(prefix="by-hand-"))
    begin = time.time()
    process = subprocess.Popen(
        ["bash", str(ROOT / "benchmarks" / "by_hand.sh"), str(folder), *([str(base)] if base else [])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        step_at = first_step(folder, process, limit)
        if begun is not None:
            begun.append(training_began(folder) - begin)
        return step_at - begin
    finally:
        process.terminate()  # its trap ends the three torchruns; what comes after the first step is not timed
        process.wait(LIMIT_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def ours(
    run_file: Path = RUN_FILE, limit: float = LIMIT_SECONDS, begun: list[float] | None = None
) -> tuple[float, float]:
    """Seconds from the end of the checks to the first step, and the seconds of the checks. `begun`: as above."""
    home = Path(tempfile.mkdtemp(prefix="allranks-bench-"))
    shared = Path(os.environ.get("ALLRANKS_HOME", Path.home() / ".allranks"))
    for kept in ("cache", "bundles"):
        # The deep facts are cached between runs, as they are for a user's second run.
        if (shared / kept).is_dir():
            shutil.copytree(shared / kept, home / kept)
    allranks = str(Path(sys.executable).parent / "allranks")
    environment = {**os.environ, "ALLRANKS_HOME": str(home)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    process = subprocess.Popen([allranks, "run", str(run_file), "--json"], **quiet)
    try:
        step_at = first_step(home / "runs", process, limit)
        journal = next((home / "runs").glob("*/keeper/journal.jsonl"))
        phases = phase_times(journal)
        if begun is not None:
            begun.append(training_began(journal.parent.parent) - phases["prepare"])
        return step_at - phases["prepare"], phases["prepare"] - phases["check"]
    finally:
        for run in (home / "runs").glob("*"):
            subprocess.run([allranks, "stop", run.name, "-y"], check=False, **quiet)
        process.wait(LIMIT_SECONDS)
        shared.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kept in ("cache", "bundles"):
            if (home / kept).is_dir():
                shutil.copytree(home / kept, shared / kept, dirs_exist_ok=True)
        shutil.rmtree(home, ignore_errors=True)


def first_step(folder: Path, process: subprocess.Popen, seconds: float = LIMIT_SECONDS) -> float:
    """The time at which some trainer_log.jsonl below `folder` gets its first line."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        for path in folder.rglob("trainer_log.jsonl"):
            if path.stat().st_size:
                return path.stat().st_mtime if path.read_text().count("\n") == 1 else time.time()
        if process.poll() not in (None, 0):
            break
        time.sleep(0.02)
    raise RuntimeError(f"no first step below {folder} within {seconds:.0f} s")


def training_began(folder: Path) -> float:
    """The time at which a trainer in one of the logs below `folder` said that it begins with the first step."""
    for path in folder.rglob("*.log"):
        found = BEGINS.search(path.read_text(errors="replace"))
        if found is not None:
            return (
                time.mktime(time.strptime(found.group(1), "%Y-%m-%d %H:%M:%S")) + int(found.group(2)) / 1000
            )
    raise RuntimeError(f"no log below {folder} says that the training begins")


def phase_times(journal: Path) -> dict[str, float]:
    times: dict[str, float] = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["kind"] == "phase":
            times.setdefault(event["data"]["phase"], event["at"])
    return times
