"""A checkpoint of DeepSpeed: a folder of the tag (`global_step500`) with files of every rank, and `latest` beside it.

DeepSpeed writes (runtime/engine.py): `mp_rank_MM_model_states.pt` by the first rank of each model part, or with ZeRO-3
`zero_pp_rank_D_mp_rank_MM_model_states.pt` by every rank; `[bf16_]zero_pp_rank_D_mp_rank_MM_optim_states.pt` by every
rank with ZeRO. These files hold the number of ranks (`dp_world_size`).
"""

from __future__ import annotations

import os
import re
from typing import Dict, List, Optional, Set, Tuple

from allranks.checkpoints.folder import Folder
from allranks.checkpoints.kind import MOST_FILES, Candidate, Kind, Seen
from allranks.checkpoints.kinds import torch_file
from allranks.checkpoints.weights import Damaged
from allranks.core.text import printable, spans

LATEST = "latest"
TAG = re.compile(r"global_step(\d{1,12})")
NUMBERED = re.compile(r"(global_step|(?:step|iter|iteration|checkpoint|ckpt|epoch)[-_=]?)(\d{1,12})")
"""A tag of a series, of which old ones may go. `best` or `before-merge` is of none: its user named it to find it."""

OF_RANK = re.compile(r"((?:bf16_|fp16_)?zero_pp_rank_)(\d+)(_mp_rank_\d+_(?:model|optim)_states\.pt)")

OF_PART = re.compile(r"mp_rank_(\d{2,6})_(?:model|optim)_states\.pt$")
"""The number of a file's part of the model, under tensor parallelism."""


def holds(place: Candidate) -> bool:
    return place.file is None and (bool(_states(place)) or bool(tags(place)))


def _states(place: Candidate) -> List[str]:
    return [name for name in place.names if name.endswith(("_model_states.pt", "_optim_states.pt"))]


def tags(place: Candidate) -> List[str]:
    """The folders of tags in a place, oldest first."""
    found = []
    for name in place.names:
        below = place.below(name) if TAG.fullmatch(name) or LATEST in place.names else None
        if below is not None:
            if _states(below):
                found.append(name)
            below.folder.close()
    return sorted(found, key=lambda name: (_step(name) or 0, name))


def series(directory: str) -> List[str]:
    """The tags of a series in a folder, newest first; of several series by the time of their files."""
    place = Candidate(Folder(directory), ())
    with place.folder:
        place = Candidate(place.folder, tuple(place.folder.names()[:MOST_FILES]))
        named = [(match, tag) for tag in tags(place) for match in [NUMBERED.fullmatch(tag)] if match]
    if len({match[1] for match, _ in named}) == 1:
        return [tag for _, tag in sorted(named, key=lambda one: -int(one[0][2]))]
    return sorted((tag for _, tag in named), key=lambda tag: -_written(os.path.join(directory, tag)))


def _written(folder: str) -> float:
    return max((entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(folder)), default=0.0)


def _step(tag: str) -> Optional[int]:
    match = TAG.fullmatch(tag)
    return int(match[1]) if match else None


def judge(place: Candidate) -> Seen:
    seen = Seen()
    if _states(place):
        judge_tag(place, os.path.basename(place.folder.path), seen)
        return seen
    tag = latest(place, seen)
    below = place.below(tag) if tag else None
    if below is None:
        return seen
    try:
        judge_tag(below, tag, seen)
    finally:
        below.folder.close()
    return seen


def latest(place: Candidate, seen: Seen) -> str:
    """The tag that a load would take; empty, and said why, if there is none."""
    have = tags(place)
    try:
        tag = place.folder.read(LATEST, 4096).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return have[-1] if have else ""
    except Damaged as error:
        seen.says(error.id, place.path(LATEST), error.saw)
        return ""
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(LATEST), "%s" % (error.strerror or error))
        return ""
    if tag not in have:
        there = ", ".join(map(printable, have[-5:])) or "none"
        saw = "latest names %s; there are: %s" % (printable(tag, 100) or "nothing", there)
        seen.says("checkpoint-tag-missing", place.path(LATEST), saw)
        return ""
    return tag


def judge_tag(place: Candidate, tag: str, seen: Seen) -> None:
    names = _states(place)
    sizes: Set[int] = set()
    parts: Set[int] = set()
    for name in names:
        archive = torch_file.inspect(place, name, seen)
        if archive is None:
            continue
        if archive.numbers.get("dp_world_size"):
            sizes.add(archive.numbers["dp_world_size"])
        if archive.numbers.get("mp_world_size"):
            parts.add(archive.numbers["mp_world_size"])
        if seen.step is None and "global_steps" in archive.numbers:
            seen.step = archive.numbers["global_steps"]
    seen.step = _step(tag) if seen.step is None else seen.step
    if not any(name.endswith("_model_states.pt") for name in names):
        seen.says("checkpoint-shard-missing", place.folder.path, "no file of it holds the model's states")
    elif any(OF_RANK.fullmatch(name) for name in names) and not any(
        n.endswith("_optim_states.pt") for n in names
    ):
        saw = "no file of it holds the optimizer's states, and with them the weights that ZeRO trains"
        seen.says("checkpoint-shard-missing", place.folder.path, saw)
    of_model = {int(match[1]) for match in map(OF_PART.search, names) if match}
    said = missing_ranks(of_model, max(parts)) if parts and of_model else None
    if said:
        id, saw = said
        seen.says(id, place.folder.path, saw.replace("ranks", "tensor-parallel ranks"))
    world = max(sizes) if sizes else None
    for ranks, pattern in of_ranks(names).values():
        said = missing_ranks(ranks, world)
        if said:
            id, saw = said
            seen.says(id, place.path(pattern), saw)
    seen.text = "%s, %d files of ranks" % (printable(tag), len(names))


def of_ranks(names: List[str]) -> Dict[Tuple[str, str], Tuple[Set[int], str]]:
    """The ranks that have written a file of each kind, and the first such file that is there."""
    groups: Dict[Tuple[str, str], Tuple[Set[int], str]] = {}
    for name in sorted(names):
        match = OF_RANK.fullmatch(name)
        if match:
            groups.setdefault((match[1], match[3]), (set(), name))[0].add(int(match[2]))
    return groups


def missing_ranks(present: Set[int], world: Optional[int]) -> Optional[Tuple[str, str]]:
    """(the finding's id, what was seen) if files of ranks are not there. Those of one block of ranks may be on the
    other nodes' own disks; with a gap among them something is lost."""
    missing = sorted(set(range(world or max(present) + 1)) - present)
    if not missing:
        return None
    block = max(present) - min(present) + 1 == len(present)
    of = "" if world is None else " of %d" % world
    saw = "the files of %d%s ranks are not here: %s" % (len(missing), of, spans(missing))
    return "checkpoint-ranks-elsewhere" if block else "checkpoint-ranks-missing", saw


KIND = Kind("DeepSpeed checkpoint", 20, holds, judge, holds)
