"""torch's locks of operators that a run's ranks were compiling when they were ended: which are the run's, and may go.

torch lets one process compile an operator. It makes the file `lock` and removes it when it is done. A process that is
killed leaves it, and every later process of that user waits for it forever. A rank of a run writes down each lock that
it makes (`worker/operators.py`). The file is the run's, and is removed, only if all of this holds:

1. It is the very file that the rank made: device, inode and time of making, empty, with one name, of the run's user.
2. The rank that made it no longer lives.
3. No living process has it open.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
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
    """Whether the file is the one that was recorded. An inode's number comes again, and its time does not."""
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
        for descriptor, path in processes.open_files(pid) or ():
            if os.path.basename(path) == LOCK:
                with suppress(OSError):
                    found = os.stat(descriptor)
                    keys.add((found.st_dev, found.st_ino))
    return keys
