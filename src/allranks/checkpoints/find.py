"""Finds the checkpoints of a run's output folder."""

from __future__ import annotations

import os
import stat
from typing import Any, List, Mapping, Optional, Tuple

from allranks.checkpoints import manifest as manifests
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.kinds import deepspeed
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.verify import CONFIG, WEIGHTS, verify

STEPS = ("global_step", "step", "iter")


def find(directory: str) -> List[str]:
    """Paths of the folders that hold, or should hold, an adapter, newest first.

    The layout is that of transformers and LLaMA-Factory: `checkpoint-<step>` below `directory`, and the
    final adapter in `directory` itself. The final one comes before a checkpoint of the same step; if
    its step is not written anywhere, the time of its weights decides. A link is not a checkpoint. If there is
    none of that, the numbered tags that DeepSpeed's `save_checkpoint` left in `directory` are meant.
    """
    directory = os.fspath(directory)
    found: List[Tuple[int, int, str]] = []
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        step = manifests.step_of_name(name)
        if step is not None and stat.S_ISDIR(os.lstat(path).st_mode):
            found.append((step, 0, path))
    found.sort(reverse=True)
    paths = [path for _, _, path in found]
    if os.path.lexists(os.path.join(directory, WEIGHTS)) or os.path.lexists(os.path.join(directory, CONFIG)):
        paths.insert(_place_of_final(directory, found), directory)
    return paths or [os.path.join(directory, tag) for tag in deepspeed.series(directory)]


def _place_of_final(directory: str, found: "List[Tuple[int, int, str]]") -> int:
    step = step_of(directory)
    if step is not None:
        return sum(1 for other, _, _ in found if other > step)
    final = written(directory)
    return sum(1 for _, _, path in found if written(path) > final)


def written(path: str) -> float:
    try:
        return os.lstat(os.path.join(path, WEIGHTS)).st_mtime  # the janitor writes the manifest again
    except OSError:
        return 0.0


def step_of(path: str) -> Optional[int]:
    """The step of a folder by its manifest, trainer_state.json or name, unverified; None where none says."""
    try:
        with Folder(path) as folder:
            for name, key in ((manifests.MANIFEST, "step"), (manifests.TRAINER_STATE, "global_step")):
                try:
                    value = folder.read_json(name).get(key)
                except Exception:
                    # Whatever is wrong with the file, verify names it; here it only does not say the step.
                    continue
                if manifests.is_whole_number(value):
                    return value
    except OSError:
        pass
    tag = deepspeed.NUMBERED.fullmatch(os.path.basename(path))
    return int(tag[2]) if tag is not None and tag[1].startswith(STEPS) else manifests.step_of_name(path)


def newest_verified(directory: str, expect: Optional[Mapping[str, Any]] = None) -> Optional[Report]:
    """The report of the newest whole checkpoint of `directory`; None where none is whole.

    `expect` is judged without its `step`: each checkpoint is of its own.
    """
    expect = {key: value for key, value in dict(expect or {}).items() if key != "step"}
    try:
        paths = find(directory)
    except OSError:
        return None
    for path in paths:
        report = verify(path, expect)
        if report.whole:
            return report
    return None
