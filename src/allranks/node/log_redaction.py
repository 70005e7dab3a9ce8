"""Masks secrets in the files that the ranks themselves have written. Ranks write their logs straight to files.

A secret is overwritten where it stands with as many `*`: the file keeps its length, so the writer, who
appends, and readers at any offset notice nothing, and no disk has to be free. Until the supervisor's next
turn (a quarter of a second) the value is in a 0600 file in a 0700 folder; after it nowhere.
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from typing import Dict, Iterator, List, Tuple

from allranks.node.files import read_bytes, size_of
from allranks.node.redaction import Redactor

BLOCK_BYTES = 1 << 20
DEEPEST = 4
LARGEST_BYTES = 4 << 20
MOST_FILES = 2000
LOOK_SECONDS = 3.0


class LogRedactor:
    """Masks the new parts of the files below `folders` at each `turn`."""

    def __init__(self, redactor: Redactor, folders: List[str]):
        self.redactor, self.folders = redactor, folders
        self.masked = 0
        self._done: Dict[Tuple[int, int], int] = {}

    def turn(self) -> None:
        """Never raises OSError: a file that cannot be opened now is tried again at the next turn."""
        if not self.redactor:
            return
        for folder in self.folders:
            if os.path.islink(folder):
                continue  # the folder behind it may belong to somebody else
            for path in files_below(folder):
                try:
                    self._file(path)
                except OSError:
                    continue

    def _file(self, path: str) -> None:
        there = os.stat(path, follow_symlinks=False)
        identity = (there.st_dev, there.st_ino)
        done = self._done.get(identity, 0)
        if there.st_size == done or not stat.S_ISREG(there.st_mode) or there.st_nlink != 1:
            return
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            begin = done if done < there.st_size else 0
            self._done[identity] = self._mask_from(descriptor, begin, there.st_size)
        finally:
            os.close(descriptor)

    def _mask_from(self, descriptor: int, offset: int, end: int) -> int:
        """Masks from `offset`, and a little before it: a secret may have been half there the last time. The next
        turn masks the text behind `end`: a rank may write faster than this reads."""
        while offset < end:
            start = max(0, offset - self.redactor.overlap)
            block = os.pread(descriptor, BLOCK_BYTES + self.redactor.overlap, start)
            if start + len(block) <= offset:
                return offset
            for position, stars in self.redactor.found(block):
                os.pwrite(descriptor, stars, start + position)
                self.masked += 1
            offset = start + len(block)
        return offset


def files_below(folder: str, depth: int = DEEPEST) -> Iterator[str]:
    """The files in `folder` and the folders in it; links are not followed."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth:
                yield from files_below(entry.path, depth - 1)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def files_with_secrets(redactor: Redactor, folder: str) -> List[str]:
    """Files below `folder` that hold a secret, of the first 2,000 that have at most 4 MiB, and as many as can be read
    in LOOK_SECONDS: the keeper waits for the node.

    For the training script's own files, which are the user's: they are named, not changed. Larger ones are
    weights and data sets; reading them all would take longer than the run's end may.
    """
    found = []
    small = (path for path in files_below(folder) if size_of(path) <= LARGEST_BYTES)
    until = time.monotonic() + LOOK_SECONDS
    for path in itertools.islice(small, MOST_FILES) if redactor else ():
        if time.monotonic() > until:
            break
        if redactor.found(read_bytes(path, LARGEST_BYTES)):
            found.append(path)
    return found


def ends_of_logs(folder: str, redactor: Redactor, most_bytes: int, room_bytes: int) -> Dict[str, str]:
    """The last `most_bytes` of each log, redacted; less if all of them together would not fit into the room."""
    paths = sorted(files_below(folder))
    # A byte takes up to six characters in JSON (\u001b).
    most_bytes = min(most_bytes, room_bytes // max(1, len(paths)))
    ends = {}
    for path in paths:
        block = read_bytes(path, offset=-(most_bytes + redactor.overlap))
        text = redactor.mask(block)[-most_bytes:] if most_bytes > 0 else b""
        ends[os.path.relpath(path, folder)] = text.decode("utf-8", "replace")
    return ends
