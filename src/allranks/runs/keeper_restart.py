"""Decides whether a failed run is started again (`launch.restarts`), from what checkpoint, when, and on which nodes."""

from __future__ import annotations

import signal
import time
from typing import AbstractSet, Any, Callable, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from allranks.core import WARN, Diagnosis, Event, Finding, Where
from allranks.core.causes import AFTER_A_STEP, PASSES
from allranks.core.run_events import Restart
from allranks.diagnose.catalogue import cause as known
from allranks.runs.keeper_attempt import Attempt
from allranks.runs.keeper_io_worker import Steps
from allranks.runs.keeper_spares import Places, Swap, seconds_until_alone
from allranks.runs.keeper_stop_request import STOP_MARGIN_SECONDS

BACK_OFF_SECONDS = (0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
"""The wait before each restart. The first one does not wait, since most faults end with the process."""

SETTLE_SECONDS = 3.0
"""After the first sign of a failure the keeper listens for so long before it stops the run. Every torchrun ends
within 3 s of a killed rank (measured on gloo), and its table names the exit code."""

NEVER_CAME_SECONDS = 1.0
"""The time to listen if a node did not come up at all: its torchrun alone takes about 2 s to end after its rank."""

KILLED_SECONDS = 1.2
"""The time to listen if a rank was killed and the run will start again: the rank is known, and no rank can train in
the meantime. By then every other rank has sent a heartbeat (one per second). Events that come while they are stopped
still count for the cause."""


class Decision(NamedTuple):
    """The decision; `why` is written to the journal in any case."""

    again: bool
    why: str
    wait_seconds: float = 0.0


class Restarts:
    """Counts the restarts of one run. `budget` is `launch.restarts`."""

    def __init__(self, budget: int):
        self.budget, self.used = budget, 0
        self._last: Optional[Tuple[Any, ...]] = None

    def decide(
        self,
        cause: Optional[Diagnosis],
        step: Optional[int],
        missing: "list[str]",
        moved: bool = False,
        unable: str = "",
        told: bool = True,
    ) -> Decision:
        """`step` is the last step of this attempt (None: no step). `missing` are lost nodes without a spare, `unable`
        nodes with a GPU that needs a reset. `moved`: a spare takes the place of a node in the next attempt, which may
        avoid the fault. Not `told`: no rank reported its step, so it may have trained without reporting one."""
        if self.used >= self.budget:
            spent = f"all {self.budget} restarts are used" if self.budget else "launch.restarts is 0"
            return Decision(False, spent)
        if cause is None:
            return Decision(False, "the reason of the failure is not known")
        may_pass = known(cause.cause).restart
        if may_pass != PASSES and not (may_pass == AFTER_A_STEP and step is not None):
            return Decision(False, f"{cause.cause} would come again: it is not a fault that passes")
        hindered = hindrance(missing, unable)
        if hindered:
            return Decision(False, hindered)
        place = _place_of(cause, step, told)
        if place is not None and place == self._last and not moved:
            at = "before the first step" if step is None else f"at the same step {step}"
            return Decision(False, f"the same fault {at} for the second time")
        self._last = place
        wait = BACK_OFF_SECONDS[min(self.used, len(BACK_OFF_SECONDS) - 1)]
        self.used += 1
        return Decision(True, f"{cause.cause}: restart {self.used} of {self.budget}", wait)


def _place_of(cause: Diagnosis, step: Optional[int], told: bool) -> Optional[Tuple[Any, ...]]:
    """A key that identifies a fault; None if it is not possible to recognize the same fault again."""
    where = cause.where
    if step is not None:
        return (cause.cause, where.rank, where.file, where.line, step)
    repeats_on = known(cause.cause).repeats_on
    if not told or not repeats_on:
        return None
    who = where.node if repeats_on == "node" else where.rank
    return None if who is None else (cause.cause, who)


def hindrance(missing: Sequence[str], unable: str) -> str:
    """Why the nodes cannot train, from `missing` and `unable` of `Restarts.decide`; empty if they can."""
    if missing:
        gone = ", ".join(missing)
        return f"{gone} does not answer or cannot be swept, and no spare takes its place"
    return f"a GPU must be reset first on {unable}, and no spare takes the node's place" if unable else ""


class Nodes(NamedTuple):
    """The nodes that are present after a failed attempt, and their places. While a restart waits, nodes may be lost
    or come back, so the nodes that train are chosen at the end of the wait."""

    job: Mapping[str, Any]
    record: Any
    places: Places
    joined: Iterable[str]
    lost: AbstractSet[str]
    attempt: Attempt

    def placed(self) -> Tuple[List[Swap], List[str]]:
        """The swaps of spares for nodes, and the nodes without a spare that are lost or not swept."""
        missing = [node for node in self.places.at if node in self.lost or node not in self.attempt.swept]
        swaps = self.places.swaps(missing, set(self.joined) - self.lost, self.lost)
        return swaps, [node for node in missing if node not in {swap.node for swap in swaps}]

    def wait(
        self, swaps: List[Swap], seconds: float, back_off: Callable[[float], Steps[bool]]
    ) -> Steps[Optional[List[Swap]]]:
        """The swaps after `seconds` and after the lease of each node that is left out. None if the run cannot start
        again or must end. `swaps` is the earlier decision.

        A spare that is lost in the meantime takes no place. A node that is heard again got the order to stop when it
        joined, and has the time of a stop to report that it has no leftovers.
        """
        returned = False
        while True:
            gone, known = {swap.node for swap in swaps} & self.lost, self.attempt.watch.run.nodes
            if not (
                yield from back_off(max(seconds, seconds_until_alone(gone, known, self.job, time.time())))
            ):
                return None
            before, (swaps, alone) = swaps, self.placed()
            if set(alone) - self.lost and not returned:
                returned, seconds = True, float(self.job["grace_seconds"]) + STOP_MARGIN_SECONDS
                continue
            why = hindrance(alone, self.places.unable(swaps))
            if why:
                self.record.note(Restart(again=False, why=why))
                return None
            if swaps == before:
                return swaps
            moves = ", ".join(f"{swap.by} takes the place of {swap.node}" for swap in swaps)
            why = f"while it waited nodes were lost or came back: {moves or 'all keep their places'}"
            self.record.note(Restart(again=True, why=why))
            seconds = 0.0


def is_trouble(event: Event) -> bool:
    """Whether an attempt fails with this event. The events of the next seconds still count."""
    if event.kind in ("torchrun-ended", "end"):
        return bool(event.payload.code)
    return event.kind in ("exception", "lease-lost")


def settle_seconds(
    event: Event, ranks: Mapping[int, Any], job: Mapping[str, Any], again: bool = False
) -> float:
    """How long the keeper waits after this first sign of a failure. `again`: a restart is left.

    With `inside` in the job the ranks send events. If a torchrun then fails before any of its ranks has sent one, it
    did not come up: the others wait for it in the rendezvous and cannot report more. A rank that writes a checkpoint
    gets the time to finish it.
    """
    silent = all(rank.node != event.node for rank in ranks.values())
    if event.kind == "torchrun-ended" and silent and bool(job.get("inside")):
        return NEVER_CAME_SECONDS
    killed = any(rank.code == -signal.SIGKILL for rank in ranks.values())
    saves = any(rank.code is None and rank.phase == "saving" for rank in ranks.values())
    return KILLED_SECONDS if killed and again and not saves else SETTLE_SECONDS


def attempt_of(used: int, resume: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The order to the supervisors: the attempt, and the environment by which a script finds its checkpoint."""
    env = {"ALLRANKS_ATTEMPT": str(used)}
    if resume is not None:
        env["ALLRANKS_RESUME_FROM"] = str(resume["path"])
    return {"start": used, "env": env}


def restarted(
    cause: Optional[Diagnosis],
    decision: Decision,
    resume: Optional[Mapping[str, Any]],
    swaps: Sequence[Swap] = (),
) -> Finding:
    """The finding about a restart: the failure, the checkpoint to continue from, and the nodes."""
    start = f"from {resume['path']} (step {resume['step']})" if resume is not None else "from the beginning"
    moved = "".join(f" {swap.by} takes the place of {swap.node}: {swap.why}." for swap in swaps)
    return Finding(
        id="restarted",
        verdict=WARN,
        where=cause.where if cause is not None else Where(),
        saw=f"{decision.why}; the run starts again {start}.{moved}",
        why="there is no verified checkpoint to continue from, so the steps so far are trained again; a script "
        "that finds its own checkpoints continues from them."
        if resume is None
        else "the steps after that checkpoint are trained again.",
        fix="the evidence gives the cause: it may happen again.",
        evidence=cause.evidence if cause is not None else (),
    )
