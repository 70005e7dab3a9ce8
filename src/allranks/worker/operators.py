"""Operators that torch compiles in a rank: their folder, and a record of the torch locks that the rank made."""

from __future__ import annotations

import json
import os
from typing import Any

from allranks.core import extensions, procfs
from allranks.core.line_file import LineFile
from allranks.worker import guard
from allranks.worker.heartbeat import boot_id
from allranks.worker.rank_identity import identity
from allranks.worker.rank_reporter import Rank

RECORD = "extension-locks.jsonl"
"""In the node's folder of the run; `node/extension_locks.py` reads it."""


def on_baton(rank: Rank, baton: Any) -> None:
    """torch's lock of an operator: the rank that makes it records which file it is, for the sweep after a kill."""
    acquire = baton.try_acquire

    def try_acquire(self: Any, *args: Any, **kwargs: Any) -> Any:
        acquired = acquire(self, *args, **kwargs)
        if acquired:
            guard.guarded(note_lock)(rank, self.lock_file_path)
        return acquired

    def waits(args: Any, kwargs: Any) -> None:
        if rank.is_here and rank.operator is not None:
            rank.operator = dict(rank.operator, waits=True)

    baton.try_acquire = guard.dressed(try_acquire, acquire)
    baton.wait = guard.around(baton.wait, waits)


def note_lock(rank: Rank, path: Any) -> None:
    """One line in the node's folder; at once, since a kill may come at any moment."""
    ranks = rank.place.ranks
    if not ranks:
        return
    pid, start_time = identity()
    found = os.lstat(path)
    made = {
        "path": os.path.abspath(str(path)),
        "device": found.st_dev,
        "inode": found.st_ino,
        "made_ns": found.st_mtime_ns,
        "node": rank.place.node or "",
        "pid": pid,
        "start_time": start_time,
        "boot_id": boot_id(),
        "pid_namespace": procfs.pid_namespace() or None,
        "host": os.uname().nodename,
        "run_id": rank.place.run_id,
    }
    record = os.path.join(os.path.dirname(os.path.abspath(ranks)), RECORD)
    file = LineFile(record)
    try:
        file.append(json.dumps(made).encode() + b"\n")
    finally:
        file.close()


def own_folder() -> None:
    """The operators of this environment are kept in a folder of its own, unless the user names one."""
    cache = os.environ.get(extensions.CACHE)
    if cache and extensions.VARIABLE not in os.environ:
        folder = extensions.folder(cache)
        if folder is not None:
            os.environ[extensions.VARIABLE] = folder
