"""torch's locks of operators that a run's ranks were compiling when they were ended: which are the run's, and may go.

torch lets one process compile an operator. It makes the file `lock` and removes it when it is done; a process that is
killed leaves it, and every later one of that user waits for it without end. A rank of ours writes down each lock that
it makes (`worker/compilation.py`). The file is the run's, and is removed, only if all of this holds:

1. It is the very file that the rank made: device, inode and time of making, empty, with one name, of the run's user.
2. The rank that made it lives no more.
3. No living process has it open.
"""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, Iterable, List, Mapping, Tuple

from allranks.node import processes

NAME = "extension-locks.jsonl"
LOCK = "lock"


def left(records: Iterable[Mapping[str, Any]], uid: int, is_gone: bool = False) -> List[str]:
    """The paths of the recorded locks that may be removed now. `is_gone`: every process of their node is known to
    have ended, also if it cannot be seen from here."""
    there: Dict[str, Tuple[int, int]] = {}
    for line in records:
        path = line.get("path")
        if not isinstance(path, str) or os.path.basename(path) != LOCK or not os.path.isabs(path):
            continue
        if (is_gone or processes.lives(line) is False) and is_the_one(path, line, uid):
            there[path] = (int(line["device"]), int(line["inode"]))
    if not there:
        return []
    used = in_use()
    return sorted(path for path, key in there.items() if key not in used)


def is_the_one(path: str, line: Mapping[str, Any], uid: int) -> bool:
    """Whether the file is the one that was written down. An inode's number comes again, and its time does not."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_size == 0 and found.st_uid == uid
    recorded = (line.get("device"), line.get("inode"), line.get("made_ns"))
    return plain and recorded == (found.st_dev, found.st_ino, found.st_mtime_ns)


def in_use() -> "set[Tuple[int, int]]":
    """The files named `lock` that a process of this machine has open, as far as that can be read."""
    keys = set()
    for pid in processes.pids():
        folder = "/proc/%d/fd" % pid
        try:
            descriptors = os.listdir(folder)
        except OSError:
            continue
        for name in descriptors:
            path = os.path.join(folder, name)
            try:
                if os.path.basename(os.readlink(path)) == LOCK:
                    found = os.stat(path)
                    keys.add((found.st_dev, found.st_ino))
            except OSError:
                continue
    return keys


def remove(paths: Iterable[str]) -> List[str]:
    """Removes them; the paths of those that went."""
    gone = []
    for path in paths:
        try:
            os.unlink(path)
            gone.append(path)
        except OSError:
            continue
    return gone
