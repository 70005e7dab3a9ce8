"""Judges a checkpoint that is not an adapter, by its kind (`kinds/`), and finds those of an output folder."""

from __future__ import annotations

import os
import re
from typing import Any, List, Mapping, Optional

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.kind import BESIDES, MOST_FILES, Candidate, of_place
from allranks.checkpoints.outcome import Report, once
from allranks.checkpoints.trainer_files import broken_off
from allranks.core import BLOCK, UNKNOWN
from allranks.core.text import printable

NAMED = re.compile(r"(?:step|iter|iteration|checkpoint|ckpt)[-_=]?(\d{1,12})(?!\d)")
"""`step-100`, `epoch=1-step=40.ckpt`, `ckpt_200.pt`."""

UNREAD = "its values were not read"
WEIGHTS = (
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".distcp",
    ".h5",
    ".keras",
    ".gguf",
    ".npz",
    ".pkl",
)


def judge(folder: Folder, file: Optional[str], expect: Mapping[str, Any]) -> Optional[Report]:
    """The report of a folder, or of `file` in it; None if nothing there may be a checkpoint."""
    names = (file,) if file is not None else tuple(folder.names()[:MOST_FILES])
    place = Candidate(folder, names, file, expect)
    path = folder.path if file is None else os.path.join(folder.path, file)
    kinds = of_place(place)
    if not kinds:
        strange = [name for name in names if file is not None or name.lower().endswith(WEIGHTS)]
        if not strange:
            return None
        saw = "of no kind that is known here: %s" % ", ".join(map(printable, strange[:5]))
        unknown = (found("checkpoint-kind-unknown", printable(path), saw),)
        return Report(path, unknown, 0, 0, None, False, "", "", "")
    can_resume = any(kind.resumes(place) for _, kind in kinds)
    seen = [kind.judge(place) for _, kind in kinds]
    of_trainer = broken_off(folder, names) if file is None else []
    findings = once([*(finding for one in seen for finding in one.findings), *of_trainer])
    whole = not any(finding.verdict in (BLOCK, UNKNOWN) for finding in findings)
    step = next((one.step for one in seen if one.step is not None), None)
    if step is None:
        named = NAMED.search(os.path.basename(path))
        step = int(named[1]) if named else None
    besides = [kind.title for _, kind in kinds[1:] if kind.rank < BESIDES]
    title = " with ".join([kinds[0][1].title, *besides])
    text = "; ".join(one.text for one in seen if one.text)
    if whole:
        saw = "%s: %s%s; %s" % (title, text, "" if step is None else ", step %d" % step, UNREAD)
        findings = [found("checkpoint-whole", path, saw), *findings]
    tensors, parameters = max((one.tensors, one.parameters) for one in seen)
    return Report(
        path, tuple(findings), tensors, parameters, step, whole, kinds[0][0], title, text, can_resume
    )


def below(folder: Folder) -> List[str]:
    """The names in an output folder that are checkpoints themselves."""
    place = Candidate(folder, tuple(folder.names()[:MOST_FILES]))
    found_names = []
    for name in place.names:
        part = place.below(name)
        if part is not None:
            with part.folder:
                if of_place(part):
                    found_names.append(name)
    return found_names
