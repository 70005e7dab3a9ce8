"""The files that a trainer leaves in the folder of a checkpoint, and whether it finished the save."""

from __future__ import annotations

import os
import re
from typing import List

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.manifest import step_of_name
from allranks.core import Finding

TEMPORARY = re.compile(r"(tmp[-.].*|.*\.(tmp|partial|part|incomplete)([-.].*)?|\.allranks-.*)")
TRAINER_FILES = re.compile(
    r"training_args\.bin|optimizer\.pt|scheduler\.pt|rng_state.*\.pth|latest|global_step\d+"
)


def unfinished(folder: Folder, has_state: bool) -> List[Finding]:
    """A folder of a temporary name; a trainer's files in `checkpoint-<step>` without the one that it writes last."""
    findings, name = [], os.path.basename(folder.path)
    if TEMPORARY.fullmatch(name):
        saw = "the folder has a temporary name: %s" % name
        findings.append(found("checkpoint-unfinished", folder.path, saw))
    in_part = any(TRAINER_FILES.fullmatch(n) for n in folder.names())
    if not has_state and step_of_name(folder.path) is not None and in_part:
        saw = "a trainer's files, and no trainer_state.json, which it writes last"
        findings.append(found("checkpoint-unfinished", folder.path, saw))
    return findings
