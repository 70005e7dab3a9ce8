"""The memory that ranks may use: the machine's, and what is left to the control groups that they are in.

A container, a job of SLURM or a systemd unit has its own limit, far below the machine's, and the kernel ends a
process for it while the machine has plenty. Files of /proc and /sys/fs/cgroup alone, of versions 1 and 2, all of them
readable without root.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from allranks.core import procfs

ROOT = "/sys/fs/cgroup"
NO_LIMIT = 1 << 60
"""Version 1 writes a number near 2^63 where there is no limit."""

GROUPS = 4
DEPTH = 16


LIMITS = ("memory.max", "memory.limit_in_bytes")
"""The files of versions 2 and 1 in which a group's limit stands."""


def machine() -> Dict[str, int]:
    """`memory_total_bytes` and `memory_available_bytes` (the kernel's own estimate of what a new program can get);
    what cannot be read is left out."""
    names = {"MemTotal": "memory_total_bytes", "MemAvailable": "memory_available_bytes"}
    found = procfs.meminfo(_text(procfs.MEMINFO))
    return {told: found[name] * 1024 for name, told in names.items() if name in found}


def folders(listing: str, root: str = ROOT) -> List[str]:
    """The folders of a process's groups that count memory, its own first and then those above it. `listing` is the
    text of its /proc/PID/cgroup."""
    found = []
    for row in listing.splitlines()[:64]:
        _, controllers, path = [*row.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        base = os.path.join(root, "memory") if controllers else root
        parts = [part for part in path.split("/") if part not in ("", ".", "..")][:DEPTH]
        found += [os.path.join(base, *parts[:n]) for n in range(len(parts), -1, -1)]
    return found


class Groups:
    """The limited control groups of some processes, and how often the kernel has killed in them.

    May be asked by more than one thread."""

    def __init__(self, root: str = ROOT, proc: str = "/proc"):
        self.root, self.proc = root, proc
        self._kills: Dict[str, List[Tuple[float, int]]] = {}
        """By folder: when the count of kills was first seen at this number, the newest two."""
        self._lock = threading.Lock()

    def sample(self, pids: Iterable[int]) -> List[Dict[str, Any]]:
        """`{path, limit_bytes, used_bytes, oom_kills}` of each group with a limit, the one with the least left first.

        `used_bytes` is without the file cache, which the kernel takes back before it kills: also what was read more
        than once (a data set of several epochs is `active_file`)."""
        found: Dict[str, Dict[str, Any]] = {}
        for own in {tuple(folders(_text(f"{self.proc}/{pid}/cgroup"), self.root)) for pid in pids}:
            # The group above counts, in version 2, also those of its other groups: of other pods or users.
            self._count(own[:1])
            for folder in own:
                group = None if folder in found else _group(folder)
                if group is not None:
                    found[folder] = {"path": folder[len(self.root) :] or "/", **group}
        return sorted(found.values(), key=lambda g: g["limit_bytes"] - g["used_bytes"])[:GROUPS]

    def kills(self, seconds: float) -> List[str]:
        """A line for each group in which the kernel has killed within the last seconds; they read like its own."""
        with self._lock:
            known = list(self._kills)
        self._count(known)
        since, lines = time.monotonic() - seconds, []
        with self._lock:
            for folder, counts in self._kills.items():
                if len(counts) > 1 and counts[-1][0] >= since:
                    name, rose = folder[len(self.root) :] or "/", f"{counts[-2][1]} to {counts[-1][1]}"
                    lines.append(f"control group {name}: out of memory, its oom_kill count rose from {rose}")
        return lines

    def _count(self, counted: Iterable[str]) -> None:
        for folder in counted:
            number = _kills(folder)
            if number is None:
                continue
            with self._lock:
                counts = self._kills.setdefault(folder, [])
                if not counts or counts[-1][1] != number:
                    counts.append((time.monotonic(), number))
                    del counts[:-2]
                while len(self._kills) > 256:
                    del self._kills[next(iter(self._kills))]


def _group(folder: str) -> Optional[Dict[str, int]]:
    """None if the group has no limit, or is not there."""
    versions = ((LIMITS[0], "memory.current", ""), (LIMITS[1], "memory.usage_in_bytes", "total_"))
    for limit, used, before in versions:
        most, now = (_number(_text(os.path.join(folder, name))) for name in (limit, used))
        if most is None or now is None or most >= NO_LIMIT:
            continue
        held = counts(os.path.join(folder, "memory.stat"))
        free = sum(held.get(f"{before}{name}", 0) for name in ("active_file", "inactive_file"))
        return {"limit_bytes": most, "used_bytes": max(0, now - free), "oom_kills": _kills(folder) or 0}
    return None


def _kills(folder: str) -> Optional[int]:
    """`oom_kill` of memory.events (version 2) or memory.oom_control (version 1, Linux 4.13 and up)."""
    for name in ("memory.events", "memory.oom_control"):
        number = counts(os.path.join(folder, name)).get("oom_kill")
        if number is not None:
            return number
    return None


def counts(path: str) -> Mapping[str, int]:
    """The numbers by their names in a file such as memory.stat; empty if it cannot be read."""
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def _number(text: str) -> Optional[int]:
    return int(text) if text.strip().isdigit() else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return ""
