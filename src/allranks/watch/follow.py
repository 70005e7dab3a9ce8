"""`Watch`: one run followed while it happens, event by event."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from allranks.watch import verdict as _verdict
from allranks.watch.catalogue import rules
from allranks.watch.progress import Progress, progress_of
from allranks.watch.state import RunState
from allranks.watch.who import by_stall
from allranks.words import BLOCK, VERDICTS, WARN, Diagnosis, Event, Finding

TICK_SECONDS = 1.0
"""A beat comes each second: looking more often sees nothing new."""

PAUSE_SECONDS = 5.0
AFTER_PAUSE_SECONDS = 15.0
"""Where the watcher itself was away (suspended, starved, its clock set), what it has not heard proves nothing
until it has listened again for a while."""

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
        for name, module in rules().items():
            for kind in getattr(module, "AFTER", ()):
                self._after.setdefault(kind, []).append((name, module.after))
            if hasattr(module, "look"):
                self._looks.append((name, module.look))
        self._ticked: Optional[float] = None
        self.blocking: List[Finding] = []
        self.blocked_at: Optional[float] = None
        self.faulty: Dict[str, str] = {}
        self._said: Dict[Tuple[Any, ...], float] = {}

    def again(self) -> "Watch":
        """A watch of the next attempt: the nodes that are there and their clocks are known, nothing else is."""
        fresh = Watch(self.run.expect)
        fresh.offsets = self.offsets
        for node in self.run.nodes.values():
            kept = fresh.run.node(node.name)
            kept.joined_at, kept.seen_at, kept.boot_id = node.joined_at, node.seen_at, node.boot_id
            kept.lost_at, kept.lost_why = node.lost_at, node.lost_why
        return fresh

    def add(self, event: Event, received: "float | None" = None) -> List[Statement]:
        """Takes one event in; returns what it makes known, each statement once."""
        if received is not None:
            event = self.corrected(event, received)
        self.run.fold(event)
        said: List[Statement] = []
        for name, after in self._after.get(event.kind, ()):
            said.extend(self._new(self._ask(name, after, event), event.at))
        return said

    def heard(self, node: str, at: float) -> None:
        """A node's supervisor says that it lives."""
        self.run.heard(self.run.node(node), at)

    def corrected(self, event: Event, received: float) -> Event:
        """The event with its time on the clock of `received`."""
        if event.node is None:
            return event
        offset = min(received - event.at, self.offsets.get(event.node, received - event.at))
        self.offsets[event.node] = offset
        return Event(event.at + offset, event.kind, event.node, event.rank, event.data)

    def tick(self, now: float) -> List[Statement]:
        """What the passing of time alone makes known; call it as often as you like."""
        if self._ticked is not None:
            if 0.0 <= now - self._ticked < TICK_SECONDS:
                return []
            if not 0.0 <= now - self._ticked < PAUSE_SECONDS:
                self.run.paused_until = now + AFTER_PAUSE_SECONDS
        self._ticked = now
        said: List[Statement] = []
        for name, look in self._looks:
            said.extend(self._new(self._ask(name, look, now), now))
        return said

    def _ask(self, name: str, detector: Any, about: Any) -> List[Finding]:
        """One detector's findings. A fault in it is said once and silences it alone: the run goes on watched."""
        if name in self.faulty:
            return []
        try:
            return list(detector(self.run, about))
        except Exception as error:
            self.faulty[name] = f"{type(error).__name__}: {error}"
            return [
                Finding(
                    id="detector-fault",
                    verdict=WARN,
                    saw=f"the detector {name} failed: {self.faulty[name]}",
                    why="what it looks for would not be seen in this run.",
                    fix="a fault of allranks: report it with the run's journal.",
                )
            ]

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
                if finding.verdict == BLOCK:
                    self.blocking.append(finding)
                    self.blocked_at = self.blocked_at or now
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
        """Why the run ended; None while nothing has gone wrong.

        Where a finding stopped the run before anything failed, what failed after it is the stop's own doing.
        """
        trouble = self.run.trouble_at
        if self.blocked_at is not None and (trouble is None or self.blocked_at < trouble):
            return by_stall(self.run) or _verdict.of_finding(self.run, self.blocking[0])
        found = _verdict.verdict(self.run, self.logs, now)
        if found is None and self.blocking:
            return _verdict.of_finding(self.run, self.blocking[0])
        return found

    def progress(self, now: "float | None" = None) -> Progress:
        return progress_of(self.run, now)
