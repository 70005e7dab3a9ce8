"""Files of `torch.save`, one or several: `.pt`, `.pth`, `.bin`, `.ckpt`, `.tar`."""

from __future__ import annotations

import re
from typing import List, Optional

from allranks.checkpoints import zip_table
from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.weights import Damaged
from allranks.core.text import printable

ENDINGS = (".pt", ".pth", ".bin", ".ckpt", ".tar")
WEIGHTS_ALONE = re.compile(r"(pytorch_|diffusion_pytorch_)?model[\w.-]*\.bin")
PICKLES_OF_ARGUMENTS = ("training_args.bin",)
"""Of the same form, and no part of a training's state."""


def files(place: Candidate) -> List[str]:
    named = [name for name in place.names if place.path(name) not in place.looked_at]
    return [name for name in named if name.lower().endswith(ENDINGS) and name not in PICKLES_OF_ARGUMENTS]


def holds(place: Candidate) -> bool:
    return bool(files(place))


def judge(place: Candidate) -> Seen:
    seen = Seen()
    names = files(place)
    for name in names:
        archive = inspect(place, name, seen)
        if archive is not None and archive.step is not None and seen.step is None:
            seen.step = archive.step
    if not names:
        return seen
    seen.text = "%s of torch.save" % (printable(names[0]) if len(names) == 1 else "%d files" % len(names))
    return seen


def inspect(place: Candidate, name: str, seen: Seen) -> Optional[zip_table.Archive]:
    """The file's table; faults are reported. None if it cannot be read."""
    place.looked_at.add(place.path(name))
    try:
        archive = zip_table.read(place.folder, name)
    except Damaged as error:
        seen.says(error.id, place.path(name), error.saw, error.expected)
        return None
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(name), "%s" % (error.strerror or error))
        return None
    if archive is None:
        seen.says("checkpoint-without-table", place.path(name), "a pickle without a table of what is in it")
    return archive


def resumes(place: Candidate) -> bool:
    """Whether a file may hold more than a model's weights."""
    return any(not WEIGHTS_ALONE.fullmatch(name) for name in files(place))


KIND = Kind("file of torch.save", 90, holds, judge, resumes)
