"""The folder for a run's temporary files on one node: files that its ranks make there belong to the run and are
removed with it.

`tempfile` makes torchrun's `torchelastic_*`, and the sockets and folders of multiprocessing, compilers and loaders.
If a killed process leaves some behind, they look like those of any other program. So the ranks get their own
`TMPDIR`, inside the one that they would have had. It is known to be the run's because the supervisor made it and
recorded its inode.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import stat
import threading
from typing import Any, Dict, Mapping, Optional

from allranks.node.paths import NodeDirectory, read_object, write_json
from allranks.node.removal import remove_tree

LONGEST_BYTES = 60
"""A socket's path has at most 107 bytes (unix(7)); multiprocessing puts 36 behind the folder, torch fewer."""

REMOVE_SECONDS = 5.0
"""The most time for a removal, since the supervisor sends nothing meanwhile and a lease is 30 s. A longer removal
continues in the background."""

INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"


class TemporaryFolder:
    """One node's folder, made at the first `environment` and removed by `remove`."""

    def __init__(self, directory: NodeDirectory):
        self._record = os.path.join(directory.root, "temporary.json")
        self._name = "allranks-" + hashlib.sha256(os.fsencode(directory.root)).hexdigest()[:12]
        self._made_here: Dict[str, Any] = {}
        self._removing: Optional[threading.Thread] = None

    def environment(self, env: Mapping[str, str], told: Mapping[str, Any]) -> Dict[str, str]:
        """What `env` must have beside it. Nothing if the run file itself says a TMPDIR (`told`), where sockets'
        names would become too long, or where no folder can be made: then `env` holds as it is.

        torch keeps compiled kernels in the temporary folder, for the next run too: they stay where they were.
        """
        base = env.get("TMPDIR") or "/tmp"
        path = os.path.join(base, self._name)
        if self._removing is not None and self._removing.is_alive():
            return {}
        if "TMPDIR" in told or len(os.fsencode(path)) > LONGEST_BYTES or not self._made(path):
            return {}
        more = {"TMPDIR": path}
        user = _user()
        if INDUCTOR not in env and user:
            more[INDUCTOR] = os.path.join(base, "torchinductor_" + user)
        return more

    def path(self, uid: int) -> Optional[str]:
        """The folder's path; None if there is no folder, or if something else, or another user's folder, has its
        name."""
        known = read_object(self._record) or self._made_here  # the record goes with the run's folder
        path = known.get("path")
        if not isinstance(path, str) or os.path.basename(path) != self._name:
            return None
        try:
            there = os.lstat(path)
        except OSError:
            return None
        same = (there.st_dev, there.st_ino) == (known.get("device"), known.get("inode"))
        return path if same and stat.S_ISDIR(there.st_mode) and there.st_uid == uid else None

    def remove(self, uid: int, seconds: Optional[float] = REMOVE_SECONDS) -> Optional[str]:
        """Removes the folder, except for mounted folders and files of other users in it. Returns its path if all of
        it was removed.

        Call it only when no process of the run lives. It returns after `seconds` at most (None: when it is done):
        storage may hang, or hold a million files.
        """
        path = self.path(uid)
        if path is None or (self._removing is not None and self._removing.is_alive()):
            return None
        gone = []

        def remove(place: str = path) -> None:
            try:
                if not remove_tree(*os.path.split(place)):
                    gone.append(place)
            except (OSError, RecursionError):
                pass

        self._removing = threading.Thread(target=remove, name="allranks-temporary", daemon=True)
        self._removing.start()
        self._removing.join(seconds)
        return gone[0] if gone else None

    def _made(self, path: str) -> bool:
        if self.path(os.geteuid()) == path:
            return True
        try:
            os.mkdir(path, 0o700)
        except OSError:
            return False
        try:
            made = os.lstat(path)
            record = {"path": path, "device": made.st_dev, "inode": made.st_ino}
            write_json(self._record, record)
        except OSError:
            os.rmdir(path)  # without its record it could not be found again
            return False
        self._made_here = record
        return True


def _user() -> str:
    """The user's name as in the folder of torch's kernels; empty if it is unknown."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
