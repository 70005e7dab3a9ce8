"""This node's cache of one rank's bytes of the base model (`prepare: {cache: …}`).

A part is the rank's ranges of the files, as they are stored there, one behind the other, and at its end a description:
the layout that it was written for, its length and its SHA-256. It is used only if the whole layout is the same, and
only after all of it had the digest; samples of it are compared with the files in any case (`partition_reading`). A
fault of the cache never ends a run: the rank reads the files, and a note says why.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import struct
import time
from typing import Any, Dict, List, Mapping, Optional

from allranks.core import cache_folder
from allranks.core.cache_folder import CacheFolder
from allranks.core.quantities import in_bytes

LIMIT_BYTES = 500 << 30
"""A third of 671 B parameters in bf16 are 416 GiB."""
SPARE_BYTES = 1 << 30
"""Of the disk: a cache never takes the last of it."""
MAGIC = b"allranks base part 1\n"
TAIL = struct.Struct(">Q%ds" % len(MAGIC))
LARGEST_DESCRIPTION = 64 << 20
HASHED_BYTES = 4 << 20
"""Of one stretch that is hashed in one thread while the next one is read in the other."""

STARTED = time.time()


class Damaged(Exception):
    """A part that is not what was written."""


class Digest:
    """SHA-256 in a thread beside the reading: hashlib works without Python's lock. The memory may be given back after
    `wait`."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # a rank without a cache does not need it

        self._told = hashlib.sha256()
        self._thread = ThreadPoolExecutor(1)
        self._last: Any = None

    def add(self, data: memoryview) -> None:
        if len(data) < HASHED_BYTES // 16:
            self.wait()
            self._told.update(data)
        else:
            self.wait()
            self._last = self._thread.submit(self._told.update, data)

    def wait(self) -> None:
        if self._last is not None:
            self._last.result()
            self._last = None

    def close(self) -> str:
        self.wait()
        self._thread.shutdown()
        return self._told.hexdigest()


class Part:
    """A part that is read from its begin to its end. To be closed."""

    def __init__(self, descriptor: int, described: Mapping[str, Any]):
        self.descriptor, self.described = descriptor, described
        self._digest, self._place = Digest(), 0

    def read(self, name: str, first: int, target: memoryview) -> None:
        """Fills `target` with the next bytes: the caller asks for its ranges in the order of the plan. Raises
        Damaged."""
        done = 0
        while done < len(target):
            piece = target[done : done + HASHED_BYTES]
            try:
                count = os.preadv(self.descriptor, [piece], self._place)
            except OSError as error:
                raise Damaged(error.strerror or str(error)) from error
            if not count:
                raise Damaged("it is cut short")
            self._digest.add(piece[:count])
            done, self._place = done + count, self._place + count
        self._digest.wait()

    def check(self) -> None:
        """After the last range. Raises Damaged."""
        if self._place != self.described["bytes"] or self._digest.close() != self.described["sha256"]:
            raise Damaged("its digest is wrong")

    def close(self) -> None:
        self._digest.close()
        os.close(self.descriptor)


class Draft:
    """A part that is being written. An error of the disk only sets `failed`."""

    def __init__(self, folder: CacheFolder, name: str, draft: str, descriptor: int):
        self.folder, self.name, self.draft, self.descriptor = folder, name, draft, descriptor
        self.failed = ""
        self._digest, self._bytes = Digest(), 0

    def write(self, data: memoryview) -> None:
        if self.failed:
            return
        done = 0
        try:
            self._digest.add(data)
            while done < len(data):
                done += os.pwrite(self.descriptor, data[done : done + (16 << 20)], self._bytes + done)
        except OSError as error:
            self.failed = error.strerror or str(error)
        self._digest.wait()
        self._bytes += done

    def finish(self, layout: Mapping[str, Any]) -> None:
        """Puts it in its place, under its name. Closes it."""
        try:
            text = json.dumps({"layout": layout, "bytes": self._bytes, "sha256": self._digest.close()})
            end = text.encode("utf-8")
            if not self.failed:
                end += TAIL.pack(len(end), MAGIC)
                done = 0
                while done < len(end):
                    done += os.pwrite(self.descriptor, end[done:], self._bytes + done)
                os.ftruncate(self.descriptor, self._bytes + len(end))
                at = self.folder.descriptor
                os.rename(self.draft, self.name, src_dir_fd=at, dst_dir_fd=at)
        except OSError as error:
            self.failed = error.strerror or str(error)
        self.drop()

    def drop(self) -> None:
        """Closes it; what was not put in its place goes."""
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                self.folder.remove(self.draft)
            self._digest.close()
            os.close(self.descriptor)
            self.descriptor = -1


