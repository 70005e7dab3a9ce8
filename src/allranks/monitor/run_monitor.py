"""`Watch` follows one run while it happens, event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from allranks.core import BLOCK, VERDICTS, WARN, Diagnosis, Event, Finding
from allranks.diagnose.symptoms.rank_exited_early import CAUSE as RANK_EXITED_EARLY
from allranks.monitor import event_handlers
from allranks.monitor import verdict as _verdict
from allranks.monitor.catalogue import rules
from allranks.monitor.clock_offsets import NodeClock
from allranks.monitor.culprit import by_stall
from allranks.monitor.detectors.lease_lost import CAUSE as LEASE_LOST
from allranks.monitor.early_exit import by_early_exit
from allranks.monitor.lost_nodes import by_node
from allranks.monitor.progress import Progress, progress_of
from allranks.monitor.run_state import RunState

JUDGES = {RANK_EXITED_EARLY.id: by_early_exit, LEASE_LOST.id: by_node}
"""If one of these findings stopped the run, this function knows more about it than the finding does. For any other
finding, `by_stall` decides whether it was a stall."""

TICK_SECONDS = 1.0
"""A heartbeat comes each second, so a more frequent look shows nothing new."""

PAUSE_SECONDS = 5.0
AFTER_PAUSE_SECONDS = 15.0
"""If the watcher itself was away (suspended, starved, its clock set), a silence proves nothing until the watcher has
listened again for so long."""

FORGET_SECONDS = 300.0
"""A statement that no longer holds may be reported again after so long. This folds a statement that comes and goes."""

EACH_SECONDS = 65.0
"""If a stall has passed, the next stall is a new one: a detector with `EACH_TIME` reports it again, at most this
often. The time is longer than the pauses of `start_patience`, so that each report has new evidence."""

LINES_KEPT = 400
"""The last lines of each log that are kept for the verdict."""

Said = Union[Finding, Diagnosis]


class _Said:
    """One statement about one place: when it was last reported, when it last held, whether it has ceased since, how
    often it was reported, and whether it had evidence then."""

    def __init__(self) -> None:
        self.at = self.held_at = 0.0
        self.ceased, self.times, self.proved = False, 0, False


class Watch:
    """Follows one run. `expect` holds what the plan expects: `world_size`, `trainable_parameters`, `steps`.

    Times of events should be on the head's clock. With `received`, the caller's clock at the arrival, the time of the
    node is corrected here; `arrived` is the same for an event that is already corrected. Silences are judged by the
    arrival.
    """

    def __init__(self, expect: "Mapping[str, Any] | None" = None) -> None:
        self.run = RunState(expect)
        self.clocks: Dict[str, NodeClock] = {}
        self.logs: Dict[Tuple[Optional[str], Optional[int], str], List[str]] = {}
        self._after: Dict[str, List[Any]] = {}
        self._with_evidence = {n for n, m in rules().items() if getattr(m, "AGAIN_WITH_EVIDENCE", False)}
        self._detectors: List[Any] = []
        self._each_time = {n for n, module in rules().items() if getattr(module, "EACH_TIME", False)}
        for name, module in rules().items():
            for kind in getattr(module, "AFTER", ()):
                self._after.setdefault(kind, []).append((name, module.after))
            if hasattr(module, "detect"):
                self._detectors.append((name, module.detect))
        self._ticked: Optional[float] = None
        self.blocking: List[Finding] = []
        self.blocked_at: Optional[float] = None
        self.faulty: Dict[str, str] = {}
        self._said: Dict[Tuple[Any, ...], _Said] = {}

    def again(self) -> "Watch":
        """A watch for the next attempt. It keeps only the present nodes and their clocks."""
        fresh = Watch(self.run.expect)
        fresh.clocks = self.clocks
        for node in self.run.nodes.values():
            kept = fresh.run.node(node.name)
            kept.joined_at, kept.seen_at, kept.boot_id = node.joined_at, node.seen_at, node.boot_id
            kept.lost_at, kept.lost_why = node.lost_at, node.lost_why
        return fresh

    def add(
        self, event: Event, received: "float | None" = None, arrived: "float | None" = None
    ) -> List[Said]:
        """Applies one event; returns the new statements, each once."""
        if received is not None:
            event, arrived = self.corrected(event, received), received
        said: List[Said] = []
        if not event_handlers.apply(self.run, event, arrived):
            return said
        for name, after in self._after.get(event.kind, ()):
            said.extend(self._new(self._detected(name, after, event), self.run.arrived))
        return said

    def heard(self, node: str, at: float) -> None:
        """Notes a sign of life of a node's supervisor."""
        self.run.heard(self.run.node(node), at)

    def corrected(self, event: Event, received: float) -> Event:
        """The event with its time converted to the clock of `received`."""
        if event.node is None:
            return event
        offset = self.clocks.setdefault(event.node, NodeClock()).offset(event.at, received)
        return replace(event, at=event.at + offset)

    def tick(self, now: float) -> List[Said]:
        """The statements that follow from the passing of time. Call it as often as you like."""
        if self._ticked is not None:
            if 0.0 <= now - self._ticked < TICK_SECONDS:
                return []
            if not 0.0 <= now - self._ticked < PAUSE_SECONDS:
                self.run.paused_until = now + AFTER_PAUSE_SECONDS
                self.run.shift(now - self._ticked, now)
                self._set_back(min(0.0, now - self._ticked))
        self._ticked = now
        self.run.now = max(self.run.now, now)
        said: List[Said] = []
        for name, detect in self._detectors:
            found = self._detected(name, detect, now)
            said.extend(self._new(found, now))
            if name in self._each_time and not found and now >= self.run.paused_until:
                self._note_ceased(name)
        return said

    def _set_back(self, seconds: float) -> None:
        """The watcher's clock was set by so many seconds (negative: back). Statements stay as old as they were."""
        for known in self._said.values():
            known.at, known.held_at = known.at + seconds, known.held_at + seconds

    def _note_ceased(self, name: str) -> None:
        """The detector no longer sees anything, so its statements are over. (A change of the suspect alone does not
        end a stall.)"""
        for key, known in self._said.items():
            if key[0] == name:
                known.ceased = True

    def _detected(self, name: str, detector: Any, about: Any) -> List[Finding]:
        """One detector's findings. If the detector raises, that is reported once, and only this detector is switched
        off."""
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
                    fix="a bug in allranks: report it with the run's journal.",
                )
            ]

    def _new(self, findings: Iterable[Finding], now: float) -> List[Finding]:
        """The findings that were not reported yet: a rule reports a place once, and again if it gets worse."""
        fresh = []
        for finding in findings:
            key = (finding.id, finding.where)
            level = VERDICTS.index(finding.verdict)
            known = self._said.setdefault((*key, level), _Said())
            worse_said = any((*key, higher) in self._said for higher in range(level + 1, len(VERDICTS)))
            if self._is_due(known, finding, now) and not worse_said:
                known.at, known.ceased, known.times = now, False, known.times + 1
                known.proved = bool(finding.evidence)
                fresh.append(_numbered(finding, known.times))
                if finding.verdict == BLOCK:
                    self.blocking.append(finding)
                    self.blocked_at = self.blocked_at or now
            known.held_at = now
        return fresh

    def block(self, finding: Finding, now: float) -> None:
        """Takes a finding of another room that ends the run, so that the verdict names it and not what follows."""
        if finding not in self.blocking:
            self.blocking.append(finding)
            self.blocked_at = self.blocked_at or now

    def _is_due(self, known: _Said, finding: Finding, now: float) -> bool:
        if not known.times or now - known.held_at > FORGET_SECONDS:
            return True
        if finding.id in self._with_evidence and finding.evidence and not known.proved:
            return True
        return finding.id in self._each_time and known.ceased and now - known.at > EACH_SECONDS

    def add_lines(
        self, rank: "int | None", lines: Iterable[str], node: "str | None" = None, source: str = ""
    ) -> None:
        """Adds the end of a rank's log (rank None: the log of the node's torchrun) for the verdict."""
        kept = self.logs.setdefault((node, rank, source), [])
        kept.extend(lines)
        del kept[:-LINES_KEPT]

    def add_log(self, node: "str | None", name: str, text: str) -> None:
        """Adds a log by its file's name: `rank-3.log` belongs to rank 3, any other to the node."""
        stem = name.rsplit("/", 1)[-1]
        rank = stem[5:].split(".", 1)[0] if stem.startswith("rank-") else ""
        self.add_lines(int(rank) if rank.isdecimal() else None, text.splitlines(), node, name)

    def verdict(self, now: float) -> Optional[Diagnosis]:
        """Why the run ended; None while nothing has failed.

        If a finding stopped the run before anything failed, later failures come from the stop. If the judgement
        itself raises, the diagnosis reports that and claims nothing: the keeper must still end the run.
        """
        try:
            found = self._verdict(now)
            return None if found is None else _verdict.after_the_end(self.run, found)
        except Exception as error:
            self.faulty["verdict"] = fault = f"{type(error).__name__}: {error}"
            return _verdict.failed(self.run, self.blocking, fault)

    def _verdict(self, now: float) -> Optional[Diagnosis]:
        trouble = self.run.trouble_at
        if self.blocked_at is not None and (trouble is None or self.blocked_at < trouble):
            by_event = JUDGES.get(self.blocking[0].id, by_stall)(self.run)
            return by_event or _verdict.of_finding(self.run, self.blocking[0])
        found = _verdict.verdict(self.run, self.logs, now)
        if found is None and self.blocking:
            return _verdict.of_finding(self.run, self.blocking[0])
        return found

    def progress(self, now: "float | None" = None) -> Progress:
        return progress_of(self.run, now)


def _numbered(finding: Finding, times: int) -> Finding:
    """Adds the number to a repeated finding: otherwise it would look like the old one."""
    return finding if times == 1 else replace(finding, saw=f"{finding.saw} (number {times} in this run)")
