"""Whether a folder of several nodes is one folder: a file of a random name, made on one node, looked for on others.

It takes part only in a second look (`runs/shared_storage.py`), since the first file must be written before any node
looks: an NFS client that once asked for a missing name keeps reporting it as missing for up to a minute.

The request's `nonce` is `{"token": 32 hexadecimal digits, "do": "write" | "look" | "remove", "folders": [...]}`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Dict, Iterator, List, Mapping

from allranks.node.facts import _reader_processes
from allranks.node.facts._reading import Reading, Unreadable

ASKED, NOTHING = "nonce", {"folders": {}}
FOLDER_SECONDS = 8.0
TEXT = b"Made by allranks check for a moment, to see which machines share this folder. It may be removed.\n"


def read(request: Mapping[str, Any], reading: Reading) -> None:
    nonce = request.get("nonce")
    reading.fact("folders", lambda: carried_out(nonce if isinstance(nonce, Mapping) else {}))


def carried_out(nonce: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """By folder `done` (written, seen, or removed), and `reason` if that is unknown."""
    token = str(nonce.get("token"))
    work = {"write": write, "look": sees, "remove": remove}.get(str(nonce.get("do")))
    folders: List[str] = [str(folder) for folder in nonce.get("folders") or []]
    if work is None or not re.fullmatch(r"[0-9a-f]{32}", token):
        raise Unreadable("the request names no token, or nothing to do with it")
    name = f".allranks-{token}"
    answers = _reader_processes.calls(
        {folder: partial(work, folder, name) for folder in folders}, FOLDER_SECONDS
    )
    found: Dict[str, Dict[str, Any]] = {}
    for folder, answer in answers.items():
        try:
            found[folder] = {"done": answer()}
        except Unreadable as error:
            found[folder] = {"done": None, "reason": str(error)}
    return found


def write(folder: str, name: str) -> bool:
    with opened(folder) as descriptor:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=descriptor)
        try:
            os.write(file, TEXT)
        finally:
            os.close(file)  # over NFS this is when it is on the server
    return True


def sees(folder: str, name: str) -> bool:
    """By its name alone: it may be another user's, and nothing else has this name."""
    with opened(folder) as descriptor:
        try:
            os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
    return True


def remove(folder: str, name: str) -> bool:
    with opened(folder) as descriptor, suppress(FileNotFoundError):  # it may never have been written
        os.unlink(name, dir_fd=descriptor)
    return True


@contextmanager
def opened(path: str) -> Iterator[int]:
    """The folder itself, held open: its path may mean another folder a moment later."""
    descriptor = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
