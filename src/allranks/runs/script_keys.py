"""Notes before the start about keys of the run file that have no effect on the user's own script, or only a partial
one."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import NOTE, Finding
from allranks.core.placeholders import OUTPUT, RESUME
from allranks.spec import Run

BY_ITSELF = "or by allranks' own Checkpoints, or from ALLRANKS_OUTPUT_DIR"


def unheard(run: Run) -> list[Finding]:
    """A note for each key of the run file that does not reach the script."""
    if run.train.kind != "command":
        return []
    return [
        Finding(
            id="script-key-unheard",
            verdict=NOTE,
            where=run.where(key),
            saw=f"{key}: {saw}",
            why="the script is started as it is; nothing is changed in it.",
            fix=fix,
        )
        for key, saw, fix in told(run)
    ]


def told(run: Run) -> Iterator[tuple[str, str, str]]:
    """(key, its effect here, fix) for each such key."""
    words = run.train.command
    outputs, resumes = (any(mark in word for word in words) for mark in (OUTPUT, RESUME))
    if is_set(run, "deepspeed"):
        saw = "the configuration is not handed to your own script."
        yield "deepspeed", saw, "name the JSON in train.command, with the script's own option"
    if is_set(run, "save.every"):
        yield (
            "save.every",
            "a script decides itself when it saves.",
            "the script's own option in train.command",
        )
    for key in ("save.to", "save.keep", "save.copy_to"):
        if is_set(run, key) and not outputs:
            saw = f"the script learns of the output folder only by {OUTPUT} in its arguments, {BY_ITSELF}."
            yield key, saw, f'train.command: […, --output_dir, "{OUTPUT}"], with the script\'s own option'
    resume = f'train.command: […, --resume, "{RESUME}"], with the script\'s own option'
    if run.resume and not resumes:
        saw = f"the script learns of the checkpoint only by {RESUME} in its arguments, {BY_ITSELF}."
        yield "resume", saw, resume
    if run.launch.restarts and not resumes:
        saw = f"a restart begins at the first step, unless the script finds its checkpoint by {RESUME}, {BY_ITSELF}."
        yield "launch.restarts", saw, resume


def is_set(run: Run, key: str) -> bool:
    """Whether the run file or a --set sets this key."""
    return key in run.lines or key in run.lines_in
