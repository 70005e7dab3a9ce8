"""The files that a trainer leaves in the folder of a checkpoint, and whether it finished the save."""

from __future__ import annotations

import os
import re
from typing import List, Sequence

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.manifest import TRAINER_STATE, step_of_name
from allranks.core import Finding

TEMPORARY = re.compile(r"(tmp[-.].*|.*\.(tmp|partial|part|incomplete)([-.].*)?|\.allranks-.*)")
TRAINER_FILES = re.compile(
    r"training_args\.bin|optimizer\.pt|scheduler\.pt|rng_state.*\.pth|latest|global_step\d+"
)
OWN_FILES = re.compile(r"training_args\.bin|rng_state(_\d+)?\.pth")
"""Only transformers' Trainer writes these; the other ones have names that a user's own loop may choose too."""
SCHEDULER, SHARDS = "scheduler.pt", re.compile(r"global_step\d+|(pytorch_model_fsdp|optimizer)_\d+")
"""The Trainer's name for the scheduler (accelerate writes scheduler.bin), beside folders of all ranks."""
STATE_ALONE = re.compile(r"training_args\.bin|rng_state.*\.pth|(optimizer|scheduler|scaler)\.(pt|bin)")
"""Files of a Trainer that hold no weights."""


def broken_off(folder: Folder, names: Sequence[str]) -> List[Finding]:
    """A Trainer's checkpoint of any kind without trainer_state.json, which it writes last, or without weights."""
    own = any(map(OWN_FILES.fullmatch, names)) or (SCHEDULER in names and any(map(SHARDS.fullmatch, names)))
    if step_of_name(folder.path) is None or not own:
        return []
    if TRAINER_STATE not in names:
        return [_without_state(folder)]
    torch_files = [name for name in names if name.endswith((".pt", ".pth", ".bin"))]
    rest = [
        name
        for name in names
        if name != TRAINER_STATE and not name.endswith((".json", ".txt", ".jinja", ".md"))
    ]
    if torch_files and all(map(STATE_ALONE.fullmatch, rest)):
        saw = "a trainer's state, and no file of weights"
        return [found("checkpoint-shard-missing", folder.path, saw)]
    return []


def _without_state(folder: Folder) -> Finding:
    saw = "a trainer's files, and no trainer_state.json, which it writes last"
    return found("checkpoint-unfinished", folder.path, saw)


def unfinished(folder: Folder, has_state: bool) -> List[Finding]:
    """A folder of a temporary name; a trainer's files in `checkpoint-<step>` without the one that it writes last."""
    findings, name = [], os.path.basename(folder.path)
    if TEMPORARY.fullmatch(name):
        saw = "the folder has a temporary name: %s" % name
        findings.append(found("checkpoint-unfinished", folder.path, saw))
    in_part = any(TRAINER_FILES.fullmatch(n) for n in folder.names())
    if not has_state and step_of_name(folder.path) is not None and in_part:
        findings.append(_without_state(folder))
    return findings
