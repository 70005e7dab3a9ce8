"""Namespaces of its own for a trial: its end ends all that it began, and what it leaves is all that is there."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

READY = 'mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm && ip link set lo up && exec "$@"'


def apart(module: str, *words: str) -> list[str]:
    """The command that runs this module with its own processes, network, mounts, /tmp and /dev/shm. Needs root."""
    spaces = ["--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    program = [sys.executable, "-m", module, *words]
    return ["unshare", *spaces, "--propagation=private", "sh", "-c", READY, "sh", *program]


def outcome_of(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """What it prints last, or why it printed nothing as `trouble`."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.SubprocessError as error:
        return {"trouble": str(error)[-400:]}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"trouble": " ".join(done.stderr.split())[-400:] or f"exit code {done.returncode}"}


def processes_left(*marks: str) -> list[str]:
    """All that lives here but for this trial; with `marks` what has one of them in its words or its environment."""
    mine = {os.getpid(), os.getppid()}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            text = words + (folder / "environ").read_bytes().decode("utf-8", "replace")
            is_one = not marks or any(mark in text for mark in marks)
            if int(folder.name) not in mine and state not in "ZX" and is_one and words:
                found.append(f"{folder.name} {words[:150]}")
    return found


def files_left(mine: Sequence[str]) -> list[str]:
    """What lies in /tmp and /dev/shm but for these."""
    found = [path for path in Path("/tmp").iterdir() if path.name not in mine]
    return [str(path) for path in [*found, *Path("/dev/shm").iterdir()]]
