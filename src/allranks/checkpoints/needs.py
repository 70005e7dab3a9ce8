"""What of a checkpoint is still needed, by the names of its files and by what they hold."""

from __future__ import annotations

import os
import re
from typing import List, Optional

from allranks.checkpoints import manifest as manifests
from allranks.checkpoints import resuming
from allranks.checkpoints.find import step_of, written
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.verify import CONFIG, WEIGHTS
from allranks.checkpoints.weights import Damaged, tensors_of

_TAG = re.compile(r"global_step(\d+)")
_NEVER_NEEDED = re.compile(r"zero_to_(fp32|universal|torch)\.py|README\.md|training_args\.bin")
"""Written beside each checkpoint and read by nobody: DeepSpeed's converters, PEFT's model card, and the
trainer's arguments as a pickle."""

_FOR_RESUME = re.compile(
    r"global_step\d+|latest|optimizer\.(pt|bin)|scheduler\.pt|scaler\.pt|rng_state(_\d+)?\.pth"
    r"|.*_(model|optim)_states\.pt|allranks-resume\.(safetensors|json)"
)
"""Optimizer, scheduler and random states of allranks, transformers and DeepSpeed: needed to resume, by nothing else."""

MASTER = "master/"
"""The beginning of the names of master weights in allranks' state."""

_SHARDS = re.compile(r"global_step\d+|latest|zero_to_(fp32|universal|torch)\.py|.*_(model|optim)_states\.pt")
"""What DeepSpeed writes into the final folder when the gather flag is off: nothing resumes from there."""

STATE = resuming.STATE[1]


def written_at(path: str) -> float:
    """When a checkpoint's weights were written."""
    try:
        return written(path) or os.lstat(path).st_mtime
    except OSError:
        return 0.0


def time_of(report: Report) -> float:
    return written_at(report.path)


def newest_in(folder: str) -> float:
    """When something in a folder was last written; the future if that cannot be told."""
    try:
        with os.scandir(folder) as entries:
            times = [entry.stat(follow_symlinks=False).st_mtime for entry in entries]
        return max([os.lstat(folder).st_mtime, *times])
    except OSError:
        return float("inf")


def holds_all_that_trained(path: str) -> bool:
    """Whether the adapter has every parameter whose master weights are in allranks' state. A script may train more
    than the adapter, a projector for instance, which PEFT does not save: then the state is the only copy."""
    try:
        names = {file: [t.name for t in tensors_of(os.path.join(path, file))] for file in (WEIGHTS, STATE)}
    except FileNotFoundError:
        return True
    except (OSError, Damaged):
        return False
    masters = {name[len(MASTER) :] for name in names[STATE] if name.startswith(MASTER)}
    return {bare(name) for name in masters} <= {bare(name) for name in names[WEIGHTS]}


def bare(name: str) -> str:
    """A parameter's name without the parts that PEFT leaves out in an adapter's file: the adapter's own name, and
    `modules_to_save`; `lora_magnitude_vector` has no `weight` there."""
    parts = [part for part in name.split(".") if part not in ("default", "modules_to_save")]
    return ".".join(parts[:-1] if parts[-1:] == ["weight"] else parts)


def may_be_under_way(report: Report) -> bool:
    return any(f.id == "checkpoint-unmarked" for f in report.findings)


def can_resume(report: Report) -> bool:
    """Whether a finished save holds optimizer states. One without a last mark may still be under way."""
    return not may_be_under_way(report) and any(
        _FOR_RESUME.fullmatch(name) for name in os.listdir(report.path)
    )


def is_dead_end(report: Report) -> bool:
    """Whether training's state is there and training cannot continue from it: its writer died before the last file."""
    names = os.listdir(report.path) if report.whole and report.kind == "adapter" else []
    return any(name in resuming.STATE for name in names) and bool(resuming.lacks(report.path, verified=True))


def is_of_a_trainer(path: str) -> bool:
    """Whether transformers' Trainer saved here: with the gather flag off, it leaves shards that nothing reads. A loop
    of the user's own may save its only checkpoint here."""
    return any(
        os.path.lexists(os.path.join(path, name)) for name in ("training_args.bin", manifests.TRAINER_STATE)
    )


def use_needs(name: str, tag: Optional[str]) -> bool:
    return not _NEVER_NEEDED.fullmatch(name) and not _FOR_RESUME.fullmatch(name)


def resume_needs(name: str, tag: Optional[str]) -> bool:
    return is_loaded_or_newer(name, tag) and not _NEVER_NEEDED.fullmatch(name)


def is_loaded_or_newer(name: str, tag: Optional[str]) -> bool:
    """Of several `global_step<N>` only the one that `latest` names is ever loaded. A newer one may be a save that is
    under way: DeepSpeed writes `latest` after all files."""
    step, loaded = _TAG.fullmatch(name), _TAG.fullmatch(tag or "")
    if step is None or tag is None or name == tag:
        return True
    return loaded is not None and int(step[1]) > int(loaded[1])


def final_needs(name: str, tag: Optional[str]) -> bool:
    return name in (WEIGHTS, CONFIG) or not _SHARDS.fullmatch(name)


def best_checkpoint(directory: str, paths: List[str]) -> Optional[str]:
    """The checkpoint that the newest trainer_state.json calls the best; None where none is named.

    `best_model_checkpoint` is a path of the training environment, so its last part counts alone;
    `best_global_step` (transformers 4.51 and later) is the other way of saying it.
    """
    for path in paths:
        try:
            with Folder(path) as folder:
                state = folder.read_json(manifests.TRAINER_STATE)
        except Exception:
            # A state that cannot be read names no best one; an older checkpoint's may.
            continue
        named = state.get("best_model_checkpoint")
        step = manifests.step_of_name(named) if isinstance(named, str) else None
        if step is None and manifests.is_whole_number(state.get("best_global_step")):
            step = state["best_global_step"]
        for other in paths:
            if step is not None and os.path.realpath(other) != directory and step_of(other) == step:
                return other
    return None
