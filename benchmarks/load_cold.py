"""Loading the base from storage under ZeRO-3: each rank its own bytes, against `dd`, and with a node's cache.

Three ranks on gloo, a dense model of 1.5 B parameters (`SIZE=small`: 0.35 B). The pages of the model's files and of the
cache are dropped before each measurement (posix_fadvise). `ROUNDS=2`. LOAD_FOLDER: on which disk.

`dd` throws away what it reads, and a rank must keep it: on a disk as fast as memory, fresh memory costs as much as the
reading. So a second `dd` writes to files in /dev/shm, which are removed at once. And DISK_MB=1000 lets all of them
together, `dd` and ranks, read at most so many MB per second: by a control group of the kernel's (version 1, `blkio`),
which this program makes for itself and removes. That needs root.

On a node that has only some of the ranks, the kernel may fetch more from storage than the ranks need. So the ranges of
each rank are also read alone, by a process that needs no torch, which tells what the kernel fetched for it
(/proc/self/io, `read_bytes`).
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allranks.core import cache_folder
from allranks.node import bundle
from allranks.worker import byte_origin
from allranks.worker.byte_origin import ByteOrigin
from allranks.worker.partition_plan import Own, place_of
from allranks.worker.read_ahead import ReadAhead
from allranks.worker.tensor_origin import Stretch
from allranks.worker.weight_files import ITEM_BYTES, PIECE_BYTES, Files, numel
from benchmarks import load

TITLE = "Loading the base model from storage, and from a node's cache"
SIZE = os.environ.get("SIZE", "large")
ROUNDS = int(os.environ.get("ROUNDS", "2"))
DISK_MB = int(os.environ.get("DISK_MB", "0"))
DISK = f"one disk, limited to {DISK_MB:,} MB/s" if DISK_MB else "one disk"
GROUPS = Path("/sys/fs/cgroup/blkio")
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
        with limited(folder):
            rounds = [one_round(folder, folder / f"cache-{number}") for number in range(ROUNDS)]
        fetched = [alone(folder / "dense", ahead) for ahead in (True, False)]
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
        f"{load.RANKS} ranks, gloo, {DISK}, {size / load.MiB:,.0f} MiB, median of {ROUNDS} rounds. Reading is the "
        "slowest rank's, with the samples that are compared. Every rank's part of every parameter was the same bit for "
        "bit each time.\n\n"
        + "\n".join(lines)
        + f"\n\nReading cold takes {ratio(rounds, 'dd')} as long as `dd` (aim: 1.2), and "
        f"{ratio(rounds, 'dd, kept')} as long as a `dd` that keeps what it reads.\n\nFor a rank that is alone on its "
        f"node, storage gives {fetched[0]:.3f} times the bytes that it reads; {fetched[1]:.3f} times if the kernel is "
        "not asked ahead."
    )


@contextlib.contextmanager
def limited(folder: Path) -> Iterator[None]:
    """Within it this process and its children read at most DISK_MB from the folder's disk per second; 0: no limit."""
    if not DISK_MB:
        yield
        return
    device = folder.stat().st_dev
    own = re.search(r"^\d+:blkio:/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    before = GROUPS / (own.group(1) if own else "")
    group = GROUPS / f"load-cold-{os.getpid()}"
    group.mkdir()
    try:
        limit = f"{os.major(device)}:{os.minor(device)} {DISK_MB * 1_000_000}"
        (group / "blkio.throttle.read_bps_device").write_text(limit)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


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


def alone(model: Path, ahead: bool) -> float:
    """The bytes that storage gives to one rank of three, against those that it reads: of the rank that gets most."""
    code = "import sys; from benchmarks import load_cold; load_cold.read_alone(*sys.argv[1:3], sys.argv[3:])"
    found = []
    for rank in range(load.RANKS):
        drop(files(model))
        words = [sys.executable, "-c", code, str(rank), str(ahead), *map(str, files(model))]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=load.ROOT)
        found.append(float(done.stdout))
    return max(found)


def read_alone(rank: str, ahead: str, paths: list[str]) -> None:
    opened = Files()
    for path in paths:
        opened.add(path)
    own = []
    for name, place in opened.tensors.items():
        size = -(-numel(place.shape) // load.RANKS)
        first = int(rank) * size
        part = Stretch(name, first, min(size, numel(place.shape) - first))
        own.append(Own(name, None, None, (part,)))
    own.sort(key=lambda one: place_of(one, opened))
    origin, asked, needed = ByteOrigin(), ReadAhead(own if ahead == "True" else (), opened), 0
    for one in own:
        _, first, count = one.stretches[0]
        item = ITEM_BYTES[opened.tensors[one.name].dtype]
        for done in range(0, count * item, PIECE_BYTES):
            piece = bytearray(min(PIECE_BYTES, count * item - done))
            asked.reads(len(piece))
            opened.read(one.name, first * item + done, memoryview(piece))
            needed += len(piece)
    print(((byte_origin.fetched(origin.path) or 0) - (origin.begun or 0)) / needed)


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
