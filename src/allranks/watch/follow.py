"""`Watch`: one run followed while it happens, event by event."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from allranks.watch import verdict as _verdict
from allranks.watch.catalogue import rules
from allranks.watch.progress import Progress, progress_of
from allranks.watch.state import RunState
from allranks.words import VERDICTS, Diagnosis, Event, Finding

TICK_SECONDS = 1.0
"""A beat comes each second: looking more often sees nothing new."""

FORGET_SECONDS = 300.0
"""A statement that no longer holds may be said again after this long, so that a flapping one is folded."""

LINES_KEPT = 400
"""The last lines kept of each log for the verdict."""

Statement = Union[Finding, Diagnosis]


class Watch:
    """Follows one run. `expect` holds what the plan promised: `world_size`, `trainable_parameters`, `steps`.

    Times of events should be on the head's clock. Where the caller gives `received`, its own clock at the
    arrival, a node's clock is corrected here: the smallest difference seen is its offset, since a message
    can be late but not early.
    """

    def __init__(self, expect: "Mapping[str, Any] | None" = None) -> None:
        self.run = RunState(expect)
        self.offsets: Dict[str, float] = {}
        self.logs: Dict[Tuple[Optional[str], Optional[int], str], List[str]] = {}
        self._after: Dict[str, List[Any]] = {}
        self._looks: List[Any] = []
        for module in rules().values():
            for kind in getattr(module, "AFTER", ()):
                self._after.setdefault(kind, []).append(module.after)
            if hasattr(module, "look"):
                self._looks.append(module.look)
        self._ticked: Optional[float] = None
        self._said: Dict[Tuple[Any, ...], float] = {}

    def add(self, event: Event, received: "float | None" = None) -> List[Statement]:
        """Takes one event in; returns what it makes known, each statement once."""
        if received is not None:
            event = self.corrected(event, received)
        self.run.fold(event)
        said: List[Statement] = []
        for after in self._after.get(event.kind, ()):
            said.extend(self._new(after(self.run, event), event.at))
        return said

    def corrected(self, event: Event, received: float) -> Event:
        """The event with its time on the clock of `received`."""
        if event.node is None:
            return event
        offset = min(received - event.at, self.offsets.get(event.node, received - event.at))
        self.offsets[event.node] = offset
        return Event(event.at + offset, event.kind, event.node, event.rank, event.data)

    def tick(self, now: float) -> List[Statement]:
        """What the passing of time alone makes known; call it as often as you like."""
        if self._ticked is not None and 0.0 <= now - self._ticked < TICK_SECONDS:
            return []
        self._ticked = now
        said: List[Statement] = []
        for look in self._looks:
            said.extend(self._new(look(self.run, now), now))
        return said

    def _new(self, findings: Iterable[Finding], now: float) -> List[Finding]:
        """Of these, the ones not said yet: a rule speaks once about a place, and again if it gets worse."""
        fresh = []
        for finding in findings:
            key = (finding.id, finding.where)
            level = VERDICTS.index(finding.verdict)
            held = self._said.get((*key, level))
            worse_said = any((*key, higher) in self._said for higher in range(level + 1, len(VERDICTS)))
            if (held is None or now - held > FORGET_SECONDS) and not worse_said:
                fresh.append(finding)
            self._said[(*key, level)] = now
        return fresh

    def add_lines(
        self, rank: "int | None", lines: Iterable[str], node: "str | None" = None, source: str = ""
    ) -> None:
        """The tail of a rank's log (rank None: of the node's torchrun), used by the verdict alone."""
        kept = self.logs.setdefault((node, rank, source), [])
        kept.extend(lines)
        del kept[:-LINES_KEPT]

    def add_log(self, node: "str | None", name: str, text: str) -> None:
        """The same by the file's name: `rank-3.log` is rank 3's, any other the node's."""
        stem = name.rsplit("/", 1)[-1]
        rank = stem[5:].split(".", 1)[0] if stem.startswith("rank-") else ""
        self.add_lines(int(rank) if rank.isdigit() else None, text.splitlines(), node, name)

    def verdict(self, now: float) -> Optional[Diagnosis]:
        """Why the run ended; None while nothing has gone wrong."""
        return _verdict.verdict(self.run, self.logs, now)

    def progress(self, now: "float | None" = None) -> Progress:
        return progress_of(self.run, now)
