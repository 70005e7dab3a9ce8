"""The stack of a process by py-spy, if it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import List, NamedTuple, Optional

from allranks.core.rank_events import Frame, Stack
from allranks.node import processes

PYSPY_SECONDS = 5.0
PYSPY_BYTES = 4 << 20
FRAMES = 48


class Watched(NamedTuple):
    """One rank's process as the supervisor knows it."""

    rank: int
    pid: int
    start_time: int


def pyspy(python: str) -> Optional[str]:
    """py-spy of the training environment, else of the PATH; None if there is none."""
    beside = os.path.join(os.path.dirname(python), "py-spy") if os.path.isabs(python) else ""
    return beside if beside and os.access(beside, os.X_OK) else shutil.which("py-spy")


def by_pyspy(program: str, one: Watched) -> Stack:
    """Without frames it says why. The process is not paused for it."""
    if processes.start_time(one.pid) != one.start_time:
        return Stack(frames=None, by="py-spy", why="the process is gone")
    argv = [program, "dump", "--json", "--nonblocking", "--pid", str(one.pid)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PYSPY_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Stack(frames=None, by="py-spy", why=type(error).__name__)
    frames = pyspy_frames(done.stdout[:PYSPY_BYTES], one.pid) if done.returncode == 0 else None
    if frames is None:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Stack(frames=None, by="py-spy", why=(said[-1] if said else "it printed no stack")[:200])
    return Stack(frames=frames, by="py-spy")


def pyspy_frames(text: bytes, pid: int) -> Optional[List[Frame]]:
    """The main thread's [file, line, function], outermost first, of `py-spy dump --json` (0.4.3)."""
    try:
        threads = json.loads(text.decode("utf-8", "replace"))
        main = next(
            t for t in threads if pid in (t.get("os_thread_id"), None) or t["thread_name"] == "MainThread"
        )
        frames = [Frame(str(f["filename"]), int(f["line"]), str(f["name"])) for f in main["frames"][:FRAMES]]
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return None
    return frames[::-1]
