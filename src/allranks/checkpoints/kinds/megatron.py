"""A checkpoint of Megatron: `latest_checkpointed_iteration.txt`, and a folder `iter_NNNNNNN` for each iteration.

In that lie `mp_rank_TT[_PPP]/model_optim_rng.pt` for each tensor and pipeline part, or a distributed checkpoint of
torch (`torch_dist`).
"""

from __future__ import annotations

import re
from typing import Dict, List, Set, Tuple

from allranks.checkpoints import zip_table
from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.kinds import distributed, torch_file
from allranks.checkpoints.weights import Damaged
from allranks.core.text import printable

LATEST = "latest_checkpointed_iteration.txt"
ITERATION = re.compile(r"iter_(\d{7,12})|release")
PART = re.compile(r"mp_rank_(\d{2,4})(?:_(\d{3,4}))?")


def holds(place: Candidate) -> bool:
    return place.file is None and (LATEST in place.names or bool(parts(place)))


def parts(place: Candidate) -> List[str]:
    return [name for name in place.names if PART.fullmatch(name)]


def judge(place: Candidate) -> Seen:
    seen = Seen()
    if LATEST not in place.names:
        judge_iteration(place, seen)
        return seen
    try:
        said = place.folder.read(LATEST, 4096).decode("utf-8", "replace").strip()
    except Damaged as error:
        seen.says(error.id, place.path(LATEST), error.saw)
        return seen
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(LATEST), "%s" % (error.strerror or error))
        return seen
    name = "iter_%07d" % int(said) if said.isascii() and said.isdigit() and len(said) < 13 else said
    below = place.below(name) if ITERATION.fullmatch(name) else None
    if below is None:
        there = ", ".join(sorted(n for n in place.names if ITERATION.fullmatch(n))[-5:]) or "none"
        saw = "it names %s; there are: %s" % (printable(said, 100) or "nothing", there)
        seen.says("checkpoint-tag-missing", place.path(LATEST), saw)
        return seen
    try:
        judge_iteration(below, seen)
    finally:
        below.folder.close()
    seen.step = int(said) if said.isdigit() else None
    seen.text = "%s, %s" % (name, seen.text)
    return seen


def judge_iteration(place: Candidate, seen: Seen) -> None:
    names = parts(place)
    if not names:
        files = distributed.judge_one(place, seen) if distributed.holds(place) else 0
        if not files:
            seen.says("checkpoint-shard-missing", place.folder.path, "no part of the model is in it")
        seen.text = "%d files of ranks" % files
        return
    have: Set[Tuple[int, int]] = set()
    numbers: Dict[str, int] = {}
    for name in names:
        match = PART.fullmatch(name)
        assert match is not None
        have.add((int(match[1]), int(match[2] or 0)))
        numbers.update(_judge_part(place, name, seen))
    tensor, pipeline = 1 + max(one for one, _ in have), 1 + max(other for _, other in have)
    missing = [(t, p) for t in range(tensor) for p in range(pipeline) if (t, p) not in have]
    if missing:
        saw = "%d of %d parts of the model are not here" % (len(missing), tensor * pipeline)
        shown = tuple("tensor part %d, pipeline part %d" % one for one in missing)
        seen.says("checkpoint-ranks-missing", place.folder.path, saw, "", shown)
    wanted = max(tensor, numbers.get(zip_table.TENSOR, 0)) * max(pipeline, numbers.get(zip_table.PIPELINE, 0))
    if not missing and wanted > len(have):  # whole rows of the grid: perhaps on other nodes' own disks
        saw = "%d of %d parts of the model are not here" % (wanted - len(have), wanted)
        seen.says("checkpoint-ranks-elsewhere", place.folder.path, saw)
    seen.text = "%d parts of the model" % len(have)


def _judge_part(place: Candidate, name: str, seen: Seen) -> Dict[str, int]:
    """The numbers in the part's files. Reports what is wrong with it."""
    below, numbers = place.below(name), {}
    if below is None:
        return numbers
    try:
        files = torch_file.files(below)
        if not files:
            seen.says("checkpoint-shard-missing", place.path(name), "no file is in it")
        for file in files:
            archive = torch_file.inspect(below, file, seen)
            numbers.update(archive.numbers if archive is not None else {})
    finally:
        below.folder.close()
    return numbers


KIND = Kind("Megatron checkpoint", 30, holds, judge, holds)
