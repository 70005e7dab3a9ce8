"""Collects the data of the report from events, in one pass and in bounded memory. Only the standard library.

`Collector.add` takes each event of a journal once, roughly in the order of time.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional

from allranks.core.untrusted import integer, number, text
from allranks.output.report_curves import by_rank, one_line, tokens, tokens_per_second
from allranks.output.report_events import Story
from allranks.output.report_failure import stack_lines
from allranks.output.report_findings import finding_of, lines_of
from allranks.output.report_heat import heat_of
from allranks.output.report_loss import LossEnds
from allranks.output.report_samples import NodeSamples
from allranks.output.report_series import BINS, Series, flat, median, typical
from allranks.output.report_trainings import Trainings

MOST_RANKS = 20_000
MOST_FINDINGS = 2_000
MOST_MARKS = 200
TRACED_STEPS = 3
"""In so many first steps ZeRO-3 still traces the model and gathers more than later."""
MOST_PHASES = 20
STEP = ("loss", "seconds", "data_seconds", "tokens", "learning_rate", "own_seconds", "gradient_norm")
"""The values of a heartbeat's row after the step's number, in the order of `core.rank_events.Step`."""

SOFTWARE = ("torch", "transformers", "deepspeed", "peft", "accelerate", "llamafactory", "cuda", "nccl")
"""Versions that a rank knows only after the import. They come with its settings."""

MEMORY = ("rss", "gpu", "gpu_peak")


class Collector:
    """The folded events of a run."""

    def __init__(self, origin: Optional[float] = None, bins: int = BINS) -> None:
        self.origin = origin
        self.last_at: Optional[float] = None
        self.events = 0
        self.steps = Series(STEP, bins)
        self.memory = Series(MEMORY, bins)
        self.samples, self.story = NodeSamples(bins), Story()
        self.losses, self.trainings = LossEnds(), Trainings()
        self.is_late = False
        """Whether the newest event has steps of an earlier attempt or training. They are left out."""
        self.cut_at: Optional[int] = None
        """After which step values were removed at the newest event, because those steps are trained again."""
        self.ranks: Dict[int, Dict[str, Any]] = {}
        self.phases: List[Dict[str, Any]] = []
        self.findings: List[Dict[str, Any]] = []
        self.said: set = set()
        self.marks: List[Dict[str, Any]] = []
        self.settings: Dict[str, Any] = {}
        self.diagnosis: Optional[Dict[str, Any]] = None
        self.adapter: Optional[Dict[str, Any]] = None
        self.pruned: Optional[Dict[str, Any]] = None
        self.total_steps: Optional[int] = None
        self.stacks: Dict[int, List[str]] = {}
        """The stacks at the last stall, innermost call first."""
        self.kernel: Dict[str, Dict[str, Any]] = {}
        self.heard: Dict[str, List[float]] = {}
        """For each phase of the ranks: when any rank was first and last heard in it."""

    def add(self, event: Mapping[str, Any]) -> None:
        """Takes one event as JSON; other values are ignored."""
        at = number(event.get("at"))
        data = event.get("data")
        if at is None or not isinstance(data, dict):
            return
        self.events += 1
        self.is_late, self.cut_at = False, None
        if self.origin is None or (at < self.origin and event.get("rank") is None):
            # The memory's axis counts from the first event; an earlier one only widens the header's times. A rank's
            # event may come from the script itself, so an old time in it is not the beginning of the run.
            self.origin = at
        if self.last_at is None or at > self.last_at:
            self.last_at = at
        kind = str(event.get("kind"))
        self.story.add(at, kind, event, data)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, at, event, data)

    def rank(self, event: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        """The record of the event's rank, made at its first event."""
        rank = integer(event.get("rank"))
        if rank is None or rank < 0:
            return None
        record = self.ranks.get(rank)
        if record is None:
            if len(self.ranks) >= MOST_RANKS:
                return None
            record = self.ranks[rank] = {
                "rank": rank,
                "node": text(event.get("node")),
                "step": None,
                "starts": 0,
            }
        return record

    # ---- one method per kind of event ----

    def _start(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        record = self.rank(event)
        if record is None:
            return
        record["starts"] += 1
        self.trainings.start(record["rank"])
        for name in ("carried_begun", "carried_from"):  # loading is not traffic of steps
            record.pop(name, None)
        record.update(node=text(event.get("node")), code=None, exception=None, phase="importing", last_at=at)
        for name in ("pid", "host", "local_rank", "python", "torch", "gpu", "versions", "world_size"):
            if data.get(name) is not None:
                record[name] = data[name]

    def _settings(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        rank = integer(event.get("rank"))
        if not self.settings or rank == 0:
            self.settings = data
        if integer(data.get("total_steps")):
            self.total_steps = integer(data["total_steps"])
        record = self.rank(event)
        if record is not None:
            record.update({name: data[name] for name in SOFTWARE if isinstance(data.get(name), str)})

    def _beat(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        record = self.rank(event)
        if record is None:
            return
        rank, phase = record["rank"], data.get("phase")
        is_newest = self.trainings.hear(rank, record.get("phase"), phase, data.get("step"))
        self.is_late = not (is_newest or self.trainings.waits)
        self._spend(record, at, phase)
        if not self.is_late:
            self._progress(record, data.get("step"), data.get("steps"), is_newest)
        self._carry(record, data.get("carried"))
        memory = (data.get("rss_bytes"), data.get("gpu_bytes"), data.get("gpu_peak_bytes"))
        if any(value is not None for value in memory):
            self.memory.put(rank, max(0.0, at - (self.origin or at)), memory)

    def _progress(self, record: Dict[str, Any], step: Any, rows: Any, is_newest: bool) -> None:
        """Takes a heartbeat's step and rows. The first rows of another attempt or training replace later steps."""
        if rows and isinstance(rows, list):
            first = integer(rows[0][0]) if isinstance(rows[0], list) and rows[0] else None
            if self.trainings.waits and is_newest and first is not None:
                self.trainings.waits = False
                self.cut(first - 1 if first > 1 else -1)  # of another training nothing stays, not even a bin
            self.steps.put_rows(record["rank"], rows)
            self.losses.put(record["rank"], rows)
        if isinstance(step, int) and (record["step"] is None or step > record["step"]):
            record["step"] = step

    def cut(self, step: int) -> None:
        """Removes the values of later steps."""
        self.steps.cut(step)
        self.losses.cut(step)
        self.marks = [mark for mark in self.marks if mark["step"] <= step]
        for record in self.ranks.values():
            if record["step"] is not None:
                record["step"] = min(record["step"], max(step, 0))
        self.cut_at = step

    def _restart(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        if data.get("again") is True:
            self.trainings.restart()

    def _resume(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        """A script may continue from a step that only its first rows say."""
        self.trainings.restart()
        step = integer(data.get("step"))
        if step is not None:
            self.cut(step)

    def _carry(self, record: Dict[str, Any], carried: Any) -> None:
        """Notes the node's counter at the end of an early step and of the newest one: the traffic of the steps
        between them is counted."""
        if not isinstance(carried, list) or len(carried) != 2:
            return
        step, value = integer(carried[0]), integer(carried[1])
        if value is None or step is None:
            return
        begun = record.setdefault("carried_begun", step) if record["starts"] > 1 else 1
        if step - begun + 1 < TRACED_STEPS:
            return
        first, last = record.get("carried_from"), record.get("carried_to")
        if first is None or value < first[1] or (last is not None and step < last[0]):
            record["carried_from"] = (step, value)
        record["carried_to"] = (step, value)

    def _spend(self, record: Dict[str, Any], at: float, phase: Any) -> None:
        """Adds the time since the rank was last heard to the phase that it was in then."""
        before, last = record.get("phase"), record.get("last_at")
        record["phase"], record["last_at"] = phase, at
        if isinstance(before, str) and last is not None:
            spent = record.setdefault("spent", {})
            if before in spent or len(spent) < MOST_PHASES:
                spent[before] = spent.get(before, 0.0) + max(at - last, 0.0)
                heard = self.heard.setdefault(before, [last, at])
                heard[0], heard[1] = min(heard[0], last), max(heard[1], at)

    def _gone(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        record = self.rank(event)
        if record is not None:
            record["ended_at"] = at
            if data.get("code") is not None:
                record["code"] = data["code"]

    def _torchrun_ended(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        failures = data.get("failures")
        for failure in failures if isinstance(failures, list) else ():
            if isinstance(failure, dict):
                record = self.rank({"rank": failure.get("rank"), "node": event.get("node")})
                if record is not None and record.get("code") is None:
                    record["code"] = failure.get("code")

    def _exception(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        record = self.rank(event)
        if record is not None and not record.get("exception"):
            record["exception"] = {k: data.get(k) for k in ("type", "message", "communication")}
            record["exception"]["at"] = at

    def _saved(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        step = integer(data.get("step"))
        if step is not None and len(self.marks) < MOST_MARKS and all(m["step"] != step for m in self.marks):
            self.marks.append(
                {"step": step, "path": data.get("path"), "seconds": number(data.get("seconds"))}
            )

    def _phase(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        again = self.phases and self.phases[-1]["phase"] == str(data.get("phase"))
        if not again and len(self.phases) < 1000:
            # The controller and the keeper both report `launch`; the first report is its beginning.
            self.phases.append({"phase": str(data.get("phase")), "at": at, "why": data.get("why") or ""})

    def _finding(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        self.add_finding(data, at)

    def add_finding(self, data: Mapping[str, Any], at: Optional[float] = None) -> None:
        """Adds a finding once: the journal and state.json both contain it."""
        found = finding_of(data)
        key = json.dumps([found[k] for k in ("id", "verdict", "where", "saw", "why", "fix")])
        if key not in self.said and len(self.findings) < MOST_FINDINGS:
            self.said.add(key)
            self.findings.append({**found, "at": at})

    def _diagnosis(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        if data.get("provisional") is not True:  # a provisional one is in state.json until the verdict comes
            self.diagnosis = data

    def _adapter(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        self.adapter = data or None

    def _evidence(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        if data.get("stands") is not True:  # the keeper asks again
            self.stacks = {}

    def _stack(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        rank, frames = integer(event.get("rank")), stack_lines(data.get("frames"))
        if rank is not None and frames and len(self.stacks) < MOST_RANKS:
            self.stacks[rank] = frames

    def _kernel(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        node = str(event.get("node"))
        if node in self.kernel or len(self.kernel) < MOST_RANKS:
            told = self.kernel.setdefault(node, {"lines": [], "why": ""})
            told["lines"] = (told["lines"] + lines_of(data.get("lines")))[-MOST_MARKS:]
            told["why"] = text(data.get("why")) or ""

    def _sample(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        self.samples.add(at - (self.origin or at), str(event.get("node")), data)

    def _pruned(self, at: float, event: Mapping[str, Any], data: Dict[str, Any]) -> None:
        self.pruned = data

    # ---- the drawn data ----

    def _settle(self) -> None:
        self.steps.settle()
        self.memory.settle()

    def charts(self) -> Dict[str, Any]:
        """The points of each chart: small lists, whatever the run's size."""
        self._settle()
        return {
            "loss": one_line(self.steps, "loss"),
            "learning_rate": one_line(self.steps, "learning_rate"),
            "gradient_norm": one_line(self.steps, "gradient_norm"),
            "heat": heat_of(self.steps),
            "nodes": self.samples.charts(),
            "step": by_rank(self.steps, "seconds"),
            "waiting": flat(self.steps.joined(self.steps.ranks, "data_seconds")),
            "tokens": tokens(self.steps),
            "memory": {
                "gpu": by_rank(self.memory, "gpu"),
                "rss": by_rank(self.memory, "rss"),
            },
        }

    def rank_phases(self) -> Dict[str, List[float]]:
        """The ranks' own phases: first heard, last heard, and the median rank's seconds in the phase."""
        found = {}
        for name, (first, last) in self.heard.items():
            spent = [r["spent"][name] for r in self.ranks.values() if name in r.get("spent", ())]
            found[name] = [first, last, median(spent) or 0.0]
        return found

    def rank_rows(self) -> List[Dict[str, Any]]:
        """Each rank's identity and figures, in the order of ranks."""
        self._settle()
        rows = []
        for rank in sorted(set(self.ranks) | set(self.steps.ranks)):
            row: Dict[str, Any] = dict(self.ranks.get(rank) or {"rank": rank})
            steps = self.steps.column(rank, "seconds")
            waits = self.steps.column(rank, "data_seconds")
            row["step_seconds"] = typical(self.steps, rank, "seconds")
            spent = sum(steps.sums) if steps is not None else 0.0
            waited = sum(waits.sums) if waits is not None and any(waits.counts) else None
            row["waiting_share"] = waited / spent if spent > 0 and waited is not None else None
            for name in ("rss", "gpu", "gpu_peak"):
                column = self.memory.column(rank, name)
                row[f"{name}_bytes"] = column.highest() if column is not None else None
            if row["gpu_peak_bytes"] is None:
                row["gpu_peak_bytes"] = row["gpu_bytes"]
            rows.append(row)
        return rows

    def summary(self) -> Dict[str, Any]:
        """The figures of the header, and the values to compare with the plan."""
        self._settle()
        ends, points = self.losses, one_line(self.steps, "loss")["points"]
        last = ends.last if ends.last is not None or not points else points[-1][2]
        columns = [self.steps.column(rank, "seconds") for rank in self.steps.ranks]
        seconds = [sum(spent.sums) for spent in columns if spent is not None and any(spent.counts)]
        trained = sum(seconds) / len(seconds) if seconds else None
        rows = self.rank_rows()
        return {
            "first_loss": ends.first,
            "last_loss": last if ends.broken_at is None else None,
            "loss_broken_at": ends.broken_at,
            "step_seconds": median(r["step_seconds"] for r in rows if r["step_seconds"] is not None),
            "waiting_share": median(r["waiting_share"] for r in rows if r["waiting_share"] is not None),
            "tokens_per_second": tokens_per_second(self.steps),
            "training_seconds": trained,
            "gpu_peak_bytes": _most(r["gpu_peak_bytes"] for r in rows),
            "rss_peak_bytes": _most(r["rss_bytes"] for r in rows),
            "received_bytes_per_step": median(
                b for b in map(_received, self.ranks.values()) if b is not None
            ),
            "node_rss_bytes": _most(_by_node(rows).values()),
            "ranks_started": sum(1 for r in self.ranks.values() if r["starts"]),
            "last_step": _most(r.get("step") for r in rows),
        }


def _by_node(rows: List[Dict[str, Any]]) -> Dict[Any, float]:
    """The sum of the peaks of a node's ranks."""
    found: Dict[Any, float] = {}
    for row in rows:
        if row.get("rss_bytes") is not None:
            found[row.get("node")] = found.get(row.get("node"), 0.0) + row["rss_bytes"]
    return found


def _received(record: Mapping[str, Any]) -> Optional[float]:
    """Bytes per step into the node of a local rank 0; None if there are too few values."""
    first, last = record.get("carried_from"), record.get("carried_to")
    if first is None or last is None or last[0] <= first[0]:
        return None
    return (last[1] - first[1]) / (last[0] - first[0])


def _most(values: Any) -> Optional[float]:
    return max((v for v in values if v is not None), default=None)


_HANDLERS = {
    "start": Collector._start,
    "settings": Collector._settings,
    "beat": Collector._beat,
    "end": Collector._gone,
    "rank-gone": Collector._gone,
    "torchrun-ended": Collector._torchrun_ended,
    "exception": Collector._exception,
    "saved": Collector._saved,
    "restart": Collector._restart,
    "resume": Collector._resume,
    "evidence": Collector._evidence,
    "stack": Collector._stack,
    "sample": Collector._sample,
    "kernel": Collector._kernel,
    "phase": Collector._phase,
    "finding": Collector._finding,
    "diagnosis": Collector._diagnosis,
    "adapter": Collector._adapter,
    "pruned": Collector._pruned,
}
