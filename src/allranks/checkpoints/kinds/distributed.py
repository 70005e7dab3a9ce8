"""A distributed checkpoint of torch (DCP): a file or more of each rank, and `.metadata`, which is written last.

FSDP2, torchtitan, Lightning's sharded checkpoints, accelerate and Megatron's `torch_dist` write it; the last two in
folders below. `.metadata` names every file with the place of each tensor in it.
"""

from __future__ import annotations

import os
import re
from typing import Dict, Iterator, List, Optional

from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.pickle_text import LARGEST, constants
from allranks.checkpoints.weights import Damaged
from allranks.core.text import printable

BELOW = re.compile(r"(pytorch_model_fsdp|optimizer|model|optim)(_\d+)?")
"""accelerate's names, and so the Trainer's, for the parts of a checkpoint of FSDP."""

METADATA, ENDING = ".metadata", ".distcp"


def holds(place: Candidate) -> bool:
    return place.file is None and any(True for _ in _parts(place))


def judge(place: Candidate) -> Seen:
    seen = Seen()
    files = 0
    for name in _parts(place):
        part = place if not name else place.below(name)
        if part is None:
            continue
        try:
            files += judge_one(part, seen)
        finally:
            if part is not place:
                part.folder.close()
    seen.text = "%d file%s of ranks" % (files, "" if files == 1 else "s")
    return seen


def _parts(place: Candidate) -> Iterator[str]:
    """The folders that hold one: this one (""), or those below it."""
    if METADATA in place.names or any(name.endswith(ENDING) for name in place.names):
        yield ""
        return
    for name in place.names:
        part = place.below(name) if BELOW.fullmatch(name) else None
        if part is not None:
            try:
                is_one = METADATA in part.names or any(n.endswith(ENDING) for n in part.names)
            finally:
                part.folder.close()
            if is_one:
                yield name


def judge_one(place: Candidate, seen: Seen) -> int:
    """The number of files in one folder; what is wrong is said."""
    have = [name for name in place.names if name.endswith(ENDING)]
    if METADATA not in place.names:
        saw = "%d files of ranks, and no .metadata, which is written last" % len(have)
        seen.says("checkpoint-unfinished", place.folder.path, saw)
        return len(have)
    needed = _needed(place, seen)
    if needed is None:
        return len(have)
    missing = sorted(name for name in needed if name not in place.names)
    if missing:
        saw = "%d of the %d files that .metadata names are not there" % (len(missing), len(needed))
        shown = tuple(map(printable, missing))
        seen.says("checkpoint-shard-missing", place.path(missing[0]), saw, "every file of .metadata", shown)
    for name, end in needed.items():
        if name in place.names:
            _long_enough(place, name, end, seen)
    return len(have)


def _needed(place: Candidate, seen: Seen) -> Optional[Dict[str, int]]:
    """Each file that .metadata names, with the bytes that it must have at least; None if that could not be read."""
    file = place.path(METADATA)
    try:
        found = needed(place.folder.read(METADATA, LARGEST))
    except Damaged as error:
        seen.says(error.id, file, error.saw)
        return None
    except OSError as error:
        seen.says("checkpoint-unreadable", file, "%s" % (error.strerror or error))
        return None
    except ValueError as error:
        seen.says("checkpoint-file-broken", file, printable(error))
        return None
    if not found:
        seen.says("checkpoint-unreadable", file, "it names no file in a way that is known here")
        return None
    return found


def needed(data: bytes) -> Dict[str, int]:
    """From the pickle's constants: `relative_path` is followed by a file, `offset` and `length` by numbers."""
    ends: Dict[str, int] = {}
    words: List[object] = ["", "", ""]  # the file, its offset, and the key before
    for value in constants(data):
        path, offset, key = words
        if key == "relative_path" and isinstance(value, str):
            words[0] = "" if "/" in value else value
            if words[0]:
                ends.setdefault(value, 0)
        elif key == "offset" and isinstance(value, int):
            words[1] = value
        elif key == "length" and isinstance(value, int) and isinstance(path, str) and path:
            ends[path] = max(ends[path], value + (offset if isinstance(offset, int) else 0))
        words[2] = value
    return ends


def _long_enough(place: Candidate, name: str, end: int, seen: Seen) -> None:
    try:
        descriptor, size = place.folder.open(name)
        os.close(descriptor)
    except Damaged as error:
        seen.says(error.id, place.path(name), error.saw)
        return
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(name), "%s" % (error.strerror or error))
        return
    if size < end:
        saw, expected = "{:,} bytes".format(size), "{:,} bytes by .metadata".format(end)
        seen.says("checkpoint-truncated", place.path(name), saw, expected)


KIND = Kind("distributed checkpoint of torch", 40, holds, judge, holds)
