"""How a cause behaves, stated once: in the cause's own file, beside its page and its patterns.

A file under `diagnose/symptoms/` or `monitor/detectors/` whose cause is more than a text says so with
`CAUSE = Cause(__name__, …)`. `diagnose.catalogue.cause` gathers them all; nobody else keeps a list of causes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Tuple

UNPROVEN = "unproven"
"""The cause of a diagnosis that names none."""

NODE_FAILURE, SUPERVISOR_LOST = "node-failure", "supervisor-lost"
"""Causes that the nodes' own program names: it knows no catalogue. A test compares them with it."""

REASON, END, BLAME = KINDS = range(3)
"""What a cause says: why a run ended; only how a rank, a node or a connection ended, which the events know better than
any log; what ranks say of each other. Of two that weigh the same, the earlier kind explains the later one."""

NEVER, AFTER_A_STEP, PASSES = RESTARTS = "never", "after a step", "passes"
"""Whether a second try may not meet it. Machines, networks and signals pass; a missing file or a wrong argument comes
again. A configuration that took a step is not wrong, so what came after one may pass."""


@dataclass(frozen=True)
class Cause:
    """All that other rooms judge a cause by. The id is the name of its file."""

    module: str
    kind: int = REASON
    explains: "Tuple[Cause, ...]" = ()
    """Causes of whatever kind that are only consequences of it."""

    healthy: bool = False
    """Nothing is wrong."""

    outlasts_the_end: bool = False
    """A training that came to its end does not disprove it."""

    holds_after_the_end: bool = False
    """A line of it that follows the training's end still counts: ranks that leave in turn do not print it."""

    hearsay: bool = False
    """Whom it is about is known only when all nodes have been heard."""

    restart: str = NEVER
    repeats_on: str = ""
    """`rank` or `node`, if that brings it upon itself: met there a second time before the first step, the start always
    meets it. Networks, storage, ports and other nodes may be well meanwhile."""

    by_kill: bool = False
    """The rank was killed. No wait in a collective ends so."""

    of_one_end: bool = False
    """One end's log tells that a connection failed; which end, the cable or the switch it does not."""

    kernel: "Optional[re.Pattern[str]]" = None
    """The lines of a kernel's log that tell of it, also without naming a rank."""

    resets_gpu: bool = False
    """Its Xids may ask for a reset of the GPU before anything trains on it."""

    asks_ranks: bool = False
    """A stall: all ranks are asked for what they do, before anything is stopped."""

    is_outage: bool = False
    """A pause for this reason is not the training's own pace."""

    cannot_be_work: bool = False
    """A rank that is proven to be so does no work of its own: it is told at once, also after the last step."""

    is_hopeless: bool = False
    """Proven, it never passes by itself: the run is stopped at once."""

    fix_of_rank: str = ""
    """What to do about a rank that holds up the others for it, with `{node}`, `{rank}` and `{pid}`."""

    def __post_init__(self) -> None:
        if (
            self.restart not in RESTARTS
            or self.repeats_on not in ("", "rank", "node")
            or self.kind not in KINDS
        ):
            raise ValueError(
                f"{self.id}: restart {self.restart!r}, repeats_on {self.repeats_on!r}, kind {self.kind!r}"
            )
        if not all(isinstance(other, Cause) for other in self.explains):
            raise ValueError(f"{self.id}: explains {self.explains!r}")
        self.fix_of_rank.format(node="", rank="", pid="")

    @property
    def id(self) -> str:
        return self.module.rpartition(".")[2].replace("_", "-")

    def tells(self, line: str) -> "Optional[re.Match[str]]":
        """Whether this line of a kernel's log tells of it."""
        return self.kernel.search(line) if self.kernel is not None else None

    @property
    def is_blame(self) -> bool:
        return self.kind == BLAME

    @property
    def says_why(self) -> bool:
        return self.kind == REASON and not self.healthy


NOTHING = Cause(UNPROVEN, kind=END, hearsay=True, restart=AFTER_A_STEP)
"""A script that took a step and died without a word may have met a fault of its machine."""
