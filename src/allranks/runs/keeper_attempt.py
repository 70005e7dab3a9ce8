"""One attempt of a run: everything that the next attempt must not inherit."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, Set

from allranks.core import Diagnosis, Event, Finding
from allranks.core.node_events import Left, Swept
from allranks.monitor import Watch
from allranks.node.stopping import OWN_END
from allranks.runs.keeper_provisional import FirstWord


class State(Enum):
    """The activity of an attempt; after its end, the reason for the end."""

    PREPARING = "no rank was told to start"
    TRAINING = "its ranks train"
    FAILING = "first sign of a failure; waiting for reports of the other nodes"
    BLOCKED = "a finding ends it"
    LEAVING = "the ranks were asked to save and to end"
    ASKED = "a stop was requested"


_FAILURES = frozenset((State.FAILING, State.BLOCKED))
_WISHES = frozenset((State.LEAVING, State.ASKED))
NEXT: Mapping[State, FrozenSet[State]] = {
    State.PREPARING: frozenset((State.TRAINING,)) | _FAILURES | _WISHES,
    State.TRAINING: _FAILURES | _WISHES,
    State.FAILING: frozenset((State.BLOCKED,)) | _WISHES,
    State.BLOCKED: frozenset((State.LEAVING,)),
    State.LEAVING: frozenset((State.ASKED,)),
    State.ASKED: frozenset(),
}
"""The states that may follow each state. A machine that goes away ends the run as stopped, also after a failure. A
request to stop changes nothing if a finding has already ended the run."""


class Attempt:
    """The state of one attempt: its watch, its statements and its orders."""

    def __init__(self, watch: Watch, start: Mapping[str, Any], say: Callable[[Diagnosis], None]):
        """`start` is the supervisors' order to start; `say` gets the provisional diagnosis of a failure."""
        self.watch, self.start, self.first_word = watch, dict(start), FirstWord(say)
        self.state = State.PREPARING
        self.order: Optional[Dict[str, Any]] = None
        """The last order to all nodes that train. A node that joins again gets it again."""
        self.until = math.inf
        """When the wait for the end of the attempt is over, on the monotonic clock: some seconds after the first sign
        of a failure."""
        self.blocking: List[Finding] = []
        self.notice = ""
        """Why the ranks were asked to save and to end."""
        self.can_save = False
        self.ended: Dict[str, int] = {}
        """The exit codes of the nodes' torchruns."""
        self.tails: Dict[str, Dict[str, str]] = {}
        self.ends: Dict[str, Dict[str, str]] = {}
        """The ends of the logs, by node and name: `tails` are not judged yet, `ends` are."""
        self.swept: Set[str] = set()
        self.left: Dict[str, Sequence[Left]] = {}
        """For each node with leftovers: the processes that no signal ends."""

    def following(self, start: Mapping[str, Any]) -> "Attempt":
        """The next attempt. It knows the present nodes and their clocks."""
        return Attempt(self.watch.again(), start, self.first_word.say)

    def to(self, state: State) -> bool:
        """Changes the state; False if `state` may not follow."""
        follows = state in NEXT[self.state]
        if follows:
            self.state = state
        return follows

    @property
    def over(self) -> bool:
        """Whether the keeper need not wait for anything else. Ranks that never started have nothing to save."""
        return self.state in (State.BLOCKED, State.ASKED) or (
            self.state is State.LEAVING and self.order is None
        )

    @property
    def decided(self) -> bool:
        """Whether a stop was requested or a finding has stopped the run: no other cause is looked for."""
        return self.state in (State.BLOCKED, State.LEAVING, State.ASKED)

    @property
    def why(self) -> str:
        """Why its ranks are stopped, for the journal and the nodes."""
        if self.state is State.ASKED:
            return "asked"
        return self.blocking[0].id if self.blocking else self.notice or "the run failed"

    def begin(self) -> None:
        self.to(State.TRAINING)
        self.order = self.start

    def fail(self, until: float) -> None:
        """Notes the first sign of a failure. The keeper hears the other ranks until `until`."""
        self.until = min(self.until, until)
        self.to(State.FAILING)

    def block(self, finding: Finding, now: float) -> None:
        """Ends the attempt with a finding, even if the ranks save at this moment."""
        self.blocking.append(finding)
        self.watch.block(finding, now)
        self.until = 0.0
        self.to(State.BLOCKED)

    def leave(self, why: str) -> bool:
        """Returns True once, if the ranks should be asked to save and to end."""
        leaves = self.to(State.LEAVING)
        if leaves:
            self.notice = why
        return leaves

    def stop(self, order: Dict[str, Any]) -> None:
        """Notes an order to stop. A sweep at a torchrun's own end does not answer this order."""
        self.order = order
        self.swept.clear()
        self.left.clear()

    def hear_swept(self, event: Event) -> Sequence[Left]:
        """Notes the result of a sweep. A node is swept if it has no leftovers after a stop. Returns the leftovers:
        processes that no signal ends."""
        swept: Swept = event.payload
        node, left = str(event.node), swept.left
        self.left.pop(node, None)
        if left:
            self.left[node] = left
        elif swept.why != OWN_END:  # such a sweep does not answer a stop, and may come after it
            self.swept.add(node)
        return left

    def cause(self, now: float) -> Optional[Diagnosis]:
        """The verdict from all events and the ends of all logs. A node sends its logs before it stops."""
        for node, logs in self.tails.items():
            for name, text in logs.items():
                self.watch.add_log(node, name, text)
        self.ends.update(self.tails)  # the verdict may be needed twice
        self.tails.clear()
        return self.watch.verdict(now)
