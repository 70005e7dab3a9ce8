"""The values of a run's secrets, in a 0600 file in memory for as long as the run needs them, never on a disk.

The supervisor keeps the file; `read` and `follow` take the values from it to mask what a rank has printed
and the supervisor has not masked yet. After the run it is gone, and the logs are masked for good.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets as random_source
import stat
from typing import Dict, List, Mapping, Optional

from allranks.node.paths import RunDirectory, open_regular

PLACES = ("/dev/shm", "/run/shm")


def _folders() -> List[str]:
    """Folders in memory, the best first. A user's own runtime folder comes last: it goes with the login."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    return [place for place in (*PLACES, own or "") if place and os.access(place, os.W_OK | os.X_OK)]


class SecretStore:
    """The memory file of one run on one node. Several nodes may be one host: the home and the node are in its name.
    Its last part is random: no other user can take the name first."""

    def __init__(self, directory: RunDirectory, node: str):
        home = hashlib.sha256(os.fsencode(directory.home)).hexdigest()[:8]
        self._uid = directory.uid()
        self._name = f"allranks-{self._uid}-{home}-{directory.run_id}-{node}~"

    def keep(self, secrets: Mapping[str, str]) -> Optional[str]:
        """Writes the file, or writes it again where it went (logind's RemoveIPC deletes at logout).

        The path; None if there is nothing to keep or no folder in memory.
        """
        if not secrets:
            return None
        for folder in _folders():
            for path in self._paths(folder):
                return path
            path = os.path.join(folder, self._name + random_source.token_hex(8))
            try:
                self._write(path, secrets)
            except OSError:
                continue
            return path
        return None

    def values(self) -> Dict[str, str]:
        """The secrets by name; empty if this run's user has no such file."""
        path = self.path()
        try:
            descriptor = open_regular(path) if path is not None else None
        except OSError:
            descriptor = None
        if descriptor is None:
            return {}
        with os.fdopen(descriptor, "rb") as file:
            text = file.read()
        try:
            return dict(json.loads(text.decode("utf-8")))
        except ValueError:
            return {}  # it is being written

    def path(self) -> Optional[str]:
        """The file's path; None if this run's user has no such file."""
        return next((path for folder in _folders() for path in self._paths(folder)), None)

    def destroy(self) -> None:
        """Removes the file; empty ones too, which a full folder left of earlier tries."""
        for folder in _folders():
            for path in self._paths(folder, empty=True):
                os.unlink(path)

    def _paths(self, folder: str, empty: bool = False) -> List[str]:
        """The run's files that exist: one, or none before the secrets are stored and after the run. An `empty` one
        holds no secret: it is being written, or the folder was full."""
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        paths = [os.path.join(folder, name) for name in sorted(names) if name.startswith(self._name)]
        return [path for path in paths if self._is_ours(path, empty)]

    def _is_ours(self, path: str, empty: bool) -> bool:
        """Whether the file is this run's user's and private. All users may write to memory folders: a file of another
        user, or a link, does not count."""
        try:
            there = os.lstat(path)
        except OSError:
            return False
        ours = there.st_uid in (self._uid, os.geteuid())
        return (
            ours
            and stat.S_ISREG(there.st_mode)
            and not there.st_mode & 0o077
            and (empty or there.st_size > 0)
        )

    def _write(self, path: str, secrets: Mapping[str, str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(dict(secrets)).encode("utf-8"))
        except OSError:  # the folder is full
            os.unlink(path)
            raise
