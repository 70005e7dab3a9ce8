"""What tests start, as one family: `desk` (a person's command line), `node`, `rank`, `keeper`, `stand_ins`.

Each has a folder of its own, waits for states with a deadline, and ends what it began.
Beside them `cost` says what a call costs, whatever the machine does.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def until(holds: Callable[[], Any], what: Any = "", seconds: float = 240.0, every: float = 0.02) -> Any:
    """What `holds` says as soon as that is true. Fails after `seconds` with `what`, which may be a function that looks
    why."""
    deadline = time.monotonic() + seconds
    while not (answer := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what or holds}")
        time.sleep(every)
    return answer


def ports_of_worker(worker: str) -> Iterator[int]:
    """The ports of one worker of pytest, over and over, from a place by chance: two never get the same one, and nobody
    gets one twice in a row."""
    mine = range(20000, 28800)[int(worker.removeprefix("gw") or 0) % 8 :: 8]
    start = random.randrange(len(mine))
    return itertools.cycle([*mine[start:], *mine[:start]])


PORTS = ports_of_worker(os.environ.get("PYTEST_XDIST_WORKER", ""))


def free_port() -> int:
    """A port that nobody holds and that the kernel hands to nobody who asks for any: a run needs it seconds later, and
    its own sockets would get one that was free a moment ago."""
    for port in itertools.islice(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError("100 ports in a row are taken")


class Harness:
    """A folder of its own, processes that end with it, and waits with a deadline."""

    seconds, every = 240.0, 0.02
    """How long it waits for a state, and how often it looks."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.children: list[subprocess.Popen] = []

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, command: Sequence[str], **options: Any) -> subprocess.Popen:
        self.children.append(subprocess.Popen(command, **options))
        return self.children[-1]

    def until(self, holds: Callable[[], Any], what: Any = "", seconds: float | None = None) -> Any:
        return until(holds, what, seconds or self.seconds, self.every)

    def close(self) -> None:
        for child in reversed(self.children):
            child.kill()
            child.wait()
