"""Takes a checkpoint that the controller brings from another machine into the folder of a run that is about to start.

It grows under a temporary name and is moved to its place when every file has the size and the SHA-256 that its own
machine reported. The copy goes when the run's folder goes: it is allranks' own, and no training wrote it.
"""

from __future__ import annotations

import base64
import binascii
import os
import shutil
from typing import Any, Dict, List, Mapping

from allranks.checkpoints import copying
from allranks.core import BadInput, Problem
from allranks.core.untrusted import integer, mappings, text
from allranks.node.paths import RunDirectory, checked_name, make_private
from allranks.node.saved_models import RESUME_COPY

GROWING = ".allranks-fetching-"


def received(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """One request of a delivery: `files` begins it, `pieces` adds to it, and `whole` compares and ends it.

    The answer is `{"path", "whole"}`. Raises BadInput and OSError.
    """
    directory = RunDirectory(text(wanted.get("run")) or "")
    name = checked_name(text(wanted.get("name")) or "", "checkpoint")
    folder = os.path.join(directory.root, RESUME_COPY)
    goal, growing = os.path.join(folder, name), os.path.join(folder, GROWING + name)
    described = {checked(one): one for one in mappings(wanted.get("files"))}
    if wanted.get("pieces") is None and not wanted.get("whole"):
        directory.create()
        make_private(folder)
        if os.path.lexists(goal):  # another node of the run has the same home
            return {"path": goal, "whole": is_whole(goal, described)}
        begin(growing, list(described))
    for piece in mappings(wanted.get("pieces")):
        add(growing, piece)
    if wanted.get("whole"):
        if not is_whole(growing, described):
            raise BadInput(
                Problem(f"{goal}: what arrived differs from what was sent", do="start the run again")
            )
        single = wanted.get("single") is True
        os.rename(os.path.join(growing, next(iter(described))) if single else growing, goal)
        shutil.rmtree(growing, ignore_errors=True)
    return {"path": goal, "whole": os.path.lexists(goal)}


def checked(one: Mapping[str, Any]) -> str:
    """The name of a file below the checkpoint. Raises BadInput for one that leads out of it."""
    name, parts = text(one.get("name")) or "", (text(one.get("name")) or "").split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in name:
        raise BadInput(Problem(f"{name!r} is not a file below a checkpoint."))
    return name


def begin(growing: str, names: List[str]) -> None:
    """Makes the folder, with an empty file for each name; what an earlier try left goes."""
    shutil.rmtree(growing, ignore_errors=True)
    os.mkdir(growing, 0o700)
    for name in names:
        path = os.path.join(growing, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def add(growing: str, piece: Mapping[str, Any]) -> None:
    """Appends a piece to its file. Raises BadInput if it does not follow what is there."""
    path, offset = os.path.join(growing, checked(piece)), integer(piece.get("offset"))
    try:
        data = base64.b64decode(str(piece.get("data")), validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(Problem("a piece is not base64.")) from None
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "ab") as file:
        if os.fstat(descriptor).st_size != offset:
            raise BadInput(Problem(f"{path}: a piece at byte {offset} does not follow what is there."))
        file.write(data)


def is_whole(place: str, described: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the files there are the described ones, bit for bit, and no others."""
    if os.path.isfile(place):
        (one,) = described.values() or ({},)
        return copying.digest_of(place) == one.get("sha256")
    if set(copying.files_below(place)) != set(described):
        return False
    return all(
        copying.size_of(place, name) == integer(one.get("bytes"))
        and copying.digest_of(os.path.join(place, name)) == one.get("sha256")
        for name, one in described.items()
    )
