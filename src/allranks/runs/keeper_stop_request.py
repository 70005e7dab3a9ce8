"""Ends of a run without a failure: a person asks for it, or a rank aborts after its script has ended without an
error."""

from __future__ import annotations

import signal
from typing import Any, Mapping, Optional, Sequence

from allranks.core import BLOCK, UNKNOWN, WARN, Finding, Where
from allranks.core.node_events import Left
from allranks.node.paths import RunDirectory, read_object
from allranks.node.stopping import FORCE_SECONDS

STOP_MARGIN_SECONDS = FORCE_SECONDS + 5.0
"""Added to the grace time: how long the slowest supervisor may take for SIGKILL and its report."""

SAVE_SECONDS = 60.0
"""Time for the ranks to save and end, if the job does not set it (`save.grace_seconds`)."""

AFTER_THE_END = (-signal.SIGABRT, -signal.SIGSEGV)
"""A library's threads may abort a process whose Python has ended ("terminate called without an active exception").
torchrun then ends its other ranks by SIGTERM."""


class StopRequest:
    """Reads `keeper/stop.json`. With `save` in it, the ranks are asked once to save and to end, if they can."""

    def __init__(self, directory: RunDirectory, job: Mapping[str, Any]):
        self.path, self.seconds = directory.keeper.stop, float(job.get("notice_seconds") or SAVE_SECONDS)
        self._until: Optional[float] = None

    def heed(self, now: float, can_save: bool) -> str:
        """`save`, once, if the ranks should save; `stop` if they should end now; else an empty text."""
        asked = read_object(self.path)
        if not asked:
            return ""
        if not (asked.get("save") and can_save):
            return "stop"
        if self._until is None:
            self._until = now + self.seconds
            return "save"
        return "stop" if now > self._until else ""


def after_the_end(run: Any, expect: Mapping[str, Any]) -> Optional[Finding]:
    """A warning if every rank trained, ended its Python with 0, and only then died from a signal; None otherwise.

    `run` is the watch's state. A rank that was ended earlier, for example by torchrun's SIGTERM, has not finished;
    then the run has failed.
    """
    ranks = [run.ranks.get(number) for number in range(int(expect.get("world_size") or 0))]
    if not ranks or any(rank is None or rank.end_code != 0 or rank.step is None for rank in ranks):
        return None
    dead = [rank for rank in ranks if rank.gone_code in AFTER_THE_END]
    harmless = (None, 0, -signal.SIGTERM, *AFTER_THE_END)
    if not dead or any(rank.gone_code not in harmless or rank.exceptions for rank in ranks):
        return None
    first = min(dead, key=lambda rank: (rank.gone_at or 0.0, rank.rank))
    name = signal.Signals(-first.gone_code).name
    return Finding(
        "aborted-after-the-end", WARN, Where(node=first.node, rank=first.rank),
        f"rank {first.rank} died of {name} after its script had ended with 0; so had all {len(ranks)} ranks before.",
        "the end of every rank, and a signal",
        "every step was trained, and the saves are verified as always; but torchrun calls the run failed.",
        "a fault of a library's threads at the interpreter's end; torch.distributed.destroy_process_group() at the "
        "end of the script often avoids it.",
    )  # fmt: skip


def no_training(run: Any) -> Optional[Finding]:
    """A finding if every rank ended without an error, but none was seen to train: no step, no save. A script that
    finds too few GPUs or no data may print a line and end with 0. It is a warning if the script made a process group
    (it may only evaluate). Otherwise nothing shows that it did anything, and the finding is unknown. `run` is the
    watch's state."""
    ranks = list(run.ranks.values())
    if any(rank.step is not None or rank.saved_steps for rank in ranks):
        return None
    prepared = any(rank.prepared for rank in ranks)
    seen = "no training step and no save" if prepared else "no process group, no training step and no save"
    return Finding(
        "no-training-seen", WARN if prepared else UNKNOWN, Where(),
        f"the script ended with 0, and {seen} was seen on any of {len(ranks)} ranks.",
        "a step, or a save",
        "a script may also end with 0 because it found nothing to do; then nothing was trained.",
        "read the ranks' logs: allranks logs.",
    )  # fmt: skip


def processes_left(node: str, left: Sequence[Left]) -> Finding:
    """The finding about processes that still live `FORCE_SECONDS` after SIGKILL, from a supervisor's `swept` event."""
    names = ", ".join(f"pid {one.pid} {one.name} (state {one.state})" for one in left[:8])
    return Finding(
        id="processes-left",
        verdict=WARN,
        where=Where(node=node),
        saw=f"{len(left)} processes of the run would not end: {names}",
        expected=f"none, {FORCE_SECONDS:.0f} s after the first SIGKILL",
        why="they hang in the kernel, hold their GPU memory and ports, and write again when their storage "
        "answers; no spare replaces the node until they are gone.",
        fix=f"on {node}: cat /proc/{left[0].pid}/stack says where; repair the file server or the driver, or "
        f"restart the node; then allranks clean",
    )


def journal_unwritten(why: str, node: Optional[str] = None, path: Optional[str] = None) -> Finding:
    """The finding that the head's disk is full. Readers of the files notice it themselves (`node/journal_growth.py`)
    and show this finding. The keeper sends it as an alert, and writes it into the files once there is space."""
    return Finding(
        id="journal-unwritten",
        verdict=WARN,
        where=Where(node=node, file=path),
        saw=f"the run's journal cannot be written: {why}.",
        why="the run continues, but its journal, state and report do not: the display shows old data.",
        fix="make room there, or stop the run with a save: allranks stop RUN --save",
    )


def fault(node: str, error: BaseException, trace: str) -> Finding:
    """The finding that the keeper itself failed."""
    return Finding(
        id="keeper-fault",
        verdict=BLOCK,
        where=Where(node=node),
        saw=f"the keeper failed: {type(error).__name__}: {error}",
        why="nothing watches the run now, so allranks stops it.",
        fix="a bug in allranks: report it with the evidence below.",
        evidence=tuple(trace.splitlines()[-12:]),
    )
