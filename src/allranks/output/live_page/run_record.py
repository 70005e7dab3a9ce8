"""Folds a run's journal as it comes: everything that its live page shows, in bounded memory.

`add` takes each event once. `snapshot` returns everything, `delta` the changes since the last call of either.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from allranks.core.library_code import LIBRARY
from allranks.core.rank_events import Frame
from allranks.core.run_states import FINAL
from allranks.core.stack_places import doing, waits
from allranks.core.untrusted import integer, listing, mapping, mappings, number, text
from allranks.output.live_page import timeline_texts
from allranks.output.live_page.rank_table import RankTable
from allranks.output.live_page.step_curves import StepCurves
from allranks.output.report_collect import Collector
from allranks.output.report_findings import diagnosis_of
from allranks.output.report_live import LEAST_BINS, RANKS
from allranks.output.report_series import BINS

MOST_MARKS = 3_000
MOST_FRAMES = 64
MOST_STACKS = 64
"""The most different stacks that are shown. A thousand ranks at a stall have few different ones."""


class RunRecord:
    """The record of one run. `reached` says whether its head answers, `why` the reason if not. `read_bytes` of
    `size_bytes` of its journal were read."""

    def __init__(self, run_id: str, name: str = "", plan: Mapping[str, Any] | None = None):
        self.id, self.name, self.plan = run_id, name, plan or {}
        self.reached, self.why, self.ended = False, "", False
        self.read_bytes = self.size_bytes = 0
        planned = mappings(self.plan.get("ranks"))
        bins = max(LEAST_BINS, min(BINS, BINS * RANKS // max(1, len(planned))))
        self.collector = Collector(bins=bins)
        self.curves, self.table = StepCurves(), RankTable()
        for one in planned:
            self.table.rank(one.get("rank"), one.get("node"), one.get("local_rank"))
        self.run_state, self.total_steps = "starting", integer(self.plan.get("total_steps"))
        self.marks: list[dict[str, Any]] = []
        self.marks_told = self.findings_told = 0
        self.stacks: dict[int, list[Frame]] = {}
        self.stacks_at: float | None = None
        self.changed: set[str] = set()
        self.ahead: float | None = None
        """How far this machine's clock is ahead of the head's, including the way of an event: the smallest value that
        was seen."""

    # ---- takes events ----

    def add(self, event: Mapping[str, Any]) -> None:
        """Takes one event as JSON; other values are ignored."""
        at, data, kind = number(event.get("at")), event.get("data"), event.get("kind")
        if at is None or not isinstance(data, dict) or not isinstance(kind, str):
            return
        if kind == "beat":
            self.beat(at, event, data)
            return
        self.collector.add(event)
        self.cut()
        handler = HANDLERS.get(kind)
        if handler is not None:
            handler(self, at, event, data)
        told = timeline_texts.of_event(kind, data)
        if told is not None and len(self.marks) < MOST_MARKS:
            self.mark(at, kind, event, *told)
        self.changed.add("run")

    def mark(self, at: float, kind: str, event: Mapping[str, Any], tone: str, said: str) -> None:
        where = {"node": text(event.get("node")), "rank": integer(event.get("rank"))}
        if kind in ("finding", "diagnosis"):
            place = mapping(mapping(event.get("data")).get("where"))
            where = {"node": text(place.get("node")), "rank": integer(place.get("rank"))}
        self.marks.append({"at": at, "kind": kind, "tone": tone, "text": said, **where})

    def beat(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        rank = self.table.rank(event.get("rank"), event.get("node"))
        if rank is None:
            return
        self.collector.add(event)
        self.cut()
        if self.collector.is_late:
            return
        self.table.beat(rank, at, data)
        rows = data.get("steps")
        if rows and isinstance(rows, list):
            self.curves.put(event["rank"], [row for row in rows if isinstance(row, list)], at)
        self.total_steps = integer(data.get("total_steps")) or self.total_steps
        self.changed.add("ranks")

    def cut(self) -> None:
        """Removes the steps that are trained again, as the report's collector has done."""
        step = self.collector.cut_at
        if step is not None:
            self.curves.cut(step)
            self.table.back_to(max(step, 0))
            self.changed.add("ranks")

    def _start(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.table.start(event, data)
        self.changed.add("ranks")

    def _gone(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        rank = self.table.rank(event.get("rank"), event.get("node"))
        if rank is not None:
            rank.code = integer(data.get("code")) if data.get("code") is not None else rank.code
            rank.phase = "ended"
            self.changed.add("ranks")

    def _sample(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        node = self.table.node(event.get("node"))
        if node is not None:
            self.table.sample(node, data)
            self.changed.add("ranks")

    def _joined(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        node = self.table.node(event.get("node"))
        if node is not None:
            node.lost = event.get("kind") == "lost"
            self.changed.add("ranks")

    def _settings(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.total_steps = integer(data.get("total_steps")) or self.total_steps

    def _state(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.run_state = text(data.get("state")) or self.run_state

    def _evidence(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if data.get("stands") is not True:
            self.stacks, self.stacks_at = {}, at
            self.changed.add("stacks")

    def _stack(self, at: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        rank = integer(event.get("rank"))
        frames = frames_of(data.get("frames"))
        if rank is not None and (frames or rank not in self.stacks) and len(self.stacks) < 20_000:
            self.stacks[rank] = frames
            self.changed.add("stacks")

    def end(self, status: Mapping[str, Any]) -> None:
        """Takes the run's last state from its status."""
        self.run_state, self.why = text(status.get("state")) or self.run_state, text(status.get("why")) or ""
        self.collector.diagnosis = dict(mapping(status.get("diagnosis"))) or self.collector.diagnosis
        self.changed.add("run")

    # ---- the answers ----

    @property
    def state(self) -> str:
        if self.run_state in FINAL:
            return self.run_state
        return "running" if self.table.step > 0 else "starting"

    def head(self, now: float) -> dict[str, Any]:
        """The figures of the page's first lines."""
        phases = self.collector.phases
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "phase": phases[-1]["phase"] if phases else None,
            "step": self.table.step if self.table.step >= 0 else None,
            "total_steps": self.total_steps,
            "started_at": self.collector.origin,
            "last_at": self.collector.last_at,
            "now": now,
            "reached": self.reached,
            "ended": self.ended,
            "why": self.why,
            "read_bytes": self.read_bytes,
            "size_bytes": self.size_bytes,
            "diagnosis": diagnosis_of(self.collector.diagnosis),
            "phases": [{"phase": one["phase"], "at": one["at"]} for one in phases],
            "rank_phases": self.collector.rank_phases(),
        }

    def snapshot(self) -> dict[str, Any]:
        """Everything. The next `delta` continues from here."""
        now = self.now()
        found = {
            "kind": "snapshot",
            "run": self.head(now),
            "ranks": self.table.columns(),
            "curves": self.curves.columns(),
            "marks": list(self.marks),
            "findings": list(self.collector.findings),
            "stacks": self.stack_groups(),
        }
        self.told()
        return found

    def delta(self) -> dict[str, Any] | None:
        """The changes since the last snapshot or delta; None if there are none."""
        if not self.changed:
            return None
        now = self.now()
        found: dict[str, Any] = {"kind": "delta", "run": self.head(now)}
        if "ranks" in self.changed:
            found["ranks"] = self.table.columns()
        if self.curves.dirty < len(self.curves.held):
            found["curves"] = self.curves.columns(self.curves.dirty)
        if len(self.marks) > self.marks_told:
            found["marks"] = self.marks[self.marks_told :]
        if len(self.collector.findings) > self.findings_told:
            found["findings"] = self.collector.findings[self.findings_told :]
        if "stacks" in self.changed:
            found["stacks"] = self.stack_groups()
        self.told()
        return found

    def told(self) -> None:
        self.changed.clear()
        self.curves.told()
        self.marks_told, self.findings_told = len(self.marks), len(self.collector.findings)

    def now(self) -> float:
        """The present moment by the head's clock, for ages. For a run that has ended, the time of its last event."""
        if self.ended or self.run_state in FINAL:
            return self.collector.last_at or 0.0
        return time.time() - (self.ahead or 0.0)

    def heard(self, live: bool) -> None:
        """Compares the clocks at the newest event. An event that was read later than it was written only counts if
        this machine's clock is behind."""
        ahead = time.time() - (self.collector.last_at or 0.0)
        if live or ahead < 0:
            self.ahead = ahead if self.ahead is None else min(self.ahead, ahead)

    def stack_groups(self) -> dict[str, Any]:
        """Ranks grouped by their place in the code. The smallest group comes first, because it is the one to look
        at."""
        groups: dict[tuple[Frame, ...], list[int]] = {}
        for rank, frames in sorted(self.stacks.items()):
            groups.setdefault(tuple(frames), []).append(rank)
        ordered = sorted(groups.items(), key=lambda one: (len(one[1]), one[1]))
        shown = [
            {
                "ranks": ranks,
                "doing": doing(list(frames)) if frames else "its stack could not be read",
                "waits": bool(frames) and waits(list(frames)),
                "frames": [[f.file, f.line, f.function, not LIBRARY.search(f.file)] for f in frames],
            }
            for frames, ranks in ordered[:MOST_STACKS]
        ]
        return {"at": self.stacks_at, "groups": shown, "left_out": max(0, len(ordered) - MOST_STACKS)}


def frames_of(raw: Any) -> list[Frame]:
    """The innermost frames of a stack from a journal, outermost first."""
    found = []
    for one in listing(raw)[-MOST_FRAMES:]:
        if isinstance(one, list | tuple) and len(one) >= 3 and isinstance(one[0], str):
            found.append(Frame(one[0], integer(one[1]), str(one[2])))
    return found


HANDLERS: Mapping[str, Any] = {
    "start": RunRecord._start,
    "settings": RunRecord._settings,
    "end": RunRecord._gone,
    "rank-gone": RunRecord._gone,
    "sample": RunRecord._sample,
    "joined": RunRecord._joined,
    "lost": RunRecord._joined,
    "state": RunRecord._state,
    "evidence": RunRecord._evidence,
    "stack": RunRecord._stack,
}
