"""Reads stacks of ranks that hang: at which line of its own code a rank is, and whether it waits for other ranks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import List, Optional, Tuple

from allranks.core.library_code import LIBRARY
from allranks.core.rank_events import Frame

WAITING = re.compile(
    r"(^|/)torch/distributed/(?!elastic/|launcher/|run\.py$)|(^|/)deepspeed/(comm|runtime/comm)/|(^|/)torch/nn/parallel/distributed\.py$"
)
"""Files whose functions wait for other ranks, except torchrun's wrapper of a script (`@record`)."""

CALLS = re.compile(r"(^|/)torch/nn/modules/module\.py$")
"""A wrapper (DDP, FSDP) calls the model here: a rank that computes in it does not wait for other ranks."""

LOCK = re.compile(r"(^|/)torch/utils/file_baton\.py$")
BUILD = re.compile(r"(^|/)torch/utils/cpp_extension\.py$")
"""torch compiles an operator in one process; all others wait in `FileBaton.wait` until its lock is gone."""

LOADING = re.compile(r"(^|/)torch/utils/data/")

KNOWN_STACKS = 4096
"""The ranks of a run are in few different places, so the results are kept: 8,000 ranks cost one second, only once."""


def waits(frames: List[Frame]) -> bool:
    """Whether the innermost calls are those of a collective or of a wait for one."""
    return _read(tuple(frames))[0]


def place_of(frames: List[Frame]) -> Optional[Frame]:
    """The innermost frame of the user's own code, else the innermost frame."""
    return _read(tuple(frames))[1]


def doing(frames: List[Frame]) -> str:
    """The rank's activity as text, with the line."""
    return _read(tuple(frames))[2]


@lru_cache(maxsize=KNOWN_STACKS)
def _read(frames: Tuple[Frame, ...]) -> Tuple[bool, Optional[Frame], str]:
    """(whether it waits, its place, its activity)."""
    files = [frame[0].replace("\\", "/") for frame in frames]
    called = max((n for n, file in enumerate(files) if CALLS.search(file)), default=-1)
    inner = [n for n, file in enumerate(files) if n > called and WAITING.search(file)]
    waiting = any(n >= len(files) - 12 for n in inner)
    own = [frame for frame, file in zip(frames, files) if not LIBRARY.search(file)]
    place = own[-1] if own else frames[-1] if frames else None
    at = f" at {place[0]}:{place[1]} in {place[2]}" if place is not None else ""
    if waiting:
        return True, place, f"it waits in {frames[inner[-1]][2]}{at}"
    if any(map(LOADING.search, files)):
        return False, place, f"it waits for its data loader{at}"
    return False, place, f"it is{at}" if at else "it is outside any known code"
