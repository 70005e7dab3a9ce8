"""Files in /dev/shm that a run's processes left: which ones are the run's, and which of them may go.

The kernel frees a process's memory, not its named segments: a rank that is killed leaves what it had not unlinked
(torch's `file_system` strategy, `multiprocessing.shared_memory`, NCCL between two calls). A file is the run's where
all of this holds, and only then is it removed:

1. It was not there when the supervisor began.
2. A process of the run had it mapped or open, and no other process had, when it was first seen.
3. It is still the same file (device, inode, one link, same boot) of the run's user, and no process has it mapped or
open.

A name proves nothing: torch's and NCCL's are alike in every run.
"""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from allranks.node import processes
from allranks.node.paths import Lines
from allranks.node.removal import remove_files

FOLDER = "/dev/shm"
NAME = "shared-memory.jsonl"
LOOK_SECONDS = 5.0
"""Between two looks: the maps of a process with torch have some 2,000 lines, and reading them takes 1 to 2 ms."""

Key = Tuple[int, int]
"""Device and inode."""


class SharedMemory:
    """The shared memory of the supervisor's own processes; `scan` records the files that are new and theirs."""

    def __init__(self, path: str, boot_id: str):
        self._lines, self.boot_id = Lines(path), boot_id
        self._own: List[Dict[str, Any]] = []
        self._settled: Set[Key] = {key for key in map(key_of, files()) if key is not None}

    def scan(self, pids: Iterable[int]) -> None:
        """`pids` are living processes of the run, which the caller has proved."""
        own = set(pids)
        fresh: Dict[Key, str] = {}
        for pid in own:
            for path in used_by(pid):
                key = key_of(path)
                if key is not None and key not in self._settled:
                    fresh[key] = path
        if not fresh:
            return
        others = in_use(set(processes.pids()) - own)
        for key, path in fresh.items():
            self._settled.add(key)
            if key not in others:
                line = {"path": path, "device": key[0], "inode": key[1], "boot_id": self.boot_id}
                self._own.append(line)
                self._lines.append(line)

    def free(self, uid: int) -> List[str]:
        """Removes what the run's processes have left; the paths. To be called when they have ended."""
        return remove_files(left(self._own, self.boot_id, uid))

    def close(self) -> None:
        self._lines.close()


def left(records: Iterable[Mapping[str, Any]], boot_id: str, uid: int) -> List[str]:
    """The paths of the recorded files that may be removed now."""
    known = {}
    for line in records:
        path, device, inode = line.get("path"), line.get("device"), line.get("inode")
        whole = isinstance(path, str) and isinstance(device, int) and isinstance(inode, int)
        if whole and line.get("boot_id") == boot_id and os.path.dirname(str(path)) == FOLDER:
            known[str(path)] = (device, inode)
    there = [path for path, key in known.items() if key_of(path, uid) == key]
    if not there:
        return []
    used = in_use(processes.pids())
    return sorted(path for path in there if known[path] not in used)


def files() -> List[str]:
    try:
        return [os.path.join(FOLDER, name) for name in os.listdir(FOLDER)]
    except OSError:
        return []


def key_of(path: str, uid: Optional[int] = None) -> Optional[Key]:
    """Of a regular file with one name, and of this user where one is said; else None."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or uid not in (None, found.st_uid):
        return None
    return found.st_dev, found.st_ino


def in_use(pids: Iterable[int]) -> Set[Key]:
    """The files of /dev/shm that any of these processes has mapped or open, as far as they can be read."""
    keys = (key_of(path) for pid in pids for path in used_by(pid))
    return {key for key in keys if key is not None}


def used_by(pid: int) -> Set[str]:
    """The paths below /dev/shm that a process has mapped or open; none if it cannot be read."""
    opened = [path for _, path in processes.open_files(pid) or ()]
    return {path for path in (*mapped(pid), *opened) if os.path.dirname(path) == FOLDER}


def mapped(pid: int) -> List[str]:
    """proc(5), /proc/PID/maps: the sixth field is the path, ` (deleted)` behind it when it has none any longer."""
    found = []
    try:
        with open("/proc/%d/maps" % pid, "rb") as lines:
            for line in lines:
                if b" " + FOLDER.encode() + b"/" in line:
                    found.append(os.fsdecode(line.rstrip(b"\n").split(None, 5)[5]))
    except OSError:
        pass
    return found
