"""The folder that an export grows in: filled under a temporary name, synced, and moved into place when it is proved."""

from __future__ import annotations

import json
import os
import shutil
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
    """The folder that an export grows in; gone unless it was `kept`."""

    def __init__(self, target: str):
        parent, name = os.path.split(target)
        self.target, self.path = target, os.path.join(parent, EXPORTING + name)

    def __enter__(self) -> "Growing":
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if os.path.lexists(self.path):  # an earlier try that broke off
            shutil.rmtree(self.path)
        os.mkdir(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

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
        os.rename(self.path, self.target)
        sync(os.path.dirname(self.target))
