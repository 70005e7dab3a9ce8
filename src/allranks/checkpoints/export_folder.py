"""The folder that an export grows in: filled under a temporary name, synced, and moved into place when it is proved."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from typing import Any, Dict

from allranks.checkpoints.base_model import Refused
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.worker.adapter_files import sync

EXPORT = "allranks-export.json"
EXPORTING = ".allranks-exporting-"


def room(target: str, planned: int) -> None:
    from allranks.checkpoints.space import space

    finding = space(target, planned)
    if finding.verdict != "ok":
        raise Refused(found("export-no-space", target, finding.saw, "{:,.1f} MiB".format(planned / 2**20)))


class Growing:
    """The folder that an export grows in; gone unless it was `kept`. Its lock tells other exports to the same target
    that this one is alive."""

    def __init__(self, target: str):
        self.parent, self.name = os.path.split(target)
        self.target, self.path, self._fd = target, "", -1

    def __enter__(self) -> "Growing":
        os.makedirs(self.parent, exist_ok=True)
        self._sweep()
        while self._fd < 0:
            self.path = tempfile.mkdtemp(prefix=EXPORTING + self.name + "-", dir=self.parent)
            try:
                self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            with contextlib.suppress(OSError):  # a file system without locks: nothing is swept there
                fcntl.flock(self._fd, fcntl.LOCK_EX)
            if not os.path.isdir(self.path):  # another export took it for a leftover before it was locked
                os.close(self._fd)
                self._fd = -1
        os.chmod(self.path, 0o777 & ~_umask())
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)

    def _sweep(self) -> None:
        """Removes what earlier tries left that broke off."""
        wanted = re.compile(re.escape(EXPORTING + self.name) + r"(-[a-z0-9_]{8})?")
        for name in filter(wanted.fullmatch, os.listdir(self.parent)):
            path = os.path.join(self.parent, name)
            with contextlib.suppress(OSError):  # it is a link, or locked: its export is alive
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path)
                finally:
                    os.close(fd)

    def keep(self, about: Dict[str, Any]) -> None:
        """Writes the manifest, syncs, and moves the folder into place."""
        files = sorted(name for name in os.listdir(self.path))
        with Folder(self.path) as folder:
            table = {}
            for name in files:
                size, sha = folder.digest(name)
                table[name] = {"bytes": size, "sha256": sha}
        with open(os.path.join(self.path, EXPORT), "w", encoding="utf-8") as file:
            json.dump({**about, "files": table}, file, indent=2, sort_keys=True)
        for name in (*files, EXPORT, "."):
            sync(os.path.join(self.path, name))
        if os.path.lexists(self.target):
            raise Refused(found("export-exists", self.target, "another export put it there meanwhile"))
        os.rename(self.path, self.target)
        sync(os.path.dirname(self.target))


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
