"""Scans many large logs on all cores. Each process scans some of the logs and passes on their content.

A worker writes its results to a file in a private folder: lines, and stretches without information. The logs are
still folded one after the other in their order, so the answer is the same as with one process. If a worker dies, its
log is scanned here.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from allranks.cli.log_files import Log, is_pipe
from allranks.core.file_kinds import is_file

WORTH_BYTES = 64 << 20
"""The total size of the logs from which a second process saves time."""

LOOK_SECONDS = 0.02
BATCH = 256
"""The number of lines and stretches that are written together."""

Scan = Callable[[Log, "str | None", list[str]], Iterator[Any]]
"""(log, its machine, notes) → the content of the log."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def size_of(log: Log) -> int:
    return sum(Path(file).stat().st_size for file in log.files if is_file(file))


def may_fork() -> bool:
    """Whether forking is safe. A program with several threads must not be forked: a lock that another thread holds
    would never be released."""
    return hasattr(os, "fork") and threading.active_count() == 1


class Workers:
    """The processes, and the logs that each of them scans. They end with the `with` block."""

    def __init__(self, logs: list[Log], hosts: dict[str, str], count: int, scan: Scan) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="allranks-logs-")
        self.of: dict[int, int] = {}
        self.alive: set[int] = set()
        shares: list[list[int]] = [[] for _ in range(count)]
        sizes = [0] * count
        for number in sorted(range(len(logs)), key=lambda n: -size_of(logs[n])):
            least = sizes.index(min(sizes))
            shares[least].append(number)
            sizes[least] += size_of(logs[number])
        for share in shares:
            pid = os.fork()
            if not pid:
                code = 1
                with contextlib.suppress(BaseException):  # no code of the parent may run in the child
                    work(
                        self.folder.name, [(n, logs[n], hosts.get(logs[n].name)) for n in sorted(share)], scan
                    )
                    code = 0
                os._exit(code)
            self.alive.add(pid)
            self.of.update(dict.fromkeys(share, pid))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.alive:
            os.kill(pid, signal.SIGKILL)  # a child, not waited for yet: nobody else can have its pid
            os.waitpid(pid, 0)
        self.folder.cleanup()

    def found(self, number: int, notes: list[str]) -> Iterator[Any] | None:
        """The content of this log from its worker; None if the worker died before it had read the whole log."""
        done = Path(self.folder.name, f"{number}.done")
        while not done.exists():
            pid = self.of[number]
            if pid in self.alive and os.waitpid(pid, os.WNOHANG)[0]:
                self.alive.remove(pid)
            if pid in self.alive:
                time.sleep(LOOK_SECONDS)
            elif not done.exists():
                return None
        notes += json.loads(done.read_text(encoding="utf-8"))
        return _unpacked(Path(self.folder.name, str(number)))


def are_shared(logs: list[Log]) -> bool:
    """Whether several processes scan these logs. The size of a pipe is not known."""
    if len(logs) < 2 or cores() < 2 or not may_fork():
        return False
    files = [file for log in logs for file in log.files]
    return not any(file == "-" or is_pipe(file) for file in files) and sum(map(size_of, logs)) >= WORTH_BYTES


def scanned(logs: list[Log], hosts: dict[str, str], notes: list[str], scan: Scan) -> Iterator[Any]:
    """The content of all logs, in their order."""
    if not are_shared(logs):
        for log in logs:
            yield from scan(log, hosts.get(log.name), notes)
        return
    with Workers(logs, hosts, min(cores(), len(logs)), scan) as workers:
        for number, log in enumerate(logs):
            found = workers.found(number, notes)
            yield from scan(log, hosts.get(log.name), notes) if found is None else found


def work(folder: str, logs: list[tuple[int, Log, str | None]], scan: Scan) -> None:
    """The work of one process: scans these logs, one after the other."""
    for number, log, host in logs:
        notes: list[str] = []
        with Path(folder, str(number)).open("wb") as file:
            _pack(scan(log, host, notes), file)
        ready = Path(folder, f"{number}.ready")
        ready.write_text(json.dumps(notes), encoding="utf-8")
        ready.rename(Path(folder, f"{number}.done"))


def _pack(found: Iterator[Any], file: IO[bytes]) -> None:
    from allranks.diagnose import Line

    batch: list[Any] = []
    for one in found:
        batch.append(tuple(one) if type(one) is Line else _plain(one))
        if len(batch) == BATCH:
            marshal.dump(batch, file)
            batch = []
    marshal.dump(batch, file)


def _plain(value: Any) -> Any:
    """Turns named tuples into plain tuples, at all levels."""
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _unpacked(path: Path) -> Iterator[Any]:
    from allranks.diagnose import Line
    from allranks.diagnose.stretches import Frames, Part, Stretch

    def told(pair: Any) -> Any:
        return None if pair is None else (pair[0], Line(*pair[1]))

    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            for one in marshal.load(file):  # a worker wrote it, in a folder that only this user can write to
                if type(one[0]) is tuple:
                    place, lines, number, last, texts, own, plain, headed = one
                    told_plain = None if plain is None else Line(*plain)
                    yield Frames(Line(*place), lines, number, Line(*last), texts, own, told_plain, headed)
                elif len(one) == len(Line._fields):
                    yield Line._make(one)
                else:
                    parts = (
                        Part(Line(*place), lines, first, last, told(plain), steps, told(step))
                        for place, lines, first, last, plain, steps, step in one[3]
                    )
                    source, count, time, _ = one
                    yield Stretch(source, count, time, tuple(parts))
    path.unlink()
