"""Loading the base from storage under ZeRO-3: each rank its own bytes, against `dd`, and with a node's cache.

Three ranks on gloo, a dense model of 1.5 B parameters (`SIZE=small`: 0.35 B). The pages of the model's files and of the
cache are dropped before each measurement (posix_fadvise). `ROUNDS=2`. LOAD_FOLDER: on which disk.

`dd` throws away what it reads, and a rank must keep it: on a disk as fast as memory, fresh memory costs as much as the
reading. So a second `dd` writes to files in /dev/shm, which are removed at once.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from allranks.core import cache_folder
from allranks.node import bundle
from benchmarks import load

TITLE = "Loading the base model from storage, and from a node's cache"
SIZE = os.environ.get("SIZE", "large")
ROUNDS = int(os.environ.get("ROUNDS", "2"))
NOTE = re.compile(r"read ([\d,]+) bytes of the base in ([\d.]+) s")
WAYS = ("dd", "dd, kept", "cold", "written", "cached, cold", "cached, warm")
DD = WAYS[:2]
SAYS = {
    "dd": "`dd`, as many readers, cold",
    "dd, kept": "`dd`, as many readers, cold, into memory",
    "cold": "own, cold",
    "written": "own, cold, and written to the cache",
    "cached, cold": "own, from the cache, cold",
    "cached, warm": "own, from the cache, in the page cache",
}


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="load-", dir=os.environ.get("LOAD_FOLDER")) as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(bundle.build())
        parameters = load.make(folder, "dense", SIZE)
        rounds = [one_round(folder, folder / f"cache-{number}") for number in range(ROUNDS)]
        size = sum(file.stat().st_size for file in files(folder / "dense"))
    lines = [
        f"| dense, {parameters / 1e6:,.0f} M parameters | reading, s | `from_pretrained`, s |",
        "|---|---|---|",
    ]
    for way in WAYS:
        reading = statistics.median(one[way][0] for one in rounds)
        whole = "" if way in DD else f"{statistics.median(one[way][1] for one in rounds):.2f}"
        lines.append(f"| {SAYS[way]} | {reading:.2f} | {whole} |")
    return (
        f"{load.RANKS} ranks, gloo, one disk, {size / load.MiB:,.0f} MiB, median of {ROUNDS} rounds. Reading is the "
        "slowest rank's, with the samples that are compared. Every rank's part of every parameter was the same bit for "
        "bit each time.\n\n"
        + "\n".join(lines)
        + f"\n\nReading cold takes {ratio(rounds, 'dd')} as long as `dd` (aim: 1.2), and "
        f"{ratio(rounds, 'dd, kept')} as long as a `dd` that keeps what it reads."
    )


def ratio(rounds: list[dict[str, tuple[float, float]]], peer: str) -> str:
    found = sorted(one["cold"][0] / one[peer][0] for one in rounds)
    return f"**{statistics.median(found):.2f} times** ({found[0]:.2f} to {found[-1]:.2f})"


def one_round(folder: Path, cache: Path) -> dict[str, tuple[float, float]]:
    """(seconds of reading, of `from_pretrained`) by the way."""
    model = folder / "dense"
    for _ in range(
        2
    ):  # the first brings the files into caches outside this machine: a hypervisor's, a disk's
        drop(files(model))
        first = dd(files(model))
    drop(files(model))
    with tempfile.TemporaryDirectory(prefix="load-", dir="/dev/shm") as memory:
        found = {"dd": (first, 0.0), "dd, kept": (dd(files(model), memory), 0.0)}
    told: dict[str, Any] = {}
    for way in WAYS[len(DD) :]:
        if way != "cached, warm":
            drop([*files(model), *cache.rglob("*.part")])
        more = {} if way == "cold" else {cache_folder.PATH: str(cache)}
        told[way] = load.load(folder, "dense", "own", **more)
        found[way] = max(seconds(one) for one in told[way]), max(one["seconds"] for one in told[way])
        wanted = {"cold": "", "written": "; cache: written to it"}.get(way, "; cache: read from it")
        if not all(wanted in one["notes"][-1] for one in told[way]):
            raise RuntimeError(f"{way}: {told[way][0]['notes']}")
        if [one["digests"] for one in told[way]] != [one["digests"] for one in told["cold"]]:
            raise RuntimeError(f"{way}: other values")
        print(way, found[way], file=sys.stderr, flush=True)
    return found


def seconds(told: dict[str, Any]) -> float:
    match = NOTE.search(told["notes"][-1])
    if match is None:
        raise RuntimeError(f"not read by allranks' loader: {told['notes']}")
    return float(match[2])


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def drop(paths: list[Path]) -> None:
    """Writes them to the disk and out of the page cache."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def dd(paths: list[Path], memory: str | None = None) -> float:
    """Seconds in which as many readers as ranks read all files, each a part of every file. `memory`: a folder in
    memory for what they read."""
    jobs = []
    for reader in range(load.RANKS):
        words = []
        for path in paths:
            part = -(-path.stat().st_size // load.RANKS)
            out = f"{memory}/{reader}-{path.name}" if memory else "/dev/null"
            words.append(
                f"dd if={path} of={out} bs=16M iflag=skip_bytes,count_bytes skip={reader * part} count={part}"
            )
        jobs.append(" && ".join(words))
    began = time.monotonic()
    running = [subprocess.Popen(["sh", "-c", job], stderr=subprocess.DEVNULL) for job in jobs]
    if any(one.wait(load.LIMIT_SECONDS) for one in running):
        raise RuntimeError("dd failed")
    took = time.monotonic() - began
    print("dd", took, file=sys.stderr, flush=True)
    return took


if __name__ == "__main__":
    print(measure())