class Cache:
    """One rank's use of its node's cache. To be closed; `notes` say what was wrong."""

    def __init__(self, folder: CacheFolder, limit: int):
        self.folder, self.limit = folder, limit
        self.notes: List[str] = []

    def part(self, layout: Mapping[str, Any]) -> Optional[Part]:
        """The part of this layout; None if there is none that can be used."""
        name = name_of(layout)
        try:
            descriptor = self.folder.opened(name)
        except FileNotFoundError:
            self._note_stale(layout)
            return None
        except OSError as error:
            self.notes.append("%s: %s" % (name, error.strerror))
            return None
        try:
            cache_folder.locked(
                descriptor, fcntl.LOCK_SH
            )  # its removal waits for no lock, and shall not come now
            described = description(descriptor)
            if described["layout"] != plain(layout):
                raise Damaged("it is another layout's")
            with contextlib.suppress(OSError):
                os.utime(descriptor)
            return Part(descriptor, described)
        except (Damaged, OSError) as error:
            os.close(descriptor)
            self.refuse(layout, str(error))
            return None

    def refuse(self, layout: Mapping[str, Any], why: str) -> None:
        """A part that must not be used again."""
        self.notes.append("the cached part is damaged (%s) and was not used" % why)
        with contextlib.suppress(OSError):
            self.folder.remove(name_of(layout))

    def _note_stale(self, layout: Mapping[str, Any]) -> None:
        if self._stale(layout):
            self.notes.append("the cache holds an older state of these files, which was not used")

    def _stale(self, layout: Mapping[str, Any]) -> List[str]:
        """The parts of the same paths and rank whose files were others."""
        model, _, rank = name_of(layout).split("-")
        found = []
        for entry in self.folder.entries():
            if entry.is_draft or not (entry.name.startswith(model) and entry.name.endswith("-" + rank)):
                continue
            with contextlib.suppress(Damaged, OSError):
                descriptor = self.folder.opened(entry.name)
                try:
                    if description(descriptor)["layout"].get("files") != plain(layout)["files"]:
                        found.append(entry.name)
                finally:
                    os.close(descriptor)
        return found

    def draft(self, layout: Mapping[str, Any], size: int) -> Optional[Draft]:
        """A new part of `size` bytes, for which there is room; None, and a note, if there is none."""
        name = name_of(layout)
        need = size + len(json.dumps(layout)) + 4096
        try:
            with self.folder.alone():
                why = self._make_room(layout, name, need)
                if why:
                    self.notes.append("not written: %s" % why)
                    return None
                draft = "%s.%s.draft" % (name, os.urandom(8).hex())
                descriptor = self.folder.opened(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                cache_folder.locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(descriptor, need)  # counts for the next one that looks for room
                return Draft(self.folder, name, draft, descriptor)
        except OSError as error:
            self.notes.append("not written: %s" % (error.strerror or error))
            return None

    def _make_room(self, layout: Mapping[str, Any], name: str, need: int) -> str:
        """Why there is no room; empty if there is. Removes drafts of dead processes and older states of the same
        files, and if that is not enough, parts that were not used since this process started, the oldest first."""
        for entry in self.folder.entries():
            if entry.is_draft and not self.folder.is_locked(entry.name):
                self.folder.remove(entry.name)
        for stale in self._stale(layout):
            self.folder.remove(stale)
        entries = sorted(self.folder.entries(), key=lambda entry: entry.used_at)
        if any(entry.is_draft and entry.name.startswith(name) for entry in entries):
            return "another run writes it now"
        if need > self.limit:
            return "a part of %s is more than cache_limit (%s)" % (in_bytes(need), in_bytes(self.limit))
        old = [one for one in entries if not one.is_draft and one.used_at < STARTED and one.name != name]
        while (why := self._no_room(need)) and old:
            self.folder.remove(old.pop(0).name)
        return why

    def _no_room(self, need: int) -> str:
        entries = self.folder.entries()
        held = sum(entry.bytes for entry in entries)
        if held + need > self.limit:
            return "%s more than the %s in it exceed cache_limit (%s)" % (
                in_bytes(need),
                in_bytes(held),
                in_bytes(self.limit),
            )
        disk = os.fstatvfs(self.folder.descriptor)
        unwritten = 0
        for entry in entries:
            if entry.is_draft:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(entry.name, dir_fd=self.folder.descriptor, follow_symlinks=False)
                    unwritten += max(0, status.st_size - status.st_blocks * 512)
        free = disk.f_bavail * disk.f_frsize - unwritten
        return "" if free >= need + SPARE_BYTES else "only %s of its disk are free" % in_bytes(max(0, free))

    def close(self) -> None:
        self.folder.close()


def plain(layout: Mapping[str, Any]) -> Dict[str, Any]:
    """As JSON gives it back."""
    return json.loads(json.dumps(layout))


def name_of(layout: Mapping[str, Any]) -> str:
    """`layout` has at least `files` ([path, size, mtime in ns] of each) and `rank`."""
    paths = json.dumps([one[0] for one in layout["files"]])
    whole = json.dumps(layout, sort_keys=True)
    told = [hashlib.sha256(text.encode("utf-8")).hexdigest() for text in (paths, whole)]
    return "%s-%s-r%d.part" % (told[0][:16], told[1][:32], layout["rank"])


def description(descriptor: int) -> Dict[str, Any]:
    """The description at the end of a part. Raises Damaged and OSError."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, TAIL.size, max(0, size - TAIL.size))
    if len(tail) < TAIL.size:
        raise Damaged("it is cut short")
    length, magic = TAIL.unpack(tail)
    if magic != MAGIC or length > min(LARGEST_DESCRIPTION, size - TAIL.size):
        raise Damaged("it is cut short, or is not a part")
    try:
        found = json.loads(os.pread(descriptor, length, size - TAIL.size - length).decode("utf-8"))
        if found["bytes"] != size - TAIL.size - length or not isinstance(found["layout"], dict):
            raise Damaged("it has another length than it says")
        str(found["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged("its description cannot be read") from error
    return found


def opened(environment: Mapping[str, str]) -> "Optional[Cache]":
    """The node's cache, if the run has one. Raises Unsafe."""
    path = environment.get(cache_folder.PATH)
    if not path:
        return None
    text = environment.get(cache_folder.LIMIT, "")
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else LIMIT_BYTES
    folder = cache_folder.opened(os.path.expanduser(path))
    assert folder is not None
    return Cache(folder, limit)
