"""Files of safetensors beside no config.json: weights that a script wrote itself, or accelerate's state."""

from __future__ import annotations

import os
from typing import List, Optional, Set

from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.weights import Damaged, read_header
from allranks.core.text import printable

ENDING = ".safetensors"


def files(place: Candidate) -> List[str]:
    named = [name for name in place.names if place.path(name) not in place.looked_at]
    return [name for name in named if name.endswith(ENDING)]


def holds(place: Candidate) -> bool:
    return bool(files(place))


def judge(place: Candidate) -> Seen:
    seen = Seen()
    names = files(place)
    for name in names:
        inspect(place, name, seen)
    if not names:
        return seen
    what = printable(names[0]) if len(names) == 1 else "%d files of safetensors" % len(names)
    seen.text = "{}, {:,} tensors".format(what, seen.tensors)
    return seen


def inspect(place: Candidate, name: str, seen: Seen) -> Optional[Set[str]]:
    """The names of the file's tensors, which are counted; what is wrong with it is said."""
    place.looked_at.add(place.path(name))
    try:
        descriptor, size = place.folder.open(name)
    except Damaged as error:
        seen.says(error.id, place.path(name), error.saw)
        return None
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(name), "%s" % (error.strerror or error))
        return None
    try:
        tensors = read_header(descriptor, size)
    except Damaged as error:
        truncated = error.id == "adapter-truncated"
        id = "checkpoint-truncated" if truncated else "checkpoint-file-broken"
        seen.says(id, place.path(name), error.saw, error.expected)
        return None
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(name), "%s" % (error.strerror or error))
        return None
    finally:
        os.close(descriptor)
    hollow = [tensor for tensor in tensors if not tensor.count]
    if 2 * len(hollow) > len(tensors):  # a model may have an empty buffer
        saw = "%d of %d tensors have a dimension of size 0: %s"
        seen.says(
            "adapter-ungathered",
            place.path(name),
            saw % (len(hollow), len(tensors), printable(hollow[0].name)),
        )
    seen.tensors += len(tensors)
    seen.parameters += sum(tensor.count for tensor in tensors)
    return {tensor.name for tensor in tensors}


KIND = Kind("safetensors", 80, holds, judge)
