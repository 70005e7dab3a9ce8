"""Many large logs on all cores: processes that scan logs each for itself, and hand over what is in them.

What a worker finds of a log goes to a file in a private folder: lines, and stretches of lines that say nothing. The
logs are still folded one after the other in their order, so the answer is that of one process. A log whose worker died
is scanned here.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from allranks.cli.log_files import Log, is_pipe

WORTH_BYTES = 64 << 20
"""Of all logs together, from which on starting processes (a third of a second each) saves time."""

BATCH = 256
"""Lines and stretches that are written at once."""

_CODE = "import sys; sys.path[:] = sys.argv[2:]; from allranks.cli.log_workers import work; work(sys.argv[1])"

Scan = Callable[[Log, "str | None", list[str]], Iterator[Any]]
"""(log, its machine, notes) to what is in it."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def size_of(log: Log) -> int:
    return sum(Path(file).stat().st_size for file in log.files)


class Workers:
    """The processes, and which of them scans which logs. They end with the `with` block."""

    def __init__(self, logs: list[Log], hosts: dict[str, str], count: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="allranks-logs-")
        self.of: dict[int, subprocess.Popen[bytes]] = {}
        shares: list[list[int]] = [[] for _ in range(count)]
        sizes = [0] * count
        for number in sorted(range(len(logs)), key=lambda n: -size_of(logs[n])):
            least = sizes.index(min(sizes))
            shares[least].append(number)
            sizes[least] += size_of(logs[number])
        for share in shares:
            told = [(n, logs[n].name, logs[n].files, hosts.get(logs[n].name)) for n in sorted(share)]
            worker = subprocess.Popen(
                [sys.executable, "-c", _CODE, self.folder.name, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.of.update(dict.fromkeys(share, worker))
            with contextlib.suppress(OSError), worker.stdin as pipe:  # type: ignore[union-attr]  # it is a pipe
                pipe.write(json.dumps(told).encode())

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in set(self.of.values()):
            worker.kill()
            worker.wait()
        self.folder.cleanup()

    def found(self, number: int, notes: list[str]) -> Iterator[Any] | None:
        """What a worker found in this log; None if it died before it had read all of it."""
        done = Path(self.folder.name, f"{number}.done")
        worker = self.of[number]
        while not done.exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(timeout=0.05)
                if not done.exists():
                    return None
        notes += json.loads(done.read_text(encoding="utf-8"))
        return _unpacked(Path(self.folder.name, str(number)))


def scanned(logs: list[Log], hosts: dict[str, str], notes: list[str], scan: Scan) -> Iterator[Any]:
    """What is in all logs, in their order."""
    files = [file for log in logs for file in log.files]
    alone = len(logs) < 2 or cores() < 2 or any(file == "-" or is_pipe(file) for file in files)
    if alone or sum(map(size_of, logs)) < WORTH_BYTES:
        for log in logs:
            yield from scan(log, hosts.get(log.name), notes)
        return
    with Workers(logs, hosts, min(cores(), len(logs))) as workers:
        for number, log in enumerate(logs):
            found = workers.found(number, notes)
            yield from scan(log, hosts.get(log.name), notes) if found is None else found


def work(folder: str) -> None:
    """One worker: the logs that standard input names, one after the other."""
    from allranks.cli.diagnose_verb import scanner

    scan = scanner()
    for number, name, files, host in json.load(sys.stdin):
        notes: list[str] = []
        with Path(folder, str(number)).open("wb") as file:
            _pack(scan(Log(name, tuple(files)), host, notes), file)
        ready = Path(folder, f"{number}.ready")
        ready.write_text(json.dumps(notes), encoding="utf-8")
        ready.rename(Path(folder, f"{number}.done"))


def _pack(found: Iterator[Any], file: IO[bytes]) -> None:
    batch: list[Any] = []
    for one in found:
        batch.append(_plain(one))
        if len(batch) == BATCH:
            marshal.dump(batch, file)
            batch = []
    marshal.dump(batch, file)


def _plain(value: Any) -> Any:
    """Tuples of tuples, without their names."""
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _unpacked(path: Path) -> Iterator[Any]:
    from allranks.diagnose import Line
    from allranks.diagnose.stretches import Part, Stretch

    def told(pair: Any) -> Any:
        return None if pair is None else (pair[0], Line(*pair[1]))

    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            for one in marshal.load(file):  # written by our own worker, in a folder that is ours alone
                if len(one) == len(Line._fields):
                    yield Line(*one)
                else:
                    parts = (
                        Part(Line(*place), lines, first, last, told(plain), steps, told(step))
                        for place, lines, first, last, plain, steps, step in one[3]
                    )
                    source, count, time, _ = one
                    yield Stretch(source, count, time, tuple(parts))
    path.unlink()
