"""Whether a log is a single program's, which ranks blame others, and whether a server lived on."""

from __future__ import annotations

from typing import List, Optional, Set, Tuple, Union

from allranks.diagnose.catalogue import cause
from allranks.diagnose.late_output import ended_its_program
from allranks.diagnose.store import Store
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Hit

ALONE_SHARE = 0.9
"""The share of all lines that the output of a single program has at least."""

SERVED_ON = 10
"""Lines after an error, up to an answer of the server, from which on it did not end the server."""

STEPS_PRINTED_LATE = 2
"""Rank 0 prints a step or two more after another rank's death (seen with gloo), since its last collectives had
already finished."""


class Alone(Store):
    """The memory of all logs, with the answers that need no more than its own lines."""

    def __init__(self) -> None:
        super().__init__()
        self._peers: Tuple[int, Set[int]] = (-1, set())
        """After so many lines: the ranks that lost no peer, if others did."""

    def _serves_on(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a server answered requests many lines after this, or before it shut down as it was told to: one
        request failed, or an earlier start."""
        source = self.sources[hit.line.source]
        served_on = source.served - hit.order >= SERVED_ON or source.stopping > source.answered > hit.order
        return served_on and self._is_alone(hit)

    def _is_alone(self, hit: Union[Hit, Raised]) -> bool:
        """Whether nearly all lines are a single program's, as far as they show, and this is one of them. A few
        lines may look like those of a rank or of another machine."""
        return not self.exits and self._is_in_one_stream(hit)

    def _is_in_one_stream(self, hit: Union[Hit, Raised]) -> bool:
        """The same for the programs that a launcher, which reported their ends, started one after the other."""
        return hit.line.rank is None and self.seen_of(hit.line).lines >= ALONE_SHARE * self.count

    def _lines_after(self, hit: Union[Hit, Raised]) -> int:
        """The lines of the same log after this one."""
        return 0 if ended_its_program(self, hit) else self.sources[hit.line.source].last - hit.order

    def blamers(self) -> Set[int]:
        """Ranks that print a communication error."""
        lost = (r.named if rank is None else rank for rank, r in self.raised() if r.communication)
        ranks = {rank for rank in lost if rank is not None}
        for symptom, found in self.hit_ranks.items():
            if cause(symptom).is_blame:
                ranks |= found
        return ranks | set(self.collectives)

    def silent(self) -> List[int]:
        """Ranks known to exist that print neither a communication error nor an exception."""
        crashed = {rank for rank, _ in self.raised() if rank is not None}
        return sorted(self.world - self.blamers() - crashed)

    def is_the_lost_peer(self, rank: Optional[int]) -> bool:
        """Whether all other ranks, and not this one, lost a peer."""
        if self._peers[0] != self.count:
            blamers = self.blamers()
            self._peers = self.count, self.world - blamers if blamers else set()
        return self._peers[1] == {rank}

    def still_lived(self) -> bool:
        """Whether the launcher had to end a process that is in no row: then a silent rank hung, it did not leave."""
        rows = {(e.node, e.pid) for e in self.exits}
        return any(pid not in rows for pid in self.closed_pids)
