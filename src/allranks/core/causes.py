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
"""The kinds of causes. REASON: why a run ended. END: only how a rank, a node or a connection ended; the events show
that better than any log. BLAME: the reports of ranks about each other. If two causes have the same weight, the
earlier kind explains the later one."""

NEVER, AFTER_A_STEP, PASSES = RESTARTS = "never", "after a step", "passes"
"""Whether a second try may succeed. Faults of machines and networks and signals pass; a missing file or a wrong
argument fails again. A configuration that took a step is not wrong, so a failure after a step may pass."""


@dataclass(frozen=True)
class Cause:
    """All that other rooms judge a cause by. The id is the name of its file."""

    module: str
    kind: int = REASON
    explains: "Tuple[Cause, ...]" = ()
    """Causes of any kind that are only consequences of this one."""

    healthy: bool = False
    """Nothing is wrong."""

    outlasts_the_end: bool = False
    """A training that came to its end does not disprove it."""

    holds_after_the_end: bool = False
    """A log line of this cause still counts after the training's end: ranks that end one after another do not print
    it."""

    hearsay: bool = False
    """Whom it is about is known only when all nodes have been heard."""

    by_comparison: bool = False
    """The lines of the ranks may show who it is about: only one of them prints something else than all others."""

    of_ranks: bool = False
    """Ranks say it that look for each other. No client of a web server does."""

    restart: str = NEVER
    repeats_on: str = ""
    """`rank` or `node`, if the fault is in that rank or node itself: if it fails there a second time before the first
    step, every start will fail. Networks, storage, ports and other nodes may recover in the meantime."""

    by_kill: bool = False
    """The rank was killed. No wait in a collective ends so."""

    names_the_first: bool = False
    """It does not show why a run ended, but its text names the rank that began it."""

    reason_on_node: bool = False
    """The logs of the node itself (torchrun's, the supervisor's) may hold the reason."""

    of_one_end: bool = False
    """The log of one end shows that a connection failed, but not whether an end, the cable or the switch is at
    fault."""

    kernel: "Optional[re.Pattern[str]]" = None
    """Matches the lines of a kernel log that show this cause, even if they do not name a rank."""

    resets_gpu: bool = False
    """Its Xids may ask for a reset of the GPU before anything trains on it."""

    asks_ranks: bool = False
    """A stall: all ranks are asked what they do before anything is stopped."""

    is_outage: bool = False
    """A pause for this reason is not the training's own pace."""

    cannot_be_work: bool = False
    """A rank that is proven to be in this state does not work: allranks reports it at once, also after the last
    step."""

    is_hopeless: bool = False
    """Proven, it never passes by itself: the run is stopped at once."""

    fix_of_rank: str = ""
    """The fix for a rank that delays the others for this cause, with `{node}`, `{rank}` and `{pid}`."""

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
        """Whether this line of a kernel log shows this cause."""
        return self.kernel.search(line) if self.kernel is not None else None

    @property
    def is_blame(self) -> bool:
        return self.kind == BLAME

    @property
    def says_why(self) -> bool:
        return self.kind == REASON and not self.healthy


NOTHING = Cause(UNPROVEN, kind=END, hearsay=True, restart=AFTER_A_STEP)
"""A script that took a step and died without a word may have met a fault of its machine."""
