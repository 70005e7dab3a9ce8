"""How many ranks of one node read the base model at the same time: they take turns of 64 MiB.

A single NFS server has a few disks, and by default 8 to 16 threads. Hundreds of streams at once make it seek and drop
what it read ahead; a few per server keep it busy. So on NFS 32 ranks of a run read at once, and at least one per node.
Local disks and parallel file systems have no limit, unless the run file gives one (`environment: {readers: …}`).

The ranks of a node take turns through locks (flock) on files in the run's own temporary folder there. Its end gives a
rank's lock back, however it ends. Without such a folder there are no turns.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import List, Mapping, Optional

from allranks.worker.rank_identity import whole

VARIABLE = "ALLRANKS_BASE_READERS"
READERS_IN_ALL = 32
TURN_BYTES = 64 << 20
OF_ONE_SERVER = frozenset(("nfs", "nfs4", "cifs", "smb3"))
MOST = 100_000


class Turns:
    """This rank's turns. With `readers` 0 it reads whenever it likes. To be closed."""

    def __init__(self, folder: Optional[str], readers: int, local_rank: int = 0):
        self.readers = readers if folder else 0
        self._first = local_rank % max(1, readers)
        self._folder = folder
        self._slots: List[int] = []
        self._held: Optional[int] = None
        self._left = 0

    def take(self, count: int) -> None:
        """Before `count` bytes are read: waits for a turn, if it has none."""
        if not self.readers:
            return
        if self._held is not None and self._left <= 0:
            self.give_back()
        if self._held is None:
            try:
                self._take()
            except OSError:
                self.readers = (
                    0  # the folder went, or has no locks: to read at once is slow, to wait is worse
                )
                return
            self._left = TURN_BYTES
        self._left -= count

    def _take(self) -> None:
        if not self._slots:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            for number in range(self.readers):
                path = os.path.join(self._folder or "", "base-reader-%d" % number)
                self._slots.append(os.open(path, flags, 0o600))
        order = self._slots[self._first :] + self._slots[: self._first]
        for slot in order:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._held = slot
                return
        fcntl.flock(order[0], fcntl.LOCK_EX)
        self._held = order[0]

    def give_back(self) -> None:
        if self._held is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._held, fcntl.LOCK_UN)
            self._held = None

    def close(self) -> None:
        self.give_back()
        while self._slots:
            os.close(self._slots.pop())


def turns(environment: Mapping[str, str], path: str, local_rank: int, kind: Optional[str] = None) -> Turns:
    """For the file at `path`. `kind` is its file system's type, by default what the kernel says."""
    here = whole(environment.get("LOCAL_WORLD_SIZE"), MOST) or 1
    wanted = whole(environment.get(VARIABLE), MOST)
    if wanted is None:
        nodes = whole(environment.get("GROUP_WORLD_SIZE"), MOST) or 1
        is_shared = (kind or type_of(path)) in OF_ONE_SERVER
        wanted = max(1, READERS_IN_ALL // nodes) if is_shared else 0
    return Turns(environment.get("TMPDIR"), wanted if wanted < here else 0, local_rank)


def type_of(path: str, table: str = "/proc/self/mountinfo") -> str:
    """The type of a file's file system (proc_pid_mountinfo(5)); empty if it is unknown."""
    try:
        device = os.stat(path).st_dev
        wanted = "%d:%d" % (os.major(device), os.minor(device))
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields, _, rest = line.partition(" - ")
                if fields.split(" ")[2] == wanted:
                    return rest.split(" ")[0]
    except (OSError, IndexError):
        pass
    return ""
