"""Locks in the folder where torch compiles extensions (DeepSpeed's operators among them), and who holds them.

torch 2.13 `utils/file_baton.py`: who builds creates the file `lock` with O_EXCL and keeps it open until it is
removed; everybody else waits, without a limit and without a word, until it is gone. A builder that was killed
leaves it behind. So the holder is the process that has the file open, and a lock that no process has open is stale.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Mapping, Optional

import allranks
from allranks.core import extensions
from allranks.node import paths, processes
from allranks.node.facts import _environment, _processes
from allranks.node.facts._commands import text
from allranks.node.facts._reading import Reading
from allranks.node.facts.storage import mount_of, parse_mounts

ASKED, NOTHING = "python", {"folder": None, "locks": []}
"""Without a Python the training environment is an image's: its cache is not the host's."""

MOST_LOCKS = 64
MOST_FOLDERS = 2000


_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from allranks.core import extensions
del sys.path[0]
print(json.dumps({"folder": extensions.folder(sys.argv[2])}))
"""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    folder = reading.fact("folder", root, request)
    if folder is not None:
        reading.fact("locks", lambda: locks(folder))
    elif "folder" in reading.missed:
        reading.miss("locks", "the folder of the compiled operators is not known: see extensions.folder")
    else:
        reading.put("locks", [])


def root(request: Mapping[str, Any]) -> Optional[str]:
    """`$TORCH_EXTENSIONS_DIR`, else the folder that the training environment's ranks will have; None if it has no
    torch."""
    named = _environment.environment(request).get(extensions.VARIABLE)
    if named:
        return os.path.abspath(os.path.expanduser(named))
    ours = os.path.dirname(os.path.dirname(os.path.abspath(allranks.__file__)))
    found = _environment.run_python(request, _SCRIPT, [ours, os.path.join(paths.home(), "cache")]).get(
        "folder"
    )
    return found if isinstance(found, str) else None


def locks(folder: str) -> List[Dict[str, Any]]:
    """Each lock: `path`, `name` of the extension, `build` (`py311_cu128`; None if the folder is of the user's
    choice), `uid` of its maker, `age_seconds`, the filesystem's `type`, `held_by` (`described` processes of this
    machine), `sure` (whether all processes that may hold it could be looked at)."""
    found = find(folder)
    if not found:
        return []
    holders = held({lock["path"]: lock["identity"] for lock in found})
    owned = _processes.owners(paths.home())
    mounts = parse_mounts(text("/proc/self/mountinfo", 8 << 20))
    own = os.geteuid()
    for lock in found:
        del lock["identity"]
        lock["type"] = mount_of(os.path.realpath(os.path.dirname(lock["path"])), mounts).get("type")
        lock["held_by"] = [_processes.described(pid, owned) for pid in holders[lock["path"]]]
        # Whoever made it has it open: another user's descriptors are root's alone to see.
        lock["sure"] = own in (0, lock["uid"])
    return found


def find(folder: str) -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = []
    for place in [folder, *folders_in(folder)][:MOST_FOLDERS]:
        for build in folders_in(place):
            path = os.path.join(build, "lock")
            lock = described(
                path, os.path.basename(build), None if place == folder else os.path.basename(place)
            )
            if lock is not None and len(found) < MOST_LOCKS:
                found.append(lock)
    return found


def folders_in(folder: str) -> List[str]:
    """Its folders, sorted; empty if it is not there. Raises OSError if it may not be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def described(path: str, name: str, build: Optional[str]) -> Optional[Dict[str, Any]]:
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return None
    return {
        "path": path,
        "name": name,
        "build": build,
        "uid": state.st_uid,
        "age_seconds": round(max(0.0, time.time() - state.st_mtime), 1),
        "identity": (state.st_dev, state.st_ino),
    }


def held(identities: Mapping[str, Any]) -> Dict[str, List[int]]:
    """The processes that have each of these files open, by device and inode: a container may call it by another
    path."""
    found: Dict[str, List[int]] = {path: [] for path in identities}
    names = {os.path.basename(path) for path in identities}
    for pid in processes.pids():
        for descriptor, link in processes.open_files(pid) or ():
            if os.path.basename(link) not in names:
                continue
            try:
                state = os.stat(descriptor)
            except OSError:
                continue  # it has been closed
            for path, identity in identities.items():
                if identity == (state.st_dev, state.st_ino) and pid not in found[path]:
                    found[path].append(pid)
    return found
